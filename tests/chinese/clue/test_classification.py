"""Labels, pairs, coreference, windows: reading, encoding, deciding."""

import numpy as np
import pytest

from chinese.clue.classification import (
    Classification,
    fields,
    keywords_and_abstract,
    marked_coreference,
    pool_windows,
)
from chinese.clue.encoding import TextSettings
from chinese.clue.examples import TextExample
from chinese.clue.features import NO_LABEL, truncation

PAIR = Classification(("no", "yes"), fields("a", "b"))
SINGLE = Classification(("no", "yes"), fields("a"))


def test_a_label_is_a_place_in_the_list_and_a_dash_is_none(write):
    rows = [{"a": "一", "label": "yes"}, {"a": "二", "label": "-"}, {"a": "", "label": "no"}]
    examples = SINGLE.read([write("a.json", rows)], has_labels=True)
    assert examples == [
        TextExample(0, ("一",), 1),
        TextExample(1, ("二",), None),
        TextExample(2, ("",), 0),
    ]
    assert [example.is_labelled for example in examples] == [True, False, True]


def test_labels_may_be_numbers(write):
    family = Classification(("100", "101"), fields("a"))
    (example,) = family.read([write("a.json", [{"a": "一", "label": 101}])], has_labels=True)
    assert example.label == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": "一", "label": "maybe"}, r"a\.json:2: label 'maybe' is none of the 2: no, yes"),
        ({"a": "一"}, r"a\.json:2: no field 'label'; found a"),
        ({"label": "yes"}, r"a\.json:2: no field 'a'; found label"),
        ({"a": ["一"], "label": "yes"}, r"a\.json:2: 'a' should be text"),
        ({"a": "一", "id": None, "label": "yes"}, r"a\.json:2: 'id' should be a number or text"),
    ],
)
def test_wrong_rows_are_named(write, row, message):
    path = write("a.json", [{"a": "一", "label": "no"}, row])
    with pytest.raises(ValueError, match=message):
        SINGLE.read([path], has_labels=True)


def test_a_test_file_keeps_every_row_and_no_id_twice(write):
    rows = [{"id": 7, "a": "一", "label": "?"}, {"id": "8", "a": "二"}, {"id": 3, "a": "三"}]
    examples = SINGLE.read([write("a.json", rows)], has_labels=False)
    assert [(e.id, e.label) for e in examples] == [(7, None), ("8", None), (3, None)]
    path = write("b.json", [*rows, {"id": 7, "a": "四"}])
    with pytest.raises(ValueError, match=r"b\.json:4: id 7 stands there a second time .*:1\)"):
        SINGLE.read([path], has_labels=False)


def test_repeated_ids_of_labelled_rows_are_told(write):
    """CLUEWSC's training file has 897 of them; nothing depends on them there."""
    rows = [{"id": 1, "a": "一", "label": "no"}] * 3
    examples = SINGLE.read([write("a.json", rows)], has_labels=True)
    assert SINGLE.notes(examples) == ("2 rows repeat an id",)
    assert SINGLE.notes(examples[:1]) == ()


def _target(text, first, second):
    return {
        "text": text,
        "target": {
            "span1_text": text[slice(*first)],
            "span1_index": first[0],
            "span2_text": text[slice(*second)],
            "span2_index": second[0],
        },
    }


@pytest.mark.parametrize(
    ("first", "second", "marked"),
    [
        ((1, 3), (5, 6), "甲_乙丙_丁戊[己]"),
        ((4, 6), (0, 2), "[甲乙]丙丁_戊己_"),
        ((0, 2), (2, 3), "_甲乙_[丙]丁戊己"),
        ((3, 4), (2, 3), "甲乙[丙]_丁_戊己"),
    ],
)
def test_coreference_is_marked_in_either_order(write, first, second, marked):
    family = Classification(("true", "false"), marked_coreference)
    path = write("a.json", [_target("甲乙丙丁戊己", first, second)])
    assert family.read([path], has_labels=False)[0].texts == (marked,)


def test_spans_that_are_not_there_are_named(write):
    family = Classification(("true", "false"), marked_coreference)
    row = _target("甲乙丙丁", (0, 1), (2, 3))
    row["target"]["span2_index"] = 1
    with pytest.raises(ValueError, match=r"a\.json:1: span2_text '丙' does not stand at 1"):
        family.read([write("a.json", [row])], has_labels=False)
    with pytest.raises(ValueError, match=r"b\.json:1: span1 and span2 overlap"):
        family.read([write("b.json", [_target("甲乙丙丁", (0, 3), (2, 3))])], has_labels=False)


def test_keywords_stand_before_the_abstract(write):
    family = Classification(("0", "1"), keywords_and_abstract)
    row = {"id": 1, "abst": "摘要", "keyword": ["甲", "FFT 变换"], "label": "1"}
    (example,) = family.read([write("a.json", [row])], has_labels=True)
    assert example.texts == ("甲 FFT 变换", "摘要")


