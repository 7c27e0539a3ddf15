"""Every knob of a run: typed, frozen, with its unit and its source. Imports no TensorFlow."""

from electra_tf.config.encoder import EncoderConfig
from electra_tf.config.files import dump_config, load_config, parse_config
from electra_tf.config.own_task import OwnTaskConfig
from electra_tf.config.pretrain import (
    SHARED_EMBEDDING_KEYS,
    DataConfig,
    EvaluationConfig,
    MaskingConfig,
    ObjectiveConfig,
    PretrainConfig,
    with_vocab_size,
)
from electra_tf.config.records import RecordsConfig
from electra_tf.config.section import Section
from electra_tf.config.training import (
    ConstantSchedule,
    OptimizerConfig,
    ReferenceSchedule,
    ScheduleConfig,
    TrainingConfig,
    WarmupStableDecaySchedule,
)

__all__ = [
    "SHARED_EMBEDDING_KEYS",
    "ConstantSchedule",
    "DataConfig",
    "EncoderConfig",
    "EvaluationConfig",
    "MaskingConfig",
    "ObjectiveConfig",
    "OptimizerConfig",
    "OwnTaskConfig",
    "PretrainConfig",
    "RecordsConfig",
    "ReferenceSchedule",
    "ScheduleConfig",
    "Section",
    "TrainingConfig",
    "WarmupStableDecaySchedule",
    "dump_config",
    "load_config",
    "parse_config",
    "with_vocab_size",
]
