"""Words tile the text; the fast segmenter gives jieba's boundaries."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chinese.segmentation import evaluate_segmenter, make_segmenter

MIXED = "中国人民的我和是一恤阿超股光哈T恤A&Bc+#C-_.%0159 ５ａ，。\r\n\t\u3000é㐀豈\U00020000"
WORDS = ["中国", "人民", "哈哈", "研究", "新冠", "T恤", "COVID-19", "C++", "ab_12", "3.14%", "阿Q"]
mixed_text = st.lists(
    st.sampled_from(WORDS) | st.text(st.sampled_from(MIXED), max_size=6), max_size=8
).map("".join)


def _cut(segmenter, text: str) -> list[str]:
    return [text[start:end] for start, end in segmenter.segment(text)]


@pytest.mark.parametrize("kind", ["jieba", "rjieba", "given", "characters"])
@given(text=st.text(st.characters(exclude_categories=["Cs"])) | mixed_text)
@settings(max_examples=60)
def test_words_touch_and_joined_they_are_the_text(kind, text):
    assert "".join(_cut(_segmenter(kind), text)) == text


_made = {}


def _segmenter(kind: str):
    if kind not in _made:
        _made[kind] = make_segmenter(kind)
    return _made[kind]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我买T恤衫", ["我", "买", "T恤衫"]),
        ("COVID-19疫情", ["COVID", "-", "19", "疫情"]),
        ("ab_12，3.14%", ["ab", "_", "12", "，", "3.14%"]),
        ("http://a.cn", ["http", ":", "/", "/", "a", ".", "cn"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("", []),
    ],
)
def test_both_jiebas_cut_as_jieba_does(text, words, jieba_segmenter, rjieba_segmenter):
    assert _cut(jieba_segmenter, text) == words
    assert _cut(rjieba_segmenter, text) == words


@pytest.mark.parametrize(
    "text", ["人人人.我s", "哈哈哈哈哈", "中人中民一民一人一国国", "19-9号", "新冠a"]
)
def test_ties_and_seams_are_broken_as_jieba_breaks_them(text, jieba_segmenter, rjieba_segmenter):
    assert _cut(rjieba_segmenter, text) == _cut(jieba_segmenter, text)


@given(text=mixed_text)
@settings(max_examples=400)
def test_rjieba_gives_jiebas_boundaries_on_mixed_strings(text):
    assert _cut(_segmenter("rjieba"), text) == _cut(_segmenter("jieba"), text)


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
@settings(max_examples=200)
def test_rjieba_gives_jiebas_boundaries_on_any_unicode(text):
    assert _cut(_segmenter("rjieba"), text) == _cut(_segmenter("jieba"), text)


@pytest.mark.real_data
def test_rjieba_gives_jiebas_boundaries_on_real_text(
    data_folder, jieba_segmenter, rjieba_segmenter
):
    for path in sorted((data_folder / "corpus").glob("*.txt")):
        text = path.read_text(encoding="utf-8")[:30_000]  # over 1 MB in all
        assert rjieba_segmenter.borders(text).tolist() == jieba_segmenter.borders(text).tolist()


def test_rjieba_holds_jiebas_dictionary(jieba_segmenter, rjieba_segmenter):
    frequencies = jieba_segmenter._tokenizer.FREQ
    words = [word for word, count in frequencies.items() if count][::50]
    assert all(map(rjieba_segmenter.has_word, words))
    assert jieba_segmenter.fingerprint == rjieba_segmenter.fingerprint


def test_given_words_stand_between_blanks():
    assert _cut(make_segmenter("given"), "中国 人民\u3000T恤") == [
        "中国",
        " ",
        "人民",
        "\u3000",
        "T恤",
    ]


def test_characters_stand_alone():
    assert _cut(make_segmenter("characters"), "中a。") == ["中", "a", "。"]


def test_auto_takes_rjieba_until_a_user_dictionary_asks_for_jieba(tmp_path):
    assert make_segmenter("auto").name == "rjieba"
    words = tmp_path / "我的 词.txt"
    words.write_text("电科九 100 n\n", encoding="utf-8")
    plain, own = make_segmenter("jieba"), make_segmenter("auto", [words])
    assert own.name == "jieba"
    assert own.fingerprint != plain.fingerprint
    assert "电科九" in _cut(own, "我在电科九上班")
    assert "电科九" not in _cut(plain, "我在电科九上班")


def test_a_bad_choice_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(ValueError, match=r"'ltp'.*jieba, rjieba, given"):
        make_segmenter("ltp")
    with pytest.raises(ValueError, match="'rjieba' reads no user dictionaries"):
        make_segmenter("rjieba", [tmp_path / "words.txt"])
    with pytest.raises(ValueError, match=r"words\.txt does not exist"):
        make_segmenter("jieba", [tmp_path / "words.txt"])
    (tmp_path / "bad.txt").write_bytes("好\n".encode() + b"\xff\n")
    with pytest.raises(ValueError, match=r"bad\.txt:2: .*UTF-8"):
        make_segmenter("jieba", [tmp_path / "bad.txt"])


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("中华人民共和国", ["中华人民", "共和国"]),
        ("国务院办公厅", ["国务院", "办公厅"]),
        ("龘龘龘龘龘龘", ["龘龘龘龘", "龘龘"]),
        ("中国", ["中国"]),
    ],
)
def test_long_words_fall_into_dictionary_words(word, pieces, rjieba_segmenter, jieba_segmenter):
    for segmenter in (rjieba_segmenter, jieba_segmenter):
        assert [word[start:end] for start, end in segmenter.finer_cut(word, 4)] == pieces


@given(
    word=st.text(st.sampled_from("中华人民共和国务院办公厅龘a"), max_size=12), cap=st.integers(1, 5)
)
def test_finer_pieces_tile_the_word_within_the_cap(word, cap):
    pieces = _segmenter("rjieba").finer_cut(word, cap)
    assert "".join(word[start:end] for start, end in pieces) == word
    assert all(0 < end - start <= cap for start, end in pieces)


def test_scores_count_words_whose_both_ends_agree():
    characters = make_segmenter("characters")
    score = evaluate_segmenter(characters, [["中国", "的"], ["人"]])
    assert score == pytest.approx((2 / 4, 2 / 3, 4 / 7))
    with pytest.raises(ValueError, match="no gold words"):
        evaluate_segmenter(characters, [[]])


def test_jieba_is_silent_and_writes_nothing(tmp_path):
    """A read-only temporary folder that is also the working directory."""
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    code = "from chinese.segmentation import make_segmenter as m; print(m('jieba').segment('中国'))"
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "LC_ALL": "C",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    tmp_path.chmod(stat.S_IRWXU)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[Span(start=0, end=2)]\n"
    assert not list(tmp_path.iterdir())
