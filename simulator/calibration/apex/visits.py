"""Visits on disk: one line in a file as soon as a cell was measured once more, with the machine it was measured on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from simulator.base.machine import Machine
from simulator.calibration.bench.journal import Journal, read_entries
from simulator.calibration.bench.point_store import plain, refuse_others

FORMAT, KIND = 1, "apexmap visits"
WHAT = "measurements of a memory sweep"


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

    Raises
    ------
    ScenarioError
        If the file holds anything but visits of the same sweep on this machine.
    """

    def __init__(self, path: Path | None, *, subject: Mapping[str, Any], machine: Machine) -> None:
        self.made: list[Visit] = []
        self.spent_s = 0.0
        """Wall seconds of all visits."""
        self._journal: Journal | None = None
        if path is not None:
            here = {"subject": plain(dict(subject)), "machine": plain(machine.to_dict())}

            def check(found: dict[str, Any]) -> None:
                theirs = found.get("subject"), dict(found.get("machine") or {})
                refuse_others(path, "measurements", found=theirs, here=(here["subject"], here["machine"]))

            head = {"format": FORMAT, "kind": KIND, **here}
            self._journal = Journal(path, head=head, what=WHAT, check=check, take=self._take)
        self.reused = len(self.made)
        """How many visits the file held already."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line if a part of the file was damaged."""
        return (self._journal.damage,) if self._journal is not None and self._journal.damage else ()

    def keep(self, visit: Visit) -> None:
        """Remember a visit."""
        self._hold(visit)
        if self._journal is not None:
            self._journal.keep(asdict(visit))

    def sync(self) -> None:
        """Wait until the disk has every visit: at the end of a pass."""
        if self._journal is not None:
            self._journal.sync()

    def _take(self, entry: dict[str, Any]) -> None:
        visit = Visit(**entry | {"word_s": tuple(map(float, entry["word_s"]))})
        numbers = visit.number, visit.cell, visit.switches
        if any(number != int(number) for number in numbers) or min(*numbers, *visit.word_s, visit.cost_s) < 0:
            raise ValueError("whole numbers and times of 0 or more belong here")
        self._hold(visit)

    def _hold(self, visit: Visit) -> None:
        self.made.append(visit)
        self.spent_s += visit.cost_s


def visits_kept(path: Path) -> int:
    """How many visits a file holds; 0 if there is none."""
    return sum("cell" in entry for entry in read_entries(path))