def test_a_text_that_is_missing_is_not_scored(write):
    family = Classification(("0", "1"), fields("a", "b"), missing_text="NS")
    rows = [{"a": "NS", "b": "一", "label": "1"}, {"a": "NS 一", "b": "一", "label": "1"}]
    assert [e.label for e in family.read([write("a.json", rows)], has_labels=True)] == [None, 1]


def test_a_pair_is_cut_longest_first(toy_tokenizer):
    example = TextExample(0, ("一二三四五六七八", "一二三四五六七八九十"), 1)
    (feature,) = PAIR.encode([example], toy_tokenizer, TextSettings(16))
    tokens = toy_tokenizer.vocabulary.tokens
    # 13 tokens are left: 18 → the second loses 2, then in turns second, first, second.
    assert [tokens[i] for i in feature.sequence.input_ids] == [
        *("[CLS]", *"一二三四五六七", "[SEP]"),
        *(*"一二三四五六", "[SEP]"),
    ]
    assert feature.sequence.segment_ids.tolist() == [0] * 9 + [1] * 7
    assert (feature.label, feature.cut) == (1, (18, 5))
    assert str(truncation([feature])) == (
        "1 of 1 examples cut (100.00%), 27.78% of all tokens left out"
    )


def test_windows_lose_nothing(toy_tokenizer):
    text = "一二三四五六七八九十" * 4
    settings = TextSettings(16, long_text="windows", stride=10)
    features = list(SINGLE.encode([TextExample(0, (text,), None)] * 2, toy_tokenizer, settings))
    assert [feature.example for feature in features] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert {feature.label for feature in features} == {NO_LABEL}
    spans = [feature.sequence.spans[1:-1].tolist() for feature in features[:4]]
    assert [(window[0][0], window[-1][1]) for window in spans] == [
        (0, 14),
        (10, 24),
        (20, 34),
        (30, 40),
    ]
    assert truncation(features) == (2, 0, 80, 0)


def test_the_first_of_a_pair_stands_in_every_window(toy_tokenizer):
    example = TextExample(0, ("甲乙丙丁" * 3, "一二三四五六七八九十"), 0)
    settings = TextSettings(19, long_text="windows", stride=4)
    features = list(PAIR.encode([example], toy_tokenizer, settings))
    # 16 tokens without specials: half of them for the first text, which loses 4 of its 12.
    assert [(f.sequence.parts == 0).sum() for f in features] == [8, 8]
    assert [f.sequence.spans[f.sequence.parts == 1][[0, -1]].tolist() for f in features] == [
        [[0, 1], [7, 8]],
        [[4, 5], [9, 10]],
    ]
    assert truncation(features) == (1, 1, 22, 4)


def test_windows_are_pooled(toy_tokenizer):
    settings = TextSettings(16, long_text="windows", stride=14)
    examples = [TextExample(0, ("一" * 28,), 0), TextExample(1, ("一",), 1)]
    features = list(SINGLE.encode(examples, toy_tokenizer, settings))
    logits = np.array([[3.0, 0.0], [-4.0, 1.0], [0.0, 2.0]])
    assert pool_windows(2, features, logits, "mean").tolist() == [[-0.5, 0.5], [0.0, 2.0]]
    assert pool_windows(2, features, logits, "max").tolist() == [[3.0, 1.0], [0.0, 2.0]]
    assert SINGLE.decode(examples, features, logits, settings) == [1, 1]
    by_max = TextSettings(16, long_text="windows", stride=14, pooling="max")
    assert SINGLE.decode(examples, features, logits, by_max) == [0, 1]
    with pytest.raises(ValueError, match="2 predictions for 3 examples"):
        SINGLE.decode(examples, features, logits[:2], settings)
    with pytest.raises(ValueError, match="features of 1 of 2 examples"):
        SINGLE.decode(examples, features[:2], logits[:2], settings)


def test_the_most_frequent_label_of_training_is_predicted():
    train = [TextExample(n, ("一",), label) for n, label in enumerate([1, 1, None, 0])]
    dev = [TextExample(n, ("一",), label) for n, label in enumerate([0, 0, 1, None])]
    assert SINGLE.baseline(train, dev) == [1, 1, 1, 1]
    assert SINGLE.score(dev, SINGLE.baseline(train, dev)).value == pytest.approx(100 / 3)


def test_answers_are_label_strings():
    assert SINGLE.answer(TextExample(0, ("一",), None), 1) == "yes"
    assert SINGLE.answer_defect("yes") is None
    for wrong in (1, "Yes", None, True):
        assert 'label strings "no", "yes"' in SINGLE.answer_defect(wrong)
