"""Load functions kept up to date as observations arrive: amortised O(w) each, by a monotone queue per window length.

For every length `j` one queue holds the window ends that may still become the least mean, another those that may become
the greatest (Lemire, "Streaming maximum-minimum filter using no more than three comparisons per element"). Queues hold
ends only; sums come from exact integer prefix sums, so the numbers are those of a rebuild.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from simulator.base.errors import TraceError
from simulator.models.load import Floats
from simulator.models.load_functions import LoadFunctions, check_lengths, fixed_point, from_sums, to_fixed

_FIRST_ROOM = 16


class LoadWindow:
    """The latest `history` observations of a load and the load functions over windows of up to `window` of them.

    Its queues take `8 w` bytes times their greatest length, at most `8 w h` bytes (a load that only rises or falls).
    """

    def __init__(self, step_s: float, *, window: int, history: int) -> None:
        check_lengths(window, history)
        self._step_s, self._window, self._history = step_s, min(window, history), history
        self._shift = fixed_point(window, 0.0)
        self._peak = 2.0 ** (62 - self._shift) / 2 ** np.ceil(np.log2(max(window, 2)))
        self._seen = 0
        self._loads = np.zeros(history)
        self._clear()

    def __len__(self) -> int:
        return min(self._seen, self._history)

    @property
    def observations(self) -> Floats:
        """The observations in the history, oldest first."""
        return np.roll(self._loads, -(self._seen % self._history))[self._history - len(self) :]

    def update(self, load: float) -> None:
        """Take in one observation; the oldest leaves when the history is full.

        Raises
        ------
        TraceError
            If it is negative or no finite number.
        """
        self.extend(np.array([load], dtype=np.float64))

    def extend(self, loads: Floats) -> None:
        """Take in observations one after the other, oldest first; see `update`."""
        if not (np.all(loads >= 0) and np.all(np.isfinite(loads))):
            raise TraceError("load functions: load: finite numbers of at least 0 allowed")
        if loads.size and float(np.max(loads)) > self._peak:
            self._rescale(float(np.max(loads)))
        done = 0
        while done < loads.size:
            done += self._push(loads[done:])

    def functions(self) -> LoadFunctions:
        """The load functions of the history as it is now."""
        if not len(self):
            raise TraceError("load functions: no observation found, at least one needed")
        lengths = np.arange(1, min(self._window, len(self)) + 1)
        heads = self._heads[:, : lengths.size, None]
        ends = np.take_along_axis(self._queues[:, : lengths.size], heads, axis=2)[..., 0]
        least, greatest = self._prefix[ends] - self._prefix[(ends - lengths) % self._prefix.size]
        return from_sums(least, greatest, self._shift, self._step_s)

    def _clear(self) -> None:
        room = min(_FIRST_ROOM, self._history)
        self._queues = np.zeros((2, self._window, room), np.int32)
        self._heads = np.zeros((2, self._window), np.int32)
        self._sizes = np.zeros((2, self._window), np.int32)
        self._fronts = np.zeros((2, self._window), np.int32)
        self._backs = np.zeros((2, self._window), np.int64)
        self._prefix = np.zeros(self._history + 1, np.int64)
        self._seen = 0

    def _push(self, loads: Floats) -> int:
        """Take in loads until a queue is full; how many."""
        fixed = to_fixed(loads, self._shift)
        arrays = self._prefix, self._queues, self._heads, self._sizes, self._fronts, self._backs
        done, full = _kernel()(fixed, self._seen, *arrays)
        self._loads[(self._seen + np.arange(done)) % self._history] = loads[:done]
        self._seen += done
        if full:
            self._widen()
        return int(done)

    def _widen(self) -> None:
        """Double the queues' room, oldest entry first."""
        room = self._queues.shape[2]
        order = (self._heads[..., None] + np.arange(room)) % room
        wider = np.zeros((2, self._window, min(2 * room, self._history)), np.int32)
        wider[..., :room] = np.take_along_axis(self._queues, order, axis=2)
        self._queues, self._heads = wider, np.zeros_like(self._heads)

    def _rescale(self, peak: float) -> None:
        """Begin again with a coarser step for loads beyond what the present one holds."""
        kept = self.observations
        self._shift = fixed_point(self._window, peak)
        self._peak = 2.0 ** np.ceil(np.log2(peak))
        self._clear()
        self.extend(kept)


@cache
def _kernel() -> Callable[..., Any]:
    """Compile the update when it is first needed."""
    from numba import njit

    return njit(nogil=True)(_push_all)


def _push_all(
    fixed: Any, seen: int, prefix: Any, queues: Any, heads: Any, sizes: Any, fronts: Any, backs: Any
) -> tuple[int, bool]:
    """Push observations until a queue is full; a window's end is the slot of its prefix sum in the ring `prefix`.

    `queues[0]` holds ends whose sums ascend (least first), `queues[1]` ends whose sums descend (greatest first).
    `fronts` (ends) and `backs` (sums) repeat what lies at the ends of each queue, side by side, so that most pushes
    read nothing of the queues themselves.
    """
    span, room = prefix.size, queues.shape[2]
    for i in range(fixed.size):
        slot = (seen + i) % span
        newest = slot + 1 if slot + 1 < span else 0
        prefix[newest] = prefix[slot] + fixed[i]
        full = False
        start = newest
        for j in range(min(queues.shape[1], seen + i + 1)):
            start = start - 1 if start > 0 else span - 1
            leaving = newest + 1 + j if newest + 1 + j < span else newest + 1 + j - span
            total = prefix[newest] - prefix[start]
            for side in range(2):
                head, size, back = heads[side, j], sizes[side, j], backs[side, j]
                if size > 0 and seen + i >= span - 1 and fronts[side, j] == leaving:
                    head = head + 1 if head + 1 < room else 0
                    size -= 1
                    fronts[side, j] = queues[side, j, head]
                while size > 0 and ((back >= total) if side == 0 else (back <= total)):
                    size -= 1
                    last = head + size - 1 if head + size - 1 < room else head + size - 1 - room
                    end = queues[side, j, last]
                    begin = end - j - 1 if end - j - 1 >= 0 else end - j - 1 + span
                    back = prefix[end] - prefix[begin]
                queues[side, j, head + size if head + size < room else head + size - room] = newest
                if size == 0:
                    fronts[side, j] = newest
                heads[side, j], sizes[side, j], backs[side, j] = head, size + 1, total
                full = full or size + 1 == room
        if full and room < span - 1:
            return i + 1, True
    return fixed.size, False
