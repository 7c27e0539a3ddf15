"""`convert` as a user meets it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from electra_tf.cli.main import main

GOLDEN = Path(__file__).parents[2] / "golden" / "exchange"


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs the command line; returns exit code, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["electra-tf", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        return end.value.code or 0, shown.out, shown.err

    return call


def test_it_prints_what_was_converted_ignored_and_missing(run, tmp_path):
    code, out, _ = run(
        "convert", GOLDEN / "bert", "--to", "encoder", tmp_path / "e", "--component", "both"
    )
    assert code == 0
    assert out.split("\n") == [
        "discriminator: 37 tensors converted from Hugging Face folder, BERT",
        "  ignored  bert.pooler.dense.bias, bert.pooler.dense.weight: BERT's pooler; ELECTRA has "
        "none",
        "  ignored  7 tensors (cls.predictions.bias, …): masked-LM head; a discriminator has none",
        "  ignored  cls.seq_relationship.bias, cls.seq_relationship.weight: next-sentence head; "
        "ELECTRA has none",
        "  missing  4 tensors (replaced_token_head/dense/bias, …): the source has no such head; "
        "made anew, to be trained",
        "  note     nothing says whether text is lower-cased; taken as lower-cased, as BERT is",
        "generator: 42 tensors converted from Hugging Face folder, BERT",
        "  ignored  bert.pooler.dense.bias, bert.pooler.dense.weight: BERT's pooler; ELECTRA has "
        "none",
        "  ignored  cls.seq_relationship.bias, cls.seq_relationship.weight: next-sentence head; "
        "ELECTRA has none",
        "  ignored  cls.predictions.decoder.bias, cls.predictions.decoder.weight: equal to an "
        "array that is converted",
        "  note     nothing says whether text is lower-cased; taken as lower-cased, as BERT is",
        f"written: {tmp_path / 'e'}",
        "",
    ]


def test_a_discriminator_given_as_generator_ends_with_exit_code_1(run, tmp_path):
    code, out, err = run(
        "convert", GOLDEN / "discriminator", "--to", "tf1", tmp_path / "t", "--component",
        "generator",
    )  # fmt: skip
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {GOLDEN / 'discriminator'}: holds a discriminator, no generator")
    assert not (tmp_path / "t").exists()


def test_an_existing_target_needs_force(run, tmp_path):
    arguments = ("convert", GOLDEN / "generator", "--to", "hf", tmp_path / "h")
    assert run(*arguments)[0] == 0
    code, _, err = run(*arguments)
    assert code == 1
    assert err.startswith(
        f"error: {tmp_path / 'h'}: exists already; give another folder, or --force"
    )
    assert run(*arguments, "--force")[0] == 0
