"""Files become documents: every format, every line, and bad text by path and line."""

import gzip
import json
import random

import pytest

from chinese.documents import (
    LONGEST_DOCUMENT,
    ReadCounts,
    is_held_out,
    list_corpus_files,
    only_share,
    read_documents,
    without_duplicates,
)


def _write(path, text: str, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def test_blank_lines_and_file_ends_end_documents(tmp_path):
    one = _write(tmp_path / "一 号.txt", "\ufeff甲一\r\n甲二\r\n\r\n \u3000\n乙\u2028一\n\n\n")
    two = _write(tmp_path / "two.txt", "丙")
    counts = ReadCounts()
    assert list(read_documents([one, two], counts=counts)) == [["甲一", "甲二"], ["乙 一"], ["丙"]]
    assert counts == ReadCounts(files=2, documents=3, lines=4, characters=8)


def test_json_lines_and_gzip_are_read(tmp_path):
    records = [{"text": "甲一\n\n甲二"}, {"text": ""}, {"text": "乙", "more": 1}]
    lines = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("丙\n".encode()))
    assert list(read_documents([tmp_path])) == [["甲一", "甲二"], ["乙"], ["丙"]]


def test_folders_and_globs_stand_for_their_files(tmp_path, monkeypatch):
    for name in ["b.txt", "sub/a.txt", "sub/wiki_00", ".hidden.txt", "notes.md", "c.jsonl"]:
        _write(tmp_path / name, "x")
    names = [str(path.relative_to(tmp_path)) for path in list_corpus_files([tmp_path])]
    assert names == ["b.txt", "c.jsonl", "sub/a.txt", "sub/wiki_00"]
    assert [p.name for p in list_corpus_files([tmp_path / "*.txt", tmp_path / "b.txt"])] == [
        "b.txt"
    ]
    monkeypatch.chdir(tmp_path)
    assert [path.name for path in list_corpus_files(["sub/*.txt"])] == ["a.txt"]
    with pytest.raises(ValueError, match=r"nowhere\.txt: no file"):
        list_corpus_files(["nowhere.txt"])


def test_a_glob_below_a_folder_with_brackets_in_its_name(tmp_path, monkeypatch):
    for name in ["语料 [1]/a.txt", "语料 [1]/深/b.txt", "语料 1/c.txt"]:
        _write(tmp_path / name, "x")
    monkeypatch.chdir(tmp_path)
    for start in ("", f"{tmp_path}/"):
        found = list_corpus_files([f"{start}语料 [1]/**/*.txt", f"{start}语料 [12]/*.txt"])
        assert list(map(str, found)) == [
            f"{start}语料 [1]/a.txt",
            f"{start}语料 [1]/深/b.txt",
            f"{start}语料 1/c.txt",
        ]


def test_bad_utf8_is_refused_by_line_or_counted(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes("好\n".encode() + b"ab\xffc\n" + "完\n".encode())
    with pytest.raises(ValueError, match=r"bad\.txt:2: not UTF-8 \(byte 0xff at column 3\)"):
        list(read_documents([path]))
    counts = ReadCounts()
    assert list(read_documents([path], "skip", counts)) == [["好", "完"]]
    assert counts.bad_lines == 1
    with pytest.raises(ValueError, match="on_bad_text is 'ignore'"):
        list(read_documents([path], "ignore"))


def test_bad_json_is_refused_by_line_or_counted(tmp_path):
    path = _write(tmp_path / "bad.jsonl", '{"text": "好"}\n{"text": 3}\n[1]\n{"no": 1}\n{')
    with pytest.raises(ValueError, match=r"bad\.jsonl:2: not a JSON object"):
        list(read_documents([path]))
    counts = ReadCounts()
    assert list(read_documents([path], "skip", counts)) == [["好"]]
    assert counts.bad_lines == 4


def test_a_truncated_gzip_is_refused_by_name(tmp_path):
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(gzip.compress(random.Random(0).randbytes(4000).hex().encode())[:-2000])
    with pytest.raises(ValueError, match=r"cut\.txt\.gz:1: the \.gz is truncated"):
        list(read_documents([path]))
    path.write_bytes(b"no gzip at all")
    with pytest.raises(ValueError, match=r"cut\.txt\.gz:1"):
        list(read_documents([path]))


def test_a_file_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match=r"/proc/self/mem: cannot be read \(Input/output error\)"):
        list(read_documents(["/proc/self/mem"]))


