"""Folders of transformers are read with its numbers, and written as it writes them.

The golden folders and their numbers were made by transformers; see `make_golden.py` there.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from electra_tf.exchange.huggingface import open_hugging_face, write_hugging_face
from electra_tf.exchange.translate import held_networks, load, make_plan
from electra_tf.network.pretrained import build_discriminator, build_generator

GOLDEN = Path(__file__).parents[2] / "golden" / "exchange"


@pytest.fixture(scope="module")
def numbers():
    return np.load(GOLDEN / "numbers.npz")


def read(folder, kind):
    """(config, weights, plan) of one network."""
    with ExitStack() as stack:
        source = open_hugging_face(folder, stack)
        plan = make_plan(source, kind)
        return plan.config, load(source, plan), plan


@pytest.fixture
def copy(tmp_path):
    """A golden folder of one's own."""
    return lambda name: Path(shutil.copytree(GOLDEN / name, tmp_path / name))


# --- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "kind", "numbers_of"),
    [
        ("discriminator", "discriminator", "discriminator"),
        ("generator", "generator", "generator"),
        ("discriminator_before_1.6", "discriminator", "discriminator"),
        ("discriminator_float16", "discriminator", "float16"),
        ("generator_sharded", "generator", "bfloat16"),
        ("bert", "generator", "bert"),
    ],
)
def test_hidden_states_and_logits_are_those_of_transformers(numbers, folder, kind, numbers_of):
    config, weights, _ = read(GOLDEN / folder, kind)
    build = build_discriminator if kind == "discriminator" else build_generator
    network = build(config, weights)
    ids = tf.constant(numbers["input_ids"], tf.int32)
    states = network.encoder.hidden_states(ids, tf.constant(numbers["segment_ids"], tf.int32))
    real = numbers["input_ids"] != 0  # what stands at padding means nothing on either side
    expected = numbers[f"{numbers_of}_hidden"]
    np.testing.assert_allclose(np.stack(states)[:, real], expected[:, real], atol=1e-5)
    logits = network.head(states[-1]).numpy()
    np.testing.assert_allclose(logits[real], numbers[f"{numbers_of}_logits"][real], atol=1e-5)


def test_bert_starts_a_discriminator_whose_head_is_made_anew():
    _, weights, plan = read(GOLDEN / "bert", "discriminator")
    _, as_generator, _ = read(GOLDEN / "bert", "generator")
    for name in weights.keys() & as_generator.keys():
        np.testing.assert_array_equal(weights[name], as_generator[name])
    assert set(plan.missing) == {n for n in weights if n.startswith("replaced_token_head/")}
    assert {reason for name, reason in plan.ignored.items() if "pooler" in name} == {
        "BERT's pooler; ELECTRA has none"
    }
    kernel = weights["replaced_token_head/dense/kernel"]
    assert 0 < np.abs(kernel).max() <= 0.04
    assert np.abs(weights["replaced_token_head/output/kernel"]).max() <= (6 / 13) ** 0.5
    np.testing.assert_array_equal(weights["replaced_token_head/dense/bias"], np.zeros(12))
    np.testing.assert_array_equal(
        read(GOLDEN / "bert", "discriminator")[1]["replaced_token_head/dense/kernel"], kernel
    )


