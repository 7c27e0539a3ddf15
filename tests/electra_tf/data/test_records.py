"""Folders of records: what is written is what is read, and what is broken is named."""

import json

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.data import records
from electra_tf.data.manifest import (
    MANIFEST,
    Manifest,
    VocabularyFacts,
    check_shards,
    read_manifest,
    write_manifest,
)
from electra_tf.data.records import (
    SplitWriter,
    prepare_folder,
    read_records,
    unigram_entropy_nats,
)


def example(number):
    """[CLS] number [SEP]"""
    return np.array([2, number, 3]), np.zeros(3, int), np.array([0, 1, 0])


def write_split(folder, name="train", documents=10, examples_per_shard=30, seed=1):
    writer = SplitWriter(folder, name)
    for d in range(documents):
        writer.add_document(example(100 + 10 * d + i) for i in range(10))
    return writer.finish(examples_per_shard, seed)


def make_manifest(train, held_out):
    vocabulary = VocabularyFacts(
        file="vocab.txt", size=500, sha256="0", unk_id=1, cls_id=2, sep_id=3, mask_id=4
    )
    return Manifest(
        format=1,
        max_length=8,
        max_unit_tokens=4,
        seed=1,
        vocabulary=vocabulary,
        tokenizer={"lower_case": True},
        segmenter={"name": "jieba", "version": "0", "fingerprint": "0"},
        corpus={"paths": ["a.txt"], "characters": 1, "unknown_rate": 0.0},
        unigram_entropy_nats=1.0,
        train=train,
        held_out=held_out,
    )


def numbers_in(folder, split):
    found = []
    for shard in split.shards:
        for record in read_records(folder / shard.file):
            found.append(tf.train.Example.FromString(record))
    return [e.features.feature["input_ids"].int64_list.value[1] for e in found]


def test_every_example_is_written_once_and_shuffled_over_all_shards(tmp_path):
    split = write_split(tmp_path)
    numbers = numbers_in(tmp_path, split)
    assert sorted(numbers) == list(range(100, 200))
    assert numbers != sorted(numbers)
    assert [shard.examples for shard in split.shards] == [25, 25, 25, 25]
    assert (split.documents, split.examples, split.tokens) == (10, 100, 100)
    first = set(numbers[:25])
    assert len({(number - 100) // 10 for number in first}) > 5, "a shard holds a few documents only"


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    a, b, c = (write_split(f, seed=s) for f, s in zip(folders, (1, 1, 2), strict=True))
    assert a == b
    assert a.shards[0].sha256 != c.shards[0].sha256


def test_nothing_temporary_is_left_behind(tmp_path):
    split = write_split(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [shard.file for shard in split.shards]


def test_more_shards_than_open_files(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MAX_OPEN_FILES", 3)
    split = write_split(tmp_path, examples_per_shard=9)
    assert len(split.shards) == 12
    assert sorted(numbers_in(tmp_path, split)) == list(range(100, 200))


def test_an_empty_split_has_no_shards(tmp_path):
    split = SplitWriter(tmp_path, "held_out").finish(10, 1)
    assert (split.examples, split.shards) == (0, ())


def test_a_manifest_comes_back_as_it_was_written(tmp_path):
    manifest = make_manifest(write_split(tmp_path), write_split(tmp_path, "held_out", 1))
    write_manifest(tmp_path, manifest)
    assert read_manifest(tmp_path) == manifest


def test_a_folder_without_a_manifest_is_no_records(tmp_path):
    with pytest.raises(ValueError, match="no such folder of records"):
        read_manifest(tmp_path / "none")
    with pytest.raises(ValueError, match="no finished folder"):
        read_manifest(tmp_path)


def test_a_manifest_of_another_kind_is_refused_by_key(tmp_path):
    (tmp_path / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="not valid JSON"):
        read_manifest(tmp_path)
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 2}), encoding="utf-8")
    with pytest.raises(ValueError, match="max_length is missing"):
        read_manifest(tmp_path)


def test_a_missing_or_shortened_shard_is_named(tmp_path):
    split = write_split(tmp_path)
    check_shards(tmp_path, split)
    path = tmp_path / split.shards[1].file
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    with pytest.raises(ValueError, match=rf"{path.name}: {len(content) - 5} bytes found"):
        check_shards(tmp_path, split)
    with pytest.raises(ValueError, match=f"{path.name}: truncated or damaged"):
        list(read_records(path))
    path.unlink()
    with pytest.raises(ValueError, match=f"{path.name}: the manifest names this shard"):
        check_shards(tmp_path, split)


def test_a_build_clears_what_a_killed_one_left_but_nothing_else(tmp_path):
    folder = tmp_path / "records"
    prepare_folder(folder)
    SplitWriter(folder, "train").add_document([example(5)])
    (folder / "vocab.txt").write_text("[PAD]\n", encoding="utf-8")
    prepare_folder(folder)
    assert not list(folder.iterdir())

    (folder / "thesis.doc").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match=r"found thesis.doc"):
        prepare_folder(folder)
    assert (folder / "thesis.doc").exists()


def test_finished_records_are_never_overwritten(tmp_path):
    write_manifest(
        tmp_path, make_manifest(write_split(tmp_path), write_split(tmp_path, "held_out"))
    )
    with pytest.raises(ValueError, match="holds finished records already"):
        prepare_folder(tmp_path)
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="is a file"):
        prepare_folder(file)
    with pytest.raises(ValueError, match=r"below: cannot be made \(Not a directory\)"):
        prepare_folder(file / "below")


def test_unigram_entropy_by_hand():
    assert unigram_entropy_nats(np.array([0, 5, 5])) == pytest.approx(np.log(2))
    assert unigram_entropy_nats(np.array([4, 0])) == 0.0
    assert unigram_entropy_nats(np.zeros(3, int)) == 0.0
