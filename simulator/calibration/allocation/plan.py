"""Construction plans: the few runs that tell most about the sizes asked about, their cost, and their files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import MALFORMED, ApportionError, ScenarioError
from simulator.base.formula import parse
from simulator.calibration.allocation.costs import CostGuess
from simulator.calibration.allocation.kinds import PEKind

FORMAT = 1
KIND = "allocation plan"
PILOT = "pilot"
"""What the reasons of the first runs begin with."""
Allocation = tuple[tuple[int, int], ...]
"""PEs that take part and processes on each of them, by kind; both 0 for a kind that does not take part."""


@dataclass(frozen=True)
class PlannedRun:
    """One run, and how often it is made."""

    size: float
    allocation: Allocation
    repetitions: int
    expected_s: float
    """Of one repetition, its start included."""
    why: str
    reserve: bool = False
    """Beyond the budget as costs are guessed; made if they prove lower."""
    every: int = 0
    """Above 0: a control, made again whenever so many other runs are."""

    def __post_init__(self) -> None:
        if not (self.size > 0 and self.repetitions > 0 and self.expected_s > 0 and self.processes > 0):
            raise ScenarioError("a run without size, processes, repetitions or cost found, all above 0 allowed")
        if any((pes > 0) != (procs > 0) or min(pes, procs) < 0 for pes, procs in self.allocation):
            raise ScenarioError("PEs without processes found, both or neither allowed")

    @property
    def processes(self) -> int:
        """P."""
        return sum(pes * procs for pes, procs in self.allocation)

    @property
    def is_pilot(self) -> bool:
        """Whether it is the first look at a kind."""
        return self.why.startswith(PILOT)

    @property
    def key(self) -> tuple[float, Allocation]:
        """What repetitions share."""
        return self.size, self.allocation


@dataclass(frozen=True)
class ConstructionPlan:
    """Runs in order of their use: those that teach most for their price come first."""

    guess: CostGuess
    runs: tuple[PlannedRun, ...]
    sizes: tuple[float, ...]
    at: tuple[float, ...]
    """Sizes that advice is wanted for."""
    budget_s: float
    start_s: float
    """Seconds until the processes of a run have started."""
    full_s: float
    """What running every configuration once at the sizes `at` would take."""
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[PEKind, ...]:
        """The kinds of PEs."""
        return self.guess.kinds

    @property
    def expected_s(self) -> float:
        """Seconds of all runs within the budget."""
        return sum(run.repetitions * run.expected_s for run in self.runs if not run.reserve)

    def label(self, size: float, allocation: Allocation) -> str:
        """A run in words: `N 800, fast 1 x 2, slow 3 x 1`."""
        parts = [
            f"{kind.name} {pes} x {procs}" for kind, (pes, procs) in zip(self.kinds, allocation, strict=True) if pes
        ]
        return f"N {size:g}, {', '.join(parts)}"

    @property
    def kinds_option(self) -> str:
        """The kinds as `allocate advise --kinds` takes them."""
        return ",".join(f"{kind.name}:{len(kind.pes)}:{kind.most}" for kind in self.kinds)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = [kind.name for kind in self.kinds]
        return {
            "format": FORMAT,
            "kind": KIND,
            "kinds": [kind.to_dict() for kind in self.kinds],
            "sizes": list(self.sizes),
            "at": list(self.at),
            "budget_s": self.budget_s,
            "expected_s": self.expected_s,
            "start_s": self.start_s,
            "full_s": self.full_s,
            "share_of_full": self.expected_s / self.full_s,
            "work": self.guess.work.text,
            "latency_s": self.guess.latency_s,
            "byte_s": self.guess.byte_s,
            "seed": self.seed,
            "notes": list(self.notes),
            "runs": [
                {
                    "size": run.size,
                    "allocation": {
                        name: {"pes": pes, "procs": procs}
                        for name, (pes, procs) in zip(names, run.allocation, strict=True)
                    },
                    "processes": run.processes,
                    "repetitions": run.repetitions,
                    "expected_s": run.expected_s,
                    "why": run.why,
                    "reserve": run.reserve,
                    "every": run.every,
                }
                for run in self.runs
            ],
        }


def read_plan(path: str | Path) -> ConstructionPlan:
    """Read the file of a plan.

    Raises
    ------
    ScenarioError
        If it is none, or damaged; with the run where it is one.
    """
    path = Path(path)
    document = files.read_json(path)
    if not isinstance(document, dict) or (document.get("kind"), document.get("format")) != (KIND, FORMAT):
        raise ScenarioError(f"{path}: no allocation plan found, a file of `allocate plan -o` allowed")
    try:
        kinds = tuple(PEKind.from_dict(kind) for kind in document["kinds"])
        guess = CostGuess(kinds, parse(document["work"]), float(document["latency_s"]), float(document["byte_s"]))
        runs = tuple(_run(path, number, row, kinds) for number, row in enumerate(document["runs"], 1))
        plan = ConstructionPlan(
            guess,
            runs,
            tuple(map(float, document["sizes"])),
            tuple(map(float, document["at"])),
            float(document["budget_s"]),
            float(document["start_s"]),
            float(document["full_s"]),
            int(document["seed"]),
            tuple(map(str, document["notes"])),
        )
    except ApportionError:
        raise
    except MALFORMED as error:
        raise ScenarioError(f"{path}: a damaged plan found ({error}), the file as written allowed") from error
    if not (runs and kinds and plan.budget_s > 0 and plan.full_s > 0):
        raise ScenarioError(f"{path}: a plan without runs, kinds or budget found, at least one of each allowed")
    return plan


def _run(path: Path, number: int, row: Mapping[str, Any], kinds: Sequence[PEKind]) -> PlannedRun:
    """A run of a plan's file, within what its kinds allow."""
    said = row["allocation"]
    if unknown := sorted(set(said) - {kind.name for kind in kinds}):
        allowed = ", ".join(kind.name for kind in kinds)
        raise ScenarioError(f"{path}: run {number}: kind {unknown[0]!r} found, {allowed} allowed")
    cells = [said.get(kind.name, {"pes": 0, "procs": 0}) for kind in kinds]
    allocation = tuple((int(cell["pes"]), int(cell["procs"])) for cell in cells)
    for kind, (pes, procs) in zip(kinds, allocation, strict=True):
        if pes > len(kind.pes):
            raise ScenarioError(f"{path}: run {number}: {kind.name}: {pes} PEs found, at most {len(kind.pes)} allowed")
        if procs > np.iinfo(np.int32).max:
            raise ScenarioError(f"{path}: run {number}: {kind.name}: {procs} processes found, fewer allowed")
    try:
        return PlannedRun(
            float(row["size"]),
            allocation,
            int(row["repetitions"]),
            float(row["expected_s"]),
            str(row["why"]),
            bool(row["reserve"]),
            int(row.get("every", 0)),
        )
    except ScenarioError as error:
        raise ScenarioError(f"{path}: run {number}: {error}") from error
