"""Words of Latin text as NLTK's word tokenizer gives them; every list was made by NLTK 3.10.4."""

import pytest

from chinese.clue.latin_words import split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("312.6", ["312.6"]),
        ("uss enterprise.", ["uss", "enterprise", "."]),
        ("henry a. walsh", ["henry", "a.", "walsh"]),
        ("3,000 , 5,b", ["3,000", ",", "5", ",", "b"]),
        ('"hotshot"', ["``", "hotshot", "''"]),
        ('("x")', ["(", "``", "x", "''", ")"]),
        ("(1621", ["(", "1621"]),
        ("can't (do) it...", ["ca", "n't", "(", "do", ")", "it", "..."]),
        ("cannot gonna", ["can", "not", "gon", "na"]),
        (
            "'tis it's ho(o)p(r)r'",
            ["'", "tis", "it", "'s", "ho", "(", "o", ")", "p", "(", "r", ")", "r", "'"],
        ),
        ("u.s.", ["u.s", "."]),
        ("50% $10.2 r&b #1", ["50", "%", "$", "10.2", "r", "&", "b", "#", "1"]),
        ("5'6\" hey! say?", ["5'6", "''", "hey", "!", "say", "?"]),
        ("1—2 «x» ‘y", ["1", "—", "2", "«", "x", "»", "‘", "y"]),
        ("39 m³ 40 °15 ′37 ″", ["39", "m³", "40", "°15", "′37", "″"]),
        ("{t|gtk#}gtk#", ["{", "t|gtk", "#", "}", "gtk", "#"]),
        ("visual basic .net.", ["visual", "basic", ".net", "."]),
        ("…… ‧", ["……", "‧"]),
    ],
)
def test_words_are_those_of_nltk(text, words):
    assert split_words(text) == words