# --- there and back --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["discriminator", "generator"])
def test_an_encoder_folder_comes_back_to_the_bit(tmp_path, make_pair, kind):
    folder = make_pair()[kind]
    write_hugging_face(tmp_path, folder)
    config, weights, plan = read(tmp_path, kind)
    assert config == folder.config
    assert plan.ignored == plan.missing == {}
    assert plan.notes == ()
    for name, array in folder.weights.items():
        assert weights[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("kind", ["discriminator", "generator"])
def test_the_weights_file_is_the_one_transformers_writes_byte_for_byte(tmp_path, kind):
    """It orders and pads as safetensors does, under the same metadata."""
    theirs = GOLDEN / kind / "model.safetensors"
    config, weights, _ = read(GOLDEN / kind, kind)
    folder = golden_folder(kind, config, weights)
    write_hugging_face(tmp_path, folder)
    assert (tmp_path / "model.safetensors").read_bytes() == theirs.read_bytes()
    ours, golden = (json.loads((p / "config.json").read_text()) for p in (tmp_path, GOLDEN / kind))
    assert ours.items() <= golden.items()


def golden_folder(kind, config, weights):
    from electra_tf.encoder_folder import EncoderFolder

    settings = {"lower_case": True, "strip_accents": True}
    return EncoderFolder(kind, config, settings, weights, "vocab.txt", b"", {})


def test_a_folder_for_transformers_is_complete(tmp_path, make_pair):
    folder = make_pair()["generator"]
    write_hugging_face(tmp_path, folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    card = (tmp_path / "README.md").read_text()
    assert card.startswith("---\nlanguage: zh\n")
    assert "pipeline_tag: fill-mask" in card
    assert "AutoModelForMaskedLM" in card
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert settings["do_lower_case"] is True
    assert settings["mask_token"] == "[MASK]"
    assert settings["model_max_length"] == 16


def test_sentencepiece_cannot_be_written(tmp_path, make_pair):
    from dataclasses import replace

    folder = replace(make_pair()["generator"], vocabulary_file="spiece.model")
    with pytest.raises(ValueError, match=r"the vocabulary is a spiece\.model"):
        write_hugging_face(tmp_path, folder)


# --- what people have beside a plain folder --------------------------------------------------


def edit_config(folder, **changes):
    path = folder / "config.json"
    tree = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(tree))


def edit_tensors(folder, change):
    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    change(tensors)
    safetensors.numpy.save_file(tensors, path)


def test_types_beside_float32_are_told():
    assert read(GOLDEN / "discriminator_float16", "discriminator")[2].notes == (
        "numbers of type float16 read as float32",
    )
    assert read(GOLDEN / "generator_sharded", "generator")[2].notes == (
        "numbers of type bfloat16 read as float32",
    )


def test_old_position_ids_are_left_behind_for_a_reason():
    plan = read(GOLDEN / "discriminator_before_1.6", "discriminator")[2]
    assert plan.ignored == {
        "electra.embeddings.position_ids": "the numbers 0, 1, 2, …, made anew when needed"
    }


def test_an_unused_projection_is_left_behind(tmp_path, make_pair):
    """google/electra-base-discriminator carries one between equal widths."""
    folder = make_pair(embedding_size=12)["discriminator"]
    write_hugging_face(tmp_path, folder)
    names = ("electra.embeddings_project.weight", "electra.embeddings_project.bias")

    def add(tensors):
        tensors |= dict(zip(names, (np.ones((12, 12), "f4"), np.ones(12, "f4")), strict=True))

    edit_tensors(tmp_path, add)
    _, weights, plan = read(tmp_path, "discriminator")
    assert set(plan.ignored) == set(names)
    assert weights.keys() == folder.weights.keys()


def test_an_output_table_that_is_tied_is_checked_and_one_that_is_not_is_refused(copy):
    folder = copy("generator")

    def write_out(tensors):
        table = tensors["electra.embeddings.word_embeddings.weight"]
        tensors["generator_lm_head.weight"] = table.copy()

    edit_tensors(folder, write_out)
    plan = read(folder, "generator")[2]
    assert plan.copies == {"generator_lm_head.weight": "embeddings/word_embeddings"}

    def untie(tensors):
        tensors["generator_lm_head.weight"][0, 0] += 1

    edit_tensors(folder, untie)
    with pytest.raises(ValueError, match=r"generator_lm_head\.weight differs from"):
        read(folder, "generator")


def test_a_bare_model_saved_without_its_head_is_a_discriminator_to_be_trained(copy):
    folder = copy("discriminator")

    def strip(tensors):
        bare = {
            name.removeprefix("electra."): array
            for name, array in tensors.items()
            if name.startswith("electra.")
        }
        tensors.clear()
        tensors.update(bare)

    edit_tensors(folder, strip)
    plan = read(folder, "discriminator")[2]
    assert len(plan.missing) == 4
    with ExitStack() as stack:
        assert held_networks(open_hugging_face(folder, stack)) == ()


def test_sizes_of_another_network_in_the_config_are_reported(copy):
    folder = copy("generator")
    edit_config(folder, hidden_size=256, intermediate_size=1024)
    config, _, plan = read(folder, "generator")
    assert (config.hidden_size, config.num_attention_heads) == (12, 1)
    assert "it says hidden_size 256, the tensors have 12" in plan.notes[0]


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 7, 300, 5000, -1])
def test_truncated_safetensors_are_told(copy, kept):
    folder = copy("discriminator")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"model\.safetensors: truncated or damaged"):
        read(folder, "discriminator")


def test_a_missing_shard_is_named(copy):
    folder = copy("generator_sharded")
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ValueError, match="1 of 2 shards are missing: model-00002-of-00002"):
        read(folder, "generator")


def test_an_index_that_leads_elsewhere_is_refused(copy):
    folder = copy("generator_sharded")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../../secret.safetensors"}}))
    with pytest.raises(ValueError, match="names no files of this folder"):
        read(folder, "generator")


@pytest.mark.parametrize(
    ("folder", "kind", "message"),
    [
        ("discriminator", "generator", "no generator; a discriminator cannot fill masks"),
        ("generator", "discriminator", "no discriminator; a generator does not detect"),
    ],
)
def test_one_network_given_as_the_other_is_refused(folder, kind, message):
    with pytest.raises(ValueError, match=message):
        read(GOLDEN / folder, kind)


def test_a_missing_tensor_is_named_as_transformers_names_it(copy):
    folder = copy("discriminator")
    name = "electra.encoder.layer.1.attention.self.key.bias"
    edit_tensors(folder, lambda tensors: tensors.pop(name))
    with pytest.raises(ValueError, match=rf"incomplete or damaged.*\n  missing {name} \(12,\)"):
        read(folder, "discriminator")


def test_a_tensor_of_another_shape_is_named(copy):
    folder = copy("discriminator")
    name = "discriminator_predictions.dense.bias"
    edit_tensors(folder, lambda tensors: tensors.update({name: np.zeros(3, "f4")}))
    with pytest.raises(ValueError, match=rf"{name} has shape \(3,\), expected \(12,\)"):
        read(folder, "discriminator")


def test_a_tensor_nobody_knows_stops_the_conversion(copy):
    folder = copy("discriminator")
    edit_tensors(folder, lambda tensors: tensors.update({"electra.adapter": np.zeros(3, "f4")}))
    with pytest.raises(ValueError, match=r"nobody knows .*\n  electra\.adapter \(3,\)"):
        read(folder, "discriminator")


def test_another_family_of_models_is_refused(copy):
    folder = copy("discriminator")
    edit_config(folder, model_type="deberta-v2")
    with pytest.raises(ValueError, match="is a deberta-v2 model; ELECTRA and BERT can be read"):
        read(folder, "discriminator")
