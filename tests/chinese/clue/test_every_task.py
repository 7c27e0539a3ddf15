"""Two hand-written lines a task, in the official form: read, encoded, decided, scored, sent in.

Tasks without real data at hand (ChID's files, C3's test 1.1, the diagnostics, LCQMC, BQ, XNLI) have
nothing else to be tested with.
"""

import json

import pytest

from chinese.clue.features import truncation
from chinese.clue.submission import submission_name, submission_text, write_predictions, write_zip
from chinese.clue.submission_check import check_submission
from chinese.clue.table import CLUE_1_1, TASKS, find_task
from chinese.clue.tasks import find_files, find_folder, read_split

PAIR = {"sentence1": "一二", "sentence2": "三"}
OCNLI = {
    "level": "medium",
    **PAIR,
    **{f"label{n}": None for n in range(5)},
    "genre": "lit",
    "prem_id": "lit_635",
}
WSC = {
    "target": {"span2_index": 3, "span1_index": 0, "span1_text": "一二", "span2_text": "三"},
    "text": "一二是三。",
}
CSL = {"abst": "一二三。", "keyword": ["甲", "乙丙"]}
IDIOMS = ["一二三四", "五六七八", "九十甲乙"] + [f"丙丁一{n}" for n in "二三四五六七八"]
FEW_CHID = {"candidates": IDIOMS[:7], "content": "甲#idiom#。"}


def _squad(prefix, *answers):
    questions = [
        {"id": f"{prefix}_{n}_QUERY_0", "question": "二？", "answers": [answer]}
        for n, answer in enumerate(answers)
    ]
    return {
        "version": "v1.0",
        "data": [{"paragraphs": [{"context": "一二三。", "qas": questions}]}],
    }


def _c3(*more):
    questions = [{"question": "二？", "choice": ["一", "二", "三"], **each} for each in more]
    return [
        [["男：一", "女：二"], [question], *([] if "id" in question else ["1"])]
        for question in questions
    ]


def _chid(*tags):
    return [{"content": [f"甲{tag}乙"], "candidates": IDIOMS} for tag in tags]


def _rows(row, *labels, key="label"):
    return [{"id": n, **row, key: label} for n, label in enumerate(labels)]


def _tests(row, *ids):
    return [{"id": id_, **row} for id_ in ids]


def _table(header, *rows):
    return "".join("\t".join(row) + "\n" for row in (header, *rows))


_FAKE = {"text": "FAKE_ANSWER_1", "answer_start": -1}
_ANSWERS = ({"text": "二", "answer_start": 1}, {"text": "二三", "answer_start": 1})
_XNLI = ("language", "gold_label", *"2345", "sentence1", "sentence2")

