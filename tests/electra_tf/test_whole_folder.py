"""A folder appears complete or not at all, and what stood there is never lost."""

from __future__ import annotations

import errno
import os

import pytest

from electra_tf.whole_folder import whole_folder

OWN = ("config.json", "model-*.safetensors")


def write(path, text, overwrite=False):
    with whole_folder(path, overwrite, OWN, "a model folder") as new:
        (new / "part").mkdir()
        (new / "part" / "config.json").write_text(text)


def tree(path):
    return {str(p.relative_to(path)): p.read_text() for p in path.rglob("*") if p.is_file()}


def test_it_replaces_files_of_its_kind_at_any_depth(tmp_path):
    write(tmp_path / "m", "one")
    (tmp_path / "m" / "model-00001-of-00002.safetensors").write_text("shard")
    write(tmp_path / "m", "two", overwrite=True)
    assert tree(tmp_path) == {"m/part/config.json": "two"}


def test_a_file_of_others_deep_inside_protects_the_folder(tmp_path):
    write(tmp_path / "m", "one")
    (tmp_path / "m" / "part" / "notes.md").write_text("mine")
    with pytest.raises(ValueError, match=r"no part of a model folder \(part/notes\.md\)"):
        write(tmp_path / "m", "two", overwrite=True)
    assert tree(tmp_path) == {"m/part/config.json": "one", "m/part/notes.md": "mine"}


def test_nothing_is_replaced_unless_asked(tmp_path):
    write(tmp_path / "m", "one")
    with pytest.raises(ValueError, match="exists already"):
        write(tmp_path / "m", "two")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_told_by_the_folder_that_could_not_be_written(tmp_path, number):
    write(tmp_path / "m", "one")
    with (
        pytest.raises(OSError, match=rf"{tmp_path}/m: not written: {os.strerror(number).lower()}"),
        whole_folder(tmp_path / "m", True, OWN, "a model folder"),
    ):
        raise OSError(number, os.strerror(number))
    assert tree(tmp_path) == {"m/part/config.json": "one"}


def test_an_error_in_the_block_leaves_nothing_behind(tmp_path):
    with (
        pytest.raises(FileNotFoundError),
        whole_folder(tmp_path / "m", False, OWN, "a model folder") as new,
    ):
        (new / "absent" / "config.json").write_text("half")
    assert tree(tmp_path) == {}
    assert os.listdir(tmp_path) == []
