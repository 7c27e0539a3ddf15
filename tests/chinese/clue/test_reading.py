"""Answers in contexts: reading, windows, the best answer, quoted exactly."""

import json

import numpy as np
import pytest

from chinese.clue.encoding import TextSettings
from chinese.clue.examples import Answer, ReadingExample, SpanPrediction
from chinese.clue.features import SpanCandidates, truncation
from chinese.clue.reading import Reading

CMRC = Reading()


def _squad(context, *questions):
    return {"version": "v1.0", "data": [{"paragraphs": [{"context": context, "qas": questions}]}]}


def _question(id_, *answers, **more):
    entries = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": id_, "question": "甲？", "answers": entries, **more}


def test_both_forms_are_read(write):
    tree = _squad("一二三", _question("Q0", ("二", 1), ("二三", 1)))
    native = [
        {
            "context_id": "0",
            "context_text": "一二三",
            "qas": [{"query_id": "Q0", "query_text": "甲？", "answers": ["二", "二三"]}],
        }
    ]
    expected = ReadingExample("Q0", "一二三", "甲？", (Answer("二", 1), Answer("二三", 1)))
    assert CMRC.read([write("dev.json", tree)], has_labels=True) == [expected]
    assert CMRC.read([write("native.json", json.dumps(native))], has_labels=True) == [expected]


@pytest.mark.parametrize(
    ("text", "told", "start"),
    [
        ("三", 2, 2),
        ("三", -1, 2),  # not told, but there: the first
        ("三", 6, 7),  # a few characters off: the nearest
        ("三", 3, 2),
        ("五", 1, -1),  # not there: scored, never trained on
        ("二三", -1, 1),
    ],
)
def test_offsets_are_mended(write, text, told, start):
    tree = _squad("一二三四一二一三", _question("Q0", (text, told)))
    (example,) = CMRC.read([write("dev.json", tree)], has_labels=True)
    assert example.answers == (Answer(text, start),)


def test_lost_answers_are_told_or_refused(write):
    tree = _squad("一二三", _question("Q0", ("五", -1), ("二", 1)))
    path = write("dev.json", tree)
    examples = CMRC.read([path], has_labels=True)
    assert CMRC.notes(examples) == (
        "1 of 2 answers do not stand in their context: scored, never trained on",
    )
    with pytest.raises(
        ValueError, match=r"dev\.json:13: answer '五' does not stand in its context"
    ):
        Reading(refuses_lost_answers=True).read([path], has_labels=True)


def test_the_answers_of_a_test_file_are_not_looked_at(write):
    tree = _squad("一二三", _question("TEST_0_QUERY_0", ("FAKE_ANSWER_1", -1)))
    (example,) = CMRC.read([write("test.json", tree)], has_labels=False)
    assert example.answers == ()
    assert not example.is_labelled


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([_question("Q0", ("二", 1))] * 2, "id 'Q0' stands there a second time"),
        ([_question("Q0")], 'no answers; where there is none, say "is_impossible": true'),
        ([_question("Q0", (" ", 1))], "the answer is blank"),
        ([_question("Q0", ("二", None))], "'answer_start' should be an integer, found null"),
        ([{"id": "Q0", "answers": []}], "no answers"),
        ([{"question": "甲"}], "no field 'id'"),
    ],
)
def test_wrong_questions_are_named(write, questions, message):
    path = write("dev.json", _squad("一二三", *questions))
    with pytest.raises(ValueError, match=r"dev\.json:\d+: ") as caught:
        CMRC.read([path], has_labels=True)
    assert message in str(caught.value)


def test_a_file_of_another_form_is_named(write):
    with pytest.raises(ValueError, match=r"dev\.json:1: no field 'data'; found rows"):
        CMRC.read([write("dev.json", {"rows": []})], has_labels=True)


CONTEXT = "一二三四五六七八九十甲乙丙丁"
EXAMPLE = ReadingExample("Q0", CONTEXT, "是不？", (Answer("九十", 8),))
SETTINGS = TextSettings(16, stride=4, max_answer_length=4)


def test_windows_overlap_and_the_answer_is_taught_where_it_is_whole(toy_tokenizer):
    features = list(CMRC.encode([EXAMPLE], toy_tokenizer, SETTINGS))
    # 16 less 3 of the question and 3 specials: 10 tokens of context, then 4 further on.
    assert [(f.window, f.start, f.end) for f in features] == [(0, 13, 14), (1, 9, 10)]
    first, second = features
    assert [first.sequence.quote(EXAMPLE, token) for token in (1, 5, 13, 14)] == list("是一九十")
    assert first.sequence.segment_ids.tolist() == [0] * 5 + [1] * 11
    assert np.flatnonzero(first.is_context).tolist() == list(range(5, 15))
    # Of tokens 4 to 9, which both show: 六 has 5 before and 4 behind it in the first; 七 has 6 and
    # 3 there, but 2 and 7 in the second; 八 has 2 behind it, and 3 before it in the second.
    assert np.flatnonzero(first.is_max_context).tolist() == list(range(5, 12))
    assert np.flatnonzero(second.is_max_context).tolist() == list(range(8, 15))
    assert truncation(features) == (1, 0, 17, 0)


