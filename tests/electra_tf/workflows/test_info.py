"""`info` tells what a model is, in every format, without reading its arrays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from electra_tf.encoder_folder import parameter_count, write_encoder_folder
from electra_tf.workflows.convert import convert
from electra_tf.workflows.info import describe

GOLDEN = Path(__file__).parents[2] / "golden" / "exchange"


@pytest.fixture
def run_folder(make_pair, tmp_path):
    pair = make_pair(widths=(128, 64), heads=(2, 1))
    write_encoder_folder(tmp_path / "run" / "encoder", pair["discriminator"])
    write_encoder_folder(tmp_path / "run" / "generator", pair["generator"])
    return tmp_path / "run", pair


def test_a_bundle_with_both_networks_is_told_component_by_component(run_folder, tmp_path):
    path, pair = run_folder
    convert(path, "tf1", tmp_path / "tf1")
    facts = describe(tmp_path / "tf1")
    judge = parameter_count(pair["discriminator"].config, "discriminator")
    guesser = parameter_count(pair["generator"].config, "generator")
    assert facts["what"] == "TensorFlow 1 checkpoint, ELECTRA"
    assert facts["discriminator"] == (
        "2 layers, hidden 128, 2 heads, feed-forward 512, embeddings 18 × 8, 16 positions"
    )
    assert facts["generator"].startswith("2 layers, hidden 64, 1 heads")
    assert facts["discriminator parameters"] == f"{judge.backbone:,} + head {judge.head:,}"
    assert facts["parameters in all"].startswith(f"{judge.total + guesser.own:,},")
    assert facts["vocabulary"].startswith("18 tokens, lower-cased, sha256 ")
    assert "generator beside" not in facts


def test_a_folder_of_hugging_face_is_told_with_what_lies_beside():
    facts = describe(GOLDEN / "discriminator_before_1.6")
    assert facts["files"].startswith("config.json, pytorch_model.bin (")
    assert facts["files"].endswith(" kB)")
    assert facts["discriminator beside"] == "1 × the numbers 0, 1, 2, …, made anew when needed"
    assert "generator" not in facts
    assert describe(GOLDEN / "generator_sharded")["generator notes"] == (
        "numbers of type bfloat16 read as float32"
    )


def test_a_bert_is_told_as_a_start_for_either_network():
    facts = describe(GOLDEN / "bert")
    assert facts["what"] == "Hugging Face folder, BERT"
    assert facts["discriminator parameters"].endswith(", no head")
    assert " + head " in facts["generator parameters"]


def test_a_pair_is_told_model_by_model(run_folder, tmp_path):
    path, _ = run_folder
    convert(path, "hf", tmp_path / "hf")
    facts = describe(tmp_path / "hf")
    assert facts["what"] == "2 models"
    assert facts["generator: what"] == "Hugging Face folder, ELECTRA"
    assert describe(path)["encoder: what"] == "encoder folder, discriminator"


def test_what_is_no_model_is_told(tmp_path):
    with pytest.raises(ValueError, match="absent: does not exist"):
        describe(tmp_path / "absent")
    with pytest.raises(ValueError, match=r"holds no model; .* also knows records and vocabularies"):
        describe(tmp_path)


def test_tensorflow_stays_out_where_it_is_not_needed():
    code = (
        "import sys; from electra_tf.workflows.info import describe; "
        f"describe({str(GOLDEN / 'generator')!r}); describe({str(GOLDEN / 'bert')!r}); "
        "sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
