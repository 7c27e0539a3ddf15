"""What could stand at [MASK]: a generator asked directly.

fill_mask = MaskFiller("runs/demo/generator")
for mask in fill_mask("今天[MASK]气很好"):
    print(mask.offset, [(guess.token, guess.probability) for guess in mask.guesses])
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from electra_tf.network.pretrained import build_generator
from electra_tf.workflows.text_model import read_text_model, with_special_ids

MASK = "[MASK]"


class Guess(NamedTuple):
    """A token of the vocabulary and its probability; `##` marks a piece that continues a word."""

    token: str
    probability: float


class FilledMask(NamedTuple):
    """One [MASK]: where it begins, in characters of the text, and the best guesses, best first."""

    offset: int
    guesses: tuple[Guess, ...]


class MaskFiller:
    """Fills masks with the generator of an encoder folder or run folder.

    Args:
      path: the folder.

    Raises:
      ValueError: nothing readable is there, or a discriminator.
    """

    def __init__(self, path: str | Path):
        self._model = read_text_model(path, "generator", "fill-mask")
        self._network = build_generator(self._model.folder.config, self._model.folder.weights)

    def __call__(self, text: str, top: int = 5) -> list[FilledMask]:
        """Guesses each mask by itself, the others staying hidden.

        Args:
          text: with one [MASK] for every hidden token.
          top: guesses a mask.

        Returns:
          One entry for each [MASK], in their order.

        Raises:
          ValueError: no [MASK] in the text, or more tokens than the generator was trained on.
        """
        pieces = text.split(MASK)
        if len(pieces) == 1:
            raise ValueError(f'no {MASK} in the text; write one for each token: "今天{MASK}气很好"')
        tokenizer = self._model.tokenizer
        mask_id = tokenizer.vocabulary.mask_id
        ids, masks = np.zeros(0, np.int32), []
        for index, line in enumerate(tokenizer.encode(pieces)):
            if index:
                masks.append(len(ids) + 1)  # [CLS] stands before
                ids = np.append(ids, np.int32(mask_id))
            ids = np.concatenate([ids, line.ids])
        ids = with_special_ids(tokenizer, ids)
        if len(ids) > self._model.max_length:
            raise ValueError(
                f"the text has {len(ids)} tokens with [CLS] and [SEP], but this generator was "
                f"trained on at most {self._model.max_length}; shorten it around the {MASK}"
            )
        probabilities = self._network.guess(ids[None], np.array([masks], np.int32))[0]
        offsets = np.cumsum([len(piece) + len(MASK) for piece in pieces])[:-1] - len(MASK)
        return [
            FilledMask(int(offset), self._best(row, top))
            for offset, row in zip(offsets, probabilities, strict=True)
        ]

    def _best(self, row: np.ndarray, top: int) -> tuple[Guess, ...]:
        tokens = self._model.tokenizer.vocabulary.tokens
        best = np.argsort(-row, kind="stable")[:top]
        return tuple(Guess(tokens[index], float(row[index])) for index in best)
