"""Points on disk: there once it is finished, with the machine it was measured on, and never measured again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator import files
from simulator.calibration.real.sampling import RealPoint
from simulator.errors import ScenarioError
from simulator.machine import Machine

FORMAT = 1
_IDENTITY = ("host", "system", "cpu_model", "cores", "caches", "memory_bytes", "quota_cores", "governor")
"""What must be the same for points to stand side by side."""


class PointStore:
    """The points of one subject on one PE; without a path they are kept in memory only.

    Parameters
    ----------
    path
        JSON file; read if it is there, written whole after each point.
    subject
        What is measured and on which processor, as plain data: other points are refused.
    machine
        Where: points of an unlike machine are refused.

    Raises
    ------
    ScenarioError
        If the file holds something else.
    """

    def __init__(self, path: Path | None, *, subject: Mapping[str, Any], machine: Machine) -> None:
        self._path = path
        self._head: dict[str, Any] = {"format": FORMAT, "kind": "points", "subject": dict(subject)}
        self._head["machine"] = _plain(machine.to_dict())
        self._ends: dict[str, Any] | None = None
        self.points: dict[int, RealPoint] = {}
        """Finished points, by n."""
        self.open: dict[int, RealPoint] = {}
        """Points of which more samples are to come, by n."""
        if path is not None and path.exists():
            self._read(path)

    def ends(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """The ends found before under the same settings."""
        if self._ends is None or self._ends["settings"] != _plain(dict(settings)):
            return None
        found: dict[str, Any] = self._ends["found"]
        return found

    def keep_ends(self, settings: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Remember the ends of the sizes."""
        self._ends = {"settings": _plain(dict(settings)), "found": dict(found)}
        self._write()

    def keep(self, point: RealPoint) -> None:
        """Remember a point, finished or as far as it is."""
        self.open.pop(point.n, None)
        (self.points if point.ended_by else self.open)[point.n] = point
        self._write()

    def _write(self) -> None:
        if self._path is not None:
            points, still_open = ([kept[n].to_dict() for n in sorted(kept)] for kept in (self.points, self.open))
            files.write_json(self._path, self._head | {"ends": self._ends, "points": points, "open": still_open})

    def _read(self, path: Path) -> None:
        document = files.read_json(path)
        if not isinstance(document, dict) or (document.get("kind"), document.get("format")) != ("points", FORMAT):
            raise ScenarioError(f"{path}: no measured points found, points of format {FORMAT} or a new file allowed")
        try:
            machine, subject = dict(document["machine"]), document["subject"]
            self._ends = document["ends"]
            self.points, self.open = (
                {int(entry["n"]): RealPoint.from_dict(entry) for entry in document.get(name, ())}
                for name in ("points", "open")
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ScenarioError(f"{path}: a damaged file found ({error}), the file as written allowed") from error
        if subject != self._head["subject"]:
            raise ScenarioError(
                f"{path}: points of {_shown(subject)} found, of {_shown(self._head['subject'])} or a new file allowed"
            )
        unlike = [name for name in _IDENTITY if machine.get(name) != self._head["machine"].get(name)]
        if unlike:
            found = ", ".join(f"{name} {_short(machine.get(name))}" for name in unlike)
            here = ", ".join(f"{name} {_short(self._head['machine'].get(name))}" for name in unlike)
            raise ScenarioError(
                f"{path}: points of another machine ({found}) found, of this one ({here}) or a new file allowed"
            )
        self._head["machine"] = machine  # as it was when the first point was measured


def _plain(document: dict[str, Any]) -> dict[str, Any]:
    """As it is after a way through a file: lists for tuples."""
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain


def _shown(subject: Any) -> str:
    if not isinstance(subject, dict):
        return repr(subject)
    return ", ".join(
        f"{name} {' '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in subject.items()
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
