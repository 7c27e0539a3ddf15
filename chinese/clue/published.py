"""What others reached, to stand beside a score of one's own; each row with its source."""

from __future__ import annotations

from math import log
from typing import NamedTuple

_CLUE = "CLUEbenchmark/CLUE README"
_PADDLE = "PaddleNLP, CLUE grid search"
_HFL = "ymcui/Chinese-ELECTRA README, best of 10"
_BERT4KERAS = "bojone/CLUE-bert4keras README"
_OCNLI = "OCNLI paper, 50k"
_CLUENER = "CLUENER2020 README"
_FEWCLUE = "CLUEbenchmark/FewCLUE, figure of the README"


class Published(NamedTuple):
    """A published score.

    Fields:
      task, split: whose it is.
      model: name of the model.
      parameters: in millions; None for people, and where it is not told.
      value: the task's metric, in percent.
      f1: of reading tasks, where it is told.
      source: where it stands.
    """

    task: str
    split: str
    model: str
    parameters: float | None
    value: float
    f1: float | None
    source: str


_MILLIONS = {
    "ELECTRA-small": 12,
    "ELECTRA-180g-small": 12,
    "ELECTRA-small-ex": 25,
    "ELECTRA-base": 102,
    "ELECTRA-180g-base": 102,
    "ELECTRA-large": 324,
    "BERT-base": 102,
    "BERT-wwm-ext": 102,
    "RoBERTa-wwm-ext": 102,
    "RoBERTa-wwm-large": 325,
    "RBT3": 38,
    "ALBERT-tiny": 4,
    "RoBERTa-tiny-clue": 7.5,
    "ERNIE 3.0-Nano": 18,
    "2 layers × 128": 3.2,
    "BiLSTM-CRF": None,
    "people": None,
}

