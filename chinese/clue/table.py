"""The table of tasks: CLUE, FewCLUE, and those of the Chinese-ELECTRA papers.

Sources: CLUEbenchmark/CLUE at 9d232934 (files, labels, lengths, submissions), CLUEbenchmark/FewCLUE
at 62a02c6f, ymcui/Chinese-ELECTRA at 3765b2d8, and the files themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from chinese.clue.choice import MultipleChoice
from chinese.clue.classification import (
    Classification,
    fields,
    keywords_and_abstract,
    marked_coreference,
)
from chinese.clue.cloze import Cloze
from chinese.clue.encoding import TextSettings
from chinese.clue.files import Node, read_table
from chinese.clue.labels import CLUENER, CSLDCP, IFLYTEK, NLI, TNEWS
from chinese.clue.reading import Reading
from chinese.clue.tagging import Tagging
from chinese.clue.tasks import Files, Round, Task, nearest_names

_BINARY = ("0", "1")
_TRUTH = ("true", "false")
_LENGTH = 128


def _one(*names: str) -> Files:
    """Files of which any one will do."""
    return tuple((name,) for name in names)


def _splits(*, test: str = "test.json", **others: Files) -> dict[str, Files]:
    """The files most tasks have; `train.partial.json` is what is at hand where train.json is not.

    `Split.notes` tells that it is smaller than the official one.
    """
    files = {
        "train": _one("train.json", "train.partial.json"),
        "dev": _one("dev.json"),
        "test": _one(test),
    }
    return files | others


def _folders(*names: str) -> tuple[str, ...]:
    """A folder, or the official zip unpacked; CMNLI's holds a folder of its own name."""
    zips = [f"{name}_public" for name in names]
    return (*names, *zips, *(f"{name}/{name}" for name in zips))


def _clue(name: str, title: str, family, **more) -> Task:
    submission = more.pop("submission", f"{name}_predict")
    return Task(
        name,
        title,
        "clue",
        family,
        more.pop("folders", _folders(name)),
        more.pop("files", _splits()),
        more.pop("settings", TextSettings(_LENGTH)),
        frozenset({"test", "test1.0"}),
        submissions=more.pop("submissions", {"test": submission}),
        **more,
    )


_PAIR = fields("sentence1", "sentence2")
_READING = TextSettings(512, max_answer_length=50)  # 30 in the reference; CLUE's baseline has 50

_CLUE = (
    _clue(
        "afqmc",
        "questions to a payment service, same or not",
        Classification(_BINARY, _PAIR),
        sizes={"train": 34_334, "dev": 4_316, "test": 3_861},
    ),
    _clue(
        "tnews",
        "topics of news titles",
        Classification(TNEWS, fields("sentence")),
        files=_splits(**{"test1.0": _one("test1.0.json")}),
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
            train=_one(
                "train.50k.json", "train.json", "train.30k.json", "train.10k.json", "train.3k.json"
            )
        ),
        sizes={"train": 50_486, "dev": 3_000, "test": 3_000},
        submission="ocnli_50k_predict",  # `ocnli_predict.json` scored 0 (CLUE, issue 104)
    ),
    _clue(
        "cluewsc",
        "does the pronoun mean the noun?",
        Classification(_TRUTH, marked_coreference),
        folders=_folders("cluewsc", "cluewsc2020", "wsc"),
        files=_splits(**{"test1.0": _one("test1.0.json")}),
        sizes={"train": 1_244, "dev": 304, "test": 2_574, "test1.0": 290},
        submissions={"test": "cluewsc11_predict", "test1.0": "cluewsc10_predict"},
    ),
    _clue(
        "csl",
        "are these keywords those of the abstract?",
        Classification(_BINARY, keywords_and_abstract),
        settings=TextSettings(256),
        sizes={"train": 20_000, "dev": 3_000, "test": 3_000},
    ),
    _clue(
        "cmrc2018",
        "answers in Wikipedia passages",
        Reading(),
        folders=_folders("cmrc2018", "cmrc"),
        files=_splits(
            train=_one("train.json", "cmrc2018_train.json", "trial.json", "cmrc2018_trial.json"),
            dev=_one("dev.json", "cmrc2018_dev.json"),
            trial=_one("trial.json", "cmrc2018_trial.json"),
        ),
        settings=_READING,
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
            "test": _one("test1.1.json", "test.json"),
            "test1.0": _one("test1.0.json"),
        },
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
            "test": _one("test1.1.json"),
            "test1.0": _one("test1.0.json", "test.json"),
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
        folders=_folders("cluener", "cluener2020"),
        sizes={"train": 10_748, "dev": 1_343, "test": 1_345},
    ),
    _clue(
        "diagnostics",
        "inference by phenomenon; predicted with a model for CMNLI or OCNLI",
        Classification(NLI, fields("premise", "hypothesis")),
        folders=_folders("diagnostics", "clue_diagnostics", "ax"),
        files={"test": _one("diagnostics_test.json", "test.json")},
        sizes={"test": 514},
        rounds=(),
    ),
)


