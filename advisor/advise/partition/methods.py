"""Partitioners: who gets how many units of work, by name and with one signature; and the document and table of that."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from advisor.advise.partition.exact import check_units, exact, least_limit
from advisor.advise.partition.result import Partition
from advisor.advise.partition.speed_kinds import SpeedKinds
from advisor.advise.partition.speeds_file import Speeds, read_speeds
from simulator import ScenarioError, files, provenance


def equal(units: int, pes: SpeedKinds) -> Partition:
    """Split units evenly, or as evenly as memory limits allow; the first PEs take one more.

    Raises ScenarioError if there is no unit, or not all fit the memory of all PEs.
    """
    check_units(units, pes)
    _, shares = least_limit(units, pes.with_constant(np.ones(len(pes.names))))
    return Partition("equal", pes, shares, functional(units, pes).lower_bound_s, _full_ones(units, pes))


def _full_ones(units: int, pes: SpeedKinds) -> tuple[str, ...]:
    """A warning where an even share would not fit a PE's memory."""
    share = -(-units // pes.pe_count)
    small = np.flatnonzero(pes.limits < share)
    if not small.size:
        return ()
    first = f"{pes.names[small[0]]} (max_size {pes.limits[small[0]]})"
    others = f" and {small.size - 1} more" if small.size > 1 else ""
    return (f"an equal share of {share} units does not fit {first}{others}: full, and the rest goes to the others",)


def by_speed(units: int, pes: SpeedKinds) -> Partition:
    """The exact partition as if each PE kept its speed at its smallest size; memory limits are kept.

    Kalinov and Lastovetsky, "Heterogeneous Distribution of Computations Solving Linear Algebra Problems on Networks of
    Heterogeneous Computers", Journal of Parallel and Distributed Computing 61 (2001).

    Raises ScenarioError as `equal`.
    """
    check_units(units, pes)
    _, shares = least_limit(units, pes.with_constant(pes.speeds[pes.starts[:-1]]))
    return Partition("by-speed", pes, shares, functional(units, pes).lower_bound_s)


def functional(units: int, pes: SpeedKinds) -> Partition:
    """The partition with the least possible makespan.

    Lastovetsky and Reddy, "Data Partitioning with a Functional Performance Model of Heterogeneous Processors",
    International Journal of High Performance Computing Applications 21 (2007): a line through the origin, of slope
    1 / T, meets each speed function once, and is turned until the units under it are all. Here the whole numbers are
    exact too, and times may fall while units grow.

    Raises ScenarioError as `equal`.
    """
    check_units(units, pes)
    return exact("functional", units, pes)


METHODS: dict[str, Callable[[int, SpeedKinds], Partition]] = {
    "equal": equal,
    "by-speed": by_speed,
    "functional": functional,
}


def partition(units: int, speeds: Speeds | str | Path, method: str = "functional") -> Partition:
    """Divide units among the PEs of a speeds file.

    >>> partition(100, "speeds.json").units.sum()
    np.int64(100)

    Raises ScenarioError if there is no such method, or no feasible partition.

    `units`, `speeds`: what is divided, and by whom: what `read_speeds` read, or a file, or the name of a shipped one.
    `method`: one of `METHODS`.
    """
    if method not in METHODS:
        raise ScenarioError(f"--method {method!r} is not known; give {', '.join(METHODS)}")
    read = speeds if isinstance(speeds, Speeds) else read_speeds(speeds)
    return METHODS[method](units, read.pes)


def partition_document(found: Partition, speeds: Speeds) -> dict[str, Any]:
    """Plain data for JSON: what `apportion advise` prints and writes."""
    return {
        "format": 1,
        "command": "partition",
        "method": found.method,
        "units": found.units.tolist(),
        "names": found.pes.pe_names(),
        "times_s": found.times_s.tolist(),
        "makespan_s": found.makespan_s,
        "lower_bound_s": found.lower_bound_s,
        "optimal": found.optimal,
        "warnings": list(found.warnings),
        "provenance": provenance.provenance(inputs=speeds.inputs),
    }


def partition_csv(found: Partition) -> str:
    """One row per PE: number from 0, name, units, seconds."""
    rows = zip(found.pes.pe_names(), found.units.tolist(), found.times_s.tolist(), strict=True)
    return files.csv_lines([("pe", "name", "units", "time_s"), *((number, *row) for number, row in enumerate(rows))])
