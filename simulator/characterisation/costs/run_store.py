"""What a calibration has counted and timed so far, on disk: interrupted or short of time, the next one goes on."""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.machine import Machine
from simulator.calibration.bench.journal import Journal, read_entries
from simulator.calibration.bench.point_store import plain
from simulator.characterisation.costs.timing import Times
from simulator.characterisation.costs.vectors import Counts

FORMAT = 2
_FORMAT_1 = b'{\n "format": 1,\n "kind": "cost runs"'
KIND = "cost runs"
IDENTITY = ("host", "system", "cpu_model", "cores", "caches", "memory_bytes", "quota_cores", "governor")
"""What must be the same for runs to stand side by side."""
_RUN = (
    "characterisation/costs/micro*.py",
    "characterisation/costs/timing.py",
    "characterisation/derive/**/*.py",
    "characterisation/kernels.py",
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
        File of a line for each piece, read if it holds runs of the same fingerprint, else begun anew; see `Journal`.
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
        self._journal: Journal | None = None
        if path is not None:
            _renew(path, key)
            head = {"format": FORMAT, "kind": KIND, "key": key}
            self._journal = Journal(path, head=head, what="runs for costs", check=lambda _head: None, take=self._take)

    @property
    def warnings(self) -> list[str]:
        """A line if a part of the file was damaged."""
        return [self._journal.damage] if self._journal is not None and self._journal.damage else []

    def keep_counts(self, counts: Mapping[str, Counts]) -> None:
        """Remember what was counted, by label."""
        self.counts |= counts
        self._keep({"counts": dict(counts)})

    def keep_times(self, times: Times) -> None:
        """Remember the times of all rounds so far; only the rounds since the last call are written."""
        known = 0 if self.times is None or self.times.labels != times.labels else self.times.raw_s.shape[1]
        self.times = times
        if times.raw_s.shape[1] > known:
            self._keep({"times": Times(times.labels, times.raw_s[:, known:], times.controls_s[:, known:]).to_dict()})

    def close(self) -> None:
        """Wait for the disk and close the file."""
        if self._journal is not None:
            self._journal.close()

    def _keep(self, entry: Mapping[str, Any]) -> None:
        if self._journal is not None:
            self._journal.keep(entry)

    def _take(self, entry: dict[str, Any]) -> None:
        if "counts" in entry:
            self.counts |= dict(entry["counts"])
        else:
            found = Times.from_dict(entry["times"])
            if not len(found.labels) == len(found.raw_s) == len(found.controls_s):
                raise ValueError("a row for each label belongs here")
            self.times = found.after(self.times if self.times and self.times.labels == found.labels else None)


def _renew(path: Path, key: str) -> None:
    """Make way for runs of another fingerprint, and write a file of format 1, one JSON document, as a journal."""
    head = next(read_entries(path), {})
    if path.exists() and files.read_bytes(path)[: len(_FORMAT_1)] == _FORMAT_1:
        head = files.read_json(path)
        told = [{"counts": head["counts"]}, *([{"times": head["times"]}] if head.get("times") else [])]
        lines = [{"format": FORMAT, "kind": KIND, "key": head.get("key")}, *told]
        files.write_text(path, "".join(f"{json.dumps(line, allow_nan=False)}\n" for line in lines))
    if head.get("kind") == KIND and head.get("key") != key:
        files.remove(path)
