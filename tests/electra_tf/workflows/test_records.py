"""From text to records: the same bytes for any number of workers, and nothing lost or left over."""

import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from chinese.vocab import build_sentencepiece, load_vocabulary, save_vocabulary
from electra_tf.cli.main import main
from electra_tf.config import RecordsConfig, load_config
from electra_tf.data.build_report import report_html
from electra_tf.data.manifest import BuildTimes, read_build_times, read_manifest
from electra_tf.data.pipeline import evaluation_batches
from electra_tf.data.records import read_records
from electra_tf.workflows.record_workers import build_blocks
from electra_tf.workflows.records import build_facts, build_records, corpus_paths
from electra_tf.workflows.verify_records import verify_records

ROOT = Path(__file__).resolve().parents[3]
CONFIG = load_config(RecordsConfig, ROOT / "configs/corpus/default.yaml", ["max_length=32"])
SENTENCES = (
    "中国人民银行今天宣布，下调存款准备金率。",
    "“我爱北京天安门”，他说，天安门上太阳升。",
    "去年我在上海喝了三杯COVID-19时期的咖啡！",
)


def silent(*_):
    pass


def write_corpus(path, documents=300, first=0):
    texts = [
        "\n".join(f"第{number}段。{sentence}" for sentence in SENTENCES)
        for number in range(first, first + documents)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(texts), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("text") / "我的 语料" / "一.txt")


@pytest.fixture(scope="module")
def built(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("built") / "records"
    return out, build_records(CONFIG, [str(corpus)], out, silent)


def contents(folder):
    """What must be equal in two builds: all but how long they took."""
    told = ("build.json", "report.html")
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in told}


def examples_in(folder, split):
    return [
        tf.train.Example.FromString(record).features.feature["input_ids"].int64_list.value
        for shard in split.shards
        for record in read_records(folder / shard.file)
    ]


def test_any_number_of_workers_gives_the_same_bytes(corpus, built, tmp_path, monkeypatch):
    # Small blocks, so that both workers get several and finish them out of order.
    monkeypatch.setattr("electra_tf.workflows.record_workers.BLOCK_CHARACTERS", 2000)
    build_records(CONFIG, [str(corpus)], tmp_path / "two", silent, workers=2)
    assert contents(tmp_path / "two") == contents(built[0])
    assert read_build_times(tmp_path / "two").workers == 2


def test_a_worker_that_dies_is_a_clear_error(built):
    def blocks():
        yield [["中国人民。"]]
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGKILL)
        yield [["中国人民。"]]

    with pytest.raises(ChildProcessError, match="one of 2 worker processes ended"):
        list(build_blocks(blocks(), CONFIG, built[0] / "vocab.txt", 2))
    assert not multiprocessing.active_children()


def test_every_token_stands_in_exactly_one_example(built):
    out, manifest = built
    found = manifest.statistics
    rows = [row for s in (manifest.train, manifest.held_out) for row in examples_in(out, s)]
    assert sum(sum(token > 4 or token == 1 for token in row) for row in rows) == found.tokens
    assert found.lost_tokens == 0
    assert sum(int(length) * count for length, count in found.units.items()) == found.tokens
    assert sum(int(length) * count for length, count in found.example_lengths.items()) == sum(
        map(len, rows)
    )
    assert found.padding_rate == pytest.approx(1 - sum(map(len, rows)) / (32 * len(rows)))
    assert found.one_segment_examples + found.two_segment_examples == len(rows)
    assert (found.files, found.documents, found.lines) == (1, 300, 900)