def test_a_window_without_the_whole_answer_points_to_cls(toy_tokenizer):
    example = EXAMPLE._replace(answers=(Answer("十甲乙", 9),))
    features = list(CMRC.encode([example], toy_tokenizer, SETTINGS))
    assert [(f.start, f.end) for f in features] == [(0, 0), (10, 12)]
    lost = EXAMPLE._replace(answers=(Answer("不在", -1),))
    features = list(CMRC.encode([lost], toy_tokenizer, SETTINGS))
    assert [(f.start, f.end) for f in features] == [(0, 0), (0, 0)]


def test_a_long_question_is_cut_and_told(toy_tokenizer):
    settings = TextSettings(32, max_query_length=2)
    features = list(CMRC.encode([EXAMPLE], toy_tokenizer, settings))
    assert (features[0].sequence.parts == 0).sum() == 2
    assert truncation(features) == (1, 1, 17, 1)


def test_an_answer_within_a_token_is_the_whole_token(toy_tokenizer):
    example = ReadingExample("Q0", "一 1998 二", "是", (Answer("98 ", 4),))
    (feature,) = CMRC.encode([example], toy_tokenizer, TextSettings(16))
    assert feature.start == feature.end == 4
    assert feature.sequence.quote(example, 4) == "1998"


def _candidates(*found):
    starts, ends, scores = zip(*found, strict=True)
    return SpanCandidates(np.array(starts), np.array(ends), np.array(scores))


def _decode(tokenizer, *outputs, family=CMRC):
    features = list(family.encode([EXAMPLE], tokenizer, SETTINGS))
    return family.decode([EXAMPLE], features, outputs, SETTINGS)[0]


def test_the_best_candidate_of_all_windows_is_quoted(toy_tokenizer):
    found = _decode(toy_tokenizer, _candidates((5, 6, 1.0)), _candidates((9, 10, 2.0)))
    assert found == SpanPrediction("九十", 8, 10, 2.0)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0, 0),  # [CLS]
        (1, 2),  # the question
        (5, 4),  # ends before it begins
        (5, 9),  # five tokens
        (4, 6),  # begins at [SEP]
        (12, 13),  # more text around it in the other window
        (11, 15),  # ends at [SEP]
    ],
)
def test_what_cannot_be_an_answer_is_passed_over(toy_tokenizer, start, end):
    nothing = _candidates((0, 0, 9.0))
    good = _decode(toy_tokenizer, _candidates((start, end, 9.0), (5, 8, 1.0)), nothing)
    assert good == SpanPrediction("一二三四", 0, 4, 1.0)
    none = _decode(toy_tokenizer, _candidates((start, end, 9.0)), nothing)
    assert none == SpanPrediction("", -1, -1, -np.inf)


def test_an_answer_may_end_where_another_window_shows_more(toy_tokenizer):
    found = _decode(toy_tokenizer, _candidates((11, 13, 1.0)), _candidates((0, 0, 9.0)))
    assert found.text == "七八九"


def test_scores_that_are_no_numbers_never_win(toy_tokenizer):
    found = _decode(
        toy_tokenizer, _candidates((5, 5, np.nan), (6, 6, -3.0)), _candidates((9, 9, -np.inf))
    )
    assert found.text == "二"


def test_no_answer_is_given_where_all_windows_say_so(toy_tokenizer):
    family = Reading(null_threshold=0.5)
    first, second = _candidates((5, 5, 1.0)), _candidates((9, 9, 2.0))
    sure = [first._replace(unanswerable=0.6), second._replace(unanswerable=3.0)]
    assert _decode(toy_tokenizer, *sure, family=family).text == ""
    unsure = [first._replace(unanswerable=0.5), second._replace(unanswerable=3.0)]
    assert _decode(toy_tokenizer, *unsure, family=family).text == "九"
    assert _decode(toy_tokenizer, *sure).text == "九"


def test_missing_outputs_are_refused(toy_tokenizer):
    features = list(CMRC.encode([EXAMPLE], toy_tokenizer, SETTINGS))
    with pytest.raises(ValueError, match="1 predictions for 2 examples"):
        CMRC.decode([EXAMPLE], features, [_candidates((5, 5, 1.0))], SETTINGS)
    with pytest.raises(ValueError, match="features of 1 of 2 examples"):
        CMRC.decode([EXAMPLE] * 2, features, [_candidates((5, 5, 1.0))] * 2, SETTINGS)


def test_scores_are_those_of_the_official_script():
    examples = [
        ReadingExample("Q0", "", "", (Answer("北京大学", 0), Answer("北大", 0))),
        ReadingExample("Q1", "", "", (Answer("上海", 0),)),
        ReadingExample("Q2", "", "", ()),
    ]
    found = [SpanPrediction(text, 0, 0, 0.0) for text in ("北大。", "上海市", "x")]
    score = CMRC.score(examples, found)
    assert (score.metric, score.value, score.num_scored, score.num_unlabelled) == ("EM", 50.0, 2, 1)
    assert score.details == {"F1": pytest.approx(90.0), "average": pytest.approx(70.0)}


def test_the_baseline_is_the_closest_sentence():
    example = ReadingExample("Q0", "一二。三四五。三六。\n", "三四？", ())
    assert CMRC.baseline([], [example]) == [SpanPrediction("三四五。", 3, 7, 2.0)]
