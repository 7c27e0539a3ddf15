"""A preset is read by KerasHub, whose GELU alone makes its numbers others than ours."""

from __future__ import annotations

import json
from dataclasses import replace

import h5py
import numpy as np
import pytest
import tensorflow as tf

from electra_tf.exchange.keras_hub import write_keras_hub
from electra_tf.exchange.model_garden import build_bert_encoder

IDS = np.array([[2, 5, 6, 3, 8, 15, 14, 3], [2, 11, 12, 4, 3, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]])
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0] * 8, [0] * 8])


@pytest.fixture(params=[8, 64], ids=["projected", "equal widths"])
def folder(make_pair, request):
    pair = make_pair(embedding_size=request.param, widths=(64, 64), heads=(4, 2), scale=0.15)
    return pair["discriminator"]


def test_a_preset_is_complete_and_tells_what_differs(tmp_path, folder):
    notes = write_keras_hub(tmp_path, folder)
    files = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert files == {
        "config.json",
        "metadata.json",
        "model.weights.h5",
        "tokenizer.json",
        "assets/tokenizer/vocabulary.txt",
    }
    config = json.loads((tmp_path / "config.json").read_text())["config"]
    assert (config["hidden_dim"], config["num_heads"]) == (64, 4)
    told = next(note for note in notes if "GELU by tanh" in note)
    assert 1e-4 < float(told.rpartition(" ")[2]) < 1e-2
    with h5py.File(tmp_path / "model.weights.h5") as file:
        stored = file["layers/transformer_encoder_1/_self_attention_layer/output_dense/vars/0"]
        expected = folder.weights["layer_1/attention/output/kernel"].reshape(4, 16, 64)
        np.testing.assert_array_equal(stored, expected)


def test_a_sentencepiece_model_is_refused(tmp_path, folder):
    with pytest.raises(ValueError, match=r"the vocabulary is a spiece\.model"):
        write_keras_hub(tmp_path, replace(folder, vocabulary_file="spiece.model"))


@pytest.mark.oracle
def test_keras_hub_reads_it_and_computes_what_gelu_by_tanh_gives(tmp_path, folder):
    keras_hub = pytest.importorskip("keras_hub", reason="needs the extra `oracle`")
    write_keras_hub(tmp_path, folder)
    backbone = keras_hub.models.ElectraBackbone.from_preset(str(tmp_path))
    inputs = {"token_ids": IDS, "segment_ids": SEGMENTS, "padding_mask": (IDS != 0).astype("i4")}
    theirs = backbone(inputs)["sequence_output"].numpy()
    tanh = build_bert_encoder(folder, lambda x: tf.nn.gelu(x, approximate=True))
    expected = tanh(
        {
            "input_word_ids": tf.constant(IDS),
            "input_mask": tf.constant((IDS != 0).astype(np.int32)),
            "input_type_ids": tf.constant(SEGMENTS),
        },
        training=False,
    )["sequence_output"].numpy()
    real = IDS != 0
    np.testing.assert_allclose(theirs[real], expected[real], rtol=0, atol=1e-5)
    tokenizer = keras_hub.models.ElectraTokenizer.from_preset(str(tmp_path))
    assert np.asarray(tokenizer("今天气很好")).tolist() == [5, 6, 7, 8, 9]
    assert tokenizer.vocabulary_size() == folder.config.vocab_size
