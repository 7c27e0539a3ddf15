"""One writer at a time, and the newest checkpoint that is whole."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tensorflow as tf

from electra_tf.training.checkpoint import (
    Checkpoints,
    find_checkpoints,
    restore_newest,
    run_lock,
)

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


# --- saving and restoring ----------------------------------------------------------------------


class Run:
    """A weight and a step, saved as a run saves them."""

    def __init__(self, folder, keep=3):
        self.weight = tf.Variable(np.zeros(1000, np.float32))
        self.step = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(weights={"w": self.weight}, data_step=self.step)
        self.checkpoints = Checkpoints(self.checkpoint, folder, keep)

    def reach(self, step):
        self.step.assign(step)
        self.weight.assign(np.full(1000, step, np.float32))

    def save(self, *steps):
        for step in steps:
            self.reach(step)
            self.checkpoints.save(step)

    def restore(self):
        restored = self.checkpoints.restore()
        assert np.all(self.weight.numpy() == int(self.step))
        return restored


def started(folder, **settings):
    run = Run(folder, **settings)
    run.restore()
    return run


def steps_in(folder):
    return sorted(int(path.stem.partition("-")[2]) for path in folder.glob("ckpt-*.index"))


@pytest.fixture
def saved(tmp_path):
    """Checkpoints of steps 10, 20 and 30."""
    started(tmp_path).save(10, 20, 30)
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
    assert run.checkpoints.newest() == 30
    assert run.checkpoints.newest(until_step=29) == 20
    assert run.checkpoints.newest(until_step=9) is None


def test_older_ones_are_removed_those_of_an_earlier_start_too(saved):
    started(saved, keep=2).save(40)
    assert steps_in(saved) == [30, 40]


def test_a_step_is_saved_once(saved):
    run = started(saved)
    before = (saved / "ckpt-30.index").stat().st_mtime_ns
    run.checkpoints.save(30)
    assert (saved / "ckpt-30.index").stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", [cut, cut_index, flip, remove])
def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_it_used(saved, damage):
    damage(saved, 30)
    run = Run(saved)
    assert run.restore() == (str(saved / "ckpt-20"), (str(saved / "ckpt-30"),))
    assert int(run.step) == 20
    # It is set aside, and the run goes on saving where it stood.
    assert steps_in(saved) == [10, 20]
    assert len(list(saved.glob("damaged-ckpt-30.*"))) == (0 if damage is remove else 2)
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


def test_only_looking_changes_nothing(saved):
    cut(saved, 30)
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    run = Run(saved)
    assert restore_newest(run.checkpoint, saved).path == str(saved / "ckpt-20")
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before


def test_a_run_folder_can_be_moved(saved, tmp_path):
    elsewhere = saved.rename(tmp_path.with_name(f"{tmp_path.name} 搬走"))
    run = Run(elsewhere)
    assert run.restore() == (str(elsewhere / "ckpt-30"), ())
    run.save(40)
    assert steps_in(elsewhere) == [20, 30, 40]
    assert find_checkpoints(elsewhere) == [str(elsewhere / f"ckpt-{s}") for s in (20, 30, 40)]


def test_what_a_killed_run_left_half_written_is_swept_away(saved):
    """Seen after a kill: a folder of parts, a checkpoint that no list names, a list's new copy."""
    (saved / "ckpt-40_temp").mkdir()
    (saved / "ckpt-40_temp/part-00000-of-00001.data-00000-of-00001").write_bytes(b"half")
    (saved / "ckpt-50.index").write_bytes(b"unlisted")
    (saved / "checkpoint.tmp0123").write_bytes(b"half")
    ends = ("index", "data-00000-of-00001")
    names = {f"ckpt-{step}.{end}" for step in (10, 20, 30) for end in ends}
    started(saved)
    assert {path.name for path in saved.iterdir()} == names | {"checkpoint"}


# --- the best one ----------------------------------------------------------------------------


def test_the_best_outlives_the_newest_few(saved):
    run = started(saved, keep=1)
    run.checkpoints.save_best(30)
    run.save(40, 50)
    assert steps_in(saved) == [50]
    assert steps_in(saved / "best") == [30]
    assert started(saved).checkpoints.newest() == 50  # not the best
    best = Run(saved)
    best.checkpoint.read(str(saved / "best/ckpt-30")).assert_existing_objects_matched()
    assert int(best.step) == 30


def test_a_better_one_takes_the_place_of_the_best(saved):
    run = started(saved)
    for step in (40, 50, 50):
        run.reach(step)
        run.checkpoints.save_best(step)
    assert steps_in(saved / "best") == [50]
    assert len(list((saved / "best").iterdir())) == 2


# --- a full disk -----------------------------------------------------------------------------


@contextlib.contextmanager
def files_end_at(size):
    """No file of this process can be longer, as where a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_the_old_checkpoint_stays_valid_and_the_error_says_so(saved):
    run = started(saved)
    message = f"{saved}/ckpt-40: this checkpoint could not be written .*{saved}/ckpt-30 is whole"
    with files_end_at(1000), pytest.raises(ValueError, match=message):
        run.save(40)
    assert steps_in(saved) == [10, 20, 30]
    assert not list(saved.glob("*40*"))  # what was half-written does not fill the disk
    again = Run(saved)
    assert again.restore() == (str(saved / "ckpt-30"), ())
    again.save(40)
    assert steps_in(saved) == [20, 30, 40]


def test_on_a_full_disk_the_old_best_stays(saved):
    run = started(saved)
    run.checkpoints.save_best(30)
    with files_end_at(1000), pytest.raises(ValueError, match=r"best/ckpt-40: .* not be written"):
        run.checkpoints.save_best(40)
    assert {path.stem for path in (saved / "best").iterdir()} == {"ckpt-30"}


def test_a_first_checkpoint_that_cannot_be_written_says_that_the_run_starts_again(tmp_path):
    run = started(tmp_path)
    with files_end_at(1000), pytest.raises(ValueError, match="the same command starts again"):
        run.save(10)
    assert started(tmp_path).checkpoints.newest() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a disk")
def test_a_disk_that_is_really_full(tmp_path):
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)])
    if mount.returncode:
        pytest.skip("may not mount")
    try:
        run = started(tmp_path, keep=9)
        with pytest.raises(ValueError, match=r"ckpt-\d+ is whole, and the same command goes on"):
            run.save(*range(10, 500, 10))
        newest = run.checkpoints.newest()
        assert newest >= 10
        assert Run(tmp_path).restore() == (str(tmp_path / f"ckpt-{newest}"), ())
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
