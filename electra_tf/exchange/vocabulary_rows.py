"""A network over another vocabulary: the rows of its word table and output biases, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from electra_tf.encoder_folder import EncoderFolder

# Arrays with one row a token: the table of both networks, the biases of a generator's output.
_BY_TOKEN = ("embeddings/word_embeddings", "masked_lm_head/output_bias")


def change_rows(
    folder: EncoderFolder, sources: Sequence[Sequence[int]], vocabulary: bytes, sha256: str
) -> EncoderFolder:
    """Builds the network over new ids.

    Args:
      folder: the network.
      sources: for each new id the old ids whose mean its row is; of one it is the row itself, to
        the bit.
      vocabulary: the bytes of the new file.
      sha256: their hash, for the tokenizer's settings.

    Returns:
      The same network but for its rows, `vocab_size` and vocabulary.
    """
    first = np.array([ids[0] for ids in sources])
    several = [(new, ids) for new, ids in enumerate(sources) if len(ids) > 1]
    weights = dict(folder.weights)
    for name in _BY_TOKEN:
        if name not in weights:
            continue
        old = weights[name]
        rows = old[first]
        for new, ids in several:
            rows[new] = old[list(ids)].mean(axis=0, dtype=np.float64)
        weights[name] = rows
    return replace(
        folder,
        config=folder.config.model_copy(update={"vocab_size": len(sources)}),
        tokenizer_settings=folder.tokenizer_settings | {"vocabulary_sha256": sha256},
        weights=weights,
        vocabulary=vocabulary,
    )
