"""What a word of memory costs beyond the nearest cache, by working set: from a memory model, or from a quick sweep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.characterisation.costs.observations import STREAM, Observation
from simulator.models.memory.levels import WORD_BYTES
from simulator.models.memory.model import MemoryModel
from simulator.models.resource import MemoryTerm

Words = NDArray[np.int64]

STRETCH = 64
"""Words read in order from one place, of a memory model: L."""
SWEEP_BYTES = tuple(2**k for k in range(14, 27, 2))
"""Working sets of the quick sweep, 16 KiB to 64 MiB."""
_GATHERED = ("load", "store")


@dataclass(frozen=True)
class MemoryTimesByWorkingSet:
    """Seconds of a word by the working set."""

    source: str
    working_sets_bytes: tuple[float, ...]
    """Ascending."""
    word_s: tuple[float, ...]

    def beyond_nearest(self) -> NDArray[np.float64]:
        """Seconds of a word beyond one in the nearest cache, never falling; (working sets,)."""
        times = np.array(self.word_s)
        return np.maximum.accumulate(times - times[0])

    def wait_s(self, counts: Mapping[str, float], working_set_bytes: float) -> float:
        """Seconds that a run waits for memory if nothing overlaps."""
        words = sum(words_of(name) * count for name, count in counts.items())
        at = np.log(max(working_set_bytes, 1.0))
        return float(words * np.interp(at, np.log(self.working_sets_bytes), self.beyond_nearest()))

    def term(self, operations: Sequence[str], *, factor: float) -> MemoryTerm:
        """The term of a cost vector; the factor is the share of the wait that nothing overlaps."""
        accesses = {name: words_of(name) for name in operations if words_of(name)}
        waits = tuple(float(wait) for wait in factor * self.beyond_nearest())
        return MemoryTerm(accesses, self.working_sets_bytes, waits)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        sets, times = list(self.working_sets_bytes), list(self.word_s)
        return {"source": self.source, "working_sets_bytes": sets, "word_s": times}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "MemoryTimesByWorkingSet":
        """The inverse of `to_dict`."""
        return cls(str(data["source"]), tuple(data["working_sets_bytes"]), tuple(data["word_s"]))


def words_of(operation: str) -> float:
    """Words of 8 bytes that an instruction of a class reads or writes."""
    what, _, bits = operation.partition("_")
    if what not in _GATHERED:
        return 0.0
    return float(bits) / (8 * WORD_BYTES) if bits.isdigit() else 1.0


def times_of_model(model: MemoryModel, source: str) -> MemoryTimesByWorkingSet:
    """By a fitted memory model: starts drawn evenly, stretches of 64 words."""
    words = np.array(SWEEP_BYTES) / WORD_BYTES
    times = model.time_per_word_s(words, 1.0, float(STRETCH))
    return MemoryTimesByWorkingSet(source, tuple(map(float, SWEEP_BYTES)), tuple(map(float, times)))


def times_of_streams(observations: Sequence[Observation]) -> MemoryTimesByWorkingSet:
    """By the quick sweep."""
    streams = sorted((seen for seen in observations if seen.role == STREAM), key=lambda seen: seen.working_set_bytes)
    sets = tuple(seen.working_set_bytes for seen in streams)
    return MemoryTimesByWorkingSet("words read in order, quick sweep", sets, tuple(s.time_s / s.n for s in streams))


def read_words(words: Words) -> int:
    """Words added in vectors, for Numba to compile: nothing but memory keeps it from four words per cycle."""
    total = 0
    for k in range(words.size):
        total ^= words[k]
    return total
