"""Six training steps from the reference's weights give the reference's weights.

ELECTRA_TF_REFERENCE names a folder of numbers made by running google-research/electra at 8a46635,
dropout off, update before step counter. It draws positions with replacement, so its masked and
corrupted texts are fed; everything after them is ours: both networks, losses, gradients, clip,
schedule, update.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.batches import CorruptedBatch, MaskedBatch, is_real
from electra_tf.config import EncoderConfig, ReferenceSchedule
from electra_tf.data.manifest import VocabularyFacts
from electra_tf.exchange.name_rules import google_discriminator, google_generator
from electra_tf.pretrain.objectives import electra
from electra_tf.training.optimizer import Optimizer
from electra_tf.training.schedule import make_schedule
from electra_tf.training.trainer import Trainer

ROOT = os.environ.get("ELECTRA_TF_REFERENCE")
FOLDER = Path(ROOT or ".")
pytestmark = [
    pytest.mark.reference,
    pytest.mark.skipif(ROOT is None, reason="needs ELECTRA_TF_REFERENCE"),
]
TABLES = {"discriminator": google_discriminator(), "generator": google_generator()}


def reference_name(path: str) -> str:
    """A variable's path in our objective → its name in the reference."""
    is_generator = path.startswith(("generator/", "masked_lm_head/"))
    kind = "generator" if is_generator else "discriminator"
    return TABLES[kind].to_theirs(path.removeprefix(f"{kind}/")).theirs


class Fed(electra.Electra):
    """Our objective, with the texts given instead of drawn."""

    def prepare(self, batch, key):
        masked, corrupted = batch
        counts = {
            "masked_tokens": tf.reduce_sum(masked.weights),
            "real_tokens": tf.reduce_sum(tf.cast(is_real(masked.original_ids), tf.float32)),
        }
        return (masked, corrupted), counts

    def loss(self, prepared, counts, key, training):
        masked, self.fed = prepared
        return super().loss(masked, counts, key, training)


@pytest.fixture(scope="module")
def settings():
    return json.loads((FOLDER / "settings.json").read_text())


def facts_of(pretraining: dict) -> VocabularyFacts:
    ids = {f"{name.lower()}_id": pretraining["ids"][name] for name in ("UNK", "CLS", "SEP", "MASK")}
    return VocabularyFacts(file="", size=pretraining["vocab_size"], sha256="", **ids)


