"""ELECTRA's Adam against NumPy, and against the reference's own numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from electra_tf.config import OptimizerConfig, ScheduleConfig
from electra_tf.training.optimizer import ElectraAdam, is_decayed
from electra_tf.training.schedule import make_schedule

ROOT = os.environ.get("ELECTRA_TF_REFERENCE")


class Named(keras.layers.Layer):
    """Variables of given names."""

    def __init__(self, values: dict[str, np.ndarray]):
        super().__init__(name="model", dtype="float32")
        self.named = {}
        for name, value in values.items():
            self.named[name] = self.add_weight(shape=value.shape, name=name.replace("/", "."))
            self.named[name].assign(value)


def make_config(**changes) -> OptimizerConfig:
    defaults = {
        "learning_rate": 0.05,
        "weight_decay_rate": 0.1,
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-6,
        "clip_norm": 1.0,
    }
    return OptimizerConfig(**(defaults | changes))


def adam_in_numpy(values, gradients, rates, config, decayed):
    """float64 throughout: every value after every step."""
    w, m, v = values.astype(np.float64), 0.0, 0.0
    history = []
    for gradient, rate in zip(gradients.astype(np.float64), rates, strict=True):
        m = config.beta_1 * m + (1 - config.beta_1) * gradient
        v = config.beta_2 * v + (1 - config.beta_2) * gradient**2
        update = m / (np.sqrt(v) + config.epsilon)
        w = w - rate * (update + config.weight_decay_rate * w * decayed)
        history.append(w)
    return history


def test_ten_steps_are_those_of_numpy():
    rng = np.random.default_rng(0)
    names = {"kernel": True, "word_embeddings": True, "bias": False, "layer_norm.gamma": False}
    values = {name: rng.normal(size=(3, 4)).astype(np.float32) for name in names}
    model, config = Named(values), make_config()
    optimizer = ElectraAdam(config, list(model.named.values()))
    gradients = {name: rng.normal(size=(10, 3, 4)).astype(np.float32) for name in names}
    gradients["kernel"][:, 0] = 0.0  # never a gradient: only decay moves it
    gradients["bias"] *= 1e-7  # where epsilon shows
    rates = rng.uniform(0.01, 0.1, 10).astype(np.float32)
    expected = {
        name: adam_in_numpy(values[name], gradients[name], rates, config, decayed)
        for name, decayed in names.items()
    }
    for step, rate in enumerate(rates):
        optimizer.apply([tf.constant(gradients[name][step]) for name in names], tf.constant(rate))
        for name in names:
            np.testing.assert_allclose(
                model.named[name], expected[name][step], rtol=2e-5, atol=1e-6, err_msg=name
            )


def test_the_first_update_by_hand():
    model = Named({"kernel": np.array([2.0]), "bias": np.array([2.0])})
    optimizer = ElectraAdam(make_config(), list(model.named.values()))
    optimizer.apply([tf.constant([0.5])] * 2, tf.constant(0.1))
    # No bias correction: 0.1 · 0.5 / (sqrt(0.001) · 0.5 + 1e-6) = 3.162; then 0.1 · 2 of decay.
    np.testing.assert_allclose(model.named["bias"], [2 - 0.1 * 3.16208], rtol=1e-5)
    np.testing.assert_allclose(model.named["kernel"], [2 - 0.1 * (3.16208 + 0.2)], rtol=1e-5)


def test_a_rate_of_0_moves_no_weight_but_both_moments():
    model = Named({"kernel": np.array([2.0])})
    optimizer = ElectraAdam(make_config(), list(model.named.values()))
    optimizer.apply([tf.constant([0.5])], tf.constant(0.0))
    assert float(model.named["kernel"][0]) == 2.0
    np.testing.assert_allclose(optimizer.first_moments["model/kernel"], [0.05], rtol=1e-6)
    np.testing.assert_allclose(optimizer.second_moments["model/kernel"], [0.00025], rtol=1e-5)


@pytest.mark.parametrize(
    ("path", "decayed"),
    [
        ("embeddings/word_embeddings", True),
        ("embeddings/position_embeddings", True),
        ("embeddings/layer_norm/gamma", False),
        ("discriminator/layer_3/attention/layer_norm/beta", False),
        ("discriminator/layer_3/attention/query/bias", False),
        ("generator/embeddings_project/kernel", True),
        ("masked_lm_head/output_bias", False),
        ("replaced_token_head/output/kernel", True),
        ("electra/encoder/layer_0/output/LayerNorm/gamma", False),
    ],
)
def test_biases_and_layer_norms_are_not_decayed(path, decayed):
    assert is_decayed(path) is decayed


def test_two_variables_of_one_path_are_refused():
    """They would share their moments."""
    twins = [keras.Variable(np.zeros(2, np.float32), name="twin") for _ in range(2)]
    with pytest.raises(AssertionError, match="twin"):
        ElectraAdam(make_config(), twins)


def test_a_checkpoint_holds_every_weight_once_beside_its_moments(tmp_path):
    model = Named({"kernel": np.ones(3), "bias": np.ones(2)})
    variables = list(model.named.values())
    checkpoint = tf.train.Checkpoint(
        weights={v.path: v.value for v in variables},
        optimizer=ElectraAdam(make_config(), variables),
    )
    path = checkpoint.write(str(tmp_path / "ckpt"))
    shapes = [shape for name, shape in tf.train.list_variables(path) if "GRAPH" not in name]
    assert sorted(shapes) == [[2]] * 3 + [[3]] * 3


# --- the reference ---------------------------------------------------------------------------


@pytest.mark.reference
@pytest.mark.skipif(ROOT is None, reason="needs ELECTRA_TF_REFERENCE")
@pytest.mark.parametrize("case", ["linear", "quadratic", "no_decay"])
def test_clip_rate_and_update_are_those_of_the_reference(case):
    folder = Path(ROOT) / "b_training"
    facts = json.loads((folder / "optimizer_unit.json").read_text())[case]
    arrays = np.load(folder / "optimizer_unit.npz")
    names, arguments = facts["variables"], facts["arguments"]

    def array(kind, name):
        return arrays[f"{case}:{kind}:{name.replace('/', '|')}"]

    model = Named({name: array("values", name)[0] for name in names})
    config = make_config(
        learning_rate=arguments["learning_rate"],
        weight_decay_rate=arguments["weight_decay_rate"],
    )
    schedule = make_schedule(
        ScheduleConfig(
            warmup_steps=arguments["warmup_steps"], decay_power=arguments["lr_decay_power"]
        ),
        config.learning_rate,
        arguments["num_train_steps"],
    )
    optimizer = ElectraAdam(config, list(model.named.values()))
    for step in range(facts["steps"]):
        gradients = [tf.constant(array("gradients", name)[step]) for name in names]
        clipped, norm = tf.clip_by_global_norm(gradients, config.clip_norm)
        rate = schedule(tf.constant(step, tf.int64))
        np.testing.assert_allclose(norm, arrays[f"{case}:global_norm"][step], rtol=1e-6)
        np.testing.assert_allclose(
            rate, arrays[f"{case}:learning_rate"][step], rtol=1e-6, atol=1e-9
        )
        optimizer.apply(clipped, rate)
        for name in names:
            np.testing.assert_allclose(
                model.named[name], array("values", name)[step + 1], atol=1e-6, err_msg=name
            )
    for name in names:
        path = model.named[name].path
        for kind, moments in (
            ("adam_m", optimizer.first_moments),
            ("adam_v", optimizer.second_moments),
        ):
            np.testing.assert_allclose(moments[path], array(kind, name), rtol=1e-5, atol=1e-8)
