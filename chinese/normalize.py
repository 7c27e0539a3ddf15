"""Corpus cleaning: takes out what no reader sees; never for a text whose answer is quoted."""

import re

_BREAKS = "\t\v\f\r\x1c-\x1f\x85\u2028\u2029"
_INVISIBLE = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u2060\ufeff\ufffd\ud800-\udfff"
_DIRTY = re.compile(f"[{_BREAKS}{_INVISIBLE}]")
_BREAK_RUN = re.compile(f"[{_BREAKS}]+")
_INVISIBLE_RUN = re.compile(f"[{_INVISIBLE}]+")


def clean_line(text: str) -> str:
    """Gives one corpus line without BOM, NUL, control and zero-width characters, ends stripped.

    Conservative: full-width forms, traditional characters, runs of blanks and joiners that carry
    meaning (U+200D in emoji) stay. Exotic line breaks (U+2028, U+0085, form feed) separate words,
    so each run of them becomes one space; deleting them, as BERT does with U+0085, would join
    words. Lone surrogates go: they cannot be written as UTF-8.
    """
    if _DIRTY.search(text):
        text = _INVISIBLE_RUN.sub("", _BREAK_RUN.sub(" ", text))
    return text.strip()