def test_held_out_documents_are_the_same_in_every_build():
    texts = [f"文档{number}" for number in range(20_000)]
    chosen = {text for text in texts if is_held_out(text, 0.01, seed=0)}
    assert 150 < len(chosen) < 250
    assert chosen == {text for text in reversed(texts) if is_held_out(text, 0.01, seed=0)}
    assert chosen != {text for text in texts if is_held_out(text, 0.01, seed=1)}
    assert not is_held_out("甲", 0.0, 0)
    assert is_held_out("甲", 1.0, 0)


def test_a_document_that_does_not_end_goes_on_as_another(tmp_path):
    line = "一" * 999 + "。"
    path = _write(tmp_path / "dump.txt", f"{line}\n" * 2500)
    counts = ReadCounts()
    documents = list(read_documents([path], counts=counts))
    assert [len(document) for document in documents] == [1048, 1048, 404]
    assert counts.cut_documents == 2
    assert max(sum(map(len, document)) for document in documents) <= LONGEST_DOCUMENT


@pytest.mark.parametrize(
    "sentence", ["“我爱北京天安门。”", "no end in sight ", "一二三", "x"], ids=ascii
)
def test_a_line_of_any_length_loses_nothing(tmp_path, sentence):
    text = sentence * (12_000_000 // len(sentence.encode()))
    _write(tmp_path / "long.txt", f"{text}\n第二行\n\n完")
    _write(tmp_path / "long.jsonl", json.dumps({"text": f"{text}\n第二行"}) + '\n{"text": "完"}')
    for name in ("long.txt", "long.jsonl"):
        *documents, last = read_documents([tmp_path / name])
        assert last == ["完"]
        lines = [line for document in documents for line in document]
        assert lines.pop() == "第二行"
        assert len(lines) > 1
        assert max(sum(map(len, document)) for document in documents) <= LONGEST_DOCUMENT
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        if "。" in sentence:
            assert all(line.endswith("。”") for line in lines)


def test_bad_text_behind_a_long_line_is_named_by_its_line(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes("一".encode() * 1_000_000 + b"\n" + "好".encode() + b"\n\xd6\xd0\xb9\xfa\n")
    with pytest.raises(ValueError, match=r"long\.txt:3: not UTF-8 .* probably GB18030"):
        list(read_documents([path]))
    path.write_bytes("中国".encode("utf-16"))
    with pytest.raises(ValueError, match=r"long\.txt:1: not UTF-8 .* probably UTF-16"):
        list(read_documents([path]))


def test_control_characters_are_cleaned_away(tmp_path):
    path = _write(tmp_path / "a.txt", "中\0国\x07\x1b人\ufeff民\n\0\n\x0b好\x85的")
    assert list(read_documents([path])) == [["中国人民"], ["好 的"]]


ROWS = {
    '{"sentence1": "甲", "sentence2": "乙", "label": "0"}': ["甲", "乙"],
    '{"label": "102", "label_desc": "news", "sentence": "丙", "keywords": "丁,戊"}': ["丙"],
    '{"id": 1, "abst": "己", "keyword": ["庚"], "label": "1"}': ["己"],
    '{"content": ["辛#idiom000378#壬", "癸"], "candidates": ["一帆风顺"]}': ["辛壬", "癸"],
    '{"text": "子", "label": {"name": {"子": [[0, 0]]}}}': ["子"],
}
SQUAD = {
    "version": "v1.0",
    "data": [
        {
            "title": "标",
            "paragraphs": [
                {
                    "context": "文\n二",
                    "qas": [{"question": "问？", "answers": [{"text": "答", "answer_start": 0}]}],
                }
            ],
        }
    ],
}
WHOLE_FILES = [
    (SQUAD, [["文", "二", "问？"]]),
    ([{"context_text": "文", "qas": [{"query_text": "问", "answers": ["答"]}]}], [["文", "问"]]),
    (
        [[["男：好", "女：是"], [{"question": "问", "choice": ["甲"], "answer": "甲"}], "id"]],
        [["男：好", "女：是", "问"]],
    ),
    ([{"text": "一"}, {"sentence": "二", "label": "错"}], [["一"], ["二"]]),
]


def test_the_rows_of_task_files_give_their_text_alone(tmp_path):
    for name in ("train.json", "a.jsonl", "dump.txt"):
        path = _write(tmp_path / name, "\n".join(ROWS))
        assert list(read_documents([path])) == list(ROWS.values())


@pytest.mark.parametrize(("tree", "expected"), WHOLE_FILES)
@pytest.mark.parametrize("indent", [None, 1])
def test_files_of_one_json_value_are_recognised(tmp_path, tree, expected, indent):
    text = json.dumps(tree, ensure_ascii=False, indent=indent)
    assert list(read_documents([_write(tmp_path / "dev.json", text)])) == expected


def test_tables_are_read_by_their_header(tmp_path):
    path = _write(tmp_path / "train.tsv", '\ufefflabel\ttext_a\r\n1\t"好"\r\n0\t坏\r\n')
    assert list(read_documents([path])) == [['"好"'], ["坏"]]
    path = _write(tmp_path / "x.tsv", "id\tsentence1\tsentence2\tlabel\n4\t甲\t乙\t1\n5\t丙\n")
    with pytest.raises(ValueError, match=r"x\.tsv:3: 2 columns, 4 in the header"):
        list(read_documents([path]))
    counts = ReadCounts()
    assert list(read_documents([path], "skip", counts)) == [["甲", "乙"]]
    assert counts.bad_lines == 1
    with pytest.raises(ValueError, match=r"y\.tsv:1: no header with a column of text"):
        list(read_documents([_write(tmp_path / "y.tsv", "a\tb\n")]))


def test_json_of_another_form_is_refused_by_name(tmp_path):
    for text, message in {
        '{"data": 3}': r"a\.json:1: JSON of a form unknown here",
        '[{"data": 3}]': r"a\.json:1: JSON of a form unknown here",
        '{\n"data": [\n': r"a\.json:3: not valid JSON",
        '{"label": "0", "label_des": "打车"}': r"a\.json:1: not a JSON object with one of text",
    }.items():
        with pytest.raises(ValueError, match=message):
            list(read_documents([_write(tmp_path / "a.json", text)]))


def test_text_that_only_looks_like_data_is_text(tmp_path):
    for line in ("[1] 注释", "{一}", "甲\t乙", '{"a": 1}'):
        path = _write(tmp_path / "a.txt", line)
        assert list(read_documents([path])) == [[line.replace("\t", " ")]]


def test_a_folder_passes_over_labels_and_answers(tmp_path):
    for name in ("labels.json", "cluener_predict.json", "dev_answer.json", "dev.json", "a.tsv"):
        _write(tmp_path / name, "x")
    assert [path.name for path in list_corpus_files([tmp_path])] == ["a.tsv", "dev.json"]


@pytest.mark.real_data
def test_every_task_file_is_read_without_its_labels(data_folder):
    tasks = ["afqmc", "c3", "chid", "chnsenticorp", "cluener", "cluewsc2020", "cmnli", "cmrc2018"]
    tasks += ["csl", "drcd", "fewclue", "iflytek", "ocnli", "paws-x-zh", "tnews"]
    for task in tasks:
        files = [f for f in list_corpus_files([data_folder / task]) if f.suffix != ".txt"]
        counts = ReadCounts()
        for document in read_documents(files, counts=counts):
            assert not any(line.startswith(('{"', '"label')) for line in document), document
        assert counts.documents >= len(files), task


def test_repeated_documents_are_dropped_and_counted():
    counts = ReadCounts()
    documents = [["甲", "乙"], ["甲"], ["甲", "乙"], ["甲乙"], ["甲"]]
    assert list(without_duplicates(documents, counts, set())) == [["甲", "乙"], ["甲"], ["甲乙"]]
    assert counts.duplicates == 2


def test_a_share_is_chosen_by_content():
    documents = [[str(number)] for number in range(10_000)]
    counts = ReadCounts()
    chosen = list(only_share(documents, 0.3, 1, counts))
    assert 2800 < len(chosen) < 3200
    assert counts.left_out == 10_000 - len(chosen)
    assert chosen == list(only_share(chosen, 0.3, 1, ReadCounts()))
    assert list(only_share(documents, 1.0, 1, counts)) == documents