def encoder(pretraining: dict, sizes: dict) -> EncoderConfig:
    return EncoderConfig(
        vocab_size=pretraining["vocab_size"],
        embedding_size=pretraining["embedding_size"],
        hidden_size=sizes["hidden_size"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["intermediate_size"],
        max_position_embeddings=pretraining["max_positions"],
        type_vocab_size=pretraining["type_vocab"],
        hidden_dropout_rate=0.0,
        attention_dropout_rate=0.0,
        initializer_stddev=pretraining["initializer_range"],
        layer_norm_epsilon=1e-12,
    )


def fed_batches() -> tf.data.Dataset:
    inputs = np.load(FOLDER / "a_pretraining" / "batches.npz")
    steps = np.load(FOLDER / "b_training" / "trajectory.npz")
    np.testing.assert_array_equal(inputs["input_ids"] != 0, inputs["input_mask"] == 1)
    masked = (
        steps["masked_input_ids"],
        inputs["segment_ids"],
        steps["masked_lm_positions"],
        steps["masked_lm_ids"],
        steps["masked_lm_weights"],
        inputs["input_ids"],
    )
    corrupted = (
        steps["corrupted_input_ids"],
        inputs["segment_ids"],
        steps["is_fake"].astype(np.float32),
    )
    dataset = tf.data.Dataset.from_tensor_slices((masked, corrupted))
    return dataset.map(lambda m, c: (MaskedBatch(*m), CorruptedBatch(*c)))


@pytest.fixture(scope="module")
def trained(make_run, settings):
    """The reports of six steps, the weights after two of them, and all that is there after six."""
    pretraining, facts = settings["pretraining"], settings["optimizer"]
    run = make_run(
        data={"max_length": pretraining["max_seq_length"]},
        discriminator=encoder(pretraining, pretraining).model_dump(),
        generator=encoder(pretraining, pretraining["generator"]).model_dump(),
        optimizer={
            name: facts[name]
            for name in (
                "learning_rate",
                "weight_decay_rate",
                "beta_1",
                "beta_2",
                "epsilon",
                "clip_norm",
            )
        },
    )
    objective = Fed(run, facts_of(pretraining))
    weights = {reference_name(v.path): v for v in objective.trained_weights}
    reader = tf.train.load_checkpoint(str(FOLDER / "a_pretraining" / "ckpt_initial_no_slots"))
    assert set(weights) == set(reader.get_variable_to_shape_map()) - {"global_step"}
    for name, variable in weights.items():
        variable.assign(reader.get_tensor(name))

    schedule = make_schedule(
        ReferenceSchedule(
            name="reference",
            warmup_steps=facts["num_warmup_steps"],
            decay_power=facts["lr_decay_power"],
        ),
        facts["learning_rate"],
        facts["num_train_steps"],
    )
    optimizer = Optimizer(run.optimizer, objective.trained_weights)
    trainer = Trainer(
        tf.distribute.OneDeviceStrategy("CPU:0"),
        objective,
        optimizer,
        schedule,
        lambda context, first_step: fed_batches(),
        batch_size=pretraining["batch"],
        accumulation_steps=1,
        clip_norm=facts["clip_norm"],
        seed=0,
        xla=False,
        max_skipped_steps=0,
    )
    reports, after_2 = [], {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(electra, "corrupt", lambda masked, drawn: objective.fed)
        for step in range(facts["steps_run"]):
            rate = float(schedule(trainer.update_step))
            reports.append(trainer.train(tf.constant(1)) | {"rate": rate})
            if step == 1:
                after_2 = {name: v.numpy() for name, v in weights.items()}
    after_6 = {name: v.numpy() for name, v in weights.items()}
    for kind, moments in (
        ("adam_m", optimizer.first_moments),
        ("adam_v", optimizer.second_moments),
    ):
        after_6 |= {f"{reference_name(path)}/{kind}": m.numpy() for path, m in moments.items()}
    return reports, after_2, after_6


def test_rates_and_losses_of_every_step_are_those_of_the_reference(trained):
    expected = np.load(FOLDER / "b_training" / "trajectory.npz")
    for ours, theirs in (
        ("rate", "learning_rate"),
        ("masked_lm_loss", "mlm_loss"),
        ("discriminator_loss", "disc_loss"),
        ("loss", "total_loss"),
    ):
        found = [report[ours] for report in trained[0]]
        np.testing.assert_allclose(found, expected[theirs], rtol=1e-6, atol=1e-5, err_msg=ours)


def test_weights_after_two_steps_are_those_of_the_reference(trained):
    expected = np.load(FOLDER / "b_training" / "after_2_steps.npz")
    for name, weights in trained[1].items():
        np.testing.assert_allclose(
            weights, expected[name.replace("/", "|")], rtol=0, atol=1e-6, err_msg=name
        )


def test_weights_and_moments_after_six_steps_are_those_of_the_reference(trained):
    expected = np.load(FOLDER / "b_training" / "final.npz")
    after_6 = trained[2]
    assert {name.replace("/", "|") for name in after_6} == set(expected.files) - {"global_step"}
    for name, values in after_6.items():
        theirs = expected[name.replace("/", "|")]
        np.testing.assert_allclose(values, theirs, rtol=0, atol=1e-6, err_msg=name)
        if name.endswith(("adam_m", "adam_v")):
            scale = np.abs(theirs).max()
            np.testing.assert_allclose(values, theirs, atol=1e-4 * scale + 1e-9, err_msg=name)
