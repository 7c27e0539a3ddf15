"""FewCLUE's tasks: five small training sets each, and all of them together.

Source: CLUEbenchmark/FewCLUE at 62a02c6f (files, labels, lengths, submissions).
"""

from __future__ import annotations

from chinese.clue.classification import (
    Classification,
    fields,
    keywords_and_abstract,
    marked_coreference,
)
from chinese.clue.cloze import Cloze
from chinese.clue.encoding import TextSettings
from chinese.clue.labels import BINARY, CSLDCP, IFLYTEK, NLI, TNEWS, TRUTH
from chinese.clue.tasks import Family, Round, Task, any_of

_ROUNDS = (
    *(Round(str(n), f"train_{n}", f"dev_{n}") for n in range(5)),
    Round("all", "train_few_all", "dev_few_all"),
)
_SPLITS = (*(split for r in _ROUNDS for split in (r.train, r.dev)), "test_public", "test")


def _fewclue(
    name: str,
    title: str,
    family: Family,
    folder: str,
    sizes: tuple[int, int],
    *,
    max_length: int = 128,
    answer_key: str = "label",
) -> Task:
    """`sizes` are those of test_public and test."""
    return Task(
        name,
        title,
        "fewclue",
        family,
        tuple(f"{place}{folder}" for place in ("fewclue/", "FewCLUE/datasets/", "datasets/")),
        {split: any_of(f"{split}.json") for split in _SPLITS},
        TextSettings(max_length),
        frozenset({"test"}),
        dict(zip(("test_public", "test"), sizes, strict=True)),
        _ROUNDS,
        {"test": f"{name}_predict"},
        answer_key=answer_key,
    )


FEWCLUE_TASKS = (
    _fewclue(
        "eprstmt",
        "sentiment of reviews",
        Classification(("Positive", "Negative"), fields("sentence")),
        "eprstmt",
        (610, 753),
    ),
    _fewclue(
        "csldcp",
        "disciplines of abstracts",
        Classification(CSLDCP, fields("content")),
        "csldcp",
        (1_784, 2_999),
    ),
    _fewclue(
        "tnewsf",
        "topics of news titles",
        Classification(TNEWS, fields("sentence")),
        "tnews",
        (2_010, 1_500),
    ),
    _fewclue(
        "iflytekf",
        "kinds of apps, long descriptions",
        Classification(IFLYTEK, fields("sentence")),
        "iflytek",
        (1_749, 2_600),
    ),
    _fewclue(
        "ocnlif",
        "inference, written in Chinese",
        Classification(NLI, fields("sentence1", "sentence2")),
        "ocnli",
        (2_520, 3_000),
    ),
    _fewclue(
        "bustm",
        "short utterances, same or not",
        Classification(BINARY, fields("sentence1", "sentence2")),
        "bustm",
        (1_772, 2_000),
    ),
    _fewclue(
        "chidf",
        "idioms for blanks",
        Cloze(7, has_answer_files=False),
        "chid",
        (2_002, 2_000),
        answer_key="answer",
    ),
    _fewclue(
        "cslf",
        "are these keywords those of the abstract?",
        Classification(BINARY, keywords_and_abstract),
        "csl",
        (2_838, 3_000),
        max_length=256,
    ),
    _fewclue(
        "cluewscf",
        "does the pronoun mean the noun?",
        Classification(TRUTH, marked_coreference),
        "cluewsc",
        (976, 290),
    ),
)