# task → {file: content}; what is read is the split that the dictionary names.
FILES = {
    "afqmc": ("dev", {"dev.json": [{**PAIR, "label": "0"}, {**PAIR, "label": "1"}]}),
    "tnews": (
        "dev",
        {
            "dev.json": [
                {
                    "label": "102",
                    "label_desc": "news_entertainment",
                    "sentence": "一",
                    "keywords": "",
                },
                {"label": "116", "label_desc": "news_game", "sentence": "二", "keywords": "甲,乙"},
            ]
        },
    ),
    "iflytek": (
        "dev",
        {
            "dev.json": [
                {"label": "110", "label_des": "社区超市", "sentence": "一二"},
                {"label": "0", "label_des": "打车", "sentence": "三"},
            ]
        },
    ),
    "cmnli": ("dev", {"dev.json": [{**PAIR, "label": "neutral"}, {**PAIR, "label": "-"}]}),
    "ocnli": ("dev", {"dev.json": _rows(OCNLI, "entailment", "-")}),
    "cluewsc": (
        "dev",
        {"dev.json": [{**WSC, "idx": 258, "label": "true"}, {**WSC, "idx": 258, "label": "false"}]},
    ),
    "csl": ("dev", {"dev.json": _rows(CSL, "1", "0")}),
    "cmrc2018": ("dev", {"dev.json": _squad("DEV", *_ANSWERS)}),
    "chid": (
        "dev",
        {
            "dev.json": _chid("#idiom000001#", "#idiom000002#"),
            "dev_answer.json": {"#idiom000001#": 3, "#idiom000002#": 9},
        },
    ),
    "c3": ("dev", {"d-dev.json": _c3({"answer": "二"}), "m-dev.json": _c3({"answer": "三"})}),
    "cluener": (
        "dev",
        {
            "dev.json": [
                {"text": "一二三", "label": {"name": {"一二": [[0, 1]]}, "game": {"三": [[2, 2]]}}},
                {
                    "text": "甲乙丙丁是一二三四五六七八",
                    "label": {
                        name: {character: [[place, place]]}
                        for place, (name, character) in enumerate(
                            zip(TASKS["cluener"].family.types, "甲乙丙丁是一二三四五", strict=True)
                        )
                    },
                },
            ]
        },
    ),
    "diagnostics": (
        "test",
        {
            "diagnostics_test.json": [
                {"index": n, "premise": "一二", "hypothesis": "三"} for n in range(2)
            ]
        },
    ),
    "eprstmt": ("dev_0", {"dev_0.json": _rows({"sentence": "一"}, "Positive", "Negative")}),
    "csldcp": ("dev_0", {"dev_0.json": _rows({"content": "一"}, "力学", "数学")}),
    "tnewsf": ("dev_0", {"dev_0.json": _rows({"sentence": "一", "keywords": ""}, 100, 116)}),
    "iflytekf": ("dev_0", {"dev_0.json": _rows({"sentence": "一"}, 0, 118)}),
    "ocnlif": ("dev_0", {"dev_0.json": _rows(OCNLI, "contradiction", "neutral")}),
    "bustm": ("dev_0", {"dev_0.json": _rows(PAIR, "0", "1")}),
    "chidf": ("dev_0", {"dev_0.json": _rows(FEW_CHID, 3, 6, key="answer")}),
    "cslf": ("dev_0", {"dev_0.json": _rows(CSL, "0", "1")}),
    "cluewscf": (
        "dev_0",
        {"dev_0.json": [{**WSC, "idx": 1, "label": "true"}, {**WSC, "idx": 2, "label": "false"}]},
    ),
    "chnsenticorp": ("dev", {"dev.tsv": _table(("label", "text_a"), ("1", "一"), ("0", '"二'))}),
    "lcqmc": ("dev", {"dev.tsv": "一\t二\t1\n三\t四\t0\n"}),
    "bq": ("dev", {"dev.csv": "\ufeffsentence1,sentence2,label\r\n一,二,1\r\n三,四,0\r\n"}),
    "xnli": (
        "dev",
        {
            "xnli.dev.tsv": _table(
                _XNLI,
                ("en", "neutral", *"2345", "a", "b"),
                ("zh", "neutral", *"2345", "一", "二"),
                ("zh", "contradiction", *"2345", "三", "四"),
            )
        },
    ),
    "pawsx": (
        "dev",
        {
            "dev_2k.tsv": _table(
                ("id", "sentence1", "sentence2", "label"),
                ("4", "一", "二", "1"),
                ("9", "NS", "三", "0"),
            )
        },
    ),
    "drcd": ("dev", {"DRCD_dev.json": _squad("1147-5", *_ANSWERS)}),
}
TESTS = {
    "afqmc": {"test.json": _tests(PAIR, 0, 1)},
    "tnews": {"test.json": _tests({"sentence": "一", "keywords": ""}, 0, 1)},
    "iflytek": {"test.json": _tests({"sentence": "一"}, 0, 1)},
    "cmnli": {"test.json": _tests(PAIR, 0, 1)},
    "ocnli": {"test.json": _tests(PAIR, 0, 1)},
    "cluewsc": {"test.json": _tests(WSC, 0, 1)},
    "csl": {"test.json": _tests(CSL, 7, 3)},
    "cmrc2018": {"test.json": _squad("TEST", _FAKE, _FAKE)},
    "chid": {"test1.1.json": _chid("#idiom000001#", "#idiom000002#")},
    "c3": {"test1.1.json": _c3({"id": 508}, {"id": 3})},
    "cluener": {"test.json": _tests({"text": "一二三"}, 0, 1)},
    "diagnostics": FILES["diagnostics"][1],
    "eprstmt": {"test.json": _tests({"sentence": "一"}, 111, 5)},
    "csldcp": {"test.json": _tests({"content": "一"}, 0, 1)},
    "tnewsf": {"test.json": _tests({"sentence": "一"}, "0", "1")},
    "iflytekf": {"test.json": _tests({"sentence": "一"}, 0, 1)},
    "ocnlif": {"test.json": _tests(PAIR, 0, 1)},
    "bustm": {"test.json": _tests(PAIR, 3000, 3001)},
    "chidf": {"test.json": _tests(FEW_CHID, 3000, 3001)},
    "cslf": {"test.json": _tests(CSL, 2415, 3)},
    "cluewscf": {"test.json": _tests(WSC, 1, 2)},
    "drcd": {"test.json": _squad("1147", *_ANSWERS)},
}
UNSCORED = {"cmnli": 1, "ocnli": 1, "pawsx": 1}


