"""TensorFlow 1 checkpoints: read however they come, written as the reference reads them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.config import EncoderConfig
from electra_tf.encoder_folder import EncoderFolder, expected_shapes
from electra_tf.exchange.google_tf1 import open_google_tf1, write_google_tf1
from electra_tf.exchange.moments import Moments, moments_of_bundle
from electra_tf.exchange.name_rules import google_bert, google_discriminator, google_generator
from electra_tf.exchange.recognise import recognise
from electra_tf.exchange.translate import held_networks, load, make_plan
from electra_tf.network.pretrained import build_discriminator, build_generator

KINDS = ("discriminator", "generator")
ROOT = os.environ.get("ELECTRA_TF_REFERENCE")
REFERENCE = Path(ROOT or ".") / "a_pretraining"


def raw_arrays(pair):
    """Both networks under the reference's names, without our writer."""
    tables = {"discriminator": google_discriminator(), "generator": google_generator()}
    return {
        tables[kind].to_theirs(name).theirs: array
        for kind, folder in pair.items()
        for name, array in folder.weights.items()
    }


def save_raw(prefix, arrays):
    """TensorFlow's own op, not our writer."""
    names = list(arrays)
    tensors = [tf.constant(arrays[name]) for name in names]
    tf.raw_ops.SaveV2(
        prefix=str(prefix), tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors
    )


def read(path, kind):
    """(config, weights, plan) of one network."""
    source = open_google_tf1(recognise(path)[0].path)
    plan = make_plan(source, kind)
    return plan.config, load(source, plan), plan


@pytest.fixture(scope="module")
def pair(make_pair):
    return make_pair(widths=(128, 64), heads=(2, 1))


def assert_same_weights(weights, folder):
    assert weights.keys() == folder.weights.keys()
    for name, array in folder.weights.items():
        assert weights[name].tobytes() == array.tobytes(), name


# --- there and back --------------------------------------------------------------------------


