"""ELECTRA on one device and on two: the same numbers, replica by replica, step by step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def kept(make_run, tmp_path_factory):
    """name of a training → (weights of each replica by path, reported numbers)."""
    folder = tmp_path_factory.mktemp("trainings")
    layers = {"num_hidden_layers": 1}
    run = make_run(
        discriminator=layers,
        generator=layers,
        masking={"mask_rate": 0.3},
        schedule={"warmup_steps": 0},
    )
    (folder / "run.json").write_text(run.model_dump_json())
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    script = Path(__file__).with_name("electra_trainings.py")
    finished = subprocess.run(
        [sys.executable, str(script), str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=400,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    result = {}
    for path in folder.glob("*.npz"):
        replicas, numbers = [{}, {}], {}
        arrays = np.load(path)
        for key in arrays.files:
            owner, _, name = key.partition("|")
            (numbers if owner == "report" else replicas[int(owner)])[name] = arrays[key]
        result[path.stem] = ([weights for weights in replicas if weights], numbers)
    return result


def largest_difference(ours: dict, theirs: dict) -> float:
    assert set(ours) == set(theirs)
    return max(float(np.abs(ours[name] - theirs[name]).max()) for name in ours)


@pytest.mark.parametrize("name", ["one in 4", "two", "two in 2, xla"])
def test_any_split_of_the_batch_trains_the_weights_of_one_device(kept, name):
    """Rows of one half are four times as long as those of the other; three steps."""
    expected = kept["one"][0][0]
    assert largest_difference(kept[name][0][0], expected) < 1e-6


@pytest.mark.parametrize("name", ["one in 4", "two", "two in 2, xla"])
def test_any_split_of_the_batch_reports_the_numbers_of_one_device(kept, name):
    ours, theirs = kept[name][1], kept["one"][1]
    assert set(ours) == set(theirs)
    for key, expected in theirs.items():
        # A logit near the edge of a bin may fall to its other side.
        tolerance = 1e-2 if key.endswith("auc") else 1e-5
        assert ours[key] == pytest.approx(expected, rel=tolerance, abs=1e-7), key


@pytest.mark.parametrize("name", ["two", "two in 2, xla", "whole", "resumed"])
def test_both_replicas_hold_the_same_weights_to_the_bit(kept, name):
    first, second = kept[name][0]
    assert largest_difference(first, second) == 0.0


def test_training_moves_every_weight(kept):
    # Key biases have no gradient but rounding: softmax does not see what all scores share.
    for name, weights in kept["one"][0][0].items():
        if "layer_norm" not in name and not name.endswith("bias"):
            assert np.abs(weights - kept["noisy"][0][0][name]).max() > 1e-6, name


def test_xla_trains_the_weights_of_the_uncompiled_step_with_dropout_and_draws(kept):
    assert largest_difference(kept["noisy, xla"][0][0], kept["noisy"][0][0]) < 1e-5
    ours, theirs = kept["noisy, xla"][1], kept["noisy"][1]
    assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-5)
    assert ours["replaced_rate"] == theirs["replaced_rate"]


def test_a_resumed_run_ends_with_the_weights_of_one_that_was_never_stopped(kept):
    assert largest_difference(kept["resumed"][0][0], kept["whole"][0][0]) == 0.0
    ours, theirs = kept["resumed"][1], kept["whole"][1]
    assert {k: float(v) for k, v in ours.items()} == {k: float(v) for k, v in theirs.items()}


def test_evaluation_before_training_starts_at_the_expected_loss(kept):
    for name in ("one", "two"):
        expected = np.log(40) + 50 * np.log(2)
        assert kept[name][1]["before loss"] == pytest.approx(expected, abs=0.5)
        assert kept[name][1]["after loss"] < kept[name][1]["before loss"]
