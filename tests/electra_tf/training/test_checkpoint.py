"""One writer at a time, and the newest checkpoint that is whole."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.training.checkpoint import restore_newest, run_lock

HOLDER = """
    import sys
    from electra_tf.training.checkpoint import run_lock
    with run_lock(sys.argv[1]):
        print("held", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder until its input ends."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_refused_and_told_who_holds_the_folder(tmp_path, holder):
    with (
        pytest.raises(ValueError, match=f"{tmp_path}: process {holder.pid} is training there"),
        run_lock(tmp_path),
    ):
        pass
    holder.kill()  # however it ends, its lock ends with it
    holder.wait()
    with run_lock(tmp_path):
        assert (tmp_path / "run.lock").read_text() == str(os.getpid())


def test_a_lock_that_was_let_go_can_be_taken_again(tmp_path):
    for _ in range(2):
        with run_lock(tmp_path):
            pass
    with (
        run_lock(tmp_path),
        pytest.raises(ValueError, match=f"process {os.getpid()} "),
        run_lock(tmp_path),
    ):
        pass
    with pytest.raises(KeyError), run_lock(tmp_path):
        raise KeyError
    with run_lock(tmp_path):
        pass


# --- restoring -------------------------------------------------------------------------------


class Run:
    """A weight and a step, saved as a run saves them."""

    def __init__(self, folder):
        self.folder = folder
        self.weight = tf.Variable(np.zeros(1000, np.float32))
        self.step = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(weights={"w": self.weight}, data_step=self.step)

    def save(self, *steps):
        manager = tf.train.CheckpointManager(self.checkpoint, str(self.folder), max_to_keep=3)
        for step in steps:
            self.step.assign(step)
            self.weight.assign(np.full(1000, step, np.float32))
            manager.save(checkpoint_number=step)

    def restore(self):
        restored = restore_newest(self.checkpoint, self.folder)
        assert np.all(self.weight.numpy() == int(self.step))
        return restored


@pytest.fixture
def saved(tmp_path):
    """Checkpoints of steps 10, 20 and 30."""
    Run(tmp_path).save(10, 20, 30)
    return tmp_path


def cut(folder, step):
    path = folder / f"ckpt-{step}.data-00000-of-00001"
    path.write_bytes(path.read_bytes()[:100])


def cut_index(folder, step):
    path = folder / f"ckpt-{step}.index"
    path.write_bytes(path.read_bytes()[:-20])


def flip(folder, step):
    path = folder / f"ckpt-{step}.data-00000-of-00001"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def remove(folder, step):
    for path in folder.glob(f"ckpt-{step}.*"):
        path.unlink()


def test_an_empty_folder_is_a_fresh_start(tmp_path):
    assert Run(tmp_path).restore() == (None, ())
    assert Run(tmp_path / "not there").restore() == (None, ())


def test_the_newest_checkpoint_is_restored(saved):
    run = Run(saved)
    assert run.restore() == (str(saved / "ckpt-30"), ())
    assert int(run.step) == 30


@pytest.mark.parametrize("damage", [cut, cut_index, flip, remove])
def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_it_used(saved, damage):
    damage(saved, 30)
    run = Run(saved)
    assert run.restore() == (str(saved / "ckpt-20"), (str(saved / "ckpt-30"),))
    assert int(run.step) == 20
    # It is forgotten, and the run goes on saving where it stood.
    assert tf.train.latest_checkpoint(str(saved)) == str(saved / "ckpt-20")
    run.save(30)
    again = Run(saved)
    assert again.restore() == (str(saved / "ckpt-30"), ())
    assert int(again.step) == 30


def test_two_damaged_checkpoints_are_both_named(saved):
    cut(saved, 30)
    flip(saved, 20)
    assert Run(saved).restore() == (
        str(saved / "ckpt-10"),
        (str(saved / "ckpt-30"), str(saved / "ckpt-20")),
    )


def test_where_all_are_damaged_the_run_stops_instead_of_starting_again(saved):
    for step in (10, 20, 30):
        cut(saved, step)
    with pytest.raises(ValueError, match=r"none of the checkpoints can be read .*ckpt-30.*ckpt-10"):
        Run(saved).restore()


@pytest.mark.parametrize("content", ["", "model_checkpoint_pa", "\x00\x00\x00"])
def test_a_damaged_list_of_checkpoints_does_not_start_the_run_again(saved, content):
    (saved / "checkpoint").write_text(content)
    run = Run(saved)
    assert run.restore() == (str(saved / "ckpt-30"), ())
    run.save(40)
    assert tf.train.latest_checkpoint(str(saved)) == str(saved / "ckpt-40")


def test_a_checkpoint_of_other_variables_is_not_taken(saved):
    other = tf.train.Checkpoint(weights={"v": tf.Variable(np.zeros(3))})
    with pytest.raises(ValueError, match="none of the checkpoints can be read"):
        restore_newest(other, saved)
