"""How any run trains: optimizer, schedule, portions, precision."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from electra_tf.config.section import (
    MomentDecay,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Section,
)


class OptimizerConfig(Section):
    """How gradients become updates. The three rules are told in `training/optimizer.py`.

    Source of the numbers of `electra_adam`: google-research/electra at 8a46635,
    `model/optimization.py`.
    """

    name: Literal["electra_adam", "adamw", "lamb"] = Field(
        description="electra_adam = no bias correction; adamw = with it; lamb = for large batches"
    )
    learning_rate: PositiveFloat = Field(description="peak rate, before warm-up and decay")
    weight_decay_rate: NonNegativeFloat = Field(description="decoupled; not on biases, LayerNorm")
    beta_1: MomentDecay = Field(description="decay of the first moment")
    beta_2: MomentDecay = Field(description="decay of the second moment")
    epsilon: PositiveFloat = Field(description="added to the root of the second moment")
    clip_norm: PositiveFloat = Field(description="largest global norm of the gradients")


class ReferenceSchedule(Section):
    """rate(t) = learning_rate · (1 - t / train_steps)^decay_power · min(1, t / warmup_steps).

    Warm-up multiplies the decay, so the peak is a little below `learning_rate`; t counts from 0,
    so the first update has rate 0.
    Source: google-research/electra at 8a46635, `model/optimization.py`.
    """

    name: Literal["reference"]
    warmup_steps: NonNegativeInt = Field(description="steps of linear warm-up; 0 = none")
    decay_power: NonNegativeFloat = Field(description="1 = linear decay to zero; 0 = none")


class WarmupStableDecaySchedule(Section):
    """rate(t) = learning_rate · min(1, t / warmup_steps), times 1 - √(share) in the last steps.

    The share is that of the last `decay_steps` which has passed. Where training ends need not be
    known at the start: a run in its constant phase can be made longer.
    Source: Hägele et al. 2024, arXiv 2405.18392, section 3 (the 1-sqrt cooldown, better there than
    a linear one; a fifth of all steps is enough); Hu et al. 2024, arXiv 2404.06395, for the name.
    """

    name: Literal["warmup_stable_decay"]
    warmup_steps: NonNegativeInt = Field(description="steps of linear warm-up; 0 = none")
    decay_steps: PositiveInt = Field(description="steps of decay to zero, the last of the run")


class ConstantSchedule(Section):
    """rate(t) = learning_rate · min(1, t / warmup_steps)."""

    name: Literal["constant"]
    warmup_steps: NonNegativeInt = Field(description="steps of linear warm-up; 0 = none")


ScheduleConfig = Annotated[
    ReferenceSchedule | WarmupStableDecaySchedule | ConstantSchedule, Field(discriminator="name")
]


class TrainingConfig(Section):
    """How long, in what portions and in what precision a run trains."""

    train_steps: PositiveInt = Field(
        description="updates of the whole run; the learning rate follows them, whatever ends it"
    )
    max_tokens: PositiveInt | None = Field(
        default=None, description="tokens, padding left out, after which the run ends; null = none"
    )
    max_minutes: PositiveFloat | None = Field(
        default=None,
        description="minutes of running, all starts together, after which it ends; null = none",
    )
    batch_size: PositiveInt = Field(description="examples of one update, over all devices")
    accumulation_steps: PositiveInt = Field(
        description="micro-batches of one update on each device; divides its share of the batch"
    )
    strategy: Literal["auto", "one_device", "mirrored"] = Field(
        description="auto = one device, or all GPUs of this machine where it has several"
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        description="operands of the matrix products; everything else is float32. float16, for "
        "GPUs without bfloat16, scales the loss"
    )
    xla: bool = Field(description="compile forward and backward pass with XLA")
    report_every_steps: PositiveInt = Field(description="steps between two reported lines")
    checkpoint_every_steps: PositiveInt = Field(description="steps between two checkpoints")
    keep_checkpoints: PositiveInt = Field(description="newest checkpoints that are kept")
    max_skipped_steps: NonNegativeInt = Field(
        description="updates in a row that may be skipped for a gradient that is not finite"
    )


def check_phases(schedule: ScheduleConfig, train_steps: int) -> None:
    if schedule.warmup_steps > train_steps:
        raise ValueError(
            f"schedule.warmup_steps {schedule.warmup_steps} is more than "
            f"training.train_steps {train_steps}; a tenth of them is usual"
        )
    if isinstance(schedule, WarmupStableDecaySchedule):
        phases = schedule.warmup_steps + schedule.decay_steps
        if phases > train_steps:
            raise ValueError(
                f"schedule.warmup_steps {schedule.warmup_steps} and schedule.decay_steps "
                f"{schedule.decay_steps} are together {phases}, more than training.train_steps "
                f"{train_steps}; a tenth and a fifth of them are usual"
            )


def check_divides(batch_size: int, accumulation_steps: int) -> None:
    if batch_size % accumulation_steps:
        raise ValueError(
            f"training.batch_size {batch_size} is not a multiple of training.accumulation_steps "
            f"{accumulation_steps}"
        )
