"""The room of tasks with the real tokenizer, and without TensorFlow."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chinese.characters import is_control, is_space
from chinese.clue.encoding import TextSettings
from chinese.clue.examples import TextExample
from chinese.clue.features import truncation
from chinese.clue.table import find_task
from chinese.tokenizer import Tokenizer
from chinese.vocab import fold

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def tokenizer(small_vocabulary):
    return Tokenizer(small_vocabulary)


@given(
    st.lists(
        st.text(st.sampled_from("中国T恤unable１！é \u3000\u200b\n𠀀。ΣΑ"), max_size=12),
        min_size=2,
        max_size=2,
    )
)
@settings(max_examples=25)
def test_every_character_that_is_read_stands_in_a_token(tokenizer, texts):
    family = find_task("afqmc").family
    example = TextExample(0, tuple(texts), 1)
    (feature,) = family.encode([example], tokenizer, TextSettings(64))
    assert truncation([feature]).num_lost == 0
    sequence = feature.sequence
    seen = [set(), set()]
    for token, part in enumerate(sequence.parts.tolist()):
        if part >= 0:
            seen[part].update(range(*sequence.spans[token].tolist()))
            name = tokenizer.vocabulary.tokens[sequence.input_ids[token]]
            quoted = "".join(c for c in sequence.quote(example, token) if not is_control(c))
            assert name in ("[UNK]", fold(quoted), f"##{fold(quoted)}", "##ας")
    for text, covered in zip(texts, seen, strict=True):
        left = [text[place] for place in range(len(text)) if place not in covered]
        assert all(is_space(c) or is_control(c) for c in left)


def test_no_tensorflow_is_needed():
    code = (
        "import sys, chinese.clue.submission_check, chinese.clue.own_tasks, chinese.clue.published;"
        "sys.exit('tensorflow' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
