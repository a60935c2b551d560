"""From runs to the pooled model: which program shapes are worth a fit, and how much each structure counts."""

import numpy as np

from simulator.base import ties
from simulator.models.choice import odds
from simulator.models.process_count.pooled.cells import Cells, cells_of
from simulator.models.process_count.pooled.doubts import check_runs, doubts_of_runs
from simulator.models.process_count.pooled.fitting import fit_shape
from simulator.models.process_count.pooled.model import PooledModel
from simulator.models.process_count.pooled.structure import Structure
from simulator.models.process_count.pooled.terms import SHAPES, Shape
from simulator.models.process_count.runs import AllocationRuns

SLOPE_SD = 0.05
"""Relative error of a long run that is allowed for when the steepest growth is looked for."""
LEAST_APART = 0.3
"""Distance of two log sizes from which growth between them counts."""
NEGLIGIBLE = 0.05
"""Weight below which a structure is left out."""
TEMPER = 0.3
"""Power of the evidence that weighs structures: none of them is quite true."""


def fit_pooled(runs: AllocationRuns) -> PooledModel:
    """Fit the default model.

    Parameters
    ----------
    runs
        At least two sizes and two process counts; every kind in at least one run.

    Raises
    ------
    ScenarioError
        If there are too few runs, with how many more are needed.
    """
    check_runs(runs)
    cells = cells_of(runs)
    shapes = plausible_shapes(cells)
    kept = [posterior for shape in shapes for posterior in fit_shape(shape, cells)]
    chances = odds([posterior.evidence for posterior in kept], power=TEMPER)
    kept = [posterior for posterior, chance in zip(kept, chances, strict=True) if chance > NEGLIGIBLE]
    chances = chances[chances > NEGLIGIBLE]
    first = kept[ties.first_most(chances)]
    factors = first.noise[: len(cells.size)] / cells.doubtfulness
    scatter = float(np.sqrt(first.variance * (1.0 + first.likeness * np.mean(first.amplitude**2))))
    return PooledModel(
        cells=cells,
        structures=tuple(Structure(posterior, cells) for posterior in kept),
        weights=chances / chances.sum(),
        warnings=doubts_of_runs(cells, factors, scatter),
    )


def plausible_shapes(cells: Cells) -> list[Shape]:
    """Shapes that grow at least as fast as the steepest growth that was surely seen."""
    last = np.append(cells.first()[1:], len(cells.size)) - 1
    end = last[cells.configuration]
    apart = np.log(cells.size[end] / cells.size)
    # Not from neighbouring sizes, where noise makes any slope.
    there = apart > LEAST_APART
    doubt = 2.0 * SLOPE_SD * np.sqrt(cells.doubtfulness + cells.doubtfulness[end])
    slope = (np.log(cells.time_s[end] / cells.time_s) - doubt)[there] / apart[there]
    steepest = float(slope.max(initial=0.0))
    top = max(float(cells.size.max()), 3.0)
    found = [shape for shape in SHAPES if not ties.is_less(shape.order + shape.logarithm / np.log(top), steepest)]
    return found or [SHAPES[-1]]
