"""The tasks of the Chinese-ELECTRA papers, and PAWS-X, mostly as tables.

Source: ymcui/Chinese-ELECTRA at 3765b2d8, and the files themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from chinese.clue.classification import Classification, fields
from chinese.clue.clue_tasks import zip_folders
from chinese.clue.encoding import TextSettings
from chinese.clue.files import Node, read_table
from chinese.clue.labels import BINARY, NLI
from chinese.clue.reading import Reading
from chinese.clue.tasks import Files, Task, any_of


def _rows(*headers: tuple[str, ...]) -> Callable[[Path], Iterable[Node]]:
    def rows(path: Path) -> Iterator[Node]:
        return read_table(path, *headers)

    return rows


def _xnli_rows(path: Path) -> Iterator[Node]:
    """The Chinese rows of XNLI; the training file has other column names, and Chinese alone."""
    train = ("premise", "hypo", "label")
    for row in read_table(path, train, ("language", "gold_label", "sentence1", "sentence2")):
        if "language" not in row:
            renamed = dict(zip(("sentence1", "sentence2", "gold_label"), train, strict=True))
            yield Node({ours: row.value[theirs] for ours, theirs in renamed.items()}, row.source)
        elif row.value["language"] == "zh":
            yield row


def _hfl(
    name: str,
    title: str,
    family: Classification,
    files: Mapping[str, Files],
    sizes: tuple[int, int, int],
    folders: tuple[str, ...] = (),
) -> Task:
    """`sizes` are those of train, dev, test, all with labels."""
    named = dict(zip(("train", "dev", "test"), sizes, strict=True))
    return Task(
        name, title, "hfl", family, folders or (name,), files, TextSettings(128), sizes=named
    )


def _tables(*extra: str) -> dict[str, Files]:
    return {
        split: any_of(f"{split}.tsv", f"{split}.csv", *(name.format(split) for name in extra))
        for split in ("train", "dev", "test")
    }


def _pair_rows(path: Path) -> Iterator[Node]:
    ours, theirs = ("text_a", "text_b", "label"), ("sentence1", "sentence2", "label")
    return read_table(path, ours, theirs, without_header=ours)


def _pair_of_a_table(row: Node) -> tuple[str, ...]:
    first, second = ("text_a", "text_b") if "text_a" in row else ("sentence1", "sentence2")
    return row.field(first).text(), row.field(second).text()


HFL_TASKS = (
    _hfl(
        "chnsenticorp",
        "sentiment of reviews of hotels, books, laptops",
        Classification(BINARY, fields("text_a"), _rows(("label", "text_a"))),
        _tables(),
        (9_600, 1_200, 1_200),
    ),
    _hfl(
        "lcqmc",
        "questions, same or not",
        Classification(BINARY, _pair_of_a_table, _pair_rows),
        _tables("{}.txt"),
        (238_766, 8_802, 12_500),
    ),
    _hfl(
        "bq",
        "questions to a bank, same or not",
        Classification(BINARY, _pair_of_a_table, _pair_rows),
        _tables("{}.txt"),
        (100_000, 10_000, 10_000),
        ("bq", "bqcorpus", "bq_corpus"),
    ),
    _hfl(
        "xnli",
        "inference, translated by people",
        Classification(
            NLI,
            fields("sentence1", "sentence2"),
            _xnli_rows,
            label_field="gold_label",
            other_labels={"contradictory": "contradiction"},
        ),
        {
            "train": any_of("train.tsv", "multinli.train.zh.tsv"),
            "dev": any_of("dev.tsv", "xnli.dev.tsv"),
            "test": any_of("test.tsv", "xnli.test.tsv"),
        },
        (392_702, 2_490, 5_010),
        ("xnli", "xnli-zh", "xnli_zh"),
    ),
    _hfl(
        "pawsx",
        "paraphrases of nearly the same words",
        Classification(
            BINARY,
            fields("sentence1", "sentence2"),
            _rows(("id", "sentence1", "sentence2", "label")),
            missing_text="NS",  # 41 of 4,000 rows were not translated
        ),
        {
            "train": any_of("train.tsv", "translated_train.tsv"),
            "dev": any_of("dev.tsv", "dev_2k.tsv"),
            "test": any_of("test.tsv", "test_2k.tsv"),
        },
        (49_401, 2_000, 2_000),
        ("pawsx", "paws-x-zh", "paws-x", "zh"),
    ),
    Task(
        "drcd",
        "answers in Wikipedia passages, traditional",
        "hfl",
        Reading(),
        zip_folders("drcd"),
        {
            "train": any_of("train.json", "DRCD_training.json", "DRCD_training.partial.json"),
            "dev": any_of("dev.json", "DRCD_dev.json"),
            "test": any_of("test.json", "DRCD_test.json"),
        },
        TextSettings(512, max_answer_length=50),
        sizes={"train": 26_936, "dev": 3_524, "test": 3_493},
        submissions={"test": "drcd_predict"},
        form="object",
    ),
)
