"""The alarms of ELECTRA, by numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from electra_tf.pretrain.alarms import majority_class, strong_generator

NAN = math.nan


@pytest.mark.parametrize(
    ("rate", "loss", "sounds"),
    [
        # One answer for all tokens costs -ln(1/2) = 0.6931 where half of them are replaced.
        (0.5, 0.6931, True),
        (0.5, 0.98 * 0.6931, True),
        (0.5, 0.96 * 0.6931, False),
        # A tenth: -0.1 ln 0.1 - 0.9 ln 0.9 = 0.2303 + 0.0948 = 0.3251.
        (0.1, 0.3251, True),
        (0.1, 0.70, True),  # worse than one answer
        (0.1, 0.30, False),
        (0.0, 0.01, False),  # nothing to find
        (NAN, NAN, False),  # all steps were skipped
        (0.1, NAN, False),
    ],
)
def test_a_discriminator_with_one_answer_for_all_sounds_an_alarm(rate, loss, sounds):
    text = majority_class({"replaced_rate": rate, "discriminator_loss": loss})
    assert bool(text) == sounds
    if sounds:
        assert "optimizer.learning_rate" in text


@pytest.mark.parametrize(
    ("masked", "replaced", "sounds"),
    [
        (0.15, 0.0374, True),
        (0.15, 0.0376, False),
        (0.15, 0.0, True),
        (0.0, 0.0, False),  # nothing is hidden
        (NAN, NAN, False),
    ],
)
def test_a_generator_that_finds_three_of_four_hidden_tokens_sounds_an_alarm(
    masked, replaced, sounds
):
    text = strong_generator({"masked_rate": masked, "replaced_rate": replaced})
    assert bool(text) == sounds
    if sounds:
        assert "smaller generator" in text
