"""Every knob of a run: typed, frozen, with its unit and its source. Imports no TensorFlow."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Rate = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
PositiveFloat = Annotated[float, Field(gt=0.0)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
NonNegativeFloat = Annotated[float, Field(ge=0.0)]
MomentDecay = Annotated[float, Field(ge=0.0, lt=1.0)]


class Section(BaseModel):
    """One section of a YAML file. Unknown keys and values of another type are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


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


class ObjectiveConfig(Section):
    """What is trained: the ELECTRA losses and how the generator's tokens are drawn."""

    name: Literal["electra"] = Field(description="the pre-training objective")
    generator_weight: NonNegativeFloat = Field(description="weight of the masked-LM loss")
    discriminator_weight: NonNegativeFloat = Field(description="weight of the detection loss")
    temperature: PositiveFloat = Field(description="divides the generator's logits when drawing")


class DataConfig(Section):
    """Which records a run expects."""

    max_length: Annotated[int, Field(ge=8)] = Field(
        description="tokens of an example, special tokens included; the records must agree"
    )


class MaskingConfig(Section):
    """What is hidden from the generator. The algorithm is told in `pretrain/masking.py`."""

    mode: Literal["token", "whole_word", "ngram", "span", "reference"] = Field(
        description="what is hidden together; reference = tokens, drawn as upstream draws them"
    )
    mask_rate: Rate = Field(description="share of the real tokens that is hidden")
    mask_token_rate: Rate = Field(
        description="share of the hidden tokens that the generator sees as [MASK]"
    )
    random_token_rate: Rate = Field(
        description="share it sees as a random token; what is left keeps its token"
    )
    max_unit_tokens: PositiveInt = Field(
        description="longest unit in tokens; the records' units must not be longer"
    )

    @model_validator(mode="after")
    def _rates_are_shares_of_one(self) -> MaskingConfig:
        if self.mask_token_rate + self.random_token_rate > 1 + 1e-9:
            raise ValueError(
                f"masking.mask_token_rate {self.mask_token_rate} and masking.random_token_rate "
                f"{self.random_token_rate} are more than 1 together; lower one of them"
            )
        return self


class OptimizerConfig(Section):
    """How gradients become updates. The three rules are told in `training/optimizer.py`.

    Source of the numbers of `electra_adam`: google-research/electra at 8a46635,
    `model/optimization.py`.
    """

    name: Literal["electra_adam", "adamw", "lamb"] = Field(
        description="electra_adam = no bias correction; adamw = with it; lamb = for large batches"
    )
    learning_rate: PositiveFloat = Field(description="peak rate, before warm-up and decay")
    weight_decay_rate: NonNegativeFloat = Field(description="decoupled; not on biases, LayerNorm")
    beta_1: MomentDecay = Field(description="decay of the first moment")
    beta_2: MomentDecay = Field(description="decay of the second moment")
    epsilon: PositiveFloat = Field(description="added to the root of the second moment")
    clip_norm: PositiveFloat = Field(description="largest global norm of the gradients")


class ReferenceSchedule(Section):
    """rate(t) = learning_rate · (1 - t / train_steps)^decay_power · min(1, t / warmup_steps).

    Warm-up multiplies the decay, so the peak is a little below `learning_rate`; t counts from 0,
    so the first update has rate 0.
    Source: google-research/electra at 8a46635, `model/optimization.py`.
    """

    name: Literal["reference"]
    warmup_steps: NonNegativeInt = Field(description="steps of linear warm-up; 0 = none")
    decay_power: NonNegativeFloat = Field(description="1 = linear decay to zero; 0 = none")


class WarmupStableDecaySchedule(Section):
    """rate(t) = learning_rate · min(1, t / warmup_steps), times 1 - √(share) in the last steps.

    The share is that of the last `decay_steps` which has passed. Where training ends need not be
    known at the start: a run in its constant phase can be made longer.
    Source: Hägele et al. 2024, arXiv 2405.18392, section 3 (the 1-sqrt cooldown, better there than
    a linear one; a fifth of all steps is enough); Hu et al. 2024, arXiv 2404.06395, for the name.
    """

    name: Literal["warmup_stable_decay"]
    warmup_steps: NonNegativeInt = Field(description="steps of linear warm-up; 0 = none")
    decay_steps: PositiveInt = Field(description="steps of decay to zero, the last of the run")


class ConstantSchedule(Section):
    """rate(t) = learning_rate · min(1, t / warmup_steps)."""

    name: Literal["constant"]
    warmup_steps: NonNegativeInt = Field(description="steps of linear warm-up; 0 = none")


