"""Adam's moments of a run: out of our checkpoints and TensorFlow 1's, so that training can go on.

Both optimizers keep the same two, uncorrected, for every trained variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from electra_tf.encoder_folder import EncoderFolder, Kind
from electra_tf.exchange.translate import Source, same_numbers

# Slot of TensorFlow 1's optimizer → where our checkpoints keep it.
SLOTS = {"adam_m": "first_moments", "adam_v": "second_moments"}

Folders = Mapping[Kind, EncoderFolder]


class Moments(NamedTuple):
    """What an optimizer remembers.

    Fields:
      slots: `adam_m`, `adam_v` → network → our name → float32 array of the variable's shape.
      step: updates so far.
    """

    slots: Mapping[str, Mapping[Kind, Mapping[str, np.ndarray]]]
    step: int


def moments_of_run(checkpoints: Path, folders: Folders) -> Moments:
    """Reads the newest checkpoint of a run.

    Args:
      checkpoints: the folder a run keeps them in.
      folders: the networks the run wrote, whose weights must be those of the checkpoint.

    Raises:
      ValueError: there is none, it is damaged, or the networks were written at another step.
    """
    newest = tf.train.latest_checkpoint(str(checkpoints))
    if newest is None:
        raise ValueError(f"{checkpoints}: holds no checkpoint, so nothing knows Adam's moments")
    read = _reader(newest)

    def array(place: str, kind: Kind, ours: str) -> np.ndarray:
        return read(f"{place}/{_variable_path(kind, ours).replace('/', '.S')}{_VALUE}")

    for kind, folder in folders.items():
        for ours, weights in folder.weights.items():
            if not same_numbers(array("weights", kind, ours), weights):
                raise ValueError(
                    f"{newest}: is of another step than the networks beside it ({kind}: {ours} "
                    f"differs); train to the end first, or leave out --with-optimizer"
                )
    slots = {
        slot: _of_all(folders, lambda kind, ours, place=place: array(place, kind, ours))
        for slot, place in ((slot, f"optimizer/{name}") for slot, name in SLOTS.items())
    }
    return Moments(slots, int(read(f"update_step{_VALUE}")))


def moments_of_bundle(source: Source, folders: Folders) -> Moments:
    """Reads the slots of a TensorFlow 1 checkpoint.

    Raises:
      ValueError: it has none, as released checkpoints have none.
    """
    if not any(name.endswith("/adam_m") for name in source.shapes):
        raise ValueError(
            f"{source.path}: holds no moments of Adam (released checkpoints have none); leave out "
            f"--with-optimizer"
        )
    slots = {
        slot: _of_all(
            folders,
            lambda kind, ours, slot=slot: source.read(
                f"{source.tables[kind].to_theirs(ours).theirs}/{slot}"
            ),
        )
        for slot in SLOTS
    }
    return Moments(slots, int(source.read("global_step")))


_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


def _variable_path(kind: Kind, ours: str) -> str:
    """A variable in a run: shared embeddings and heads carry no network's name."""
    is_unnamed = ours.startswith(("embeddings/", "masked_lm_head/", "replaced_token_head/"))
    return ours if is_unnamed else f"{kind}/{ours}"


def _of_all(
    folders: Folders, read: Callable[[Kind, str], np.ndarray]
) -> dict[Kind, dict[str, np.ndarray]]:
    return {
        kind: {ours: read(kind, ours) for ours in folder.weights}
        for kind, folder in folders.items()
    }


def _reader(prefix: str) -> Callable[[str], np.ndarray]:
    reader = tf.train.load_checkpoint(prefix)

    def read(name: str) -> np.ndarray:
        try:
            return reader.get_tensor(name)
        except (tf.errors.OpError, IndexError, RuntimeError, ValueError) as error:
            raise ValueError(f"{prefix}: {name} cannot be read ({error})") from None

    return read
