"""The sizes of one network."""

from __future__ import annotations

from pydantic import Field, model_validator

from electra_tf.config.section import PositiveFloat, PositiveInt, Rate, Section


class EncoderConfig(Section):
    """The sizes of one transformer encoder.

    Source: google-research/electra at 8a46635, `model/modeling.py` (BertConfig) and
    `util/training_utils.py`; sizes of the released models in `configs/pretrain/`.
    """

    vocab_size: PositiveInt | None = Field(
        default=None,
        description="rows of the word table; null = as many as the records' vocabulary",
    )
    embedding_size: PositiveInt = Field(description="width of the embedding tables")
    hidden_size: PositiveInt = Field(description="width of the transformer")
    num_hidden_layers: PositiveInt = Field(description="transformer layers")
    num_attention_heads: PositiveInt = Field(description="attention heads; divide hidden_size")
    intermediate_size: PositiveInt = Field(description="width inside the feed-forward block")
    max_position_embeddings: PositiveInt = Field(
        description="rows of the position table: the longest input ever, in tokens"
    )
    type_vocab_size: PositiveInt = Field(description="rows of the segment table; 2 = pairs")
    hidden_dropout_rate: Rate = Field(description="dropout on embeddings and block outputs")
    attention_dropout_rate: Rate = Field(description="dropout on attention probabilities")
    initializer_stddev: PositiveFloat = Field(description="truncated normal of kernels and tables")
    layer_norm_epsilon: PositiveFloat = Field(description="added to the variance")

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> EncoderConfig:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size {self.hidden_size} is not a multiple of num_attention_heads "
                f"{self.num_attention_heads}; choose heads that divide it, 64 wide each as a rule"
            )
        return self

    @property
    def needs_projection(self) -> bool:
        """True where embeddings are not as wide as the transformer and are projected."""
        return self.embedding_size != self.hidden_size
