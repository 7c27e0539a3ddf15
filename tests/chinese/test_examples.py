"""Documents become examples, and nothing is lost on the way."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chinese.corpus import EncodedDocument, encode_documents
from chinese.documents import fingerprint
from chinese.examples import build_examples, document_rng
from chinese.segmentation import make_segmenter
from chinese.vocab import Vocabulary

CLS, SEP = 2, 3


def test_a_document_without_tokens_gives_no_examples():
    blank = EncodedDocument(*[np.zeros(0, dtype=np.int32)] * 3)
    assert build_examples(blank, 16, document_rng(0, b"0"), CLS, SEP) == []


def count_text_tokens(examples):
    return sum(int(np.count_nonzero(example.unit_ids)) for example in examples)


def _document(unit_sizes: list[int], sentence_starts: list[int]) -> EncodedDocument:
    units = np.repeat(np.arange(1, len(unit_sizes) + 1), unit_sizes)
    return EncodedDocument(
        np.arange(100, 100 + len(units), dtype=np.int32),
        units.astype(np.int32),
        np.array(sentence_starts, dtype=np.int32),
    )


def _build(document, max_length, one_segment_rate=0.0, short_rate=0.0, seed=0):
    rng = document_rng(seed, b"0")
    rates = (one_segment_rate, short_rate)
    return build_examples(document, max_length, rng, CLS, SEP, *rates)


def test_the_layout_is_cls_a_sep_b_sep():
    # 12 tokens, sentences of 4: the first fills A (target (15 - 3) // 2 = 6), the others are B
    # unless the coin keeps the second in A; a seed is chosen where it does not.
    document = _document([2, 2, 1, 3, 4], [0, 4, 8])
    examples = [_build(document, 15, seed=seed)[0] for seed in range(20)]
    example = next(example for example in examples if example.segment_ids.sum() == 9)
    assert example.input_ids.tolist() == [2, *range(100, 104), 3, *range(104, 112), 3]
    assert example.segment_ids.tolist() == [0] * 6 + [1] * 9
    assert example.unit_ids.tolist() == [0, 1, 1, 2, 2, 0, 3, 4, 4, 4, 5, 5, 5, 5, 0]


def test_one_segment_only_when_asked():
    document = _document([1] * 40, [0, 10, 20, 30])
    for example in _build(document, 12, one_segment_rate=1.0):
        assert not example.segment_ids.any()
        assert (example.input_ids == SEP).sum() == 1
    assert all(example.segment_ids.any() for example in _build(document, 12)[:-1])


def test_an_over_long_sentence_is_cut_at_unit_borders_and_carried_on():
    examples = _build(_document([4] * 10, [0]), 16, one_segment_rate=1.0)
    # Room for 14 tokens: three units of 4 each, then the next three.
    assert [len(example.input_ids) for example in examples] == [14, 14, 14, 6]
    assert [example.input_ids[1] for example in examples] == [100, 112, 124, 136]


def test_one_long_sentence_still_has_two_segments():
    first = _build(_document([1] * 40, [0]), 13)[0]
    assert first.segment_ids.sum() == 6  # A has (13 - 3) // 2 = 5 tokens, B 5 and its [SEP]


def test_a_unit_longer_than_the_example_is_cut_as_a_last_resort():
    examples = _build(_document([30], [0]), 8)
    assert sum(count_text_tokens([example]) for example in examples) == 30
    assert all(len(example.input_ids) <= 8 for example in examples)


def test_a_short_length_is_refused():
    with pytest.raises(ValueError, match="max_length is 7"):
        _build(_document([1], [0]), 7)


def test_the_rates_are_the_references():
    document = _document([1] * 200_000, list(range(0, 200_000, 7)))
    examples = _build(document, 64, one_segment_rate=0.1, short_rate=0.05)
    two = np.mean([example.segment_ids.any() for example in examples])
    short = np.mean([len(example.input_ids) < 63 for example in examples])
    assert 0.88 < two < 0.92
    assert 0.03 < short < 0.07


@given(
    unit_sizes=st.lists(st.integers(1, 5), min_size=1, max_size=60),
    max_length=st.integers(8, 40),
    seed=st.integers(0, 99),
    rates=st.tuples(st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from([0.0, 0.05, 1.0])),
    data=st.data(),
)
@settings(max_examples=300)
def test_nothing_is_lost_and_every_example_fits(unit_sizes, max_length, seed, rates, data):
    borders = np.cumsum([0, *unit_sizes]).tolist()
    starts = {0} | data.draw(st.sets(st.sampled_from(borders[:-1])))
    document = _document(unit_sizes, sorted(starts))
    examples = _build(document, max_length, *rates, seed=seed)
    text = np.concatenate([e.input_ids[e.unit_ids > 0] for e in examples])
    assert text.tolist() == document.ids.tolist()
    for example in examples:
        assert len(example.input_ids) <= max_length
        assert example.input_ids[0] == CLS
        assert example.input_ids[-1] == SEP
        units = example.unit_ids[example.unit_ids > 0]
        assert units[0] == 1
        assert set(np.diff(units).tolist()) <= {0, 1}
        assert set(np.diff(example.segment_ids).tolist()) <= {0, 1}
        assert (example.input_ids == SEP).sum() == 1 + example.segment_ids.any()
    # Whole units: an example begins inside a unit only if that unit is longer than an example.
    begins = np.cumsum([0] + [count_text_tokens([example]) for example in examples])[:-1]
    if max(unit_sizes) <= max_length - 3:
        assert set(begins.tolist()) <= set(borders)


def test_chance_depends_on_seed_and_document_alone():
    document = _document([1] * 500, list(range(0, 500, 9)))
    once, again = (_build(document, 32, 0.1, 0.3) for _ in range(2))
    assert [e.input_ids.tolist() for e in once] == [e.input_ids.tolist() for e in again]
    other = _build(document, 32, 0.1, 0.3, seed=1)
    assert [e.segment_ids.tolist() for e in once] != [e.segment_ids.tolist() for e in other]
    assert document_rng(0, b"1").random() != document_rng(0, b"2").random()


@pytest.mark.reference
@pytest.mark.real_data
@pytest.mark.parametrize("window", [0, 1])
def test_the_references_windows_lose_nothing_and_have_two_segments(
    reference_folder, data_folder, window
):
    """The reference throws away 23 to 67 % of these tokens; 16 to 68 % of its examples have a B."""
    from chinese.tokenizer import Tokenizer

    file = reference_folder / "f_data" / "examples.json"
    expected = json.loads(file.read_text(encoding="utf-8"))["windows"][window]
    path = data_folder / "corpus" / "luxun.txt"
    lines = path.read_text(encoding="utf-8").split("\n")
    lines = lines[expected["first_line"] - 1 : expected["last_line"]]
    tokenizer = Tokenizer(Vocabulary(tuple(expected["vocab"])))
    encoded = tokenizer.encode(lines)
    assert [len(line.ids) for line in encoded] == expected["tokens_per_line"]
    assert sum(int((line.ids == 1).sum()) for line in encoded) == expected["unk_tokens"]
    documents = [text.split("\n") for text in "\n".join(lines).strip().split("\n\n")]
    found = list(encode_documents(documents, tokenizer, make_segmenter("rjieba")))
    for max_length in (64, 128):
        examples = [
            example
            for seed in range(20)
            for text, document in zip(documents, found, strict=True)
            for example in build_examples(
                document, max_length, document_rng(seed, fingerprint(text)), CLS, SEP
            )
        ]
        assert count_text_tokens(examples) == 20 * expected["tokens_in"]
        full = [e.segment_ids.any() for e in examples if len(e.input_ids) >= max_length - 3]
        assert 0.87 < np.mean(full) < 0.93
