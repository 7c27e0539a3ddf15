"""Documents become numbers: the same in any company."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chinese.characters import code_points
from chinese.corpus import EncodeCounts, encode_document, encode_documents
from chinese.normalize import clean_line
from chinese.segmentation import make_segmenter
from chinese.vocab import SPECIAL_TOKENS, Vocabulary


class CharacterEncoder:
    """Every character but blanks is a token, its code point the id: without TensorFlow."""

    def encode_flat(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        places = np.array([i for i, c in enumerate(text) if not c.isspace()], dtype=np.int32)
        return code_points(text).astype(np.int32)[places], np.stack([places, places + 1], axis=1)


def test_a_document_becomes_sentences_words_and_units():
    document = encode_document(
        ["中国人民。好！", "T恤"], CharacterEncoder(), make_segmenter("rjieba")
    )
    assert "".join(map(chr, document.ids)) == "中国人民。好！T恤"
    assert document.unit_ids.tolist() == [1, 1, 2, 2, 3, 4, 5, 6, 6]
    assert document.sentence_starts.tolist() == [0, 5, 7]


@pytest.mark.parametrize("piece_characters", [1 << 18, 8, 1])
def test_company_and_pass_size_change_nothing(monkeypatch, piece_characters):
    monkeypatch.setattr("chinese.corpus._PIECE_CHARACTERS", piece_characters)
    documents = [["中国。人民，好！", "T恤"], ["的"], ["哈。" * 4]]
    segmenter = make_segmenter("characters" if piece_characters == 1 else "rjieba")
    together = list(encode_documents(documents, CharacterEncoder(), segmenter))
    monkeypatch.setattr("chinese.corpus._PIECE_CHARACTERS", 1 << 18)
    for document, encoded in zip(documents, together, strict=True):
        alone = encode_document(document, CharacterEncoder(), segmenter)
        for ours, theirs in zip(encoded, alone, strict=True):
            assert ours.tolist() == theirs.tolist()


def test_what_is_met_on_the_way_is_counted():
    counts = EncodeCounts()
    documents = [["中国人民。好！", "T恤 的"], ["中" * 20]]
    list(encode_documents(documents, CharacterEncoder(), make_segmenter("given"), counts=counts))
    assert counts.sentences == 4
    # T恤 and 的; the first line; the long line. Blanks and line ends are no words.
    assert counts.words.tolist() == [0, 1, 1, 0, 0, 0, 0, 1, *[0] * 8, 1]
    assert set(counts.seconds) == {"sentences", "tokens", "words", "units"}


@given(lines=st.lists(st.text(st.sampled_from("中国。！T恤ab 1哈Σ\u0301") | st.characters())))
@settings(max_examples=60)
def test_the_tokens_of_a_document_are_the_tokens_of_its_lines(lines):
    document = [line for line in map(clean_line, lines) if line]
    encoded = encode_document(document, _tokenizer(), make_segmenter("characters"))
    alone = [line.ids.tolist() for line in _tokenizer().encode(document)]
    assert encoded.ids.tolist() == list(itertools.chain.from_iterable(alone))
    if len(encoded.ids):
        assert encoded.sentence_starts[0] == 0
        assert set(np.diff(encoded.unit_ids).tolist()) <= {0, 1}


@functools.cache
def _tokenizer():
    from chinese.tokenizer import Tokenizer

    return Tokenizer(Vocabulary((*SPECIAL_TOKENS, *"中国。！恤ab1", "##a", "##b")))
