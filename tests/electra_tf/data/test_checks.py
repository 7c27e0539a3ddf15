"""A defect in a record or a shard is found and named; sound records pass."""

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.data import checks
from electra_tf.data.checks import check_shard, strange_shards
from electra_tf.data.manifest import Manifest, VocabularyFacts
from electra_tf.data.records import SplitWriter
from electra_tf.data.serialization import join_records, serialize

CLS, SEP, MASK = 2, 3, 4
SOUND = ([CLS, 10, 11, 12, SEP, 13, SEP], [0, 0, 0, 0, 0, 1, 1], [0, 1, 1, 2, 0, 3, 0])


def write(folder, examples):
    writer = SplitWriter(folder, "train")
    writer.add_document([tuple(map(np.array, example)) for example in examples])
    return writer.finish(1000, seed=1)


def make_manifest(split, max_length=8):
    return Manifest(
        format=1,
        max_length=max_length,
        max_unit_tokens=2,
        seed=1,
        vocabulary=VocabularyFacts(
            file="vocab.txt",
            size=20,
            sha256="0",
            unk_id=1,
            cls_id=CLS,
            sep_id=SEP,
            mask_id=MASK,
        ),
        tokenizer={},
        segmenter={"name": "jieba", "version": "0", "fingerprint": "0"},
        corpus={},
        unigram_entropy_nats=1.0,
        train=split,
        held_out=split.model_copy(update={"shards": ()}),
    )


def check(folder, examples):
    split = write(folder, examples)
    return check_shard(folder, split.shards[0], make_manifest(split), lambda records: None)


def test_sound_records_pass_and_are_counted(tmp_path):
    told = []
    split = write(tmp_path, [SOUND, ([CLS, 10, SEP], [0, 0, 0], [0, 1, 0])] * 3)
    found = check_shard(tmp_path, split.shards[0], make_manifest(split), told.append)
    assert found == (split.shards[0].file, 6, 3 * (4 + 1), ())
    assert sum(told) == 6


@pytest.mark.parametrize(
    ("ids", "segments", "units", "kind"),
    [
        ([CLS, 20, SEP], None, None, "outside the vocabulary of 20"),
        ([CLS, -1, SEP], None, None, "outside the vocabulary"),
        ([CLS, 0, SEP], None, None, r"\[PAD\] stands inside"),
        ([CLS, MASK, SEP], None, None, r"\[MASK\] stands inside"),
        ([10, 11, SEP], None, [1, 2, 0], r"\[CLS\] is not first"),
        ([CLS, CLS, SEP], None, [0, 0, 0], r"\[CLS\] is not first and only"),
        ([CLS, 10, 11], None, [0, 1, 2], r"\[SEP\] is not last"),
        ([CLS, SEP, SEP, SEP], [0, 0, 1, 2], [0, 0, 0, 0], "more than twice"),
        ([CLS, 10, SEP], [0, 1, 1], None, "segment ids"),
        ([CLS, 10, SEP, 11, SEP], [0] * 5, [0, 1, 0, 2, 0], "segment ids"),
        ([CLS, 10, SEP], None, [0, 0, 0], r"0 on \[CLS\] and \[SEP\] alone"),
        ([CLS, 10, SEP], None, [0, 1, 1], r"0 on \[CLS\] and \[SEP\] alone"),
        ([CLS, 10, 11, SEP], None, [0, 2, 3, 0], "do not rise from 1"),
        ([CLS, 10, 11, SEP], None, [0, 1, 3, 0], "do not rise from 1"),
        ([CLS, 10, 11, 12, SEP], None, [0, 1, 2, 1, 0], "do not rise from 1"),
        ([CLS, 10, SEP, 11, SEP], [0, 0, 0, 1, 1], [0, 1, 0, 1, 0], "do not rise from 1"),
        ([CLS, 10, 11, 12, SEP], None, [0, 1, 1, 1, 0], "more than 2 tokens"),
        ([CLS, SEP], None, [0, 0], "fewer than 3 or more than 8"),
        ([CLS, *range(10, 17), SEP], None, None, "fewer than 3 or more than 8"),
        ([CLS, 10, SEP], [0, 0], None, "differ in length"),
    ],
)
def test_each_defect_of_a_record_is_named(tmp_path, ids, segments, units, kind):
    segments = [0] * len(ids) if segments is None else segments
    units = [0, *range(1, len(ids) - 1), 0] if units is None else units
    defects = check(tmp_path, [(ids, segments, units)]).defects
    assert len(defects) == 1
    with pytest.raises(ValueError, match=f"record 1: .*{kind}"):
        raise ValueError(defects[0])


