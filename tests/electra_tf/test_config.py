"""Configs: typed, frozen, and helpful when they are wrong."""

from pathlib import Path

import pytest
import yaml

from electra_tf.config import (
    PretrainConfig,
    RecordsConfig,
    WarmupStableDecaySchedule,
    dump_config,
    load_config,
    parse_config,
    with_vocab_size,
)
from electra_tf.encoder_folder import (
    encoder_shapes,
    expected_shapes,
    head_shapes,
    parameter_count,
)

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "configs"
SHIPPED = {
    **{f"pretrain/{path.stem}": PretrainConfig for path in (ROOT / "configs/pretrain").iterdir()},
    **{f"corpus/{path.stem}": RecordsConfig for path in (ROOT / "configs/corpus").iterdir()},
}
DEMO = ROOT / "configs/pretrain/demo.yaml"


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_shipped_config_resolves_to_its_golden_text(name):
    """After a change that is meant, write the golden text anew and look at the difference."""
    resolved = dump_config(load_config(SHIPPED[name], ROOT / "configs" / f"{name}.yaml"))
    golden = GOLDEN / f"{name}.yaml"
    assert golden.exists(), f"write {golden}:\n{resolved}"
    assert resolved == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith("pretrain/")])
def test_the_head_of_a_recipe_gives_its_command(name):
    text = (ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8")
    head = text[: text.index("\nseed:")]
    assert "electra-tf pretrain" in head
    assert "measured" in head


def test_dumping_and_parsing_gives_the_same_config(tmp_path):
    config = load_config(PretrainConfig, DEMO)
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(config), encoding="utf-8")
    assert load_config(PretrainConfig, path) == config


# Published sizes of HFL's models in millions, vocabulary of 21128: (discriminator without head,
# what the generator adds, everything trained together). ymcui/Chinese-ELECTRA at 3765b2d, counted.
HFL = {
    "small": (12.281, 0.638, 12.984),
    "small-ex": (24.495, 1.254, 25.815),
    "base": (101.677, 5.657, 107.925),
    "large": (324.473, 19.503, 345.026),
}


@pytest.mark.parametrize("name", HFL)
def test_presets_have_the_parameter_counts_of_hfl(name):
    config = load_config(PretrainConfig, ROOT / f"configs/pretrain/{name}.yaml")
    config = with_vocab_size(config, 21128)
    discriminator = parameter_count(config.discriminator, "discriminator")
    generator = parameter_count(config.generator, "generator")
    counts = (discriminator.backbone, generator.own, discriminator.total + generator.own)
    assert tuple(round(count / 1e6, 3) for count in counts) == HFL[name]


# Of HFL's configuration files: embedding, layers, hidden, heads, feed-forward of the discriminator,
# then of the generator; and how many variables are trained together. Google's small, base and large
# have as many (google-research/electra at 8a46635, counted).
HFL_SHAPES = {
    "small": ((128, 12, 256, 4, 1024), (128, 12, 64, 1, 256), 402),
    "small-ex": ((256, 24, 256, 4, 1024), (256, 24, 64, 1, 256), 784),
    "base": ((768, 12, 768, 12, 3072), (768, 12, 192, 3, 768), 400),
    "large": ((1024, 24, 1024, 16, 4096), (1024, 24, 256, 4, 1024), 784),
}


@pytest.mark.parametrize("name", HFL_SHAPES)
def test_presets_have_the_sizes_and_variables_of_hfl(name):
    config = load_config(PretrainConfig, ROOT / f"configs/pretrain/{name}.yaml")
    config = with_vocab_size(config, 21128)
    *sizes, variables = HFL_SHAPES[name]
    for network, expected in zip((config.discriminator, config.generator), sizes, strict=True):
        assert (
            network.embedding_size,
            network.num_hidden_layers,
            network.hidden_size,
            network.num_attention_heads,
            network.intermediate_size,
        ) == expected
        assert (network.max_position_embeddings, network.type_vocab_size) == (512, 2)
    trained = [
        *expected_shapes(config.discriminator, "discriminator"),
        *encoder_shapes(config.generator),
        *head_shapes(config.generator, "generator"),
    ]
    assert len(trained) == variables


