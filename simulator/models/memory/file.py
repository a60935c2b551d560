"""Memory models from and to files: measured times per word in a CSV, models in JSON, targets in a CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files, ties
from simulator.base.arrays import Floats
from simulator.base.documents import SPARE, Data, in_file
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine
from simulator.base.shipped import locate
from simulator.base.tables import Table, as_table
from simulator.models.choice import mean_and_most
from simulator.models.file import ModelFile, cell_faults, refuse, rows_of, write_model
from simulator.models.foreign import MEMORY, read_as
from simulator.models.memory.forms import MemoryTimes
from simulator.models.memory.levels import WORD_BYTES, MemoryLevel
from simulator.models.memory.model import AXES, MemoryModel, Sweeps
from simulator.models.memory.selection import Candidate, Selection, held_out_errors, relative_errors, select_model
from simulator.models.predicted_speed import KERNEL_USES
from simulator.models.speed import load_speed_model

TIME = "time_per_word_s"
LIKE = 2.0
"""Factor within which a fitted capacity and one that the system reports are called the same."""


@dataclass(frozen=True)
class FittedLevel:
    """Constants of a level with their standard errors; None where it has none, or points do not determine it."""

    capacity_bytes: float | None
    capacity_bytes_error: float | None
    latency_s: float
    latency_s_error: float | None
    gap_s: float
    gap_s_error: float | None


@dataclass(frozen=True)
class FittedForm:
    """A form that was fitted, and its errors."""

    name: str
    levels: int
    parameters: tuple[FittedLevel, ...]
    corrected: bool
    sse: float
    relative_sse: float
    mean_relative_error: float
    max_relative_error: float
    held_out_mean: float | None
    held_out_max: float | None
    criterion: float
    physical: bool
    faults: tuple[str, ...]


@dataclass(frozen=True)
class NotFitted:
    """A form that there were too few points for."""

    name: str
    points_needed: int
    reason: str


@dataclass(frozen=True)
class ComparedCapacity:
    """A capacity that the system reports, and the fitted one nearest to it."""

    name: str
    reported_bytes: float
    nearest_fitted_bytes: float | None
    ratio: float | None
    agrees: bool


@dataclass(frozen=True, kw_only=True)
class MemoryFile(ModelFile):
    """What the file of a memory model says."""

    FORMAT, KIND, WRITER = 2, "memory", "apportion calibrate memory"
    chosen: str = ""
    levels: int | None = None
    models: tuple[FittedForm, ...] = ()
    not_fitted: tuple[NotFitted, ...] = ()
    model: MemoryModel
    comparison: tuple[ComparedCapacity, ...] = ()
    held_out: object = field(default=None, metadata=SPARE)
    """Of times that were measured here: errors on the cells kept from the fits."""
    sweep: object = field(default=None, metadata=SPARE)
    """How they were measured."""
    cells: object = field(default=None, metadata=SPARE)
    """The times."""


@dataclass(frozen=True)
class MemoryFit:
    """A chosen memory model with all forms that it was chosen from."""

    selection: Selection
    comparison: tuple[ComparedCapacity, ...]
    """Each capacity that the operating system reports; empty if none is known."""
    provenance: Mapping[str, Any]
    warnings: tuple[str, ...]
    sweeps: Sweeps | None = None
    """What words take that vector loops sweep, where that was measured."""

    def __repr__(self) -> str:
        return f"MemoryFit({self.model!r})"

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    @property
    def model(self) -> MemoryModel:
        """The model chosen."""
        return replace(self.selection.model, sweeps=self.sweeps)

    @property
    def file(self) -> "MemoryFile":
        """What its file says."""
        selection = self.selection
        return MemoryFile(
            chosen=selection.chosen.name,
            levels=selection.chosen.form.levels,
            models=tuple(_entry(candidate, selection) for candidate in selection.candidates),
            not_fitted=tuple(
                NotFitted(lacking.form.name, lacking.form.points_needed, lacking.reason)
                for lacking in selection.not_fitted
            ),
            model=self.model,
            comparison=self.comparison,
            warnings=self.warnings,
            provenance=self.provenance,
        )

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        return self.file.to_dict()


def read_memory_times(path: str | Path) -> MemoryTimes:
    """Read a table `M_words,alpha,L,time_per_word_s`; repeated rows are repetitions.

    Raises ScenarioError if the table cannot be read, lacks a column, or a row has L above M, alpha outside (0, 1], or
    no time above 0; one line per cell.
    """
    return _times(read_as(path, MEMORY).table)


def _times(table: Table) -> MemoryTimes:
    where, faults = _where(table, (*AXES, TIME))
    time_s = table.numbers(TIME)
    refuse([*faults, *cell_faults(table, TIME, time_s, time_s <= 0, "give a number above 0")])
    return MemoryTimes(*where, time_s)


def fit_memory_table(path: str | Path, *, machine: Machine | None = None, sweeps: Sweeps | None = None) -> MemoryFit:
    """Fit all forms to the times in a CSV file and choose; see `read_memory_times` and `fit_memory`."""
    path = locate(path)
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=2**30))}
    printed = read_as(path, MEMORY)
    times = _times(printed.table)
    with in_file(path):
        return fit_memory(times, machine=machine, inputs=inputs, warnings=printed.notes, sweeps=sweeps)


def fit_memory(
    times: MemoryTimes,
    *,
    machine: Machine | None = None,
    measured_here: bool = False,
    inputs: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
    sweeps: Sweeps | None = None,
) -> MemoryFit:
    """Fit models 0 to 3 and those of more levels, choose, and compare capacities with what a machine reports.

    `machine`: whose capacities the fitted ones are compared with; None for no comparison.
    `measured_here`: whether the times were measured on that machine, which then is part of the provenance.
    `inputs`, `warnings`: hash by file that the times came from; what to know about the times.
    `sweeps`: what words take that vector loops sweep; kept as they are.
    """
    from simulator.base.provenance import provenance

    selection = select_model(times)
    comparison = () if machine is None else _compared(selection.chosen, machine)
    made = provenance(inputs=inputs, machine=machine if measured_here else None)
    return MemoryFit(selection, comparison, made, (*warnings, *selection.warnings), sweeps)


save_memory_model = write_model


def load_memory_model(path: str | Path) -> MemoryFile:
    """Read a memory model.

    Raises ScenarioError if the file is missing, no JSON, or no memory model.
    """
    return MemoryFile.load(path)


def predict_memory(path: str | Path, at: Table | str | Path, *, level: float = 0.95) -> list[Data]:
    """Seconds per word at the targets of a table or a CSV file (`M_words,alpha,L`), in its order.

    Raises ScenarioError if model or table cannot be used, or a target is no (M, alpha, L).
    """
    model = load_memory_model(path).model
    where, faults = _where(as_table(at), AXES)
    refuse(faults)
    found = model.predict(*where, level=level)
    return rows_of(
        {
            "at": rows_of(dict(zip(AXES, where, strict=True))),
            "mean": found.mean_s,
            "low": found.low_s,
            "high": found.high_s,
            "physical": found.physical_s,
            "outside_training_range": found.outside_training_range,
            "distance": rows_of(dict(zip(AXES, found.distance.T, strict=True))),
        }
    )


def _where(table: Table, wanted: Sequence[str]) -> tuple[tuple[Floats, Floats, Floats], list[str]]:
    """M, alpha and L of each row, and what is wrong with them; a table without a wanted column is refused."""
    there = ", ".join(table.names)
    refuse(
        [f"{table.place}: column {name!r} is missing; there are {there}" for name in wanted if name not in table.names]
    )
    m, alpha, run = (table.numbers(name) for name in AXES)
    faults = cell_faults(table, "M_words", m, m < 1, "give 1 or more")
    faults += cell_faults(table, "alpha", alpha, ~((alpha > 0) & (alpha <= 1)), "give a number above 0 and up to 1")
    for row in np.flatnonzero((run < 1) | (run > np.maximum(m, 1))):
        faults.append(f"{table.place}:{table.lines[row]}: L is {run[row]:g}; give 1 up to the M_words, {m[row]:g}")
    return (m, alpha, run), faults


def _entry(candidate: Candidate, selection: Selection) -> FittedForm:
    points = selection.points
    residuals = candidate.fitted_s - points.time_s
    relative = relative_errors(candidate.fitted_s, points)
    held_out_mean, held_out_most = mean_and_most(held_out_errors(candidate, points))
    return FittedForm(
        name=candidate.name,
        levels=candidate.form.levels,
        parameters=tuple(_level(candidate, place) for place in range(candidate.form.levels)),
        corrected=candidate.correction is not None,
        sse=float(residuals @ residuals),
        relative_sse=float(relative @ relative),
        mean_relative_error=float(relative.mean()),
        max_relative_error=float(relative.max()),
        held_out_mean=held_out_mean,
        held_out_max=held_out_most,
        criterion=candidate.criterion,
        physical=candidate.physical,
        faults=candidate.faults,
    )


def _level(candidate: Candidate, place: int) -> FittedLevel:
    constants, errors, held, error = candidate.constants, candidate.errors, None, None
    if place < candidate.form.levels - 1:
        held, error = (WORD_BYTES * float(one.capacities_words[place]) for one in (constants, errors))
    return FittedLevel(
        held,
        None if error is None else _finite(error),
        float(constants.latency_s[place]),
        _finite(errors.latency_s[place]),
        float(constants.gap_s[place]),
        _finite(errors.gap_s[place]),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _compared(chosen: Candidate, machine: Machine) -> tuple[ComparedCapacity, ...]:
    """Capacities that the system reports, and the fitted one nearest to each."""
    reported = [(f"L{c.level}", c.size_bytes) for c in machine.caches if c.kind != "instruction"]
    reported.append(("memory", machine.memory_bytes))
    fitted = WORD_BYTES * chosen.constants.capacities_words
    found = []
    for name, size in reported:
        nearest = float(fitted[ties.first_least(np.abs(np.log(fitted / size)))]) if fitted.size else None
        ratio = None if nearest is None else nearest / size
        agrees = ratio is not None and 1 / LIKE <= ratio <= LIKE
        found.append(ComparedCapacity(name, float(size), nearest, ratio, agrees))
    return tuple(found)


def named_levels(file: MemoryFile) -> tuple[MemoryLevel, ...]:
    """Fitted levels by the names of the caches that the system reports at about their capacity, the last one as RAM.

    A level that no cache is near to is `level1` and so on, counted from the nearest. Shared is what the system reports
    as shared by several processors, and RAM.
    """
    levels, machine = file.model.levels, file.provenance.get("machine") or {}
    shared_by = {f"L{c['level']}": c["shared_by"] for c in machine.get("caches", ()) if c["kind"] != "instruction"}
    names: dict[int, tuple[float, str]] = {}
    for compared in file.comparison:
        near = [k for k, level in enumerate(levels[:-1]) if level.capacity_bytes == compared.nearest_fitted_bytes]
        if near and compared.ratio and compared.agrees and compared.name != "memory":
            names[near[0]] = min(names.get(near[0], (np.inf, "")), (abs(np.log(compared.ratio)), compared.name))
    found = []
    for k, level in enumerate(levels[:-1]):
        name = names[k][1] if k in names else f"level{k + 1}"
        found.append(replace(level, name=name, shared=level.shared or shared_by.get(name, 1) > 1))
    return (*found, replace(levels[-1], name="RAM", shared=True))


def swept_by_kernel(speed_model: str | Path) -> Sweeps:
    """What words take that a measured kernel swept: all its time, a word written as long as one read.

    Where its data are near its computing is in it too: there words of others take no longer.

    Raises ScenarioError if the file cannot be used, fewer than two sizes were measured, or the kernel is none that is
    known.
    """
    found = load_speed_model(speed_model)
    use = KERNEL_USES.get(str(found.kernel))
    if use is None:
        known, kernel = ", ".join(KERNEL_USES), found.kernel
        said = f"nothing is known of the accesses of kernel {kernel!r}; name the model of one of {known}"
        raise ScenarioError(f"{speed_model}: {said}")
    points = sorted((point.size_elements, point.speed.mid) for point in found.points if point.speed.mid > 0)
    if len(points) < 2:
        raise ScenarioError(f"{speed_model}: {len(points)} measured sizes are too few; measure at least 2")
    sizes, speeds = np.array(points).T
    words = np.maximum(1.0, use.footprint_share * sizes)
    first = np.concatenate(([True], np.diff(words) > 0))
    word_s = 1 / (speeds * (use.read_per_unit + use.written_per_unit))
    return Sweeps(words[first], word_s[first], word_s[first])
