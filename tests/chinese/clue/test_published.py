"""Published scores belong to tasks and splits that exist, and say where they stand."""

import pytest

from chinese.clue.published import PUBLISHED, nearest_published, published_scores
from chinese.clue.table import TASKS


def test_every_row_belongs_to_a_split_of_a_task():
    assert len(PUBLISHED) == len({(r.task, r.split, r.model, r.source) for r in PUBLISHED})
    for row in PUBLISHED:
        assert row.split in TASKS[row.task].files, row
        assert 0 < row.value <= 100
        assert row.source
        has_f1 = (row.task, row.split) in {("cmrc2018", "dev"), ("drcd", "dev")}
        assert (row.f1 is not None) == has_f1


def test_the_row_of_the_nearest_size_is_found():
    assert nearest_published("drcd", "dev", 12_300_000).value == 79.8
    assert nearest_published("drcd", "dev", 12_300_000).f1 == 86.7
    assert nearest_published("afqmc", "dev", 25_000_000).model == "ERNIE 3.0-Nano"
    assert nearest_published("cluener", "test", 100_000_000).model == "BERT-base"
    assert nearest_published("pawsx", "dev", 1) is None


@pytest.mark.parametrize(
    ("task", "split", "model", "value"),
    [
        ("tnews", "dev", "2 layers × 128", 51.47),
        ("chnsenticorp", "test", "ELECTRA-small-ex", 93.6),
        ("c3", "test1.0", "ALBERT-tiny", 50.26),
        ("bustm", "test_public", "people", 88.0),
    ],
)
def test_columns_are_not_mixed_up(task, split, model, value):
    assert value in [r.value for r in published_scores(task, split) if r.model == model]