def test_set_changes_one_key_and_reads_numbers_as_people_write_them():
    config = load_config(
        PretrainConfig, DEMO, ["optimizer.learning_rate=2e-4", "training.xla=true", "seed=7"]
    )
    assert config.optimizer.learning_rate == 2e-4
    assert config.training.xla is True
    assert config.seed == 7
    assert config.masking == load_config(PretrainConfig, DEMO).masking


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimizer.learning_rat=1e-4", "did you mean learning_rate?"),
        ("optimiser.learning_rate=1e-4", "did you mean optimizer?"),
        ("training.xla='False'", "training.xla is 'False'"),
        ("training.batch_size=3.5", "training.batch_size is 3.5"),
        ("training.batch_size=0", "training.batch_size is 0"),
        ("masking.mode=wholeword", "'whole_word'"),
        ("masking.mask_rate=1.5", "masking.mask_rate is 1.5"),
        ("masking.random_token_rate=0.2", "masking.random_token_rate 0.2 are more than 1 together"),
        ("discriminator.num_attention_heads=3", "not a multiple of num_attention_heads 3"),
        ("generator.embedding_size=64", "generator.embedding_size is 64"),
        ("data.max_length=513", "data.max_length 513 is more than"),
        ("training.accumulation_steps=7", "not a multiple of training.accumulation_steps 7"),
        ("schedule.warmup_steps=999999", "schedule.warmup_steps 999999 is more than"),
        ("schedule.decay_powr=1.0", "unknown key schedule.decay_powr; did you mean decay_power?"),
        ("schedule.decay_power=-1.0", ": schedule.decay_power is -1.0"),
        ("schedule.name=cosine", "schedule.name is 'cosine'; choose one of reference, warmup_st"),
        ("schedule.name=constant", "schedule.decay_power; known here: name, warmup_steps"),
        ("schedule={warmup_steps: 1}", "schedule.name is missing"),
        ("schedule={name: constant}", ": schedule.warmup_steps is missing"),
        (
            "schedule={name: warmup_stable_decay, warmup_steps: 1000, decay_steps: 2001}",
            "are together 3001, more than training.train_steps 3000",
        ),
        ("optimizer.name=adam", "optimizer.name is 'adam'"),
        ("optimizer.beta_2=1.0", "optimizer.beta_2 is 1.0"),
        ("no_equals_sign", "write section.key=value"),
        ("seed.deeper=1", "seed is not a section"),
        ("seed=2147483648", "seed is 2147483648"),
        ("seed=[1", "not valid YAML"),
    ],
)
def test_a_wrong_override_is_refused_by_name(override, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is looked at below)
        load_config(PretrainConfig, DEMO, [override])
    assert message in str(caught.value)


def test_another_schedule_is_set_whole():
    override = "schedule={name: warmup_stable_decay, warmup_steps: 1000, decay_steps: 2000}"
    config = load_config(PretrainConfig, DEMO, [override])
    assert config.schedule == WarmupStableDecaySchedule(
        name="warmup_stable_decay", warmup_steps=1000, decay_steps=2000
    )
    text = dump_config(config)
    assert "  name: warmup_stable_decay\n  warmup_steps: 1000\n  decay_steps: 2000\n" in text
    assert parse_config(PretrainConfig, yaml.safe_load(text), "dumped") == config


def test_errors_name_the_file(tmp_path):
    missing = tmp_path / "no.yaml"
    with pytest.raises(ValueError, match="no such config file"):
        load_config(PretrainConfig, missing)
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1", encoding="utf-8")
    with pytest.raises(ValueError, match=r"broken\.yaml: not valid YAML"):
        load_config(PretrainConfig, broken)
    broken.write_text("- a", encoding="utf-8")
    with pytest.raises(ValueError, match="mapping of sections"):
        load_config(PretrainConfig, broken)
    with pytest.raises(ValueError, match="seed is missing"):
        parse_config(RecordsConfig, {}, "here")


def test_the_vocabulary_of_the_records_fills_in_the_size_or_is_refused():
    config = load_config(PretrainConfig, DEMO)
    filled = with_vocab_size(config, 5000)
    assert filled.discriminator.vocab_size == filled.generator.vocab_size == 5000
    with pytest.raises(ValueError, match=r"discriminator.vocab_size is 5000.*has 6000"):
        with_vocab_size(filled, 6000)
