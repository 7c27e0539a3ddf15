"""Words and signs of Latin text, as NLTK's word tokenizer finds them; CMRC's F1 counts in them.

Source: the behaviour of `nltk.tokenize.NLTKWordTokenizer` 3.10.4, for text without the marks that
CMRC's script deletes first (`- : * _` and the grave accent among them). `nltk.word_tokenize` also
looks for sentences before it looks for words, which needs a trained model: in all 24,693 answers of
CMRC's and DRCD's labelled files no sentence ends within such a text (a full stop before a blank
stands there eleven times, always behind an initial, `dr` or `st`).
"""

from __future__ import annotations

import re

# In this order; every sign gets blanks around it where it is a word of its own.
_BEFORE_QUOTES = (
    (re.compile("([«“‘„])"), r" \1 "),
    (re.compile(r'\A"'), " `` "),
    (re.compile(r"""([ (\[{<])(?:"|'')"""), r"\1 `` "),
    (re.compile(r"(?<!\w)'(?!(?:re|ve|ll|[mtsdn])\b)(?=\w)", re.IGNORECASE), "' "),
    # A last full stop, with what closes behind it.
    (re.compile(r"""([^.])\.([\])}>"'»”’ ]*)\s*\Z"""), r"\1 . \2 "),
    (re.compile(r"([:,])(\D)"), r" \1 \2"),  # 1,000 stays
    (re.compile(r"([:,])\Z"), r" \1 "),
    (re.compile(r"(\.{2,}|[;@#$%&\u2012-\u2015])"), r" \1 "),
    (re.compile(r"""([^.])\.([\])}>"']*)\s*\Z"""), r"\1 .\2 "),
    (re.compile(r"([?!])"), r" \1 "),
    (re.compile(r"([^'])' "), r"\1 ' "),
    (re.compile(r"([\][(){}<>])"), r" \1 "),
)
_CLOSING_QUOTES = (
    (re.compile("([»”’])"), r" \1 "),
    (re.compile(r"""''|\""""), " '' "),
    (re.compile(r"\s+"), " "),
)
_ENDINGS = (
    (re.compile(r"([^' ])('[smd]?) ", re.IGNORECASE), r"\1 \2 "),
    (re.compile(r"([^' ])('ll|'re|'ve|n't) ", re.IGNORECASE), r"\1 \2 "),
)
_CONTRACTIONS = (
    re.compile(r"\b(can)(not)\b|\b(gim|lem)(me)\b|\b(gon)(na)\b|\b(got)(ta)\b", re.IGNORECASE),
    re.compile(r"\b(d)('ye)\b|\b(more)('n)\b|\b(wan)(na)(?=\s)", re.IGNORECASE),
    re.compile(r"(?<= )('t)(is)\b", re.IGNORECASE),
    re.compile(r"(?<= )('t)(was)\b", re.IGNORECASE),
)


def split_words(text: str) -> list[str]:
    """Gives words and signs; quotes become `` and ''.

    >>> split_words('"Hello," it\\'s 3,000.5 (km).')
    ['``', 'Hello', ',', "''", 'it', "'s", '3,000.5', '(', 'km', ')', '.']
    """
    for pattern, replacement in _BEFORE_QUOTES:
        text = pattern.sub(replacement, text)
    text = f" {text} "
    for pattern, replacement in (*_CLOSING_QUOTES, *_ENDINGS):
        text = pattern.sub(replacement, text)
    for pattern in _CONTRACTIONS:
        text = pattern.sub(_apart, text)
    return text.split()


def _apart(match: re.Match[str]) -> str:
    return " {} {} ".format(*filter(None, match.groups()))
