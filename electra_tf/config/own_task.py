"""A task of one's own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from electra_tf.config.section import Section


class OwnTaskConfig(Section):
    """A task of one's own, told in a few lines; files are relative to the YAML's folder."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")] = Field(
        description="lower case; predictions are called NAME_SPLIT_predict.json"
    )
    kind: Literal["single", "pair", "tagging", "span"] = Field(
        description="a label of a text or of a pair, entities in a text, an answer in a context"
    )
    files: dict[Literal["train", "dev", "test"], str] = Field(
        description="train and dev have labels, test has none"
    )
    text: list[str] = Field(
        description="fields or columns of text: one; two of a pair; context and question of spans"
    )
    label: str = Field(
        default="label", description="field or column of the label, the entities or the answer"
    )
    labels: list[str] | None = Field(
        default=None,
        description="classes in their order, or types of entities; null = those of the training "
        "file, sorted (not for tagging)",
    )
    max_length: Annotated[int, Field(ge=16)] | None = Field(
        default=None, description="tokens of an input at most; null = 128, 512 for spans"
    )
    long_text: Literal["cut", "windows"] = Field(
        default="cut", description="a text that is too long loses its end, or is read in windows"
    )
    null_threshold: float | None = Field(
        default=None,
        description="spans: answer nothing above this logit; null = every question has an answer",
    )
