"""CMRC's EM and F1, by hand."""

import pytest

from chinese.clue.reading_metrics import answer_f1, answer_tokens, is_exact, reading_scores


@pytest.mark.parametrize(
    ("answer", "found", "same"),
    [
        ("北京", "北京", True),
        (" 北京。", "“北京”", True),
        ("A-B", "ab", True),
        ("Mr. X", "mr x", False),  # a plain full stop stays
        ("甲（乙）", "甲乙", True),
        ("甲(乙)", "甲乙", False),  # so do ASCII brackets
        ("甲 乙", "甲乙", False),  # and blanks inside
        ("甲……", "甲", False),  # "……" is one entry of the list, so … is never deleted
        ("‘甲’", "甲", False),  # ’ is in the list, ‘ is not
        ("甲－乙～『丙』「丁」", "甲乙丙丁", True),
        ("甲,乙;", "甲乙", False),
    ],
)
def test_exact_match_deletes_just_the_marks_of_the_list(answer, found, same):
    assert is_exact(answer, found) is same


def test_tokens_are_han_characters_and_words_between_them():
    assert answer_tokens("全长312.6米，共1,000 艘") == [
        "全",
        "长",
        "312.6",
        "米",
        "共",
        "1,000",
        "艘",
    ]
    # What a deleted mark parted is one word then.
    assert answer_tokens("USA，UK和X-1") == ["usauk", "和", "x1"]
    # The range ends at 龥; later Han characters are gathered like letters.
    assert answer_tokens("龥龦龧x") == ["龥", "龦龧x"]


@pytest.mark.parametrize(
    ("answer", "found", "f1"),
    [
        ("北京大学", "北京大学", 1.0),
        ("北京大学", "北京", 2 * (2 / 2) * (2 / 4) / (2 / 2 + 2 / 4)),
        # 甲乙丙丁 and 甲丙乙丁 share single characters only: a run, no subsequence, no bag.
        ("甲乙丙丁", "甲丙乙丁", 0.25),
        ("北京", "上海", 0.0),
        ("。", "。", 0.0),  # nothing is left of either
        ("", "", 1.0),  # a question without an answer, and none found
        ("", "北京", 0.0),
    ],
)
def test_f1_counts_the_longest_run(answer, found, f1):
    assert answer_f1(answer, found) == pytest.approx(f1, abs=1e-15)


def test_totals_are_over_all_questions():
    gold = {"q1": ["北京大学", "北大"], "q2": ["上海"], "q3": ["广州"]}
    scores = reading_scores(gold, {"q1": "北大。", "q2": "上海市"})
    # q1 1 and 1; q2 F1 = 2 · 2/3 · 1 / (5/3) = 0.8 and 0; q3 is missing.
    assert scores.official() == {
        "AVERAGE": "46.667",
        "F1": "60.000",
        "EM": "33.333",
        "TOTAL": 3,
        "SKIP": 1,
    }