ScheduleConfig = Annotated[
    ReferenceSchedule | WarmupStableDecaySchedule | ConstantSchedule, Field(discriminator="name")
]


class TrainingConfig(Section):
    """How long, in what portions and in what precision a run trains."""

    train_steps: PositiveInt = Field(
        description="updates of the whole run; the learning rate follows them, whatever ends it"
    )
    max_tokens: PositiveInt | None = Field(
        default=None, description="tokens, padding left out, after which the run ends; null = none"
    )
    max_minutes: PositiveFloat | None = Field(
        default=None,
        description="minutes of running, all starts together, after which it ends; null = none",
    )
    batch_size: PositiveInt = Field(description="examples of one update, over all devices")
    accumulation_steps: PositiveInt = Field(
        description="micro-batches of one update on each device; divides its share of the batch"
    )
    strategy: Literal["auto", "one_device", "mirrored"] = Field(
        description="auto = one device, or all GPUs of this machine where it has several"
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        description="operands of the matrix products; everything else is float32. float16, for "
        "GPUs without bfloat16, scales the loss"
    )
    xla: bool = Field(description="compile forward and backward pass with XLA")
    report_every_steps: PositiveInt = Field(description="steps between two reported lines")
    checkpoint_every_steps: PositiveInt = Field(description="steps between two checkpoints")
    keep_checkpoints: PositiveInt = Field(description="newest checkpoints that are kept")
    max_skipped_steps: NonNegativeInt = Field(
        description="updates in a row that may be skipped for a gradient that is not finite"
    )


class EvaluationConfig(Section):
    """Held-out text, masked the same way each time so that numbers compare between runs."""

    every_steps: PositiveInt = Field(description="training steps between two evaluations")
    best_metric: Literal["loss", "discriminator_loss", "discriminator_auc", "hidden_lm_loss"] = (
        Field(description="what the networks kept in best/ are chosen by; more auc, less of others")
    )
    batch_size: PositiveInt = Field(description="examples of one batch, over all devices")
    max_batches: PositiveInt = Field(description="batches of one evaluation at the most")
    seed: Seed = Field(description="of masks and drawn tokens")


class PretrainConfig(Section):
    """One pre-training run, whole."""

    seed: Seed = Field(description="of weights, data order, masks, draws, dropout")
    data: DataConfig
    discriminator: EncoderConfig
    generator: EncoderConfig
    objective: ObjectiveConfig
    masking: MaskingConfig
    optimizer: OptimizerConfig
    schedule: ScheduleConfig
    training: TrainingConfig
    evaluation: EvaluationConfig

    @model_validator(mode="after")
    def _sizes_fit(self) -> PretrainConfig:
        _check_shared_embeddings(self.discriminator, self.generator)
        rows = self.discriminator.max_position_embeddings
        if self.data.max_length > rows:
            raise ValueError(
                f"data.max_length {self.data.max_length} is more than "
                f"discriminator.max_position_embeddings {rows}; lower the one or raise the other"
            )
        _check_divides(self.training.batch_size, self.training.accumulation_steps)
        _check_phases(self.schedule, self.training.train_steps)
        return self


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


SHARED_EMBEDDING_KEYS = (
    "vocab_size",
    "embedding_size",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_epsilon",
)


def _check_shared_embeddings(discriminator: EncoderConfig, generator: EncoderConfig) -> None:
    """The generator uses the discriminator's embedding block, so both must describe the same."""
    for name in SHARED_EMBEDDING_KEYS:
        ours, theirs = getattr(discriminator, name), getattr(generator, name)
        if ours != theirs:
            raise ValueError(
                f"generator.{name} is {theirs}, discriminator.{name} is {ours}; both networks "
                f"share one embedding block, so give both the same value"
            )


def _check_phases(schedule: ScheduleConfig, train_steps: int) -> None:
    if schedule.warmup_steps > train_steps:
        raise ValueError(
            f"schedule.warmup_steps {schedule.warmup_steps} is more than "
            f"training.train_steps {train_steps}; a tenth of them is usual"
        )
    if isinstance(schedule, WarmupStableDecaySchedule):
        phases = schedule.warmup_steps + schedule.decay_steps
        if phases > train_steps:
            raise ValueError(
                f"schedule.warmup_steps {schedule.warmup_steps} and schedule.decay_steps "
                f"{schedule.decay_steps} are together {phases}, more than training.train_steps "
                f"{train_steps}; a tenth and a fifth of them are usual"
            )


def _check_divides(batch_size: int, accumulation_steps: int) -> None:
    if batch_size % accumulation_steps:
        raise ValueError(
            f"training.batch_size {batch_size} is not a multiple of training.accumulation_steps "
            f"{accumulation_steps}"
        )


