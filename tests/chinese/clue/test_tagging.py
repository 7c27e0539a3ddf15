"""Entities and tags, to and fro."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chinese.clue.encoding import TextSettings
from chinese.clue.examples import Entity, TaggingExample
from chinese.clue.features import NO_LABEL
from chinese.clue.tagging import Tagging, entities_of_tags

FAMILY = Tagging(("name", "book"))
SETTINGS = TextSettings(16, stride=5)


def test_rows_of_cluener_are_read(write):
    rows = [
        {"text": "一二三二", "label": {"book": {"三": [[2, 2]]}, "name": {"二": [[1, 1], [3, 3]]}}},
        {"text": "四", "label": {}},
    ]
    first, second = FAMILY.read([write("dev.json", rows)], has_labels=True)
    assert first.entities == (Entity("name", 1, 2), Entity("book", 2, 3), Entity("name", 3, 4))
    assert second == TaggingExample(1, "四", ())
    assert second.is_labelled
    (test,) = FAMILY.read([write("test.json", [{"id": 9, "text": "一"}])], has_labels=False)
    assert (test.id, test.entities, test.is_labelled) == (9, None, False)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "一二", "label": {"name": {"二": [[0, 0]]}}}, "'二' does not stand at 0 to 0"),
        ({"text": "一二", "label": {"name": {"二": [[1, 2]]}}}, "'二' does not stand at 1 to 2"),
        ({"text": "一二", "label": {"name": {"二": [[-1, -1]]}}}, "does not stand at -1 to -1"),
        ({"text": "一二", "label": {"name": {"二": [[1]]}}}, r"[first, last] should stand here"),
        ({"text": "一", "label": {"game": {"一": [[0, 0]]}}}, "type 'game' is none of name, book"),
        ({"text": "一", "label": []}, "'label' should be an object"),
        ({"text": "一"}, "no field 'label'"),
        ({"label": {}}, "no field 'text'"),
    ],
)
def test_wrong_rows_are_named(write, row, message):
    path = write("dev.json", [{"text": "一", "label": {}}, row])
    with pytest.raises(ValueError, match=r"dev\.json:2: ") as caught:
        FAMILY.read([path], has_labels=True)
    assert message in str(caught.value)


def test_tags_are_on_tokens(toy_tokenizer):
    entities = (Entity("name", 0, 1), Entity("book", 1, 4), Entity("name", 5, 7))
    example = TaggingExample(0, "一二三四 1998", entities)
    (feature,) = FAMILY.encode([example], toy_tokenizer, SETTINGS)
    names = [FAMILY.tags[tag] if tag >= 0 else "–" for tag in feature.tags.tolist()]
    # 19 of 1998 is taught as the whole token.
    assert names == ["–", "S-name", "B-book", "I-book", "I-book", "S-name", "–"]
    assert feature.is_max_context.tolist() == [False] + [True] * 5 + [False]
    assert feature.num_lost_entities == 0
    assert FAMILY.decode([example], [feature], [feature.tags], SETTINGS) == [
        (Entity("name", 0, 1), Entity("book", 1, 4), Entity("name", 5, 9))
    ]


def test_of_overlapping_entities_the_longest_is_taught(toy_tokenizer):
    entities = (Entity("name", 1, 3), Entity("book", 0, 3), Entity("name", 3, 4))
    example = TaggingExample(0, "一二三四", entities)
    (feature,) = FAMILY.encode([example], toy_tokenizer, SETTINGS)
    assert feature.num_lost_entities == 1
    assert FAMILY.decode([example], [feature], [feature.tags], SETTINGS) == [
        (Entity("book", 0, 3), Entity("name", 3, 4))
    ]


def test_a_text_to_be_predicted_has_no_tags(toy_tokenizer):
    (feature,) = FAMILY.encode([TaggingExample(0, "一二", None)], toy_tokenizer, SETTINGS)
    assert set(feature.tags.tolist()) == {NO_LABEL}


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 4), st.sampled_from(FAMILY.types)), max_size=12
    ),
    st.integers(2, 14),
)
def test_entities_come_back_from_windows_of_any_stride(toy_tokenizer, pieces, stride):
    entities, size = [], 0
    for gap, length, name in pieces:
        entities.append(Entity(name, size + gap, size + gap + length))
        size += gap + length
    example = TaggingExample(0, "一" * (size + 1), tuple(entities))
    settings = TextSettings(16, stride=stride)
    features = list(FAMILY.encode([example], toy_tokenizer, settings))
    outputs = [np.maximum(feature.tags, 0) for feature in features]
    assert FAMILY.decode([example], features, outputs, settings) == [tuple(entities)]


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        ("O O", []),
        ("B-name I-name I-name", [("name", 0, 2)]),
        ("S-name S-name", [("name", 0, 0), ("name", 1, 1)]),
        ("B-name I-name B-name I-name", [("name", 0, 1), ("name", 2, 3)]),
        ("B-name O", []),
        ("O I-name", []),
        ("B-name I-book I-book", []),
        ("B-name I-name I-book", [("name", 0, 1)]),
        ("B-name S-book", [("book", 1, 1)]),
        ("B-name B-book I-book", [("book", 1, 2)]),
        ("S-name I-name", [("name", 0, 0)]),
    ],
)
def test_tags_are_read_as_in_the_baseline(tags, entities):
    assert entities_of_tags(tags.split()) == entities


def test_missing_outputs_are_refused(toy_tokenizer):
    example = TaggingExample(0, "一", ())
    features = list(FAMILY.encode([example], toy_tokenizer, SETTINGS))
    with pytest.raises(ValueError, match="0 predictions for 1 examples"):
        FAMILY.decode([example], features, [], SETTINGS)
    with pytest.raises(ValueError, match="features of 1 of 2 examples"):
        FAMILY.decode([example] * 2, features, [features[0].tags], SETTINGS)


def test_scores_leave_out_unlabelled_texts():
    examples = [
        TaggingExample(0, "一二", (Entity("name", 0, 1), Entity("book", 1, 2))),
        TaggingExample(1, "三", None),
    ]
    found = [(Entity("name", 0, 1),), (Entity("name", 0, 1),)]
    score = FAMILY.score(examples, found)
    assert (score.metric, score.value) == ("macro F1", 50.0)
    assert (score.num_scored, score.num_unlabelled) == (1, 1)
    assert score.details["span F1"] == pytest.approx(200 / 3)
    assert FAMILY.score(examples, FAMILY.baseline([], examples)).value == 0.0


def test_answers_have_inclusive_ends_by_type_and_string():
    example = TaggingExample(0, "一二一", None)
    found = (Entity("name", 0, 1), Entity("book", 0, 2), Entity("name", 2, 3))
    answer = {"name": {"一": [[0, 0], [2, 2]]}, "book": {"一二": [[0, 1]]}}
    assert FAMILY.answer(example, found) == answer
    assert FAMILY.answer(example, ()) == {}
    assert FAMILY.answer_defect(answer, example) is None


@pytest.mark.parametrize(
    ("answer", "defect"),
    [
        ([], "is no object of types"),
        ({"goverment": {}}, "has the type 'goverment', which is none of name, book"),
        ({"name": [["一"]]}, "has no object of strings for name"),
        ({"name": {"一": []}}, "has no [[first, last], …] for '一'"),
        ({"name": {"一": [[0, "0"]]}}, "has no [[first, last], …] for '一'"),
        ({"name": {"一二": [[0, 2]]}}, "gives '一二' the characters 0 to 2; the last one counts"),
        ({"name": {"二": [[0, 0]]}}, "has '二' where the text has '一'"),
    ],
)
def test_wrong_answers_are_named(answer, defect):
    assert FAMILY.answer_defect(answer, TaggingExample(0, "一二", None)) == defect
