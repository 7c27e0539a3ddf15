"""What each format calls the arrays of an encoder folder: reversible tables, nothing else.

A row is (what it is, our name, their name); `{i}` stands for the number of a layer. Every format
but ours has the same rows for the backbone, under another root and with other leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

# What a row stands for: a table of vectors, a kernel with its bias, a LayerNorm, one bare array.
TABLE, DENSE, NORM, ARRAY = "table", "dense", "norm", "array"
Row = tuple[str, str, str]


@dataclass(frozen=True)
class Rule:
    """One array: our name, theirs, and whether it lies transposed there."""

    ours: str
    theirs: str
    transposed: bool


@dataclass(frozen=True)
class NameTable:
    """One network in one format.

    Fields:
      rules: every array both sides have.
      copies: their name → our name of the array it must equal, for tied weights written twice.
    """

    rules: tuple[Rule, ...]
    copies: Mapping[str, str] = field(default_factory=dict)

    def to_ours(self, theirs: str) -> Rule | None:
        """The rule for their name, the layer filled in; None where we have no such array."""
        return _find(self._by_theirs, theirs, self.rules)

    def to_theirs(self, ours: str) -> Rule:
        """The rule for our name, the layer filled in."""
        rule = _find(self._by_ours, ours, self.rules)
        assert rule is not None, f"no rule for {ours}"
        return rule

    @cached_property
    def _by_theirs(self) -> dict[str, int]:
        return {rule.theirs: index for index, rule in enumerate(self.rules)}

    @cached_property
    def _by_ours(self) -> dict[str, int]:
        return {rule.ours: index for index, rule in enumerate(self.rules)}


_LAYER = re.compile(r"(?<=layer[_.])\d+(?=[/.])")


def _find(places: Mapping[str, int], name: str, rules: tuple[Rule, ...]) -> Rule | None:
    found = _LAYER.search(name)
    place = places.get(_LAYER.sub("{i}", name, count=1))
    if place is None:
        return None
    rule, layer = rules[place], found.group() if found else ""
    return Rule(rule.ours.replace("{i}", layer), rule.theirs.replace("{i}", layer), rule.transposed)


# --- rows ------------------------------------------------------------------------------------


def _backbone(embeddings: str, encoder: str) -> tuple[Row, ...]:
    """Rows of BERT's and ELECTRA's TensorFlow 1 code, under two roots.

    Source: google-research/electra at 8a46635, `model/modeling.py`.
    """
    return (
        (TABLE, "embeddings/word_embeddings", f"{embeddings}/embeddings/word_embeddings"),
        (TABLE, "embeddings/position_embeddings", f"{embeddings}/embeddings/position_embeddings"),
        (
            TABLE,
            "embeddings/token_type_embeddings",
            f"{embeddings}/embeddings/token_type_embeddings",
        ),
        (NORM, "embeddings/layer_norm", f"{embeddings}/embeddings/LayerNorm"),
        (DENSE, "embeddings_project", f"{encoder}/embeddings_project"),
        *(
            (what, f"layer_{{i}}/{ours}", f"{encoder}/encoder/layer_{{i}}/{theirs}")
            for what, ours, theirs in (
                (DENSE, "attention/query", "attention/self/query"),
                (DENSE, "attention/key", "attention/self/key"),
                (DENSE, "attention/value", "attention/self/value"),
                (DENSE, "attention/output", "attention/output/dense"),
                (NORM, "attention/layer_norm", "attention/output/LayerNorm"),
                (DENSE, "feed_forward/intermediate", "intermediate/dense"),
                (DENSE, "feed_forward/output", "output/dense"),
                (NORM, "feed_forward/layer_norm", "output/LayerNorm"),
            )
        ),
    )


def _masked_lm_head(dense: str, norm: str, bias: str) -> tuple[Row, ...]:
    return (
        (DENSE, "masked_lm_head/dense", dense),
        (NORM, "masked_lm_head/layer_norm", norm),
        (ARRAY, "masked_lm_head/output_bias", bias),
    )


def _replaced_token_head(dense: str, output: str) -> tuple[Row, ...]:
    return (
        (DENSE, "replaced_token_head/dense", dense),
        (DENSE, "replaced_token_head/output", output),
    )


def _dotted(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Hugging Face kept the names of TensorFlow 1 and wrote them with dots."""
    return tuple(
        (what, ours, theirs.replace("layer_{i}", "layer.{i}").replace("/", "."))
        for what, ours, theirs in rows
    )


