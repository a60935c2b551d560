"""All partitioners by name, with one signature, and the document and table of what they answer."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from advisor.advise.partition.banded import banded
from advisor.advise.partition.discontinuous import discontinuous
from advisor.advise.partition.equal import equal
from advisor.advise.partition.functional import functional
from advisor.advise.partition.grid2d import grid2d
from advisor.advise.partition.proportional import proportional
from advisor.advise.partition.result import Partition
from advisor.advise.partition.speeds_file import Speeds, read_speeds
from simulator import ScenarioError, files, provenance

METHODS: dict[str, Callable[..., Partition]] = {
    "equal": equal,
    "by-speed": proportional,
    "functional": functional,
    "discontinuous": discontinuous,
    "banded": banded,
    "grid2d": grid2d,
}
"""Each takes units and `SpeedKinds`, then options by name."""


def partition_options(*, at: str | None, correlation: float | None, matrix: str | None) -> dict[str, float]:
    """What a method takes besides units and PEs, from the options of the command line; None is an option not given.

    Raises ScenarioError if the text of an option says nothing that can be used.
    """
    options = {} if correlation is None else {"correlation": correlation}
    if at is not None:
        options |= {"peak": True} if at == "peak" else {"at": _size(at)}
    if matrix is not None:
        match = re.fullmatch(r"([1-9]\d{0,12})x([1-9]\d{0,12})", matrix)
        if match is None:
            raise ScenarioError(f"--matrix: {matrix!r} is no matrix; give ROWSxCOLUMNS such as 1000x1000")
        options |= {"rows": int(match[1]), "columns": int(match[2])}
    return options


def _size(text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not (math.isfinite(size) and size > 0):
        raise ScenarioError(f"--at: {text!r} is no size; give one above 0, or peak")
    return size


def partition(units: int, speeds: Speeds | str | Path, method: str = "functional", **options: Any) -> Partition:
    """Divide units among the PEs of a speeds file.

    >>> partition(100, "speeds.json").units.sum()
    np.int64(100)

    Raises ScenarioError if there is no such method, it cannot use an option, or there is no feasible partition.

    `units`, `speeds`: what is divided, and by whom: what `read_speeds` read, or a file, or the name of a shipped one.
    `method`: one of `METHODS`.
    `options`: what else that method takes.
    """
    if method == "proportional":
        raise ScenarioError("--method proportional is called by-speed now; give by-speed")
    if method not in METHODS:
        raise ScenarioError(f"--method {method!r} is not known; give {', '.join(METHODS)}")
    if not isinstance(speeds, Speeds):
        speeds = read_speeds(speeds)
    if method == "banded":
        if speeds.low is None:
            raise ScenarioError("banded: no entry has a band; add low and high to speeds, or name a model")
        options |= {"low": speeds.low, "high": speeds.high}
    return METHODS[method](units, speeds.pes, **options)


def partition_document(found: Partition, speeds: Speeds, *, seed: int | None = None) -> dict[str, Any]:
    """Plain data for JSON: what `apportion advise` prints and writes; `seed` is that of a method that draws."""
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
        **found.details,
        "warnings": list(found.warnings),
        "provenance": provenance.provenance(seed=seed, inputs=speeds.inputs),
    }


def partition_csv(found: Partition) -> str:
    """One row per PE: number from 0, name, units, seconds; for `grid2d` the rectangle, 0 by 0 without one."""
    units, times_s = found.units.tolist(), found.times_s.tolist()
    columns = {"pe": list(range(len(units))), "name": found.pes.pe_names(), "units": units, "time_s": times_s}
    if "rectangles" in found.details:
        by_pe = {rectangle["pe"]: rectangle for rectangle in found.details["rectangles"]}
        for side in ("row", "column", "height", "width"):
            columns[side] = [by_pe.get(pe, {}).get(side, 0) for pe in columns["pe"]]
    return files.csv_lines([tuple(columns), *zip(*columns.values(), strict=True)])
