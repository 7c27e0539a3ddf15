"""Texts that stand in a corpus are found, whatever punctuation and line ends lie between."""

import json

import numpy as np
import pytest

from chinese import overlap as overlap_module
from chinese.demo_corpus import demo_documents
from chinese.overlap import DOCUMENT_END, SHINGLE_CHARACTERS, Overlap, read_texts

LETTERS = "一二三四五六七八九十甲乙丙丁戊己庚辛壬癸子丑寅卯辰"  # 25 different ones
OTHER = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


def found(texts, corpus):
    overlap = Overlap([("file", texts)])
    overlap.watch(corpus)
    (result,) = overlap.results()
    return result


def test_counts_by_hand():
    texts = [
        LETTERS,  # 6 shingles, all in the corpus
        LETTERS[:21] + OTHER[:10],  # 12 shingles, 2 of them in the corpus
        OTHER,
        LETTERS[:19],  # too short
    ]
    result = found(texts, [LETTERS, DOCUMENT_END])
    assert (result.num_texts, result.num_short, result.num_comparable) == (4, 1, 3)
    assert (result.num_shared, result.num_covered) == (2, 1)
    assert result.worst == ((1.0, texts[0]), (2 / 12, texts[1]))


@pytest.mark.parametrize("size", [SHINGLE_CHARACTERS - 1, SHINGLE_CHARACTERS])
def test_twenty_characters_are_a_shingle_and_nineteen_are_not(size):
    assert found([OTHER[:3] + LETTERS[:size] + OTHER[3:6]], [LETTERS]).num_shared == (size == 20)


def test_punctuation_blanks_case_width_and_accents_do_not_hide_a_copy():
    text = "他 说:「ＡＢＣ café 123」,然后,去了 北京天安门广场 看升旗!"
    corpus = ["他说：“abc", " CAFE１２３”\n然后去了", "北京天安门广场看升旗。"]
    assert found([text], corpus).num_covered == 1


def test_a_copy_may_go_across_lines_but_not_across_documents():
    assert found([LETTERS], [LETTERS[:10], LETTERS[10:]]).num_covered == 1
    assert found([LETTERS], [LETTERS[:10], DOCUMENT_END, LETTERS[10:]]).num_shared == 0


def test_hangul_and_kana_are_told_apart():
    assert found(
        ["가나다라마바사아자차카타파하거너더러머버서"], ["각난달람맙삿앙잦찿캌탙팦핳걱넌덜럼"]
    ) == (
        "file",
        1,
        0,
        0,
        0,
        (),
    )


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_where_the_stream_is_cut_does_not_matter(monkeypatch, size):
    monkeypatch.setattr(overlap_module, "_STREAM_CHARACTERS", size)
    corpus = [OTHER, "。", *LETTERS, OTHER]
    assert found([LETTERS, OTHER + LETTERS, LETTERS + OTHER], corpus).num_covered == 3


def test_against_a_search_by_strings():
    rng = np.random.default_rng(1)
    draw = lambda size: "".join(rng.choice(list("甲乙"), size))  # noqa: E731
    corpus, texts = draw(20_000), [draw(30) for _ in range(300)]
    shingles = [[text[i : i + 20] for i in range(11)] for text in texts]
    in_corpus = [[shingle in corpus for shingle in row] for row in shingles]
    result = found(texts, [corpus[i : i + 333] for i in range(0, 20_000, 333)])
    assert 0 < result.num_shared == sum(map(any, in_corpus)) < 300
    assert result.num_covered == sum(map(all, in_corpus))


def test_no_texts_and_no_corpus():
    assert found([], [LETTERS]).num_texts == 0
    assert found([LETTERS], []).num_shared == 0


def test_texts_of_every_kind_of_file(tmp_path):
    def read(name, content):
        (tmp_path / name).write_bytes(content.encode())
        return read_texts(tmp_path / name)

    assert read("a.txt", "\ufeff甲\r\n\r\n 乙 \n") == ["甲", "乙"]
    assert read("a.tsv", 'label\ttext_a\r\n1\t甲"乙\r\n0\t丙\r\n') == ['甲"乙', "丙"]
    lines = (
        '{"id": "x", "sentence": "甲", "label": {"name": {"丁": 1}}}\n\n{"a": ["乙", 3, null]}\n'
    )
    assert read("a.json", lines) == ["甲", "乙"]
    whole = [[["甲", "乙"], [{"question": "丙", "choice": ["丁"], "answer": "丁"}], "47-37"]]
    assert read("b.json", json.dumps(whole, indent=1)) == ["甲", "乙", "丙", "丁", "丁", "47-37"]


def test_files_that_cannot_be_read_are_named(tmp_path):
    path = tmp_path / "a.json"
    with pytest.raises(ValueError, match=r"a.json: no such file"):
        read_texts(path)
    path.write_text('{"a": 1}\n{"a": \n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"a.json:2: not JSON"):
        read_texts(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ValueError, match=r"a.json: not UTF-8"):
        read_texts(path)


SCORED = """
    afqmc/dev.json afqmc/test.json c3/c3-d-test.json c3/c3-m-test.json c3/d-dev.json c3/m-dev.json
    chnsenticorp/dev.tsv chnsenticorp/test.tsv cluener/dev.json cluener/test.json
    cluewsc2020/dev.json cluewsc2020/test.json cmnli/dev.json cmnli/test.json cmrc2018/dev.json
    cmrc2018/test.json csl/dev.json csl/test.json drcd/DRCD_dev.json drcd/DRCD_test.json
    iflytek/dev.json iflytek/test.json ocnli/dev.json ocnli/test.json paws-x-zh/dev_2k.tsv
    paws-x-zh/test_2k.tsv tnews/dev.json
"""


@pytest.mark.real_data
def test_the_demo_corpus_holds_none_of_the_texts_models_are_scored_on(data_folder):
    paths = [data_folder / name for name in SCORED.split()]
    overlap = Overlap([(str(path.relative_to(data_folder)), read_texts(path)) for path in paths])
    overlap.watch(text for document in demo_documents() for text in (*document, DOCUMENT_END))
    results = {result.file: result for result in overlap.results()}
    assert sum(result.num_covered for result in results.values()) == 0
    # Two set phrases of 1998 (the goal of economic reform, the demands on the army) stand in
    # premises of OCNLI: 0.115 % of the dev texts that are long enough, 0.033 % of all.
    shared = {name: result.num_shared for name, result in results.items() if result.num_shared}
    assert shared == {"ocnli/dev.json": 2, "ocnli/test.json": 1}
    for result in results.values():
        assert result.num_shared < 0.001 * result.num_texts
