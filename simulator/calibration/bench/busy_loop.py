"""The job of a competitor: a loop that is busy while its load says so."""

import time
from bisect import bisect_right
from collections.abc import Generator, Sequence

from simulator.calibration.bench.worker import Jobs, command_waits

_LONGEST_NAP_S, _LONGEST_BUSY_S = 0.5, 0.001
"""How long it sleeps, or is nothing but busy, before it looks for a command again."""


class BusyLoop:
    """Follows one schedule after the other.

    It is busy from the load `level` on: 1 for the first loop of a PE.
    """

    def __init__(self, level: str) -> None:
        self._level = float(level)

    def follow(self, times_s: Sequence[float], values: Sequence[float], end_s: float, start: float) -> Generator[None]:
        """Replay a load, cyclic, from `start` on the monotonic clock."""
        yield
        ends = [*times_s[1:], end_s]
        while True:
            now = time.monotonic()
            inside = (now - start) % end_s
            piece = bisect_right(times_s, inside) - 1
            left_s = max(ends[piece] - inside, 1e-4)
            if values[piece] >= self._level:
                until = now + min(left_s, _LONGEST_BUSY_S)
                while time.monotonic() < until:
                    pass
                left_s = 0.0
            if command_waits(min(left_s, _LONGEST_NAP_S)):
                return

    def rest(self) -> None:
        """Be quiet until the next command."""


def jobs(level: str) -> Jobs:
    """One loop."""
    loop = BusyLoop(level)
    return {"follow": loop.follow, "rest": loop.rest}
