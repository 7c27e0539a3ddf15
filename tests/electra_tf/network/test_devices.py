"""The network under XLA and on two replicas.

Logical devices must be set before TensorFlow starts, so the replicas live in a process of
their own; it prints what it saw and this file judges it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.network.embeddings import Embeddings
from electra_tf.network.encoder import Encoder
from electra_tf.network.heads import MaskedLMHead, ReplacedTokenHead


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_xla_gives_the_values_and_gradients_of_the_uncompiled_step(make_config, batch, precision):
    config = make_config(num_hidden_layers=1, hidden_dropout_rate=0.1, attention_dropout_rate=0.1)
    embeddings = Embeddings(config, 1)
    encoder = Encoder(config, embeddings, 1, precision)
    masked_lm, replaced = (
        MaskedLMHead(config, embeddings, 1, precision),
        ReplacedTokenHead(config, 1, precision),
    )
    variables = [v.value for v in [*encoder.weights, *masked_lm.own_weights, *replaced.own_weights]]

    def step(ids, segments, seed):
        with tf.GradientTape() as tape:
            hidden = encoder(ids, segments, dropout_seed=seed)
            loss = tf.reduce_sum(replaced(hidden) ** 2) + tf.reduce_sum(masked_lm(hidden) ** 2)
        gradients = tape.gradient(loss, variables)
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    seed = tf.constant([1, 2])
    loss, gradients = step(*batch, seed)
    compiled_loss, compiled = tf.function(step, jit_compile=True)(*batch, seed)
    tolerance = 1e-4 if precision == "float32" else 0.05
    np.testing.assert_allclose(compiled_loss, loss, rtol=tolerance)
    for ours, theirs in zip(compiled, gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=tolerance * np.abs(theirs).max() + 1e-6)


REPLICAS = """
    import json
    import numpy as np
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

    from electra_tf.config import EncoderConfig
    from electra_tf.network.embeddings import Embeddings
    from electra_tf.network.encoder import Encoder
    from electra_tf.network.heads import MaskedLMHead, ReplacedTokenHead
    from electra_tf.network.weights import assign_weights, named_weights

    config = EncoderConfig.model_validate_json('CONFIG')


    def build():
        embeddings = Embeddings(config, 1)
        return (
            Encoder(config, embeddings, 1),
            MaskedLMHead(config, embeddings, 1),
            ReplacedTokenHead(config, 1),
        )


    alone = build()
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        encoder, masked_lm, replaced = mirrored = build()

    pairs = [
        (ours, theirs)
        for left, right in zip(mirrored, alone)
        for ours, theirs in zip(left.weights, right.weights)
    ]
    ids = tf.constant([[2, 5, 6, 3, 0], [2, 7, 3, 0, 0]])
    variables = [v for v in encoder.weights]


    @tf.function(jit_compile=True)
    def gradients(ids):
        with tf.GradientTape() as tape:
            hidden = encoder(ids, tf.zeros_like(ids))
            loss = tf.reduce_sum(replaced(hidden) ** 2) + tf.reduce_sum(masked_lm(hidden) ** 2)
        values = tape.gradient(loss, [v.value for v in variables])
        return hidden, [tf.convert_to_tensor(value) for value in values]


    @tf.function
    def step():
        def on_replica():
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            silent, slopes = gradients(ids)
            noisy = encoder(ids, tf.zeros_like(ids), dropout_seed=tf.stack([7, replica]))
            return silent, noisy, slopes[0]

        return strategy.run(on_replica)


    silent, noisy, slope = (strategy.experimental_local_results(value) for value in step())
    expected = alone[0](ids, tf.zeros_like(ids))


    def assign():
        named = named_weights(masked_lm)
        halves = {name: np.full(v.shape, 0.5, np.float32) for name, v in named.items()}
        with strategy.scope():
            assign_weights(named, halves)
        copies = [strategy.experimental_local_results(v.value) for v in named.values()]
        return [np.unique(part).tolist() for parts in copies for part in parts]


    print(json.dumps({
        "replicas": len(silent),
        "aggregations": sorted({v.aggregation for v in variables}),
        "synced": all(
            np.array_equal(part.numpy(), theirs.numpy())
            for ours, theirs in pairs
            for part in strategy.experimental_local_results(ours.value)
        ),
        "same_paths": all(ours.path == theirs.path for ours, theirs in pairs),
        "silent_error": max(float(np.abs(value - expected).max()) for value in silent),
        "slope_difference": float(np.abs(slope[0] - slope[1]).max()),
        "slope_size": float(np.abs(slope[0]).max()),
        "noise_difference": float(np.abs(noisy[0] - noisy[1]).max()),
        "assigned": assign(),
    }))
"""


@pytest.fixture(scope="module")
def replicas(make_config):
    config = make_config(num_hidden_layers=1, hidden_dropout_rate=0.3)
    script = textwrap.dedent(REPLICAS).replace("CONFIG", config.model_dump_json())
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return json.loads(finished.stdout.splitlines()[-1])


def test_two_replicas_hold_the_weights_of_one_device(replicas):
    assert replicas["replicas"] == 2
    assert replicas["synced"]
    assert replicas["same_paths"]


def test_assigned_weights_reach_every_replica(replicas):
    assert replicas["assigned"] == [[0.5]] * 2 * 5


def test_variables_leave_aggregation_to_the_trainer(replicas):
    assert replicas["aggregations"] == ["none"]


def test_two_replicas_give_the_output_of_one_device_without_dropout(replicas):
    assert replicas["silent_error"] < 1e-5
    assert replicas["slope_difference"] == 0
    assert replicas["slope_size"] > 0


def test_two_replicas_with_seeds_of_their_own_drop_different_values(replicas):
    assert replicas["noise_difference"] > 0.1
