"""Traditional characters into simplified ones, character for character, so that offsets stay."""

from __future__ import annotations

import re
from typing import TypeVar

from chinese.characters import HAN_RANGES
from chinese.clue.examples import (
    Answer,
    ChoiceExample,
    ClozeExample,
    ReadingExample,
    TaggingExample,
    TextExample,
)

_HAN_RUN = re.compile("[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in HAN_RANGES) + "]+")

ExampleT = TypeVar(
    "ExampleT", TextExample, ChoiceExample, ClozeExample, ReadingExample, TaggingExample
)


class Simplifier:
    """Converts with OpenCC (t2s), which knows phrases: 乾隆 stays, 乾淨 becomes 干净.

    Raises:
        ValueError: OpenCC is not installed.
    """

    def __init__(self) -> None:
        try:
            import opencc
        except ImportError:
            raise ValueError(
                "converting traditional characters needs OpenCC: pip install 'electra-tf[clue]'"
            ) from None
        self._convert = opencc.OpenCC("t2s").convert

    def text(self, text: str) -> str:
        """Gives the text in simplified characters, as long as it was.

        >>> Simplifier().text("乾隆皇帝的鐘錶，乾淨！")
        '乾隆皇帝的钟表，干净！'
        """
        return _HAN_RUN.sub(lambda match: self._run(match.group()), text)

    def _run(self, run: str) -> str:
        converted = self._convert(run)
        if len(converted) == len(run):
            return converted
        # A phrase of another length would move what stands behind it: then single characters.
        return "".join(
            single if len(single := self._convert(character)) == 1 else character
            for character in run
        )

    def example(self, example: ExampleT) -> ExampleT:
        """Gives an example in simplified characters; offsets, ids and labels are the same.

        An answer is again the stretch of its context, so it is found again as it stands there.
        """
        if isinstance(example, TextExample):
            return example._replace(texts=tuple(map(self.text, example.texts)))
        if isinstance(example, ChoiceExample):
            return example._replace(
                passage=self.text(example.passage),
                question=self.text(example.question),
                choices=tuple(map(self.text, example.choices)),
            )
        if isinstance(example, ClozeExample):
            return example._replace(
                passage=self.text(example.passage),
                candidates=tuple(map(self.text, example.candidates)),
            )
        if isinstance(example, ReadingExample):
            context = self.text(example.context)
            answers = tuple(self._answer(answer, context) for answer in example.answers)
            question = self.text(example.question)
            return example._replace(context=context, question=question, answers=answers)
        return example._replace(text=self.text(example.text))

    def _answer(self, answer: Answer, context: str) -> Answer:
        if answer.start < 0:
            return Answer(self.text(answer.text), answer.start)
        return Answer(context[answer.start : answer.start + len(answer.text)], answer.start)
