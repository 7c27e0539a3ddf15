"""One pre-training run, whole."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from electra_tf.config.encoder import EncoderConfig
from electra_tf.config.section import (
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    Rate,
    Section,
    Seed,
)
from electra_tf.config.training import (
    OptimizerConfig,
    ScheduleConfig,
    TrainingConfig,
    check_divides,
    check_phases,
)


class ObjectiveConfig(Section):
    """What is trained: the ELECTRA losses and how the generator's tokens are drawn."""

    name: Literal["electra"] = Field(description="the pre-training objective")
    generator_weight: NonNegativeFloat = Field(description="weight of the masked-LM loss")
    discriminator_weight: NonNegativeFloat = Field(description="weight of the detection loss")
    temperature: PositiveFloat = Field(description="divides the generator's logits when drawing")


class DataConfig(Section):
    """Which records a run expects."""

    max_length: Annotated[int, Field(ge=8)] = Field(
        description="tokens of an example, special tokens included; the records must agree"
    )


class MaskingConfig(Section):
    """What is hidden from the generator. The algorithm is told in `pretrain/masking.py`."""

    mode: Literal["token", "whole_word", "ngram", "span", "reference"] = Field(
        description="what is hidden together; reference = tokens, drawn as upstream draws them"
    )
    mask_rate: Rate = Field(description="share of the real tokens that is hidden")
    mask_token_rate: Rate = Field(
        description="share of the hidden tokens that the generator sees as [MASK]"
    )
    random_token_rate: Rate = Field(
        description="share it sees as a random token; what is left keeps its token"
    )
    max_unit_tokens: PositiveInt = Field(
        description="longest unit in tokens; the records' units must not be longer"
    )

    @model_validator(mode="after")
    def _rates_are_shares_of_one(self) -> MaskingConfig:
        if self.mask_token_rate + self.random_token_rate > 1 + 1e-9:
            raise ValueError(
                f"masking.mask_token_rate {self.mask_token_rate} and masking.random_token_rate "
                f"{self.random_token_rate} are more than 1 together; lower one of them"
            )
        return self


class EvaluationConfig(Section):
    """Held-out text, masked the same way each time so that numbers compare between runs."""

    every_steps: PositiveInt = Field(description="training steps between two evaluations")
    best_metric: Literal["loss", "discriminator_loss", "discriminator_auc", "hidden_lm_loss"] = (
        Field(description="what the networks kept in best/ are chosen by; more auc, less of others")
    )
    batch_size: PositiveInt = Field(description="examples of one batch, over all devices")
    max_batches: PositiveInt = Field(description="batches of one evaluation at the most")
    seed: Seed = Field(description="of masks and drawn tokens")


class PretrainConfig(Section):
    """One pre-training run, whole."""

    seed: Seed = Field(description="of weights, data order, masks, draws, dropout")
    data: DataConfig
    discriminator: EncoderConfig
    generator: EncoderConfig
    objective: ObjectiveConfig
    masking: MaskingConfig
    optimizer: OptimizerConfig
    schedule: ScheduleConfig
    training: TrainingConfig
    evaluation: EvaluationConfig

    @model_validator(mode="after")
    def _sizes_fit(self) -> PretrainConfig:
        _check_shared_embeddings(self.discriminator, self.generator)
        rows = self.discriminator.max_position_embeddings
        if self.data.max_length > rows:
            raise ValueError(
                f"data.max_length {self.data.max_length} is more than "
                f"discriminator.max_position_embeddings {rows}; lower the one or raise the other"
            )
        check_divides(self.training.batch_size, self.training.accumulation_steps)
        check_phases(self.schedule, self.training.train_steps)
        return self


def with_vocab_size(config: PretrainConfig, vocab_size: int) -> PretrainConfig:
    """Fills `vocab_size` of both networks from the records.

    Raises:
      ValueError: the config names another size.
    """
    for name in ("discriminator", "generator"):
        named = getattr(config, name).vocab_size
        if named not in (None, vocab_size):
            raise ValueError(
                f"{name}.vocab_size is {named}, but the vocabulary of the records has "
                f"{vocab_size} tokens; set it to null or build the records with the other one"
            )
    tree = config.model_dump()
    tree["discriminator"]["vocab_size"] = tree["generator"]["vocab_size"] = vocab_size
    return PretrainConfig.model_validate(tree)


SHARED_EMBEDDING_KEYS = (
    "vocab_size",
    "embedding_size",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_epsilon",
)


def _check_shared_embeddings(discriminator: EncoderConfig, generator: EncoderConfig) -> None:
    """The generator uses the discriminator's embedding block, so both must describe the same."""
    for name in SHARED_EMBEDDING_KEYS:
        ours, theirs = getattr(discriminator, name), getattr(generator, name)
        if ours != theirs:
            raise ValueError(
                f"generator.{name} is {theirs}, discriminator.{name} is {ours}; both networks "
                f"share one embedding block, so give both the same value"
            )
