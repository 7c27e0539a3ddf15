"""Accuracy and entity scores, as CLUE counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from chinese.clue.examples import Entity, Id, Score


def check_count(num_examples: int, num_predictions: int) -> None:
    """Refuses predictions that are not one an example.

    Raises:
      ValueError: they are not.
    """
    if num_examples != num_predictions:
        raise ValueError(
            f"{num_predictions:,} predictions for {num_examples:,} examples; none may be missing"
        )


def accuracy(labels: Sequence[int | None], predictions: Sequence[int]) -> Score:
    """Gives the share of predictions that are right; examples without a label do not count.

    >>> accuracy([0, 1, None, 1], [0, 0, 0, 1]).value
    66.66666666666667
    """
    check_count(len(labels), len(predictions))
    pairs = [
        (label, found)
        for label, found in zip(labels, predictions, strict=True)
        if label is not None
    ]
    right = sum(label == found for label, found in pairs)
    value = 100.0 * right / max(1, len(pairs))
    return Score("accuracy", value, {}, len(pairs), len(labels) - len(pairs))


def most_frequent(labels: Iterable[int | None]) -> int:
    """Gives the most frequent label, the smallest of equals; 0 where there is none.

    >>> most_frequent([2, None, 1, 1, 2])
    1
    """
    counts = Counter(label for label in labels if label is not None)
    return min(counts, key=lambda label: (-counts[label], label), default=0)


def f1_percent(right: int, found: int, true: int) -> float:
    """Gives 2PR / (P + R) in percent; 0 where nothing is right.

    >>> f1_percent(1, 2, 4)
    33.33333333333333
    """
    return 100.0 * (2 * right / (found + true)) if right else 0.0


def entity_scores(
    types: Sequence[str],
    texts: Sequence[str],
    gold: Sequence[Sequence[Entity]],
    predictions: Sequence[Sequence[Entity]],
) -> dict[str, float]:
    """Gives CLUENER's macro F1, the micro F1 over spans, and the F1 of every type, in percent.

    CLUENER's own script counts, for each type and sentence, the different strings and not where
    they stand; its score is the plain mean over the types. Where a type is found nowhere and
    stands nowhere the script divides by zero; here it counts 0.

    Source: CLUEbenchmark/CLUENER2020 at 2e8fccd1, `score.py`; the span score is that of its PyTorch
    baseline.

    Returns:
        `macro F1`, `span F1`, and `F1 <type>` for every type.
    """
    names = {name: [0, 0, 0] for name in types}
    spans = [0, 0, 0]
    for text, true, found in zip(texts, gold, predictions, strict=True):
        _count(spans, set(found), set(true))
        for name in types:
            _count(names[name], _surfaces(text, found, name), _surfaces(text, true, name))
    each = {name: f1_percent(*counts) for name, counts in names.items()}
    return {
        "macro F1": sum(each.values()) / len(types),
        "span F1": f1_percent(*spans),
        **{f"F1 {name}": value for name, value in each.items()},
    }


def _count(counts: list[int], found: set, true: set) -> None:
    counts[0] += len(found & true)
    counts[1] += len(found)
    counts[2] += len(true)


def _surfaces(text: str, entities: Iterable[Entity], name: str) -> set[str]:
    return {text[entity.start : entity.end] for entity in entities if entity.type == name}


def first_repeated(ids: Iterable[Id]) -> Id | None:
    """Gives the first id that stands there a second time."""
    seen: set[Id] = set()
    for each in ids:
        if each in seen:
            return each
        seen.add(each)
    return None