def check_packed(folder, *columns):
    row = tuple(map(np.array, columns))
    records = join_records([serialize(*row)] * 2, 1, 2 * int(np.count_nonzero(row[2])), 4)
    writer = SplitWriter(folder, "train")
    writer.add(records)
    split = writer.finish(1000, seed=1)
    return check_shard(folder, split.shards[0], make_manifest(split, 16), lambda records: None)


def test_sound_packed_records_pass(tmp_path):
    ids, segments, units = SOUND
    two = [*ids, *ids], [*segments, *segments], [*units, 0, 4, 4, 5, 0, 6, 0], [1] * 7 + [2] * 7
    assert check_packed(tmp_path, *two) == ("train-00000-of-00001.tfrecord", 2, 16, ())


@pytest.mark.parametrize(
    ("column", "place", "value", "kind"),
    [
        (0, 7, 10, r"\[CLS\] is not first"),
        (0, 6, 10, r"\[SEP\] is not last"),
        (1, 7, 1, "segment ids are not 0 up to the first"),
        (2, 8, 3, "do not rise from 1"),
        (2, 8, 1, "do not rise from 1"),
        (2, 7, 4, r"0 on \[CLS\] and \[SEP\] alone"),
        (3, 0, 0, "sequence ids do not rise from 1"),
        (3, 3, 2, "sequence ids do not rise from 1"),
        (3, 9, 4, "sequence ids do not rise from 1"),
        (3, 9, 3, "a sequence has fewer than 3 tokens"),
    ],
)
def test_each_defect_of_a_packed_record_is_named(tmp_path, column, place, value, kind):
    ids, segments, units = SOUND
    row = [[*ids, 2, 10, 3], [*segments, 0, 0, 0], [*units, 0, 4, 0], [1] * 7 + [2] * 3]
    row[column][place] = value
    defects = check_packed(tmp_path, *row).defects
    with pytest.raises(ValueError, match=f"record 1: .*{kind}.* \\(and 1 more\\)"):
        raise ValueError("\n".join(defects))


def test_packed_records_without_sequence_ids_are_found(tmp_path):
    assert "lists differ in length" in check_packed(tmp_path, *SOUND).defects[0]


def test_a_defect_tells_its_first_record_and_how_many_more(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "_ROWS_AT_ONCE", 3)
    bad = ([CLS, 99, SEP], [0, 0, 0], [0, 1, 0])
    found = check(tmp_path, [SOUND] * 6 + [bad] * 2)
    assert len(found.defects) == 1
    assert found.defects[0].endswith("(and 1 more)")


def test_what_is_no_example_is_found_among_sound_ones(tmp_path):
    split = write(tmp_path, [SOUND] * 3)
    path = tmp_path / split.shards[0].file
    sound = next(iter(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()))
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x"]))
    features = tf.train.Features(feature={"input_ids": feature})
    wrong_type = tf.train.Example(features=features).SerializeToString()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in (sound, b"\xff\xff", sound, wrong_type):
            writer.write(record)
    found = check_shard(tmp_path, split.shards[0], make_manifest(split), lambda records: None)
    assert "record 2: is no example" in found.defects[-1]
    assert "(and 1 more)" in found.defects[-1]
    assert (found.examples, found.tokens) == (4, 8)


def test_a_truncated_shard_is_read_up_to_where_it_ends(tmp_path):
    split = write(tmp_path, [SOUND] * 5)
    path = tmp_path / split.shards[0].file
    path.write_bytes(path.read_bytes()[:-7])
    found = check_shard(tmp_path, split.shards[0], make_manifest(split), lambda records: None)
    text = "\n".join(found.defects)
    assert "the file is truncated" in text
    assert "unreadable after record 4" in text
    assert "4 records found, 5 expected" in text
    assert found.tokens == 16


def test_one_flipped_bit_is_found(tmp_path):
    split = write(tmp_path, [SOUND] * 5)
    path = tmp_path / split.shards[0].file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    found = check_shard(tmp_path, split.shards[0], make_manifest(split), lambda records: None)
    assert "SHA-256 is not that of the manifest" in found.defects[0]
    assert "unreadable after record 2" in found.defects[1]


def test_a_missing_shard_is_a_defect(tmp_path):
    split = write(tmp_path, [SOUND])
    (tmp_path / split.shards[0].file).unlink()
    found = check_shard(tmp_path, split.shards[0], make_manifest(split), lambda records: None)
    assert found.defects == ("the manifest names this shard, but it is missing",)


def test_shards_of_another_build_are_seen(tmp_path):
    split = write(tmp_path, [SOUND])
    (tmp_path / "train-00001-of-00002.tfrecord").touch()
    found = list(strange_shards(tmp_path, make_manifest(split)))
    assert found == ["train-00001-of-00002.tfrecord"]
