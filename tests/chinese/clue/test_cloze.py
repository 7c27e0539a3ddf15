"""ChID and FewCLUE's: blanks, what stands around them, joint decoding."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chinese.clue.cloze import Cloze
from chinese.clue.encoding import TextSettings
from chinese.clue.examples import ClozeExample
from chinese.clue.features import truncation

CHID = Cloze(3, has_answer_files=True)
FEW = Cloze(3, has_answer_files=False)
IDIOMS = ["一二三四", "五六七八", "九十甲乙"]
ROW = {
    "content": ["甲#idiom000001#乙#idiom000002#丙", "丁", "#idiom000003#"],
    "candidates": IDIOMS,
}
ANSWERS = {"#idiom000001#": 2, "#idiom000002#": 0, "#idiom000003#": 1}


def test_every_blank_is_an_example(write):
    paths = [write("dev.json", [ROW]), write("dev_answer.json", ANSWERS)]
    first, second, third = CHID.read(paths, has_labels=True)
    passage, idioms = ROW["content"][0], tuple(IDIOMS)
    assert first == ClozeExample("#idiom000001#", 0, passage, (1, 14), ((15, 28),), idioms, 2)
    assert second == ClozeExample("#idiom000002#", 0, passage, (15, 28), ((1, 14),), idioms, 0)
    assert (third.label, third.record, third.other_blanks) == (1, 0, ())
    assert [e.label for e in CHID.read(paths[:1], has_labels=False)] == [None] * 3


def test_a_row_of_fewclue_is_one_blank(write):
    rows = [
        {"id": 3000 + n, "candidates": IDIOMS, "content": "甲#idiom#。", "answer": n}
        for n in range(2)
    ]
    found = FEW.read([write("a.json", rows)], has_labels=True)
    assert [(e.id, e.record, e.label) for e in found] == [(3000, 0, 0), (3001, 1, 1)]


@pytest.mark.parametrize(
    ("content", "answers", "message"),
    [
        ([ROW, ROW], ANSWERS, r"dev\.json:2: id '#idiom000001#' stands there a second time"),
        ([ROW], {}, r"dev\.json:1: blank #idiom000001# has no answer in .*dev_answer\.json"),
        (
            [ROW],
            {"#idiom000001#": 1, "#idiom000002#": 3, "#idiom000003#": 1},
            r"dev_answer\.json:3: answer 3 is no place among 3 candidates",
        ),
        ([{**ROW, "candidates": IDIOMS[:2]}], {}, r"dev\.json:1: 2 candidates; there should be 3"),
        ([{**ROW, "content": "甲"}], {}, r"dev\.json:1: 'content' should be a list"),
    ],
)
def test_wrong_records_are_named(write, content, answers, message):
    paths = [write("dev.json", content), write("dev_answer.json", answers)]
    with pytest.raises(ValueError, match=message):
        CHID.read(paths, has_labels=True)


def test_a_row_of_fewclue_has_just_one_blank(write):
    for content, count in (("甲", 0), ("#idiom##idiom#", 2)):
        row = {"id": 1, "candidates": IDIOMS, "content": content, "answer": 0}
        with pytest.raises(ValueError, match=rf"a\.json:1: {count} blanks"):
            FEW.read([write("a.json", [row])], has_labels=True)


def _example(passage, blank, *others):
    return ClozeExample("x", 0, passage, blank, others, tuple(IDIOMS), None)


def test_the_idiom_stands_before_its_passage_and_other_blanks_are_masked(toy_tokenizer):
    example = _example("甲#idiom000001#“乙#idiom000002#丙", (1, 14), (16, 29))
    (feature,) = CHID.encode([example], toy_tokenizer, TextSettings(32))
    sequence = feature.sequences[1]
    names = [toy_tokenizer.vocabulary.tokens[i] for i in sequence.input_ids]
    # A vocabulary without [unused1] marks the blank with [MASK]; “ is " where there is one.
    assert names == [
        *("[CLS]", *"五六七八", "[SEP]", "甲", "[MASK]", '"', "乙"),
        *(["[MASK]"] * 4),
        *("丙", "[SEP]"),
    ]
    assert set(sequence.segment_ids.tolist()) == {0}
    assert sequence.quote(example, 2) == "六"
    assert sequence.quote(example, 7) == "#idiom000001#"
    assert sequence.quote(example, 8) == "“"
    assert [sequence.quote(example, place) for place in range(10, 14)] == ["#idiom000002#"] * 4
    assert sequence.quote(example, 14) == "丙"
    assert feature.cut == (9, 0)


@pytest.mark.parametrize(
    ("before", "behind", "kept"),
    [(30, 30, (9, 10)), (3, 30, (3, 16)), (30, 4, (15, 4)), (30, 10, (9, 10)), (2, 3, (2, 3))],
)
def test_the_blank_is_in_the_middle_of_what_fits(toy_tokenizer, before, behind, kept):
    passage = "一" * before + "#idiom000001#" + "二" * behind
    example = _example(passage, (before, before + 13))
    # 27 tokens less [CLS], [SEP], [SEP], the mark of the blank and four of the idiom: 19.
    (feature,) = CHID.encode([example], toy_tokenizer, TextSettings(27))
    ids = feature.sequences[0].input_ids[6:-1].tolist()
    assert ids.index(toy_tokenizer.vocabulary.mask_id) == kept[0]
    assert len(ids) - 1 - kept[0] == kept[1]
    lost = before + behind - sum(kept)
    assert truncation([feature]) == (1, lost > 0, before + behind + 1, lost)


def test_a_length_without_room_is_refused(toy_tokenizer):
    long = _example("甲#idiom1#", (1, 9))._replace(candidates=("一" * 12, "二", "三"))
    with pytest.raises(ValueError, match="max_length 16 leaves no room around a blank"):
        list(CHID.encode([long], toy_tokenizer, TextSettings(16)))


def _decode(scores, records):
    examples = [
        ClozeExample(n, record, "", (0, 0), (), ("", "", ""), None)
        for n, record in enumerate(records)
    ]
    features = [None] * len(examples)
    return CHID.decode(examples, features, np.array(scores), TextSettings(16))


def test_blanks_of_a_record_get_different_idioms():
    scores = [[5.0, 4.0, 0.0], [6.0, 1.0, 0.0], [9.0, 0.0, 0.0]]
    # Alone each would take the first. Together 4 + 6 beats 5 + 1; the third is another record.
    assert _decode(scores, [0, 0, 1]) == [1, 0, 0]
    assert _decode(scores, [0, 1, 2]) == [0, 0, 0]


def test_more_blanks_than_idioms_are_all_answered():
    scores = [[5.0, 0, 0], [4.0, 0, 0], [3.0, 0, 0], [2.0, 0, 0]]
    found = _decode(scores, [0] * 4)
    assert len(found) == 4
    assert set(found) == {0, 1, 2}


def _sum(scores, columns):
    return sum(row[column] for row, column in zip(scores, columns, strict=True))


@given(
    st.lists(st.lists(st.floats(-5, 5, width=16), min_size=3, max_size=3), min_size=1, max_size=3),
    st.lists(st.floats(-5, 5, width=16), min_size=3, max_size=3),
)
def test_the_joint_answer_is_the_best_of_all_and_shifts_change_nothing(scores, shifts):
    best = max(_sum(scores, columns) for columns in itertools.permutations(range(3), len(scores)))
    found = _decode(scores, [0] * len(scores))
    assert len(set(found)) == len(found)
    assert sum(row[column] for row, column in zip(scores, found, strict=True)) == pytest.approx(
        best
    )
    shifted = [[x + shift for x in row] for row, shift in zip(scores, shifts, strict=False)]
    found = _decode(shifted, [0] * len(scores))
    assert sum(row[column] for row, column in zip(scores, found, strict=True)) == pytest.approx(
        best
    )


def test_answers_are_integers():
    assert CHID.answer(_example("", (0, 0)), 2) == 2
    assert CHID.answer_defect(2) is None
    for wrong in (3, -1, "2", True, 1.0, None):
        assert CHID.answer_defect(wrong) == "is no integer from 0 to 2"
