"""What a served discriminator answers."""

import numpy as np
import pytest

from electra_tf.workflows.detect import Detector
from electra_tf.workflows.text_model import read_text_model


@pytest.fixture(scope="module")
def detect(detection):
    return Detector(detection[0])


@pytest.fixture(scope="module")
def network(detection):
    return read_text_model(detection[0], "discriminator", "export")


def of_row(outputs, row):
    """The judged characters of one text: place → probability."""
    places = outputs["offsets"][row].tolist()
    return dict(zip(places, outputs["probabilities"][row].tolist(), strict=True))


def test_every_character_has_the_probability_of_its_token(ask, detect):
    text = "今天 Unable，\n好"
    found = of_row(ask("serving_default", text=[text]), 0)
    expected = {
        place: token.probability
        for token in detect(text)
        for place in range(token.start, token.end)
    }
    assert found.keys() == expected.keys() == set(range(len(text))) - {2, 10}
    np.testing.assert_allclose(list(found.values()), list(expected.values()), atol=1e-6)


def test_rows_of_different_lengths_answer_as_they_do_alone(ask):
    texts = ["", "今天气很好不坏", " \t\n", "龘龘", "今"]
    together = ask("serving_default", text=texts)
    assert together["offsets"].shape == (5, 7)
    for row, text in enumerate(texts):
        alone = of_row(ask("serving_default", text=[text]), 0)
        found = of_row(together, row)
        assert {**alone, -1: 0.0} == pytest.approx({**found, -1: 0.0}, abs=1e-6)
        assert found.keys() - {-1} == {i for i, c in enumerate(text) if not c.isspace()}


def test_a_text_is_cut_at_the_length_of_training_and_says_so(ask, detect):
    text = "今天气很好不坏，。人民"
    outputs = ask("serving_default", text=[text, text[:10]])
    assert outputs["is_truncated"].tolist() == [True, False]
    np.testing.assert_array_equal(outputs["offsets"][0], np.arange(10))
    np.testing.assert_allclose(*outputs["probabilities"], atol=1e-6)


def test_no_rows_are_no_answers(ask):
    outputs = ask("serving_default", text=np.array([], dtype=object).astype(bytes))
    assert {name: value.shape[0] for name, value in outputs.items()} == {
        "offsets": 0,
        "probabilities": 0,
        "is_truncated": 0,
    }


def test_a_megabyte_of_text_is_answered(ask):
    long = "今天 \u3000" * 110_000
    assert len(long.encode()) > 1_000_000
    outputs = ask("serving_default", text=[long, " " * 1_000_000, "龘" * 350_000])
    assert outputs["is_truncated"].tolist() == [True, False, True]
    assert (outputs["offsets"][0] >= 0).sum() == 10


def test_what_stands_behind_the_length_changes_nothing(ask):
    row = [2, 5, 6, 7, 3]
    expected = ask("ids", input_ids=[row], length=[5])["probabilities"]
    # Both as a server pads: with the first element of the tensor.
    padded = ask("ids", input_ids=[[*row, 2, 2, 2], [2, 5, 3] + [2] * 5], length=[5, 3])
    np.testing.assert_allclose(padded["probabilities"][0, :5], expected[0], atol=1e-6)
    assert not padded["probabilities"][0, 5:].any()
    assert not padded["probabilities"][1, 3:].any()


def test_token_ids_beyond_the_length_of_training_are_cut_and_said_so(ask):
    row = [2, *[5, 6] * 10, 3]
    outputs = ask("ids", input_ids=[row, [*row[:12], *[0] * 10]], length=[22, 12])
    assert outputs["is_truncated"].tolist() == [True, False]
    np.testing.assert_allclose(*outputs["probabilities"], atol=1e-6)
    assert outputs["probabilities"].shape == (2, 12)


def test_token_ids_answer_as_their_text_does(ask):
    by_text = ask("serving_default", text=["今天气"])["probabilities"]
    by_ids = ask("ids", input_ids=[[2, 5, 6, 7, 3]], length=[5])["probabilities"]
    np.testing.assert_allclose(by_text, by_ids[:, 1:4], atol=1e-6)


def test_vectors_are_those_of_the_encoder(ask, network):
    from electra_tf.network.pretrained import build_discriminator

    encoder = build_discriminator(network.folder.config, network.folder.weights).encoder
    hidden = encoder(np.array([[2, 5, 6, 3]]), np.zeros((1, 4), int)).numpy()[0]
    outputs = ask("embedding", text=["今天", "", "今天气很好"])
    np.testing.assert_allclose(outputs["cls"][0], hidden[0], atol=1e-5)
    np.testing.assert_allclose(outputs["mean"][0], hidden.mean(axis=0), atol=1e-5)
    assert np.isfinite(outputs["mean"]).all()
