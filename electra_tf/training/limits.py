"""When a run ends: after so many steps, tokens or minutes, whichever comes first."""

from __future__ import annotations

import math
from typing import NamedTuple


class Used(NamedTuple):
    """What a run has used up, over all its starts.

    Fields:
      steps: steps trained.
      tokens: real tokens trained on.
      seconds: of running: training, waiting, evaluating, saving. What a killed process did after
        its last checkpoint is done again, and counts once.
    """

    steps: int
    tokens: int
    seconds: float


class Limits(NamedTuple):
    """The ends of a run; None = no such end.

    The learning rate follows the steps alone: a run that its tokens or minutes end first ends at
    whatever rate it has reached.

    Fields:
      steps: of the whole run.
      tokens: real tokens trained on; the run ends at the first pause at or after them.
      minutes: of running, as `Used.seconds`; likewise.
    """

    steps: int
    tokens: int | None = None
    minutes: float | None = None

    def reached(self, used: Used) -> str | None:
        """The name of a limit that is reached.

        >>> limits = Limits(steps=100, tokens=5_000, minutes=2.0)
        >>> limits.reached(Used(steps=99, tokens=4_999, seconds=119.9))
        >>> limits.reached(Used(steps=10, tokens=5_000, seconds=1.0))
        'tokens'
        """
        if used.steps >= self.steps:
            return "steps"
        if self.tokens is not None and used.tokens >= self.tokens:
            return "tokens"
        if self.minutes is not None and used.seconds >= self.minutes * 60:
            return "minutes"
        return None

    def seconds_left(self, used: Used, since: Used, seconds: float) -> float:
        """Until the first limit, at the speed of late.

        Args:
          used: now.
          since: at the start of the time that the speed is taken from.
          seconds: of training since then; less than all that passed.

        Returns:
          Seconds of training; 0.0 where a limit is reached.

        >>> half, whole = Used(50, 1_000, 60.0), Used(60, 1_500, 90.0)
        >>> Limits(steps=100).seconds_left(whole, half, 20.0)
        80.0
        >>> Limits(steps=100, tokens=2_000).seconds_left(whole, half, 20.0)
        20.0
        >>> Limits(steps=100, minutes=1.6).seconds_left(whole, half, 20.0)
        6.0
        """
        left = [math.inf]
        if used.steps > since.steps:
            left.append((self.steps - used.steps) * seconds / (used.steps - since.steps))
        if self.tokens is not None and used.tokens > since.tokens:
            left.append((self.tokens - used.tokens) * seconds / (used.tokens - since.tokens))
        if self.minutes is not None:
            left.append(self.minutes * 60 - used.seconds)
        return max(0.0, min(left))
