"""Memory models from and to files: measured times per word in a CSV, models in JSON, targets in a CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files, ties
from simulator.base.arrays import Floats
from simulator.base.documents import in_file
from simulator.base.machine import Machine
from simulator.base.shipped import locate
from simulator.base.tables import Table, as_table, read_table
from simulator.models.choice import mean_and_most
from simulator.models.file import ModelFile, cell_faults, read_model, refuse, rows_of, write_model
from simulator.models.memory.forms import MemoryTimes
from simulator.models.memory.levels import WORD_BYTES, MemoryLevel
from simulator.models.memory.model import AXES, MemoryModel, Sweeps
from simulator.models.memory.selection import Candidate, Selection, held_out_errors, relative_errors, select_model

FORMAT = 2
TIME = "time_per_word_s"
LIKE = 2.0
"""Factor within which a fitted capacity and one that the system reports are called the same."""


@dataclass(frozen=True)
class MemoryFit:
    """A chosen memory model with all forms that it was chosen from."""

    selection: Selection
    comparison: tuple[dict[str, Any], ...]
    """Each capacity that the operating system reports, and the fitted one nearest to it; empty if none is known."""
    provenance: dict[str, Any]
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        selection = self.selection
        return {
            "format": FORMAT,
            "kind": "memory",
            "chosen": selection.chosen.name,
            "levels": selection.chosen.form.levels,
            "models": [_entry(candidate, selection) for candidate in selection.candidates],
            "not_fitted": [
                {"name": lacking.form.name, "points_needed": lacking.form.points_needed, "reason": lacking.reason}
                for lacking in selection.not_fitted
            ],
            "model": self.model.to_dict(),
            "comparison": list(self.comparison),
            "warnings": list(self.warnings),
            "provenance": self.provenance,
        }


def read_memory_times(path: str | Path) -> MemoryTimes:
    """Read a table `M_words,alpha,L,time_per_word_s`; repeated rows are repetitions.

    Raises ScenarioError if the table cannot be read, lacks a column, or a row has L above M, alpha outside (0, 1], or
    no time above 0; one line per cell.
    """
    path = Path(path)
    table = read_table(path)
    where, faults = _where(table, (*AXES, TIME))
    time_s = table.numbers(TIME)
    refuse([*faults, *cell_faults(table, TIME, time_s, time_s <= 0, "give a number above 0")])
    return MemoryTimes(*where, time_s)


def fit_memory_table(path: str | Path, *, machine: Machine | None = None, sweeps: Sweeps | None = None) -> MemoryFit:
    """Fit all forms to the times in a CSV file and choose; see `read_memory_times` and `fit_memory`."""
    path = locate(path)
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=2**30))}
    times = read_memory_times(path)
    with in_file(path):
        return fit_memory(times, machine=machine, inputs=inputs, sweeps=sweeps)


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

    Raises ScenarioError if not even the simplest form can be fitted.

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


@dataclass(frozen=True, kw_only=True)
class MemoryFile(ModelFile):
    """What the file of a memory model says."""

    model: MemoryModel
    chosen: str = ""
    levels: int | None = None
    models: tuple[dict[str, Any], ...] = ()
    not_fitted: tuple[dict[str, Any], ...] = ()
    comparison: tuple[dict[str, Any], ...] = ()


save_memory_model = write_model


def load_memory_model(path: str | Path) -> tuple[MemoryModel, dict[str, Any]]:
    """Read a memory model: the model, and the whole document; see `read_model`."""
    found, document = read_model(path, "memory", MemoryFile, writer="apportion calibrate memory", newest=FORMAT)
    return found.model, document


def predict_memory(path: str | Path, at: Table | str | Path, *, level: float = 0.95) -> list[dict[str, Any]]:
    """Seconds per word at the targets of a table or a CSV file (`M_words,alpha,L`), in its order.

    Raises ScenarioError if model or table cannot be used, or a target is no (M, alpha, L).
    """
    model, _ = load_memory_model(path)
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


def _entry(candidate: Candidate, selection: Selection) -> dict[str, Any]:
    """One fitted form as plain data; null stands for a constant that the points do not determine."""
    points = selection.points
    residuals = candidate.fitted_s - points.time_s
    relative = relative_errors(candidate.fitted_s, points)
    held_out_mean, held_out_most = mean_and_most(held_out_errors(candidate, points))
    return {
        "name": candidate.name,
        "levels": candidate.form.levels,
        "parameters": _parameters(candidate),
        "parameter_count": candidate.form.parameters,
        "points_needed": candidate.form.points_needed,
        "corrected": candidate.correction is not None,
        "sse": float(residuals @ residuals),
        "relative_sse": float(relative @ relative),
        "mean_relative_error": float(relative.mean()),
        "max_relative_error": float(relative.max()),
        "held_out_mean": held_out_mean,
        "held_out_max": held_out_most,
        "criterion": candidate.criterion,
        "physical": candidate.physical,
        "faults": list(candidate.faults),
    }


def _parameters(candidate: Candidate) -> list[dict[str, Any]]:
    constants, errors = candidate.constants, candidate.errors
    found = []
    for k in range(candidate.form.levels):
        last = k == candidate.form.levels - 1
        capacity = None if last else float(constants.capacities_words[k])
        error = None if last else _finite(errors.capacities_words[k])
        found.append(
            {
                "capacity_words": capacity,
                "capacity_words_error": error,
                "capacity_bytes": None if capacity is None else WORD_BYTES * capacity,
                "capacity_bytes_error": None if error is None else WORD_BYTES * error,
                "latency_s": float(constants.latency_s[k]),
                "latency_s_error": _finite(errors.latency_s[k]),
                "gap_s": float(constants.gap_s[k]),
                "gap_s_error": _finite(errors.gap_s[k]),
            }
        )
    return found


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _compared(chosen: Candidate, machine: Machine) -> tuple[dict[str, Any], ...]:
    """Capacities that the system reports, and the fitted one nearest to each."""
    reported = [(f"L{c.level}", c.size_bytes) for c in machine.caches if c.kind != "instruction"]
    reported.append(("memory", machine.memory_bytes))
    fitted = WORD_BYTES * chosen.constants.capacities_words
    found = []
    for name, size in reported:
        nearest = float(fitted[ties.first_least(np.abs(np.log(fitted / size)))]) if fitted.size else None
        ratio = None if nearest is None else nearest / size
        found.append(
            {
                "name": name,
                "reported_bytes": float(size),
                "nearest_fitted_bytes": nearest,
                "ratio": ratio,
                "agrees": ratio is not None and 1 / LIKE <= ratio <= LIKE,
            }
        )
    return tuple(found)


def named_levels(levels: Sequence[MemoryLevel], document: Mapping[str, Any]) -> tuple[MemoryLevel, ...]:
    """Fitted levels by the names of the caches that the system reports at about their capacity, the last one as RAM.

    A level that no cache is near to is `level1` and so on, counted from the nearest. Shared is what the system reports
    as shared by several processors, and RAM.
    """
    machine = document.get("provenance", {}).get("machine") or {}
    shared_by = {f"L{c['level']}": c["shared_by"] for c in machine.get("caches", ()) if c["kind"] != "instruction"}
    names: dict[int, tuple[float, str]] = {}
    for entry in document.get("comparison", ()):
        near = [k for k, level in enumerate(levels[:-1]) if level.capacity_bytes == entry["nearest_fitted_bytes"]]
        if near and entry["agrees"] and entry["name"] != "memory":
            names[near[0]] = min(names.get(near[0], (np.inf, "")), (abs(np.log(entry["ratio"])), entry["name"]))
    found = []
    for k, level in enumerate(levels[:-1]):
        name = names[k][1] if k in names else f"level{k + 1}"
        found.append(replace(level, name=name, shared=level.shared or shared_by.get(name, 1) > 1))
    return (*found, replace(levels[-1], name="RAM", shared=True))
