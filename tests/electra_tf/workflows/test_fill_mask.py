"""A generator asked for what stands at [MASK]."""

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.network.pretrained import build_generator
from electra_tf.workflows.fill_mask import MaskFiller


@pytest.fixture(scope="module")
def place(write_network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "generator"
    write_network(folder, "generator")
    return folder


def test_each_mask_is_told_with_its_place_in_the_text(place):
    masks = MaskFiller(place)("[MASK]天 unable[MASK]很")
    assert [mask.offset for mask in masks] == [0, 14]
    for mask in masks:
        assert len(mask.guesses) == 5
        chances = [guess.probability for guess in mask.guesses]
        assert chances == sorted(chances, reverse=True)


def test_the_guesses_are_those_of_the_network(place, write_network, tmp_path):
    folder = write_network(tmp_path / "same", "generator")
    network = build_generator(folder.config, folder.weights)
    ids = tf.constant([[2, 5, 4, 7, 3]])  # [CLS] 今 [MASK] 气 [SEP]
    hidden = network.encoder(ids, tf.zeros_like(ids))
    expected = tf.nn.softmax(network.head(hidden[:, 2:3]))[0, 0].numpy()

    (mask,) = MaskFiller(place)("今[MASK]气", top=100)
    assert len(mask.guesses) == len(expected)
    tokens = folder.vocabulary.decode().split("\n")
    for guess in mask.guesses:
        assert guess.probability == pytest.approx(expected[tokens.index(guess.token)], abs=1e-6)
    assert np.isclose(sum(guess.probability for guess in mask.guesses), 1.0, atol=1e-5)


def test_a_text_without_a_mask_is_refused(place):
    with pytest.raises(ValueError, match=r"no \[MASK\] in the text"):
        MaskFiller(place)("今天很好")


def test_a_text_longer_than_what_was_trained_is_refused(place):
    assert MaskFiller(place)("今" * 9 + "[MASK]")
    with pytest.raises(ValueError, match=r"13 tokens .* trained on at most 12"):
        MaskFiller(place)("今" * 10 + "[MASK]")


def test_a_discriminator_is_refused_and_the_generator_beside_it_named(
    place, write_network, tmp_path
):
    write_network(tmp_path / "encoder", "discriminator")
    with pytest.raises(
        ValueError, match=r"holds a discriminator, but fill-mask needs a generator$"
    ):
        MaskFiller(tmp_path / "encoder")
    write_network(tmp_path / "generator", "generator")
    with pytest.raises(ValueError, match=r"stands beside it: .*generator"):
        MaskFiller(tmp_path / "encoder")


def test_of_a_run_folder_the_fitting_network_is_taken(write_network, tmp_path):
    (tmp_path / "config.yaml").write_text("")
    with pytest.raises(ValueError, match="has not written its networks yet"):
        MaskFiller(tmp_path)
    write_network(tmp_path / "generator", "generator")
    assert MaskFiller(tmp_path)("今[MASK]")
