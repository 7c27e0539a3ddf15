"""Every defect of a file is named by path and line."""

import pytest

from chinese.clue.files import read_json, read_json_lines, read_table, read_text


def test_a_byte_order_mark_and_crlf_are_passed_over(write):
    path = write("a.json", '\ufeff{"a": "甲\u2028乙"}\r\n\r\n{"a": "丙"}\r\n')
    assert [(row.line, row.field("a").text()) for row in read_json_lines(path)] == [
        (1, "甲\u2028乙"),
        (3, "丙"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": \n', r"a\.json:2: broken JSON \(Expecting value, column 7\)"),
        ('{"a": 1}\n\n[1]\n', r"a\.json:3: a JSON object should stand on every line, found \[1\]"),
        ("\ufeff \r\n", r"a\.json: the file is empty"),
        ("[" * 100_000, r"a\.json:1: JSON nested too deep"),
    ],
)
def test_broken_lines_are_named(write, content, message):
    with pytest.raises(ValueError, match=message):
        list(read_json_lines(write("a.json", content)))


def test_what_is_missing_or_no_text_is_named(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        read_text(tmp_path / "no.json")
    path = tmp_path / "gbk.json"
    path.write_bytes(b'{"a": 1}\n' + "中国".encode("gbk"))
    with pytest.raises(ValueError, match=r"gbk\.json:2: not UTF-8 .*probably GB18030"):
        read_text(path)


def test_fields_of_another_kind_are_named(write):
    (row,) = read_json_lines(write("a.json", '{"n": 1, "t": "", "b": true, "l": ["x", 2]}'))
    assert row.field("n").integer() == 1
    assert row.field("t").text() == ""
    assert [node.value for node in row.field("l").items()] == ["x", 2]
    for read, message in {
        lambda: row.field("m"): "no field 'm'; found n, t, b, l",
        lambda: row.field("n").text(): "'n' should be text, found 1",
        lambda: row.field("b").integer(): "'b' should be an integer, found true",
        lambda: row.field("b").identifier(): "'b' should be a number or text, found true",
        lambda: row.field("t").items(): "'t' should be a list, found \"\"",
        lambda: row.field("l").items()[1].text(): "'l' should be text, found 2",
        lambda: row.field("n").field("x"): "an object should stand here, found 1",
    }.items():
        with pytest.raises(ValueError, match=r"a\.json:1: ") as caught:
            read()
        assert message in str(caught.value)


def test_a_value_deep_in_a_document_knows_its_line(write):
    head = '{\n "x": ["]", {"a": "\\"}"}],\n "data": [\n  {"q": 1},\n'
    text = head + '  {"p": [],\n   "q": [1,\n 2]}\n ]}'
    tree = read_json(write("a.json", text))
    second = tree.field("data").items()[1]
    assert (tree.line, second.line, second.field("q").line) == (1, 5, 6)
    assert second.field("q").items()[1].line == 7
    assert tree.field("x").items()[1].field("a").line == 2
    with pytest.raises(ValueError, match=r"a\.json:7: 'q' should be text, found 2"):
        second.field("q").items()[1].text()


def test_broken_documents_are_named_by_line(write):
    with pytest.raises(ValueError, match=r"a\.json:3: broken JSON"):
        read_json(write("a.json", '{\n"a": 1\n"b": 2}'))


def test_tables_have_a_header_or_the_usual_columns(write):
    columns = ("a", "b", "label")
    with_header = write("a.tsv", '\ufefflabel\tb\ta\r\n1\t"好\t坏\r\n')
    (row,) = read_table(with_header, columns)
    assert (row.value, row.line) == ({"label": "1", "b": '"好', "a": "坏"}, 2)
    path = write("b.tsv", "x\ty\t1\n\nz\tw\t0\n")
    rows = list(read_table(path, columns, without_header=columns))
    assert [(row.line, row.value["a"], row.value["label"]) for row in rows] == [
        (1, "x", "1"),
        (3, "z", "0"),
    ]
    with pytest.raises(
        ValueError, match=r"b\.tsv:1: no header with the columns a, b, label; found"
    ):
        list(read_table(path, columns))
    (row,) = read_table(write("c.tsv", "b\ta\nx\ty\n"), columns, ("a", "b"))
    assert row.value == {"a": "y", "b": "x"}


def test_commas_are_read_with_quotes(write):
    path = write("a.csv", '\ufeffa,b,label\r\n"好,\n吗","说""x""",1\r\n')
    (row,) = read_table(path, ("a", "b", "label"))
    assert row.value == {"a": "好,\n吗", "b": '说"x"', "label": "1"}


def test_rows_of_another_width_are_named(write):
    with pytest.raises(ValueError, match=r"a\.tsv:3: 1 columns, 2 in the header"):
        list(read_table(write("a.tsv", "a\tb\n1\t2\n3\n"), ("a", "b")))
    with pytest.raises(ValueError, match=r"b\.tsv:1: no header with the columns a, b; found"):
        list(read_table(write("b.tsv", "x\ty\tz\n"), ("a", "b")))
