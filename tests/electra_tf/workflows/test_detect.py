"""A discriminator asked which characters look replaced."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from electra_tf.network.pretrained import build_discriminator
from electra_tf.workflows.detect import Detector, windows, write_page


@pytest.fixture(scope="module")
def folder(write_network, tmp_path_factory):
    place = tmp_path_factory.mktemp("run") / "encoder"
    return place, write_network(place, "discriminator")


@pytest.fixture(scope="module")
def detect(folder):
    return Detector(folder[0])


def test_every_token_is_told_with_its_place_in_the_text(detect):
    text = "今天 Unable，\n很好"
    tokens = detect(text)
    assert [t.text for t in tokens] == ["今", "天", "Un", "able", "，", "很", "好"]
    assert all(text[t.start : t.end] == t.text for t in tokens)


def test_the_probabilities_are_those_of_the_network(folder, detect):
    network = build_discriminator(folder[1].config, folder[1].weights)
    ids = tf.constant([[2, 5, 6, 7, 3]])
    expected = tf.sigmoid(network.head(network.encoder(ids, tf.zeros_like(ids))))[0].numpy()
    found = [token.probability for token in detect("今天气")]
    np.testing.assert_allclose(found, expected[1:4], atol=1e-6)


def test_a_long_text_is_read_in_windows_that_end_as_the_text_does(detect):
    text = "今天气很好不坏，。人民" * 40
    tokens = detect(text)
    assert [token.text for token in tokens] == list(text)
    # Windows of 10 tokens: the first answers 0 to 6, the last begins 10 before the end.
    first, last = detect(text[:10]), detect(text[-10:])
    np.testing.assert_allclose(
        [t.probability for t in tokens[:7]], [t.probability for t in first[:7]], atol=1e-6
    )
    np.testing.assert_allclose(
        [t.probability for t in tokens[-7:]], [t.probability for t in last[-7:]], atol=1e-6
    )


@given(st.integers(0, 300), st.integers(1, 40))
def test_windows_answer_for_every_token_once_and_never_read_beyond(count, size):
    found = windows(count, size)
    assert [i for w in found for i in range(w.first, w.last)] == list(range(count))
    for w in found:
        assert 0 <= w.start <= w.first < w.last <= w.end <= count
        assert w.end - w.start <= size


def test_nothing_but_blanks_has_no_tokens(detect):
    assert detect(" \n\t") == []


def test_a_generator_is_refused(write_network, tmp_path):
    write_network(tmp_path / "g", "generator")
    with pytest.raises(ValueError, match="holds a generator, but detect needs a discriminator"):
        Detector(tmp_path / "g")


def test_the_page_shows_all_of_the_text_and_overwrites_nothing(detect, tmp_path):
    text = "今天 <b>很好</b>"
    write_page(tmp_path / "a.html", text, detect(text), "runs/x")
    shown = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<b>" not in shown
    assert shown.count("rgba(var(--hot), 0.") >= 4
    with pytest.raises(FileExistsError):
        write_page(tmp_path / "a.html", text, [], "runs/x")
