"""Records in the layout of the reference's own builder: padded, without units.

A record is one tf.train.Example with `input_ids`, `input_mask`, `segment_ids`: int64 lists of one
fixed length.

Source: google-research/electra at 8a46635, `build_pretraining_dataset.py` (ExampleWriter).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

_NAMES = ("input_ids", "input_mask", "segment_ids")
_ROWS_AT_ONCE = 1024


class ReferenceRows(NamedTuple):
    """Some records of one file.

    Fields:
      input_ids, segment_ids: int64 [n, L], 0 = padding.
      sizes: int64 [n], tokens of each row, special tokens included.
    """

    input_ids: np.ndarray
    segment_ids: np.ndarray
    sizes: np.ndarray


def find_reference_files(folder: str | Path) -> list[Path]:
    """The record files of a folder, as the reference names them (`….tfrecord-0-of-1000`), sorted.

    Raises:
      ValueError: there are none.
    """
    files = sorted(path for path in Path(folder).glob("*.tfrecord*") if path.is_file())
    if not files:
        raise ValueError(f"{folder}: holds no files *.tfrecord*; give the folder of the records")
    return files


def read_reference_rows(path: str | Path) -> Iterator[ReferenceRows]:
    """Yields the records of one file, in order, up to 1,024 at once.

    Raises:
      ValueError: names the file and the first record of the lot that is cut short, damaged, of
        another layout or of another length than the rest.
    """
    records = tf.data.TFRecordDataset(str(path)).batch(_ROWS_AT_ONCE).as_numpy_iterator()
    done, length = 0, None
    features = dict.fromkeys(_NAMES, tf.io.RaggedFeature(tf.int64))
    while True:
        try:
            lot = next(records, None)
            if lot is None:
                return
            parsed = tf.io.parse_example(lot, features)
        except tf.errors.DataLossError as error:
            raise ValueError(f"{path}: truncated or damaged: {error.message}") from None
        except (tf.errors.InvalidArgumentError, UnicodeDecodeError):
            raise ValueError(f"{_place(path, done)}: {_OTHER_LAYOUT}") from None
        lengths = {int(size) for name in _NAMES for size in np.unique(parsed[name].row_lengths())}
        if length is None and len(lengths) == 1:
            (length,) = lengths
        if lengths != {length} or not length:
            raise ValueError(f"{_place(path, done)}: {_OTHER_LAYOUT}; lengths {sorted(lengths)}")
        ids, is_real, segments = (
            parsed[name].values.numpy().reshape(len(lot), length) for name in _NAMES
        )
        sizes = (is_real != 0).sum(axis=1)
        if ((np.arange(length) < sizes[:, None]) != (is_real != 0)).any():
            raise ValueError(f"{_place(path, done)}: a record has padding inside its text")
        yield ReferenceRows(ids * is_real, segments * is_real, sizes)
        done += len(lot)


_OTHER_LAYOUT = f"no records with int64 lists {', '.join(_NAMES)} of one length"


def _place(path: str | Path, done: int) -> str:
    return f"{path}, at record {done + 1:,} or soon after"
