"""A SavedModel around a network: signatures for texts, token ids and vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import tensorflow as tf

from electra_tf.batches import PAD_ID
from electra_tf.serving.answers import Answers, ModelInputs, Outputs, embed

TEXT, IDS, EMBEDDING = "serving_default", "ids", "embedding"


class TextToInputs(Protocol):
    """Texts into inputs, in graph: what `chinese.model_inputs.TextToInputs` does.

    Fields:
      max_length: tokens of a row at most.
    """

    max_length: int

    def of_texts(self, texts: tf.Tensor) -> ModelInputs:
        """Reads string [B]."""

    def of_pairs(self, texts: tf.Tensor, pairs: tf.Tensor) -> ModelInputs:
        """Reads two strings [B]."""


def write_saved_model(path: str | Path, answers: Answers, text_to_inputs: TextToInputs) -> None:
    """Writes `saved_model.pb` and `variables/` into a folder.

    By TensorFlow's own writer, not Keras' ExportArchive: that would store the layers as objects of
    Keras beside the graph, and give every signature a graph of its own.

    Args:
      path: the folder.
      answers: the network with its head.
      text_to_inputs: a `tf.Module` with the tokenizer the network was trained with.
    """
    served = _Served(answers, text_to_inputs)
    # Gradients of ours would be saved beside the graph; nobody trains on a server.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(served, str(path), served.signatures(), options)


class _Served(tf.Module):
    """What is saved: the variables, the tokenizer, and the functions over both."""

    def __init__(self, answers: Answers, text_to_inputs: TextToInputs) -> None:
        super().__init__(name="served")
        variables = {id(v): v.value for layer in answers.layers for v in layer.weights}
        self.network_variables = list(variables.values())
        self.text_to_inputs = text_to_inputs
        self._max_length = text_to_inputs.max_length
        self._answers = _Untracked(answers)

    def signatures(self) -> dict[str, tf.types.experimental.ConcreteFunction]:
        pair = self._answers.it.takes_pairs
        texts = [_strings("text"), _strings("text_pair")][: 2 if pair else 1]
        ids = [_integers("input_ids", 2), _integers("segment_ids", 2)][: 2 if pair else 1]
        return {
            TEXT: _traced(self._of_texts, texts),
            IDS: _traced(self._of_ids, [*ids, _integers("length", 1)]),
            EMBEDDING: _traced(self._embed, [_strings("text")]),
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], dtype) for dtype in (*[tf.int32] * 2, tf.bool)
        ],
        autograph=False,
    )
    def _encode(self, ids: tf.Tensor, segments: tf.Tensor, is_real: tf.Tensor) -> tf.Tensor:
        """float32 [B, L, H]. A function of its own, so that all signatures share one graph."""
        return self._answers.it.encoder(ids, segments, is_real=is_real)

    def _of_texts(self, text: tf.Tensor, text_pair: tf.Tensor | None = None) -> Outputs:
        inputs, hidden = self._read(text, text_pair)
        outputs = self._answers.it.of_inputs(hidden, inputs)
        return outputs | {"is_truncated": inputs.is_truncated}

    def _embed(self, text: tf.Tensor) -> Outputs:
        inputs, hidden = self._read(text, None)
        return embed(hidden, inputs) | {"is_truncated": inputs.is_truncated}

    def _read(self, text: tf.Tensor, text_pair: tf.Tensor | None) -> tuple[ModelInputs, tf.Tensor]:
        reader = self.text_to_inputs
        inputs = reader.of_texts(text) if text_pair is None else reader.of_pairs(text, text_pair)
        is_real = inputs.input_ids != PAD_ID
        return inputs, self._encode(inputs.input_ids, inputs.segment_ids, is_real)

    def _of_ids(
        self, input_ids: tf.Tensor, length: tf.Tensor, segment_ids: tf.Tensor | None = None
    ) -> Outputs:
        # A mask would be padded by the server with its own first element, which is 1.
        is_real = tf.sequence_mask(length, tf.shape(input_ids)[1])[:, : self._max_length]
        ids = tf.where(is_real, input_ids[:, : self._max_length], PAD_ID)
        segments = tf.zeros_like(ids)
        if segment_ids is not None:
            segments = tf.where(is_real, segment_ids[:, : self._max_length], 0)
        outputs = self._answers.it.of_ids(self._encode(ids, segments, is_real), is_real)
        return outputs | {"is_truncated": length > self._max_length}


class _Untracked:
    """Hides an object from TensorFlow, which would save Keras' layers with all they hold."""

    def __init__(self, it: Answers) -> None:
        self.it = it


def _traced(function, specs: list[tf.TensorSpec]) -> tf.types.experimental.ConcreteFunction:
    by_name = {spec.name: spec for spec in specs}
    return tf.function(function, autograph=False).get_concrete_function(**by_name)


def _strings(name: str) -> tf.TensorSpec:
    return tf.TensorSpec([None], tf.string, name)


def _integers(name: str, rank: int) -> tf.TensorSpec:
    return tf.TensorSpec([None] * rank, tf.int32, name)
