"""Examples are shown as training masks them, and as people read."""

import numpy as np
import pytest

from chinese.vocab import SPECIAL_TOKENS, Vocabulary, save_vocabulary
from electra_tf.config import MaskingConfig
from electra_tf.data.manifest import Manifest, VocabularyFacts, write_manifest
from electra_tf.data.records import SplitWriter
from electra_tf.data.rows import pack
from electra_tf.data.serialization import serialize_rows
from electra_tf.workflows.show_records import show_records

TOKENS = ("我", "爱", "北", "京", "un", "##a", "##ble")
# [CLS] 我 爱 北京 [SEP] un##a ##ble 爱 [SEP]
ROW = (
    [2, 5, 6, 7, 8, 3, 9, 10, 11, 6, 3],
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
    [0, 1, 2, 3, 3, 0, 4, 4, 5, 6, 0],
)


@pytest.fixture
def folder(tmp_path, one_a_row):
    return write_records(tmp_path, one_a_row([tuple(map(np.array, ROW))] * 5))


def write_records(tmp_path, rows):
    vocabulary = Vocabulary((*SPECIAL_TOKENS, *TOKENS))
    save_vocabulary(vocabulary, tmp_path / "vocab.txt")
    writer = SplitWriter(tmp_path, "train")
    writer.add(serialize_rows(rows, 1))
    train = writer.finish(100, 1)
    facts = VocabularyFacts(
        file="vocab.txt",
        size=vocabulary.size,
        sha256=vocabulary.sha256,
        unk_id=1,
        cls_id=2,
        sep_id=3,
        mask_id=4,
    )
    manifest = Manifest(
        format=1,
        max_length=24,
        max_unit_tokens=2,
        seed=1,
        vocabulary=facts,
        tokenizer={},
        segmenter={"name": "given", "version": "1", "fingerprint": "0"},
        corpus={},
        unigram_entropy_nats=1.0,
        train=train,
        held_out=SplitWriter(tmp_path, "held_out").finish(100, 1),
    )
    write_manifest(tmp_path, manifest)
    return tmp_path


def masking(**changes):
    knobs = {
        "mode": "whole_word",
        "mask_rate": 1.0,
        "mask_token_rate": 1.0,
        "random_token_rate": 0.0,
        "max_unit_tokens": 2,
    }
    return MaskingConfig(**knobs | changes)


def texts(example, place=0):
    return ["".join(t.before + t.text for t in segment) for segment in example.sequences[place]]


def states(example):
    return [token.state for segment in example.sequences[0] for token in segment]


def test_units_stand_apart_and_pieces_of_a_word_together(folder):
    (example,) = show_records(folder, masking(), 1, "train", 1)
    assert texts(example) == ["[CLS] 我 爱 北京 [SEP]", "una·ble 爱 [SEP]"]
    assert (example.num_tokens, example.num_maskable) == (11, 8)


def test_all_or_nothing_is_hidden_at_rates_of_one_and_zero(folder):
    specials = {0, 5, 10}
    for rates, state in (
        ({}, "masked"),
        ({"mask_token_rate": 0.0}, "kept"),
        ({"mode": "span", "mask_token_rate": 0.0}, "kept"),
        ({"mask_rate": 0.0}, "seen"),
    ):
        (example,) = show_records(folder, masking(**rates), 1, "train", 1)
        expected = ["special" if place in specials else state for place in range(11)]
        assert states(example) == expected
        assert example.num_hidden == (0 if state == "seen" else 8)


def test_random_tokens_are_told_from_those_that_stay(folder):
    rates = {"mask_token_rate": 0.0, "random_token_rate": 1.0}
    (example,) = show_records(folder, masking(**rates), 1, "train", 1)
    # A random token may happen to be the original.
    assert set(states(example)) - {"kept"} == {"special", "random"}
    assert example.num_hidden == 8
    assert texts(example) == ["[CLS] 我 爱 北京 [SEP]", "una·ble 爱 [SEP]"]


def test_whole_words_are_hidden_together(folder):
    for example in show_records(folder, masking(mask_rate=0.3), 5, "train", 2):
        beijing = example.sequences[0][0][3:5]
        assert beijing[0].state == beijing[1].state


def test_sequences_of_a_packed_row_are_shown_apart(tmp_path, one_a_row):
    short = np.array([2, 5, 3]), np.zeros(3, int), np.array([0, 1, 0])
    rows = pack(one_a_row([tuple(map(np.array, ROW)), short]), 24)
    (example,) = show_records(write_records(tmp_path, rows), masking(mask_rate=0.0), 1, "train", 1)
    assert [texts(example, place) for place in range(2)] == [
        ["[CLS] 我 爱 北京 [SEP]", "una·ble 爱 [SEP]"],
        ["[CLS] 我 [SEP]"],
    ]
    assert (example.num_tokens, example.num_maskable) == (14, 9)


def test_no_more_examples_than_there_are(folder):
    assert len(show_records(folder, masking(), 50, "train", 1)) == 5


def test_what_cannot_be_shown_is_refused(folder):
    with pytest.raises(ValueError, match="held_out holds no example"):
        show_records(folder, masking(), 1, "held_out", 1)
    with pytest.raises(ValueError, match="max_unit_tokens is 1; raise it"):
        show_records(folder, masking(max_unit_tokens=1), 1, "train", 1)
