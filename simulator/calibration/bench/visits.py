"""Visits: cells measured in passes of random order, every visit on disk at once, and gone on with after an end."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from simulator.base.documents import read_keys, to_dict
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine
from simulator.base.randomness import stream
from simulator.calibration.bench.journal import Entry, Journal, belongs_to

FORMAT = 3


@dataclass(frozen=True)
class Visit:
    """One measurement of one cell; those of a subject add what was measured."""

    number: int
    """Of its pass."""
    cell: int
    cost_s: float
    """Wall seconds of the visit in all."""

    @property
    def times_s(self) -> tuple[float, ...]:
        """What was measured."""
        return ()

    def __post_init__(self) -> None:
        if min(self.number, self.cell, self.cost_s, *self.times_s) < 0:
            raise ScenarioError("whole numbers and times of 0 or more belong here")


V = TypeVar("V", bound=Visit)


class Visits(Generic[V]):
    """All visits of a campaign, kept in a journal.

    `path`: read if it is there, appended to after each visit; None: kept in memory only. See `Journal`.
    `kind`, `plan_kind`: the types of a visit, and of the plan where one is kept.
    `name`: what is measured, such as `apexmap`.
    `subject`, `machine`: visits of another subject or machine are refused.
    """

    def __init__(
        self,
        path: Path | None,
        kind: type[V],
        *,
        name: str,
        subject: Mapping[str, object],
        machine: Machine | None,
        plan_kind: type[Any] = dict,
    ) -> None:
        self.made: list[V] = []
        self.plan: Any = None
        self._path, self._kinds, self._name = path, {"visit": kind, "plan": plan_kind}, name
        belongs, of = belongs_to(subject, machine), f"{name} visits"
        self.journal = Journal(path, kind=of, version=FORMAT, what="visits", take=self._take, belongs=belongs)
        self.reused = len(self.made)

    @property
    def spent_s(self) -> float:
        """Wall seconds of all visits."""
        return sum(visit.cost_s for visit in self.made)

    def keep(self, visit: V) -> None:
        """Remember a visit."""
        self.made.append(visit)
        self.journal.keep({"visit": asdict(visit)})

    def keep_plan(self, plan: object) -> None:
        """Remember the plan, which later calls follow."""
        self.plan = plan
        self.journal.keep({"plan": to_dict(plan)})

    def done(self, cells: int) -> NDArray[np.int64]:
        """How often each of so many cells was visited."""
        found = np.bincount([visit.cell for visit in self.made], minlength=cells)
        if found.size > cells:
            raise ScenarioError(f"{self._path}: it has a visit to a cell that the plan has not; name a new file")
        return found

    def passes(self, cells: int, *, most: int, seed: int) -> Iterator[tuple[int, list[int]]]:
        """Pass after pass; within one the cells in an order of its own, without those that it has visited already."""
        for number in range(int(self.done(cells).min()), most):
            order, done = stream(seed, self._name, "order", number).permutation(cells), self.done(cells)
            yield number, [index for index in order.tolist() if done[index] <= number]

    def _take(self, entry: Entry) -> None:
        what = "plan" if "plan" in entry else "visit"
        found = read_keys(entry, **{what: self._kinds[what]})[what]
        if what == "plan":
            self.plan = found
        else:
            self.made.append(found)
