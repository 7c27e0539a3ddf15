"""`fill-mask` and `detect` as a user meets them."""

import io
import json
import sys

import pytest

from electra_tf.cli.main import main


@pytest.fixture(scope="module")
def run_folder(write_network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "config.yaml").write_text("")
    write_network(folder / "encoder", "discriminator")
    write_network(folder / "generator", "generator")
    return folder


@pytest.fixture
def ask(monkeypatch, capsys):
    """Runs the command line; returns exit code, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["electra-tf", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        return end.value.code or 0, shown.out, shown.err

    return run


def test_fill_mask_shows_as_many_guesses_as_asked_for(ask, run_folder):
    code, out, _ = ask("fill-mask", run_folder, "今天[MASK]气很[MASK]", "--top", "3")
    assert code == 0
    assert "[MASK] 1 of 2, at character 2" in out
    assert out.count("%") == 6


def test_fill_mask_prints_json(ask, run_folder):
    _, out, _ = ask("fill-mask", run_folder, "今天[MASK]气", "--json")
    tree = json.loads(out)
    assert tree["masks"][0]["offset"] == 2
    assert set(tree["masks"][0]["guesses"][0]) == {"token", "probability"}


def test_detect_shows_the_text_as_it_is_and_marks_what_is_likely_replaced(ask, run_folder):
    text = "今天  天气很好[不]坏"
    code, out, _ = ask("detect", run_folder, text)
    assert code == 0
    first_line = out.split("\n")[0]
    assert first_line.replace("⟦", "").replace("⟧", "") == text
    _, out, _ = ask("detect", run_folder, text, "--json")
    likely = [t["text"] for t in json.loads(out)["tokens"] if t["probability"] >= 0.5]
    assert first_line.count("⟦") == len(likely) > 0


def test_detect_writes_a_page_and_does_not_overwrite_it(ask, run_folder, tmp_path):
    page = tmp_path / "judged.html"
    assert ask("detect", run_folder, "今天", "--html", page)[0] == 0
    code, _, err = ask("detect", run_folder, "今天", "--html", page)
    assert code == 1
    assert err == f"error: {page}: exists already; give another --html, or remove it\n"


def test_detect_reads_standard_input(ask, run_folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("今\n天\n".encode())))
    _, out, _ = ask("detect", run_folder, "-", "--json")
    assert [(t["start"], t["text"]) for t in json.loads(out)["tokens"]] == [(0, "今"), (2, "天")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fill-mask", "generator", "今天"), "no [MASK] in the text"),
        (("fill-mask", "encoder", "今[MASK]"), "needs a generator; the generator stands beside it"),
        (("detect", "generator", "今"), "needs a discriminator"),
        (("detect", "encoder", "  "), "the text is empty"),
        (("detect", "nowhere", "今"), "does not exist"),
    ],
)
def test_mistakes_end_with_a_sentence(ask, run_folder, arguments, message):
    command, place, *rest = arguments
    code, _, err = ask(command, run_folder / place, *rest)
    assert code == 1
    assert message in err
    assert "Traceback" not in err


def test_text_that_is_not_utf_8_is_refused(ask, run_folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("今".encode("gbk"))))
    code, _, err = ask("detect", run_folder, "-")
    assert code == 1
    assert "not UTF-8" in err
