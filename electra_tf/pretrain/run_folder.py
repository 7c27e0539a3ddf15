"""What lies where in a run folder, and whose run it is. No TensorFlow.

run/
  config.yaml            the resolved config: every knob, as used
  records_manifest.json  what the records said of themselves
  started_from.json      the networks it started from; [] = at random
  environment.json       devices and versions
  metrics.jsonl          one line a report
  events/                TensorBoard
  checkpoints/           to resume from
  records/               where the run built its own from text
  report.html            curves, corpus, samples
  encoder/ generator/    the two networks, written at the end
  best/                  the two networks as they were at the best evaluation so far
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from electra_tf.config import PretrainConfig, dump_config, load_config
from electra_tf.data.manifest import Manifest
from electra_tf.whole_folder import replace_text

CONFIG = "config.yaml"
RECORDS_MANIFEST = "records_manifest.json"
METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
EVENTS = "events"
ENVIRONMENT = "environment.json"
RECORDS = "records"
STARTS = "started_from.json"
ENCODER, GENERATOR = "encoder", "generator"
NETWORKS = {"discriminator": ENCODER, "generator": GENERATOR}
BEST = "best"

# A run may go on with these changed; everything else would make it another run.
_MAY_CHANGE = {
    ("training", "train_steps"),
    ("training", "max_tokens"),
    ("training", "max_minutes"),
    ("schedule", "decay_steps"),  # of a run whose decay begins when its owner says so
    ("training", "report_every_steps"),
    ("training", "checkpoint_every_steps"),
    ("training", "keep_checkpoints"),
    ("training", "max_skipped_steps"),
    ("evaluation", "every_steps"),
}


def claim(
    folder: Path,
    config: PretrainConfig,
    manifest: Manifest,
    starts: Sequence[dict[str, str]] = (),
) -> None:
    """Writes down what runs here, or refuses a folder that holds another run.

    Args:
      folder: the run folder.
      config: the run.
      manifest: of its records.
      starts: the networks it is to start from; none = none, or where a run goes on, the same.
    """
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
        _check_same_starts(folder, starts)
    else:
        replace_text(folder / STARTS, json.dumps(list(starts), ensure_ascii=False, indent=2) + "\n")
    replace_text(folder / RECORDS_MANIFEST, facts)
    replace_text(path, dump_config(config))


def read_starts(folder: Path) -> list[dict[str, str]]:
    """The networks a run started from; none where it started at random."""
    path = folder / STARTS
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def _check_same_starts(folder: Path, starts: Sequence[dict[str, str]]) -> None:
    """The same weights are the same start, wherever they lie now."""
    recorded = read_starts(folder)
    now, before = (
        sorted((start["kind"], start["weights_sha256"]) for start in some)
        for some in (starts, recorded)
    )
    if starts and now != before:
        paths = " and ".join(start["path"] for start in recorded) or "weights drawn at random"
        raise ValueError(
            f"{folder}: holds a run that started from {paths}; leave out --init-from to go on with "
            f"it, or give another --out"
        )


def _changed(before: PretrainConfig, now: PretrainConfig) -> list[str]:
    """`section.key: old → new` for every change that makes it another run."""
    before, now = _leaves(before.model_dump()), _leaves(now.model_dump())
    return [
        f"{'.'.join(key)}: {before.get(key)} → {now.get(key)}"
        for key in before | now
        if key not in _MAY_CHANGE and before.get(key) != now.get(key)
    ]


def _leaves(tree: Mapping[str, Any], parents: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """(section, key) → value; keys of the root stand alone."""
    leaves = {}
    for key, value in tree.items():
        path = (*parents, key)
        leaves |= _leaves(value, path) if isinstance(value, dict) else {path: value}
    return leaves


def is_written(folder: Path) -> bool:
    """True if both networks stand in the run folder."""
    return (folder / ENCODER).is_dir() and (folder / GENERATOR).is_dir()
