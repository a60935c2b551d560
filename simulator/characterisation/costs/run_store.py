"""What a calibration has counted and timed so far, on disk: interrupted or short of time, the next one goes on."""

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from simulator import files
from simulator.calibration.real.point_store import plain
from simulator.characterisation.costs.observations import Counts
from simulator.characterisation.costs.timing import Times
from simulator.machine import Machine

FORMAT = 1
KIND = "cost runs"
IDENTITY = ("host", "system", "cpu_model", "cores", "caches", "memory_bytes", "quota_cores", "governor")
"""What must be the same for runs to stand side by side."""
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
        JSON file, read if it holds runs of the same fingerprint, else begun anew.
    key
        See `fingerprint`.
    """

    def __init__(self, path: Path | None, *, key: str) -> None:
        self._path, self._key = path, key
        self.counts: dict[str, Counts] = {}
        """Label -> counts; empty for what could not be counted."""
        self.times: Times | None = None
        if path is not None and path.exists():
            document = files.read_json(path)
            if isinstance(document, dict) and (document.get("kind"), document.get("key")) == (KIND, key):
                self.counts = dict(document["counts"])
                self.times = Times.from_dict(document["times"]) if document["times"] else None

    def keep(self) -> None:
        """Write all of it."""
        if self._path is None:
            return
        times = None if self.times is None else self.times.to_dict()
        document: Mapping[str, Any] = {"format": FORMAT, "kind": KIND, "key": self._key}
        files.write_json(self._path, {**document, "counts": self.counts, "times": times})
