"""The commands that look into records, vocabularies and segmenters, through the command line."""

import contextlib
import io
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
import tensorflow as tf

from electra_tf.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
LINES = (
    "中国人民银行今天宣布,下调存款准备金率。",
    "北京大学的学生们在图书馆里学习计算机科学!",
    "“我爱北京天安门”,他说,天安门上太阳升。",
    "去年我在上海的一家咖啡馆喝了三杯COVID-19时期的咖啡。",
)


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments, code=0):
    """Runs the command line in this process and expects its exit code."""
    out, err = io.StringIO(), io.StringIO()
    found = 0
    with (
        mock.patch.object(sys, "argv", ["electra-tf", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            found = end.code or 0
    done = Done(found, out.getvalue(), err.getvalue())
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a blank and Chinese characters in its name: corpus.txt and records."""
    folder = tmp_path_factory.mktemp("tools") / "我的 记录"
    folder.mkdir()
    documents = ["\n".join(f"第{number}段。{line}" for line in LINES) for number in range(100)]
    (folder / "corpus.txt").write_text("\n\n".join(documents), encoding="utf-8")
    knobs = {"max_length": 32, "examples_per_shard": 100, "held_out_rate": 0.1}
    sets = [word for key, value in knobs.items() for word in ("--set", f"{key}={value}")]
    corpus = folder / "corpus.txt"
    run("records", "build", "--corpus", corpus, "--out", folder / "records", *sets)
    return folder


def copy_records(place, target):
    target.mkdir()
    for path in (place / "records").iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def test_verify_passes_what_was_built(place):
    shown = run("records", "verify", place / "records").stdout
    manifest = json.loads((place / "records/manifest.json").read_text(encoding="utf-8"))
    shards = manifest["train"]["shards"] + manifest["held_out"]["shards"]
    assert len(shards) > 2
    assert shown.count("sound") == len(shards)
    for shard in shards:
        assert shard["file"] in shown


def test_verify_names_the_altered_file(place, tmp_path):
    records = copy_records(place, tmp_path / "altered")
    shard = next(records.glob("train-00001*"))
    shard.write_bytes(shard.read_bytes()[:-3])
    done = run("records", "verify", records, code=1)
    assert f"{shard.name}: " in done.stderr
    assert "truncated" in done.stderr
    assert done.stdout.count("sound") == len(list(records.glob("*.tfrecord"))) - 1


def test_verify_finds_another_vocabulary_and_wrong_counts(place, tmp_path):
    records = copy_records(place, tmp_path / "other")
    vocab = records / "vocab.txt"
    lines = vocab.read_text(encoding="utf-8").split("\n")
    lines[10], lines[11] = lines[11], lines[10]
    vocab.write_text("\n".join(lines), encoding="utf-8")
    manifest = json.loads((records / "manifest.json").read_text(encoding="utf-8"))
    manifest["train"]["tokens"] += 1
    (records / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (records / "train-00000-of-00099.tfrecord").touch()
    error = run("records", "verify", records, code=1).stderr
    assert "3 defects" in error
    assert "vocab.txt: sha256 is" in error
    assert "manifest.json: train.tokens is" in error
    assert "train-00000-of-00099.tfrecord: the manifest does not name" in error


def test_verify_refuses_what_is_no_folder_of_records(place):
    assert "no such folder" in run("records", "verify", place / "none", code=1).stderr


def test_show_marks_what_is_hidden(place, monkeypatch):
    records = place / "records"
    shown = run("records", "show", records, "--count", 2, "--seed", 5).stdout
    assert shown == run("records", "show", records, "--count", 2, "--seed", 5).stdout
    assert shown != run("records", "show", records, "--count", 2, "--seed", 6).stdout
    assert shown.count("example ") == 2
    assert "⟦" in shown.split("example 1")[1]
    assert "\x1b" not in shown
    everything = ("--mask-rate", 1.0, "--set", "masking.mask_token_rate=1.0", "--mode", "token")
    shown = run("records", "show", records, "--split", "held_out", *everything).stdout
    assert "(100.0%)" in shown


def test_the_page_on_masking_shows_what_its_commands_print(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "masking.md").read_text(encoding="utf-8")
    shell, *blocks = re.findall(r"^```(?:bash)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    sentence, build, loop, show, _ = shell.splitlines()
    monkeypatch.chdir(tmp_path)
    Path("sentence.txt").write_text(sentence.split()[1] + "\n", encoding="utf-8")
    run(*shlex.split(build)[1:])
    modes = loop.removeprefix("for mode in ").removesuffix("; do").split()
    assert len(modes) == len(blocks[:-2]) == 5
    for mode, block in zip(modes, blocks, strict=False):
        shown = run(*shlex.split(show.replace("$mode", mode))[1:]).stdout
        assert shown.endswith(block), mode
    assert run(*shlex.split(blocks[-2])[1:]).stdout.replace("\n\n", "\n") == blocks[-1]


def test_show_colours_terminals_unless_asked_not_to(place, monkeypatch):
    from rich.console import Console

    for environment, has_colour in (({"TERM": "xterm"}, True), ({"NO_COLOR": "1"}, False)):
        out = io.StringIO()
        console = Console(
            file=out, force_terminal=True, soft_wrap=True, color_system="256", _environ=environment
        )
        monkeypatch.setattr("electra_tf.cli.records_show.console", console)
        run("records", "show", place / "records", "--count", 1)
        assert ("41m" in out.getvalue()) == has_colour
        assert ("⟦" in out.getvalue()) != has_colour


def test_show_refuses_an_unknown_mode(place):
    error = run("records", "show", place / "records", "--mode", "words", code=1).stderr
    assert "masking.mode is 'words'" in error


def test_overlap_finds_texts_in_a_corpus_and_in_its_records(place, tmp_path):
    copied, fresh = (
        "".join(LINES[:2]),
        "这里写的是一段语料库里从来没有出现过的文字内容，请放心使用。",
    )
    (tmp_path / "dev.json").write_text(
        json.dumps({"id": 1, "sentence": copied}) + "\n" + json.dumps({"sentence": fresh}),
        encoding="utf-8",
    )
    (tmp_path / "test.txt").write_text(fresh, encoding="utf-8")
    for corpus in (place / "corpus.txt", place / "records"):
        arguments = ("--against", tmp_path / "dev.json", tmp_path / "test.txt")
        shown = run("records", "overlap", corpus, *arguments).stdout
        table = shown[: shown.index("\n\n")].splitlines()
        rows = {line.split()[0]: line.split()[1:] for line in table}
        assert rows[str(tmp_path / "dev.json")][:3] == ["2", "2", "1"]
        assert rows[str(tmp_path / "test.txt")][:3] == ["1", "1", "0"]
        assert copied[:20] in shown
    error = run("records", "overlap", "demo", "--against", tmp_path / "none.json", code=1).stderr
    assert "none.json: no such file" in error


def test_segment_evaluate_gives_a_row_for_each_file(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("我 爱 北京\n", encoding="utf-8")
    arguments = ("--segmenter", "characters", "--gold", tmp_path / "a.txt", tmp_path / "b.txt")
    shown = run("segment", "evaluate", *arguments).stdout
    assert shown.count("0.5000     0.6667  0.5714") == 2
    error = run("segment", "evaluate", "--gold", tmp_path / "none.txt", code=1).stderr
    assert "none.txt: no such file" in error


def test_vocab_check_tells_what_a_text_lacks(place, tmp_path):
    vocab = place / "records/vocab.txt"
    assert "[UNK]" not in run("vocab", "check", vocab).stdout.split("sha256")[1]
    (tmp_path / "other.txt").write_text("龘龘 我", encoding="utf-8")
    shown = run("vocab", "check", vocab, "--corpus", tmp_path / "other.txt").stdout
    assert "2 of 3 tokens are [UNK] (66.667%)" in shown
    assert "龘    U+9F98      2" in shown
    (tmp_path / "bad.txt").write_text("[PAD]\n\n", encoding="utf-8")
    assert "bad.txt:2: " in run("vocab", "check", tmp_path / "bad.txt", code=1).stderr


def test_vocab_build_covers_as_much_as_is_asked(place, tmp_path):
    # 龘 stands there once among 600 characters.
    text = tmp_path / "text.txt"
    text.write_text("我爱北京" * 150 + "龘", encoding="utf-8")
    for coverage, has_it in ((0.99, False), (1.0, True)):
        out = tmp_path / f"{coverage}.txt"
        run("vocab", "build", "--corpus", text, "--coverage", coverage, "--out", out)
        assert ("龘" in out.read_text(encoding="utf-8")) == has_it
        assert "京" in out.read_text(encoding="utf-8")


def test_words_of_ones_own_are_found_and_named_in_the_manifest(place, tmp_path):
    words = tmp_path / "我的词.txt"
    words.write_text("下调存款\n", encoding="utf-8")
    build = ("records", "build", "--corpus", place / "corpus.txt", "--set", "max_length=32")
    segmenters, shown = [], []
    for options in ((), ("--user-dictionary", words)):
        out = tmp_path / str(len(options))
        run(*build, "--out", out, *options, "--vocab", place / "records/vocab.txt")
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        segmenters.append(manifest["segmenter"])
        shown.append(run("records", "show", out, "--count", 20, "--mask-rate", 0.0).stdout)
    assert [segmenter["name"] for segmenter in segmenters] == ["rjieba", "jieba"]
    assert segmenters[0]["fingerprint"] != segmenters[1]["fingerprint"]
    assert " 下调 存款 " in shown[0]
    assert " 下调存款 " in shown[1]
    assert " 下调 存款 " not in shown[1]
    error = run(*build, "--out", tmp_path / "x", "--user-dictionary", "none.txt", code=1).stderr
    assert "none.txt" in error
    options = ("--user-dictionary", words, "--set", "segmenter=rjieba")
    assert (
        "reads no user dictionaries"
        in run(*build, "--out", tmp_path / "x", *options, code=1).stderr
    )
    assert not (tmp_path / "x").exists()


def test_a_terminal_of_another_encoding_gets_question_marks(place):
    done = subprocess.run(
        [sys.executable, "-m", "electra_tf", "info", place / "records/vocab.txt"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "?? ??/records/vocab.txt" in done.stdout


def test_a_sentencepiece_model_is_trained_described_and_used(place, tmp_path):
    model, records = tmp_path / "zh.model", tmp_path / "records"
    build = ("vocab", "build", "--corpus", place / "corpus.txt", "--set", "vocab_size=200")
    shown = run(*build, "--kind", "sentencepiece", "--out", model).stdout
    assert "vocabulary, SentencePiece" in shown
    assert run("info", model).stdout == shown
    checked = run("vocab", "check", model, "--corpus", place / "corpus.txt").stdout
    assert "SentencePiece" in checked
    assert "0 of " in checked
    text = ("--corpus", place / "corpus.txt", "--set", "max_length=32", "--set", "packed=true")
    run("records", "build", *text, "--vocab", model, "--out", records)
    assert (records / "spiece.model").read_bytes() == model.read_bytes()
    assert "defect" not in run("records", "verify", records).stdout
    assert "中国" in run("records", "show", records, "--mask-rate", 0.0).stdout


def test_a_vocabulary_is_named_as_its_kind_and_never_overwritten(place, tmp_path):
    build = ("vocab", "build", "--corpus", place / "corpus.txt", "--out")
    for name, kind in (("zh.model", "wordpiece"), ("zh.txt", "sentencepiece")):
        error = run(*build, tmp_path / name, "--kind", kind, code=1).stderr
        assert f"{name}: the name of a SentencePiece model ends with .model" in error
        assert not (tmp_path / name).exists()
    vocab = place / "records/vocab.txt"
    assert "vocab.txt: exists already" in run(*build, vocab, code=1).stderr
    error = run(*build, place / "corpus.txt" / "vocab.txt", code=1).stderr
    assert "corpus.txt: cannot be made (File exists)" in error
    assert "vocabulary, WordPiece" in run(*build, tmp_path / "any name").stdout


def test_a_vocabulary_on_a_full_disk_is_an_error_and_leaves_nothing(place, tmp_path):
    # A limit of file sizes stands for the disk.
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        out = tmp_path / "vocab.txt"
        error = run("vocab", "build", "--corpus", place / "corpus.txt", "--out", out, code=1).stderr
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert "vocab.txt: cannot be written (File too large)" in error
    assert not list(tmp_path.iterdir())


def test_import_turns_records_of_the_reference_into_ours(place, tmp_path):
    vocab = place / "records/vocab.txt"
    tokens = vocab.read_text(encoding="utf-8").split("\n")
    cls_id, sep_id = tokens.index("[CLS]"), tokens.index("[SEP]")
    write_reference_records(tmp_path / "theirs", cls_id, sep_id, first_id=5, count=300)
    out = tmp_path / "ours"
    run("records", "import", tmp_path / "theirs", "--vocab", vocab, "--out", out)
    assert "defect" not in run("records", "verify", out).stdout
    assert "none 1" in run("info", out).stdout
    assert "example 1" in run("records", "show", out, "--count", 1).stdout
    error = run("records", "import", out, "--vocab", vocab, "--out", tmp_path / "x", code=1).stderr
    assert "no records with int64 lists input_ids, input_mask, segment_ids" in error


def write_reference_records(folder, cls_id, sep_id, first_id, count):
    """Two files in the layout of google-research/electra's builder: 16 places, padded."""
    folder.mkdir()
    for number in range(2):
        with tf.io.TFRecordWriter(str(folder / f"pretrain_data.tfrecord-{number}-of-2")) as writer:
            for row in range(number, count, 2):
                text = [first_id + (row + place) % 40 for place in range(3 + row % 9)]
                ids = [cls_id, *text[:2], sep_id, *text[2:], sep_id]
                columns = {
                    "input_ids": ids,
                    "input_mask": [1] * len(ids),
                    "segment_ids": [0] * 4 + [1] * (len(ids) - 4),
                }
                features = {
                    name: tf.train.Feature(
                        int64_list=tf.train.Int64List(value=column + [0] * (16 - len(column)))
                    )
                    for name, column in columns.items()
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())


COMMANDS = [
    ["records", "import"],
    ["vocab", "build"],
    ["vocab", "check"],
    ["records", "verify"],
    ["records", "show"],
    ["records", "overlap"],
    ["segment", "evaluate"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_quick_and_gives_an_example(command):
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "electra_tf", *command, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # Loading TensorFlow alone takes several times as long.
    assert time.perf_counter() - started < 2.5
    assert f"electra-tf {' '.join(command)} " in done.stdout
