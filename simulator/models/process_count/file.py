"""Process-count models of the runs of a table, and how well they fit; a file keeps the runs, which are fitted again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats, Ints
from simulator.base.documents import Data, at, in_file, read
from simulator.base.shipped import locate
from simulator.models.file import ModelFile, write_model
from simulator.models.process_count.model import ProcessCountModel, fit_process_counts
from simulator.models.process_count.runs import AllocationRuns, processes_of, read_allocation_runs

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

    @property
    def most(self) -> Ints:
        """Most PEs of each kind, and most processes on one of them; (kind, 2)."""
        return np.asarray(self.allocations.max(axis=0))

    @property
    def most_processes(self) -> int:
        """Largest P."""
        return int(processes_of(self.allocations).max())


@dataclass(frozen=True)
class AllocationFit:
    """A fitted model with what is known about the fit."""

    model: ProcessCountModel
    runs: AllocationRuns
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def measured(self) -> MeasuredAllocations:
        """Sizes and configurations of the runs."""
        runs = self.runs
        flat = np.unique(runs.allocations.reshape(runs.size.size, -1), axis=0)
        each = flat.reshape(-1, len(runs.kinds), 2)
        return MeasuredAllocations(runs.kinds, np.unique(runs.size), each, runs.size.size)

    @cached_property
    def quality(self) -> "dict[str, FitQuality]":
        """Per kind, over the runs that it took part in, and in all (`all`): see `fit_quality`."""
        return fit_quality(self.model, self.runs)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of the file, and what the runs cannot tell."""
        return (*self.notes, *self.model.warnings)

    def to_dict(self) -> Data:
        """Plain data for JSON: the runs that make the model; quality and warnings are there to be read by people."""
        return AllocationFile(
            kinds=self.runs.kinds,
            runs=self.runs.to_dict(),
            quality=self.quality,
            notes=self.notes,
            warnings=self.warnings,
            provenance=self.provenance,
        ).to_dict()


def fit_allocation_table(path: str | Path) -> AllocationFit:
    """Fit a process-count model to the runs of a CSV file; see `read_allocation_runs` for its columns.

    Raises ScenarioError if the table cannot be read, or its runs do not determine a model; one line per fault.
    """
    path = locate(path)
    from simulator.base.provenance import provenance

    runs, notes = read_allocation_runs(path)
    with in_file(path):
        model = fit_process_counts(runs)
    inputs = {str(path): files.digest(files.read_bytes(path, limit_bytes=2**30))}
    return AllocationFit(model, runs, notes, provenance(inputs=inputs))


@dataclass(frozen=True)
class FitQuality:
    """How well a model says again what it was fitted to."""

    runs: int
    mean_error: float
    """Of |estimate / time - 1|."""
    largest_error: float
    inside: float
    """Share of the runs within their 90 % interval."""


def fit_quality(model: ProcessCountModel, runs: AllocationRuns) -> dict[str, FitQuality]:
    """The quality per kind over the runs that it took part in, and over `all`."""
    mean_s, low_s, high_s = np.full((3, runs.size.size), np.nan)
    for size in np.unique(runs.size).tolist():
        mine = runs.size == size
        found = model.estimate(size, runs.allocations[mine], level=LEVEL, measured=False)
        mean_s[mine], low_s[mine], high_s[mine] = found.mean_s, found.low_s, found.high_s
    error = np.abs(mean_s / runs.time_s - 1)
    inside = (runs.time_s >= low_s) & (runs.time_s <= high_s)
    over = {kind: runs.allocations[:, place, 0] > 0 for place, kind in enumerate(runs.kinds)}
    over |= {"all": np.full(error.size, fill_value=True)}
    return {
        name: FitQuality(
            int(some.sum()), float(error[some].mean()), float(error[some].max()), float(inside[some].mean())
        )
        for name, some in over.items()
    }


save_allocation_fit = write_model


def load_allocation_fit(path: str | Path) -> AllocationFit:
    """Read a model that `save_allocation_fit` wrote.

    Raises ScenarioError if the file is missing, no JSON, or no process-count model.
    """
    found = AllocationFile.load(path)
    with in_file(path), at("runs"):
        runs = read(AllocationRuns, found.runs, kinds=found.kinds)
        return AllocationFit(fit_process_counts(runs), runs, found.notes, found.provenance)


@dataclass(frozen=True, kw_only=True)
class AllocationFile(ModelFile):
    """What the file of a process-count model says."""

    FORMAT, KIND, WRITER = 2, "process_count", "apportion fit"
    kinds: tuple[str, ...]
    runs: Mapping[str, object]
    quality: Mapping[str, FitQuality]
    notes: tuple[str, ...] = ()
