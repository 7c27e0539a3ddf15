"""What lies where in a run folder, and whose run it is. No TensorFlow.

run/
  config.yaml            the resolved config: every knob, as used
  records_manifest.json  what the records said of themselves
  metrics.jsonl          one line a report
  events/                TensorBoard
  checkpoints/           to resume from
  encoder/ generator/    the two networks, written at the end
"""

from __future__ import annotations

import os
from pathlib import Path

from electra_tf.config import PretrainConfig, dump_config, load_config
from electra_tf.data.manifest import Manifest

CONFIG = "config.yaml"
RECORDS_MANIFEST = "records_manifest.json"
METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
EVENTS = "events"
ENCODER, GENERATOR = "encoder", "generator"

# A run may go on with these changed; everything else would make it another run.
_MAY_CHANGE = {
    ("training", "train_steps"),
    ("training", "report_every_steps"),
    ("training", "checkpoint_every_steps"),
    ("training", "keep_checkpoints"),
    ("training", "max_skipped_steps"),
    ("evaluation", "every_steps"),
}


def claim(folder: Path, config: PretrainConfig, manifest: Manifest) -> None:
    """Writes down what runs here, or refuses a folder that holds another run."""
    path = folder / CONFIG
    facts = manifest.model_dump_json(indent=2)
    if path.exists():
        changed = _changed(load_config(PretrainConfig, path), config)
        if changed:
            raise ValueError(
                f"{folder}: holds a run with another config ({'; '.join(changed)}); give another "
                f"--out, or the config it was started with ({path})"
            )
        if (folder / RECORDS_MANIFEST).read_text(encoding="utf-8") != facts:
            raise ValueError(
                f"{folder}: this run was started on other records; give another --out, or the "
                f"records it was started with (see {folder / RECORDS_MANIFEST})"
            )
    _replace_text(folder / RECORDS_MANIFEST, facts)
    _replace_text(path, dump_config(config))


def _changed(before: PretrainConfig, now: PretrainConfig) -> list[str]:
    """`section.key: old → new` for every change that makes it another run."""
    differences = []
    for section, old in before.model_dump().items():
        new = getattr(now, section)
        if not isinstance(old, dict):
            if old != new:
                differences.append(f"{section}: {old} → {new}")
            continue
        for key, value in old.items():
            if (section, key) not in _MAY_CHANGE and getattr(new, key) != value:
                differences.append(f"{section}.{key}: {value} → {getattr(new, key)}")
    return differences


def is_written(folder: Path) -> bool:
    """True if both networks stand in the run folder."""
    return (folder / ENCODER).is_dir() and (folder / GENERATOR).is_dir()


def _replace_text(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
