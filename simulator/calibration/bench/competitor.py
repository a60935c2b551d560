"""A real background load on one PE: busy loops of equal weight that follow a load trace of whole numbers."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import numpy as np

from simulator.base.errors import CalibrationError
from simulator.calibration.bench.group import Group
from simulator.models.load import LoadTrace

LEAD_S = 0.05
"""How long before it is needed a load is switched on, so that it is really there."""


class Competitor:
    """Processes of ours that compete for a PE; a context manager that ends them.

    Loop `k` is busy while the load is at least `k`. Only whole loads are taken: a loop that is busy for a part of the
    time takes less than that part from us, since it shares while it is awake.

    `apart` gives each loop a session of its own: against runs that have theirs too (`pin`), or a run as a whole
    (`CommandRanks`), as Linux shares a processor between sessions first (autogroup).
    """

    def __init__(self, cpus: int | Sequence[int], trace: LoadTrace, *, apart: bool = False) -> None:
        if np.any(trace.values != np.rint(trace.values)):
            raise CalibrationError("a competitor's load holds parts of processes; give whole numbers")
        self._trace = trace
        here = ",".join(map(str, [cpus] if isinstance(cpus, int) else cpus))
        levels = range(1, int(trace.values.max()) + 1)
        self._loops = Group("load", [(here, level) for level in levels], apart=apart)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loops.end()

    @contextmanager
    def replay(self, start_s: float) -> Iterator[None]:
        """Follow the trace from `start_s` on while the block runs, and be quiet afterwards."""
        schedule = {
            "do": "follow",
            "times_s": self._trace.times_s.tolist(),
            "values": self._trace.values.tolist(),
            "end_s": self._trace.end_s,
            "start": time.monotonic() + LEAD_S - start_s,
        }
        try:
            self._loops.tell_all(schedule)
            time.sleep(LEAD_S)
            yield
        finally:
            self._loops.tell_all({"do": "rest"})
