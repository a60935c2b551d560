"""Process-count models from and to files: fitted to the runs of a CSV file, kept as JSON with what was measured."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.shipped import locate
from simulator.base.tables import MAX_FAULTS, Table, read_table
from simulator.base.units import to_number
from simulator.models.process_count.estimates import ProcessCountModel
from simulator.models.process_count.fitting import fit_process_counts, process_count_model_from_dict
from simulator.models.process_count.runs import AllocationRuns, Floats, Ints

# Runs of a program that gives every process the same work, from a CSV file; every fault has its line.


PARTS = ("pes", "procs", "comp_s", "comm_s")
"""What a table can say of a kind, as `KIND.pes`; the last two are optional."""
MOST = 100_000
"""PEs of a kind, and processes on each of them."""
_COLUMN = re.compile(rf"(.*)\.({'|'.join(PARTS)})")
_KIND = re.compile(r"[^\s:,=]+")


def read_allocation_runs(path: str | Path) -> tuple[AllocationRuns, tuple[str, ...]]:
    """Read runs from a CSV file, and say which columns were not looked at.

    Columns: `N` (problem size), `time_s` (of the whole run), and per kind of PE `KIND.pes` (how many took part) and
    `KIND.procs` (processes on each of them), both 0 where the kind took no part; perhaps `KIND.comp_s` and
    `KIND.comm_s` (its computation and communication), whose cells may be empty. Repeated rows are repetitions.

    Raises
    ------
    ScenarioError
        If the table cannot be read, lacks a column or has no kind, or for every cell that cannot be: one line each.
    """
    path = Path(path)
    table = read_table(path)
    kinds, ignored = _columns(table)
    cells = _Cells(table, [])
    size, time_s = (cells.numbers(name, lambda value: value > 0, "a number above 0") for name in ("N", "time_s"))
    allocations = np.stack(
        [np.stack([cells.whole(f"{kind}.{p}") for p in PARTS[:2]], axis=1) for kind in kinds], axis=1
    )
    cells.check_rows(kinds, allocations)
    comp_s, comm_s = (np.stack([cells.optional(f"{kind}.{p}") for kind in kinds], axis=1) for p in PARTS[2:])
    if cells.faults:
        faults = [line for _, line in sorted(cells.faults)]
        more = [f"{table.place}: {len(faults) - MAX_FAULTS} more faults"] if len(faults) > MAX_FAULTS else []
        raise ScenarioError(faults[:MAX_FAULTS] + more)
    idle = allocations[:, :, 0] == 0
    comp_s, comm_s = np.where(idle, np.nan, comp_s), np.where(idle, np.nan, comm_s)
    notes = (f"{table.place}: columns not looked at: {', '.join(ignored)}",) if ignored else ()
    return AllocationRuns(kinds, size, allocations, time_s, comp_s, comm_s), notes


def _columns(table: Table) -> tuple[tuple[str, ...], list[str]]:
    """Kinds in their order, and the columns that say nothing of them."""
    found = {name: _COLUMN.fullmatch(name) for name in table.names}
    kinds = tuple(dict.fromkeys(match.group(1) for match in found.values() if match))
    faults = [
        f"{table.place}: column {f'{kind}.pes'!r}: kind {kind!r} found, a name without blanks, ':', ',' and '=' allowed"
        for kind in kinds
        if not _KIND.fullmatch(kind)
    ]
    wanted = ["N", "time_s", *(f"{kind}.{part}" for kind in kinds for part in PARTS[:2])]
    shown = ", ".join(table.names)
    faults += [f"{table.place}: column {name!r} missing, {shown} found" for name in wanted if name not in table.names]
    if not kinds:
        faults.append(f"{table.place}: no kind of PE found, columns such as fast.pes and fast.procs allowed")
    if faults:
        raise ScenarioError(faults[:MAX_FAULTS])
    return kinds, [name for name, match in found.items() if not match and name not in wanted]


@dataclass(frozen=True)
class _Cells:
    """The cells of a table as numbers, and those that are none."""

    table: Table
    faults: list[tuple[int, str]]
    """Row and message."""

    def numbers(
        self, name: str, fits: Callable[[float], bool], allowed: str, *, unread: float = 1.0, empty: float | None = None
    ) -> Floats:
        """A column; cells that do not fit are told of and `unread`."""
        found = np.full(len(self.table.rows), unread)
        for place, cell in enumerate(self.table.text(name)):
            value = to_number(cell)
            if value is not None and np.isfinite(value) and fits(value):
                found[place] = value
            elif empty is not None and cell.lower() in {"", "nan"}:
                found[place] = empty
            else:
                self._tell(place, name, f"{cell or 'an empty cell'} found, {allowed} allowed")
        return found

    def whole(self, name: str) -> Ints:
        """PEs or processes; -1 where they cannot be read."""
        allowed = f"a whole number from 0 to {MOST}"
        values = self.numbers(name, lambda value: value.is_integer() and 0 <= value <= MOST, allowed, unread=-1)
        return values.astype(np.int64)

    def optional(self, name: str) -> Floats:
        """Seconds that need not have been measured."""
        if name not in self.table.names:
            return np.full(len(self.table.rows), np.nan)
        return self.numbers(name, lambda value: value >= 0, "seconds of at least 0, or nothing", empty=np.nan)

    def check_rows(self, kinds: Sequence[str], allocations: Ints) -> None:
        """Tell of rows that are no allocation."""
        read = np.all(allocations >= 0, axis=(1, 2))
        for place in np.flatnonzero(read & np.any((allocations == 0).sum(axis=2) == 1, axis=1)).tolist():
            for kind, (pes, procs) in zip(kinds, allocations[place].tolist(), strict=True):
                if (pes == 0) != (procs == 0):
                    allowed = "both 0 or both at least 1 allowed"
                    self._tell(place, f"{kind}.pes", f"{pes} found where {kind}.procs is {procs}, {allowed}")
        for place in np.flatnonzero(read & np.all(allocations == 0, axis=(1, 2))).tolist():
            names = ", ".join(f"{kind}.pes" for kind in kinds)
            self._tell(place, names, "no process found (P = 0), at least one allowed")

    def _tell(self, place: int, name: str, text: str) -> None:
        line = self.table.lines[place]
        self.faults.append((line, f"{self.table.place}:{line}: {name}: {text}"))


FORMAT = 1
KIND = "process_count"
LEVEL = 0.9
"""Of the intervals that the fit is judged by."""


@dataclass(frozen=True)
class MeasuredAllocations:
    """What a model rests on: where it interpolates, and where it does not."""

    kinds: tuple[str, ...]
    sizes: Floats
    """Each size once, ascending; (sizes,)."""
    allocations: Ints
    """Each configuration once, as in `AllocationRuns`; (configurations, kind, 2)."""
    runs: int

    @classmethod
    def of_runs(cls, runs: AllocationRuns) -> "MeasuredAllocations":
        """Of these runs."""
        flat = np.unique(runs.allocations.reshape(runs.size.size, -1), axis=0)
        return cls(runs.kinds, np.unique(runs.size), flat.reshape(-1, len(runs.kinds), 2), runs.size.size)

    @property
    def most(self) -> Ints:
        """Most PEs of each kind, and most processes on one of them; (kind, 2)."""
        return np.asarray(self.allocations.max(axis=0))

    @property
    def most_processes(self) -> int:
        """Largest P."""
        return int(np.prod(self.allocations, axis=2).sum(axis=1).max())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"sizes": self.sizes.tolist(), "configurations": self.allocations.tolist(), "runs": self.runs}


@dataclass(frozen=True)
class AllocationFit:
    """A fitted model with what is known about the fit."""

    model: ProcessCountModel
    measured: MeasuredAllocations
    quality: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Per kind, over the runs that it took part in, and in all (`all`): see `fit_quality`."""
    notes: tuple[str, ...] = ()
    """Of the file that was read."""
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """Name of the model's form."""
        return str(self.model.to_dict()["method"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of the file, and what the runs cannot tell."""
        return (*self.notes, *self.model.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": FORMAT,
            "kind": KIND,
            "method": self.method,
            "kinds": list(self.model.kinds),
            "measured": self.measured.to_dict(),
            "quality": self.quality,
            "model": self.model.to_dict(),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "provenance": self.provenance,
        }


def fit_allocation_table(path: str | Path, *, method: str = "pooled") -> AllocationFit:
    """Fit a process-count model to the runs of a CSV file; see `read_allocation_runs` for its columns.

    Parameters
    ----------
    method
        `pooled`, or `paper` for the models of Kishimoto and Ichikawa.

    Raises
    ------
    ScenarioError
        If the table cannot be read, or its runs do not determine a model; one line per fault.
    """
    path = locate(path)
    from simulator.base.provenance import provenance

    runs, notes = read_allocation_runs(path)
    try:
        model = fit_process_counts(runs, method=method)
    except ScenarioError as error:
        raise ScenarioError([f"{path}: {line}" for line in error.lines]) from error
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=2**30))}
    measured = MeasuredAllocations.of_runs(runs)
    return AllocationFit(model, measured, fit_quality(model, runs), notes, provenance(inputs=inputs))


def fit_quality(model: ProcessCountModel, runs: AllocationRuns) -> dict[str, dict[str, Any]]:
    """How well a model says again what it was fitted to, per kind over the runs that it took part in, and over all.

    Each has `runs`, `mean_error` and `largest_error` (|estimate / time - 1|), and `inside`, the share of runs within
    their 90 % interval. Runs of configurations that the model cannot estimate do not count.
    """
    mean_s, low_s, high_s = np.full((3, runs.size.size), np.nan)
    for size in np.unique(runs.size).tolist():
        mine = runs.size == size
        found = model.estimate(size, runs.allocations[mine], level=LEVEL)
        mean_s[mine], low_s[mine], high_s[mine] = found.mean_s, found.low_s, found.high_s
    error = np.abs(mean_s / runs.time_s - 1)
    inside = (runs.time_s >= low_s) & (runs.time_s <= high_s)
    over = {kind: runs.allocations[:, place, 0] > 0 for place, kind in enumerate(runs.kinds)}
    over |= {"all": np.full(error.size, fill_value=True)}
    known = np.isfinite(error)
    over = {name: mask & known for name, mask in over.items()}
    return {
        name: {
            "runs": int(some.sum()),
            "mean_error": float(error[some].mean()),
            "largest_error": float(error[some].max()),
            "inside": float(inside[some].mean()),
        }
        for name, some in over.items()
        if np.any(some)
    }


def save_allocation_fit(fitted: AllocationFit, path: str | Path) -> None:
    """Write a fitted model as JSON, whole or not at all."""
    path = Path(path)
    files.write_json(path, fitted.to_dict())


def load_allocation_fit(path: str | Path) -> AllocationFit:
    """Read a model that `save_allocation_fit` wrote.

    Raises
    ------
    ScenarioError
        If the file is missing, no JSON, or no process-count model.
    """
    path = Path(path)
    document = files.read_json(path)
    if not isinstance(document, dict) or document.get("kind") != KIND:
        found = repr(document.get("kind")) if isinstance(document, dict) else f"a {type(document).__name__}"
        raise ScenarioError(f"{path}: kind: {found} found, {KIND!r} allowed: a model of `apportion allocate fit`")
    if document.get("format") != FORMAT:
        raise ScenarioError(f"{path}: format: {document.get('format')!r} found, {FORMAT} allowed")
    plain = _mapping(document, "model", path)
    try:
        model = process_count_model_from_dict(plain)
    except ScenarioError as error:
        raise ScenarioError([f"{path}: model: {line.removeprefix('model: ')}" for line in error.lines]) from error
    quality, provenance = (_mapping(document, name, path) for name in ("quality", "provenance"))
    notes = document.get("notes", [])
    if not isinstance(notes, list):
        raise ScenarioError(f"{path}: notes: a {type(notes).__name__} found, a list allowed")
    return AllocationFit(model, _measured(document, model, path), quality, tuple(map(str, notes)), provenance)


def _mapping(document: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    found = document.get(name)
    if not isinstance(found, dict):
        raise ScenarioError(f"{path}: {name}: {_type(found)} found, an object allowed")
    return found


def _measured(document: Mapping[str, Any], model: ProcessCountModel, path: Path) -> MeasuredAllocations:
    entry, kinds = _mapping(document, "measured", path), model.kinds
    try:
        sizes = np.array(entry.get("sizes"), dtype=np.float64)
        allocations = np.array(entry.get("configurations"), dtype=np.int64)
        whole = int(entry.get("runs", 0))
    except (TypeError, ValueError, OverflowError) as error:
        raise ScenarioError(f"{path}: measured: something else than numbers found, numbers allowed") from error
    if sizes.ndim != 1 or not sizes.size or not np.all(np.isfinite(sizes) & (sizes > 0)):
        raise ScenarioError(f"{path}: measured.sizes: no list of sizes above 0 found, one allowed")
    if allocations.shape[1:] != (len(kinds), 2) or not allocations.shape[0] or allocations.min() < 0:
        allowed = f"a list of [PEs, processes] for each of the {len(kinds)} kinds"
        raise ScenarioError(f"{path}: measured.configurations: none found, {allowed} allowed")
    return MeasuredAllocations(kinds, np.sort(sizes), allocations, whole)


def _type(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