# A column a task and split, a row a model; – = not told; a/b = exact match and F1.
_TABLES = (
    (
        _HFL,
        "cmrc2018.dev drcd.dev xnli.dev xnli.test chnsenticorp.dev chnsenticorp.test lcqmc.dev "
        "lcqmc.test bq.dev bq.test",
        """
        ELECTRA-small: 63.4/80.8 79.8/86.7 73.3 73.1 92.8 94.3 86.7 85.9 83.5 82.0
        ELECTRA-180g-small: 63.8/82.7 83.5/89.2 74.6 74.6 94.1 93.6 86.6 85.8 83.3 82.1
        ELECTRA-small-ex: 66.4/82.2 84.0/89.5 75.4 75.8 92.6 93.6 87.5 86.0 84.0 82.6
        ELECTRA-base: 68.4/84.8 87.5/92.5 77.9 78.4 93.8 94.5 90.2 87.6 84.8 84.5
        ELECTRA-180g-base: 69.3/87.0 89.6/94.2 79.6 79.5 94.3 94.8 90.2 87.1 85.8 84.5
        ELECTRA-large: 69.1/85.2 88.8/93.3 81.5 81.0 95.2 95.3 90.7 87.3 86.7 85.1
        BERT-base: 65.5/84.5 83.1/89.9 77.8 77.8 94.7 95.0 89.4 86.9 86.0 84.8
        RoBERTa-wwm-ext: 67.4/87.2 86.6/92.5 80.0 78.8 95.0 95.6 89.0 86.4 86.0 85.0
        RBT3: 57.0/79.0 76.3/84.9 72.2 72.3 92.8 92.8 85.3 85.1 84.1 83.3
        """,
    ),
    (
        _PADDLE,
        "afqmc.dev tnews.dev iflytek.dev cmnli.dev ocnli.dev cluewsc.dev csl.dev cmrc2018.dev "
        "chid.dev c3.dev",
        """
        BERT-base: 74.63 57.13 61.29 80.97 75.22 81.91 81.90 65.30/86.53 82.01 65.38
        RoBERTa-wwm-ext: 74.60 58.08 61.23 81.11 76.92 88.49 80.77 68.39/88.50 83.43 68.03
        RBT3: 70.95 55.53 59.18 76.20 70.71 67.11 76.63 55.73/78.63 70.26 54.93
        ERNIE 3.0-Nano: 70.51 54.57 48.36 74.97 70.61 68.75 75.93 52.00/76.35 58.91 55.11
        2 layers × 128: 69.02 51.47 20.28 59.95 57.73 63.82 67.43 3.08/14.33 23.57 28.12
        """,
    ),
    (
        _CLUE,
        "afqmc.test tnews.test1.0 iflytek.test cmnli.test cluewsc.test1.0 csl.test cmrc2018.test "
        "chid.test1.0 c3.test1.0",
        """
        BERT-base: 73.70 56.58 60.29 79.69 62.0 80.36 71.60 82.04 64.50
        BERT-wwm-ext: 74.07 56.84 59.43 80.42 61.1 80.63 73.95 82.90 68.50
        RoBERTa-wwm-ext: 74.04 56.94 60.31 80.51 67.8 81.0 75.20 83.62 66.50
        RoBERTa-wwm-large: 76.55 58.61 62.98 82.12 74.6 82.13 77.95 85.37 73.82
        ALBERT-tiny: 69.92 53.35 48.71 70.61 58.5 74.56 53.35 43.53 50.26
        RoBERTa-tiny-clue: 69.52 54.57 57.31 73.10 – – – – –
        """,
    ),
    (
        _BERT4KERAS,
        "ocnli.test cluewsc.test csl.test tnews.test cmrc2018.test chid.test c3.test cluener.test",
        """
        BERT-base: 71.73 73.85 84.03 56.29 72.10 85.13 61.33 78.68
        RoBERTa-wwm-ext: 74.27 82.28 85.33 58.35 75.40 86.04 67.11 79.38
        """,
    ),
    (
        _OCNLI,
        "ocnli.dev ocnli.test",
        """
        BERT-base: 74.5 72.2
        RoBERTa-wwm-large: 78.8 78.2
        people: – 90.3
        """,
    ),
    (
        _CLUENER,
        "cluener.test",
        """
        BiLSTM-CRF: 70.00
        BERT-base: 78.82
        RoBERTa-wwm-large: 80.42
        people: 63.41
        """,
    ),
    (
        _FEWCLUE,
        "eprstmt.test_public csldcp.test_public tnewsf.test_public iflytekf.test_public "
        "ocnlif.test_public bustm.test_public cslf.test_public chidf.test_public "
        "cluewscf.test_public",
        """
        RoBERTa-wwm-ext: 65.4 35.5 49.0 32.8 33.0 60.7 50.0 14.9 55.6
        people: 90.0 68.0 71.0 66.0 90.3 88.0 84.0 87.1 98.0
        """,
    ),
)


def _rows() -> list[Published]:
    rows = []
    for source, columns, table in _TABLES:
        for line in table.strip().splitlines():
            model, _, cells = line.strip().partition(": ")
            for column, cell in zip(columns.split(), cells.split(), strict=True):
                if cell != "–":
                    task, _, split = column.partition(".")
                    value, _, f1 = cell.partition("/")
                    rows.append(
                        Published(
                            task,
                            split,
                            model,
                            _MILLIONS[model],
                            float(value),
                            float(f1) if f1 else None,
                            source,
                        )
                    )
    return rows


PUBLISHED = tuple(_rows())
"""Every published score known here, ELECTRA's first."""


def published_scores(task: str, split: str) -> list[Published]:
    """Gives what is known of a task's split.

    >>> [(row.model, row.value) for row in published_scores("ocnli", "dev")][-1]
    ('RoBERTa-wwm-large', 78.8)
    """
    return [row for row in PUBLISHED if (row.task, row.split) == (task, split)]


def nearest_published(task: str, split: str, parameters: int) -> Published | None:
    """Gives the row of the model nearest in size; the first of equals; None where there is none.

    Args:
        task, split: as in the table of tasks.
        parameters: of one's own encoder.

    >>> nearest_published("cmrc2018", "dev", 1_200_000).model
    '2 layers × 128'
    >>> nearest_published("cmrc2018", "dev", 12_000_000).model
    'ELECTRA-small'
    """
    rows = [row for row in published_scores(task, split) if row.parameters is not None]
    size = log(max(1, parameters) / 1e6)
    return min(rows, key=lambda row: abs(log(row.parameters) - size), default=None)