# Row → its arrays: (our leaf, their leaf, lies transposed).
_TENSORFLOW_LEAVES = {
    TABLE: (("", "", False),),
    DENSE: (("/kernel", "/kernel", False), ("/bias", "/bias", False)),
    NORM: (("/gamma", "/gamma", False), ("/beta", "/beta", False)),
    ARRAY: (("", "", False),),
}
_TORCH_LEAVES = {
    TABLE: (("", ".weight", False),),
    DENSE: (("/kernel", ".weight", True), ("/bias", ".bias", False)),
    NORM: (("/gamma", ".weight", False), ("/beta", ".bias", False)),
    ARRAY: (("", "", False),),
}
# Keras' encoders give each variable of an embedding a layer of its own.
_KERAS_LEAVES = _TENSORFLOW_LEAVES | {TABLE: (("", "/embeddings", False),)}
_Leaves = Mapping[str, tuple[tuple[str, str, bool], ...]]


def _table(
    rows: Iterable[Row], leaves: _Leaves, copies: Mapping[str, str] | None = None
) -> NameTable:
    return NameTable(
        tuple(
            Rule(ours + our_leaf, theirs + their_leaf, transposed)
            for what, ours, theirs in rows
            for our_leaf, their_leaf, transposed in leaves[what]
        ),
        copies or {},
    )


# --- tables ----------------------------------------------------------------------------------


def google_discriminator() -> NameTable:
    """The discriminator in a checkpoint of google-research/electra."""
    head = _replaced_token_head(
        "discriminator_predictions/dense", "discriminator_predictions/dense_1"
    )
    return _table(_backbone("electra", "electra") + head, _TENSORFLOW_LEAVES)


def google_generator(embeddings: str = "electra", encoder: str = "generator") -> NameTable:
    """The generator in a checkpoint of google-research/electra.

    Args:
      embeddings: root of its tables; `generator` where they are not shared.
      encoder: root of its layers; `electra` where one transformer plays both roles, or where the
        checkpoint is of plain masked-language-model training.
    """
    head = _masked_lm_head(
        "generator_predictions/dense",
        "generator_predictions/LayerNorm",
        "generator_predictions/output_bias",
    )
    return _table(_backbone(embeddings, encoder) + head, _TENSORFLOW_LEAVES)


def hugging_face_discriminator() -> NameTable:
    """`ElectraForPreTraining`."""
    head = _replaced_token_head(
        "discriminator_predictions.dense", "discriminator_predictions.dense_prediction"
    )
    return _table(_dotted(_backbone("electra", "electra")) + head, _TORCH_LEAVES)


def hugging_face_generator() -> NameTable:
    """`ElectraForMaskedLM`."""
    head = _masked_lm_head(
        "generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias"
    )
    copies = {"generator_lm_head.weight": "embeddings/word_embeddings"}
    return _table(_dotted(_backbone("electra", "electra")) + head, _TORCH_LEAVES, copies)


def google_bert(with_head: bool) -> NameTable:
    """BERT in a checkpoint of google-research/bert; the masked-LM head is a generator's."""
    head = _masked_lm_head(
        "cls/predictions/transform/dense",
        "cls/predictions/transform/LayerNorm",
        "cls/predictions/output_bias",
    )
    return _table(_backbone("bert", "bert") + (head if with_head else ()), _TENSORFLOW_LEAVES)


def hugging_face_bert(with_head: bool) -> NameTable:
    """`BertForPreTraining`, `BertForMaskedLM`, `BertModel`."""
    head = _masked_lm_head(
        "cls.predictions.transform.dense",
        "cls.predictions.transform.LayerNorm",
        "cls.predictions.bias",
    )
    copies = {
        "cls.predictions.decoder.weight": "embeddings/word_embeddings",
        "cls.predictions.decoder.bias": "masked_lm_head/output_bias",
    }
    return _table(
        _dotted(_backbone("bert", "bert")) + (head if with_head else ()),
        _TORCH_LEAVES,
        copies if with_head else {},
    )


