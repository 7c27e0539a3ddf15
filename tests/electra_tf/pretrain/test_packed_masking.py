"""In packed rows, too, nothing that is hidden together reaches over a special token."""

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.batches import TokenBatch
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.data.rows import pack
from electra_tf.pretrain.masking import mask

VOCABULARY = VocabularyFacts(file="", size=40, sha256="", unk_id=1, cls_id=2, sep_id=3, mask_id=4)
ROWS = 400


def example(*segments):
    """[CLS], then for each segment its words, given by their lengths, and [SEP]."""
    ids, units, numbers = [2], [0], []
    for segment, words in enumerate(segments):
        for size in words:
            ids += [10 + size] * size
            units += [max(units) + 1] * size
        ids.append(3)
        units.append(0)
        numbers += [segment] * (len(ids) - len(numbers))
    return tuple(map(np.array, (ids, numbers, units)))


@pytest.fixture(scope="module")
def packed(one_a_row):
    """One row, many times: [CLS] 1 2 [SEP] 2 1 [SEP] [CLS] 1 1 1 [SEP] [CLS] 2 [SEP]."""
    examples = [example([1, 2], [2, 1]), example([1, 1, 1]), example([2])]
    rows = pack(one_a_row(examples), 18)
    assert rows.sizes.tolist() == [18]
    return TokenBatch(*[tf.repeat(tf.constant(c[None], tf.int32), ROWS, 0) for c in rows.columns])


@pytest.mark.parametrize("mode", ["token", "whole_word", "ngram", "span", "reference"])
def test_what_is_hidden_together_stands_between_two_special_tokens(packed, make_masking, mode):
    # With a budget of one token a single unit, or run of units, is hidden, or by chance nothing.
    config = make_masking(mode=mode, mask_rate=0.05)
    masked = mask(packed, config, VOCABULARY, tf.constant([1, 2]), tf.constant(0))
    is_used = masked.weights.numpy() > 0
    units = packed.unit_ids.numpy()[0]
    stretch = np.cumsum(units == 0)  # between two special tokens
    seen = set()
    for places in (row[used] for row, used in zip(masked.positions.numpy(), is_used, strict=True)):
        assert (units[places] > 0).all()
        assert len(set(stretch[places])) <= 1
        seen |= {(int(place), len(places)) for place in stretch[places]}
    assert {place for place, _ in seen} == {1, 2, 4, 6}, "some text was never hidden"
    assert max(size for _, size in seen) == {"ngram": 3, "span": 3, "whole_word": 2}.get(mode, 1)
    assert masked.sequence_ids is packed.sequence_ids
