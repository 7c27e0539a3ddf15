"""Records in the reference's layout become ours: the same tokens, a unit each, nothing lost."""

import numpy as np
import pytest
import tensorflow as tf

from chinese.vocab import SPECIAL_TOKENS, Vocabulary, save_vocabulary
from electra_tf.data.pipeline import evaluation_batches
from electra_tf.workflows.import_records import import_records

CLS, SEP = 2, 3


def write(path, rows, length=8):
    """Rows of (ids, segments), padded as the reference does."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for ids, segments in rows:
            columns = {
                "input_ids": ids,
                "input_mask": [1] * len(ids),
                "segment_ids": segments,
            }
            features = {
                name: tf.train.Feature(
                    int64_list=tf.train.Int64List(value=column + [0] * (length - len(column)))
                )
                for name, column in columns.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


@pytest.fixture
def theirs(tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    save_vocabulary(Vocabulary((*SPECIAL_TOKENS, *"一二三四五")), tmp_path / "vocab.txt")
    return folder


def convert(folder, **options):
    out = folder.parent / "ours"
    manifest = import_records(
        folder, folder.parent / "vocab.txt", out, lambda stage, done, total: None, **options
    )
    return out, manifest


def rows_of(out, split, length=8):
    batches = evaluation_batches(out, split, max_length=length, batch_size=1, max_batches=1000)
    return sorted(
        tuple(map(tuple, np.concatenate(batch[:3], axis=0).tolist())) for batch in batches
    )


def test_tokens_stay_and_every_token_is_a_unit(theirs):
    two = ([CLS, 5, 6, SEP, 7, SEP], [0, 0, 0, 0, 1, 1])
    one = ([CLS, 8, 9, 5, SEP], [0] * 5)
    write(theirs / "pretrain_data.tfrecord-0-of-2", [two])
    write(theirs / "pretrain_data.tfrecord-1-of-2", [one])
    out, manifest = convert(theirs, held_out_rate=0.0)
    assert rows_of(out, manifest.train) == [
        ((2, 5, 6, 3, 7, 3, 0, 0), (0, 0, 0, 0, 1, 1, 0, 0), (0, 1, 2, 0, 3, 0, 0, 0)),
        ((2, 8, 9, 5, 3, 0, 0, 0), (0,) * 8, (0, 1, 2, 3, 0, 0, 0, 0)),
    ]
    assert (manifest.max_length, manifest.max_unit_tokens) == (8, 1)
    assert manifest.segmenter["name"] == "none"
    assert (manifest.train.examples, manifest.train.tokens) == (2, 6)


def test_nothing_is_lost_between_the_two_parts(theirs):
    rows = [([CLS, 5 + i % 5, 5 + i // 5 % 5, 5 + i // 25, SEP], [0] * 5) for i in range(120)]
    write(theirs / "a.tfrecord", rows)
    out, manifest = convert(theirs, held_out_rate=0.3, examples_per_shard=20)
    train, held_out = rows_of(out, manifest.train), rows_of(out, manifest.held_out)
    assert 15 < len(held_out) < 60
    assert not set(train) & set(held_out)
    found = sorted(ids[:5] for ids, *_ in train + held_out)
    assert found == sorted(tuple(ids) for ids, _ in rows)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (([CLS, 10, SEP], [0] * 3), "holds id 10, but the vocabulary has 10 tokens"),
        (([5, 6, SEP], [0] * 3), r"begins with id 5, but \[CLS\] is 2"),
        (([CLS, 5, 6], [0] * 3), r"cannot be trained on: \[SEP\] is not last"),
        (([CLS, 4, SEP], [0] * 3), r"\[MASK\] stands inside"),
    ],
)
def test_records_of_another_vocabulary_are_refused(theirs, row, message):
    write(theirs / "a.tfrecord", [row])
    with pytest.raises(ValueError, match=message):
        convert(theirs)


def test_files_of_another_kind_are_refused_by_name(theirs):
    with pytest.raises(ValueError, match=r"holds no files \*.tfrecord"):
        convert(theirs)
    path = theirs / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(tf.train.Example().SerializeToString())
    with pytest.raises(
        ValueError, match=r"a.tfrecord, at record 1 .*: no records with int64 lists"
    ):
        convert(theirs)
    write(path, [([CLS, 5, SEP], [0] * 3)] * 3)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"a.tfrecord: truncated or damaged"):
        convert(theirs)
