"""The optimizers against NumPy, and ELECTRA's Adam against the reference's own numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from electra_tf.config import OptimizerConfig, ReferenceSchedule
from electra_tf.training.optimizer import Optimizer, _reached, is_decayed
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
        "name": "electra_adam",
        "learning_rate": 0.05,
        "weight_decay_rate": 0.1,
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-6,
        "clip_norm": 1.0,
    }
    return OptimizerConfig(**(defaults | changes))


# --- the formulas of the papers, in float64 ---------------------------------------------------


def electra_adam(w, m, v, t, c, spared):
    return m / (np.sqrt(v) + c.epsilon) + (0 if spared else c.weight_decay_rate * w)


def adamw(w, m, v, t, c, spared):
    m_hat, v_hat = m / (1 - c.beta_1**t), v / (1 - c.beta_2**t)
    return m_hat / (np.sqrt(v_hat) + c.epsilon) + (0 if spared else c.weight_decay_rate * w)


def lamb(w, m, v, t, c, spared):
    update = adamw(w, m, v, t, c, spared)
    if spared:
        return update
    lengths = [np.sqrt((x**2).sum()) for x in (w, update)]
    return update * (lengths[0] / lengths[1] if min(lengths) > 0 else 1)


FORMULAS = {"electra_adam": electra_adam, "adamw": adamw, "lamb": lamb}


def history(formula, values, gradients, rates, config, spared):
    """Every value after every step."""
    w, m, v = values.astype(np.float64), 0.0, 0.0
    for t, (gradient, rate) in enumerate(zip(gradients.astype(np.float64), rates, strict=True), 1):
        m = config.beta_1 * m + (1 - config.beta_1) * gradient
        v = config.beta_2 * v + (1 - config.beta_2) * gradient**2
        w = w - rate * formula(w, m, v, t, config, spared)
        yield w


SPARED = {
    "kernel": False,
    "word_embeddings": False,
    "zeros": False,
    "bias": True,
    "layer_norm.gamma": True,
}
MULTIPLIERS = {"kernel": 0.5, "word_embeddings": 0.0, "zeros": 1.0, "bias": 2.0}


@pytest.mark.parametrize("multiplied", [False, True])
@pytest.mark.parametrize("name", FORMULAS)
def test_ten_steps_are_those_of_numpy(name, multiplied):
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=(3, 4)).astype(np.float32) for name in SPARED}
    values["zeros"][:] = 0.0  # where LAMB has no trust ratio in its first step
    model, config = Named(values), make_config(name=name)
    factors = {name: MULTIPLIERS.get(name, 1.0) if multiplied else 1.0 for name in SPARED}
    optimizer = Optimizer(
        config,
        list(model.named.values()),
        {v.path: factors[name] for name, v in model.named.items()} if multiplied else None,
    )
    gradients = {name: rng.normal(size=(10, 3, 4)).astype(np.float32) for name in SPARED}
    gradients["kernel"][:, 0] = 0.0  # never a gradient: only decay moves it
    gradients["bias"] *= 1e-7  # where epsilon shows
    rates = rng.uniform(0.01, 0.1, 10).astype(np.float32)
    expected = {
        name: history(
            FORMULAS[config.name],
            values[name],
            gradients[name],
            rates * factors[name],
            config,
            spared,
        )
        for name, spared in SPARED.items()
    }
    for step, rate in enumerate(rates):
        optimizer.apply(
            [tf.constant(gradients[name][step]) for name in SPARED],
            tf.constant(rate),
            tf.constant(step, tf.int64),
        )
        for name in SPARED:
            np.testing.assert_allclose(
                model.named[name], next(expected[name]), rtol=2e-5, atol=1e-6, err_msg=name
            )
    if multiplied:
        np.testing.assert_array_equal(model.named["word_embeddings"], values["word_embeddings"])


def first_update(name, weight, gradient=0.5):
    """What 0.1 as a rate leaves of a kernel and a bias that are both this number."""
    model = Named({"kernel": np.array([weight]), "bias": np.array([weight])})
    optimizer = Optimizer(make_config(name=name), list(model.named.values()))
    optimizer.apply([tf.constant([gradient])] * 2, tf.constant(0.1), tf.constant(0))
    return float(model.named["kernel"][0]), float(model.named["bias"][0])


def test_the_first_update_by_hand():
    # No bias correction: 0.1 · 0.5 / (sqrt(0.001) · 0.5 + 1e-6) = 3.162; then 0.1 · 2 of decay.
    kernel, bias = first_update("electra_adam", 2.0)
    assert kernel == pytest.approx(2 - 0.1 * (3.16208 + 0.2), rel=1e-5)
    assert bias == pytest.approx(2 - 0.1 * 3.16208, rel=1e-5)
    # Corrected, both moments are the gradient and its square: a step of 1.
    kernel, bias = first_update("adamw", 2.0)
    assert kernel == pytest.approx(2 - 0.1 * 1.2, rel=1e-5)
    assert bias == pytest.approx(2 - 0.1, rel=1e-5)
    # The direction 1.2 is made as long as the weight, 2; biases take AdamW's.
    kernel, bias = first_update("lamb", 2.0)
    assert kernel == pytest.approx(2 - 0.1 * 2.0, rel=1e-5)
    assert bias == pytest.approx(2 - 0.1, rel=1e-5)


def test_lamb_has_no_trust_ratio_where_a_length_is_0():
    assert first_update("lamb", 0.0)[0] == pytest.approx(-0.1, rel=1e-5)
    assert first_update("lamb", 0.0, gradient=0.0) == (0.0, 0.0)


def test_bias_correction_is_precise_from_the_first_step_to_the_millionth():
    for step, expected in ((0, 1e-3), (1, 1.999e-3), (999, 1 - 0.999**1000), (10**6, 1.0)):
        found = _reached(0.999, tf.constant(step + 1.0))
        assert float(found) == pytest.approx(expected, rel=1e-6)
    assert float(_reached(0.0, tf.constant(1.0))) == 1.0


@pytest.mark.parametrize("name", FORMULAS)
def test_a_rate_of_0_moves_no_weight_but_both_moments(name):
    model = Named({"kernel": np.array([2.0])})
    optimizer = Optimizer(make_config(name=name), list(model.named.values()))
    optimizer.apply([tf.constant([0.5])], tf.constant(0.0), tf.constant(0))
    assert float(model.named["kernel"][0]) == 2.0
    np.testing.assert_allclose(optimizer.first_moments["model/kernel"], [0.05], rtol=1e-6)
    # 1 - 0.999 in 32 bits; the update makes up for it.
    np.testing.assert_allclose(optimizer.second_moments["model/kernel"], [0.00025], rtol=2e-5)


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
        Optimizer(make_config(), twins)


def test_multipliers_must_name_the_variables_and_no_other():
    variables = list(Named({"kernel": np.ones(3), "bias": np.ones(2)}).named.values())
    for multipliers in ({"model/kernel": 0.5}, {"model/kernel": 1, "model/bias": 1, "x": 1}):
        with pytest.raises(AssertionError, match=r"model/bias|'x'"):
            Optimizer(make_config(), variables, multipliers)


def train(model, optimizer, steps):
    for step in steps:
        gradients = [
            tf.random.stateless_normal(v.shape, (step, index))
            for index, v in enumerate(model.named.values())
        ]
        optimizer.apply(gradients, tf.constant(0.01), tf.constant(step, tf.int64))


@pytest.mark.parametrize("name", FORMULAS)
def test_weights_and_moments_go_on_exactly_from_a_checkpoint(tmp_path, name):
    def build():
        model = Named({"kernel": np.ones(3), "bias": np.ones(2)})
        variables = list(model.named.values())
        multipliers = {"model/kernel": 0.3, "model/bias": 1.0}
        optimizer = Optimizer(make_config(name=name), variables, multipliers)
        weights = {v.path: v.value for v in variables}
        return model, optimizer, tf.train.Checkpoint(weights=weights, optimizer=optimizer)

    whole, optimizer, checkpoint = build()
    train(whole, optimizer, range(3))
    path = checkpoint.write(str(tmp_path / "ckpt"))
    # Every weight once, beside its two moments, and nothing else.
    shapes = [shape for name, shape in tf.train.list_variables(path) if "GRAPH" not in name]
    assert sorted(shapes) == [[2]] * 3 + [[3]] * 3
    resumed, its_optimizer, its_checkpoint = build()
    its_checkpoint.read(path).assert_consumed()
    train(whole, optimizer, range(3, 6))
    train(resumed, its_optimizer, range(3, 6))
    for name, variable in whole.named.items():
        np.testing.assert_array_equal(variable, resumed.named[name])
        for kind in ("first_moments", "second_moments"):
            ours, theirs = (getattr(o, kind)[variable.path] for o in (optimizer, its_optimizer))
            assert ours.dtype == tf.float32
            np.testing.assert_array_equal(ours, theirs)


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
        ReferenceSchedule(
            name="reference",
            warmup_steps=arguments["warmup_steps"],
            decay_power=arguments["lr_decay_power"],
        ),
        config.learning_rate,
        arguments["num_train_steps"],
    )
    optimizer = Optimizer(config, list(model.named.values()))
    for step in range(facts["steps"]):
        gradients = [tf.constant(array("gradients", name)[step]) for name in names]
        clipped, norm = tf.clip_by_global_norm(gradients, config.clip_norm)
        rate = schedule(tf.constant(step, tf.int64))
        np.testing.assert_allclose(norm, arrays[f"{case}:global_norm"][step], rtol=1e-6)
        np.testing.assert_allclose(
            rate, arrays[f"{case}:learning_rate"][step], rtol=1e-6, atol=1e-9
        )
        optimizer.apply(clipped, rate, tf.constant(step))
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
