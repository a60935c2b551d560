"""Visits on disk: one line in a file as soon as a cell was measured once more, with the machine it was measured on."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from simulator import files
from simulator.calibration.real.point_store import plain, refuse_others
from simulator.errors import MALFORMED, ScenarioError
from simulator.machine import Machine

FORMAT, KIND = 1, "apexmap visits"


@dataclass(frozen=True)
class Visit:
    """One measurement of one cell."""

    number: int
    """Which pass it belongs to."""
    cell: int
    """Index of the cell in its plan."""
    word_s: tuple[float, ...]
    """Seconds per word, for each process."""
    switches: int
    """How often the system took a PE away meanwhile."""
    cost_s: float
    """Wall seconds of the visit in all, drawing and warming up included."""


class Visits:
    """All visits of a sweep; a context manager that closes its file. Without a path they are kept in memory only.

    A line is appended for each visit and handed to the system at once: thousands of short measurements would wait for
    a store that is written whole. A last line that is torn by a crash is dropped.

    Raises
    ------
    ScenarioError
        If the file holds anything but visits of the same sweep on this machine.
    """

    def __init__(self, path: Path | None, *, subject: Mapping[str, Any], machine: Machine) -> None:
        self._stack = ExitStack()
        self._stream: IO[str] | None = None
        self.made: list[Visit] = []
        self.spent_s = 0.0
        """Wall seconds of all visits."""
        if path is None:
            self.reused = 0
            return
        head = {"format": FORMAT, "kind": KIND, "subject": plain(dict(subject)), "machine": plain(machine.to_dict())}
        new = not path.exists() or not self._read(path, head)
        self.reused = len(self.made)
        """How many visits the file held already."""
        files.make_folder(path.parent)
        self._stream = self._stack.enter_context(files.open_append(path))
        if new:
            self._stream.write(f"{json.dumps(head, allow_nan=False)}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def keep(self, visit: Visit) -> None:
        """Remember a visit."""
        self._hold(visit)
        if self._stream is not None:
            self._stream.write(f"{json.dumps(asdict(visit), allow_nan=False)}\n")

    def _hold(self, visit: Visit) -> None:
        self.made.append(visit)
        self.spent_s += visit.cost_s

    def _read(self, path: Path, head: Mapping[str, Any]) -> bool:
        """Whether the file has a head; visits after it are taken in."""
        allowed = f"measurements of format {FORMAT} or a new file allowed"
        text = files.read_text(path)
        if "\n" not in text and not text.startswith("{"):
            raise ScenarioError(f"{path}: no measurements of a memory sweep found, {allowed}")
        files.end_with_line(path)
        lines = text.split("\n")[:-1]
        if not lines:
            return False
        try:
            found, *entries = (files.parse_json(line, f"{path}:{number}") for number, line in enumerate(lines, 1))
            if not isinstance(found, dict) or (found.get("kind"), found.get("format")) != (KIND, FORMAT):
                raise ScenarioError(f"{path}: no measurements of a memory sweep found, {allowed}")
            refuse_others(
                path,
                "measurements",
                found=(found["subject"], found["machine"]),
                here=(head["subject"], head["machine"]),
            )
            for entry in entries:
                self._hold(Visit(**entry | {"word_s": tuple(entry["word_s"])}))
        except MALFORMED as error:
            raise ScenarioError(f"{path}: a damaged file found ({error}), the file as written allowed") from error
        return True


def visits_kept(path: Path) -> int:
    """How many visits a file holds; 0 if there is none."""
    return max(0, files.read_text(path).count("\n") - 1) if path.exists() else 0