def test_both_networks_come_back_from_one_bundle_to_the_bit(tmp_path, pair):
    write_google_tf1(tmp_path, pair)
    for kind in KINDS:
        config, weights, plan = read(tmp_path, kind)
        assert config == pair[kind].config
        assert plan.missing == {}
        assert plan.notes == ()
        assert_same_weights(weights, pair[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_one_network_alone_comes_back(tmp_path, pair, kind):
    write_google_tf1(tmp_path, {kind: pair[kind]})
    source = open_google_tf1(recognise(tmp_path)[0].path)
    assert held_networks(source) == (kind,)
    assert_same_weights(read(tmp_path, kind)[1], pair[kind])


def test_a_bundle_by_raw_saving_is_read_and_ours_has_the_same_tensors(tmp_path, pair):
    save_raw(tmp_path / "raw.ckpt-7", raw_arrays(pair))
    for kind in KINDS:
        assert_same_weights(read(tmp_path / "raw.ckpt-7", kind)[1], pair[kind])
    (tmp_path / "ours").mkdir()
    write_google_tf1(tmp_path / "ours", pair)
    ours, theirs = (
        tf.train.load_checkpoint(str(tmp_path / name)) for name in ("ours", "raw.ckpt-7")
    )
    names = theirs.get_variable_to_shape_map()
    assert ours.get_variable_to_shape_map() == names
    for name in names:
        np.testing.assert_array_equal(ours.get_tensor(name), theirs.get_tensor(name))


SIZES = {
    # embedding, layers, hidden, heads of the discriminator; then of the generator. Tensors.
    "small": ((128, 12, 256, 4), (128, 12, 64, 1), 402),
    "base": ((768, 12, 768, 12), (768, 12, 256, 4), 400),
    "large": ((1024, 24, 1024, 16), (1024, 24, 256, 4), 784),
}


@pytest.mark.parametrize("size", SIZES)
def test_a_bundle_of_a_known_size_has_as_many_tensors_as_the_reference(size):
    """Counted without writing; the bundles of `pair` show that names are written as counted."""
    *shapes, count = SIZES[size]
    names = set()
    tables = (google_discriminator(), google_generator())
    for kind, (width, layers, hidden, heads), table in zip(KINDS, shapes, tables, strict=True):
        config = EncoderConfig(
            vocab_size=21128,
            embedding_size=width,
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * hidden,
            max_position_embeddings=512,
            type_vocab_size=2,
            hidden_dropout_rate=0.1,
            attention_dropout_rate=0.1,
            initializer_stddev=0.02,
            layer_norm_epsilon=1e-12,
        )
        names |= {table.to_theirs(name).theirs for name in expected_shapes(config, kind)}
    assert len(names) == count


def test_files_are_those_that_hfl_publishes(tmp_path, pair):
    write_google_tf1(tmp_path, pair)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint",
        "discriminator.json",
        "generator.json",
        "model.ckpt.data-00000-of-00001",
        "model.ckpt.index",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt")
    assert json.loads((tmp_path / "generator.json").read_text())["hidden_size"] == 64


# --- however they come -----------------------------------------------------------------------


@pytest.fixture
def messy(tmp_path, pair):
    """A folder as downloaded: slots, a step, the stray temperature, no checkpoint file."""
    arrays = raw_arrays(pair)
    slots = {f"{name}/adam_{m}": np.zeros_like(a) for name, a in arrays.items() for m in "mv"}
    stray = {
        "global_step": np.int64(1_000_000),
        "generator_predictions/temperature": np.float32(1.0),
    }
    save_raw(tmp_path / "electra_small", arrays | slots | stray)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    ["", "electra_small", "electra_small.index", "electra_small.data-00000-of-00001"],
)
def test_a_folder_a_prefix_and_its_files_mean_the_same(messy, pair, name):
    config, weights, plan = read(messy / name, "generator")
    assert_same_weights(weights, pair["generator"])
    assert config == pair["generator"].config
    assert plan.notes[0].startswith("no config: num_attention_heads taken as 1")
    reasons = set(plan.ignored.values())
    assert reasons == {
        "of the discriminator",
        "the step counter",
        "moments of Adam; only --to tf1 --with-optimizer keeps them",
        "a stray number of released checkpoints, never used",
    }


def test_of_several_bundles_the_checkpoint_file_chooses_wherever_it_was_written(messy, pair):
    save_raw(messy / "model.ckpt-9", raw_arrays(pair))
    with pytest.raises(ValueError, match=r"several checkpoints.*: electra_small, model\.ckpt-9"):
        recognise(messy)
    (messy / "checkpoint").write_text('model_checkpoint_path: "/home/tpu/run/model.ckpt-9"\n')
    assert recognise(messy)[0].path == messy / "model.ckpt-9"
    (messy / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-100"\n')
    with pytest.raises(ValueError, match="several checkpoints"):
        recognise(messy)


def test_heads_come_from_the_json_beside_it(messy, pair):
    (messy / "discriminator.json").write_text(json.dumps({"hidden_size": 128, "hidden_act": "gelu",
        "num_attention_heads": 4}))  # fmt: skip
    config, _, plan = read(messy, "discriminator")
    assert config.num_attention_heads == 4
    assert plan.notes == ()


def test_a_generator_with_its_own_tables_is_read_with_them(tmp_path, pair):
    arrays = raw_arrays(pair)
    own = {
        name.replace("electra/", "generator/"): array + 1
        for name, array in arrays.items()
        if name.startswith("electra/embeddings/")
    }
    save_raw(tmp_path / "untied", arrays | own)
    _, weights, _ = read(tmp_path, "generator")
    expected = pair["generator"].weights["embeddings/word_embeddings"] + 1
    np.testing.assert_array_equal(weights["embeddings/word_embeddings"], expected)


def test_plain_masked_lm_training_gives_a_generator(tmp_path, pair):
    table = google_generator(encoder="electra")
    weights = pair["generator"].weights
    save_raw(tmp_path / "mlm", {table.to_theirs(n).theirs: a for n, a in weights.items()})
    assert_same_weights(read(tmp_path, "generator")[1], pair["generator"])
    assert held_networks(open_google_tf1(tmp_path / "mlm")) == ("generator",)


def test_a_fine_tuned_checkpoint_is_a_discriminator_whose_head_is_made_anew(tmp_path, pair):
    arrays = {n: a for n, a in raw_arrays(pair).items() if n.startswith("electra/")}
    save_raw(tmp_path / "tuned", arrays | {"task_specific/tnews/dense/kernel": np.ones((128, 15))})
    plan = read(tmp_path, "discriminator")[2]
    assert plan.ignored == {"task_specific/tnews/dense/kernel": "head of a fine-tuned task"}
    assert len(plan.missing) == 4


def test_bert_starts_either_network(tmp_path, make_pair):
    generator = make_pair(widths=(64, 64), embedding_size=64)["generator"]
    table = google_bert(with_head=True)
    arrays = {table.to_theirs(name).theirs: array for name, array in generator.weights.items()}
    extras = {
        "bert/pooler/dense/kernel": np.ones((64, 64), np.float32),
        "cls/seq_relationship/output_bias": np.ones(2, np.float32),
    }
    save_raw(tmp_path / "bert_model.ckpt", arrays | extras)
    _, weights, plan = read(tmp_path, "generator")
    assert_same_weights(weights, generator)
    assert set(plan.ignored) == set(extras)
    _, weights, plan = read(tmp_path, "discriminator")
    name = "layer_1/attention/key/kernel"
    np.testing.assert_array_equal(weights[name], generator.weights[name])
    assert all(name.startswith("replaced_token_head/") for name in plan.missing)


# --- bad input -------------------------------------------------------------------------------


def test_a_half_downloaded_bundle_names_the_missing_layer(tmp_path, pair):
    save_raw(tmp_path / "half", raw_arrays(pair))
    data = tmp_path / "half.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    with pytest.raises(ValueError, match=r"half: electra/encoder/layer_\d/.* cannot be read"):
        read(tmp_path, "discriminator")


def test_a_bundle_without_its_data_is_told(tmp_path, pair):
    save_raw(tmp_path / "half", raw_arrays(pair))
    (tmp_path / "half.data-00000-of-00001").unlink()
    with pytest.raises(
        ValueError, match=r"half: .* cannot be read .*a data file is cut or missing"
    ):
        read(tmp_path, "discriminator")


@pytest.mark.parametrize("kept", [0, 30, -1])
def test_a_cut_index_is_told(tmp_path, pair, kept):
    save_raw(tmp_path / "half", raw_arrays(pair))
    index = tmp_path / "half.index"
    index.write_bytes(index.read_bytes()[:kept])
    with pytest.raises(ValueError, match="half: damaged"):
        read(tmp_path, "discriminator")


def test_a_missing_layer_is_named(tmp_path, pair):
    arrays = {n: a for n, a in raw_arrays(pair).items() if "electra/encoder/layer_0" not in n}
    save_raw(tmp_path / "gap", arrays)
    with pytest.raises(ValueError, match="gap: missing layer_0/attention/query/kernel"):
        read(tmp_path, "discriminator")


def test_a_checkpoint_of_tensorflow_2_is_told_from_one_with_names(tmp_path):
    tf.train.Checkpoint(weight=tf.Variable([1.0])).write(str(tmp_path / "ckpt"))
    with pytest.raises(ValueError, match="An object-based checkpoint of TensorFlow 2 is none"):
        open_google_tf1(tmp_path / "ckpt")


def test_a_full_disk_is_told(tmp_path, pair, full_disk):
    with full_disk(2000), pytest.raises(OSError, match="File too large"):
        write_google_tf1(tmp_path, pair)


# --- with the optimizer ----------------------------------------------------------------------


def make_moments(pair, step=2**24 + 1):
    chance = np.random.default_rng(3)
    slots = {
        slot: {
            kind: {n: chance.random(a.shape, np.float32) for n, a in folder.weights.items()}
            for kind, folder in pair.items()
        }
        for slot in ("adam_m", "adam_v")
    }
    for networks in slots.values():  # the shared block has one set
        judge, guesser = networks["discriminator"], networks["generator"]
        networks["generator"] = guesser | {
            n: a for n, a in judge.items() if n.startswith("embeddings/")
        }
    return Moments(slots, step)


def test_moments_and_step_come_back_to_the_bit(tmp_path, pair):
    moments = make_moments(pair)
    write_google_tf1(tmp_path, pair, moments)
    found = moments_of_bundle(open_google_tf1(recognise(tmp_path)[0].path), pair)
    assert found.step == moments.step
    for slot, networks in moments.slots.items():
        for kind, arrays in networks.items():
            for name, array in arrays.items():
                assert found.slots[slot][kind][name].tobytes() == array.tobytes()


def test_the_saver_of_tensorflow_1_restores_every_variable_and_slot_by_name(tmp_path, pair):
    """As the reference's Estimator does when it goes on: all variables, global_step int64."""
    moments = make_moments(pair)
    write_google_tf1(tmp_path, pair, moments)
    arrays = raw_arrays(pair)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = {}
        for name, array in arrays.items():
            for wanted in (name, f"{name}/adam_m", f"{name}/adam_v"):
                variables[wanted] = tf.compat.v1.get_variable(wanted, array.shape, tf.float32)
        step = tf.compat.v1.train.create_global_step()
        saver = tf.compat.v1.train.Saver([*variables.values(), step])
        saver.restore(session, tf.train.latest_checkpoint(str(tmp_path)))
        assert session.run(step) == moments.step
        for name, array in arrays.items():
            np.testing.assert_array_equal(session.run(variables[name]), array)
        name = "generator/encoder/layer_1/output/dense/kernel"
        expected = moments.slots["adam_v"]["generator"]["layer_1/feed_forward/output/kernel"]
        np.testing.assert_array_equal(session.run(variables[f"{name}/adam_v"]), expected)


def test_a_bundle_without_moments_says_so(tmp_path, pair):
    write_google_tf1(tmp_path, pair)
    with pytest.raises(ValueError, match="holds no moments of Adam"):
        moments_of_bundle(open_google_tf1(recognise(tmp_path)[0].path), pair)


# --- the reference's own bundles -------------------------------------------------------------


@pytest.mark.reference
@pytest.mark.skipif(ROOT is None, reason="needs ELECTRA_TF_REFERENCE")
@pytest.mark.parametrize("bundle", ["ckpt_initial_no_slots", "ckpt_initial_with_slots"])
def test_bundles_by_the_references_own_saver_give_its_numbers(tmp_path, bundle):
    for file in (REFERENCE / bundle).iterdir():
        (tmp_path / file.name).symlink_to(file)
    # Its discriminator has 2 heads of 32, which shows in no tensor.
    heads = {"hidden_size": 64, "num_attention_heads": 2}
    (tmp_path / "discriminator.json").write_text(json.dumps(heads))
    outputs, batch = np.load(REFERENCE / "outputs.npz"), np.load(REFERENCE / "batches.npz")
    segments = tf.constant(batch["segment_ids"][0])
    config, weights, plan = read(tmp_path, "discriminator")
    slots = sum("Adam" in reason for reason in plan.ignored.values())
    assert slots == (2 * 114 if "with_slots" in bundle else 0)
    judge = build_discriminator(config, weights)
    states = judge.encoder.hidden_states(tf.constant(outputs["corrupted_input_ids"]), segments)
    np.testing.assert_allclose(np.stack(states[1:]), outputs["disc_layers"], atol=1e-5)
    np.testing.assert_allclose(judge.head(states[-1]), outputs["disc_logits"], atol=1e-5)
    config, weights, _ = read(tmp_path, "generator")
    guesser = build_generator(config, weights)
    hidden = guesser.encoder(tf.constant(outputs["masked_input_ids"]), segments)
    np.testing.assert_allclose(hidden, outputs["gen_sequence_output"], atol=1e-5)
    slots = tf.gather(hidden, outputs["masked_lm_positions"], batch_dims=1)
    np.testing.assert_allclose(guesser.head(slots), outputs["mlm_logits"], atol=1e-5)


def folders_of(source):
    networks = {}
    for kind in KINDS:
        config, weights, _ = read(source, kind)
        settings = {"lower_case": True, "strip_accents": True}
        networks[kind] = EncoderFolder(kind, config, settings, weights, "vocab.txt", b"", {})
    return networks


@pytest.mark.reference
@pytest.mark.skipif(ROOT is None, reason="needs ELECTRA_TF_REFERENCE")
@pytest.mark.parametrize("with_slots", [False, True])
def test_a_bundle_of_the_reference_comes_back_with_the_tensors_it_had(tmp_path, with_slots):
    source = REFERENCE / "ckpt_initial_no_slots"
    moments = None
    networks = folders_of(source)
    if with_slots:
        source = Path(ROOT) / "b_training" / "ckpt_after_6_steps"
        networks = folders_of(source)
        moments = moments_of_bundle(open_google_tf1(recognise(source)[0].path), networks)
        assert moments.step == 6
    write_google_tf1(tmp_path, networks, moments)
    ours, theirs = tf.train.load_checkpoint(str(tmp_path)), tf.train.load_checkpoint(str(source))
    names = theirs.get_variable_to_shape_map()
    if with_slots:
        assert len(names) == 343
        assert ours.get_variable_to_dtype_map() == theirs.get_variable_to_dtype_map()
    else:
        names.pop("global_step")
        assert len(names) == 114
    assert ours.get_variable_to_shape_map() == names
    for name in names:
        assert np.array_equal(ours.get_tensor(name), theirs.get_tensor(name)), name
