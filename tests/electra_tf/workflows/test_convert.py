"""A model goes into any format and comes back to the bit; a failure leaves the target alone."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from chinese.vocab import build_sentencepiece
from electra_tf.encoder_folder import read_encoder_folder, write_encoder_folder
from electra_tf.workflows.convert import convert

GOLDEN = Path(__file__).parents[2] / "golden" / "exchange"


@pytest.fixture
def run_folder(make_pair, tmp_path):
    """(path, pair) of two encoder folders side by side."""
    pair = make_pair(widths=(128, 64), heads=(2, 1))
    write_encoder_folder(tmp_path / "run" / "encoder", pair["discriminator"])
    write_encoder_folder(tmp_path / "run" / "generator", pair["generator"])
    return tmp_path / "run", pair


def files_of(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}


@pytest.mark.parametrize("target", ["hf", "tf1"])
def test_ours_there_and_back_is_the_same_to_the_bit(
    run_folder, tmp_path, target, assert_same_network
):
    path, pair = run_folder
    convert(path, target, tmp_path / "there")
    convert(tmp_path / "there", "encoder", tmp_path / "back")
    for kind, name in (("discriminator", "encoder"), ("generator", "generator")):
        assert_same_network(read_encoder_folder(tmp_path / "back" / name), pair[kind])


@pytest.mark.parametrize("target", ["hf", "tf1", "encoder"])
@pytest.mark.parametrize("kind", ["discriminator", "generator"])
def test_one_network_alone_lies_in_the_folder_itself(
    run_folder, tmp_path, target, kind, assert_same_network
):
    path, pair = run_folder
    convert(path, target, tmp_path / "there", component=kind)
    convert(tmp_path / "there", "encoder", tmp_path / "back")
    assert_same_network(read_encoder_folder(tmp_path / "back"), pair[kind])


def test_a_sentencepiece_model_goes_through_tensorflow_1(make_pair, tmp_path, assert_same_network):
    vocabulary = build_sentencepiece(["今天天气很好", "明天天气不好"] * 20, 20)
    pair = make_pair(tokens=vocabulary.tokens, widths=(128, 64), heads=(2, 1))
    settings = pair["generator"].tokenizer_settings | {"vocabulary_sha256": vocabulary.sha256}
    folder = replace(
        pair["generator"],
        vocabulary_file="spiece.model",
        vocabulary=vocabulary.content,
        tokenizer_settings=settings,
    )
    write_encoder_folder(tmp_path / "ours", folder)
    convert(tmp_path / "ours", "tf1", tmp_path / "tf1")
    convert(tmp_path / "tf1", "encoder", tmp_path / "back")
    assert_same_network(read_encoder_folder(tmp_path / "back"), folder)


def test_hugging_face_to_tensorflow_1_and_back_is_the_same_file(tmp_path):
    for kind in ("discriminator", "generator"):
        shutil.copytree(GOLDEN / kind, tmp_path / "source" / kind)
        config = tmp_path / "source" / kind / "config.json"
        config.write_bytes((GOLDEN / kind / "config.json").read_bytes())
    convert(tmp_path / "source", "tf1", tmp_path / "tf1")
    convert(tmp_path / "tf1", "hf", tmp_path / "back")
    for kind in ("discriminator", "generator"):
        ours, theirs = (p / kind / "model.safetensors" for p in (tmp_path / "back", GOLDEN))
        assert ours.read_bytes() == theirs.read_bytes()


def test_the_account_tells_what_became_of_every_tensor(tmp_path):
    conversion = convert(GOLDEN / "discriminator_before_1.6", "encoder", tmp_path / "e")
    account = conversion.accounts["discriminator"]
    assert account.converted == 43
    assert account.ignored == {
        "the numbers 0, 1, 2, …, made anew when needed": ("electra.embeddings.position_ids",)
    }
    assert account.missing == {}


def test_provenance_tells_source_format_hashes_and_sizes(run_folder, tmp_path):
    path, _ = run_folder
    convert(path, "tf1", tmp_path / "t")
    convert(tmp_path / "t", "encoder", tmp_path / "e", component="generator")
    facts = json.loads((tmp_path / "e" / "provenance.json").read_text())
    assert facts["made_by"] == "electra-tf convert"
    assert facts["source"] == str(tmp_path / "t")
    assert facts["format"] == "TensorFlow 1 checkpoint, ELECTRA"
    name = "model.ckpt.data-00000-of-00001"
    content = (tmp_path / "t" / name).read_bytes()
    assert facts["files"][name] == {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    assert facts["sizes"]["hidden_size"] == 64
    assert facts["parameters"]["head"] == 64 * 8 + 8 + 16 + 18
    first = json.loads((tmp_path / "t" / "provenance.json").read_text())
    assert first["generator"]["source_provenance"] == {"made_by": "a test"}


def test_formats_of_one_network_take_the_discriminator_and_tell_what_differs(run_folder, tmp_path):
    path, _ = run_folder
    conversion = convert(path, "model-garden", tmp_path / "m")
    assert list(conversion.accounts) == ["discriminator"]
    assert any("GELU by tanh" in note for note in conversion.notes)
    facts = json.loads((tmp_path / "m" / "provenance.json").read_text())
    assert facts["warnings"] == list(conversion.notes)
    assert list(convert(path, "keras-hub", tmp_path / "k", "generator").accounts) == ["generator"]
    with pytest.raises(ValueError, match="model-garden holds one network; give --component"):
        convert(path, "model-garden", tmp_path / "n", "both")
    convert(path, "keras-hub", tmp_path / "k", overwrite=True)


# --- the target ------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["hf", "tf1", "encoder"])
def test_an_existing_target_is_replaced_only_when_asked(run_folder, tmp_path, target):
    path, _ = run_folder
    out = tmp_path / "out"
    convert(path, target, out, component="generator")
    before = files_of(out)
    with pytest.raises(ValueError, match="exists already"):
        convert(path, target, out)
    assert files_of(out) == before
    convert(path, target, out, overwrite=True)
    assert len(files_of(out)) >= len(before)
    (out / "thesis.docx").touch()
    with pytest.raises(ValueError, match=r"no part of .* \(thesis\.docx\)"):
        convert(path, target, out, overwrite=True)


def test_a_bad_source_leaves_the_target_alone(run_folder, tmp_path):
    path, _ = run_folder
    out = tmp_path / "out"
    convert(path, "hf", out)
    before = files_of(out)
    weights = path / "generator" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(ValueError, match="truncated or damaged"):
        convert(path, "hf", out, overwrite=True)
    assert files_of(out) == before
    assert sorted(os.listdir(tmp_path)) == ["out", "run"]


@pytest.mark.parametrize("target", ["hf", "tf1", "encoder", "model-garden", "keras-hub"])
def test_a_full_disk_leaves_the_target_alone(run_folder, tmp_path, target, full_disk):
    path, _ = run_folder
    out = tmp_path / "out"
    convert(path, target, out)
    before = files_of(out)
    with full_disk(20_000), pytest.raises(OSError, match=rf"{out}: not written: .*ile too large"):
        convert(path, target, out, overwrite=True)
    assert files_of(out) == before
    assert sorted(os.listdir(tmp_path)) == ["out", "run"]


# --- numbers ---------------------------------------------------------------------------------


def test_half_precision_is_widened_once(tmp_path):
    convert(GOLDEN / "discriminator_float16", "encoder", tmp_path / "e")
    half = read_encoder_folder(tmp_path / "e").weights
    convert(GOLDEN / "discriminator", "encoder", tmp_path / "f")
    for name, array in read_encoder_folder(tmp_path / "f").weights.items():
        np.testing.assert_array_equal(half[name], array.astype(np.float16).astype(np.float32))
