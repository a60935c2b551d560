"""Cells measured but kept from the fit, and how well every fitted model predicts them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine
from simulator.base.randomness import stream
from simulator.calibration.apex.sweep import Sweep
from simulator.models.memory.file import MemoryFit, fit_memory
from simulator.models.memory.forms import MemoryTimes
from simulator.models.memory.model import Sweeps
from simulator.models.memory.selection import Candidate, relative_errors

HELD_OUT_SHARE = 0.2
"""Share of the cells kept from the fit."""


@dataclass(frozen=True)
class Judged:
    """One model on the cells that it did not see."""

    name: str
    mean: float
    max: float
    physical: bool
    times_s: Floats
    """What it says of all cells, seen or not; (cells,)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"name": self.name, "mean": self.mean, "max": self.max, "physical": self.physical}


@dataclass(frozen=True)
class JudgedFit:
    """Models fitted to a part of the cells, and their errors on the rest."""

    points: MemoryTimes
    fit: MemoryFit
    held_out: NDArray[np.bool_]
    """Which cells the fit did not see; (cells,)."""
    judged: tuple[Judged, ...]

    @property
    def chosen(self) -> Judged:
        """The model chosen."""
        return next(one for one in self.judged if one.name == self.fit.selection.chosen.name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the model is trusted."""
        better = [one for one in self.judged if one.physical and one.mean < self.chosen.mean]
        found = [
            f"{one.name}: mean error {one.mean:.1%} on the cells held out, {self.chosen.mean:.1%} of the one chosen"
            for one in better
        ]
        return (*found, *self.fit.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: a memory model's file, and the errors on the cells held out."""
        held_out = {
            "share": HELD_OUT_SHARE,
            "cells": int(self.held_out.sum()),
            "models": [one.to_dict() for one in self.judged],
        }
        return self.fit.to_dict() | {"held_out": held_out, "warnings": list(self.warnings)}


@dataclass(frozen=True)
class MeasuredMemory:
    """A sweep and the models fitted to it."""

    sweep: Sweep
    judged: JudgedFit

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before times or models are trusted."""
        return (*self.sweep.warnings, *self.judged.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: a memory model's file, with what was measured."""
        out = self.judged.held_out.tolist()
        cells = [cell.to_dict() | {"held_out": held_out} for cell, held_out in zip(self.sweep.cells, out, strict=True)]
        sweep = self.sweep.to_dict()
        return self.judged.to_dict() | {"sweep": sweep, "cells": cells, "warnings": list(self.warnings)}


def fit_sweep(sweep: Sweep, machine: Machine, *, sweeps: Sweeps | None = None) -> MeasuredMemory:
    """Fit all models to a sweep measured on this machine, and keep what vector loops took; see `fit_held_out`."""
    columns = (sweep.columns[name] for name in ("M_words", "alpha", "L", "time_per_word_s"))
    times = MemoryTimes(*columns)
    judged = fit_held_out(times, seed=sweep.plan.seed, machine=machine, measured_here=True, sweeps=sweeps)
    return MeasuredMemory(sweep, judged)


def fit_held_out(
    points: MemoryTimes,
    *,
    seed: int,
    machine: Machine | None = None,
    measured_here: bool = False,
    sweeps: Sweeps | None = None,
) -> JudgedFit:
    """Fit all models to four fifths of the cells, drawn at random, and judge them by the rest.

    A point is a row for each cell; `machine`, `measured_here` and `sweeps` as in `fit_memory`.
    """
    count = len(points)
    share = round(HELD_OUT_SHARE * count)
    if not share:
        raise ScenarioError(f"cells: there are {count}; give 5 or more, since one in five is held out")
    held_out = np.zeros(count, dtype=np.bool_)
    held_out[stream(seed, "apexmap", "held out").permutation(count)[:share]] = True
    fit = fit_memory(points.take(~held_out), machine=machine, measured_here=measured_here, sweeps=sweeps)
    judged = tuple(_judged(candidate, points, held_out) for candidate in fit.selection.candidates)
    return JudgedFit(points, fit, held_out, judged)


def _judged(candidate: Candidate, points: MemoryTimes, held_out: NDArray[np.bool_]) -> Judged:
    times_s = candidate.constants.times_s(points)
    if candidate.correction is not None:
        times_s = times_s * np.exp(candidate.correction.at(points)[0])
    errors = relative_errors(times_s, points)[held_out]
    return Judged(candidate.name, float(errors.mean()), float(errors.max()), candidate.physical, times_s)
