"""The encoder and its heads against a second forward pass, in NumPy and float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.network.attention import padding_scores
from electra_tf.network.embeddings import positions_in_sequences
from electra_tf.network.weights import named_weights

ERF = np.vectorize(math.erf)


def gelu(x):
    return x * (1 + ERF(x / math.sqrt(2))) / 2


def softmax(x):
    exponents = np.exp(x - x.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)


class Paper:
    """ELECTRA's formulas, row by row and head by head, over a dictionary of weights."""

    def __init__(self, weights, config):
        self.weights = {name: v.numpy().astype(np.float64) for name, v in weights.items()}
        self.config = config

    def dense(self, name, x):
        return x @ self.weights[f"{name}/kernel"] + self.weights[f"{name}/bias"]

    def layer_norm(self, name, x):
        deviation = x - x.mean(-1, keepdims=True)
        variance = (deviation**2).mean(-1, keepdims=True)
        normal = deviation / np.sqrt(variance + self.config.layer_norm_epsilon)
        return normal * self.weights[f"{name}/gamma"] + self.weights[f"{name}/beta"]

    def attention(self, name, x, is_token):
        """Returns context and probabilities of one row; keys that are padding are left out."""
        query, key, value = (self.dense(f"{name}/{p}", x) for p in ("query", "key", "value"))
        width = self.config.hidden_size // self.config.num_attention_heads
        contexts, probabilities = [], []
        for head in range(self.config.num_attention_heads):
            part = slice(head * width, (head + 1) * width)
            scores = query[:, part] @ key[:, part].T / math.sqrt(width)
            share = softmax(np.where(is_token, scores, -np.inf))
            contexts.append(share @ value[:, part])
            probabilities.append(share)
        return np.concatenate(contexts, -1), np.stack(probabilities)

    def encode(self, ids, segments):
        """One row → hidden states and the attention probabilities of every layer."""
        table = self.weights
        x = (
            table["embeddings/word_embeddings"][ids]
            + table["embeddings/position_embeddings"][: len(ids)]
            + table["embeddings/token_type_embeddings"][segments]
        )
        x = self.layer_norm("embeddings/layer_norm", x)
        if self.config.needs_projection:
            x = self.dense("embeddings_project", x)
        states, probabilities = [x], []
        for index in range(self.config.num_hidden_layers):
            name = f"layer_{index}/attention"
            context, share = self.attention(name, x, ids != 0)
            x = self.layer_norm(f"{name}/layer_norm", x + self.dense(f"{name}/output", context))
            name = f"layer_{index}/feed_forward"
            inner = gelu(self.dense(f"{name}/intermediate", x))
            x = self.layer_norm(f"{name}/layer_norm", x + self.dense(f"{name}/output", inner))
            states.append(x)
            probabilities.append(share)
        return states, probabilities

    def masked_lm(self, x):
        x = gelu(self.dense("masked_lm_head/dense", x))
        x = self.layer_norm("masked_lm_head/layer_norm", x)
        bias = self.weights["masked_lm_head/output_bias"]
        return x @ self.weights["embeddings/word_embeddings"].T + bias

    def replaced(self, x):
        x = gelu(self.dense("replaced_token_head/dense", x))
        return self.dense("replaced_token_head/output", x)[:, 0]


@pytest.fixture(params=[12, 16], ids=["projected", "as wide as hidden"])
def network(request, make_config, make_networks, randomize):
    config = make_config(embedding_size=request.param)
    layers = make_networks(config)
    randomize(*layers)
    weights = {}
    for layer in layers[1:]:
        weights |= named_weights(layer)
    return layers, Paper(weights, config)


def test_every_hidden_state_is_that_of_the_formulas(network, batch):
    (_, encoder, _, _), paper = network
    states = encoder.hidden_states(*batch)
    for row, (ids, segments) in enumerate(zip(*(x.numpy() for x in batch), strict=True)):
        expected, _ = paper.encode(ids, segments)
        assert len(states) == len(expected)
        for ours, theirs in zip(states, expected, strict=True):
            np.testing.assert_allclose(ours[row], theirs, atol=1e-5)
    np.testing.assert_array_equal(encoder(*batch), states[-1])


