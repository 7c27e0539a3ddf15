"""Rows become the bytes that protobuf would write."""

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.data.serialization import FEATURES, PACKED_FEATURES, serialize, serialize_columns


@pytest.mark.parametrize("names", [FEATURES, PACKED_FEATURES], ids=["unpacked", "packed"])
@pytest.mark.parametrize("largest", [1, 127, 128, 16383, 16384, 1 << 31, (1 << 63) - 1])
def test_rows_serialize_to_the_bytes_of_protobuf(largest, names):
    rng = np.random.default_rng(largest)
    sizes = np.array([1, 3, 128, 2, 127, 512, 20000])
    columns = [rng.integers(-1, largest, sizes.sum(), endpoint=True) for _ in names]
    found = serialize_columns(columns, sizes)
    rows = zip(*(np.split(column, np.cumsum(sizes)[:-1]) for column in columns), strict=True)
    assert found == [by_protobuf(*row) for row in rows]
    row = [2, 7, 3], [0, 0, 0], [0, 1, 0]
    assert serialize(*row) == by_protobuf(*row)


def by_protobuf(*columns):
    features = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=column))
        for name, column in zip(PACKED_FEATURES, columns, strict=False)
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString(deterministic=True)
