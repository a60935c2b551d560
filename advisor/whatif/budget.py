"""What a budget allows each point of a what-if: equal replications, and equal runs of its search."""

import math
import time
from dataclasses import dataclass
from pathlib import Path

from advisor.advise.recommendation import recommend
from advisor.advise.strategies import usual_vary
from advisor.whatif.advised import ADVISED
from simulator import Scenario, ScenarioError, documents, files, run, units
from simulator.experiments.sweep import Plan, Ready, cores_here

START_S = 2.0
"""What starting a process takes at the least."""
SAFE = 0.8
"""Part of the rest that is shared out: other points may take longer than the base."""
FEW = 4
"""Replications that points are compared on at the least, where as many were asked for."""
ENOUGH = 0.2
"""Part of a point's share from which on the time that it took tells what a replication takes."""


@dataclass(frozen=True)
class Allowed:
    """What each point may take, the base among them."""

    replications: int
    runs: int | None
    """Simulated runs of a search; None where nothing is searched."""


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


def allowed(plan: Plan, budget_s: float, *, workers: int, spent_s: float = 0.0) -> Allowed:
    """What each point may take so that all fit into a time: the base is answered for its share of it.

    Raises ScenarioError if the time is too little.

    `workers`: processes that will answer; 0 for this one.
    `spent_s`: what of the time is gone, in which this process was started.
    """
    begun_s = time.monotonic()
    base = Ready.of_plan(plan).scenario(0)
    run(base, replications=1)  # compiles what is not compiled yet
    rounds = 1 + math.ceil(len(plan.points) / max(1, workers))
    before_s = spent_s + time.monotonic() - begun_s
    before_s += 2 * max(START_S, spent_s) if workers else 0.0  # their start, and the report
    share_s, cores = SAFE * (budget_s - before_s) / rounds, max(1, cores_here() // max(1, workers))
    if share_s > 0:
        look = _searched if plan.question == ADVISED else _simulated
        found = look(base, share_s, cores)
        if found.replications >= min(FEW, base.replications):
            return found
    needed = units.write_duration(math.ceil(before_s + rounds * max(1.0, 2 * share_s) / SAFE))
    given = units.show_duration(budget_s)
    raise ScenarioError(f"budget: {given} is too little for {len(plan.points)} points; give more, such as {needed}")


def _simulated(base: Scenario, share_s: float, cores: int) -> Allowed:
    """Replications, by what a few take, then more of them, since the first are slow."""
    count = min(FEW, base.replications)
    while True:
        begun_s = time.monotonic()
        run(base, replications=count, threads=cores)
        took_s = time.monotonic() - begun_s
        if count == base.replications or took_s > ENOUGH * share_s:
            return Allowed(min(base.replications, int(count * share_s / max(took_s, 1e-9))), None)
        count = min(base.replications, 4 * count)


def _searched(base: Scenario, share_s: float, cores: int) -> Allowed:
    """Replications and runs that a recommendation took; fewer if it used more processors than points will."""
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()
    try:
        made = recommend(base, vary=usual_vary(base), budget_s=share_s, confirm=0)
    except ScenarioError:  # not even one candidate
        return Allowed(0, 0)
    took_s, cpu_s = time.monotonic() - begun_s, time.process_time() - begun_cpu_s
    count = made.runs.makespan_ticks.shape[1]
    runs = made.evaluations - len(made.candidates) * count
    if took_s > share_s / 2:  # it was cut, and each of its two stages may take as many
        part = min(1.0, cores * took_s / max(cpu_s, 1e-9))
        count, runs = int(part * count), int(part * runs / 2)
    return Allowed(count, max(1, runs))