def test_every_task_has_its_lines():
    assert set(FILES) == set(TASKS)
    assert set(TESTS) == {name for name, task in TASKS.items() if task.submissions}
    assert set(CLUE_1_1) < set(TASKS)


def _folder(write, tmp_path, task, files):
    for name, content in files.items():
        write(f"{task.folders[0]}/{name}", content)
    folder = find_folder(task, tmp_path)
    assert folder == tmp_path / task.folders[0]
    return folder


@pytest.mark.parametrize("name", [name for name in TASKS if name != "diagnostics"])
def test_an_oracle_scores_100_on_two_lines(name, write, tmp_path, toy_tokenizer, oracle_outputs):
    task = find_task(name)
    split_name, files = FILES[name]
    split = read_split(task, _folder(write, tmp_path, task, files), split_name)
    assert len(split.examples) == 2
    assert len(split.labelled()) == 2 - UNSCORED.get(name, 0)
    features = list(task.family.encode(split.examples, toy_tokenizer, task.settings))
    assert truncation(features).num_lost == 0
    outputs = oracle_outputs(task, split.examples, features)
    predictions = task.family.decode(split.examples, features, outputs, task.settings)
    score = task.family.score(split.examples, predictions)
    assert score.value == 100.0
    assert score.metric == task.family.metric
    assert (score.num_scored, score.num_unlabelled) == (
        2 - UNSCORED.get(name, 0),
        UNSCORED.get(name, 0),
    )
    baseline = task.family.baseline(split.labelled(), split.examples)
    assert task.family.score(split.examples, baseline).value < 100.0 or name in UNSCORED


