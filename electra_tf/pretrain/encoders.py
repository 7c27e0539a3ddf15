"""The encoder folders a pre-training run hands out, each with all that is needed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from electra_tf.config import PretrainConfig
from electra_tf.data.manifest import Manifest
from electra_tf.encoder_folder import EncoderFolder, write_encoder_folder
from electra_tf.network.weights import named_weights
from electra_tf.pretrain.assembly import Parts
from electra_tf.pretrain.environment import versions
from electra_tf.pretrain.run_folder import BEST, NETWORKS, read_starts


def write_encoders(
    folder: Path,
    config: PretrainConfig,
    manifest: Manifest,
    records: Path,
    parts: Parts,
    best: Mapping[str, float] | None = None,
) -> None:
    """Writes both networks as they are now, over those of an earlier step.

    Args:
      folder: the run folder.
      config: of the run.
      manifest: of the records.
      records: their folder.
      parts: the run.
      best: the metric and its value that make this step the best so far: the networks go into the
        folder `best`. None = they are the last.
    """
    place = folder / BEST if best else folder
    vocabulary = (records / manifest.vocabulary.file).read_bytes()
    provenance = _provenance(config, manifest, parts, read_starts(folder))
    if best:
        provenance["best"] = dict(best)
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
        write_encoder_folder(place / NETWORKS[kind], contents, overwrite=True)


def _provenance(
    config: PretrainConfig, manifest: Manifest, parts: Parts, starts: list[dict[str, str]]
) -> dict[str, Any]:
    used = parts.used
    return {
        "made_by": "electra-tf pretrain",
        "step": used.steps,
        "trained_tokens": used.tokens,
        "minutes": round(used.seconds / 60, 2),
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
