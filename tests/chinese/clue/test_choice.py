"""C3: choices of passages."""

import numpy as np
import pytest

from chinese.clue.choice import MultipleChoice
from chinese.clue.encoding import TextSettings
from chinese.clue.examples import ChoiceExample

C3 = MultipleChoice()
DOCUMENT = [
    ["男：一", "女：二"],
    [{"question": "三？", "choice": ["四", "五", "四"], "answer": "四"}],
    "1-1",
]


def test_turns_are_lines_and_the_answer_is_a_place(write):
    path = write("d-dev.json", [DOCUMENT])
    assert C3.read([path], has_labels=True) == [
        ChoiceExample(0, "男：一\n女：二", "三？", ("四", "五", "四"), 0)
    ]


def test_documents_of_both_files_follow_each_other(write):
    paths = [write("d-dev.json", [DOCUMENT]), write("m-dev.json", [DOCUMENT, DOCUMENT])]
    assert [example.id for example in C3.read(paths, has_labels=True)] == [0, 1, 2]


def test_questions_of_a_test_file_have_ids(write):
    questions = [{"question": "三？", "choice": ["四", "五"], "id": 508}] * 2
    path = write("test1.1.json", [[["一"], questions[:1]]])
    (example,) = C3.read([path], has_labels=False)
    assert (example.id, example.label) == (508, None)
    path = write("test1.0.json", [[["一"], questions]])
    with pytest.raises(ValueError, match=r"test1\.0\.json:15: id 508 stands there a second time"):
        C3.read([path], has_labels=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "六"}, r":15: answer '六' is none of 四, 五, 四"),
        ({"choice": ["四"]}, r":10: 1 choices; there should be 2 to 4"),
        ({"choice": ["四"] * 5}, r":10: 5 choices"),
        ({"answer": None}, r":15: 'answer' should be text, found null"),
        ({"question": 3}, r":9: 'question' should be text"),
    ],
)
def test_wrong_questions_are_named(write, change, message):
    question = {**DOCUMENT[1][0], **change}
    path = write("d-dev.json", [[DOCUMENT[0], [question], "1"]])
    with pytest.raises(ValueError, match=rf"d-dev\.json{message}"):
        C3.read([path], has_labels=True)


def test_every_choice_has_its_sequence(toy_tokenizer):
    example = ChoiceExample(0, "一\n二", "三？", ("四", "五"), 1)
    (feature,) = C3.encode([example], toy_tokenizer, TextSettings(32))
    tokens = toy_tokenizer.vocabulary.tokens
    first, second, third, fourth = feature.sequences
    assert " ".join(tokens[i] for i in first.input_ids) == "[CLS] 一 二 [SEP] 三 ？ [SEP] 四 [SEP]"
    assert first.segment_ids.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert second.quote(example, 7) == "五"
    # 无效答案 where there is no choice; it stands in no text of the example.
    assert third.input_ids.tolist() == fourth.input_ids.tolist()
    assert len(third.input_ids) == 12
    assert {third.quote(example, token) for token in range(7, 12)} == {""}
    assert (feature.label, feature.cut) == (1, (10, 0))


def test_the_longest_of_three_is_cut(toy_tokenizer):
    example = ChoiceExample(0, "一二三四五六七八九十", "甲乙丙丁甲乙丙丁", ("四", "五六"), 0)
    (feature,) = C3.encode([example], toy_tokenizer, TextSettings(20))
    # 16 tokens: 10 + 8 + 1 loses 3 (10 → 8 → 7); 10 + 8 + 2 loses 4: of equals the first loses.
    sizes = [[(s.parts == p).sum() for p in (0, 1, 2 + n)] for n, s in enumerate(feature.sequences)]
    assert sizes[:2] == [[7, 8, 1], [7, 7, 2]]
    assert feature.cut == (39, 7)


def test_only_choices_that_are_there_are_answered(toy_tokenizer):
    examples = [ChoiceExample(n, "一", "二", ("三",) * n, None) for n in (2, 4)]
    features = list(C3.encode(examples, toy_tokenizer, TextSettings(16)))
    scores = np.array([[0.0, 1.0, 9.0, 9.0], [0.0, 1.0, 9.0, 8.0]])
    assert C3.decode(examples, features, scores, TextSettings(16)) == [1, 2]
    assert C3.baseline([examples[0]._replace(label=3)], examples) == [1, 3]


def test_answers_are_places_as_strings():
    example = ChoiceExample(0, "一", "二", ("三", "四"), None)
    assert C3.answer(example, 1) == "1"
    assert C3.answer_defect("3") is None
    assert C3.answer_defect("3", example) == 'is none of "0" to "1"'
    assert C3.answer_defect(1) == 'is none of "0" to "3"'
