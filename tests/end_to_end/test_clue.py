"""`electra-tf clue`, through the command line."""

import contextlib
import io
import json
import sys
import zipfile
from unittest import mock

import pytest

from electra_tf.cli.main import main


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
    assert found == code, out.getvalue() + err.getvalue()
    assert "Traceback" not in err.getvalue()
    return out.getvalue() + err.getvalue()


@pytest.fixture
def archive(tmp_path):
    folder = tmp_path / "数据" / "afqmc"
    folder.mkdir(parents=True)
    rows = [{"id": n, "sentence1": "一", "sentence2": "二"} for n in range(3)]
    (folder / "test.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def write(*labels):
        path = tmp_path / "submit_we_today.zip"
        lines = [json.dumps({"id": n, "label": label}) for n, label in enumerate(labels)]
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("afqmc_predict.json", "\n".join(lines) + "\n")
        return path

    return write


def test_a_sound_zip_is_accepted(archive, tmp_path):
    shown = run("clue", "check", archive("0", "1", "1"), "--data", tmp_path / "数据")
    assert "afqmc_predict.json" in shown
    assert "sound" in shown
    assert "test file" in shown
    assert "without predictions: tnews, iflytek, ocnli" in shown


def test_every_defect_is_named_and_the_exit_code_is_1(archive, tmp_path):
    shown = run("clue", "check", archive("0", "2"), "--data", tmp_path / "数据", code=1)
    assert "defect" in shown
    assert "3 defects:" in shown
    assert "  afqmc_predict.json: 2 answers; the test file has 3" in shown
    assert "  afqmc_predict.json: id 2 of the test file has no answer" in shown
    assert '  afqmc_predict.json: line 2: label "2" is none of the label strings "0", "1"' in shown


def test_without_data_the_form_alone_is_looked_at(archive):
    shown = run("clue", "check", archive("0", "1", "1"), code=1)
    assert "the form alone" in shown
    assert "1 defect:" in shown
    assert "3 answers; the test file has 3,861" in shown


def test_what_is_not_there_is_named(archive, tmp_path):
    assert "no such file" in run("clue", "check", tmp_path / "no.zip", code=1)
    path = archive("0")
    assert "no such folder of data" in run("clue", "check", path, "--data", tmp_path / "no", code=1)


def test_tasks_are_listed(tmp_path, archive):
    shown = run("clue", "tasks")
    assert "tnews" in shown
    assert "macro F1" in shown
    shown = run("clue", "tasks", "--data", tmp_path / "数据")
    assert "absent" in shown
    assert shown.index("afqmc") < shown.index("tnews")
