"""What the tests of pre-training share: a tiny run, and rows of any unit layout."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.batches import TokenBatch
from electra_tf.config import MaskingConfig, PretrainConfig, parse_config
from electra_tf.data.manifest import VocabularyFacts

ENCODER = {
    "vocab_size": 40,
    "embedding_size": 12,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 32,
    "type_vocab_size": 2,
    "hidden_dropout_rate": 0.0,
    "attention_dropout_rate": 0.0,
    "initializer_stddev": 0.02,
    "layer_norm_epsilon": 1e-12,
}
RUN = {
    "seed": 1,
    "data": {"max_length": 16},
    "discriminator": ENCODER,
    "generator": ENCODER | {"hidden_size": 8, "num_attention_heads": 1},
    "objective": {
        "name": "electra",
        "generator_weight": 1.0,
        "discriminator_weight": 50.0,
        "temperature": 1.0,
    },
    "masking": {
        "mode": "whole_word",
        "mask_rate": 0.15,
        "mask_token_rate": 0.85,
        "random_token_rate": 0.0,
        "max_unit_tokens": 4,
    },
    "optimizer": {
        "name": "electra_adam",
        "learning_rate": 1e-3,
        "weight_decay_rate": 0.01,
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-6,
        "clip_norm": 1.0,
    },
    "schedule": {"name": "reference", "warmup_steps": 2, "decay_power": 1.0},
    "training": {
        "train_steps": 10,
        "batch_size": 8,
        "accumulation_steps": 1,
        "strategy": "one_device",
        "precision": "float32",
        "xla": False,
        "report_every_steps": 1,
        "checkpoint_every_steps": 1,
        "keep_checkpoints": 2,
        "max_skipped_steps": 2,
    },
    "evaluation": {
        "every_steps": 5,
        "best_metric": "loss",
        "batch_size": 8,
        "max_batches": 2,
        "seed": 3,
    },
}


@pytest.fixture(scope="session")
def make_run():
    """A tiny run; `make_run(masking={"mask_rate": 1.0})` changes keys of sections."""

    def make(**sections) -> PretrainConfig:
        changed = {name: RUN[name] | changes for name, changes in sections.items()}
        return parse_config(PretrainConfig, RUN | changed, "test")

    return make


@pytest.fixture(scope="session")
def vocabulary() -> VocabularyFacts:
    """40 ids: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then ordinary tokens."""
    return VocabularyFacts(
        file="vocab.txt", size=40, sha256="0", unk_id=1, cls_id=2, sep_id=3, mask_id=4
    )


@pytest.fixture(scope="session")
def make_masking():
    def make(**changes) -> MaskingConfig:
        return MaskingConfig(**(RUN["masking"] | changes))

    return make


@pytest.fixture(scope="session")
def lay_out():
    """Rows from lengths of words: [CLS], the words, [SEP], padding. Ids are 5, 6, 7 …

    `lay_out([[2, 1]], 6)` is `2 5 6 7 3 0` with units `0 1 1 2 0 0`. A length of 0 is a [SEP]:
    `lay_out([[2, 0, 1]], 6)` is `2 5 6 3 7 3` with units `0 1 1 0 2 0`.
    """

    def make(rows: list[list[int]], length: int) -> TokenBatch:
        ids = np.zeros((len(rows), length), np.int32)
        units = np.zeros((len(rows), length), np.int32)
        for row, words in enumerate(rows):
            number = np.cumsum(np.array(words, int) > 0)
            places = [n * (word > 0) for n, word in zip(number, words, strict=True)]
            inner = np.repeat(np.array(places, int), np.maximum(words, 1).astype(int))
            end = 1 + len(inner)
            if words:
                ids[row, 0], ids[row, end] = 2, 3
            ids[row, 1:end] = np.where(inner > 0, 4 + np.cumsum(inner > 0), 3)
            units[row, 1:end] = inner
        return TokenBatch(
            tf.constant(ids), tf.zeros([len(rows), length], tf.int32), tf.constant(units)
        )

    return make
