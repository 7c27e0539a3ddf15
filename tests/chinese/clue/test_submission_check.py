"""Every defect of a zip is named; a sound one is sound."""

import json
import zipfile

import pytest

from chinese.clue.submission import write_zip
from chinese.clue.submission_check import check_submission

IDS = (4, 2, 9)


@pytest.fixture
def data(write, tmp_path):
    write("data/tnews/test.json", [{"id": id_, "sentence": "一"} for id_ in IDS])
    questions = [{"id": f"TEST_{n}_QUERY_0", "question": "甲", "answers": []} for n in range(2)]
    paragraph = {"context": "一二", "qas": questions}
    write("data/cmrc2018/test.json", {"data": [{"paragraphs": [paragraph]}]})
    return tmp_path / "data"


def _zip(tmp_path, files):
    path = tmp_path / "submit.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def _lines(*labels, ids=IDS):
    rows = [{"id": id_, "label": label} for id_, label in zip(ids, labels, strict=True)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _defects(tmp_path, data, content, name="tnews11_predict.json"):
    (checked,) = check_submission(_zip(tmp_path, {name: content}), data)
    return list(checked.defects)


def test_sound_files_are_sound(tmp_path, data):
    answers = json.dumps({"TEST_1_QUERY_0": "二", "TEST_0_QUERY_0": ""})
    files = {
        "tnews11_predict.json": _lines("100", "116", "102"),
        "cmrc2018_predict.json": answers,
        "__MACOSX/._tnews11_predict.json": "x",
    }
    found = check_submission(_zip(tmp_path, files), data)
    assert [(f.name, f.task, f.split, f.num_answers, f.defects, f.is_compared) for f in found] == [
        ("tnews11_predict.json", "tnews", "test", 3, (), True),
        ("cmrc2018_predict.json", "cmrc2018", "test", 2, (), True),
    ]


def test_a_label_desc_and_ids_as_text_are_tolerated(tmp_path, data):
    rows = [{"id": str(id_), "label": "100", "label_desc": ""} for id_ in IDS]
    assert _defects(tmp_path, data, "".join(json.dumps(row) + "\n" for row in rows)) == []


@pytest.mark.parametrize(
    ("content", "defects"),
    [
        (
            _lines("100", "105", "102"),
            ['line 2: label "105" is none of the label strings "100", "101", "102"'],
        ),
        (_lines("100", 101, "102"), ["line 2: label 101 is none of the label strings"]),
        (
            _lines("100", "101", "102", ids=(2, 4, 9)),
            ["line 1: id 2 stands where the test file has 4; answers are compared line by line"],
        ),
        (
            _lines("100", "101", "102", ids=(4, 2, 8)),
            ["id 9 of the test file has no answer", "line 3: id 8 is not in the test file"],
        ),
        (
            _lines("100", "101", "102", "103", ids=(*IDS, 4)),
            ["4 answers; the test file has 3", "id 4 stands there 2 times"],
        ),
        (
            _lines("100", "101", ids=IDS[:2]),
            ["2 answers; the test file has 3", "id 9 of the test file has no answer"],
        ),
        ('{"id": 4}\n', ["line 1: no label; found id"]),
        ('{"id": null, "label": "100"}\n', ["line 1: id None is neither a number nor text"]),
        ("[]\n{\n\n", ["line 1: no JSON object", "line 2: broken JSON", "line 3: blank"]),
        ("\ufeff" + _lines("100", "101", "102"), ["begins with a byte-order mark"]),
        ("\n", ["is empty"]),
        (b"\xff", ["not UTF-8 (byte 0)"]),
    ],
)
def test_defects_of_lines_are_named(tmp_path, data, content, defects):
    found = _defects(tmp_path, data, content)
    assert len(found) == len(defects)
    for ours, theirs in zip(found, defects, strict=True):
        assert ours.startswith(theirs)


@pytest.mark.parametrize(
    ("content", "defects"),
    [
        ('{"TEST_0_QUERY_0": "一"}', ["1 answers; the test", "id TEST_1_QUERY_0 of the test file"]),
        (
            '{"TEST_0_QUERY_0": "一", "TEST_1_QUERY_0": 3}',
            ["key TEST_1_QUERY_0: label 3 is no text"],
        ),
        (
            '{"TEST_0_QUERY_0": "一", "TEST_0_QUERY_0": "二"}',
            ["key TEST_0_QUERY_0 stands"],
        ),
        ('["一", "二"]', ["is no object of all answers"]),
        ('{"id": 0, "label": "一"}\n{"id": 1, "label": "二"}', ["broken JSON"]),
    ],
)
def test_defects_of_objects_are_named(tmp_path, data, content, defects):
    found = _defects(tmp_path, data, content, "cmrc2018_predict.json")
    assert len(found) == len(defects)
    for ours, theirs in zip(found, defects, strict=True):
        assert ours.startswith(theirs)


def test_without_test_files_the_form_alone_is_looked_at(tmp_path):
    found = _defects(tmp_path, None, '{"DEV_0_QUERY_0": "一"}', "cmrc2018_predict.json")
    assert found == [
        "1 answers; the test file has 2,000",
        r"key DEV_0_QUERY_0 is not of the form TEST_\d+_QUERY_\d+",
    ]
    rows = "".join(f'{{"id": {n}, "label": "0"}}\n' for n in range(3_861))
    assert _defects(tmp_path, None, rows, "afqmc_predict.json") == []


def test_names_are_looked_at(tmp_path, data):
    content = _lines("100", "101", "102")
    strange = "no board knows a file of this name; "
    for name, defect in {
        "tnews_predict.json": f"{strange}did you mean tnews11_predict.json?",
        "ocnli_predict.json": f"{strange}did you mean ocnli_50k_predict.json?",
        "wsc_predict.json": f"{strange}did you mean cluewsc1",
        "TNEWS11_predict.json": f"{strange}did you mean tnews11_predict.json?",
        "xyz": f"{strange}it should be like tnews11_predict.json",
        "out/tnews11_predict.json": "lies in a folder, out/tnews11_predict.json; files stand flat",
    }.items():
        assert _defects(tmp_path, data, content, name)[0].startswith(defect)


def test_a_file_that_stands_twice_is_named(tmp_path, data):
    content = _lines("100", "101", "102")
    files = {"tnews11_predict.json": content, "a/tnews11_predict.json": content}
    for checked in check_submission(_zip(tmp_path, files), data):
        assert "stands 2 times in the zip" in checked.defects


def test_many_defects_of_a_kind_are_summed_up(tmp_path, data):
    rows = "".join(f'{{"id": {n}, "label": "x"}}\n' for n in range(9))
    found = _defects(tmp_path, data, rows)
    assert found[-1] == "and 4 more of this kind"
    assert len([line for line in found if "is none of the label strings" in line]) == 5


def test_what_is_no_zip_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        check_submission(tmp_path / "no.zip", None)
    (tmp_path / "a.zip").write_text("x")
    with pytest.raises(ValueError, match=r"a\.zip: no zip, or a damaged one"):
        check_submission(tmp_path / "a.zip", None)
    sound = write_zip(tmp_path / "b.zip", [tmp_path / "a.zip"]).read_bytes()
    (tmp_path / "c.zip").write_bytes(sound[:-5])
    with pytest.raises(ValueError, match=r"c\.zip: no zip, or a damaged one"):
        check_submission(tmp_path / "c.zip", None)
    (checked,) = check_submission(_zip(tmp_path, {}), None)
    assert checked.defects == ("the zip is empty",)


def test_a_zip_is_never_overwritten_and_always_the_same(tmp_path):
    file = tmp_path / "tnews11_predict.json"
    file.write_text("x")
    path = write_zip(tmp_path / "one.zip", [file])
    with pytest.raises(ValueError, match=r"one\.zip exists"):
        write_zip(path, [file])
    other = write_zip(tmp_path / "sub" / "two.zip", [file])
    assert path.read_bytes() == other.read_bytes()
    with pytest.raises(ValueError, match="no predictions to pack"):
        write_zip(tmp_path / "three.zip", [])
    with pytest.raises(ValueError, match="two files of one name"):
        write_zip(tmp_path / "three.zip", [file, file])
    assert not list(tmp_path.glob("*.unfinished"))
