"""What tests of several rooms share: tiny networks on disk, with a vocabulary."""

from __future__ import annotations

import numpy as np
import pytest

from chinese.vocab import SPECIAL_TOKENS
from electra_tf.config import EncoderConfig
from electra_tf.encoder_folder import EncoderFolder, expected_shapes, write_encoder_folder

TOKENS = (*SPECIAL_TOKENS, *"今天气很好不坏，。人民", "un", "##able")


@pytest.fixture(scope="session")
def write_network():
    """Writes an encoder folder with random weights large enough to show; returns its contents."""

    def write(path, kind, *, max_length=12, table=16, seed=0):
        config = EncoderConfig(
            vocab_size=len(TOKENS),
            embedding_size=8,
            hidden_size=12,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=table,
            type_vocab_size=2,
            hidden_dropout_rate=0.1,
            attention_dropout_rate=0.1,
            initializer_stddev=0.02,
            layer_norm_epsilon=1e-12,
        )
        generator = np.random.default_rng(seed)
        folder = EncoderFolder(
            kind=kind,
            config=config,
            tokenizer_settings={"lower_case": True, "strip_accents": True},
            weights={
                name: generator.normal(scale=0.5, size=shape).astype(np.float32)
                for name, shape in expected_shapes(config, kind).items()
            },
            vocabulary_file="vocab.txt",
            vocabulary="".join(f"{token}\n" for token in TOKENS).encode(),
            provenance={"config": {"data": {"max_length": max_length}}} if max_length else {},
        )
        write_encoder_folder(path, folder)
        return folder

    return write
