"""What the paper's model says of itself: what was left out, composed or assumed."""

import numpy as np

from simulator.models.process_count.paper.assembly import BY_P, Built
from simulator.models.process_count.paper.curves import LEAST_SIZES
from simulator.models.process_count.paper.runs_of_one_kind import Configurations
from simulator.models.process_count.runs import AllocationRuns


def notes(runs: AllocationRuns, one: Configurations, built: Built) -> tuple[str, ...]:
    """One line each."""
    lines = []
    few = one.sizes < LEAST_SIZES
    for kind, name in enumerate(runs.kinds):
        mine = few & (one.kind == kind)
        if mine.any():
            at = int(np.flatnonzero(mine)[0])
            first = f"the first: {one.pes[at]} PEs, m = {one.m[at]}, {one.sizes[at]} sizes"
            left_out = f"{mine.sum()} configurations with fewer than {LEAST_SIZES} problem sizes left out"
            lines.append(f"{name}: {left_out}, {first}")
        several = np.isfinite(built.roles[0, 0, kind, ..., BY_P, 0]).any(axis=1)
        if not several.any():
            lines.append(f"{name}: no P-T model and none to compose from: only one PE alone can be estimated")
    for made in built.compositions:
        factors = ", ".join(f"{factor:.3g}" for factor in made.factors[0])
        how = "fitted" if made.fitted else "given"
        target, source = runs.kinds[made.target], runs.kinds[made.source]
        lines.append(f"{target}: P-T models are those of {source} times {factors} ({how})")
    if built.borrowed.any():
        lines.append("a memory regime without enough runs takes the models of the nearest that has them")
    return tuple(lines)
