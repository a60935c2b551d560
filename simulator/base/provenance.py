"""What a measurement or a result rests on: versions, machine, seed, input hashes, date."""

import datetime
import platform
from collections.abc import Mapping
from typing import Any

from simulator.base.documents import Data
from simulator.base.machine import Machine

VERSIONED = ("apportion", "numpy", "scipy", "simpy", "numba")


def versions() -> dict[str, str]:
    """Versions of the interpreter and of the libraries that can change a result."""
    from importlib import metadata

    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found | {"blas": _blas()}


def _blas() -> str:
    """The BLAS that NumPy was built with."""
    import numpy as np

    build: Any = np.show_config(mode="dicts")
    known = build.get("Build Dependencies", {}).get("blas", {})
    return f"{known.get('name', 'unknown')} {known.get('version', '')}".strip()


def provenance(
    *, seed: int | None = None, inputs: Mapping[str, str] | None = None, machine: Machine | None = None
) -> Data:
    """Provenance as plain data.

    `inputs`: name of each input file and its hash (`files.digest`).
    `machine`: where it was measured, for results of real runs.
    """
    return {
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "seed": seed,
        "inputs": dict(inputs or {}),
        "machine": None if machine is None else machine.to_dict(),
    }
