"""A look at a run from outside, as its folder stands now. No TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from electra_tf.config import PretrainConfig, load_config
from electra_tf.data.manifest import read_manifest_file
from electra_tf.pretrain.curves import CurveSet, run_curves
from electra_tf.pretrain.run_folder import CONFIG, METRICS, RECORDS_MANIFEST, is_written
from electra_tf.training.report import read_events


class Look(NamedTuple):
    """What one sees.

    Fields:
      name: of the folder.
      step, last_step: how far it is, and where it ends.
      is_finished: True once a limit has ended it and both networks are written.
      tokens_per_second: of the last report, 0.0 before the first.
      seconds_left: until a limit at the speed so far; 0.0 where nothing is known.
      charts: see `run_curves`.
    """

    name: str
    step: int
    last_step: int
    is_finished: bool
    tokens_per_second: float
    seconds_left: float
    charts: list[CurveSet]


def look(folder: str | Path) -> Look:
    """Reads config and events of a run folder.

    Raises:
      ValueError: no run there.
    """
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        raise ValueError(f"{folder}: is no run folder, it has no {CONFIG}")
    last_step = load_config(PretrainConfig, folder / CONFIG).training.train_steps
    entropy = read_manifest_file(folder / RECORDS_MANIFEST).unigram_entropy_nats
    events = read_events(folder / METRICS)
    reports = [event for event in events if event["kind"] == "train"]
    step = events[-1]["step"] if events else 0
    speed = reports[-1]["tokens_per_second"] if reports else 0.0
    left = reports[-1]["seconds_left"] if reports else 0.0
    is_finished = bool(events) and events[-1]["kind"] == "end" and is_written(folder)
    charts = run_curves(events, entropy)
    return Look(folder.resolve().name, step, last_step, is_finished, speed, left, charts)
