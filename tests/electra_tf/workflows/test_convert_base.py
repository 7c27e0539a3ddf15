"""A model of base size is converted in half a minute and three times its own memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from electra_tf.encoder_folder import parameter_count, write_encoder_folder

ROOT = Path(__file__).resolve().parents[3]
# The process tells of itself: what its parent held would count as its own to the system.
CONVERT = """
import resource, sys
from electra_tf.cli.main import main
try:
    main()
finally:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    status = open("/proc/self/status").read()
    kilobytes = int(status.split("VmHWM:")[1].split()[0])
    print("USED", usage.ru_utime + usage.ru_stime, 1024 * kilobytes)
"""


def convert(*arguments):
    """Runs the command; returns its processor time in seconds and its largest memory in bytes."""
    command = [sys.executable, "-c", CONVERT, "convert", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.split("USED ")[1].split()
    return float(seconds), int(memory)


@pytest.mark.slow
def test_a_base_model_converts_in_30_seconds_and_3_times_its_memory(tmp_path, make_pair):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pair = make_pair(
        tokens=special + [chr(0x4E00 + place) for place in range(21128 - 5)],
        embedding_size=768,
        widths=(768, 256),
        layers=(12, 12),
        heads=(12, 4),
        positions=512,
    )
    judge, guesser = (parameter_count(folder.config, kind) for kind, folder in pair.items())
    size = 4 * (judge.total + guesser.own)
    for kind, folder in pair.items():
        write_encoder_folder(tmp_path / "ours" / kind, folder)
    del pair
    for source, target, out in (
        ("ours", "hf", "hf"),
        ("hf", "tf1", "tf1"),
        ("tf1", "encoder", "back"),
        ("tf1", "hf", "hf2"),
    ):
        seconds, memory = convert(tmp_path / source, "--to", target, tmp_path / out)
        print(
            f"{source} → {target}: {seconds:.1f} s, {memory / size:.2f} times {size / 1e6:.0f} MB"
        )
        # Processor time: what else the machine does is not the conversion's.
        assert seconds < 30
        assert memory < 3 * size
