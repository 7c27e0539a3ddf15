"""CLUE's tasks.

Source: CLUEbenchmark/CLUE at 9d232934 (files, labels, lengths, submissions), and the files
themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chinese.clue.choice import MultipleChoice
from chinese.clue.classification import (
    Classification,
    fields,
    keywords_and_abstract,
    marked_coreference,
)
from chinese.clue.cloze import Cloze
from chinese.clue.encoding import TextSettings
from chinese.clue.labels import BINARY, CLUENER, IFLYTEK, NLI, TNEWS, TRUTH
from chinese.clue.reading import Reading
from chinese.clue.tagging import Tagging
from chinese.clue.tasks import ONE_ROUND, Family, Files, Round, Task, any_of

_PAIR = fields("sentence1", "sentence2")


def zip_folders(*names: str) -> tuple[str, ...]:
    """Gives folders, or official zips unpacked; CMNLI's holds a folder of its own name."""
    zips = [f"{name}_public" for name in names]
    return (*names, *zips, *(f"{name}/{name}" for name in zips))


def _splits(**others: Files) -> dict[str, Files]:
    """The files most tasks have; `train.partial.json` is what is at hand where train.json is not.

    `Split.notes` tells that it is smaller than the official one.
    """
    files = {
        "train": any_of("train.json", "train.partial.json"),
        "dev": any_of("dev.json"),
        "test": any_of("test.json"),
    }
    return files | others


def _clue(
    name: str,
    title: str,
    family: Family,
    *,
    sizes: Mapping[str, int],
    files: Mapping[str, Files] | None = None,
    folders: tuple[str, ...] = (),
    settings: TextSettings | None = None,
    submissions: Mapping[str, str] | None = None,
    rounds: tuple[Round, ...] = ONE_ROUND,
    form: Literal["lines", "object"] = "lines",
    id_pattern: str | None = None,
) -> Task:
    return Task(
        name,
        title,
        "clue",
        family,
        zip_folders(*(folders or (name,))),
        files or _splits(),
        settings or TextSettings(128),
        frozenset({"test", "test1.0"}),
        sizes,
        rounds,
        submissions or {"test": f"{name}_predict"},
        form,
        id_pattern=id_pattern,
    )


CLUE_TASKS = (
    _clue(
        "afqmc",
        "questions to a payment service, same or not",
        Classification(BINARY, _PAIR),
        sizes={"train": 34_334, "dev": 4_316, "test": 3_861},
    ),
    _clue(
        "tnews",
        "topics of news titles",
        Classification(TNEWS, fields("sentence")),
        files=_splits(**{"test1.0": any_of("test1.0.json")}),
        sizes={"train": 53_360, "dev": 10_000, "test": 10_000, "test1.0": 10_000},
        submissions={"test": "tnews11_predict", "test1.0": "tnews10_predict"},
    ),
    _clue(
        "iflytek",
        "kinds of apps, long descriptions",
        Classification(IFLYTEK, fields("sentence")),
        sizes={"train": 12_133, "dev": 2_599, "test": 2_600},
    ),
    _clue(
        "cmnli",
        "inference, translated",
        Classification(NLI, _PAIR),
        sizes={"train": 391_783, "dev": 12_426, "test": 13_880},
    ),
    _clue(
        "ocnli",
        "inference, written in Chinese",
        Classification(NLI, _PAIR),
        files=_splits(
            train=any_of(
                "train.50k.json", "train.json", "train.30k.json", "train.10k.json", "train.3k.json"
            )
        ),
        sizes={"train": 50_486, "dev": 3_000, "test": 3_000},
        submissions={
            "test": "ocnli_50k_predict"
        },  # `ocnli_predict.json` scored 0 (CLUE, issue 104)
    ),
    _clue(
        "cluewsc",
        "does the pronoun mean the noun?",
        Classification(TRUTH, marked_coreference),
        folders=("cluewsc", "cluewsc2020", "wsc"),
        files=_splits(**{"test1.0": any_of("test1.0.json")}),
        sizes={"train": 1_244, "dev": 304, "test": 2_574, "test1.0": 290},
        submissions={"test": "cluewsc11_predict", "test1.0": "cluewsc10_predict"},
    ),
    _clue(
        "csl",
        "are these keywords those of the abstract?",
        Classification(BINARY, keywords_and_abstract),
        settings=TextSettings(256),
        sizes={"train": 20_000, "dev": 3_000, "test": 3_000},
    ),
    _clue(
        "cmrc2018",
        "answers in Wikipedia passages",
        Reading(),
        folders=("cmrc2018", "cmrc"),
        files=_splits(
            train=any_of("train.json", "cmrc2018_train.json", "trial.json", "cmrc2018_trial.json"),
            dev=any_of("dev.json", "cmrc2018_dev.json"),
            trial=any_of("trial.json", "cmrc2018_trial.json"),
        ),
        settings=TextSettings(512, max_answer_length=50),  # the reference: 30
        sizes={"train": 10_142, "dev": 3_219, "trial": 1_002, "test": 2_000},
        form="object",
        id_pattern=r"TEST_\d+_QUERY_\d+",
    ),
    _clue(
        "chid",
        "idioms for blanks",
        Cloze(10, has_answer_files=True),
        files={
            "train": (("train.json", "train_answer.json"),),
            "dev": (("dev.json", "dev_answer.json"),),
            "test": any_of("test1.1.json", "test.json"),
            "test1.0": any_of("test1.0.json"),
        },
        sizes={},  # told in records, not in blanks
        settings=TextSettings(64),
        submissions={"test": "chid11_predict", "test1.0": "chid10_predict"},
        form="object",
        id_pattern=r"#idiom\d{6}#",
    ),
    _clue(
        "c3",
        "questions on dialogues and texts, with choices",
        MultipleChoice(),
        files={
            "train": (("d-train.json", "m-train.json"), ("c3-d-train.json", "c3-m-train.json")),
            "dev": (("d-dev.json", "m-dev.json"), ("c3-d-dev.json", "c3-m-dev.json")),
            "test": any_of("test1.1.json"),
            "test1.0": any_of("test1.0.json", "test.json"),
            # The original corpus has the labels of test 1.0.
            "test_labelled": (("c3-d-test.json", "c3-m-test.json"),),
        },
        settings=TextSettings(512),
        sizes={
            "train": 11_869,
            "dev": 3_816,
            "test": 1_625,
            "test1.0": 3_892,
            "test_labelled": 3_892,
        },
        submissions={"test": "c311_predict", "test1.0": "c310_predict"},
    ),
    _clue(
        "cluener",
        "entities of ten types",
        Tagging(CLUENER),
        folders=("cluener", "cluener2020"),
        sizes={"train": 10_748, "dev": 1_343, "test": 1_345},
    ),
    _clue(
        "diagnostics",
        "inference by phenomenon; predicted with a model for CMNLI or OCNLI",
        Classification(NLI, fields("premise", "hypothesis")),
        folders=("diagnostics", "clue_diagnostics", "ax"),
        files={"test": any_of("diagnostics_test.json", "test.json")},
        sizes={"test": 514},
        rounds=(),
    ),
)
