"""The encoder folders a pre-training run hands out, each with all that is needed elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

from electra_tf.config import PretrainConfig
from electra_tf.data.manifest import Manifest
from electra_tf.encoder_folder import EncoderFolder, write_encoder_folder
from electra_tf.network.weights import named_weights
from electra_tf.pretrain.assembly import Parts
from electra_tf.pretrain.environment import versions
from electra_tf.pretrain.run_folder import NETWORKS, read_starts


def write_encoders(
    folder: Path, config: PretrainConfig, manifest: Manifest, records: Path, parts: Parts
) -> None:
    """Writes both networks as they are now, over those of an earlier step."""
    vocabulary = (records / manifest.vocabulary.file).read_bytes()
    provenance = _provenance(config, manifest, parts.step, read_starts(folder))
    for kind, (encoder, head) in parts.objective.networks.items():
        variables = named_weights(encoder) | named_weights(head)
        contents = EncoderFolder(
            kind=kind,
            config=getattr(config, kind),
            tokenizer_settings=manifest.tokenizer,
            weights={path: keras.ops.convert_to_numpy(v) for path, v in variables.items()},
            vocabulary_file=manifest.vocabulary.file,
            vocabulary=vocabulary,
            provenance=provenance,
        )
        write_encoder_folder(folder / NETWORKS[kind], contents, overwrite=True)


def _provenance(
    config: PretrainConfig, manifest: Manifest, step: int, starts: list[dict[str, str]]
) -> dict[str, Any]:
    return {
        "made_by": "electra-tf pretrain",
        "step": step,
        "started_from": starts,
        "config": config.model_dump(),
        "records": {
            "vocabulary": manifest.vocabulary.model_dump(),
            "segmenter": manifest.segmenter,
            "corpus": manifest.corpus,
            "train_tokens": manifest.train.tokens,
        },
        "versions": versions(),
    }
