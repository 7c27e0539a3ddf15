"""One's own tasks: every kind, every form of file."""

import pytest

from chinese.clue.conll import read_conll
from chinese.clue.encoding import TextSettings
from chinese.clue.examples import Answer, Entity
from chinese.clue.own_tasks import check_files, find_labels, own_task
from chinese.clue.tasks import read_split

SETTINGS = TextSettings(64)


def _task(kind, file, texts, label="label", labels=(), **more):
    files = {"dev": file, "test": f"test_{file}"}
    return own_task("mine", kind, files, texts, label, labels, SETTINGS, **more)


def test_a_single_text_in_a_table(write, tmp_path):
    write("dev.tsv", "review\tstars\tnote\n一\tgood\t甲\n二\tbad\t乙\n")
    write("test_dev.tsv", "review\n三\n")
    task = _task("single", "dev.tsv", ["review"], "stars", ["bad", "good"])
    assert [(e.texts, e.label) for e in read_split(task, tmp_path, "dev").examples] == [
        (("一",), 1),
        (("二",), 0),
    ]
    assert read_split(task, tmp_path, "test").examples[0].texts == ("三",)


def test_a_pair_in_json_lines(write, tmp_path):
    write(
        "dev.jsonl", '{"q": "一", "d": "二", "label": "y"}\n{"q": "三", "d": "四", "label": "-"}\n'
    )
    task = _task("pair", "dev.jsonl", ["q", "d"], labels=["n", "y"])
    found = read_split(task, tmp_path, "dev").examples
    assert [(e.texts, e.label) for e in found] == [(("一", "二"), 1), (("三", "四"), None)]
    labels = find_labels(tmp_path, {"train": "dev.jsonl"}, ["q", "d"], "label")
    assert labels == ("y",)


def test_entities_in_json_lines(write, tmp_path):
    rows = [
        {"id": 5, "t": "一二三", "e": [{"type": "x", "start": 1, "end": 3}]},
        {"t": "一二", "e": {"y": {"一": [[0, 0]]}}},
    ]
    write("dev.json", rows)
    task = _task("tagging", "dev.json", ["t"], "e", ["x", "y"])
    first, second = read_split(task, tmp_path, "dev").examples
    assert (first.id, first.entities) == (5, (Entity("x", 1, 3),))
    assert second.entities == (Entity("y", 0, 1),)
    write("dev.json", [{"t": "一", "e": [{"type": "x", "start": 0, "end": 2}]}])
    with pytest.raises(ValueError, match=r"dev\.json:1: characters 0 to 2 of a text of 1"):
        read_split(task, tmp_path, "dev")


def test_entities_of_characters_a_line(write, tmp_path):
    write("dev.txt", "一 B-x\n二 I-x\n。 O\n\n\n三\tS-y\r\n四\tO\r\n")
    write("test_dev.txt", "一\n二\n\n三\n")
    task = _task("tagging", "dev.txt", ["text"], labels=["x", "y"])
    first, second = read_split(task, tmp_path, "dev").examples
    assert (first.text, first.entities) == ("一二。", (Entity("x", 0, 2),))
    assert (second.text, second.entities) == ("三四", (Entity("y", 0, 1),))
    assert [e.text for e in read_split(task, tmp_path, "test").examples] == ["一二", "三"]


@pytest.mark.parametrize(
    ("lines", "text", "spans"),
    [
        ("一 B-x\n二 M-x\n三 E-x", "一二三", [(0, 3)]),
        ("一 B-x\n二 B-x\n三 I-x", "一二三", [(0, 1), (1, 3)]),
        ("New B-x\nYork E-x\n市 O", "New York市", [(0, 8)]),
        ("一 O\n二 S-x\n三 B-x\n四 E-x", "一二三四", [(1, 2), (2, 4)]),
    ],
)
def test_all_usual_tags_are_read(write, lines, text, spans):
    (row,) = read_conll(write("a.bio", lines))
    assert row.value["text"] == text
    assert [(e["start"], e["end"]) for e in row.value["label"]] == spans


@pytest.mark.parametrize("tag", ["I-x", "E-x", "x", "B-", "-", "Z-x", "O-x"])
def test_tags_that_cannot_stand_there_are_named(write, tag):
    with pytest.raises(ValueError, match=r"a\.bio:2: tag .* cannot stand here"):
        list(read_conll(write("a.bio", f"一 O\n二 {tag}\n")))


def test_a_type_may_not_change_within_an_entity(write):
    with pytest.raises(ValueError, match=r"a\.bio:2: tag 'I-y' cannot stand here"):
        list(read_conll(write("a.bio", "一 B-x\n二 I-y\n")))


def test_spans_in_json_lines(write, tmp_path):
    rows = [
        {"c": "一二三", "q": "甲", "a": "二三"},
        {"c": "一二三二", "q": "乙", "a": "二", "answer_start": 3},
        {"c": "一二三", "q": "丙", "a": ["一", "三"]},
        {"c": "一", "q": "丁", "a": None, "id": "d"},
    ]
    write("dev.jsonl", rows)
    write("test_dev.jsonl", [{"c": "一", "q": "甲"}])
    task = _task("span", "dev.jsonl", ["c", "q"], "a", null_threshold=0.0)
    found = read_split(task, tmp_path, "dev").examples
    assert [(e.id, e.answers) for e in found] == [
        (0, (Answer("二三", 1),)),
        (1, (Answer("二", 3),)),
        (2, (Answer("一", 0), Answer("三", 2))),
        ("d", (Answer("", -1),)),
    ]
    assert read_split(task, tmp_path, "test").examples[0].answers == ()
    write("dev.jsonl", [{"c": "一", "q": "甲", "a": "二"}])
    with pytest.raises(
        ValueError, match=r"dev\.jsonl:1: answer '二' does not stand in its context"
    ):
        read_split(task, tmp_path, "dev")


def test_spans_in_the_form_of_squad(write, tmp_path):
    answers = [{"text": "二", "answer_start": 1}]
    questions = [{"id": "Q", "question": "甲", "answers": answers}]
    write("dev.json", {"data": [{"paragraphs": [{"context": "一二", "qas": questions}]}]})
    task = _task("span", "dev.json", ["context", "question"], "answers")
    assert read_split(task, tmp_path, "dev").examples[0].answers == (Answer("二", 1),)
    assert task.form == "object"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pair", "a.tsv", ["x"], "label", ["a"]), "kind pair has 2 fields of text"),
        (("single", "a.tsv", ["x"], "label", []), "kind single has labels"),
        (("span", "a.json", ["x", "y"], "label", ["a"]), "kind span has no labels"),
        (("single", "a.tsv", ["x"], "label", ["a", "a"]), "a label stands twice"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        _task(*arguments)


def test_missing_files_are_named(tmp_path):
    task = _task("single", "a.tsv", ["x"], labels=["a"])
    with pytest.raises(ValueError, match=r"mine, dev: no file .*a\.tsv"):
        check_files(task, tmp_path)
    with pytest.raises(ValueError, match="no training file to learn the labels from"):
        find_labels(tmp_path, {"dev": "a.tsv"}, ["x"], "label")
