"""Vocabularies: ids are line numbers, and what could shift them is refused by line."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chinese.vocab import (
    SPECIAL_TOKENS,
    Vocabulary,
    _sample,
    build_sentencepiece,
    build_vocabulary,
    check_vocabulary,
    fold,
    load_vocabulary,
    save_vocabulary,
    word_pieces,
)

HEAD = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"


def _file(tmp_path, data: bytes):
    path = tmp_path / "vocab.txt"
    path.write_bytes(data)
    return path


def test_ids_are_line_numbers(tmp_path):
    vocabulary = load_vocabulary(_file(tmp_path, HEAD + "中\n##a\n".encode()))
    assert (vocabulary.pad_id, vocabulary.unk_id, vocabulary.mask_id) == (0, 1, 4)
    assert (vocabulary.cls_id, vocabulary.sep_id, vocabulary.size) == (2, 3, 7)
    assert vocabulary.ids["##a"] == 6
    assert vocabulary.warnings == ()
    assert vocabulary.sha256 == hashlib.sha256(HEAD + "中\n##a\n".encode()).hexdigest()


def test_only_line_feeds_end_a_line(tmp_path):
    vocabulary = load_vocabulary(_file(tmp_path, HEAD + "\u2028\n\x85\n中".encode()))
    assert vocabulary.tokens[5:] == ("\u2028", "\x85", "中")


def test_bom_and_crlf_are_tolerated_and_told(tmp_path):
    data = b"\xef\xbb\xbf" + (HEAD + " 中\n".encode()).replace(b"\n", b"\r\n")
    vocabulary = load_vocabulary(_file(tmp_path, data))
    assert vocabulary.tokens == (*SPECIAL_TOKENS, "中")
    assert [warning.rpartition(": ")[2] for warning in vocabulary.warnings] == [
        "byte-order mark removed",
        "CRLF line ends read as LF",
        "blanks around tokens removed",
    ]
    assert vocabulary.sha256 == Vocabulary((*SPECIAL_TOKENS, "中")).sha256


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (HEAD + b"\na\n", r"vocab\.txt:6: token '' is blank"),
        (HEAD + b"a\nb\na\n", r"vocab\.txt:8: 'a' stands there a second time .*vocab\.txt:6"),
        (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n", r"vocab\.txt:5: no \[MASK\]"),
        (b"a\n" + HEAD, r"vocab\.txt:2: \[PAD\] has id 1"),
        (HEAD + b"a\n\xff\n", r"vocab\.txt:7: not UTF-8 \(byte 0xff\)"),
        (b"", r"vocab\.txt:\d: "),
    ],
)
def test_a_broken_file_is_refused_by_line(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        load_vocabulary(_file(tmp_path, data))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere\.txt does not exist"):
        load_vocabulary(tmp_path / "nowhere.txt")


def test_saving_and_loading_is_lossless_and_leaves_no_temporary_file(tmp_path):
    vocabulary = Vocabulary((*SPECIAL_TOKENS, "中", "\u2028", "##é"))
    save_vocabulary(vocabulary, tmp_path / "词 表.txt")
    assert load_vocabulary(tmp_path / "词 表.txt") == vocabulary
    assert [path.name for path in tmp_path.iterdir()] == ["词 表.txt"]


def test_characters_come_by_frequency_then_longer_pieces():
    lines = ["中中中国国。", "the the cat", "The catalog"]
    vocabulary = build_vocabulary(lines, size=100)
    assert vocabulary.tokens[:5] == SPECIAL_TOKENS
    assert vocabulary.tokens[5:10] == ("##a", "##e", "##h", "t", "中")  # 3 times each
    assert {"the", "国", "。", "##h"} <= set(vocabulary.tokens)
    assert check_vocabulary(vocabulary, lines).num_unknown == 0


def test_size_is_a_bound_and_building_is_deterministic():
    lines = ["中国人民的的的 hello hello world world"] * 3
    for size in (6, 12, 20, 40):
        vocabulary = build_vocabulary(lines, size)
        assert vocabulary.size <= size
        assert vocabulary == build_vocabulary(list(reversed(lines)), size)
    assert build_vocabulary(lines, 40, num_unused=2).tokens[5:7] == ("[unused1]", "[unused2]")
    assert "国" not in build_vocabulary(["中" * 99 + "国"], 40, character_coverage=0.9).ids


def test_case_and_accents_follow_the_options():
    assert "é" in build_vocabulary(["É"], 10, strip_accents=False).ids
    assert "É" in build_vocabulary(["É"], 10, lower_case=False).ids
    assert "e" in build_vocabulary(["É"], 10).ids
    assert fold("ÀΣ") == "aς"


def test_no_room_and_no_text_are_refused():
    with pytest.raises(ValueError, match="size is 5"):
        build_vocabulary(["中"], 5)
    with pytest.raises(ValueError, match="no text"):
        build_vocabulary(["", " "], 50)


def test_unknown_words_are_counted_worst_first(small_vocabulary):
    check = check_vocabulary(small_vocabulary, ["中国龘龘", "unable xyz 人"])
    # 中 国 [UNK] [UNK] un ##able [UNK] 人
    assert (check.num_tokens, check.num_unknown, check.unknown_rate) == (8, 3, 3 / 8)
    assert check.worst == (("龘", 2), ("xyz", 1))


def test_the_longest_piece_matches_first():
    ids = {"un": 0, "##able": 1, "una": 2, "##b": 3, "##le": 4}
    assert word_pieces("unable", ids) == ["una", "##b", "##le"]
    assert word_pieces("unx", ids) == []
    assert word_pieces("b" * 201, {"b": 0, "##b": 1}) == []


def test_sentencepiece_is_trained_saved_and_loaded(tmp_path):
    lines = ["中国人民的生活 Hello World", "中国经济，hello", "人民日报 world 19 98。"] * 20
    vocabulary = build_sentencepiece(lines, 60)
    assert vocabulary.tokens[:5] == SPECIAL_TOKENS
    assert vocabulary == build_sentencepiece(lines, 60)
    assert {"中国", "人民", "▁world"} <= set(vocabulary.tokens)
    save_vocabulary(vocabulary, tmp_path / "spiece.model")
    loaded = load_vocabulary(tmp_path / "spiece.model")
    assert loaded == vocabulary
    assert loaded.sha256 == hashlib.sha256(vocabulary.sentencepiece_model).hexdigest()
    assert check_vocabulary(loaded, lines).num_unknown == 0
    assert check_vocabulary(loaded, ["中国龘"])[1:] == (1, 1 / 2, (("龘", 1),))


def test_sentencepiece_looks_at_a_sample_of_a_long_text():
    lines = [f"第{number}行是中国人民的生活。" for number in range(1000)]
    total = sum(map(len, lines))
    assert _sample(lines, total) == lines
    some = _sample(lines, total // 3)
    assert total / 8 < sum(map(len, some)) <= total / 3
    assert some == sorted(some, key=lines.index) == _sample(iter(lines), total // 3)
    assert abs(sum(map(lines.index, some)) / len(some) - 500) < 100, "all from one end"
    assert _sample(["中" * 100], 10) == ["中" * 100]
    assert build_sentencepiece(lines, 60, max_characters=2000) != build_sentencepiece(lines, 60)


def test_bad_sentencepiece_is_refused(tmp_path):
    (tmp_path / "bad.model").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"bad\.model: not a SentencePiece model"):
        load_vocabulary(tmp_path / "bad.model")
    with pytest.raises(ValueError, match="cannot train 6 tokens"):
        build_sentencepiece(["中国人民日报的生活"] * 9, 6)


@given(st.lists(st.text(max_size=20), max_size=5))
def test_every_text_is_known_to_a_vocabulary_built_on_it(lines):
    try:
        vocabulary = build_vocabulary(lines, size=500)
    except ValueError:
        return  # nothing but blanks
    assert check_vocabulary(vocabulary, lines).num_unknown == 0