def _fewclue(name: str, title: str, family, folder: str, **more) -> Task:
    rounds = [Round(str(n), f"train_{n}", f"dev_{n}") for n in range(5)]
    rounds.append(Round("all", "train_few_all", "dev_few_all"))
    splits = [split for r in rounds for split in (r.train, r.dev)] + ["test_public", "test"]
    return Task(
        name,
        title,
        "fewclue",
        family,
        tuple(f"{place}{folder}" for place in ("fewclue/", "FewCLUE/datasets/", "datasets/")),
        {split: _one(f"{split}.json") for split in splits},
        more.pop("settings", TextSettings(_LENGTH)),
        frozenset({"test"}),
        rounds=tuple(rounds),
        submissions={"test": f"{name}_predict"},
        **more,
    )


_FEWCLUE = (
    _fewclue(
        "eprstmt",
        "sentiment of reviews",
        Classification(("Positive", "Negative"), fields("sentence")),
        "eprstmt",
        sizes={"test_public": 610, "test": 753},
    ),
    _fewclue(
        "csldcp",
        "disciplines of abstracts",
        Classification(CSLDCP, fields("content")),
        "csldcp",
        sizes={"test_public": 1_784, "test": 2_999},
    ),
    _fewclue(
        "tnewsf",
        "topics of news titles",
        Classification(TNEWS, fields("sentence")),
        "tnews",
        sizes={"test_public": 2_010, "test": 1_500},
    ),
    _fewclue(
        "iflytekf",
        "kinds of apps, long descriptions",
        Classification(IFLYTEK, fields("sentence")),
        "iflytek",
        sizes={"test_public": 1_749, "test": 2_600},
    ),
    _fewclue(
        "ocnlif",
        "inference, written in Chinese",
        Classification(NLI, _PAIR),
        "ocnli",
        sizes={"test_public": 2_520, "test": 3_000},
    ),
    _fewclue(
        "bustm",
        "short utterances, same or not",
        Classification(_BINARY, _PAIR),
        "bustm",
        sizes={"test_public": 1_772, "test": 2_000},
    ),
    _fewclue(
        "chidf",
        "idioms for blanks",
        Cloze(7, has_answer_files=False),
        "chid",
        sizes={"test_public": 2_002, "test": 2_000},
        answer_key="answer",
    ),
    _fewclue(
        "cslf",
        "are these keywords those of the abstract?",
        Classification(_BINARY, keywords_and_abstract),
        "csl",
        sizes={"test_public": 2_838, "test": 3_000},
        settings=TextSettings(256),
    ),
    _fewclue(
        "cluewscf",
        "does the pronoun mean the noun?",
        Classification(_TRUTH, marked_coreference),
        "cluewsc",
        sizes={"test_public": 976, "test": 290},
    ),
)


def _rows(*headers: tuple[str, ...]) -> Callable[[Path], Iterable[Node]]:
    def rows(path: Path) -> Iterator[Node]:
        return read_table(path, *headers)

    return rows


def _xnli_rows(path: Path) -> Iterator[Node]:
    """The Chinese rows of XNLI; the training file has other column names, and Chinese alone."""
    train = ("premise", "hypo", "label")
    for row in read_table(path, train, ("language", "gold_label", "sentence1", "sentence2")):
        if "language" not in row:
            renamed = dict(zip(("sentence1", "sentence2", "gold_label"), train, strict=True))
            yield Node({ours: row.value[theirs] for ours, theirs in renamed.items()}, row.source)
        elif row.value["language"] == "zh":
            yield row