def test_attention_probabilities_are_those_of_the_formulas(network, batch):
    (_, encoder, _, _), paper = network
    states, padding = encoder.hidden_states(*batch), padding_scores(batch[0] != 0)
    for index, layer in enumerate(encoder.transformer_layers):
        ours = layer.attention.probabilities(states[index], padding)
        for row, (ids, segments) in enumerate(zip(*(x.numpy() for x in batch), strict=True)):
            _, theirs = paper.encode(ids, segments)
            np.testing.assert_allclose(ours[row], theirs[index], atol=1e-5)


def test_both_heads_give_the_logits_of_the_formulas(network, batch):
    (_, encoder, masked_lm, replaced), paper = network
    hidden = encoder(*batch)
    mlm_logits, logits = masked_lm(hidden), replaced(hidden)
    assert mlm_logits.shape == (3, 8, 40)
    assert logits.shape == (3, 8)
    for row in range(3):
        values = hidden[row].numpy().astype(np.float64)
        np.testing.assert_allclose(mlm_logits[row], paper.masked_lm(values), atol=1e-5)
        np.testing.assert_allclose(logits[row], paper.replaced(values), atol=1e-5)


def test_padding_changes_nothing_for_the_tokens_before_it(network, batch):
    (_, encoder, _, _), _ = network
    ids, segments = batch
    short = encoder(ids[1:2, :5], segments[1:2, :5])
    np.testing.assert_allclose(encoder(ids, segments)[1:2, :5], short, atol=1e-5)


def test_rows_do_not_see_each_other(network, batch):
    (_, encoder, _, _), _ = network
    ids, segments = batch
    alone = encoder(ids[:1], segments[:1])
    np.testing.assert_allclose(encoder(ids, segments)[:1], alone, atol=1e-5)


def test_positions_begin_anew_in_each_sequence():
    sequences = tf.constant([[1, 1, 1, 2, 3, 3, 0, 0], [1] * 8, [0] * 8])
    expected = [[0, 1, 2, 0, 0, 1, 0, 1], list(range(8)), list(range(8))]
    assert positions_in_sequences(sequences).numpy().tolist() == expected


def test_each_sequence_of_a_packed_row_is_read_as_if_it_stood_alone(network, batch):
    (_, encoder, _, _), _ = network
    ids, segments = (column.numpy() for column in batch)
    alone = [
        encoder(ids[row : row + 1, :n], segments[row : row + 1, :n])
        for row, n in ((1, 5), (0, 4), (2, 1))
    ]
    packed = [
        np.concatenate([column[1, :5], column[0, :4], column[2, :1]])[None]
        for column in (ids, segments)
    ]
    # The first row fills all ten places; in the second one all after the first sequence is padding.
    full, short = [1] * 5 + [2] * 4 + [3], [1] * 5 + [0] * 5
    hidden = encoder(
        *(np.repeat(column, 2, axis=0) for column in packed),
        sequence_ids=tf.constant([full, short]),
    )
    np.testing.assert_allclose(hidden[0], np.concatenate(alone, axis=1)[0], atol=1e-5)
    np.testing.assert_allclose(hidden[1, :5], alone[0][0], atol=1e-5)


def test_a_single_sequence_with_its_id_is_read_as_without(network, batch):
    (_, encoder, _, _), _ = network
    real = batch[0] != 0
    named = encoder(*batch, sequence_ids=tf.cast(real, tf.int32))
    np.testing.assert_allclose(named[real], encoder(*batch)[real], atol=1e-5)


def test_only_packed_rows_pay_for_a_mask_of_every_pair(network, batch):
    (_, encoder, _, _), _ = network

    def shapes(**options):
        graph = tf.function(lambda: encoder(*batch, **options)).get_concrete_function().graph
        return [
            tuple(out.shape)
            for op in graph.get_operations()
            for out in op.outputs
            if out.shape.rank == 4
        ]

    every_pair = (3, 1, 8, 8)
    assert every_pair not in shapes()
    assert every_pair in shapes(sequence_ids=tf.ones([3, 8], tf.int32))
