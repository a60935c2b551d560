"""How far a machine drifts between measuring and use: learnt from the calibrations of it that were kept.

Of calibrations of one subject at least ten minutes apart, each is compared with the latest one before it: the mean
square, over the sizes that both cover, of the logarithm of the ratio of their values, without what the errors of their
medians explain, is one observation of the variance of drift. It needs no division by 2: what is in doubt is the change
between two instants too, that of measuring and that of use. Observations are cut off at four times the larger of their
median and the default, and the default of 5 % counts as four of them:
`variance = (4 * 0.05^2 + sum of observations) / (4 + their number)`.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.errors import MALFORMED
from simulator.base.machine import Machine
from simulator.calibration.bench.journal import plain
from simulator.calibration.history.kept import keep, kept
from simulator.models.doubt import DRIFT

KIND = "calibration"
PRIOR = 4
"""Observations that the default counts as."""
APART_S = 600.0
"""Calibrations that follow each other sooner show no drift."""
MOST = 4.0
"""Observations count as no larger than so many times their median, or the default."""
_COMPARED = 16
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Drift:
    """What a machine changes by until a model is used."""

    sd: float = DRIFT
    """Standard deviation of the logarithm."""
    pairs: int = 0
    """Observations that it was learnt from; 0: it is the default."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"sd": self.sd, "pairs": self.pairs, "default": DRIFT}


@dataclass(frozen=True)
class _Curve:
    made: datetime.datetime
    x: Floats
    logs: Floats
    error: float


def keep_calibration(
    subject: Mapping[str, Any],
    sizes: ArrayLike,
    values: ArrayLike,
    *,
    error: float = 0.0,
    machine: Machine | None = None,
    made: datetime.datetime | None = None,
) -> None:
    """Keep what a calibration of this machine found.

    Parameters
    ----------
    subject
        What was measured, as plain data with the kind of model; only equal ones are compared.
    sizes, values
        Median speeds or times at ascending sizes above 0.
    error
        Standard deviation of the logarithm of one of them.
    made
        When it was measured; now by default.
    """
    when = made or datetime.datetime.now(datetime.UTC)
    columns = {name: np.asarray(column, np.float64).tolist() for name, column in (("sizes", sizes), ("values", values))}
    entry = {"subject": plain(dict(subject)), **columns, "error": float(error), "measured": when.isoformat()}
    keep(KIND, entry, machine=machine)


def learnt_drift(subject: Mapping[str, Any], *, machine: Machine | None = None) -> Drift:
    """The drift of a subject on this machine; the default where no two calibrations can be compared."""
    wanted = plain(dict(subject))
    read = (_curve(entry) for entry in kept(KIND, machine=machine) if entry.get("subject") == wanted)
    return of_observations(_observed([curve for curve in read if curve is not None]))


def of_observations(squares: Sequence[float]) -> Drift:
    """The drift that observed variances and the default come to."""
    if not squares:
        return Drift()
    seen = np.asarray(squares, np.float64)
    seen = np.minimum(seen, (MOST * max(float(np.sqrt(np.median(seen))), DRIFT)) ** 2)
    variance = (PRIOR * DRIFT**2 + float(seen.sum())) / (PRIOR + seen.size)
    return Drift(float(np.sqrt(variance)), int(seen.size))


def _curve(entry: Mapping[str, Any]) -> _Curve | None:
    """One calibration; None if it is damaged."""
    try:
        sizes, values = (np.asarray(entry[name], np.float64) for name in ("sizes", "values"))
        made, error = datetime.datetime.fromisoformat(entry["measured"]), float(entry["error"])
        sound = sizes.ndim == 1 and sizes.shape == values.shape and sizes.size and made.tzinfo is not None
        sound = sound and bool(np.all(sizes > 0) and np.all(values > 0) and np.all(np.diff(sizes) > 0))
        sound = sound and bool(np.all(np.isfinite(sizes)) and np.all(np.isfinite(values))) and 0 <= error < np.inf
    except MALFORMED:
        return None
    return _Curve(made, np.log(sizes), np.log(values), error) if sound else None


def _observed(curves: Sequence[_Curve]) -> list[float]:
    """The variance that each calibration shows beside the latest one that is well before it."""
    ordered, found = sorted(curves, key=lambda curve: curve.made), []
    sittings: list[_Curve] = []
    for curve in ordered:  # of those that follow each other soon, the first one
        if not sittings or (curve.made - sittings[-1].made).total_seconds() >= APART_S:
            sittings.append(curve)
    for before, after in pairwise(sittings):
        low, high = max(before.x[0], after.x[0]), min(before.x[-1], after.x[-1])
        if low <= high:
            x = np.linspace(low, high, _COMPARED)
            ratio = np.interp(x, after.x, after.logs) - np.interp(x, before.x, before.logs)
            explained = before.error**2 + after.error**2
            found.append(max(0.0, float(np.mean(ratio**2)) - explained))
    return found
