"""Networks that start a run: what fits, what is refused, what becomes of each array."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from electra_tf.encoder_folder import EncoderFolder, embedding_shapes, expected_shapes
from electra_tf.network.weights import named_weights
from electra_tf.pretrain.initialize import InitialNetwork, check_fit, describe, initialize
from electra_tf.pretrain.objectives.electra import Electra


def network(run, kind="discriminator", origin="runs/a", seed=0, **sizes) -> InitialNetwork:
    """Random weights in the sizes of a run, or in others."""
    config = getattr(run, kind).model_copy(update=sizes)
    shared, rng = np.random.default_rng(seed), np.random.default_rng(seed + len(kind))
    weights = {
        name: (shared if name.startswith("embeddings/") else rng).normal(size=shape)
        for name, shape in expected_shapes(config, kind).items()
    }
    folder = EncoderFolder(
        kind=kind,
        config=config,
        tokenizer_settings={"lower_case": True, "vocabulary_sha256": "0"},
        weights={name: array.astype(np.float32) for name, array in weights.items()},
        vocabulary_file="vocab.txt",
        vocabulary=b"",
        provenance={},
    )
    return InitialNetwork(origin, folder)


def with_weights(network, weights) -> InitialNetwork:
    return network._replace(folder=replace(network.folder, weights=weights))


def without(network, *parts) -> InitialNetwork:
    weights = network.folder.weights
    return with_weights(
        network, {n: w for n, w in weights.items() if not any(part in n for part in parts)}
    )


def refusal(networks, run, vocabulary) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the caller looks at the message)
        check_fit(networks, run, vocabulary)
    return str(caught.value)


# --- what fits -------------------------------------------------------------------------------


def test_networks_of_the_run_s_sizes_fit_alone_and_together(make_run, vocabulary):
    run = make_run()
    pair = [network(run), network(run, "generator")]
    for networks in ([], pair[:1], pair[1:], pair):
        check_fit(networks, run, vocabulary)


def test_a_missing_head_and_layers_above_those_of_the_run_are_no_fault(make_run, vocabulary):
    run = make_run()
    check_fit([without(network(run), "replaced_token_head")], run, vocabulary)
    check_fit([network(run, num_hidden_layers=3)], run, vocabulary)


def test_dropout_and_the_spread_of_first_weights_may_be_chosen_anew(make_run, vocabulary):
    run = make_run()
    other = network(run, hidden_dropout_rate=0.3, attention_dropout_rate=0.2, initializer_stddev=1)
    check_fit([other], run, vocabulary)


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [16, 64])
def test_another_position_table_is_refused_with_the_options_that_make_it_fit(
    make_run, vocabulary, rows
):
    run = make_run()
    message = refusal([network(run, max_position_embeddings=rows)], run, vocabulary)
    assert message.startswith("runs/a: does not cover the discriminator of this run:")
    assert f"embeddings/position_embeddings has shape ({rows}, 12), expected (32, 12)" in message
    assert "0 missing, 0 unexpected, 1 mismatched; give the run its sizes:" in message
    options = f"discriminator.max_position_embeddings={rows} --set generator.max_position_embedd"
    assert options in message


def test_a_wider_network_is_refused_and_only_its_own_section_is_changed(make_run, vocabulary):
    run = make_run()
    message = refusal([network(run, "generator", hidden_size=16)], run, vocabulary)
    assert "layer_0/attention/query/kernel has shape (16, 16), expected (8, 8)" in message
    assert "… and " in message
    assert message.endswith("give the run its sizes:\n  --set generator.hidden_size=16")


def test_a_backbone_that_is_not_covered_is_refused(make_run, vocabulary):
    run = make_run()
    message = refusal([network(run, num_hidden_layers=1)], run, vocabulary)
    assert "missing layer_1/attention/query/kernel" in message
    assert "--set discriminator.num_hidden_layers=1" in message
    message = refusal([without(network(run), "word_embeddings")], run, vocabulary)
    assert "missing embeddings/word_embeddings" in message
    assert "--set" not in message


def test_what_no_shape_shows_is_compared_too(make_run, vocabulary):
    run = make_run()
    message = refusal([network(run, num_attention_heads=4)], run, vocabulary)
    assert "num_attention_heads is 4, the run has 2" in message
    message = refusal([network(run, layer_norm_epsilon=1e-5)], run, vocabulary)
    assert "layer_norm_epsilon is 1e-05, the run has 1e-12" in message
    assert "--set generator.layer_norm_epsilon=1e-05" in message


def test_another_vocabulary_is_refused(make_run, vocabulary):
    run = make_run()
    facts = vocabulary.model_copy(update={"sha256": "f" * 64, "size": 41})
    message = refusal([network(run)], run, facts)
    assert "another vocabulary (40 tokens, sha256 0) than the records" in message
    assert "(41 tokens, sha256 ffffffffffff)" in message
    assert "(--vocab …/vocab.txt)" in message


def test_two_networks_of_a_kind_and_two_that_share_no_embeddings_are_refused(make_run, vocabulary):
    run = make_run()
    message = refusal([network(run), network(run, origin="runs/b")], run, vocabulary)
    assert message.startswith("runs/a and runs/b: a run has one discriminator")
    strangers = [network(run), network(run, "generator", "runs/b", seed=1)]
    message = refusal(strangers, run, vocabulary)
    assert message.startswith("runs/a and runs/b: their embeddings differ (embeddings/word_")


# --- what becomes of it ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def objective(make_run, vocabulary):
    return Electra(make_run(), vocabulary)


def values(objective, kind) -> dict[str, np.ndarray]:
    encoder, head = objective.networks[kind]
    return {name: v.numpy() for name, v in (named_weights(encoder) | named_weights(head)).items()}


def same(ours, theirs) -> list[str]:
    return [name for name in ours if np.array_equal(ours[name], theirs[name])]


def test_both_networks_take_every_array(make_run, objective):
    run = make_run()
    pair = [network(run, "generator", "runs/b"), network(run)]
    lines = list(initialize(objective, pair, {"lower_case": True}))
    assert lines == [
        "discriminator: starts from runs/a, 43 tensors loaded, 0 missing, 0 unexpected, 0 "
        "mismatched",
        "generator: starts from runs/b, 44 tensors loaded, 0 missing, 0 unexpected, 0 mismatched",
    ]
    for initial in pair:
        found = values(objective, initial.folder.kind)
        assert same(found, initial.folder.weights) == list(found)


def test_a_single_network_brings_the_embeddings_and_leaves_the_other_alone(make_run, objective):
    before = values(objective, "discriminator")
    initial = network(make_run(), "generator", seed=5)
    lines = list(initialize(objective, [initial], {}))
    assert lines[0] == "discriminator: starts at random, but for the embeddings it shares"
    after = values(objective, "discriminator")
    changed = set(after) - set(same(before, after))
    assert changed == set(embedding_shapes(make_run().discriminator))


def test_what_is_missing_left_out_or_read_otherwise_is_told(make_run, objective):
    run = make_run()
    initial = without(network(run, num_hidden_layers=3, seed=7), "replaced_token_head/output")
    initial = initial._replace(notes=("left out: adam_m (optimizer)",))
    lines = list(initialize(objective, [initial], {"lower_case": False, "strip_accents": True}))
    assert "41 tensors loaded, 2 missing, 16 unexpected, 0 mismatched" in lines[0]
    assert lines[1:5] == [
        "  missing, so at random: replaced_token_head/output/kernel, "
        "replaced_token_head/output/bias",
        "  unexpected, so left out: "
        + ", ".join(f"layer_2/attention/{p}" for p in ("query/kernel", "query/bias"))
        + ", "
        + ", ".join(f"layer_2/attention/{p}" for p in ("key/kernel", "key/bias"))
        + ", "
        + ", ".join(f"layer_2/attention/{p}" for p in ("value/kernel", "value/bias"))
        + " and 10 more",
        "  left out: adam_m (optimizer)",
        "  note: it was trained with lower_case True, the records were built with False",
    ]


def test_a_start_is_known_by_its_weights_wherever_they_lie(make_run):
    first, moved = (describe(network(make_run(), origin=o)) for o in ("a", "b"))
    assert (first["path"], moved["path"]) == ("a", "b")
    assert first["kind"] == "discriminator"
    assert first["weights_sha256"] == moved["weights_sha256"]
    other = network(make_run())
    other.folder.weights["layer_0/attention/query/bias"][0] += 1
    assert describe(other)["weights_sha256"] != first["weights_sha256"]
