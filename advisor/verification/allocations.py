"""Runs of allocations, and what a fitted model predicted of them; see `history.comparisons`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator import ScenarioError, files, intervals
from simulator.calibration import Comparison, load_allocation_fit, median_errors

Allocation = tuple[tuple[int, int], ...]
Run = tuple[float, Allocation, float]
"""Problem size, PEs and processes on each of them by kind, seconds."""


class AllocationPredictions:
    """A fitted model whose predictions runs are to test; read before any is made.

    Raises ScenarioError if the file holds none, or one of other kinds of PEs.
    """

    def __init__(self, path: Path, kinds: Sequence[str]) -> None:
        self._model, self._name = load_allocation_fit(path).model, path.name
        self._version = files.digest(files.read_bytes(path))
        if self._model.kinds != tuple(kinds):
            known, asked = ", ".join(self._model.kinds), ", ".join(kinds)
            raise ScenarioError(f"{path}: this model has the kinds {known}, and the plan has {asked}; name another one")

    def compare(self, runs: Sequence[Run], *, level: float = intervals.LEVEL) -> tuple[Comparison, ...]:
        """One comparison for each allocation and size that was run, where the model has a prediction."""
        times: dict[tuple[float, Allocation], list[float]] = {}
        for size, allocation, time_s in runs:
            times.setdefault((size, allocation), []).append(time_s)
        measured = [np.array(own) for own in times.values()]
        found = []
        for (key, own), error in zip(zip(times, measured, strict=True), median_errors(measured), strict=True):
            one = self._one(*key, own, error=error, level=level)
            found += [] if one is None else [one]
        return tuple(found)

    def _one(
        self, size: float, allocation: Allocation, times_s: NDArray[np.float64], *, error: float, level: float
    ) -> Comparison | None:
        rows = np.array([allocation], dtype=np.int64)
        try:
            said, truths = self._model.estimate(size, rows, level=level), self._model.members(size, rows)
        except ScenarioError:  # more processes than the model knows
            return None
        mean, low, high = (float(column[0]) for column in (said.mean_s, said.low_s, said.high_s))
        if not (np.isfinite(mean) and mean > 0):
            return None
        ends = np.clip(np.quantile(truths[:, 0], ((1 - level) / 2, (1 + level) / 2)), low, high)  # truths are drawn
        wide, known = bool(0 < ends[0] < ends[1] < np.inf), bool(0 <= low < high < np.inf)
        parts = zip(self._model.kinds, allocation, strict=True)
        label = " + ".join(f"{name} {pes} x {each}" for name, (pes, each) in parts)
        return Comparison(
            kind="allocation",
            subject=self._name,
            model=self._name,
            version=self._version,
            case=f"N {size:g}: {label}",
            level=level,
            predicted_s=mean,
            low_s=float(ends[0]) if wide else None,
            high_s=float(ends[1]) if wide else None,
            runs=int(times_s.size),
            measured_median_s=float(np.median(times_s)),
            median_sd=error,
            run_low_s=low if known else None,
            run_high_s=high if known else None,
            runs_inside=int(np.sum((times_s >= low) & (times_s <= high))) if known else None,
            pes=sum(pes for pes, _ in allocation),
            size=float(size),
        )
