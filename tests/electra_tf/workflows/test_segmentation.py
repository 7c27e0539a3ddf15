"""Gold words of both kinds of files are read, and segmenters scored against them."""

import os
from pathlib import Path

import pytest

from electra_tf.workflows.segmentation import evaluate_segmentation, read_gold_words

CONLLU = (
    "# text = 我给他 看\n"
    "1\t我\t我\tPRON\n"
    "2-3\t给他\t_\t_\n"
    "2\t给\t给\tVERB\n"
    "3\t他\t他\tPRON\n"
    "3.1\t空\t_\t_\n"
    "\n"
    "1\t看\t看\tVERB\n"
    "\n"
)


def test_lines_of_words(tmp_path):
    path = tmp_path / "gold.txt"
    path.write_bytes("\ufeff我  爱\t北京\r\n\r\n他　走 New\u00a0York\n".encode())
    assert read_gold_words(path) == [["我", "爱", "北京"], ["他", "走", "New\u00a0York"]]


def test_conllu_gives_the_words_that_are_written(tmp_path):
    path = tmp_path / "gold.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    assert read_gold_words(path) == [["我", "给", "他"], ["看"]]


def test_files_that_cannot_be_read_are_named(tmp_path):
    path = tmp_path / "gold.conllu"
    with pytest.raises(ValueError, match=r"gold.conllu: no such file"):
        read_gold_words(path)
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no words"):
        read_gold_words(path)
    path.write_text("\n1 我\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"gold.conllu:2: no CoNLL-U line"):
        read_gold_words(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="not UTF-8"):
        read_gold_words(path)


def test_scores_by_hand(tmp_path):
    path = tmp_path / "gold.txt"
    path.write_text("我 爱 北京\n", encoding="utf-8")
    name, ((file, sentences, words, score),) = evaluate_segmentation([path], "characters")
    assert (name, file, sentences, words) == ("characters 1", str(path), 1, 3)
    # 我 and 爱 are right among 我, 爱, 北, 京.
    assert score == pytest.approx((2 / 4, 2 / 3, 4 / 7))


def test_a_user_dictionary_is_used(tmp_path):
    gold, words = tmp_path / "gold.txt", tmp_path / "words.txt"
    gold.write_text("我 爱 魔都地铁站口\n", encoding="utf-8")
    words.write_text("魔都地铁站口 100000\n", encoding="utf-8")
    assert evaluate_segmentation([gold], "auto")[1][0].score.f1 < 1
    name, (result,) = evaluate_segmentation([gold], "auto", [words])
    assert name.startswith("jieba ")
    assert result.score.f1 == pytest.approx(1)


@pytest.mark.real_data
def test_scores_on_gold_words_stay_where_they_are():
    if not os.environ.get("ELECTRA_TF_DATA"):
        pytest.skip("needs ELECTRA_TF_DATA")
    folder = Path(os.environ["ELECTRA_TF_DATA"]) / "segmentation"
    # Measured with jieba 0.42.1; its twin finds the same words.
    expected = {
        "sighan2005_pku_test_gold.utf8": (0.8526, 0.7866, 0.8183),
        "zh_gsdsimp-ud-test.conllu": (0.8370, 0.7577, 0.7954),
        "gsdsimp-test.seg.txt": (0.8370, 0.7577, 0.7954),
        "zh_cfl-ud-test.conllu": (0.8766, 0.8057, 0.8396),
    }
    for kind in ("rjieba", "jieba"):
        _, results = evaluate_segmentation([folder / name for name in expected], kind)
        for result, score in zip(results, expected.values(), strict=True):
            assert result.score == pytest.approx(score, abs=5e-5), result.file
