"""Sentences end where a reader ends them, and joined they are the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chinese.sentences import sentence_borders, split_sentences


def _cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("你好。再见！", ["你好。", "再见！"]),
        ("他说：“走吧。”我走了。", ["他说：“走吧。”", "我走了。"]),
        ("（完。）下一章", ["（完。）", "下一章"]),
        ("真的？！是的……好；行", ["真的？！", "是的……", "好；", "行"]),
        ("没有句号", ["没有句号"]),
        ("Is it?是。", ["Is it?", "是。"]),
        ("见http://a.cn/?id=3&b!c即可", ["见http://a.cn/?id=3&b!c即可"]),
        ("一行\n二行。\n\n三", ["一行\n", "二行。\n\n", "三"]),
        ("好。 坏。", ["好。 ", "坏。"]),
        ("3.14和e.g.不断", ["3.14和e.g.不断"]),
        ("", []),
        ("。", ["。"]),
    ],
)
def test_sentences_keep_their_marks_and_closing_quotes(text, sentences):
    assert _cut(text) == sentences


@given(st.text(st.sampled_from("中a。！？；…”」)!? \n\r1") | st.characters()))
def test_sentences_touch_and_joined_they_are_the_text(text):
    assert "".join(_cut(text)) == text
    assert all(_cut(text))
    borders = sentence_borders(text).tolist()
    assert (borders[0], borders[-1]) == (0, len(text))
