"""The benchmark of records measures what a build really does."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench_records.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_records", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_measures_a_build_and_its_peers(bench, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text(
        "中国人民站起来了。\n我爱北京天安门。\n\n今天天气很好。\n" * 20, encoding="utf-8"
    )
    vocab = bench.make_vocabulary([str(text)], tmp_path / "vocab.txt")

    ours = bench.measure_build([str(text)], vocab, tmp_path / "records")
    bench.show_build(ours)
    bench.show_peers(ours, bench.measure_peers([str(text)], vocab))

    # What stands twice is dropped: the first document, and once what is between two of them.
    assert ours.characters > 20
    assert ours.core_seconds > 0
    assert {"words", "tokens"} <= ours.stage_seconds.keys()
    printed = capsys.readouterr().out
    assert "jieba: " in printed
    assert "BERT's tokenizer in Python: " in printed
    assert " ×" in printed


def test_repeated_text_has_no_document_twice(bench, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("一二三。\n\n四五六。\n", encoding="utf-8")
    long = bench.repeat_text([str(text)], 0.001, tmp_path / "long.txt")
    documents = long.read_text(encoding="utf-8").strip().split("\n\n")
    assert long.stat().st_size >= 1_000
    assert len(set(documents)) == len(documents)