@pytest.fixture(scope="module")
def packed(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "records"
    config = CONFIG.model_copy(update={"packed": True, "max_length": 64})
    return out, build_records(config, [str(corpus)], out, silent)


def sequences_in(folder, split):
    """The rows of a split cut into sequences, as tuples of ids, segments and units from 1."""
    found = []
    for batch in evaluation_batches(folder, split, max_length=64, batch_size=64, max_batches=99):
        numbers = batch.sequence_ids
        numbers = (batch.input_ids != 0) if numbers is None else numbers
        for ids, segments, units, own in zip(*(c.numpy() for c in batch[:3]), numbers, strict=True):
            for number in range(1, int(own.numpy().max()) + 1):
                is_own = own.numpy() == number
                before = units[: is_own.argmax()].max(initial=0)
                from_one = np.where(units[is_own] > 0, units[is_own] - before, 0)
                found.append((*ids[is_own], -1, *segments[is_own], -1, *from_one))
    return sorted(found)


def test_packing_changes_only_what_shares_a_row_and_saves_what_it_says(corpus, packed, tmp_path):
    out, manifest = packed
    config = CONFIG.model_copy(update={"max_length": 64})
    plain = build_records(config, [str(corpus)], tmp_path / "plain", silent)
    for ours, theirs in ((manifest.train, plain.train), (manifest.held_out, plain.held_out)):
        assert sequences_in(out, ours) == sequences_in(tmp_path / "plain", theirs)
        assert (ours.sequences, theirs.sequences) == (theirs.examples, None)
        assert (ours.documents, ours.tokens) == (theirs.documents, theirs.tokens)
    found, before = manifest.statistics, plain.statistics
    assert found.unpacked_padding_rate == before.padding_rate > 0.2
    assert found.padding_rate < 0.1
    assert before.unpacked_padding_rate is None
    same = ("tokens", "lost_tokens", "units", "words", "two_segment_examples")
    assert all(getattr(found, name) == getattr(before, name) for name in same)
    rows, sequences = (m.train.examples + m.held_out.examples for m in (manifest, plain))
    facts = build_facts(out)
    assert facts["padding"] == f"{found.padding_rate:.1%} of the places"
    assert facts["padding without packing"] == f"{before.padding_rate:.1%} of the places"
    assert facts["packing saves"].startswith(f"{sequences - rows:,} of {sequences:,} examples")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "padding without packing" in page
    assert facts["packing saves"] in page
    assert "packing saves" not in build_facts(tmp_path / "plain")
    assert not verify_records(out, silent).defects


@pytest.mark.slow
def test_packing_too_is_the_same_for_any_number_of_workers(corpus, tmp_path, monkeypatch):
    # Sequences of one block share rows, so its size must be the same in both builds.
    monkeypatch.setattr("electra_tf.workflows.record_workers.BLOCK_CHARACTERS", 2000)
    config = CONFIG.model_copy(update={"packed": True, "max_length": 64})
    for workers in (1, 2):
        build_records(config, [str(corpus)], tmp_path / str(workers), silent, workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_repeated_documents_become_records_once(corpus, built, tmp_path):
    twice = tmp_path / "twice.txt"
    text = corpus.read_text(encoding="utf-8")
    twice.write_text(f"{text}\n\n{text}", encoding="utf-8")
    manifest = build_records(CONFIG, [str(twice), str(corpus)], tmp_path / "out", silent)
    assert manifest.statistics.duplicates == 600
    assert manifest.train == built[1].train
    assert "600" in build_facts(tmp_path / "out")["exact duplicates"]


def test_words_are_counted_by_hand(tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("中国 人民\n爱 天安门\n\n好", encoding="utf-8")
    config = CONFIG.model_copy(update={"segmenter": "given", "held_out_rate": 0.0})
    found = build_records(config, [str(text)], tmp_path / "out", silent).statistics
    assert found.words == {"1": 2, "2": 2, "3": 1}
    assert found.units == {"1": 2, "2": 2, "3": 1}
    assert (found.sentences, found.tokens, found.documents) == (3, 9, 2)


def test_weights_are_shares_of_the_characters(tmp_path):
    a = write_corpus(tmp_path / "a.txt", 600)
    b = write_corpus(tmp_path / "b.txt", 600, first=1000)
    mixture = [f"{a}:0.8", f"{b}:0.2"]
    manifest = build_records(CONFIG, mixture, tmp_path / "out", silent)
    shares = {share["name"]: share for share in manifest.corpus["shares"]}
    assert shares[str(a)]["rate"] == 1.0
    assert shares[str(b)]["rate"] == pytest.approx(
        shares[str(a)]["characters"] / shares[str(b)]["characters"] / 4
    )
    kept = manifest.train.documents + manifest.held_out.documents - 600
    assert 115 < kept < 185
    assert manifest.statistics.left_out == 600 - kept
    assert corpus_paths(mixture) == manifest.corpus["paths"] == [f"{a}:0.8", f"{b}:0.2"]


def test_wrong_weights_are_refused(corpus, tmp_path):
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    for mixture, message in {
        (f"{corpus}:0.5", str(corpus)): "has no weight",
        (f"{corpus}:-1",): "weight is -1; give a number above 0",
        (f"{corpus}:nan",): "weight is nan",
        (f"{corpus}:0.5x",): "no file",
        (f"{corpus}:1", f"{tmp_path / 'empty.txt'}:1"): "empty.txt: holds no text of its own",
    }.items():
        with pytest.raises(ValueError, match=message):
            build_records(CONFIG, mixture, tmp_path / "out", silent)
    assert not (tmp_path / "out").exists()


def test_a_path_that_looks_weighed_is_a_path(tmp_path):
    path = write_corpus(tmp_path / "a:0.5", 1)
    assert corpus_paths([str(path)]) == [str(path)]


def test_bad_input_is_named_and_leaves_nothing(corpus, tmp_path):
    (tmp_path / "empty.txt").write_text(" \n\n\0\n", encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(corpus.read_bytes() + b"\n\xff\n")
    (tmp_path / "cut.txt.gz").write_bytes(b"\x1f\x8b\x08\0")
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n一\n", encoding="utf-8")
    out = tmp_path / "out"
    for text, options, message in [
        ("empty.txt", {}, r"empty\.txt: holds no text"),
        ("bad.txt", {}, r"bad\.txt:1200: not UTF-8"),
        ("cut.txt.gz", {}, r"cut\.txt\.gz:1: the \.gz is truncated"),
        ("none.txt", {}, r"none\.txt: no file"),
        ("bad.txt", {"vocabulary_file": vocab}, r"vocab\.txt:6: no \[MASK\]"),
        ("bad.txt", {"workers": 0}, "workers is 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            build_records(CONFIG, [str(tmp_path / text)], out, silent, **options)
        assert not out.exists(), text
    manifest = build_records(CONFIG, [str(tmp_path / "bad.txt")], out, silent, on_bad_text="skip")
    assert manifest.statistics.bad_lines == 1
    with pytest.raises(ValueError, match="holds finished records already"):
        build_records(CONFIG, [str(corpus)], out, silent)
    assert read_manifest(out) == manifest


@pytest.mark.parametrize("kilobytes", [5, 60])
def test_a_full_disk_is_named_and_the_build_can_be_repeated(corpus, built, tmp_path, kilobytes):
    # A limit of file sizes stands for the disk: the vocabulary fits, the spilled records or the
    # shards do not.
    out = tmp_path / "out"
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, hard))
    try:
        with pytest.raises(OSError, match="out: cannot be written, the disk is full"):
            build_records(CONFIG, [str(corpus)], out, silent)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert not out.exists()
    assert build_records(CONFIG, [str(corpus)], out, silent) == built[1]


# Root writes into any folder. A program that runs without CAP_DAC_OVERRIDE (1) does not, and it is
# dropped (PR_CAPBSET_DROP, 24) before the interpreter starts anew; others have none to drop.
AS_A_USER = (
    sys.executable,
    "-c",
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])",
)


def start(*arguments, interpreter=(sys.executable,), **options):
    command = [*interpreter, "-m", "electra_tf", "records", "build", *map(str, arguments)]
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONUTF8", "LANG")}
    environment |= {"PYTHONPATH": str(ROOT), "LC_ALL": "C", "COLUMNS": "120"}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def test_a_killed_build_starts_clean_and_leaves_no_worker(corpus, tmp_path):
    # More text than is built before it is killed, which is when the first records are spilled.
    folder = tmp_path / "多 文件"
    write_corpus(folder / "a.txt", 20_000)
    out = tmp_path / "出 口"
    options = ("--corpus", folder, "--set", "max_length=32", "--out", out, "--workers", 2)
    process = start(*options, start_new_session=True)
    deadline = time.monotonic() + 120
    spill = out / "train.spill"
    while not (spill.exists() and spill.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    group = [pid for pid in map(int, _processes()) if _group_of(pid) == process.pid]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert spill.exists(), "it was killed too late or failed to start"
    deadline = time.monotonic() + 30
    while any(_is_alive(pid) for pid in group) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(group) >= 3, "no workers were running"
    assert not any(_is_alive(pid) for pid in group), "a worker outlives its parent"

    leftovers = {path.name for path in out.iterdir()}
    manifest = build_records(CONFIG, [str(corpus)], out, silent)
    names = {shard.file for s in (manifest.train, manifest.held_out) for shard in s.shards}
    assert {p.name for p in out.iterdir()} == names | {
        "manifest.json",
        "vocab.txt",
        "build.json",
        "report.html",
    }
    assert "train.spill" in leftovers


def _processes():
    return [name for name in os.listdir("/proc") if name.isdigit()]


def _group_of(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_c_locale_chinese_paths_and_a_folder_one_may_not_write(corpus, built, tmp_path):
    here = tmp_path / "只读"
    here.mkdir(mode=0o555)
    try_it = subprocess.run([*AS_A_USER, "-c", "open('x', 'w')"], cwd=here, capture_output=True)
    assert b"Permission denied" in try_it.stderr, "the folder can be written, so this shows nothing"
    out = tmp_path / "出 口"
    options = ("--corpus", corpus, "--set", "max_length=32", "--out", out)
    process = start(*options, interpreter=AS_A_USER, cwd=here)
    shown, errors = (text.decode("utf-8") for text in process.communicate())
    assert process.returncode == 0, shown + errors
    assert errors == ""
    assert re.search(r"lost tokens +0 *\n", shown)
    assert re.search(r"[\d,]+ characters/s", shown)
    assert not list(here.iterdir())
    assert contents(out) == contents(built[0])


def test_a_sentencepiece_model_goes_with_the_records(corpus, tmp_path):
    model = tmp_path / "zh.model"
    lines = corpus.read_text(encoding="utf-8").split("\n")
    save_vocabulary(build_sentencepiece(lines, 200), model)
    out = tmp_path / "out"
    manifest = build_records(CONFIG, [str(corpus)], out, silent, model)
    assert manifest.vocabulary.file == "spiece.model"
    assert load_vocabulary(out / "spiece.model").sha256 == manifest.vocabulary.sha256
    assert manifest.statistics.lost_tokens == 0


def test_the_report_needs_nothing_and_escapes_everything(built):
    out, manifest = built
    page = (out / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert 'name="viewport"' in page
    for shard in manifest.train.shards:
        assert shard.file in page
    evil = manifest.model_copy(update={"corpus": {"paths": ["<script>&.txt"]}})
    times = BuildTimes(workers=1, seconds=1.0, stage_seconds={"<b>": 1.0})
    text = report_html("<i>", evil, times)
    assert "&lt;script&gt;&amp;.txt" in text
    assert "<b>" not in text
    assert "<h1>Records: &lt;i&gt;</h1>" in text


def test_the_manifest_says_nothing_of_time_or_workers(built):
    text = (built[0] / "manifest.json").read_text(encoding="utf-8")
    assert not {"seconds", "workers"} & set(json.loads(text)["statistics"])
    assert np.isfinite(read_build_times(built[0]).seconds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--on-bad-text", "ignore"], "--on-bad-text is ignore: choose one of refuse, skip"),
        (["--runner", "storm"], "--runner is storm: choose one of direct, flink"),
        (["--runner", "direct"], "--runner needs --vocab"),
        (["--corpus", "nowhere.txt:0.5"], "corpus nowhere.txt: no file"),
    ],
)
def test_the_command_line_refuses_what_it_does_not_know(tmp_path, capsys, options, message):
    command = ["electra-tf", "records", "build", "--out", str(tmp_path / "out"), *options]
    with mock.patch.object(sys, "argv", command), pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
