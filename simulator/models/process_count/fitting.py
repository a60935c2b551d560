"""Process-count models: fitted to runs by the name of a method, and kept as JSON with what was measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from simulator.base import files
from simulator.base.arrays import Vector
from simulator.base.documents import Array, FormError, at, in_file
from simulator.base.errors import ScenarioError
from simulator.base.shipped import locate
from simulator.models.file import ModelFile, read_model, write_model
from simulator.models.process_count import paper
from simulator.models.process_count.pooled.model import fit_pooled, pooled_from_dict
from simulator.models.process_count.runs import (
    AllocationRuns,
    Floats,
    Ints,
    ProcessCountModel,
    processes_of,
    read_allocation_runs,
)

METHODS: dict[str, tuple[Any, Any]] = {
    "pooled": (fit_pooled, pooled_from_dict),
    "paper": (paper.fit_paper, paper.from_dict),
}
"""Name -> what fits a model to runs, and what reads one back from plain data."""


def fit_process_counts(runs: AllocationRuns, *, method: str = "pooled", **options: Any) -> ProcessCountModel:
    """Fit a model of a program that gives every process the same work.

    Parameters
    ----------
    runs
        Of one kind or several at a time.
    method
        `pooled` shares each physical constant over all runs, so that small cheap runs extrapolate; `paper` fits every
        configuration on its own, as Kishimoto and Ichikawa do.
    options
        What the method takes besides the runs; see `paper.fit_paper`.

    Raises
    ------
    ScenarioError
        If there is no such method, or the runs are too few for it.
    """
    return _method(method)[0](runs, **options)  # type: ignore[no-any-return]


def process_count_model_from_dict(document: Any) -> ProcessCountModel:
    """Read back what `ProcessCountModel.to_dict` gave.

    Raises
    ------
    ScenarioError
        If it is no process-count model.
    """
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if kind != "process_count":
        raise ScenarioError(f"kind is {kind!r}, not 'process_count'; give a document that `to_dict` made")
    return _method(document.get("method"))[1](document)  # type: ignore[no-any-return]


def _method(name: Any) -> tuple[Any, Any]:
    if name not in METHODS:
        raise ScenarioError(f"method {name!r} is not known; give {' or '.join(METHODS)}")
    return METHODS[name]


FORMAT = 1
KIND = "process_count"
LEVEL = 0.9
"""Of the intervals that the fit is judged by."""
WRITER = "apportion allocate fit"


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
        return int(processes_of(self.allocations).max())

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
    with in_file(path):
        model = fit_process_counts(runs, method=method)
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


save_allocation_fit = write_model


def load_allocation_fit(path: str | Path) -> AllocationFit:
    """Read a model that `save_allocation_fit` wrote.

    Raises
    ------
    ScenarioError
        If the file is missing, no JSON, or no process-count model.
    """
    found, _ = read_model(path, KIND, AllocationFile, writer=WRITER, newest=FORMAT)
    with in_file(path), at("model"):
        model = process_count_model_from_dict(found.model)
    with in_file(path), at("measured"):
        measured = found.measured.known(model.kinds)
    return AllocationFit(model, measured, found.quality, found.notes, found.provenance)


@dataclass(frozen=True)
class _Measured:
    sizes: Vector
    configurations: Annotated[Ints, Array("int64", 3)]
    runs: int

    def known(self, kinds: tuple[str, ...]) -> MeasuredAllocations:
        """What was measured of these kinds."""
        if not self.sizes.size or not np.all(np.isfinite(self.sizes) & (self.sizes > 0)):
            raise FormError([(("sizes",), "this is no list of sizes above 0")])
        if self.configurations.shape[1:] != (len(kinds), 2) or self.configurations.min() < 0:
            wanted = f"[PEs, processes] for each of the {len(kinds)} kinds"
            raise FormError([(("configurations",), f"this is no list of {wanted}")])
        return MeasuredAllocations(kinds, np.sort(self.sizes), self.configurations, self.runs)


@dataclass(frozen=True, kw_only=True)
class AllocationFile(ModelFile):
    """What the file of a process-count model says; the model as its method writes it."""

    method: str
    kinds: tuple[str, ...]
    measured: _Measured
    quality: dict[str, dict[str, Any]]
    model: dict[str, Any]
    notes: tuple[str, ...] = ()