def model_garden_encoder() -> NameTable:
    """`BertEncoderV2` of tf-models-official; heads of attention are an axis of their own there."""
    rows = (
        (TABLE, "embeddings/word_embeddings", "word_embeddings"),
        (TABLE, "embeddings/position_embeddings", "position_embedding"),
        (TABLE, "embeddings/token_type_embeddings", "type_embeddings"),
        (NORM, "embeddings/layer_norm", "embeddings/layer_norm"),
        (DENSE, "embeddings_project", "embedding_projection"),
        *(
            (what, f"layer_{{i}}/{ours}", f"transformer/layer_{{i}}/{theirs}")
            for what, ours, theirs in (
                (DENSE, "attention/query", "self_attention/query"),
                (DENSE, "attention/key", "self_attention/key"),
                (DENSE, "attention/value", "self_attention/value"),
                (DENSE, "attention/output", "self_attention/attention_output"),
                (NORM, "attention/layer_norm", "self_attention_layer_norm"),
                (DENSE, "feed_forward/intermediate", "intermediate"),
                (DENSE, "feed_forward/output", "output"),
                (NORM, "feed_forward/layer_norm", "output_layer_norm"),
            )
        ),
    )
    return _table(rows, _KERAS_LEAVES)


def keras_hub_backbone() -> NameTable:
    """`ElectraBackbone` of KerasHub, by the paths of its variables."""
    rows = (
        (TABLE, "embeddings/word_embeddings", "token_embedding"),
        (TABLE, "embeddings/position_embeddings", "position_embedding"),
        (TABLE, "embeddings/token_type_embeddings", "segment_embedding"),
        (NORM, "embeddings/layer_norm", "embeddings_layer_norm"),
        (DENSE, "embeddings_project", "embeddings_projection"),
        *(
            (what, f"layer_{{i}}/{ours}", f"transformer_layer_{{i}}/{theirs}")
            for what, ours, theirs in (
                (DENSE, "attention/query", "self_attention_layer/query"),
                (DENSE, "attention/key", "self_attention_layer/key"),
                (DENSE, "attention/value", "self_attention_layer/value"),
                (DENSE, "attention/output", "self_attention_layer/attention_output"),
                (NORM, "attention/layer_norm", "self_attention_layer_norm"),
                (DENSE, "feed_forward/intermediate", "feedforward_intermediate_dense"),
                (DENSE, "feed_forward/output", "feedforward_output_dense"),
                (NORM, "feed_forward/layer_norm", "feedforward_layer_norm"),
            )
        ),
    )
    return _table(rows, _KERAS_LEAVES)


# --- what is left behind ---------------------------------------------------------------------

# (pattern of the whole name, why it is of no use to an encoder folder)
Reasons = tuple[tuple[str, str], ...]

GOOGLE_IGNORED: Reasons = (
    (r"global_step", "the step counter"),
    (r".*/adam_[mv]", "moments of Adam; only --to tf1 --with-optimizer keeps them"),
    (r"generator_predictions/temperature", "a stray number of released checkpoints, never used"),
    (r"task_specific/.*", "head of a fine-tuned task"),
)
BERT_IGNORED: Reasons = (
    (r"(bert[/.])pooler[/.].*", "BERT's pooler; ELECTRA has none"),
    (r"cls[/.]seq_relationship[/.].*", "next-sentence head; ELECTRA has none"),
    (r"cls[/.]predictions[/.].*", "masked-LM head; a discriminator has none"),
)
HUGGING_FACE_IGNORED: Reasons = (
    (r".*\.position_ids", "the numbers 0, 1, 2, …, made anew when needed"),
    (r".*\.token_type_ids", "a buffer of zeros, made anew when needed"),
    (r"classifier\..*|qa_outputs\..*|sequence_summary\..*", "head of a fine-tuned task"),
)


def reason_to_ignore(name: str, reasons: Reasons) -> str | None:
    """Why an array of theirs is left behind; None = nobody knows it."""
    return next((why for pattern, why in reasons if re.fullmatch(pattern, name)), None)