# --- reading and writing -------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML as people write it: `2e-4` is a number (YAML 1.1 wants `2.0e-4`)."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)

SectionT = TypeVar("SectionT", bound=Section)


def load_config(kind: type[SectionT], path: str | Path, overrides: Sequence[str] = ()) -> SectionT:
    """Reads a YAML file, then applies `a.b=value` overrides in their order.

    Args:
      kind: the config class that the file describes.
      path: a YAML file.
      overrides: texts such as `optimizer.learning_rate=2e-4`; values are YAML.

    Returns:
      The frozen config.

    Raises:
      ValueError: a missing file, broken YAML, an unknown key (the nearest right name is
        proposed), a value of another type, or sizes that do not fit. Names file and key.
    """
    path = Path(path)
    try:
        tree = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such config file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read ({error})") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(tree, dict):
        raise ValueError(f"{path}: a config is a mapping of sections, found {tree!r}")
    for override in overrides:
        _apply_override(tree, override)
    return parse_config(kind, tree, str(path))


def parse_config(kind: type[SectionT], tree: dict[str, Any], origin: str) -> SectionT:
    """Turns nested dictionaries into a config. `origin` names their source in errors."""
    try:
        return kind.model_validate(tree)
    except ValidationError as error:
        lines = [_explain(kind, detail) for detail in error.errors()]
        raise ValueError("\n".join(f"{origin}: {line}" for line in lines)) from None


def dump_config(config: Section) -> str:
    """The config as YAML text, every key present, in the order of its fields."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True)


def with_vocab_size(config: PretrainConfig, vocab_size: int) -> PretrainConfig:
    """Fills `vocab_size` of both networks from the records.

    Raises:
      ValueError: the config names another size.
    """
    for name in ("discriminator", "generator"):
        named = getattr(config, name).vocab_size
        if named not in (None, vocab_size):
            raise ValueError(
                f"{name}.vocab_size is {named}, but the vocabulary of the records has "
                f"{vocab_size} tokens; set it to null or build the records with the other one"
            )
    tree = config.model_dump()
    tree["discriminator"]["vocab_size"] = tree["generator"]["vocab_size"] = vocab_size
    return PretrainConfig.model_validate(tree)


def _apply_override(tree: dict[str, Any], override: str) -> None:
    key, separator, text = override.partition("=")
    if not separator or not key:
        raise ValueError(
            f"--set {override}: write section.key=value, as optimizer.learning_rate=2e-4"
        )
    try:
        value = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"--set {override}: the value is not valid YAML: {error}") from None
    *sections, name = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
        if not isinstance(tree, dict):
            raise ValueError(f"--set {override}: {section} is not a section")
    tree[name] = value


def _explain(kind: type[Section], detail: dict[str, Any]) -> str:
    """One pydantic error as a sentence for people."""
    section, location = _locate(kind, [str(part) for part in detail["loc"]])
    key = ".".join(location)
    if detail["type"] == "extra_forbidden":
        return f"unknown key {key}{_propose(section, location[-1])}"
    if detail["type"] == "missing":
        return f"{key} is missing"
    if detail["type"] == "union_tag_not_found":
        return f"{key}.name is missing"
    if detail["type"] == "union_tag_invalid":
        found, known = detail["ctx"]["tag"], detail["ctx"]["expected_tags"].replace("'", "")
        return f"{key}.name is {found!r}; choose one of {known}"
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    message = detail["msg"][0].lower() + detail["msg"][1:]
    return f"{key} is {detail['input']!r}: {message}"


def _locate(section: Any, location: list[str]) -> tuple[Any, list[str]]:
    """The section that a place lies in, and the place as people write it.

    Where a section is one of several kinds, pydantic puts the kind's name behind the section's.
    """
    written = []
    while location:
        part, *location = location
        written.append(part)
        field = getattr(section, "model_fields", {}).get(part)
        if field is None or not location:
            break
        section = field.annotation
        if field.discriminator is not None:
            name, *location = location
            section = _kind_of(section, field.discriminator, name)
    return section, [*written, *location]


def _kind_of(union: Any, discriminator: str, name: str) -> type[Section]:
    """The member of a union whose discriminator may have this value."""
    kinds = get_args(union)
    return next(k for k in kinds if name in get_args(k.model_fields[discriminator].annotation))


def _propose(section: Any, name: str) -> str:
    """`; did you mean …?` for a misspelt key, or the list of right names."""
    names = list(section.model_fields)
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(names)}"
