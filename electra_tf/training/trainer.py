"""The inner loop: some steps of training, or one evaluation, of any objective.

An objective is two calls, and the trainer knows no more of it:

    prepared, counts = objective.prepare(batch, key)
    loss, sums = objective.loss(prepared, global_counts, key, training)

`prepared` is a nest of tensors with B rows; `counts`, if there are any, are summed over all
replicas before any loss is computed, so losses are normalised by the whole batch; `sums` (of the
shapes in `objective.sum_shapes`, `real_tokens` among them) add up over steps into
`objective.metrics(sums)`.

The order of a step, none of which Keras' own training keeps under tf.distribute:
  1. each replica prepares its rows; counts are summed over replicas;
  2. each replica sums gradients over its micro-batches (XLA may compile this part alone);
  3. gradients are summed over replicas, *then* clipped by their global norm;
  4. if any of them is not finite on any replica, nobody updates, and the step is left out of all
     means; otherwise all do, once.
In float16 the loss of step 2 is scaled, and the sums of step 3 are unscaled before the clip.
`data_step` counts attempts and is what data order and chance depend on; `update_step` counts
updates and drives the learning rate. Were they one, a skipped step would meet its batch again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import keras
import numpy as np
import orbit
import tensorflow as tf

from electra_tf.batches import StepKey
from electra_tf.training.interruption import Stopped
from electra_tf.training.loss_scale import LossScale
from electra_tf.training.optimizer import Optimizer
from electra_tf.training.schedule import Schedule

Sums = dict[str, tf.Tensor]


class Objective(Protocol):
    """What can be trained."""

    sum_shapes: Mapping[str, tuple[int, ...]]
    trained_weights: Sequence[keras.Variable]

    def prepare(self, batch: Any, key: StepKey) -> tuple[Any, dict[str, tf.Tensor]]: ...

    def loss(
        self, prepared: Any, counts: dict[str, tf.Tensor], key: StepKey, training: bool
    ) -> tuple[tf.Tensor, Sums]: ...

    def metrics(self, sums: Mapping[str, np.ndarray]) -> dict[str, float]: ...


class NonFiniteGradients(ValueError):
    """Too many updates in a row had a gradient that is not finite.

    Attributes:
      first_step: the first of those steps, from 1.
    """

    def __init__(self, message: str, first_step: int):
        super().__init__(message)
        self.first_step = first_step


class Trainer(orbit.AbstractTrainer):
    """Trains an objective under a strategy; Orbit's controller calls `train`."""

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        objective: Objective,
        optimizer: Optimizer,
        schedule: Schedule,
        make_dataset: Callable[[tf.distribute.InputContext, int], tf.data.Dataset],
        *,
        batch_size: int,
        accumulation_steps: int,
        clip_norm: float,
        seed: int,
        xla: bool,
        max_skipped_steps: int,
        loss_scale: LossScale | None = None,
        stop: tf.Variable | None = None,
    ):
        """Creates the counters; call it inside the strategy's scope.

        Args:
          strategy: where to compute.
          objective: what to train.
          optimizer: applies summed and clipped gradients.
          schedule: learning rate by update step.
          make_dataset: from an input context and the first step to per-replica batches.
          batch_size: B of the global batch.
          accumulation_steps: micro-batches of each replica's share.
          clip_norm: largest global norm.
          seed: of chance in every step.
          xla: whether the gradient function is compiled.
          max_skipped_steps: updates in a row that may be skipped.
          loss_scale: multiplies the loss where gradients pass through float16; None = they do not.
          stop: bool scalar on the host; True ends an inner loop after the step under way.

        Raises:
          ValueError: the batch does not divide by replicas and micro-batches.
        """
        super().__init__()
        replicas = strategy.num_replicas_in_sync
        if batch_size % (replicas * accumulation_steps):
            raise ValueError(
                f"training.batch_size {batch_size} is not a multiple of {replicas} devices × "
                f"training.accumulation_steps {accumulation_steps}; choose one that is"
            )
        self.data_step = tf.Variable(0, trainable=False, dtype=tf.int64, name="data_step")
        self.update_step = tf.Variable(0, trainable=False, dtype=tf.int64, name="update_step")
        self.skipped_in_a_row = tf.Variable(0, trainable=False, dtype=tf.int64, name="skipped")
        self.trained_tokens = tf.Variable(0, trainable=False, dtype=tf.int64, name="tokens")
        self.loss_scale = loss_scale
        self._strategy = strategy
        self._objective = objective
        self._optimizer = optimizer
        self._schedule = schedule
        self._make_dataset = make_dataset
        self._batch_size = batch_size
        self._accumulation_steps = accumulation_steps
        self._clip_norm = clip_norm
        self._seed = seed
        self._max_skipped_steps = max_skipped_steps
        self._stop = stop
        self._iterator = None
        self._train_steps = tf.function(self._train_steps_eagerly)
        self._gradients = tf.function(self._gradients_eagerly, jit_compile=xla or None)

    @property
    def state(self) -> dict[str, Any]:
        """What a checkpoint holds of the trainer, by name."""
        names = ("data_step", "update_step", "skipped_in_a_row", "trained_tokens", "loss_scale")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def train(self, num_steps: tf.Tensor) -> dict[str, float]:
        """Runs `num_steps` steps (int32 scalar), fewer where `stop` asks for it.

        Returns:
          The means of the objective's metrics over all steps but the skipped ones (NaN where all
          were skipped); tokens trained on; the learning rate to come; skipped_steps; waiting_rate,
          the part of the time that went on waiting for input.

        Raises:
          NonFiniteGradients: more than `max_skipped_steps` updates in a row were skipped.
        """
        if self._iterator is None:
            first_step = int(self.data_step.numpy())
            self._iterator = iter(
                self._strategy.distribute_datasets_from_function(
                    lambda context: self._make_dataset(context, first_step)
                )
            )
        counters = (self.data_step, self.update_step, self.trained_tokens)
        before = [int(counter.numpy()) for counter in counters]
        started = time.perf_counter()
        sums, waited = self._train_steps(self._iterator, num_steps)
        sums = {name: value.numpy() for name, value in sums.items()}
        seconds = time.perf_counter() - started
        steps, updates, tokens = (
            int(counter.numpy()) - old for counter, old in zip(counters, before, strict=True)
        )
        self._stop_if_stuck()
        metrics = self._objective.metrics(sums)
        report = {
            **(metrics if updates else dict.fromkeys(metrics, math.nan)),
            "tokens": float(tokens),
            "learning_rate": float(self._schedule(self.update_step)),
            "skipped_steps": float(steps - updates),
            "waiting_rate": float(waited) / seconds,
        }
        if self.loss_scale is not None:
            report["loss_scale"] = float(self.loss_scale.scale.numpy())
        return report

    def _train_steps_eagerly(self, iterator: Any, num_steps: tf.Tensor) -> tuple[Sums, tf.Tensor]:
        """The sums over all steps, and the seconds that went on waiting for input."""
        totals = _zeros(self._objective.sum_shapes)
        waited = tf.constant(0.0, tf.float64)
        for _ in tf.range(num_steps):
            batch, seconds = _timed_next(iterator)
            waited += seconds
            per_replica = self._strategy.run(self._replica_step, args=(batch,))
            sums = _first_of(self._strategy, per_replica)
            totals = {name: totals[name] + sums[name] for name in totals}
            self.data_step.assign_add(1)
            self.trained_tokens.assign_add(tf.cast(sums["real_tokens"], tf.int64))
            if self._must_stop():
                break
        return totals, waited

    def _must_stop(self) -> tf.Tensor:
        is_stuck = tf.convert_to_tensor(self.skipped_in_a_row) > self._max_skipped_steps
        return is_stuck if self._stop is None else is_stuck | self._stop

    def _replica_step(self, batch: Any) -> Sums:
        """One step on one replica, in the order told above."""
        context = tf.distribute.get_replica_context()
        key = _replica_key(step_seed(self._seed, self.data_step), self._batch_size)
        prepared, counts = self._objective.prepare(batch, key)
        if counts:
            counts = context.all_reduce(tf.distribute.ReduceOp.SUM, counts)

        gradients, sums = self._accumulate(prepared, counts, key)
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        if self.loss_scale is not None:
            gradients = self.loss_scale.unscale(gradients)
        norm = tf.linalg.global_norm(gradients)
        is_finite = tf.math.is_finite(norm)
        tf.cond(is_finite, lambda: self._update(gradients, norm), self._skip)
        sums = {name: tf.where(is_finite, s, tf.zeros_like(s)) for name, s in sums.items()}
        return context.all_reduce(tf.distribute.ReduceOp.SUM, sums)

    def _accumulate(
        self, prepared: Any, counts: dict[str, tf.Tensor], key: StepKey
    ) -> tuple[list[tf.Tensor], Sums]:
        """Gradients and sums over the micro-batches of this replica."""
        parts = self._accumulation_steps
        scale = None if self.loss_scale is None else tf.identity(self.loss_scale.scale)
        if parts == 1:
            return self._gradients(prepared, counts, key, scale)
        # A field that a batch does without is None.
        columns = [
            None
            if rows is None
            else tf.reshape(rows, [parts, rows.shape[0] // parts, *rows.shape[1:]])
            for rows in tf.nest.flatten(prepared)
        ]
        part_rows = self._batch_size // (self._strategy.num_replicas_in_sync * parts)
        gradients = [tf.zeros(v.shape) for v in self._objective.trained_weights]
        sums = _zeros(self._objective.sum_shapes)
        for part in tf.range(parts):
            part_key = StepKey(key.seed, key.first_row + part * part_rows)
            micro_batch = tf.nest.pack_sequence_as(
                prepared, [None if column is None else column[part] for column in columns]
            )
            part_gradients, part_sums = self._gradients(micro_batch, counts, part_key, scale)
            gradients = [g + p for g, p in zip(gradients, part_gradients, strict=True)]
            sums = {name: sums[name] + part_sums[name] for name in sums}
        return gradients, sums

    def _gradients_eagerly(
        self,
        prepared: Any,
        counts: dict[str, tf.Tensor],
        key: StepKey,
        scale: tf.Tensor | None,
    ) -> tuple[list[tf.Tensor], Sums]:
        variables = [v.value for v in self._objective.trained_weights]
        with tf.GradientTape() as tape:
            loss, sums = self._objective.loss(prepared, counts, key, training=True)
            loss = loss if scale is None else loss * scale
        # The gradient of a table comes as slices where it is only looked up; moments need all rows.
        gradients = tape.gradient(loss, variables, unconnected_gradients="zero")
        return [tf.convert_to_tensor(g) for g in gradients], sums

    def _update(self, gradients: list[tf.Tensor], norm: tf.Tensor) -> tf.Tensor:
        clipped, _ = tf.clip_by_global_norm(gradients, self._clip_norm, use_norm=norm)
        self._optimizer.apply(clipped, self._schedule(self.update_step), self.update_step)
        self.update_step.assign_add(1)
        self.skipped_in_a_row.assign(0)
        if self.loss_scale is not None:
            self.loss_scale.after_update()
        return tf.constant(True)

    def _skip(self) -> tf.Tensor:
        # A loss scale that is too large is found by skipping; only the lowest one proves an error.
        is_counted = True if self.loss_scale is None else self.loss_scale.after_skip()
        self.skipped_in_a_row.assign_add(tf.cast(is_counted, tf.int64))
        return tf.constant(False)

    def _stop_if_stuck(self) -> None:
        skipped = int(self.skipped_in_a_row.numpy())
        if skipped > self._max_skipped_steps:
            last = int(self.data_step.numpy())
            first = last - skipped + 1
            raise NonFiniteGradients(
                f"steps {first} to {last} had gradients that are not finite (learning "
                f"rate {float(self._schedule(self.update_step)):.3g}); lower "
                f"optimizer.learning_rate or lengthen schedule.warmup_steps"
                + (", or train with training.precision=bfloat16" if self.loss_scale else ""),
                first,
            )


class Evaluator(orbit.AbstractEvaluator):
    """Runs an objective over held-out batches, the same draws each time."""

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        objective: Objective,
        make_dataset: Callable[[tf.distribute.InputContext], tf.data.Dataset],
        *,
        batch_size: int,
        seed: int,
        stop: tf.Variable | None = None,
    ):
        """
        Args:
          strategy: where to compute.
          objective: what is evaluated.
          make_dataset: from an input context to per-replica batches, equally many on each worker.
          batch_size: B; a multiple of the number of replicas.
          seed: of masks and draws.
          stop: bool scalar on the host; True ends an evaluation after the batch under way.

        Raises:
          ValueError: the batch does not divide by the replicas.
        """
        super().__init__()
        replicas = strategy.num_replicas_in_sync
        if batch_size % replicas:
            raise ValueError(
                f"evaluation.batch_size {batch_size} is not a multiple of {replicas} devices"
            )
        self._strategy = strategy
        self._objective = objective
        self._make_dataset = make_dataset
        self._batch_size = batch_size
        self._seed = seed
        self._stop = stop
        self._step = tf.function(self._step_eagerly)

    def evaluate(self, num_steps: tf.Tensor | None = None) -> dict[str, float]:
        """The metrics over the whole dataset; `num_steps` is Orbit's and not used.

        Raises:
          Stopped: `stop` asked for it.
        """
        totals = dict.fromkeys(self._objective.sum_shapes, 0.0)
        batches = self._strategy.distribute_datasets_from_function(self._make_dataset)
        for index, batch in enumerate(batches):
            sums = self._step(batch, tf.constant(index, tf.int64))
            totals = {name: total + sums[name].numpy() for name, total in totals.items()}
            if self._stop is not None and self._stop.numpy():
                raise Stopped
        return self._objective.metrics(totals)

    def _step_eagerly(self, batch: Any, index: tf.Tensor) -> Sums:
        per_replica = self._strategy.run(self._replica_step, args=(batch, index))
        return _first_of(self._strategy, per_replica)

    def _replica_step(self, batch: Any, index: tf.Tensor) -> Sums:
        key = _replica_key(step_seed(self._seed, index), self._batch_size)
        prepared, counts = self._objective.prepare(batch, key)
        context = tf.distribute.get_replica_context()
        if counts:
            counts = context.all_reduce(tf.distribute.ReduceOp.SUM, counts)
        sums = self._objective.loss(prepared, counts, key, training=False)[1]
        return context.all_reduce(tf.distribute.ReduceOp.SUM, sums)


def step_seed(seed: int, step: tf.Tensor) -> tf.Tensor:
    """int32 [2]: the key of all chance in one step."""
    return tf.stack([tf.constant(seed, tf.int32), tf.cast(step, tf.int32)])


def _timed_next(iterator: Any) -> tuple[Any, tf.Tensor]:
    """The next batch, and the seconds (float64 scalar) until it was there."""
    before = tf.timestamp()
    with tf.control_dependencies([before]):
        batch = next(iterator)
    columns = tf.nest.flatten(batch, expand_composites=True)
    with tf.control_dependencies([column for column in columns if column is not None]):
        return batch, tf.timestamp() - before


def _replica_key(seed: tf.Tensor, batch_size: int) -> StepKey:
    """Which rows of the global batch this replica has."""
    context = tf.distribute.get_replica_context()
    rows = batch_size // context.num_replicas_in_sync
    return StepKey(seed, tf.cast(context.replica_id_in_sync_group, tf.int32) * rows)


def _first_of(strategy: tf.distribute.Strategy, sums: Sums) -> Sums:
    """What the replicas have summed already, and all hold alike."""
    return {name: strategy.experimental_local_results(s)[0] for name, s in sums.items()}


def _zeros(shapes: Mapping[str, tuple[int, ...]]) -> Sums:
    return {name: tf.zeros(shape) for name, shape in shapes.items()}
