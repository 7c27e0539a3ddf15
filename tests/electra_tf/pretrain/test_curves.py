"""What is drawn of a run."""

import math

from electra_tf.pretrain.curves import run_curves

EVENTS = [
    {"kind": "evaluation", "step": 0, "hidden_lm_loss": 8.0, "discriminator_auc": 0.5},
    {"kind": "train", "step": 10, "hidden_lm_loss": 7.0, "learning_rate": 1e-3},
    {"kind": "train", "step": 20, "hidden_lm_loss": math.nan, "learning_rate": 5e-4},
    {"kind": "evaluation", "step": 20, "hidden_lm_loss": 6.5, "discriminator_auc": 0.7},
]


def test_training_and_held_out_text_are_two_curves_of_one_chart():
    first, *_ = run_curves(EVENTS, 6.6)
    training, held_out = first.curves
    assert training.points == [(10, 7.0)]  # what is no number is left out
    assert held_out.points == [(0, 8.0), (20, 6.5)]
    assert first.level == ("unigram entropy", 6.6)


def test_what_was_never_reported_is_an_empty_curve():
    assert all(not curve.points for drawn in run_curves([], 6.6) for curve in drawn.curves)
