"""From a name or a YAML to a task with its files."""

import pytest

from chinese.clue.tasks import read_split
from electra_tf.workflows.tasks import describe_tasks, find_data, load_task, present_tasks


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_task_of_the_table_is_found_in_a_folder_of_data_or_in_its_own(tmp_path):
    _write(tmp_path / "data/tnews_public/dev.json", '{"sentence": "一", "label": "100"}\n')
    folder = tmp_path / "data" / "tnews_public"
    for data in (tmp_path / "data", folder):
        found = load_task("tnews", data)
        assert (found.task.name, found.folder) == ("tnews", folder)
    found, absent = present_tasks(tmp_path / "data")
    assert [task.name for task, _ in found] == ["tnews"]
    assert len(absent) == len(describe_tasks()) - 1
    rows = find_data(tmp_path / "data")
    assert rows[0] == ("tnews", str(folder), "dev")
    assert ("afqmc", "absent", "") in rows


def test_rounds_of_fewclue_are_told_in_short(tmp_path):
    for name in ("train_0", "dev_0", "train_1", "test"):
        _write(tmp_path / f"fewclue/bustm/{name}.json", "x")
    assert find_data(tmp_path)[0] == ("bustm", str(tmp_path / "fewclue/bustm"), "rounds 0, test")


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="no task 'tnew'; did you mean tnews"):
        load_task("tnew", tmp_path)
    with pytest.raises(ValueError, match="tnews: say with --data where its files are"):
        load_task("tnews", None)
    with pytest.raises(ValueError, match="holds no files of it; they may lie in tnews, tn"):
        load_task("tnews", tmp_path)
    with pytest.raises(ValueError, match="no such folder of data"):
        find_data(tmp_path / "none")


OWN = """\
name: stars
kind: single
files: {train: train.tsv, dev: dev.tsv}
text: [review]
label: stars
"""


def _own(tmp_path, text=OWN, **change):
    for old, new in change.items():
        text = text.replace(old, new)
    for name in ("train.tsv", "dev.tsv"):
        _write(tmp_path / name, "review\tstars\n一\tgood\n二\tbad\n")
    return str(_write(tmp_path / "stars.yaml", text))


def test_a_yaml_describes_a_task_and_its_labels_are_learnt(tmp_path):
    task, folder = load_task(_own(tmp_path), None)
    assert (task.name, task.labels, folder) == ("stars", ("bad", "good"), tmp_path)
    assert (task.settings.max_length, task.settings.stride) == (128, 32)
    assert [e.label for e in read_split(task, folder, "dev").examples] == [1, 0]


def test_labels_may_be_given_in_an_order(tmp_path):
    task, _ = load_task(_own(tmp_path, OWN + "labels: [good, bad]\nmax_length: 64\n"), None)
    assert (task.labels, task.settings.max_length) == (("good", "bad"), 64)


def test_a_span_task_has_512_tokens(tmp_path):
    _write(tmp_path / "a.jsonl", '{"c": "一二", "q": "三", "a": "二"}\n')
    text = "name: qa\nkind: span\nfiles: {dev: a.jsonl}\ntext: [c, q]\nlabel: a\n"
    task, folder = load_task(str(_write(tmp_path / "qa.yml", text)), None)
    assert (task.settings.max_length, task.settings.stride) == (512, 128)
    assert read_split(task, folder, "dev").examples[0].answers == (("二", 1),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: single", "kind: pairs", r"stars\.yaml: kind is 'pairs'"),
        ("label: stars", "lable: stars", r"stars\.yaml: unknown key lable; did you mean label\?"),
        ("name: stars", "name: My Stars", r"stars\.yaml: name is 'My Stars'"),
        ("kind: single", "kind: pair", r"stars\.yaml: stars: kind pair has 2 fields of text"),
        ("kind: single", "kind: tagging", r"stars\.yaml: labels is missing"),
        ("dev: dev.tsv", "dev: no.tsv", r"stars\.yaml: stars, dev: no file .*no\.tsv"),
        ("dev: dev.tsv", "valid: dev.tsv", r"stars\.yaml: files\.valid"),
        ("train: train.tsv, ", "", r"stars\.yaml: .*no training file to learn the labels from"),
        ("text: [review]", "text: [reviews]", r"train\.tsv:1: no header with the columns reviews"),
    ],
)
def test_a_yaml_that_does_not_fit_is_named(tmp_path, old, new, message):
    with pytest.raises(ValueError, match=message):
        load_task(_own(tmp_path, OWN.replace(old, new)), None)
