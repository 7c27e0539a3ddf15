"""Examples of a folder of records as a run would mask them, ready to be shown to people."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from chinese.vocab import CONTINUATION, Vocabulary, load_vocabulary, readable
from electra_tf.config import MaskingConfig
from electra_tf.data.manifest import check_shards, read_manifest
from electra_tf.data.pipeline import training_batches
from electra_tf.pretrain.masking import mask

TokenState = Literal["seen", "masked", "random", "kept", "special"]
"""seen = left alone; masked = hidden behind [MASK]; random = hidden behind a random token;
kept = to be guessed, but it stands there."""


class ShownToken(NamedTuple):
    """One token.

    Fields:
      text: without ## or ▁.
      before: what separates it from the token before: nothing inside a unit, a blank between
        units, a dot between two units of one word.
      state: see `TokenState`.
    """

    text: str
    before: str
    state: TokenState


class ShownExample(NamedTuple):
    """One example.

    Fields:
      sequences: for each sequence (several only where examples are packed) the tokens of segment
        A and, where there is one, B.
      num_tokens: [CLS] and [SEP] included.
      num_maskable: [CLS] and [SEP] left out.
      num_hidden: masked, random and kept.
    """

    sequences: tuple[tuple[tuple[ShownToken, ...], ...], ...]
    num_tokens: int
    num_maskable: int
    num_hidden: int


def show_records(
    folder: str | Path,
    masking: MaskingConfig,
    count: int,
    split_name: Literal["train", "held_out"],
    seed: int,
) -> list[ShownExample]:
    """Draws examples and hides tokens as training does.

    Args:
      folder: the records.
      masking: mode, rates and cap.
      count: how many examples; all of them where there are fewer.
      split_name: from which part.
      seed: which examples, and what is hidden in them.

    Returns:
      The examples; no example comes twice.

    Raises:
      ValueError: no such records, shards of another size than the manifest's, an empty part, units
        longer than `masking.max_unit_tokens`.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    split = {"train": manifest.train, "held_out": manifest.held_out}[split_name]
    if not split.examples:
        raise ValueError(f"{folder}: the split {split_name} holds no example; choose the other")
    if manifest.max_unit_tokens > masking.max_unit_tokens:
        raise ValueError(
            f"{folder}: the records hold units of up to {manifest.max_unit_tokens} tokens, but "
            f"masking.max_unit_tokens is {masking.max_unit_tokens}; raise it"
        )
    check_shards(folder, split)
    vocabulary = load_vocabulary(folder / manifest.vocabulary.file)
    count = min(count, split.examples)
    batches = training_batches(
        folder, split, max_length=manifest.max_length, batch_size=count, seed=seed
    )
    batch = next(iter(batches))
    masked = mask(batch, masking, manifest.vocabulary, np.array([seed, 0], np.int32), 0)
    is_hidden = np.zeros(batch.input_ids.shape, bool)
    rows, slots = np.nonzero(masked.weights.numpy())
    is_hidden[rows, masked.positions.numpy()[rows, slots]] = True
    input_ids, segment_ids, unit_ids = (column.numpy() for column in batch[:3])
    sequence_ids = (input_ids != 0).astype(int)
    if batch.sequence_ids is not None:
        sequence_ids = batch.sequence_ids.numpy()
    columns = (input_ids, segment_ids, unit_ids, sequence_ids, masked.input_ids.numpy(), is_hidden)
    return [_show(*row, vocabulary) for row in zip(*columns, strict=True)]


def _show(
    ids: np.ndarray,
    segment_ids: np.ndarray,
    unit_ids: np.ndarray,
    sequence_ids: np.ndarray,
    masked_ids: np.ndarray,
    is_hidden: np.ndarray,
    vocabulary: Vocabulary,
) -> ShownExample:
    num_tokens = int(np.count_nonzero(sequence_ids))
    sequences: list[list[list[ShownToken]]] = [[[], []] for _ in range(sequence_ids.max())]
    last_unit = 0
    for place in range(num_tokens):
        token, unit = vocabulary.tokens[ids[place]], int(unit_ids[place])
        if not unit:
            state: TokenState = "special"
        elif not is_hidden[place]:
            state = "seen"
        elif masked_ids[place] == vocabulary.mask_id:
            state = "masked"
        else:
            state = "kept" if masked_ids[place] == ids[place] else "random"
        before = "" if unit and unit == last_unit else " "
        if before and last_unit and token.startswith(CONTINUATION):
            before = "·"
        tokens = sequences[sequence_ids[place] - 1][segment_ids[place]]
        tokens.append(ShownToken(readable(token), before if tokens else "", state))
        last_unit = unit
    return ShownExample(
        tuple(tuple(tuple(tokens) for tokens in segments if tokens) for segments in sequences),
        num_tokens,
        int(np.count_nonzero(unit_ids)),
        int(is_hidden.sum()),
    )
