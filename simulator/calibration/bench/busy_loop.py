"""One competitor, a loop that is busy while its load says so: `python -m simulator.calibration.bench.busy_loop`.

Arguments: the parent's number, the processors with commas, the level from which it is busy (1 for the first loop of a
PE), and `apart` for a session of its own.
A line on standard input replays a load: `{"times_s", "values", "end_s", "start"}`, cyclic, `start` on the monotonic
clock; `null` stops it. A thread reads them, so that the loop itself is nothing but busy or asleep.
"""

import json
import os
import sys
import threading
import time
from bisect import bisect_right
from typing import Any

from simulator.calibration.bench import lifeline

LONGEST_NAP_S = 0.5
APART = "apart"


class BusyLoop:
    """Follows the newest schedule until its input closes."""

    def __init__(self, level: float) -> None:
        self._level = level
        self._schedule: dict[str, Any] | None = None
        self._changed = threading.Event()

    def read(self) -> None:
        """Take schedules from standard input; its end ends the process."""
        for line in sys.stdin:
            self._schedule = json.loads(line)
            self._changed.set()
        os._exit(0)

    def follow(self) -> None:
        """Be busy or asleep as the schedule of the moment says."""
        while True:
            self._changed.clear()
            busy, until = self._state(time.monotonic())
            if busy:
                while time.monotonic() < until and not self._changed.is_set():
                    pass
            else:
                self._changed.wait(max(0.0, until - time.monotonic()))

    def _state(self, now: float) -> tuple[bool, float]:
        """Whether to be busy at `now`, and until when that holds at most."""
        schedule = self._schedule
        if schedule is None:
            return False, now + LONGEST_NAP_S
        inside = (now - schedule["start"]) % schedule["end_s"]
        piece = bisect_right(schedule["times_s"], inside) - 1
        ends = [*schedule["times_s"][1:], schedule["end_s"]]
        return schedule["values"][piece] >= self._level, now + max(ends[piece] - inside, 1e-4)


def main() -> None:
    """Serve the driver until it closes standard input."""
    parent, cpus, level = int(sys.argv[1]), [int(cpu) for cpu in sys.argv[2].split(",")], float(sys.argv[3])
    if sys.argv[4:] == [APART]:
        os.setsid()
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, cpus)
    loop = BusyLoop(level)
    threading.Thread(target=loop.read, daemon=True).start()
    loop.follow()


if __name__ == "__main__":
    main()
