"""How text becomes records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from electra_tf.config.section import PositiveInt, Rate, Section, Seed


class RecordsConfig(Section):
    """How text becomes records.

    Source of the two probabilities: google-research/electra at 8a46635,
    `build_pretraining_dataset.py`.
    """

    seed: Seed = Field(description="of segments, short examples and shuffling")
    max_length: Annotated[int, Field(ge=8)] = Field(description="tokens of an example at most")
    segmenter: Literal["auto", "jieba", "rjieba", "given", "characters"] = Field(
        description="who finds the words; auto = rjieba, jieba where an option needs it"
    )
    # YAML has lists where a frozen config has tuples, so this one is not strict.
    user_dictionaries: tuple[str, ...] = Field(
        strict=False, description="files of words of one's own, in jieba's format; jieba reads them"
    )
    lower_case: bool = Field(description="fold upper case")
    strip_accents: bool = Field(description="drop combining marks")
    max_unit_tokens: PositiveInt = Field(description="longer words are cut finer")
    one_segment_rate: Rate = Field(description="examples with a single segment")
    short_example_rate: Rate = Field(description="examples of a random shorter length")
    packed: bool = Field(description="short examples share a row, none seeing another")
    held_out_rate: Rate = Field(description="share of the documents kept for evaluation")
    vocab_size: PositiveInt = Field(description="of a vocabulary built from the corpus")
    examples_per_shard: PositiveInt = Field(description="examples of one file at most")
