"""Every table translates there and back, and covers exactly what an encoder folder holds."""

from __future__ import annotations

import pytest

from electra_tf.encoder_folder import expected_shapes
from electra_tf.exchange import name_rules
from electra_tf.exchange.name_rules import GOOGLE_IGNORED, HUGGING_FACE_IGNORED, reason_to_ignore

TABLES = {
    "google discriminator": (name_rules.google_discriminator(), "discriminator"),
    "google generator": (name_rules.google_generator(), "generator"),
    "hugging face discriminator": (name_rules.hugging_face_discriminator(), "discriminator"),
    "hugging face generator": (name_rules.hugging_face_generator(), "generator"),
    "google bert": (name_rules.google_bert(True), "generator"),
    "hugging face bert": (name_rules.hugging_face_bert(True), "generator"),
}


@pytest.mark.parametrize(("table", "kind"), TABLES.values(), ids=TABLES)
def test_every_array_of_an_encoder_folder_goes_there_and_back(make_pair, table, kind):
    config = make_pair(layers=(12, 12))[kind].config
    names = expected_shapes(config, kind)
    theirs = {table.to_theirs(name).theirs for name in names}
    assert len(theirs) == len(names)
    for name in names:
        rule = table.to_theirs(name)
        assert table.to_ours(rule.theirs) == rule
        assert rule.ours == name


@pytest.mark.parametrize(
    ("table", "ours", "theirs", "transposed"),
    [
        (
            "google generator",
            "embeddings/layer_norm/beta",
            "electra/embeddings/LayerNorm/beta",
            False,
        ),
        (
            "google generator",
            "layer_10/attention/query/kernel",
            "generator/encoder/layer_10/attention/self/query/kernel",
            False,
        ),
        (
            "google discriminator",
            "replaced_token_head/output/bias",
            "discriminator_predictions/dense_1/bias",
            False,
        ),
        (
            "hugging face discriminator",
            "layer_10/feed_forward/layer_norm/gamma",
            "electra.encoder.layer.10.output.LayerNorm.weight",
            False,
        ),
        (
            "hugging face discriminator",
            "replaced_token_head/output/kernel",
            "discriminator_predictions.dense_prediction.weight",
            True,
        ),
        (
            "hugging face generator",
            "masked_lm_head/output_bias",
            "generator_lm_head.bias",
            False,
        ),
        (
            "hugging face generator",
            "embeddings/word_embeddings",
            "electra.embeddings.word_embeddings.weight",
            False,
        ),
        (
            "hugging face bert",
            "masked_lm_head/dense/kernel",
            "cls.predictions.transform.dense.weight",
            True,
        ),
    ],
)
def test_names_are_those_that_people_have(table, ours, theirs, transposed):
    assert TABLES[table][0].to_theirs(ours) == name_rules.Rule(ours, theirs, transposed)


@pytest.mark.parametrize("name", ["electra/encoder/layer_x/output/dense/bias", "electra", ""])
def test_a_name_of_no_network_has_no_rule(name):
    assert TABLES["google discriminator"][0].to_ours(name) is None


def test_what_is_left_behind_is_left_for_a_reason():
    slot = "electra/encoder/layer_0/output/dense/bias/adam_m"
    assert reason_to_ignore(slot, GOOGLE_IGNORED).startswith("moments of Adam")
    assert reason_to_ignore("global_step", GOOGLE_IGNORED) == "the step counter"
    assert reason_to_ignore("electra/embeddings/word_embeddings", GOOGLE_IGNORED) is None
    assert reason_to_ignore("electra.embeddings.position_ids", HUGGING_FACE_IGNORED)
