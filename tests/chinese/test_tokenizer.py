"""The graph's tokens are Python BERT's, with offsets into the text as given."""

import json
import random
import re
import unicodedata
from functools import cache

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from chinese.characters import SPACE, character_classes, code_points
from chinese.tokenizer import Tokenizer
from chinese.vocab import SPECIAL_TOKENS, Vocabulary, build_sentencepiece, build_vocabulary


@pytest.fixture(scope="module")
def tokenizer(small_vocabulary) -> Tokenizer:
    return Tokenizer(small_vocabulary)


def _pairs(tokenizer: Tokenizer, text: str) -> list[tuple[str, str]]:
    line = tokenizer.encode([text])[0]
    tokens = tokenizer.vocabulary.tokens
    return [
        (tokens[index], text[start:end])
        for index, (start, end) in zip(line.ids.tolist(), line.spans.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("中国。", [("中", "中"), ("国", "国"), ("。", "。")]),
        ("UnAble", [("un", "Un"), ("##able", "Able")]),
        ("T恤", [("t", "T"), ("恤", "恤")]),
        ("a\u200bb\u0301c", [("a", "a"), ("##b", "b"), ("##c", "c")]),
        ("\ufeffÁB", [("a", "Á"), ("##b", "B")]),
        ("ΣΑΣ", [("σ", "Σ"), ("##ας", "ΑΣ")]),
        ("xyz 中", [("[UNK]", "xyz"), ("中", "中")]),
        ("！１!1", [("！", "！"), ("１", "１"), ("[UNK]", "!"), ("1", "1")]),
        ("\U00020000中", [("[UNK]", "\U00020000"), ("中", "中")]),
        ("a\ud800b", [("a", "a"), ("##b", "b")]),
        ("a\u2028b", [("a", "a"), ("b", "b")]),
        ("", []),
        (" \u3000\n", []),
    ],
)
def test_offsets_survive_folding_and_deleted_characters(tokenizer, text, pairs):
    assert _pairs(tokenizer, text) == pairs


def test_words_of_more_than_200_characters_are_one_unknown(tokenizer):
    assert len(_pairs(tokenizer, "a" + "b" * 199)) == 200
    assert _pairs(tokenizer, "a" + "b" * 200 + " 中") == [
        ("[UNK]", "a" + "b" * 200),
        ("中", "中"),
    ]


def test_rows_do_not_see_each_other(tokenizer):
    texts = ["aΣ", "b", "", "中国", "a" + "b" * 300, "T恤"]
    ids, starts, ends = tokenizer.tokenize(tf.constant(texts))
    assert (ids.dtype, starts.dtype, ends.dtype) == (tf.int32, tf.int32, tf.int32)
    lines = tokenizer.encode(texts)
    for row, line in enumerate(lines):
        assert ids[row].numpy().tolist() == line.ids.tolist()
        assert starts[row].numpy().tolist() == line.spans[:, 0].tolist()
        assert ends[row].numpy().tolist() == line.spans[:, 1].tolist()
        assert line.ids.tolist() == tokenizer.encode([texts[row]])[0].ids.tolist()


def test_no_texts_give_no_lines(tokenizer):
    assert tokenizer.encode([]) == []
    ids, _, _ = tokenizer.tokenize(tf.constant([], tf.string))
    assert ids.nrows() == 0


def test_a_cased_tokenizer_neither_lowers_nor_strips():
    vocabulary = Vocabulary((*SPECIAL_TOKENS, "É", "e", "é", "E"))
    assert _pairs(Tokenizer(vocabulary, lower_case=False), "É") == [("É", "É")]
    assert _pairs(Tokenizer(vocabulary, strip_accents=False), "É") == [("é", "É")]
    assert _pairs(Tokenizer(vocabulary), "É") == [("e", "É")]


def test_settings_tell_what_is_in_force(small_vocabulary):
    assert Tokenizer(small_vocabulary, lower_case=False).settings == {
        "lower_case": False,
        "strip_accents": False,
        "vocabulary_sha256": small_vocabulary.sha256,
    }


def test_odd_rows_of_a_vocabulary_never_match():
    """FastWordpiece alone would match blanks, and stumble over control characters."""
    odd = ("\u2028", "## ", "\x11", "##\x11", "中国", "[never 5", "a b")
    tokenizer = Tokenizer(Vocabulary((*SPECIAL_TOKENS, *odd, "a", "中")))
    assert _pairs(tokenizer, "a \x11中国") == [("a", "a"), ("中", "中"), ("[UNK]", "国")]


