"""How far a machine drifts between measuring and use: learnt from the calibrations of it that were kept.

Of calibrations of one subject at least ten minutes apart, each is compared with the latest one before it: the mean
square, over the sizes that both cover, of the logarithm of the ratio of their values, without what the errors of their
medians explain, is one observation of the variance of drift. It needs no division by 2: what is in doubt is the change
between two instants too, that of measuring and that of use. Observations are cut off at four times the larger of their
median and the default, and the default of 5 % counts as four of them:
`variance = (4 * 0.05^2 + sum of observations) / (4 + their number)`. What is learnt is kept as JSON lines in the user's
state folder and written into models when these are made: no simulation looks it up.
"""

import datetime
import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import files
from simulator.base.documents import read, read_format
from simulator.base.errors import ApportionError, ScenarioError
from simulator.base.machine import Machine, this_machine
from simulator.calibration.bench.journal import plain
from simulator.models.doubt import DRIFT

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


class KeptWarning(UserWarning):
    """Lines of the file that could not be read, or an entry that could not be kept."""


def identity(machine: Machine) -> Mapping[str, object]:
    """What tells a machine from others."""
    return {name: getattr(machine, name) for name in IDENTITY}


def keep(kind: str, entry: Mapping[str, object], *, machine: Machine | None = None) -> None:
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


@dataclass(frozen=True)
class KeptLine:
    """An entry, and when it was made on which machine."""

    kind: str
    made: str
    machine: Mapping[str, object]
    entry: Mapping[str, object]


def kept(kind: str, *, machine: Machine | None = None) -> tuple[KeptLine, ...]:
    """The lines of a kind of this machine, oldest first; nothing where none was kept.

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
    found, faults = list[KeptLine](), list[str]()
    for number, line in enumerate(lines, 1):
        place = f"{path}:{number}"
        try:
            said = files.parse_json(line.decode(errors="replace"), place)
            found.append(read_format(KeptLine, said, place, newest=FORMAT, writer="apportion calibrate"))
        except ScenarioError as error:
            faults.append(error.lines[0])
    if faults:
        many = "1 line is" if len(faults) == 1 else f"{len(faults)} lines are"
        warnings.warn(f"{path}: {many} torn or foreign and left out: {faults[0]}", KeptWarning, stacklevel=2)
    here = identity(machine or this_machine())
    return tuple(line for line in found if (line.kind, line.machine) == (kind, here))


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
    default: float = DRIFT


@dataclass(frozen=True)
class _Calibration:
    """What a calibration found, as it is kept."""

    subject: Mapping[str, object]
    sizes: tuple[float, ...]
    values: tuple[float, ...]
    error: float
    measured: str

    def __post_init__(self) -> None:
        sizes, values = np.array(self.sizes), np.array(self.values)
        sound = 0 < sizes.size == values.size and self.made.tzinfo is not None and 0 <= self.error < np.inf
        if not (sound and np.all(np.diff(sizes) > 0) and all(np.all((c > 0) & (c < np.inf)) for c in (sizes, values))):
            raise ScenarioError("no sizes and values of a calibration")

    @property
    def made(self) -> datetime.datetime:
        """When it was measured."""
        return datetime.datetime.fromisoformat(self.measured)


def keep_calibration(
    subject: Mapping[str, object],
    sizes: ArrayLike,
    values: ArrayLike,
    *,
    error: float = 0.0,
    made: datetime.datetime | None = None,
) -> None:
    """Keep what a calibration of this machine found.

    `subject` is plain data with the kind of model, and only equal ones are compared; `values` are median speeds or
    times at ascending `sizes` above 0, `error` the standard deviation of the logarithm of one of them.
    """
    when = made or datetime.datetime.now(datetime.UTC)
    columns = {name: np.asarray(column, np.float64).tolist() for name, column in (("sizes", sizes), ("values", values))}
    entry = {"subject": plain(dict(subject)), **columns, "error": float(error), "measured": when.isoformat()}
    keep(_KIND, entry)


def learnt_drift(subject: Mapping[str, object]) -> Drift:
    """The drift of a subject on this machine; the default where no two calibrations can be compared."""
    wanted, found = plain(dict(subject)), list[_Calibration]()
    for line in kept(_KIND):
        if line.entry.get("subject") == wanted:
            with suppress(ScenarioError):  # one that is damaged
                found.append(read(_Calibration, line.entry))
    return of_observations(_observed(found))


def of_observations(squares: Sequence[float]) -> Drift:
    """The drift that observed variances and the default come to."""
    if not squares:
        return Drift()
    seen = np.asarray(squares, np.float64)
    seen = np.minimum(seen, (MOST * max(float(np.sqrt(np.median(seen))), DRIFT)) ** 2)
    variance = (PRIOR * DRIFT**2 + float(seen.sum())) / (PRIOR + seen.size)
    return Drift(float(np.sqrt(variance)), int(seen.size))


def _observed(calibrations: Sequence[_Calibration]) -> list[float]:
    """The variance that each calibration shows compared with the latest one that is well before it."""
    found, sittings = list[float](), list[_Calibration]()
    for one in sorted(calibrations, key=lambda one: one.made):  # of those that follow each other soon, the first one
        if not sittings or (one.made - sittings[-1].made).total_seconds() >= APART_S:
            sittings.append(one)
    for before, after in pairwise(sittings):
        low, high = np.log((max(before.sizes[0], after.sizes[0]), min(before.sizes[-1], after.sizes[-1])))
        if low <= high:
            x = np.linspace(low, high, _COMPARED)
            late, early = (np.interp(x, np.log(one.sizes), np.log(one.values)) for one in (after, before))
            ratio = late - early
            explained = before.error**2 + after.error**2
            found.append(max(0.0, float(np.mean(ratio**2)) - explained))
    return found
