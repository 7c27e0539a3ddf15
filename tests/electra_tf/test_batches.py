"""Cargo checks itself at birth, and survives what TensorFlow does with it."""

import pytest
import tensorflow as tf

from electra_tf.batches import CorruptedBatch, TokenBatch, is_real

IDS = tf.constant([[2, 5, 3, 0]])


def test_a_wrong_dtype_or_rank_is_refused_by_name():
    with pytest.raises(ValueError, match=r"TokenBatch.segment_ids must be int32 .* found int64"):
        TokenBatch(IDS, tf.cast(IDS, tf.int64), IDS)
    with pytest.raises(ValueError, match=r"TokenBatch.input_ids must be int32 of rank 2"):
        TokenBatch(IDS[0], IDS, IDS)
    with pytest.raises(ValueError, match=r"CorruptedBatch.is_replaced must be float32"):
        CorruptedBatch(IDS, IDS, IDS)
    with pytest.raises(ValueError, match=r"TokenBatch.sequence_ids must be int32 .* found bool"):
        TokenBatch(IDS, IDS, IDS, IDS > 0)


def test_a_batch_flows_through_datasets_and_functions():
    for batch in (TokenBatch(IDS, IDS, IDS), TokenBatch(IDS, IDS, IDS, IDS)):
        read = next(iter(tf.data.Dataset.from_tensors(batch)))
        assert isinstance(read, TokenBatch)
        assert isinstance(tf.function(lambda b: b)(batch), TokenBatch)
        assert (read.sequence_ids is None) == (batch.sequence_ids is None)


def test_real_tokens_are_those_that_are_not_padding():
    assert is_real(IDS).numpy().tolist() == [[True, True, True, False]]
