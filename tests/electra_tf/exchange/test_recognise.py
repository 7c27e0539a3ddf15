"""What lies at a path is told without opening it."""

from __future__ import annotations

import json

import pytest

from electra_tf.exchange.recognise import Found, recognise


def make_folder(path, **config):
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(config))
    (path / "model.safetensors").touch()
    return path


def test_our_folders_are_told_from_those_of_hugging_face(tmp_path):
    ours = make_folder(tmp_path / "ours", kind="discriminator")
    theirs = make_folder(tmp_path / "theirs", model_type="electra")
    assert recognise(ours) == [Found("encoder", ours)]
    assert recognise(theirs) == [Found("hugging_face", theirs)]
    assert recognise(theirs / "model.safetensors") == [Found("hugging_face", theirs)]


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "pytorch_model.bin.index.json", "model.safetensors.index.json"]
)
def test_every_file_of_weights_makes_a_folder_of_hugging_face(tmp_path, name):
    (tmp_path / name).touch()
    assert recognise(tmp_path) == [Found("hugging_face", tmp_path)]


def test_a_run_is_its_two_networks(tmp_path):
    for name, kind in (("encoder", "discriminator"), ("generator", "generator")):
        make_folder(tmp_path / name, kind=kind)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "ckpt-1.index").touch()
    make_folder(tmp_path / ".hidden", kind="generator")
    assert recognise(tmp_path) == [
        Found("encoder", tmp_path / "encoder"),
        Found("encoder", tmp_path / "generator"),
    ]


def test_nothing_is_told_from_nothing_known(tmp_path):
    with pytest.raises(ValueError, match="absent: does not exist"):
        recognise(tmp_path / "absent")
    with pytest.raises(ValueError, match="holds no model; known are encoder folders"):
        recognise(tmp_path)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"notes\.txt: is no model; known are"):
        recognise(tmp_path / "notes.txt")
