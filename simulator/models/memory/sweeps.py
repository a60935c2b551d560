"""Memory swept from end to end by vector loops: seconds per word read and written, by how much memory is swept.

Apex-MAP adds its words one by one: a word from the second cache hides behind the addition before it, and few are under
way at once. Loops that a compiler makes vectors of wait for just that. So their words are measured by themselves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simulator.models.memory.levels import WORD_BYTES, Floats, MemoryUse


@dataclass(frozen=True)
class Sweeps:
    """Seconds per word of vector loops; straight lines between the logarithms, constant beyond; n sizes."""

    m_words: Floats
    """M: words swept again and again, ascending; (n,)."""
    read_s: Floats
    """Seconds of a word that is read; (n,)."""
    write_s: Floats
    """Seconds of a word that is written without being read, its line's way there and back in it; (n,)."""

    def __post_init__(self) -> None:
        columns = (self.m_words, self.read_s, self.write_s)
        if self.m_words.size < 1 or any(column.shape != self.m_words.shape for column in columns):
            raise ValueError("sweeps: as many sizes as times, at least one")
        if not all(np.all((column > 0) & np.isfinite(column)) for column in columns):
            raise ValueError("sweeps: numbers above 0")
        if np.any(np.diff(self.m_words) <= 0):
            raise ValueError("sweeps: M_words ascending")

    def unit_s(self, use: MemoryUse, footprints_bytes: ArrayLike) -> Floats:
        """Seconds that the words of a unit of volume take; of the shape of `footprints_bytes`."""
        words = use.footprint_share * np.asarray(footprints_bytes, dtype=np.float64) / WORD_BYTES
        where, known = np.log(np.maximum(words, self.m_words[0])), np.log(self.m_words)
        read_s, write_s = (np.exp(np.interp(where, known, np.log(times))) for times in (self.read_s, self.write_s))
        return np.asarray(use.read_per_unit * read_s + use.written_per_unit * write_s)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"M_words": self.m_words.tolist(), "read_s": self.read_s.tolist(), "write_s": self.write_s.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Sweeps":
        """The sweeps that `to_dict` wrote."""
        return cls(*(np.asarray(data[name], dtype=np.float64) for name in ("M_words", "read_s", "write_s")))
