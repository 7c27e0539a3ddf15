"""The whole way through the command line: text, vocabulary, records, training, resume, export."""

import contextlib
import fcntl
import html
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

from electra_tf.cli.display import console
from electra_tf.cli.main import main

ROOT = Path(__file__).resolve().parents[2]

# A run of seconds: small networks, twelve steps, a checkpoint after every third.
TINY = {
    "data.max_length": 32,
    "discriminator.initializer_stddev": 0.02,
    "generator.initializer_stddev": 0.02,
    "discriminator.embedding_size": 16,
    "discriminator.hidden_size": 16,
    "discriminator.intermediate_size": 32,
    "generator.embedding_size": 16,
    "generator.hidden_size": 8,
    "generator.num_attention_heads": 1,
    "generator.intermediate_size": 16,
    "discriminator.hidden_dropout_rate": 0.1,
    "schedule.warmup_steps": 2,
    "training.train_steps": 12,
    "training.batch_size": 8,
    "training.report_every_steps": 2,
    "training.checkpoint_every_steps": 3,
    "evaluation.every_steps": 6,
    "evaluation.batch_size": 8,
}

SENTENCES = (
    "中国人民银行今天宣布,下调存款准备金率。",
    "北京大学的学生们在图书馆里学习计算机科学!",
    "“我爱北京天安门”,他说,天安门上太阳升。",
    "去年我在上海的一家咖啡馆喝了三杯COVID-19时期的咖啡。",
)


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments, check=True):
    """Runs the command line in this process, which has paid for importing TensorFlow already."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        mock.patch.object(sys, "argv", ["electra-tf", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    done = Done(code, out.getvalue(), err.getvalue())
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def start(*arguments):
    """Starts the command line in a process of its own."""
    command = [sys.executable, "-m", "electra_tf", *map(str, arguments)]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_alone(*arguments):
    process = start(*arguments)
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    return Done(0, out, err)


def sets(**changes):
    knobs = TINY | {key.replace("__", "."): value for key, value in changes.items()}
    return [word for key, value in knobs.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a blank and Chinese characters in its name, holding a corpus."""
    folder = tmp_path_factory.mktemp("run") / "我的 语料"
    folder.mkdir()
    documents = [
        "\n".join(f"第{number}段。{sentence}" for sentence in SENTENCES) for number in range(400)
    ]
    (folder / "corpus.txt").write_text("\n\n".join(documents), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def finished(place):
    """An uninterrupted run."""
    out = place / "run"
    done = run_alone("pretrain", "--corpus", place / "corpus.txt", "--out", out, *sets())
    return out, done


def weights(folder):
    return {
        name: load_file(folder / name / "model.safetensors") for name in ("encoder", "generator")
    }


def last_evaluation(out):
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [event for event in events if event["kind"] == "evaluation"][-1]


def same(a, b):
    return all(
        np.array_equal(a[network][name], b[network][name]) for network in a for name in a[network]
    )


def test_a_run_leaves_everything_that_is_promised(finished):
    out, done = finished
    for name in ("encoder", "generator"):
        files = {path.name for path in (out / name).iterdir()}
        assert files == {"config.json", "model.safetensors", "vocab.txt", "provenance.json"}
    assert list((out / "events/train").glob("events.out.tfevents.*"))
    assert list((out / "events/held_out").glob("events.out.tfevents.*"))
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [e["step"] for e in events if e["kind"] == "evaluation"] == [0, 6, 12]
    assert [e["step"] for e in events if e["kind"] == "train"] == [2, 3, 4, 6, 8, 9, 10, 12]
    assert "devices: 1 × CPU" in done.stdout
    assert "trained in all" in done.stdout
    assert f"{out}/encoder" in done.stdout
    assert "step 12/12" in done.stdout
    assert done.stderr == ""


def test_a_run_goes_to_tensorflow_1_with_its_optimizer(place, finished):
    out, _ = finished
    bundle = place / "tf1"
    run("convert", out, "--to", "tf1", bundle, "--with-optimizer")
    ours, theirs = (tf.train.load_checkpoint(str(p)) for p in (out / "checkpoints", bundle))
    value = "/.ATTRIBUTES/VARIABLE_VALUE"
    assert theirs.get_tensor("global_step") == ours.get_tensor(f"update_step{value}")
    for name, path in (
        ("electra/embeddings/word_embeddings", "embeddings.Sword_embeddings"),
        (
            "generator/encoder/layer_1/attention/self/key/kernel",
            "generator.Slayer_1.Sattention.Skey.Skernel",
        ),
        ("discriminator_predictions/dense_1/bias", "replaced_token_head.Soutput.Sbias"),
    ):
        for place_, slot in (("weights", ""), ("optimizer/first_moments", "/adam_m")):
            expected = ours.get_tensor(f"{place_}/{path}{value}")
            assert np.array_equal(theirs.get_tensor(name + slot), expected)
            assert np.abs(expected).max() > 0
    # Networks of another step than the newest checkpoint have no moments.
    edited = place / "edited"
    shutil.copytree(out, edited, ignore=shutil.ignore_patterns("records", "events"))
    weights_file = edited / "generator/model.safetensors"
    save_file({n: a + 1 for n, a in load_file(weights_file).items()}, weights_file)
    done = run(
        *("convert", edited, "--to", "tf1", place / "no", "--component", "generator"),
        "--with-optimizer",
        check=False,
    )
    assert "is of another step than the networks beside it" in done.stderr


def test_the_first_loss_is_that_of_guessing(finished):
    out, _ = finished
    first = json.loads((out / "metrics.jsonl").read_text().splitlines()[0])
    vocab_size = len((out / "encoder/vocab.txt").read_text(encoding="utf-8").split("\n")) - 1
    assert first["loss"] == pytest.approx(np.log(vocab_size) + 50 * np.log(2), abs=0.5)


def test_running_again_says_that_it_is_finished_and_changes_nothing(place, finished):
    out, _ = finished
    before = weights(out)
    done = run("pretrain", "--corpus", place / "corpus.txt", "--out", out, *sets())
    assert "is finished: its limit of steps was reached at step 12" in done.stdout
    assert same(before, weights(out))


def test_after_ctrl_c_the_same_command_goes_on_and_ends_with_the_same_weights(place, finished):
    out = place / "stopped"
    process = start("pretrain", "--records", finished[0] / "records", "--out", out, *sets())
    deadline = time.monotonic() + 120
    while not (out / "checkpoints/checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    shown, err = process.communicate()
    assert process.returncode == 130, err
    assert "Ctrl-C: saving after this step; Ctrl-C again leaves at once" in shown
    assert re.search(rf"Ctrl-C: {re.escape(str(out))} is saved at step \d+\. Run the same", shown)
    assert err == ""
    assert not (out / "encoder").exists(), "it was stopped too late to show anything"
    done = run("pretrain", "--records", finished[0] / "records", "--out", out, *sets())
    assert re.search(r"continuing from step \d+", done.stdout)
    assert same(weights(finished[0]), weights(out))


def test_a_run_can_be_made_longer_but_not_other(place, finished):
    out = finished[0]
    done = run(
        "pretrain",
        "--corpus",
        place / "corpus.txt",
        "--out",
        out,
        *sets(masking__mask_rate=0.2),
        check=False,
    )
    assert done.returncode == 1
    assert "masking.mask_rate: 0.15 → 0.2" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_lost_its_metrics_is_evaluated_again(place, finished):
    out = finished[0]
    path = out / "metrics.jsonl"
    events = path.read_text()
    path.unlink()
    before = weights(out)
    try:
        run("pretrain", "--corpus", place / "corpus.txt", "--out", out, *sets())
        written = [json.loads(line) for line in path.read_text().splitlines()]
        assert [(e["kind"], e["step"]) for e in written] == [("evaluation", 12), ("end", 12)]
        assert same(before, weights(out))
    finally:
        path.write_text(events)
        run("report", out)  # the page of the whole run again


def test_evaluate_asks_for_records_that_stand_elsewhere(place, finished):
    done = run("evaluate", place / "stopped", check=False)
    assert done.returncode == 1
    assert "give --records" in done.stderr
    assert run("evaluate", place / "stopped", "--records", finished[0] / "records").stdout


def test_records_that_do_not_fit_are_refused_by_name(place, finished):
    records = finished[0] / "records"
    out = place / "other"
    done = run(
        "pretrain", "--records", records, "--out", out, *sets(data__max_length=64), check=False
    )
    assert done.returncode == 1
    assert "built with max_length 32, but data.max_length is 64" in done.stderr
    done = run(
        "pretrain",
        "--records",
        records,
        "--out",
        out,
        *sets(masking__max_unit_tokens=2),
        check=False,
    )
    assert "units of up to 4 tokens, but masking.max_unit_tokens is 2" in done.stderr
    assert not out.exists()


def test_records_without_words_are_told_where_words_are_to_be_hidden(place, finished):
    records = place / "characters"
    knobs = ("segmenter=characters", "max_length=32", "vocab_size=100")
    sizes = [word for knob in knobs for word in ("--set", knob)]
    run("records", "build", "--corpus", place / "corpus.txt", "--out", records, *sizes)
    for mode, told in (("span", True), ("token", False)):
        # The run there has other records, so this one ends before it trains.
        done = run(
            *("pretrain", "--records", records, "--out", finished[0]),
            *sets(masking__mode=mode),
            check=False,
        )
        assert done.returncode == 1
        warning = f"masking.mode is {mode}, but the records were built with segmenter characters"
        assert (warning in done.stdout + done.stderr) == told


def test_another_corpus_for_the_same_run_is_refused(place, finished):
    (place / "two.txt").write_text("另一个语料。", encoding="utf-8")
    done = run(
        "pretrain", "--corpus", place / "two.txt", "--out", finished[0], *sets(), check=False
    )
    assert done.returncode == 1
    assert "was built from" in done.stderr


def test_a_second_run_on_the_same_folder_is_refused(place, finished):
    with open(finished[0] / "run.lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(
            "pretrain",
            "--records",
            finished[0] / "records",
            "--out",
            finished[0],
            *sets(),
            check=False,
        )
    assert done.returncode == 1
    assert "is training there" in done.stderr


def test_evaluate_gives_the_numbers_of_the_last_evaluation(finished):
    out, _ = finished
    done = run("evaluate", out)
    last = last_evaluation(out)
    shown = dict(re.findall(r"^(\w+) +([\d.]+) *$", done.stdout, flags=re.MULTILINE))
    for name in ("masked_lm_loss", "discriminator_auc", "replaced_rate"):
        assert float(shown[name]) == pytest.approx(last[name], abs=1e-4)


# --- starting from another run ---------------------------------------------------------------


@pytest.fixture(scope="module")
def started(place, finished):
    """A run that starts from both networks of the finished one, and how it was started."""
    out, records = place / "started", finished[0] / "records"
    command = ("pretrain", "--records", records, "--out", out)
    networks = ("--init-from", finished[0] / "encoder", "--init-from", finished[0] / "generator")
    knobs = sets(seed=2, training__train_steps=2)
    return out, command, networks, knobs, run(*command, *networks, *knobs)


def test_a_run_starts_where_another_ended_with_its_optimizer_and_steps_anew(finished, started):
    out, _, _, _, done = started
    counts = {name: len(arrays) for name, arrays in weights(finished[0]).items()}
    for kind, name in (("discriminator", "encoder"), ("generator", "generator")):
        line = f"{kind}: starts from {finished[0] / name}, {counts[name]} tensors loaded, 0 missing"
        assert line in done.stdout.replace("\n", " ").replace("  ", " ")
    first, *steps = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    last = last_evaluation(finished[0])
    assert (first.pop("step"), last.pop("step")) == (0, 12)
    assert first == last
    # Warm-up begins anew: at step 2 of 2 the decay has ended.
    assert [step["learning_rate"] for step in steps if step["kind"] == "train"] == [0.0]
    provenance = json.loads((out / "encoder/provenance.json").read_text())
    assert [start["path"] for start in provenance["started_from"]] == [
        str(finished[0] / "encoder"),
        str(finished[0] / "generator"),
    ]
    assert provenance["step"] == 2
    shown = "".join(run("info", out).stdout.split())
    assert "".join(f"started from {finished[0] / 'encoder'}".split()) in shown


def test_a_run_that_goes_on_is_not_started_again_and_not_from_elsewhere(finished, started):
    out, command, networks, knobs, _ = started
    before = weights(out)
    assert "starts from" not in run(*command, *knobs).stdout
    assert "starts from" not in run(*command, *networks, *knobs).stdout
    # A run's folder holds both networks: other weights now than those it started from.
    done = run(*command, "--init-from", out, *knobs, check=False)
    assert done.returncode == 1
    assert f"started from {finished[0] / 'encoder'} and " in done.stderr
    assert "leave out --init-from to go on with it" in done.stderr
    assert same(before, weights(out))


def test_a_run_that_was_killed_before_its_first_checkpoint_asks_for_its_start(place, started):
    out, command, networks, knobs, _ = started
    bare = place / "bare"
    bare.mkdir()
    for name in ("config.yaml", "records_manifest.json", "started_from.json"):
        shutil.copy(out / name, bare / name)
    done = run(*command[:-1], bare, *knobs, check=False)
    assert done.returncode == 1
    again = " ".join(map(str, networks))
    assert f"{bare}: has no checkpoint yet to go on from; give {again} again" in done.stderr


def test_a_network_that_does_not_fit_leaves_no_folder_behind(place, finished):
    out, records = place / "misfit", finished[0] / "records"
    done = run(
        *("pretrain", "--records", records, "--out", out, "--init-from", finished[0]),
        *sets(discriminator__max_position_embeddings=64, generator__max_position_embeddings=64),
        check=False,
    )
    assert done.returncode == 1
    assert "embeddings/position_embeddings has shape (512, 16), expected (64, 16)" in done.stderr
    assert "--set discriminator.max_position_embeddings=512" in done.stderr
    assert not out.exists()


def test_info_tells_what_each_path_is(place, finished):
    out, _ = finished
    for path, words in {
        out: ("pre-training run", "encoder, generator", "12"),
        out / "records": ("records", "rjieba", "unigram entropy"),
        out / "encoder": ("encoder folder, discriminator", "parameters"),
        out / "generator": ("encoder folder, generator",),
        out / "encoder/vocab.txt": ("vocabulary", "sha256"),
    }.items():
        shown = run("info", path).stdout
        for word in words:
            assert word in shown, (path, shown)
    done = run("info", place / "nothing", check=False)
    assert done.returncode == 1
    assert "does not exist" in done.stderr


def test_each_part_works_alone_with_a_given_vocabulary(place):
    vocab = place / "vocab.txt"
    run(
        "vocab",
        "build",
        "--corpus",
        place / "corpus.txt",
        "--set",
        "vocab_size=120",
        "--out",
        vocab,
    )
    assert len(vocab.read_text(encoding="utf-8").splitlines()) <= 120
    records = place / "records"
    arguments = ("records", "build", "--corpus", place / "corpus.txt", "--vocab", vocab)
    done = run(*arguments, "--set", "max_length=32", "--out", records)
    assert "train" in done.stdout
    assert (records / "vocab.txt").read_bytes() == vocab.read_bytes()
    done = run(*arguments, "--out", records, check=False)
    assert done.returncode == 1
    assert "holds finished records already" in done.stderr


@pytest.mark.slow
def test_a_sentencepiece_model_and_packed_rows_go_the_whole_way(place):
    corpus, model = place / "corpus.txt", place / "zh.model"
    build = ("vocab", "build", "--kind", "sentencepiece", "--set", "vocab_size=150")
    run(*build, "--corpus", corpus, "--out", model)
    records, out = place / "packed pieces", place / "run of pieces"
    knobs = ("--set", "max_length=32", "--set", "packed=true")
    run("records", "build", "--corpus", corpus, "--vocab", model, "--out", records, *knobs)
    split = json.loads((records / "manifest.json").read_text(encoding="utf-8"))["train"]
    assert split["sequences"] > split["examples"]
    run_alone("pretrain", "--records", records, "--out", out, *sets())
    for network in ("encoder", "generator"):
        assert (out / network / "spiece.model").read_bytes() == model.read_bytes()
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    losses = [event["loss"] for event in events if event["kind"] == "evaluation"]
    assert losses[-1] < losses[0]
    assert "今天" in run("detect", out, "今天天气很好").stdout
    assert run("fill-mask", out, "今天[MASK]气很好").stdout


def test_several_paths_may_follow_one_corpus(place):
    for name in "ab":
        (place / f"{name}.txt").write_text("\n\n".join(SENTENCES * 50), encoding="utf-8")
    out = place / "several"
    files = [place / "a.txt", place / "b.txt"]
    run("records", "build", "--corpus", *files, "--out", out, "--set", "held_out_rate=0.5")
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["corpus"]["paths"] == list(map(str, files))


def test_a_mistake_is_one_line_and_exit_code_1(place):
    cases = {
        ("pretrain", "--corpus", place / "none.txt", "--out", place / "x"): "none.txt",
        ("pretrain", "--config", place / "none.yaml"): "no such config file",
        ("pretrain", "--set", "training.batchsize=3"): "did you mean batch_size",
        (
            "pretrain",
            "--records",
            place / "none",
            "--out",
            place / "x",
        ): "no such folder of records",
        ("pretrain", "--records", place, "--vocab", place / "v.txt"): "leave out --corpus, --vocab",
        ("records", "build", "--vocab", place / "none.txt", "--out", place / "x"): "none.txt",
        ("evaluate", place): "config.yaml",
    }
    for arguments, message in cases.items():
        done = run(*arguments, check=False)
        assert done.returncode == 1, arguments
        assert message in done.stderr
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
    assert not (place / "x").exists()


@pytest.mark.parametrize(
    "command", [[], ["pretrain"], ["evaluate"], ["info"], ["records", "build"], ["vocab", "build"]]
)
def test_help_is_quick_and_gives_an_example(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run_alone(*command, "--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "Usage" in done.stdout
    if command:
        assert re.search(r"Examples?:", done.stdout)
        assert f"electra-tf {' '.join(command)}" in done.stdout
    # Seconds of this command alone, however busy the machine is.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


# --- looking at a run ----------------------------------------------------------------------------


def test_a_finished_run_has_a_page_with_curves_and_judged_texts(finished):
    page = (finished[0] / "report.html").read_text(encoding="utf-8")
    assert page.count('<svg class="chart"') == 7
    held_out = json.loads((finished[0] / "records_manifest.json").read_text())["held_out"]
    assert page.count('<div class="sample">') == min(10, held_out["examples"]) > 0
    assert "max_position_embeddings: 512" in page
    assert "tensorflow" in page
    assert "□" in page
    assert not any(word in page for word in ("http:", "https:", "<script", "nan"))


def test_the_page_is_written_anew_without_records_and_says_what_it_lacks(finished, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(finished[0], out, ignore=shutil.ignore_patterns("records", "checkpoints"))
    assert str(out / "report.html") in run("report", out).stdout
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "The records stand elsewhere" in page
    done = run("report", out, "--records", finished[0] / "records")
    assert '<div class="sample">' in (out / "report.html").read_text(encoding="utf-8")
    assert run("report", tmp_path, check=False).stderr.startswith(f"error: {tmp_path}: is no run")
    assert done.returncode == 0


def test_watch_shows_where_a_run_stands_and_fits_the_terminal(finished):
    with mock.patch.object(console, "_width", 60):
        lines = run("watch", finished[0]).stdout.rstrip("\n").split("\n")
    assert lines[0].startswith("run  step 12 of 12  finished")
    assert sum("┌" in line for line in lines) == 7
    assert max(map(len, lines)) <= 60


def test_a_run_can_be_asked_at_once(finished):
    assert run("fill-mask", finished[0], "北京[MASK]学").stdout.count("%") == 5
    assert "Most suspicious" in run("detect", finished[0], "北京大学").stdout


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Debian's chromium")
@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_fits_a_phone_and_a_desk_in_a_browser(finished, tmp_path, width):
    page = (finished[0] / "report.html").read_text(encoding="utf-8")
    frame = (
        f'<iframe id="f" style="width:{width}px;height:800px;border:0" '
        f'srcdoc="{html.escape(page)}"></iframe><script>f.onload = () => {{'
        "const d = f.contentDocument, root = d.documentElement;"
        "document.title = [root.scrollWidth, root.clientWidth, "
        "d.querySelectorAll('svg.chart').length].join(' ')}</script>"
    )
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    browser.append(f"--user-data-dir={tmp_path / 'profile'}")
    shown = subprocess.run(
        [*browser, f"file://{tmp_path / 'frame.html'}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    scrolled, seen, charts = map(int, re.search(r"<title>(.*?)</title>", shown).group(1).split())
    assert scrolled <= seen
    assert charts == 7
