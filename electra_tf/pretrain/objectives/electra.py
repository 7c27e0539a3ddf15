"""ELECTRA on one page: hide, guess, draw, judge, weigh.

Clark, Luong, Le, Manning: "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than
Generators", ICLR 2020, sections 2 and 3.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from electra_tf.batches import MaskedBatch, StepKey, TokenBatch, is_real
from electra_tf.config import PretrainConfig
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.encoder_folder import Kind
from electra_tf.network.embeddings import Embeddings
from electra_tf.network.encoder import Encoder
from electra_tf.network.heads import MaskedLMHead, ReplacedTokenHead
from electra_tf.pretrain.losses import masked_lm_losses, mean_over, replaced_token_losses
from electra_tf.pretrain.masking import mask
from electra_tf.pretrain.metrics import (
    SUM_SHAPES,
    electra_metrics,
    electra_sums,
    no_unigram_sums,
    unigram_sums,
)
from electra_tf.pretrain.noise import drawing_noise
from electra_tf.pretrain.sampling import corrupt, draw_tokens, unigram_tokens


class Electra(tf.Module):
    """Both networks and their losses.

    The whole embedding block (tables and LayerNorm) is one object handed to both encoders, and the
    generator's output layer uses its word table: gradients of both losses reach it.
    """

    sum_shapes = SUM_SHAPES

    def __init__(self, config: PretrainConfig, vocabulary: VocabularyFacts):
        """Creates all variables; call it inside a strategy's scope.

        Args:
          config: the run, `vocab_size` filled in.
          vocabulary: of the records.
        """
        super().__init__()
        self._config = config
        self._vocabulary = vocabulary
        seed, precision = config.seed, config.training.precision
        self.embeddings = Embeddings(config.discriminator, seed)
        self.generator = Encoder(
            config.generator, self.embeddings, seed, precision, name="generator"
        )
        self.discriminator = Encoder(
            config.discriminator, self.embeddings, seed, precision, name="discriminator"
        )
        self.masked_lm_head = MaskedLMHead(config.generator, self.embeddings, seed, precision)
        self.replaced_token_head = ReplacedTokenHead(config.discriminator, seed, precision)

    @property
    def networks(self) -> dict[Kind, tuple[Encoder, keras.layers.Layer]]:
        """Each network and its head, by the kind of encoder folder that holds them."""
        return {
            "discriminator": (self.discriminator, self.replaced_token_head),
            "generator": (self.generator, self.masked_lm_head),
        }

    @property
    def trained_weights(self) -> list[keras.Variable]:
        """Every variable once, the shared ones too."""
        layers = (
            self.embeddings,
            self.generator,
            self.discriminator,
            self.masked_lm_head,
            self.replaced_token_head,
        )
        return list({id(v): v for layer in layers for v in layer.trainable_variables}.values())

    def prepare(self, batch: TokenBatch, key: StepKey) -> tuple[MaskedBatch, dict[str, tf.Tensor]]:
        """Hides tokens, and counts what the losses are divided by.

        Args:
          batch: B rows.
          key: which rows of which global batch they are.

        Returns:
          The masked rows, and float32 counts: masked_tokens, real_tokens, and masked_ids [V].
        """
        masked = mask(
            batch,
            self._config.masking,
            self._vocabulary,
            key.seed,
            key.first_row,
        )
        real = tf.cast(is_real(batch.input_ids), tf.float32)
        counts = {
            "masked_tokens": tf.reduce_sum(masked.weights),
            "real_tokens": tf.reduce_sum(real),
            "masked_ids": tf.math.unsorted_segment_sum(
                tf.reshape(masked.weights, [-1]),
                tf.reshape(masked.labels, [-1]),
                self._config.generator.vocab_size,
            ),
        }
        return masked, counts

    def loss(
        self,
        masked: MaskedBatch,
        counts: dict[str, tf.Tensor],
        key: StepKey,
        training: bool,
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The weighted sum of both losses, and what the metrics add up.

        Args:
          masked: B rows from `prepare`.
          counts: of the *global* batch.
          key: which rows of which global batch they are.
          training: whether dropout is on.

        Returns:
          float32 scalar, and sums of the shapes in `sum_shapes`.
        """
        objective = self._config.objective
        generator_seed, discriminator_seed = _dropout_seeds(key)
        # A drawn token may be id 0, [PAD]: what is padding is known from the original text alone.
        real = is_real(masked.original_ids)
        hidden = self.generator(
            masked.input_ids,
            masked.segment_ids,
            generator_seed if training else None,
            is_real=real,
            sequence_ids=masked.sequence_ids,
        )
        slots = tf.gather(hidden, masked.positions, batch_dims=1)
        guesses = self.masked_lm_head(slots)

        noise = drawing_noise(key, guesses.shape)
        corrupted = corrupt(masked, draw_tokens(guesses, noise, objective.temperature))

        hidden = self.discriminator(
            corrupted.input_ids,
            corrupted.segment_ids,
            discriminator_seed if training else None,
            is_real=real,
            sequence_ids=corrupted.sequence_ids,
        )
        judgements = self.replaced_token_head(hidden)

        generator_loss = mean_over(
            masked_lm_losses(guesses, masked.labels, masked.weights), counts["masked_tokens"]
        )
        discriminator_loss = mean_over(
            replaced_token_losses(judgements, corrupted.is_replaced, tf.cast(real, tf.float32)),
            counts["real_tokens"],
        )
        loss = (
            objective.generator_weight * generator_loss
            + objective.discriminator_weight * discriminator_loss
        )
        sums = electra_sums(masked, guesses, corrupted, judgements)
        blind = no_unigram_sums() if training else self._judge_unigrams(masked, counts, key)
        return loss, sums | blind

    def _judge_unigrams(
        self, masked: MaskedBatch, counts: dict[str, tf.Tensor], key: StepKey
    ) -> dict[str, tf.Tensor]:
        """What the discriminator makes of tokens that were drawn by frequency alone."""
        noise = drawing_noise(key, masked.positions.shape)
        corrupted = corrupt(masked, unigram_tokens(counts["masked_ids"], noise))
        hidden = self.discriminator(
            corrupted.input_ids,
            corrupted.segment_ids,
            is_real=is_real(masked.original_ids),
            sequence_ids=corrupted.sequence_ids,
        )
        return unigram_sums(masked, corrupted, self.replaced_token_head(hidden))

    def metrics(self, sums) -> dict[str, float]:
        """The numbers people read, with the weighted total as `loss`."""
        numbers = electra_metrics(sums)
        objective = self._config.objective
        total = (
            objective.generator_weight * numbers["masked_lm_loss"]
            + objective.discriminator_weight * numbers["discriminator_loss"]
        )
        return {"loss": total, **numbers}


def _dropout_seeds(key: StepKey) -> list[tf.Tensor]:
    """int32 [2] each: of the generator's and of the discriminator's dropout.

    Dropout is drawn for a tensor as a whole, so replicas and micro-batches need seeds of their own.
    """
    fold_in = tf.random.experimental.stateless_fold_in
    # Folded in twice: masking and drawing use the seed itself and the first fold.
    seed = fold_in(fold_in(key.seed, 2, alg="philox"), key.first_row, alg="philox")
    return tf.unstack(tf.random.split(seed, 2, alg="philox"))
