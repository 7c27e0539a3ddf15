"""SIGTERM and Ctrl-C as a wish that training ends after the step under way.

Python runs its own signal handlers between two of its instructions, and during an inner loop of
training there is none for minutes: a machine that is taken back in 30 seconds would be gone. So the
wish is heard by a thread and written where the loop inside TensorFlow looks after every step.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import tensorflow as tf

_NAMES = {signal.SIGTERM: "SIGTERM", signal.SIGINT: "Ctrl-C"}


class Stopped(Exception):
    """Training or evaluation ended early, as was asked."""


class StopRequest:
    """Whether somebody wants the run to stop."""

    def __init__(self) -> None:
        """Create it before a strategy's scope: the flag stays on the host."""
        with tf.device("CPU:0"):
            self.flag = tf.Variable(False, trainable=False, name="stop")
        self.cause: str | None = None

    def make(self, cause: str) -> None:
        """Asks for a stop; the first cause stands."""
        self.cause = self.cause or cause
        self.flag.assign(True)

    @contextmanager
    def listening(self, say: Callable[[str], None]) -> Iterator[None]:
        """Takes SIGTERM and Ctrl-C as requests for as long as the block runs.

        A second Ctrl-C leaves at once, with exit code 130. In any thread but the main one, where
        Python allows no handlers, nothing is taken.

        Args:
          say: told what a request leads to, from another thread.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heard, heard_by_python = socket.socketpair()
        heard_by_python.setblocking(False)
        watcher = threading.Thread(target=self._watch, args=(heard, say), daemon=True)
        watcher.start()
        # A handler of Python's must be there for the number to be written; it has nothing to do.
        before = {number: signal.signal(number, lambda *_: None) for number in _NAMES}
        wakeup = signal.set_wakeup_fd(heard_by_python.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            heard_by_python.close()  # which ends the watcher
            watcher.join()
            heard.close()

    def _watch(self, heard: socket.socket, say: Callable[[str], None]) -> None:
        while number := heard.recv(1):
            name = _NAMES.get(number[0])
            if name is None:
                continue
            if name == "Ctrl-C" and self.cause:
                _leave()
            self.make(name)
            again = "; Ctrl-C again leaves at once, without saving" if name == "Ctrl-C" else ""
            say(f"{name}: saving after this step{again}")


def _leave() -> None:
    """Ends the process though its main thread may be deep inside TensorFlow."""
    if sys.stdout.isatty():
        print("\x1b[?25h")  # a progress bar hides the cursor
    os._exit(130)
