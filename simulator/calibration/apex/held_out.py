"""Cells measured but kept from the fit, and how well every fitted model foretells them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.apex.sweep import Sweep
from simulator.calibration.memory_files import MemoryFit, fit_memory
from simulator.errors import ScenarioError
from simulator.machine import Machine
from simulator.models.memory.forms import MemoryTimes
from simulator.models.memory.selection import Candidate, relative_errors
from simulator.randomness import stream

HELD_OUT_SHARE = 0.2
"""Share of the cells kept from the fit."""


@dataclass(frozen=True)
class Judged:
    """One model on the cells that it did not see."""

    name: str
    mean: float
    """Mean relative error."""
    max: float
    physical: bool
    residuals: NDArray[np.float64]
    """`(T_model - T) / T`; (held out,)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "held_out_mean": self.mean,
            "held_out_max": self.max,
            "physical": self.physical,
            "residuals": self.residuals.tolist(),
        }


@dataclass(frozen=True)
class MeasuredMemory:
    """A sweep, the models fitted to a part of it, and their errors on the rest."""

    sweep: Sweep
    fit: MemoryFit
    held_out: NDArray[np.bool_]
    """Which cells the fit did not see; (cells,)."""
    judged: tuple[Judged, ...]

    @property
    def chosen(self) -> Judged:
        """The model chosen, on cells that it did not see."""
        return next(one for one in self.judged if one.name == self.fit.selection.chosen.name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the model is trusted."""
        better = [one for one in self.judged if one.physical and one.mean < self.chosen.mean]
        found = [
            f"{one.name}: mean error {one.mean:.1%} on the cells held out, {self.chosen.mean:.1%} of the one chosen"
            for one in better
        ]
        return (*self.sweep.warnings, *found, *self.fit.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: a memory model's file, with what was measured."""
        cells = [
            cell.to_dict() | {"held_out": bool(out)}
            for cell, out in zip(self.sweep.cells, self.held_out.tolist(), strict=True)
        ]
        sweep = self.sweep.plan.to_dict() | {
            "spent_s": self.sweep.spent_s,
            "visits": self.sweep.visits,
            "visits_reused": self.sweep.reused,
            "involuntary_switches": self.sweep.switches,
        }
        return self.fit.to_dict() | {
            "sweep": sweep,
            "cells": cells,
            "held_out": {
                "share": HELD_OUT_SHARE,
                "cells": int(self.held_out.sum()),
                "models": [one.to_dict() for one in self.judged],
            },
            "warnings": list(self.warnings),
        }


def fit_sweep(sweep: Sweep, machine: Machine) -> MeasuredMemory:
    """Fit all models to a random four fifths of the cells, and judge the rest.

    Raises
    ------
    ScenarioError
        If the cells are too few for the simplest model.
    """
    columns = sweep.columns
    points = MemoryTimes(columns["M_words"], columns["alpha"], columns["L"], columns["time_per_word_s"])
    held_out = choose_held_out(sweep)
    fit = fit_memory(points.take(~held_out), machine=machine, measured_here=True)
    rest = points.take(held_out)
    judged = tuple(_judged(candidate, rest) for candidate in fit.selection.candidates)
    return MeasuredMemory(sweep, fit, held_out, judged)


def choose_held_out(sweep: Sweep) -> NDArray[np.bool_]:
    """Which cells are held out, the same for the same sweep; (cells,).

    Raises
    ------
    ScenarioError
        If that leaves none.
    """
    count = len(sweep.cells)
    found = np.zeros(count, dtype=np.bool_)
    share = round(HELD_OUT_SHARE * count)
    if not share:
        raise ScenarioError(f"sweep: {count} cells found, 5 or more allowed: one in five is held out")
    order = stream(sweep.plan.seed, "apexmap", "held out").permutation(count)
    found[order[:share]] = True
    return found


def _judged(candidate: Candidate, rest: MemoryTimes) -> Judged:
    times_s = candidate.constants.times_s(rest)
    if candidate.correction is not None:
        times_s = times_s * np.exp(candidate.correction.at(rest)[0])
    errors = relative_errors(times_s, rest)
    residuals = (times_s - rest.time_s) / rest.time_s
    return Judged(candidate.name, float(errors.mean()), float(errors.max()), candidate.physical, residuals)
