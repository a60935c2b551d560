"""Reliability: whether what was stated with a chance of 70 % came true in 70 % of cases."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Reliability:
    """Stated chances in bins of equal width, with how often each came true."""

    bins: tuple[dict[str, float], ...]
    """Those with cases: `low`, `high` (edges), `cases`, `stated` (mean chance), `seen` (share that came true), and
    `error`, the standard error that `seen` has if the stated chances are right."""
    cases: int
    brier: float
    """Mean squared difference of stated chance and outcome (0 or 1)."""
    deviation: float
    """Mean over cases of |stated - seen| of their bin: the expected calibration error."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "bins": list(self.bins),
            "cases": self.cases,
            "brier": self.brier,
            "expected_calibration_error": self.deviation,
        }


def reliability(stated: ArrayLike, came_true: ArrayLike, *, bins: int = 10) -> Reliability:
    """The reliability table of stated chances.

    Parameters
    ----------
    stated
        Chances from 0 to 1; (n,).
    came_true
        What happened, True or False; (n,).
    bins
        Of equal width.
    """
    chances, outcomes = np.asarray(stated, dtype=np.float64), np.asarray(came_true, dtype=np.float64)
    places = np.minimum((chances * bins).astype(np.int64), bins - 1)
    rows = []
    for place in np.unique(places).tolist():
        mine = places == place
        cases, mean = int(mine.sum()), float(chances[mine].mean())
        error = float(np.sqrt(np.sum(chances[mine] * (1 - chances[mine])))) / cases
        seen = float(outcomes[mine].mean())
        edges = {"low": place / bins, "high": (place + 1) / bins}
        rows.append({**edges, "cases": cases, "stated": mean, "seen": seen, "error": error})
    deviation = sum(row["cases"] * abs(row["stated"] - row["seen"]) for row in rows) / chances.size
    return Reliability(tuple(rows), chances.size, float(np.mean((chances - outcomes) ** 2)), float(deviation))
