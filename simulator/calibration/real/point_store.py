"""Points on disk: there once it is finished, with the machine it was measured on, and never measured again."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from simulator import files
from simulator.errors import MALFORMED, ScenarioError
from simulator.machine import Machine

FORMAT = 1
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
        JSON file; read if it is there, written whole after each point.
    read
        The inverse of a point's `to_dict`.
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
        self._path = path
        self._head: dict[str, Any] = {"format": FORMAT, "kind": "points", "subject": plain(dict(subject))}
        self._head["machine"] = None if machine is None else plain(machine.to_dict())
        self._ends: dict[str, Any] | None = None
        self.points: dict[float, P] = {}
        """Finished points, by key."""
        self.open: dict[float, P] = {}
        """Points of which more samples are to come, by key."""
        self._texts: dict[float, str] = {}
        if path is not None and path.exists():
            self._read(path, read)
        self.before = frozenset(self.points)
        """Keys of the points that the file held when it was opened and that have not been measured since."""

    def ends(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """The ends found before under the same settings."""
        if self._ends is None or self._ends["settings"] != plain(dict(settings)):
            return None
        found: dict[str, Any] = self._ends["found"]
        return found

    def keep_ends(self, settings: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Remember the ends of the sizes."""
        self._ends = {"settings": plain(dict(settings)), "found": dict(found)}
        self._write()

    def keep(self, point: P) -> None:
        """Remember a point, finished or as far as it is."""
        self._hold(point)
        self.before -= {point.key}
        self._write()

    def forget(self, key: float) -> None:
        """Forget a finished point, so that it is measured anew."""
        del self.points[key], self._texts[key]
        self.before -= {key}

    def _hold(self, point: P) -> None:
        self.open.pop(point.key, None)
        (self.points if point.finished else self.open)[point.key] = point
        self._texts[point.key] = json.dumps(point.to_dict(), allow_nan=False)

    def _write(self) -> None:
        if self._path is not None:
            points, still_open = (
                "[\n" + ",\n".join(self._texts[key] for key in sorted(kept)) + "\n]"
                for kept in (self.points, self.open)
            )
            head = json.dumps(self._head | {"ends": self._ends}, allow_nan=False)
            files.write_text(self._path, f'{head[:-1]}, "points": {points}, "open": {still_open}}}\n')

    def _read(self, path: Path, read: Callable[[dict[str, Any]], P]) -> None:
        document = files.read_json(path)
        if not isinstance(document, dict) or (document.get("kind"), document.get("format")) != ("points", FORMAT):
            raise ScenarioError(f"{path}: no measured points found, points of format {FORMAT} or a new file allowed")
        try:
            machine, subject = dict(document["machine"] or {}), document["subject"]
            self._ends = document["ends"]
            if subject == self._head["subject"]:
                for entry in (*document["points"], *document.get("open", ())):
                    self._hold(read(entry))
        except MALFORMED as error:
            raise ScenarioError(f"{path}: a damaged file found ({error}), the file as written allowed") from error
        refuse_others(path, "points", found=(subject, machine), here=(self._head["subject"], self._head["machine"]))
        if self._head["machine"] is not None:
            self._head["machine"] = machine  # as it was when the first point was measured


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
    if not path.exists():
        return 0
    document = files.read_json(path)
    return len(document["points"]) if isinstance(document, dict) and document.get("kind") == "points" else 0


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