def test_long_texts_are_cut_where_nothing_changes(tokenizer, monkeypatch):
    text = "ab中 a国abc\nΣab a中" * 9
    whole = tokenizer.encode_flat(text)
    monkeypatch.setattr("chinese.tokenizer._ENCODE_CHARACTERS", 5)
    pieces = tokenizer.encode_flat(text)
    assert pieces.ids.tolist() == whole.ids.tolist()
    assert pieces.spans.tolist() == whole.spans.tolist()


def test_a_saved_graph_gives_the_same_tokens(tokenizer, tmp_path):
    tf.saved_model.save(tokenizer, str(tmp_path))
    texts = tf.constant(["ΑΣ UnAble中", "１！", "a" + "b" * 300])
    loaded = tf.saved_model.load(str(tmp_path))
    for ours, theirs in zip(tokenizer.tokenize(texts), loaded.tokenize(texts), strict=True):
        assert ours.to_list() == theirs.to_list()


def test_sentencepiece_keeps_offsets_and_lines_apart(tmp_path):
    lines = ["中国人民的生活 hello world", "中国经济 hello", "人民日报 world 19 98。"] * 50
    tokenizer = Tokenizer(build_sentencepiece(lines, 60))
    assert _pairs(tokenizer, "中国人民 HÉLLO 龘") == [
        ("中国", "中国"),
        ("人民", "人民"),
        ("▁hello", "HÉLLO"),
        ("▁", " "),
        ("[UNK]", "龘"),
    ]
    together = tokenizer.encode(["中国", "", "\ufeff人民 world"])
    assert [line.ids.tolist() for line in together] == [
        tokenizer.encode([text])[0].ids.tolist() for text in ["中国", "", "\ufeff人民 world"]
    ]
    assert together[2].spans.tolist() == [[1, 3], [4, 9]]
    tf.saved_model.save(tokenizer, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    texts = tf.constant(["中国 hello", "人民"])
    assert loaded.tokenize(texts)[0].to_list() == tokenizer.tokenize(texts)[0].to_list()


@given(texts=st.lists(st.text(st.characters()), max_size=4))
@settings(max_examples=100)
def test_spans_ascend_do_not_overlap_and_hold_no_blanks(texts):
    tokenizer = _tiny()
    for text, line in zip(texts, tokenizer.encode(texts), strict=True):
        flat = line.spans.reshape(-1)
        assert (np.diff(flat) >= 0).all()
        assert (line.spans[:, 0] < line.spans[:, 1]).all()
        covered = "".join(text[start:end] for start, end in line.spans.tolist())
        assert not (character_classes()[code_points(covered)] == SPACE).any()


_cache = {}


def _tiny() -> Tokenizer:
    if not _cache:
        _cache["it"] = Tokenizer(Vocabulary((*SPECIAL_TOKENS, *"abc中1", "##a", "##b")))
    return _cache["it"]


_ODD = [*"aBbΣσİé1中。，！ \n\u3000\u0301\u200b\u200d\u00b7\ufeff豈か\u3099ﾞ\ud800\U00020000"]


@given(
    texts=st.lists(st.text(st.one_of(st.sampled_from(_ODD), st.characters())), max_size=4),
    folding=st.sampled_from([(True, True), (True, False), (False, False)]),
)
@settings(max_examples=200)
def test_looking_up_characters_changes_nothing_of_what_the_graph_gives(texts, folding):
    tokenizer = _folding_as(*folding)
    lines = [line for text in texts for line in text.split("\n")]
    written = [re.sub("[\ud800-\udfff]", "\ufffd", line) for line in lines]
    ids, starts, ends = tokenizer.tokenize(tf.constant(written, tf.string))
    for row, line in enumerate(tokenizer.encode(lines)):
        assert line.ids.tolist() == ids[row].numpy().tolist()
        assert line.spans[:, 0].tolist() == starts[row].numpy().tolist()
        assert line.spans[:, 1].tolist() == ends[row].numpy().tolist()


@cache
def _folding_as(lower_case: bool, strip_accents: bool) -> Tokenizer:
    words = (*SPECIAL_TOKENS, *"abB中。，豈e1σ", "##a", "##b", "##σ", "##ς")
    return Tokenizer(Vocabulary(words), lower_case, strip_accents)


@pytest.mark.reference
@pytest.mark.parametrize(
    ("mode", "lower_case", "strip_accents"),
    [("lower_strip", True, True), ("lower_keep_accents", True, False), ("cased", False, False)],
)
def test_ids_are_the_references_on_its_300_lines(reference_folder, mode, lower_case, strip_accents):
    folder = reference_folder / "g_tokenizer"
    lines = json.loads((folder / "lines.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "vocab_and_ids.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer(Vocabulary(tuple(expected["vocab"])), lower_case, strip_accents)
    encoded = tokenizer.encode([line["text"] for line in lines])
    assert [line.ids.tolist() for line in encoded] == expected["ids"][mode]


# Unassigned and private characters: the Model Garden's BERT keeps them, the reference (which we
# follow, see its 300 lines) deletes them.
KEPT_BY_ORACLE = ("Cn", "Co", "Cs")


def _oracle(lower_case: bool):
    tokenization = pytest.importorskip("official.nlp.tools.tokenization")
    return tokenization.BasicTokenizer(do_lower_case=lower_case), tokenization.WordpieceTokenizer


def _characters() -> list[str]:
    """A sweep: every assigned character outside the big regular blocks, a sample inside them."""
    sparse = {range(0x4E00, 0xA000): 41, range(0xAC00, 0xD7A4): 37, range(0x20000, 0x323B0): 199}
    chosen = []
    for code_point in range(0x110000):
        if unicodedata.category(chr(code_point)) in KEPT_BY_ORACLE:
            continue
        step = next((step for block, step in sparse.items() if code_point in block), 1)
        if code_point % step == 0:
            chosen.append(chr(code_point))
    return chosen


@pytest.mark.oracle
@pytest.mark.parametrize("lower_case", [True, False])
def test_no_character_is_folded_otherwise_than_in_python_bert(lower_case):
    basic, wordpiece = _oracle(lower_case)
    characters = _characters()
    generator = random.Random(0)
    mixed = [
        "".join(
            generator.choice([*characters[:2000], *"aBΣσİ中，1 \u0301\u200d"]) for _ in range(8)
        )
        for _ in range(5000)
    ]
    texts = [f"a{character}b" for character in characters] + mixed
    words = [basic.tokenize(text) for text in texts]
    single = {c for text in texts for c in text if c not in "\n\0"}
    single |= {c for line in words for word in line for c in word}
    pieces = [piece for c in sorted(single) for piece in (c, f"##{c}")]
    vocabulary = Vocabulary((*SPECIAL_TOKENS, *pieces))
    oracle = wordpiece(vocab=vocabulary.ids, max_input_chars_per_word=200)
    encoded = Tokenizer(vocabulary, lower_case).encode(texts)
    for text, line, found in zip(texts, words, encoded, strict=True):
        expected = [piece for word in line for piece in oracle.tokenize(word)]
        assert [vocabulary.tokens[index] for index in found.ids] == expected, ascii(text)


def _strings(value) -> list[str]:
    """Every text in a JSON value, keys left out."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _strings(part)]


def _texts(path) -> list[str]:
    """The strings of a file of JSON or JSON lines, the lines of any other."""
    content = path.read_text(encoding="utf-8-sig")
    for rows in ([content], content.split("\n")) if path.suffix == ".json" else ():
        try:
            return [text for row in rows if row.strip() for text in _strings(json.loads(row))]
        except json.JSONDecodeError:
            continue
    return content.split("\n")


def _different_lines(folder) -> list[str]:
    """Every line of text in a folder once, sorted; without what the oracle is known to keep."""
    kinds = (".txt", ".json", ".tsv", ".utf8", ".conllu")
    files = [path for path in folder.rglob("*") if path.suffix in kinds]
    lines = {line for path in files for text in _texts(path) for line in text.split("\n")}
    characters = set().union(*map(set, lines))
    kept = {ord(c): None for c in characters if unicodedata.category(c) in KEPT_BY_ORACLE}
    return sorted({line.translate(kept) for line in lines})


@pytest.mark.oracle
@pytest.mark.real_data
@pytest.mark.parametrize(
    "share", [500, pytest.param(1, marks=pytest.mark.slow)], ids=["a sample", "every line"]
)
def test_real_text_has_python_berts_ids(data_folder, share):
    """Of corpus, task files and segmentation: 31 million characters, three minutes of a core."""
    lines = _different_lines(data_folder)[::share]
    basic, wordpiece = _oracle(True)
    # Some characters are too rare for it, so that there are unknown words, too.
    vocabulary = build_vocabulary(lines[:: max(1, 2000 // share)], 21128, character_coverage=0.999)
    oracle = wordpiece(vocab=vocabulary.ids, max_input_chars_per_word=200)
    tokenizer = Tokenizer(vocabulary)
    unknown = 0
    for first in range(0, len(lines), 1000):
        some = lines[first : first + 1000]
        for line, found in zip(some, tokenizer.encode(some), strict=True):
            words = basic.tokenize(line)
            expected = [vocabulary.ids[p] for word in words for p in oracle.tokenize(word)]
            assert found.ids.tolist() == expected, ascii(line)
            unknown += expected.count(vocabulary.unk_id)
    assert unknown > len(lines) // 100
