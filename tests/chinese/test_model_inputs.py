"""Texts into inputs in graph: the same as the features that heads are trained on."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from chinese.clue.classification import Classification
from chinese.clue.encoding import TextSettings
from chinese.clue.examples import TextExample
from chinese.model_inputs import TextToInputs
from chinese.tokenizer import Tokenizer
from chinese.vocab import SPECIAL_TOKENS, parse_vocabulary

TOKENS = (*SPECIAL_TOKENS, *"今天气很好不坏，。人民", "un", "##able", "kg")


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(parse_vocabulary("".join(f"{t}\n" for t in TOKENS).encode(), "tokens"))


@pytest.fixture(scope="module")
def read(tokenizer):
    """Reads texts, or pairs where the second are given, with rows of 16 tokens."""
    inputs = TextToInputs(tokenizer, 16)
    strings = tf.TensorSpec([None], tf.string)
    of_texts = tf.function(inputs.of_texts, input_signature=[strings])
    of_pairs = tf.function(inputs.of_pairs, input_signature=[strings] * 2)

    def call(texts, pairs=None):
        if pairs is None:
            return of_texts(tf.constant(texts, tf.string))
        return of_pairs(tf.constant(texts, tf.string), tf.constant(pairs, tf.string))

    return call


def assert_equal_features(found, tokenizer, texts):
    """Rows of the graph against the features of `chinese.clue`, one a row."""
    task = Classification(("0", "1"), texts_of=lambda row: ())
    examples = [TextExample(place, each, None) for place, each in enumerate(texts)]
    features = list(task.encode(examples, tokenizer, TextSettings(max_length=16)))
    for row, feature in enumerate(features):
        expected, size = feature.sequence, len(feature.sequence.input_ids)
        np.testing.assert_array_equal(found.input_ids[row, :size], expected.input_ids)
        np.testing.assert_array_equal(found.segment_ids[row, :size], expected.segment_ids)
        np.testing.assert_array_equal(found.parts[row, :size], expected.parts)
        np.testing.assert_array_equal(found.starts[row, :size], expected.spans[:, 0])
        np.testing.assert_array_equal(found.ends[row, :size], expected.spans[:, 1])
        assert not np.any(found.input_ids[row, size:])
        assert np.all(found.parts[row, size:] == -1)
        assert bool(found.is_truncated[row]) == (feature.cut.lost > 0)


some_text = st.text(st.sampled_from("今天气龘 aun，\u0301\n㎏"), max_size=24)


@settings(max_examples=40, deadline=None)
@given(st.lists(some_text, min_size=1, max_size=4))
def test_texts_are_read_as_in_training(read, tokenizer, texts):
    assert_equal_features(read(texts), tokenizer, [(text,) for text in texts])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(some_text, some_text), min_size=1, max_size=4))
def test_pairs_are_read_as_in_training(read, tokenizer, pairs):
    first, second = zip(*pairs, strict=True)
    assert_equal_features(read(first, second), tokenizer, pairs)


def test_the_longer_of_a_pair_loses_its_end_and_of_equals_the_second(read):
    found = read(["今" * 20, "今" * 4, "今" * 20], ["天" * 20, "天" * 20, "天"])
    counts = [[(ids == token).sum() for token in (5, 6)] for ids in found.input_ids.numpy()]
    assert counts == [[7, 6], [4, 9], [12, 1]]
    assert found.is_truncated.numpy().all()


def test_no_texts_are_no_rows(read):
    assert read([]).input_ids.shape[0] == 0


def test_a_row_too_short_for_a_pair_is_refused(tokenizer):
    with pytest.raises(ValueError, match="max_length is 4"):
        TextToInputs(tokenizer, 4)