EXPECTED = {
    "tnews": ["tnews11_predict.json", '{"id": 0, "label": "100"}', '{"id": 1, "label": "100"}'],
    "ocnli": [
        "ocnli_50k_predict.json",
        '{"id": 0, "label": "contradiction"}',
        '{"id": 1, "label": "contradiction"}',
    ],
    "cluewsc": [
        "cluewsc11_predict.json",
        '{"id": 0, "label": "true"}',
        '{"id": 1, "label": "true"}',
    ],
    "csl": ["csl_predict.json", '{"id": 7, "label": "0"}', '{"id": 3, "label": "0"}'],
    "c3": ["c311_predict.json", '{"id": 508, "label": "0"}', '{"id": 3, "label": "0"}'],
    "cluener": ["cluener_predict.json", '{"id": 0, "label": {}}', '{"id": 1, "label": {}}'],
    "chidf": ["chidf_predict.json", '{"id": 3000, "answer": 0}', '{"id": 3001, "answer": 0}'],
    "tnewsf": ["tnewsf_predict.json", '{"id": "0", "label": "100"}', '{"id": "1", "label": "100"}'],
    "diagnostics": [
        "diagnostics_predict.json",
        '{"id": 0, "label": "contradiction"}',
        '{"id": 1, "label": "contradiction"}',
    ],
    "cmrc2018": [
        "cmrc2018_predict.json",
        {"TEST_0_QUERY_0": "一二三。", "TEST_1_QUERY_0": "一二三。"},
    ],
    "chid": ["chid11_predict.json", {"#idiom000001#": 0, "#idiom000002#": 0}],
}


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.submissions])
def test_predictions_of_two_lines_are_sound(name, write, tmp_path):
    task = find_task(name)
    for file, content in TESTS[name].items():
        write(f"data/{task.folders[0]}/{file}", content)
    folder = find_folder(task, tmp_path / "data")
    split = read_split(task, folder, "test")
    assert len(split.examples) == 2
    predictions = task.family.baseline([], split.examples)
    written = write_predictions(tmp_path / "out", task, "test", split.examples, predictions)
    text = written.read_text(encoding="utf-8")
    assert text == submission_text(task, split.examples, predictions)
    if name in EXPECTED:
        file, *lines = EXPECTED[name]
        assert written.name == file
        assert (json.loads(text) if task.form == "object" else text.splitlines()) == (
            lines[0] if task.form == "object" else lines
        )
    archive = write_zip(tmp_path / "submit_we_today.zip", [written])
    (checked,) = check_submission(archive, tmp_path / "data")
    assert checked.defects == ()
    assert (checked.task, checked.num_answers, checked.is_compared) == (name, 2, True)
    # Without the test file only the official number of rows tells that two are too few.
    (checked,) = check_submission(archive, None)
    size = task.sizes.get("test")
    assert checked.defects == ((f"2 answers; the test file has {size:,}",) if size else ())


def test_a_file_name_has_the_round(write):
    assert submission_name(find_task("bustm"), "test", "3") == "bustm_predict_3.json"
    assert submission_name(find_task("c3"), "test1.0") == "c310_predict.json"
    with pytest.raises(ValueError, match="lcqmc: no board takes predictions for dev; splits: none"):
        submission_name(find_task("lcqmc"), "dev")


def test_files_are_found_by_several_names(write, tmp_path):
    task = find_task("ocnli")
    assert find_folder(task, tmp_path) is None
    write("ocnli_public/train.3k.json", _rows(OCNLI, "neutral"))
    folder = find_folder(task, tmp_path)
    assert folder == tmp_path / "ocnli_public"
    assert find_files(task, folder, "train") == (folder / "train.3k.json",)
    assert find_files(task, folder, "dev") is None
    write("ocnli_public/train.50k.json", _rows(OCNLI, "neutral"))
    assert find_files(task, folder, "train") == (folder / "train.50k.json",)
    split = read_split(task, folder, "train")
    assert split.notes == ("1 examples; the official train has 50,486",)


def test_what_is_not_there_is_named(write, tmp_path):
    task = find_task("c3")
    write("c3/d-train.json", _c3({"answer": "一"}))
    message = r"c3, train: .*c3 has no d-train\.json and m-train\.json; or c3-d-train"
    with pytest.raises(ValueError, match=message):
        read_split(task, tmp_path / "c3", "train")
    with pytest.raises(ValueError, match="c3 has no split 'test2'; it has train, dev, test"):
        read_split(task, tmp_path / "c3", "test2")
    with pytest.raises(ValueError, match="no task 'tnew'; did you mean tnews"):
        find_task("tnew")
    write("c3/d-dev.json", [])
    write("c3/m-dev.json", [])
    with pytest.raises(ValueError, match=r"d-dev\.json: no examples in it"):
        read_split(task, tmp_path / "c3", "dev")
