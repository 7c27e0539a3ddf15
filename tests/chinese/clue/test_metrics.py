"""Accuracy and entity scores, by hand."""

import pytest

from chinese.clue.examples import Entity
from chinese.clue.metrics import accuracy, entity_scores, most_frequent


def test_accuracy_leaves_out_what_has_no_label_and_counts_it():
    score = accuracy([0, None, 1, 1, 2], [0, 0, 1, 0, 2])
    assert (score.value, score.num_scored, score.num_unlabelled) == (75.0, 4, 1)
    assert accuracy([None], [0]).value == 0.0


def test_missing_predictions_are_refused():
    with pytest.raises(ValueError, match="1 predictions for 2 examples"):
        accuracy([0, 1], [0])


def test_the_smallest_of_the_most_frequent_labels_is_taken():
    assert most_frequent([3, 2, 3, 2, None, None, None]) == 2
    assert most_frequent([None]) == 0


def test_entities_are_scored_by_strings_and_by_spans():
    text = "甲乙甲乙丙"
    first, second = Entity("name", 0, 2), Entity("name", 2, 4)
    wrong = Entity("book", 4, 5)
    scores = entity_scores(("name", "book"), [text], [[first, second]], [[second, wrong]])
    # The string 甲乙 is right although one of its places is missing; 丙 is no book.
    assert scores["F1 name"] == 100.0
    assert scores["F1 book"] == 0.0
    assert scores["macro F1"] == 50.0
    # Spans: 1 right of 2 found and 2 true.
    assert scores["span F1"] == 50.0


def test_strings_are_counted_once_a_sentence():
    texts = ["甲乙甲", "甲丙"]
    gold = [[Entity("name", 0, 1), Entity("name", 2, 3)], [Entity("name", 0, 1)]]
    found = [[Entity("name", 0, 1)], [Entity("name", 1, 2)]]
    scores = entity_scores(("name",), texts, gold, found)
    # By strings: TP 1 (sentence 1), FP 丙, FN 甲: 2·1 / (2 + 2). By spans: 1 of 2 found, 3 true.
    assert scores["macro F1"] == 50.0
    assert scores["span F1"] == pytest.approx(40.0)
