"""What a budget allows each point of a what-if: equal replications, and equal runs of its search."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from advisor.advise.recommendation import recommend
from advisor.advise.strategies import usual_vary
from advisor.whatif.advised import ADVISED
from simulator import Scenario, ScenarioError, documents, files, run, units
from simulator.experiments.sweep import Plan, Ready, Where, compile_first, sweep

START_S = 2.0
"""What starting processes and writing the report take at the least."""
TRIALS = (0.04, 0.16)
"""Parts of the time for trials: all points with little each, by the clock and where they will be answered."""
SAFE = 0.9
"""Part of what is left after the trials that is shared out: the machine may become busier."""
FEW = 4
"""Replications that points are compared on at the least, where as many were asked for."""
AMPLE = 0.5
"""Part of a point's share up to which all that the base wants is allowed to all, without trials."""
LONGER = 1.5
"""Times its share that the base may take: a search takes something that no budget can shorten."""
LEAST = 0.3
"""What more of a point takes at the least, as a part of what it took so far: the rest may be what starting took."""
WHOLE = 2**31
"""Times that what nobody has to wait for is allowed."""


@dataclass(frozen=True)
class Allowed:
    """What each point may take, the base among them."""

    replications: int
    runs: int | None
    """Simulated runs of a search; None where nothing is searched."""

    @property
    def size(self) -> int:
        """What it is about proportional to that a point takes."""
        return self.replications if self.runs is None else self.runs

    def times(self, factor: float, most: "Allowed") -> "Allowed":
        """So many times as much, as far as it is wanted."""
        count = min(most.replications, max(1, int(factor * self.replications)))
        if self.runs is None or most.runs is None:
            return Allowed(count, self.runs)
        return Allowed(count, min(most.runs, max(1, int(factor * self.runs))))


def begun_in(folder: Path | None) -> Allowed | None:
    """What the points may take that a folder keeps; None if it keeps none."""
    manifest = None if folder is None else folder / "manifest.json"
    if manifest is None or not manifest.exists():
        return None
    document = files.read_json(manifest)
    sweep = document.get("sweep") if isinstance(document, dict) else None
    said = sweep if isinstance(sweep, dict) else {}
    with documents.in_file(manifest):
        return documents.read(Allowed, {name: said.get(name) for name in ("replications", "runs")})


def allowed(
    plan_of: Callable[[Allowed | None], Plan],
    budget_s: float,
    *,
    where: Where | None,
    workers: int,
    spent_s: float = 0.0,
) -> Allowed:
    """What each point may take so that all fit into a time: trials of all points with little each tell.

    Raises ScenarioError if the time is too little.

    `plan_of`: the points with so much each, or with as much as they want.
    `where`, `workers`: what will answer, and how many processes that is; None and 0 for this one.
    `spent_s`: what of the time is gone, in which this process was started.
    """
    begun_s = time.monotonic() - spent_s
    whole = plan_of(None)
    base = Ready.of_plan(whole).scenario(0)
    compile_first(whole, len(whole.points))
    start_s = max(START_S, spent_s) if workers else 0.0
    rounds = 1 + math.ceil(len(whole.points) / max(1, workers))
    before_s = time.monotonic() - begun_s + 3 * start_s
    share_s = SAFE * (1 - sum(TRIALS)) * (budget_s - before_s) / rounds
    look = _searched if whole.question == ADVISED else _simulated
    looked_s = time.monotonic()
    first = look(base, share_s) if share_s > 0 else Allowed(0, None)
    base_s = time.monotonic() - looked_s
    if first.replications < min(FEW, base.replications) or base_s > LONGER * share_s:
        least_s = max(1.0, 2 * share_s, base_s)
        needed = units.write_duration(math.ceil(before_s + rounds * least_s / SAFE / (1 - sum(TRIALS))))
        given = units.show_duration(budget_s)
        raise ScenarioError(
            f"budget: {given} is too little for {len(whole.points)} points; give more, such as {needed}"
        )
    if first.replications == base.replications and base_s <= AMPLE * share_s:
        return first
    most = Allowed(base.replications, first.runs and WHOLE)
    tried = [first.times(part, most) for part in TRIALS]
    took_s = [_timed(partial(sweep, plan_of(one), where)) for one in tried]
    left_s = SAFE * (budget_s - (time.monotonic() - begun_s) - start_s)
    found = first.times(_fitting([one.size / first.size for one in tried], took_s, left_s), most)
    return Allowed(max(min(FEW, base.replications), found.replications), found.runs)


def _timed(work: Callable[[], object]) -> float:
    begun_s = time.monotonic()
    work()
    return time.monotonic() - begun_s


def _fitting(sizes: Sequence[float], took_s: Sequence[float], left_s: float) -> float:
    """The size that takes as long as is left: by a line through two trials, by the larger one where that is flat."""
    by_itself = took_s[1] / sizes[1]
    each_s = max(LEAST * by_itself, (took_s[1] - took_s[0]) / max(1e-9, sizes[1] - sizes[0]))
    return sizes[1] + (left_s - took_s[1]) / each_s


def _simulated(base: Scenario, share_s: float) -> Allowed:
    """Replications, by what a few take."""
    count = min(FEW, base.replications)
    took_s = max(1e-9, _timed(partial(run, base, replications=count)))
    return Allowed(min(base.replications, int(count * share_s / took_s)), None)


def _searched(base: Scenario, share_s: float) -> Allowed:
    """Replications and runs that a recommendation took."""
    try:
        made = recommend(base, vary=usual_vary(base), budget_s=share_s, confirm=0)
    except ScenarioError:  # not even one candidate
        return Allowed(0, 0)
    count = made.runs.makespan_ticks.shape[1]
    return Allowed(count, max(1, made.evaluations - len(made.candidates) * count))
