"""Exact match and F1 of answers, as CMRC 2018 counts them.

Source: ymcui/cmrc2018 at c0eb1b6b, `squad-style-data/cmrc2018_evaluate.py` (version 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chinese.clue.examples import Id
from chinese.clue.latin_words import split_words

# The list has "……" as one entry of two characters, so a character "…" is never deleted; neither are
# the marks of ASCII that are not here, nor ‘.
_DELETED = dict.fromkeys(map(ord, "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"))


class ReadingScores(NamedTuple):
    """In percent of all questions; one without a prediction counts 0 and is `skipped`."""

    average: float
    f1: float
    em: float
    total: int
    skipped: int

    def official(self) -> dict[str, str | int]:
        """Gives the line the script prints.

        >>> ReadingScores(66.6666, 83.3333, 50.0, 2, 0).official()
        {'AVERAGE': '66.667', 'F1': '83.333', 'EM': '50.000', 'TOTAL': 2, 'SKIP': 0}
        """
        return {
            "AVERAGE": f"{self.average:.3f}",
            "F1": f"{self.f1:.3f}",
            "EM": f"{self.em:.3f}",
            "TOTAL": self.total,
            "SKIP": self.skipped,
        }


def reading_scores(gold: Mapping[Id, Sequence[str]], found: Mapping[Id, str]) -> ReadingScores:
    """Scores predictions.

    Args:
        gold: all right answers to every question.
        found: the answers of a model.
    """
    f1 = em = 0.0
    skipped = 0
    for id_, answers in gold.items():
        if id_ not in found:
            skipped += 1
            continue
        f1 += max(answer_f1(answer, found[id_]) for answer in answers)
        em += max(is_exact(answer, found[id_]) for answer in answers)
    total = len(gold)
    f1, em = 100.0 * f1 / max(1, total), 100.0 * em / max(1, total)
    return ReadingScores((em + f1) / 2, f1, em, total, skipped)


def is_exact(answer: str, found: str) -> bool:
    """Says whether two answers are the same but for case, ends and the deleted marks.

    >>> is_exact("《史记》", " 史记"), is_exact("Mr. X", "mr x")
    (True, False)
    """
    return _plain(answer) == _plain(found)


def answer_f1(answer: str, found: str) -> float:
    """Gives F1 of the longest run of tokens that both have, in [0, 1].

    A run: contiguous, neither a subsequence nor a bag of words.

    >>> answer_f1("北京大学校长", "北京校长"), answer_f1("北京", "上海")
    (0.4, 0.0)
    """
    ours, theirs = answer_tokens(found), answer_tokens(answer)
    shared = _longest_common_run(theirs, ours)
    if not shared:
        # A question without an answer, and none found: the script knows no such questions.
        return float(not answer and not found)
    precision, recall = shared / len(ours), shared / len(theirs)
    return 2 * precision * recall / (precision + recall)


def answer_tokens(text: str) -> list[str]:
    """Gives Han characters (U+4E00–U+9FA5) one by one, and the words of what stands between them.

    >>> answer_tokens("《USS Enterprise》，共312.6米")
    ['uss', 'enterprise', '共', '312.6', '米']
    """
    tokens: list[str] = []
    run = ""
    for character in _plain(text):
        if "\u4e00" <= character <= "\u9fa5":
            tokens += [*split_words(run), character]
            run = ""
        else:
            run += character
    return [*tokens, *split_words(run)]


def _plain(text: str) -> str:
    return text.lower().strip().translate(_DELETED)


def _longest_common_run(first: list[str], second: list[str]) -> int:
    if first == second:
        return len(first)
    longest = 0
    before = [0] * (len(second) + 1)
    for token in first:
        row = [0] * (len(second) + 1)
        for place, other in enumerate(second):
            if token == other:
                row[place + 1] = before[place] + 1
        longest = max(longest, *row)
        before = row
    return longest
