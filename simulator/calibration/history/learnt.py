"""How far a machine drifts between measuring and use: learnt from the calibrations of it that were kept.

Of calibrations of one subject at least ten minutes apart, each is compared with the latest one before it: the mean
square, over the sizes that both cover, of the logarithm of the ratio of their values, without what the errors of their
medians explain, is one observation of the variance of drift. It needs no division by 2: what is in doubt is the change
between two instants too, that of measuring and that of use. Observations are cut off at four times the larger of their
median and the default, and the default of 5 % counts as four of them:
`variance = (4 * 0.05^2 + sum of observations) / (4 + their number)`.
"""

import datetime
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base import files
from simulator.base.documents import read_format
from simulator.base.errors import MALFORMED, ApportionError, ScenarioError
from simulator.base.machine import Machine, this_machine
from simulator.calibration.bench.journal import plain
from simulator.models.doubt import DRIFT

# What commands learnt of this machine, kept for those that follow: calibrations and verifications, a line for each.
#
# One file of JSON lines in the user's state folder (`files.user_state`), which only grows. Each line says its kind,
# when and on which machine it was made; lines of other machines are ignored. Nothing is looked up here while
# simulating: what is learnt is written into models when these are made.


FORMAT = 1
NAME = "learnt.jsonl"
IDENTITY = ("host", "cpu_model")
"""What two descriptions of one machine agree on, whatever is updated or added."""
_KIND = "calibration"
PRIOR = 4
"""Observations that the default counts as."""
APART_S = 600.0
"""Calibrations that follow each other sooner show no drift."""
MOST = 4.0
"""Observations count as no larger than so many times their median, or the default."""
_COMPARED = 16
Floats = NDArray[np.float64]


class KeptWarning(UserWarning):
    """Lines of the file that could not be read, or an entry that could not be kept."""


def identity(machine: Machine) -> dict[str, Any]:
    """What tells a machine from others."""
    return {name: getattr(machine, name) for name in IDENTITY}


def keep(kind: str, entry: Mapping[str, Any], *, machine: Machine | None = None) -> None:
    """Append an entry; where the folder or the disk allows none, a warning says so and nothing else happens.

    `entry` is plain data without NaN or infinity.
    """
    folder = files.user_state()
    if folder is None:
        warnings.warn("state: no private folder to keep it in; set APPORTION_STATE to one", KeptWarning, stacklevel=2)
        return
    line = {
        "format": FORMAT,
        "kind": kind,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": identity(machine or this_machine()),
        "entry": dict(entry),
    }
    path = folder / NAME
    try:
        torn = path.exists() and not files.read_bytes(path).endswith(b"\n")
        with files.open_append(path) as stream:
            stream.write(f"{chr(10) if torn and path.stat().st_size else ''}{json.dumps(line, allow_nan=False)}\n")
    except (ApportionError, OSError) as error:
        warnings.warn(f"{path}: nothing is kept here: {error}", KeptWarning, stacklevel=2)


def kept(kind: str, *, machine: Machine | None = None) -> tuple[dict[str, Any], ...]:
    """The entries of a kind of this machine, oldest first, each with `made`; nothing where none was kept.

    Torn and foreign lines are left out with a warning.
    """
    folder = files.user_state()
    path = None if folder is None else folder / NAME
    if path is None or not path.exists():
        return ()
    try:
        lines = [line for line in files.read_bytes(path).split(b"\n") if line]
    except ApportionError as error:
        warnings.warn(f"{error}; what was learnt before is not used", KeptWarning, stacklevel=2)
        return ()
    read, faults = list[_Line](), list[str]()
    for number, line in enumerate(lines, 1):
        try:
            read.append(_read(line, f"{path}:{number}"))
        except ScenarioError as error:
            faults.append(error.lines[0])
    if faults:
        many = "1 line is" if len(faults) == 1 else f"{len(faults)} lines are"
        warnings.warn(f"{path}: {many} torn or foreign and left out: {faults[0]}", KeptWarning, stacklevel=2)
    here = identity(machine or this_machine())
    return tuple(line.entry | {"made": line.made} for line in read if (line.kind, line.machine) == (kind, here))


@dataclass(frozen=True)
class _Line:
    kind: str
    made: str
    machine: dict[str, Any]
    entry: dict[str, Any]


def _read(line: bytes, place: str) -> _Line:
    said = files.parse_json(line.decode(errors="replace"), place)
    return read_format(_Line, said, place, newest=FORMAT, writer="apportion calibrate")


def state_file() -> Path | None:
    """Where entries are kept; None where there is no private folder."""
    folder = files.user_state()
    return None if folder is None else folder / NAME


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

    `subject` is plain data with the kind of model, and only equal ones are compared; `values` are median speeds or
    times at ascending `sizes` above 0, `error` the standard deviation of the logarithm of one of them.
    """
    when = made or datetime.datetime.now(datetime.UTC)
    columns = {name: np.asarray(column, np.float64).tolist() for name, column in (("sizes", sizes), ("values", values))}
    entry = {"subject": plain(dict(subject)), **columns, "error": float(error), "measured": when.isoformat()}
    keep(_KIND, entry, machine=machine)


def learnt_drift(subject: Mapping[str, Any], *, machine: Machine | None = None) -> Drift:
    """The drift of a subject on this machine; the default where no two calibrations can be compared."""
    wanted = plain(dict(subject))
    read = (_curve(entry) for entry in kept(_KIND, machine=machine) if entry.get("subject") == wanted)
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
    """The variance that each calibration shows compared with the latest one that is well before it."""
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
