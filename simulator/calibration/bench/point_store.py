"""Points on disk: there once it is finished, with the machine it was measured on, and never measured again."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from simulator.base import files
from simulator.base.errors import CalibrationError, Interrupted, ScenarioError
from simulator.base.machine import Machine
from simulator.calibration.bench.journal import Journal, read_entries

FORMAT, KIND = 2, "points"
_FORMAT_1 = b'{"format": 1, "kind": "points"'
_KEYS = ("n", "size_bytes", "size")
"""What a point of format 1 may be kept by."""
_IDENTITY = ("host", "system", "cpu_model", "cores", "caches", "memory_bytes", "quota_cores", "governor")
"""What must be the same for points to stand side by side."""


class Keepable(Protocol):
    """A finished point."""

    @property
    def key(self) -> float:
        """What no two points of a subject share: its n, or its size."""

    @property
    def finished(self) -> bool:
        """Whether no more samples are to come."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""


P = TypeVar("P", bound=Keepable)


class PointStore(Generic[P]):
    """The points of one subject on one PE; without a path they are kept in memory only.

    Parameters
    ----------
    path
        File of a line for each point; read if it is there, appended to after each point. See `Journal`.
    read
        The inverse of a point's `to_dict`; raises KeyError, TypeError or ValueError for what is none.
    subject
        What is measured and on which processor, as plain data: other points are refused.
    machine
        Where: points of an unlike machine are refused. None if they belong to no machine.

    Raises
    ------
    ScenarioError
        If the file holds something else.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        read: Callable[[dict[str, Any]], P],
        subject: Mapping[str, Any],
        machine: Machine | None,
    ) -> None:
        self._read = read
        self._head: dict[str, Any] = {"format": FORMAT, "kind": KIND, "subject": plain(dict(subject))}
        self._head["machine"] = None if machine is None else plain(machine.to_dict())
        self._ends: dict[str, Any] | None = None
        self.points: dict[float, P] = {}
        """Finished points, by key."""
        self.open: dict[float, P] = {}
        """Points of which more samples are to come, by key."""
        self._journal: Journal | None = None
        if path is not None:
            _renew(path)
            self._journal = Journal(
                path, head=self._head, what="points", check=lambda found: self._check(path, found), take=self._take
            )
        self.before = set(self.points)
        """Keys of the points that the file held when it was opened and that have not been measured since."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line if a part of the file was damaged."""
        return (self._journal.damage,) if self._journal is not None and self._journal.damage else ()

    def ends(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """The ends found before under the same settings."""
        if self._ends is None or self._ends["settings"] != plain(dict(settings)):
            return None
        found: dict[str, Any] = self._ends["found"]
        return found

    def keep_ends(self, settings: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Remember the ends of the sizes."""
        self._ends = {"settings": plain(dict(settings)), "found": dict(found)}
        self._write({"ends": self._ends})

    def keep(self, point: P) -> None:
        """Remember a point, finished or as far as it is."""
        self._hold(point)
        self.before.discard(point.key)
        self._write(_line(point.key, point.to_dict(), finished=point.finished))

    def forget(self, key: float) -> None:
        """Forget a finished point, so that it is measured anew; the file has it until then."""
        del self.points[key]
        self.before.discard(key)

    def sync(self) -> None:
        """Wait until the disk has every point: at the end of a pass."""
        if self._journal is not None:
            self._journal.sync()

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._journal is not None:
            self._journal.keep(line)

    def _hold(self, point: P) -> None:
        self.points.pop(point.key, None)
        self.open.pop(point.key, None)
        (self.points if point.finished else self.open)[point.key] = point

    def _take(self, line: dict[str, Any]) -> None:
        if "ends" in line:
            self._ends = {name: dict(line["ends"][name]) for name in ("settings", "found")}
        else:
            self._hold(self._read(line["point"]))

    def _check(self, path: Path, found: dict[str, Any]) -> None:
        subject, machine = found.get("subject"), dict(found.get("machine") or {})
        refuse_others(path, "points", found=(subject, machine), here=(self._head["subject"], self._head["machine"]))


def _line(key: float, point: Mapping[str, Any], *, finished: bool) -> dict[str, Any]:
    return {"key": key, "finished": finished, "point": point}


def _renew(path: Path) -> None:
    """Write a file of format 1, which was one JSON document, as a journal."""
    if not path.exists() or files.read_bytes(path)[: len(_FORMAT_1)] != _FORMAT_1:
        return
    document = files.read_json(path)
    try:
        head = {"format": FORMAT, "kind": KIND, "subject": document["subject"], "machine": document["machine"]}
        points = [
            _line(next(point[name] for name in _KEYS if name in point), point, finished=finished)
            for finished, some in ((True, document["points"]), (False, document.get("open", ())))
            for point in some
        ]
        ends = [{"ends": document["ends"]}] if document["ends"] else []
    except (KeyError, TypeError, StopIteration) as error:
        raise ScenarioError(f"{path}: this file of points is damaged ({error}); name another one") from error
    files.write_text(path, "".join(f"{json.dumps(line, allow_nan=False)}\n" for line in (head, *ends, *points)))


def refuse_others(
    path: Path,
    what: str,
    *,
    found: tuple[Any, Mapping[str, Any]],
    here: tuple[Mapping[str, Any], Mapping[str, Any] | None],
) -> None:
    """Refuse measurements of another subject or machine.

    Parameters
    ----------
    what
        What the file holds, for messages.
    found, here
        Subject and machine as plain data, in the file and now; None for a machine if they belong to none.

    Raises
    ------
    ScenarioError
        If one of them differs.
    """
    (subject, machine), (own, this) = found, here
    if subject != own:
        raise ScenarioError(f"{path}: {what} of {_shown(subject)} found, of {_shown(dict(own))} or a new file allowed")
    unlike = [] if this is None else [name for name in _IDENTITY if machine.get(name) != this.get(name)]
    if this is not None and unlike:
        was = ", ".join(f"{name} {_short(machine.get(name))}" for name in unlike)
        now = ", ".join(f"{name} {_short(this.get(name))}" for name in unlike)
        raise ScenarioError(
            f"{path}: {what} of another machine ({was}) found, of this one ({now}) or a new file allowed"
        )


def points_kept(path: Path) -> int:
    """How many finished points a store holds; 0 if there is none."""
    finished = {entry["key"]: entry.get("finished") for entry in read_entries(path) if "key" in entry}
    return sum(map(bool, finished.values()))


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """As it is after a way through a file: lists for tuples."""
    found: dict[str, Any] = json.loads(json.dumps(document))
    return found


def _shown(subject: Any) -> str:
    if not isinstance(subject, dict):
        return repr(subject)
    return ", ".join(
        f"{name} {' '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in subject.items()
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@contextmanager
def kept(path: Path | None) -> Iterator[None]:
    """Say, when the work ends early, where its finished points are."""
    try:
        with _alone(path):
            yield
    except CalibrationError as error:
        raise CalibrationError([f"{line}{_goes_on(path)}" for line in error.lines]) from error
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted{_goes_on(path)}") from error


def _alone(path: Path | None) -> AbstractContextManager[None]:
    """Finished points are written by one process at a time."""
    return nullcontext() if path is None else files.alone(path)


def _goes_on(path: Path | None) -> str:
    if path is None:
        return "; nothing is kept without --output or --store"
    count = points_kept(path)
    if not count:
        return "; no point was finished"
    return f"; {path} keeps the {count} points finished, the same command goes on from there"
