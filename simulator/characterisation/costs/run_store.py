"""What a calibration has counted and timed so far, on disk: interrupted or short of time, the next one goes on."""

import hashlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.machine import Machine
from simulator.calibration.bench.journal import IDENTITY, Entry, Journal, plain, read_entries, renew
from simulator.characterisation.costs.observations import Counts
from simulator.characterisation.costs.timing import Times

FORMAT = 2
_FORMAT_1 = b'{\n "format": 1,\n "kind": "cost runs"'
KIND = "cost runs"
_RUN = (
    "characterisation/costs/micro*.py",
    "characterisation/costs/timing.py",
    "characterisation/derive/**/*.py",
    "characterisation/kernels/*.py",
    "calibration/kernels/*.py",
)
"""What decides counts and times; below `simulator/`."""
_FITTED = (*_RUN, "characterisation/costs/*.py", "models/cost_fit.py", "models/resource/*.py")
"""What decides the model that is made of them."""
_COMPILERS = ("numba", "llvmlite")


def fingerprint(machine: Machine, *, fitted: bool = False) -> str:
    """Hash of the machine, of the compiler and of all that is run and counted; or of the fits as well."""
    found = hashlib.sha256()
    described = plain(machine.to_dict())
    found.update(repr([described.get(name) for name in IDENTITY]).encode())
    found.update("\n".join(version(name) for name in _COMPILERS).encode())
    house = Path(__file__).parents[2]
    for pattern in _FITTED if fitted else _RUN:
        for path in sorted(house.glob(pattern)):
            found.update(path.name.encode() + b"\0" + files.read_bytes(path))
    return found.hexdigest()[:32]


class RunStore:
    """Counts by program and size, and times of all programs; without a path they are kept in memory only.

    Parameters
    ----------
    path
        File of a line for each piece, read if it holds runs of the same fingerprint, else begun again; see `Journal`.
    key
        See `fingerprint`.

    Raises
    ------
    ScenarioError
        If the file holds something else than runs.
    """

    def __init__(self, path: Path | None, *, key: str) -> None:
        self.counts: dict[str, Counts] = {}
        """Label -> counts; empty for what could not be counted."""
        self.times: Times | None = None
        renew(path, _FORMAT_1, _lines_of_format_1)
        if path is not None:
            head = next(read_entries(path), {})
            if head.get("kind") == KIND and head.get("key") != key:
                files.remove(path)
        what, belongs = "runs for costs", {"key": key}
        self.journal = Journal(path, kind=KIND, version=FORMAT, what=what, take=self._take, belongs=belongs)

    def keep_counts(self, counts: Mapping[str, Counts]) -> None:
        """Remember what was counted, by label."""
        self.counts |= counts
        self.journal.keep({"counts": dict(counts)})

    def keep_times(self, times: Times) -> None:
        """Remember the times of all rounds so far; only the rounds since the last call are written."""
        known = 0 if self.times is None or self.times.labels != times.labels else self.times.raw_s.shape[1]
        self.times = times
        if times.raw_s.shape[1] > known:
            self.journal.keep(
                {"times": Times(times.labels, times.raw_s[:, known:], times.controls_s[:, known:]).to_dict()}
            )

    def _take(self, entry: dict[str, Any]) -> None:
        if "counts" in entry:
            self.counts |= dict(entry["counts"])
        else:
            found = Times.from_dict(entry["times"])
            if not len(found.labels) == len(found.raw_s) == len(found.controls_s):
                raise ValueError("a row for each label belongs here")
            self.times = found.after(self.times if self.times and self.times.labels == found.labels else None)


def _lines_of_format_1(document: Entry) -> Iterator[Entry]:
    """It was one JSON document."""
    yield {"format": FORMAT, "kind": KIND, "key": document.get("key")}
    yield {"counts": document["counts"]}
    if document.get("times"):
        yield {"times": document["times"]}