def _hfl(name: str, title: str, family: Classification, files: Mapping[str, Files], **more) -> Task:
    return Task(
        name,
        title,
        "hfl",
        family,
        more.pop("folders", (name,)),
        files,
        more.pop("settings", TextSettings(_LENGTH)),
        **more,
    )


def _tables(*extra: str) -> dict[str, Files]:
    return {
        split: _one(f"{split}.tsv", f"{split}.csv", *(name.format(split) for name in extra))
        for split in ("train", "dev", "test")
    }


def _pair_rows(path: Path) -> Iterator[Node]:
    ours, theirs = ("text_a", "text_b", "label"), ("sentence1", "sentence2", "label")
    return read_table(path, ours, theirs, without_header=ours)


def _pair_of_a_table(row: Node) -> tuple[str, ...]:
    first, second = ("text_a", "text_b") if "text_a" in row else ("sentence1", "sentence2")
    return row.field(first).text(), row.field(second).text()


_HFL = (
    _hfl(
        "chnsenticorp",
        "sentiment of reviews of hotels, books, laptops",
        Classification(_BINARY, fields("text_a"), _rows(("label", "text_a"))),
        _tables(),
        sizes={"train": 9_600, "dev": 1_200, "test": 1_200},
    ),
    _hfl(
        "lcqmc",
        "questions, same or not",
        Classification(_BINARY, _pair_of_a_table, _pair_rows),
        _tables("{}.txt"),
        sizes={"train": 238_766, "dev": 8_802, "test": 12_500},
    ),
    _hfl(
        "bq",
        "questions to a bank, same or not",
        Classification(_BINARY, _pair_of_a_table, _pair_rows),
        _tables("{}.txt"),
        folders=("bq", "bqcorpus", "bq_corpus"),
        sizes={"train": 100_000, "dev": 10_000, "test": 10_000},
    ),
    _hfl(
        "xnli",
        "inference, translated by people",
        Classification(
            NLI,
            _PAIR,
            _xnli_rows,
            label_field="gold_label",
            other_labels={"contradictory": "contradiction"},
        ),
        {
            "train": _one("train.tsv", "multinli.train.zh.tsv"),
            "dev": _one("dev.tsv", "xnli.dev.tsv"),
            "test": _one("test.tsv", "xnli.test.tsv"),
        },
        folders=("xnli", "xnli-zh", "xnli_zh"),
        sizes={"train": 392_702, "dev": 2_490, "test": 5_010},
    ),
    _hfl(
        "pawsx",
        "paraphrases of nearly the same words",
        Classification(
            _BINARY,
            _PAIR,
            _rows(("id", "sentence1", "sentence2", "label")),
            missing_text="NS",  # 41 of 4,000 rows were not translated
        ),
        {
            "train": _one("train.tsv", "translated_train.tsv"),
            "dev": _one("dev.tsv", "dev_2k.tsv"),
            "test": _one("test.tsv", "test_2k.tsv"),
        },
        folders=("pawsx", "paws-x-zh", "paws-x", "zh"),
        sizes={"train": 49_401, "dev": 2_000, "test": 2_000},
    ),
    _hfl(
        "drcd",
        "answers in Wikipedia passages, traditional",
        Reading(),
        {
            "train": _one("train.json", "DRCD_training.json", "DRCD_training.partial.json"),
            "dev": _one("dev.json", "DRCD_dev.json"),
            "test": _one("test.json", "DRCD_test.json"),
        },
        folders=_folders("drcd"),
        settings=_READING,
        sizes={"train": 26_936, "dev": 3_524, "test": 3_493},
        submissions={"test": "drcd_predict"},
        form="object",
    ),
)

TASKS: Mapping[str, Task] = {task.name: task for task in (*_CLUE, *_FEWCLUE, *_HFL)}
"""All tasks by name."""

CLUE_1_1 = ("afqmc", "tnews", "iflytek", "ocnli", "cluewsc", "csl", "cmrc2018", "chid", "c3")
"""The nine tasks of the board of CLUE 1.1; its score is their plain mean."""


def find_task(name: str) -> Task:
    """Gives a task by its name.

    Raises:
        ValueError: there is none; the nearest name is proposed.
    """
    if name not in TASKS:
        raise ValueError(f"no task {name!r}; {nearest_names(name, TASKS)}")
    return TASKS[name]
