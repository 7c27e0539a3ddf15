"""What tests of several rooms share: tiny networks on disk, with a vocabulary."""

from __future__ import annotations

import contextlib
import hashlib
import resource

import numpy as np
import pytest

from chinese.vocab import SPECIAL_TOKENS
from electra_tf.config import EncoderConfig
from electra_tf.data.rows import Rows
from electra_tf.encoder_folder import (
    EncoderFolder,
    embedding_shapes,
    expected_shapes,
    write_encoder_folder,
)

TOKENS = (*SPECIAL_TOKENS, *"今天气很好不坏，。人民", "un", "##able")


@pytest.fixture(scope="session")
def one_a_row():
    """Examples, each (input_ids, segment_ids, unit_ids), as rows of their own."""

    def lay(examples) -> Rows:
        columns = tuple(np.concatenate([np.zeros(0, int), *c]) for c in zip(*examples, strict=True))
        sizes = np.array([len(example[0]) for example in examples], int)
        return Rows(columns or (np.zeros(0, int),) * 3, sizes, None)

    return lay


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


@pytest.fixture(scope="session")
def make_pair():
    """Kind → encoder folder: a discriminator and a narrower generator over one embedding block."""

    def make(
        tokens=TOKENS,
        embedding_size=8,
        widths=(12, 6),
        layers=(2, 2),
        heads=(2, 1),
        positions=16,
        seed=0,
        scale=0.5,
    ):
        generator = np.random.default_rng(seed)
        vocabulary = "".join(f"{token}\n" for token in tokens).encode()
        folders = {}
        for place, kind in enumerate(("discriminator", "generator")):
            config = EncoderConfig(
                vocab_size=len(tokens),
                embedding_size=embedding_size,
                hidden_size=widths[place],
                num_hidden_layers=layers[place],
                num_attention_heads=heads[place],
                intermediate_size=4 * widths[place],
                max_position_embeddings=positions,
                type_vocab_size=2,
                hidden_dropout_rate=0.1,
                attention_dropout_rate=0.1,
                initializer_stddev=0.02,
                layer_norm_epsilon=1e-12,
            )
            weights = {
                name: (name.endswith("gamma") + generator.normal(0, scale, shape)).astype("f4")
                for name, shape in expected_shapes(config, kind).items()
            }
            if folders:
                shared = folders["discriminator"].weights
                weights |= {name: shared[name] for name in embedding_shapes(config)}
            folders[kind] = EncoderFolder(
                kind=kind,
                config=config,
                tokenizer_settings={
                    "lower_case": True,
                    "strip_accents": True,
                    "vocabulary_sha256": hashlib.sha256(vocabulary).hexdigest(),
                },
                weights=weights,
                vocabulary_file="vocab.txt",
                vocabulary=vocabulary,
                provenance={"made_by": "a test"},
            )
        return folders

    return make


@pytest.fixture(scope="session")
def assert_same_network():
    """Two encoder folders agree in everything but where they come from, to the bit."""

    def check(found, expected):
        for name in ("kind", "config", "tokenizer_settings", "vocabulary_file", "vocabulary"):
            assert getattr(found, name) == getattr(expected, name), name
        assert found.weights.keys() == expected_shapes(expected.config, expected.kind).keys()
        for name, array in expected.weights.items():
            assert found.weights[name].dtype == np.float32
            assert found.weights[name].tobytes() == array.tobytes(), name

    return check


@pytest.fixture(scope="session")
def full_disk():
    """Within it no file may grow beyond so many bytes; the system then fails as on a full disk."""

    @contextlib.contextmanager
    def limit(size):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limit
