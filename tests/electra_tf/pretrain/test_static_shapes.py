"""What a TPU asks of a step, checked without one: fixed shapes, no texts, and that XLA takes it.

A TPU compiles all that one replica does, from the batch to the update.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.batches import StepKey, TokenBatch
from electra_tf.pretrain.objectives.electra import Electra
from electra_tf.training.optimizer import Optimizer
from electra_tf.training.schedule import make_schedule
from electra_tf.training.trainer import Trainer

# The axes that a gradient is summed over: constants when it is compiled, of any number.
_CONSTANTS = {"BroadcastGradientArgs"}


def make_step(run, vocabulary):
    """What one replica does in a step, and the weights it trains."""
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        objective = Electra(run, vocabulary)
        trainer = Trainer(
            strategy,
            objective,
            Optimizer(run.optimizer, objective.trained_weights),
            make_schedule(run.schedule, run.optimizer.learning_rate, run.training.train_steps),
            None,
            batch_size=run.training.batch_size,
            accumulation_steps=run.training.accumulation_steps,
            clip_norm=run.optimizer.clip_norm,
            seed=run.seed,
            xla=run.training.xla,
            max_skipped_steps=0,
        )
    return lambda batch: strategy.run(trainer._replica_step, args=(batch,)), objective


def complaints(graph: tf.Graph) -> list[str]:
    """What a TPU would refuse, inside conditions, loops and calls too."""
    definition = graph.as_graph_def(add_shapes=True)
    bodies = [function.node_def for function in definition.library.function]
    found = []
    for node in [node for nodes in [definition.node, *bodies] for node in nodes]:
        types = {kind for attr in node.attr.values() for kind in (attr.type, *attr.list.type)}
        if tf.string.as_datatype_enum in types:
            found.append(f"{node.name}: text")
        shapes = [tf.TensorShape(shape) for shape in node.attr["_output_shapes"].list.shape]
        if node.op not in _CONSTANTS and not all(shape.is_fully_defined() for shape in shapes):
            found.append(f"{node.name}: {shapes}")
    return found


@pytest.fixture
def batch(lay_out):
    rows = lay_out([[2, 1, 3, 1, 2, 1], [1, 1, 2, 1], [4, 2], [1] * 14] * 2, 16)
    return TokenBatch(*rows[:3])


@pytest.fixture
def run(make_run):
    layers = {"num_hidden_layers": 1, "hidden_dropout_rate": 0.1, "attention_dropout_rate": 0.1}
    return make_run(
        discriminator=layers,
        generator=layers,
        masking={"mask_rate": 0.3},
        schedule={"warmup_steps": 0},
        training={"accumulation_steps": 2},
    )


def test_what_a_tpu_refuses_is_found_wherever_it_stands():
    def dynamic(x):
        return tf.cond(x[0] > 0, lambda: tf.size(tf.where(x > 0)), lambda: 0)

    def text(x):
        tf.debugging.Assert(x[0] > 0, ["not positive"])
        return x

    spec = tf.TensorSpec([4], tf.int32)
    assert complaints(tf.function(lambda x: x + 1).get_concrete_function(spec).graph) == []
    assert any(
        "None" in c for c in complaints(tf.function(dynamic).get_concrete_function(spec).graph)
    )
    assert any("text" in c for c in complaints(tf.function(text).get_concrete_function(spec).graph))


def test_every_tensor_of_a_step_has_a_fixed_shape_and_none_is_text(run, vocabulary, batch):
    step, _ = make_step(run, vocabulary)
    graph = tf.function(step).get_concrete_function(batch).graph
    operations = {node.op for f in graph.as_graph_def().library.function for node in f.node_def}
    assert {"MatMul", "ResourceApplyAdam"} <= operations  # the whole step is looked at
    assert complaints(graph) == []


@pytest.mark.parametrize("mode", ["token", "whole_word", "ngram", "span", "reference"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_every_masking_mode_has_fixed_shapes_and_no_text(
    make_run, vocabulary, batch, mode, is_packed
):
    objective = Electra(make_run(masking={"mode": mode}), vocabulary)
    sequence_ids = tf.ones_like(batch.input_ids) if is_packed else None
    packed = batch._replace(sequence_ids=sequence_ids)
    key = StepKey(tf.constant([1, 2]), tf.constant(0))
    prepare = tf.function(objective.prepare).get_concrete_function(packed, key)
    assert complaints(prepare.graph) == []


@pytest.mark.slow
def test_xla_compiles_all_that_a_replica_does_to_the_same_update(run, vocabulary, batch):
    trained = []
    for compiled in (False, True):
        step, objective = make_step(run, vocabulary)
        before = [weight.numpy() for weight in objective.trained_weights]
        sums = tf.function(step, jit_compile=compiled)(batch)
        trained.append((objective.trained_weights, sums))
    moved = max(
        np.abs(weight - start).max() for weight, start in zip(trained[0][0], before, strict=True)
    )
    for ours, theirs in zip(trained[1][0], trained[0][0], strict=True):
        assert np.abs(ours.numpy() - theirs.numpy()).max() < 0.01 * moved, ours.path
    for name, theirs in trained[0][1].items():
        np.testing.assert_allclose(
            tf.reduce_sum(trained[1][1][name]), tf.reduce_sum(theirs), rtol=1e-5, atol=1e-6
        )
