"""An encoder folder comes back to the bit, or says what is wrong with it."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import safetensors.numpy

from electra_tf import encoder_folder
from electra_tf.config import EncoderConfig
from electra_tf.encoder_folder import (
    EncoderFolder,
    expected_shapes,
    parameter_count,
    read_encoder_folder,
    write_encoder_folder,
)


def make_config(
    embedding_size=4, layers=1, hidden_size=8, heads=2, intermediate_size=16, vocab_size=6
):
    return EncoderConfig(
        vocab_size=vocab_size,
        embedding_size=embedding_size,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=intermediate_size,
        max_position_embeddings=512 if vocab_size > 100 else 5,
        type_vocab_size=2,
        hidden_dropout_rate=0.1,
        attention_dropout_rate=0.1,
        initializer_stddev=0.02,
        layer_norm_epsilon=1e-12,
    )


def make_folder(kind="discriminator", seed=0, **changes):
    config = make_config()
    generator = np.random.default_rng(seed)
    fields = {
        "kind": kind,
        "config": config,
        "tokenizer_settings": {"lower_case": True, "strip_accents": False},
        "weights": {
            name: generator.normal(size=shape).astype(np.float32)
            for name, shape in expected_shapes(config, kind).items()
        },
        "vocabulary_file": "vocab.txt",
        "vocabulary": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n中\n".encode(),
        "provenance": {"说明": "from a test", "steps": 3},
    }
    return EncoderFolder(**(fields | changes))


def assert_same(ours: EncoderFolder, theirs: EncoderFolder):
    for name in ("kind", "config", "tokenizer_settings", "vocabulary_file", "vocabulary"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.provenance == theirs.provenance
    assert ours.weights.keys() == theirs.weights.keys()
    for name, array in ours.weights.items():
        assert array.dtype == np.float32
        assert array.tobytes() == theirs.weights[name].tobytes(), name


@pytest.fixture
def path(tmp_path):
    return tmp_path / "small"


# --- counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("discriminator", "generator", "backbone", "own", "trained"),
    [
        # embedding, layers, hidden, heads, feed-forward; counts in thousands.
        ((128, 12, 256, 4, 1024), (128, 12, 64, 1, 256), 12_281, 638, 12_984),
        ((256, 24, 256, 4, 1024), (256, 24, 64, 1, 256), 24_495, 1_254, 25_815),
        ((768, 12, 768, 12, 3072), (768, 12, 192, 3, 768), 101_677, 5_657, 107_925),
        ((1024, 24, 1024, 16, 4096), (1024, 24, 256, 4, 1024), 324_473, 19_503, 345_026),
    ],
    ids=["small", "small-ex", "base", "large"],
)
def test_the_chinese_models_have_their_published_number_of_parameters(
    discriminator, generator, backbone, own, trained
):
    judge = parameter_count(make_config(*discriminator, vocab_size=21128), "discriminator")
    guesser = parameter_count(make_config(*generator, vocab_size=21128), "generator")
    assert round(judge.backbone / 1000) == backbone
    assert round(guesser.own / 1000) == own
    assert round((judge.total + guesser.own) / 1000) == trained


def test_a_tiny_model_is_counted_by_hand():
    count = parameter_count(make_config(), "discriminator")
    assert count.embeddings == (6 + 5 + 2) * 4 + 2 * 4
    layer = 4 * (8 * 8 + 8) + (8 * 16 + 16) + (16 * 8 + 8) + 2 * (8 + 8)
    assert count.encoder == (4 * 8 + 8) + layer
    assert count.head == (8 * 8 + 8) + (8 * 1 + 1)
    assert parameter_count(make_config(), "generator").head == (8 * 4 + 4) + 2 * 4 + 6


def test_there_is_a_projection_only_where_widths_differ():
    assert "embeddings_project/kernel" in expected_shapes(make_config(4), "generator")
    assert "embeddings_project/kernel" not in expected_shapes(make_config(8), "generator")


# --- there and back --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["discriminator", "generator"])
def test_a_folder_comes_back_to_the_bit(path, kind):
    folder = make_folder(kind)
    write_encoder_folder(path, folder)
    assert_same(read_encoder_folder(path), folder)
    assert sorted(os.listdir(path)) == [
        "config.json",
        "model.safetensors",
        "provenance.json",
        "vocab.txt",
    ]
    assert os.listdir(path.parent) == ["small"]


def test_nan_infinity_and_transposed_views_come_back_to_the_bit(path):
    folder = make_folder()
    kernel = folder.weights["layer_0/attention/query/kernel"]
    kernel[0, :3] = [np.nan, np.inf, -0.0]
    folder.weights["layer_0/attention/query/kernel"] = kernel.T
    write_encoder_folder(path, folder)
    assert_same(read_encoder_folder(path), folder)


def test_a_sentencepiece_model_is_kept_under_its_own_name(path):
    folder = make_folder(vocabulary_file="spiece.model", vocabulary=bytes(range(256)))
    write_encoder_folder(path, folder)
    assert_same(read_encoder_folder(path), folder)
    assert not (path / "vocab.txt").exists()


def test_the_same_contents_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_encoder_folder(tmp_path / name, make_folder())
    for file in os.listdir(tmp_path / "one"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_config_is_flat_and_readable(path):
    write_encoder_folder(path, make_folder())
    tree = json.loads((path / "config.json").read_text())
    assert tree["kind"] == "discriminator"
    assert tree["hidden_size"] == 8
    assert tree["tokenizer"] == {"lower_case": True, "strip_accents": False}
    assert "说明" in (path / "provenance.json").read_text(encoding="utf-8")


def test_folders_and_files_have_the_usual_permissions(path):
    mask = os.umask(0)
    os.umask(mask)
    write_encoder_folder(path, make_folder())
    assert path.stat().st_mode & 0o777 == 0o777 & ~mask
    for file in path.iterdir():
        assert file.stat().st_mode & 0o777 == 0o666 & ~mask, file


# --- replacing -------------------------------------------------------------------------------


def test_an_existing_folder_is_refused(path):
    write_encoder_folder(path, make_folder())
    with pytest.raises(ValueError, match="exists already"):
        write_encoder_folder(path, make_folder(seed=1))
    assert_same(read_encoder_folder(path), make_folder())


def test_an_existing_folder_is_replaced_when_asked(path):
    write_encoder_folder(path, make_folder())
    new = make_folder(seed=1, vocabulary_file="spiece.model")
    write_encoder_folder(path, new, overwrite=True)
    assert_same(read_encoder_folder(path), new)
    assert os.listdir(path.parent) == ["small"]


def test_a_folder_with_files_of_others_is_not_replaced(path):
    write_encoder_folder(path, make_folder())
    (path / "notes.md").write_text("mine")
    with pytest.raises(ValueError, match=r"notes\.md"):
        write_encoder_folder(path, make_folder(seed=1), overwrite=True)
    assert (path / "notes.md").read_text() == "mine"
    assert_same(read_encoder_folder(path), make_folder())


def test_a_file_is_not_replaced(path):
    path.write_text("mine")
    with pytest.raises(ValueError, match="is a file"):
        write_encoder_folder(path, make_folder(), overwrite=True)


@pytest.mark.parametrize("moment", range(1, 24))
def test_a_process_killed_at_any_moment_leaves_a_complete_folder(path, moment):
    """Runs the write in a child that dies, without clean-up, at the n-th touch of the disk."""
    old, new = make_folder(), make_folder(seed=1)
    write_encoder_folder(path, old)
    child = os.fork()
    if child == 0:
        _die_at_touch(moment)
        write_encoder_folder(path, new, overwrite=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 9)
    beside = path.with_name(".small.old")
    if path.exists():
        found = read_encoder_folder(path)
        assert found.provenance == old.provenance
        expected = new if _same_weights(found, new) else old
        assert_same(found, expected)
    else:
        assert_same(read_encoder_folder(beside), old)
        with pytest.raises(ValueError, match=r"earlier one is complete in .*\.small\.old"):
            read_encoder_folder(path)
    write_encoder_folder(path, new, overwrite=True)
    assert_same(read_encoder_folder(path), new)
    assert not beside.exists()


def _same_weights(ours, theirs):
    return all(np.array_equal(ours.weights[name], theirs.weights[name]) for name in ours.weights)


def _die_at_touch(moment):
    """Replaces what touches the disk by versions that count, and die at the n-th call."""
    touches = 0

    def count(function):
        def counted(*args, **kwargs):
            nonlocal touches
            touches += 1
            if touches == moment:
                os._exit(9)
            return function(*args, **kwargs)

        return counted

    for owner, name in (
        (encoder_folder.Path, "mkdir"),
        (encoder_folder.Path, "write_bytes"),
        (encoder_folder.Path, "rename"),
        (encoder_folder, "write_arrays"),
        (os, "fsync"),
        (os, "rmdir"),
        (os, "unlink"),
    ):
        setattr(owner, name, count(getattr(owner, name)))


def test_an_error_while_writing_leaves_nothing_behind(path, monkeypatch):
    def fail(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(encoder_folder, "write_arrays", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        write_encoder_folder(path, make_folder())
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("metadata", [None, {"说明": "here"}])
def test_arrays_are_written_byte_for_byte_as_safetensors_writes_them(tmp_path, metadata):
    arrays = make_folder().weights | {"": np.ones((0, 3), np.float32), "é/b": np.float32([1, 2])}
    encoder_folder.write_arrays(tmp_path / "ours", arrays, metadata)
    safetensors.numpy.save_file(arrays, tmp_path / "theirs", metadata)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert (tmp_path / "ours").stat().st_mode & 0o777 == path_mode(tmp_path)


def path_mode(folder):
    (folder / "usual").touch()
    return (folder / "usual").stat().st_mode & 0o777


def test_a_disk_that_fills_up_leaves_the_old_folder(path, full_disk):
    write_encoder_folder(path, make_folder())
    with full_disk(2000), pytest.raises(OSError, match=f"{path}: not written: file too large"):
        write_encoder_folder(path, make_folder(seed=1), overwrite=True)
    assert_same(read_encoder_folder(path), make_folder())
    assert os.listdir(path.parent) == ["small"]


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "judge"}, "kind is 'judge'"),
        ({"vocabulary_file": "words.txt"}, r"vocabulary_file is 'words\.txt'"),
        ({"provenance": {"loss": float("nan")}}, "JSON"),
    ],
)
def test_contents_that_could_not_be_read_again_are_not_written(path, changes, message):
    kind = changes.pop("kind", None)
    folder = make_folder(**changes)
    if kind:
        object.__setattr__(folder, "kind", kind)
    with pytest.raises(ValueError, match=message):
        write_encoder_folder(path, folder)
    assert os.listdir(path.parent) == []


def test_weights_of_another_type_are_not_written(path):
    folder = make_folder()
    name = "layer_0/attention/query/bias"
    folder.weights[name] = folder.weights[name].astype(np.float64)
    with pytest.raises(ValueError, match=f"{name} is float64, expected float32"):
        write_encoder_folder(path, folder)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "provenance.json"])
def test_a_missing_file_is_named(path, file):
    write_encoder_folder(path, make_folder())
    (path / file).unlink()
    with pytest.raises(ValueError, match=f"{file}: missing"):
        read_encoder_folder(path)


def test_a_missing_vocabulary_is_named(path):
    write_encoder_folder(path, make_folder())
    (path / "vocab.txt").unlink()
    with pytest.raises(ValueError, match=r"needs vocab\.txt or spiece\.model, found neither"):
        read_encoder_folder(path)


def test_two_vocabularies_are_refused(path):
    write_encoder_folder(path, make_folder())
    (path / "spiece.model").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"found vocab\.txt and spiece\.model"):
        read_encoder_folder(path)


def test_a_missing_folder_is_named(path):
    with pytest.raises(ValueError, match=r"small: no such encoder folder$"):
        read_encoder_folder(path)


@pytest.mark.parametrize("kept", [0, 5, 40, 2000, -1])
def test_truncated_weights_are_told(path, kept):
    write_encoder_folder(path, make_folder())
    content = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(content[:kept])
    with pytest.raises(ValueError, match=r"model\.safetensors: truncated or damaged"):
        read_encoder_folder(path)


def edit_config(path, **changes):
    file = path / "config.json"
    tree = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in tree.items() if value != "absent"}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hiden_size": 8}, r"config\.json: unknown key hiden_size; did you mean hidden_size"),
        ({"hidden_size": "absent"}, "hidden_size is missing"),
        ({"hidden_size": "8"}, "hidden_size is '8'"),
        ({"kind": "absent"}, "kind is missing"),
        ({"kind": "judge"}, "kind is 'judge'; known are discriminator, generator"),
        ({"tokenizer": "absent"}, "tokenizer is missing"),
        ({"tokenizer": 3}, "tokenizer is 3, expected an object"),
        ({"vocab_size": None}, "vocab_size is null"),
        ({"num_attention_heads": 3}, "hidden_size 8 is not a multiple"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(path, changes, message):
    write_encoder_folder(path, make_folder())
    edit_config(path, **changes)
    with pytest.raises(ValueError, match=message):
        read_encoder_folder(path)


def test_broken_json_is_told(path):
    write_encoder_folder(path, make_folder())
    (path / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json: not valid JSON"):
        read_encoder_folder(path)
    (path / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="must hold an object, found list"):
        read_encoder_folder(path)


def test_a_shape_that_disagrees_with_the_config_is_told_with_both_shapes(path):
    write_encoder_folder(path, make_folder())
    edit_config(path, vocab_size=7)
    with pytest.raises(
        ValueError, match=r"word_embeddings has shape \(6, 4\), the config says \(7, 4\)"
    ):
        read_encoder_folder(path)


def test_missing_and_unexpected_arrays_are_listed(path):
    write_encoder_folder(path, make_folder("generator"))
    edit_config(path, kind="discriminator")
    with pytest.raises(ValueError, match="does not fit the config") as caught:
        read_encoder_folder(path)
    message = str(caught.value)
    assert "missing replaced_token_head/dense/kernel (8, 8)" in message
    assert "unexpected masked_lm_head/output_bias (6,)" in message


def test_arrays_of_another_type_are_told(path):
    folder = make_folder()
    write_encoder_folder(path, folder)
    weights = dict(folder.weights)
    weights["embeddings/layer_norm/beta"] = np.zeros(4, np.float16)
    safetensors.numpy.save_file(weights, path / "model.safetensors")
    with pytest.raises(ValueError, match="layer_norm/beta is F16, expected float32"):
        read_encoder_folder(path)
