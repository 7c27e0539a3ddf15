"""A vocabulary is described, its flaws are told, and unknown words of a text are counted."""

import pytest

from chinese.vocab import SPECIAL_TOKENS
from electra_tf.workflows.check_vocabulary import report_vocabulary

SPECIAL = "\n".join(SPECIAL_TOKENS)


def report(tmp_path, content, text=None, **options):
    (tmp_path / "vocab.txt").write_bytes(content.encode())
    corpus = []
    if text is not None:
        (tmp_path / "corpus.txt").write_text(text, encoding="utf-8")
        corpus = [str(tmp_path / "corpus.txt")]
    return report_vocabulary(
        tmp_path / "vocab.txt", corpus, lambda stage, done, total: None, **options
    )


def test_facts_by_hand(tmp_path):
    found = report(tmp_path, f"{SPECIAL}\n[unused1]\n我\n爱\na\n##b\nABC\n")
    facts = found.facts
    assert (facts["tokens"], facts["Han characters"], facts["## pieces"]) == (11, 2, 1)
    assert (facts["[unused] rows"], facts["with capitals (never met)"]) == (1, 1)
    assert facts["special tokens"].startswith("[PAD] 0, [UNK] 1")
    assert found.warnings == ()
    assert found.text is None


def test_what_is_tolerated_is_told(tmp_path):
    content = "\ufeff" + f"{SPECIAL}\n我 \n".replace("\n", "\r\n")
    warnings = "\n".join(report(tmp_path, content).warnings)
    for word in ("byte-order mark", "CRLF", "blanks around"):
        assert word in warnings


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{SPECIAL}\n我\n\n爱\n", r"vocab.txt:7: token '' is blank"),
        (f"{SPECIAL}\n我\n爱\n我\n", r"vocab.txt:8: '我' stands there a second time"),
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", r"no \[MASK\]"),
        ("我\n" + SPECIAL, r"vocab.txt:2: \[PAD\] has id 1"),
    ],
)
def test_what_makes_it_useless_is_refused_with_its_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        report(tmp_path, content)


def test_unknown_words_of_a_text_by_hand(tmp_path):
    text = report(tmp_path, f"{SPECIAL}\n我\n爱\na\n##b\n", "我爱你你\n\nAB 他 Ac\n").text
    assert (text.num_tokens, text.num_unknown) == (8, 4)
    assert text.worst == (("你", 2), ("ac", 1), ("他", 1))


def test_folding_is_that_of_the_tokenizer(tmp_path):
    text = report(tmp_path, f"{SPECIAL}\na\n", "A á a", lower_case=False).text
    assert text.num_unknown == 2
    text = report(tmp_path, f"{SPECIAL}\na\n", "A á a").text
    assert text.num_unknown == 0
