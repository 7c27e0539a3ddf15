"""Traditional characters become simplified ones, and offsets stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chinese.clue.examples import (
    Answer,
    ChoiceExample,
    ClozeExample,
    Entity,
    ReadingExample,
    TaggingExample,
    TextExample,
)

pytest.importorskip("opencc")
from chinese.clue.simplified import Simplifier


@pytest.fixture(scope="module")
def simplifier():
    return Simplifier()


def test_phrases_are_known(simplifier):
    assert simplifier.text("乾隆朝的計畫，乾淨的麵條") == "乾隆朝的计划，干净的面条"


@given(st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=30))
def test_the_length_never_changes(simplifier, text):
    assert len(simplifier.text(text)) == len(text)


def test_a_phrase_of_another_length_is_converted_by_characters(simplifier, monkeypatch):
    shorter = {"一二": "三", "一": "壹", "二": "二二"}
    monkeypatch.setattr(simplifier, "_convert", lambda run: shorter.get(run, run))
    assert simplifier.text("甲，一二") == "甲，壹二"


def test_examples_keep_their_offsets(simplifier):
    reading = ReadingExample("Q", "乾隆學漢語。", "誰？", (Answer("隆學", 1), Answer("漢語詞", -1)))
    assert simplifier.example(reading) == ReadingExample(
        "Q", "乾隆学汉语。", "谁？", (Answer("隆学", 1), Answer("汉语词", -1))
    )
    entities = (Entity("name", 0, 2),)
    assert simplifier.example(TaggingExample(0, "漢語", entities)) == TaggingExample(
        0, "汉语", entities
    )
    assert simplifier.example(TextExample(0, ("漢", "語"), 1)).texts == ("汉", "语")
    choice = simplifier.example(ChoiceExample(0, "漢", "語", ("學", "誰"), 1))
    assert choice == ChoiceExample(0, "汉", "语", ("学", "谁"), 1)
    blank = ClozeExample("x", 0, "漢#idiom1#語", (1, 9), (), ("學",), 0)
    assert simplifier.example(blank) == blank._replace(passage="汉#idiom1#语", candidates=("学",))
