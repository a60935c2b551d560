"""Making construction runs for real: shuffled, within the budget, each kept at once, the plan trimmed as costs show."""

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simulator.base import files, randomness
from simulator.base.arrays import Floats
from simulator.base.documents import read_keys
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.machine import affinity
from simulator.calibration.allocation.plan import (
    Allocation,
    ConstructionPlan,
    PEKind,
    PlannedRun,
    as_arrays,
)
from simulator.calibration.allocation.program import (
    KEEP_BYTES,
    AllocatedProgram,
    MeasuredTimes,
    check_processors,
    placed_ranks,
)
from simulator.calibration.bench.campaign import run_campaign
from simulator.calibration.bench.competitor import Competitor
from simulator.calibration.bench.group import Group
from simulator.calibration.bench.journal import Entry, Journal
from simulator.calibration.bench.launcher import Ended, failure
from simulator.calibration.bench.pin import ANYWHERE
from simulator.models.load import LoadTrace

LOG_SUFFIX = ".log.jsonl"
"""What replaces `.csv` in the name of the journal next to a table."""
FORMAT, KIND = 2, "allocation runs"

RunKey = tuple[float, Allocation]
"""Problem size and allocation."""
LIMIT_FACTOR, LEAST_LIMIT_S = 10.0, 20.0
"""A run may take this many times what is expected of it, and so many seconds in any case."""
PILOT_LIMIT_S = 300.0
"""What the first run of a kind may take whose speed nobody knows."""
MOST_FAILURES = 3
"""So many failed runs one after another end it all."""
_START_S = 60.0


@dataclass(frozen=True)
class MadeRun:
    """A run, and what came of it."""

    size: float
    allocation: Allocation
    wall_s: float
    times: MeasuredTimes | None = None
    """None: it failed."""
    failed: str = ""

    @property
    def key(self) -> RunKey:
        """What repetitions share."""
        return self.size, self.allocation


class RunTable:
    """Runs, on disk as they are made: each a line of a journal, and those that ended well a row of a table.

    `path`: the CSV file: `N,time_s`, per kind `KIND.pes` and `KIND.procs`, and with phases `KIND.comp_s` and
    `KIND.comm_s`. The journal lies next to it, and is read if it is there.
    `kinds`: names of the kinds, in order.
    `phases`: whether computation and communication are known.
    `about`: what the runs are of, plain data: runs of something else are refused.
    `machine`: where they are made, kept likewise.
    """

    def __init__(
        self,
        path: Path,
        kinds: Sequence[str],
        *,
        phases: bool,
        about: Mapping[str, object],
        machine: Mapping[str, object] | None = None,
    ) -> None:
        self._path, self._kinds, self._phases = path, tuple(kinds), phases
        self.runs: list[MadeRun] = []
        log = path.with_name(path.stem + LOG_SUFFIX)
        self._log = Journal(
            log,
            kind=KIND,
            version=FORMAT,
            what="runs",
            take=self._take,
            belongs={"about": dict(about)},
            note={"machine": machine},
            place=path,
        )
        self.warnings = self._log.warnings
        text = self._text()
        if path.exists() and not text.encode().startswith(files.read_bytes(path)):
            raise ScenarioError(f"{path} holds other rows or columns than {log.name} has runs of; name a new file")
        files.write_text(path, text)

    @property
    def done(self) -> list[tuple[float, Allocation, float]]:
        """Size, allocation and time of every run that ended well."""
        return [(run.size, run.allocation, run.times.time_s) for run in self.runs if run.times is not None]

    @property
    def spent_s(self) -> float:
        """Seconds of all runs, failed ones too."""
        return sum(run.wall_s for run in self.runs)

    def counts(self) -> Counter[RunKey]:
        """How often each run is there."""
        return Counter(run.key for run in self.runs if run.times is not None)

    def keep(self, run: MadeRun) -> None:
        """Take a run in: it is on the disk when this returns."""
        self.runs.append(run)
        outcome = {"failed": run.failed} if run.times is None else vars(run.times)
        self._log.keep({"N": run.size, "allocation": run.allocation, "wall_s": run.wall_s, **outcome})
        self._log.sync()
        files.write_text(self._path, self._text())

    def _take(self, row: Entry) -> None:
        seconds = dict[str, float]
        outcome = {"failed": str} if "failed" in row else {"time_s": float, "comp_s": seconds, "comm_s": seconds}
        kept = read_keys(row, N=float, allocation=tuple[tuple[int, int], ...], wall_s=float, **outcome)
        times = None if "failed" in row else MeasuredTimes(kept["time_s"], kept["comp_s"], kept["comm_s"])
        self.runs.append(MadeRun(kept["N"], kept["allocation"], kept["wall_s"], times, kept.get("failed", "")))

    def _text(self) -> str:
        """The table."""
        parts = ("pes", "procs", "comp_s", "comm_s") if self._phases else ("pes", "procs")
        rows = [["N", "time_s", *(f"{kind}.{part}" for kind in self._kinds for part in parts)]]
        for run in self.runs:
            if (times := run.times) is None:
                continue
            rows.append([f"{run.size:.0f}", repr(times.time_s)])
            for kind, cell in zip(self._kinds, run.allocation, strict=True):
                rows[-1] += map(str, cell)
                if self._phases:
                    rows[-1] += [str(part.get(kind, "")) for part in (times.comp_s, times.comm_s)]
        return files.csv_lines(rows)


@dataclass
class Campaign:
    """What has come of a plan."""

    made: int = 0
    kept: int = 0
    spent_s: float = 0.0
    """Seconds of all runs, earlier ones too."""
    failures: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Runs that the budget does not pay for any more."""
    failed: set[RunKey] = field(default_factory=set)
    """Runs that failed now, which are not tried again."""
    in_a_row: int = 0


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    budget_s: float
    run_s: float | None = None
    """No run may take longer; None: `LIMIT_FACTOR` times what is expected."""


def make_runs(
    plan: ConstructionPlan,
    program: AllocatedProgram,
    table: RunTable,
    *,
    limits: Limits,
    on_run: Callable[[str, float, float], None] = lambda _label, _wall_s, _share: None,
) -> Campaign:
    """Make the runs of a plan that the table lacks.

    Pilots come first; then all else in rounds, each run once in a round, in an order drawn from the plan's seed. Before
    each run the expected costs are corrected by what was measured, and what the budget then does not pay for is left
    out, from the end of the plan on; the reserve is used where the budget pays for it.

    `on_run`: called after each run: what it was, its seconds, and the share of the budget that is spent.

    Returns a line for each run that failed; all finished ones are in the table.
    """
    if program.local:
        check_processors(plan.kinds, affinity())
    found = Campaign()

    def sample(run: PlannedRun, _number: int) -> None:
        limit_s, began = _limit_s(run, plan, table, limits), time.perf_counter()
        try:
            times, wall_s = _run_once(launcher, plan, program, run, limit_s=limit_s)
        except CalibrationError as error:
            table.keep(MadeRun(*run.key, time.perf_counter() - began, failed=str(error)))
            found.failed.add(run.key)
            found.failures.append(f"{plan.label(*run.key)}: {error}")
            found.in_a_row += MOST_FAILURES if isinstance(error, LauncherLostError) else 1
            return
        found.in_a_row = 0
        table.keep(MadeRun(*run.key, wall_s, times))
        found.made += 1
        on_run(f"{plan.label(*run.key)}: {times.time_s:.4g} s", wall_s, table.spent_s / limits.budget_s)

    with _competitors(plan.kinds if program.local else ()), Group("command", [(ANYWHERE,)]) as launcher:
        run_campaign(_turns(plan, table, limits, found), sample)
    if found.in_a_row >= MOST_FAILURES:
        found.failures.append(f"{MOST_FAILURES} runs failed one after another, no more are made")
    found.kept, found.spent_s = len(table.done), table.spent_s
    return found


def _turns(
    plan: ConstructionPlan, table: RunTable, limits: Limits, found: Campaign
) -> Iterator[tuple[int, list[PlannedRun]]]:
    """The next run, chosen by what those before it cost; none where the budget pays for none or too many failed."""
    while found.in_a_row < MOST_FAILURES:
        left_s = limits.budget_s - table.spent_s
        chosen, found.dropped = _affordable(plan, table, _missing(plan, table, found), budget_s=left_s)
        if not chosen:
            return
        yield found.made, [_next(plan, chosen, table.counts())]


def expected_s(plan: ConstructionPlan, made: Sequence[MadeRun], keys: Sequence[RunKey]) -> Floats:
    """Seconds of runs in all, (runs,): the guess, corrected by the made run of their kind that is nearest in size.

    The kind is the slowest one that takes part; without a run of it, all count. Starts take their median.
    """
    sizes, rows = as_arrays(keys)
    guessed_s = plan.guess.time_s(sizes, rows)
    done = [(run, run.times.time_s) for run in made if run.times is not None]
    if not done:
        return guessed_s + plan.start_s
    seen, seen_rows = as_arrays([run.key for run, _ in done])
    ratios = np.array([time_s for _, time_s in done]) / plan.guess.time_s(seen, seen_rows)
    start_s = float(np.median([max(0.0, run.wall_s - time_s) for run, time_s in done]))
    slowest, factors = plan.guess.slowest(seen, seen_rows), []
    for kind, size in zip(plan.guess.slowest(sizes, rows), sizes, strict=True):
        far = np.abs(np.log(seen / size)) + 1e3 * (slowest != kind)
        factors.append(float(np.median(ratios[far == far.min()])))
    return np.asarray(guessed_s * factors + start_s)


class LauncherLostError(CalibrationError):
    """The process that starts the runs is gone."""


def _missing(plan: ConstructionPlan, table: RunTable, made: Campaign) -> list[PlannedRun]:
    """One entry per repetition that is still to be made, in the plan's order, second ones after all first ones."""
    have, found = table.counts(), []
    for place, run in enumerate(plan.runs):
        if run.key in made.failed:
            continue
        for number in range(run.repetitions):
            if have[run.key] > 0:
                have[run.key] -= 1
            else:
                found.append((run.reserve, number, place, run))
    return [run for *_, run in sorted(found, key=lambda entry: entry[:3])]


def _affordable(
    plan: ConstructionPlan, table: RunTable, left: Sequence[PlannedRun], *, budget_s: float
) -> tuple[list[PlannedRun], list[str]]:
    """What the rest of the budget pays for, in the plan's order, and what it does not, the reserve aside."""
    if not left:
        return [], []
    prices = expected_s(plan, table.runs, [run.key for run in left])
    chosen, dropped = [], []
    for run, price in zip(left, np.maximum(prices, 1e-3).tolist(), strict=True):
        if price <= budget_s:
            chosen.append(run)
            budget_s -= price
        elif not run.reserve:
            dropped.append(f"{plan.label(*run.key)}: about {price:.3g} s")
    return chosen, dropped


def _next(plan: ConstructionPlan, chosen: Sequence[PlannedRun], have: Counter[RunKey]) -> PlannedRun:
    """Pilots first, then the round that has runs left, in its own order; the reserve last."""
    if (first := chosen[0]).is_pilot and not have[first.key]:
        return first

    def place(run: PlannedRun) -> tuple[bool, int, float]:
        drawn = randomness.stream(plan.seed, "allocation run", have[run.key], repr(run.key))
        return run.reserve, have[run.key], float(drawn.random())

    return min(chosen, key=place)


def _limit_s(run: PlannedRun, plan: ConstructionPlan, table: RunTable, limits: Limits) -> float:
    expected = float(expected_s(plan, table.runs, [run.key])[0])
    unknown = any(kind.speed is None and pes for kind, (pes, _) in zip(plan.kinds, run.allocation, strict=True))
    least = PILOT_LIMIT_S if run.is_pilot and unknown else LEAST_LIMIT_S
    limit_s = max(least, LIMIT_FACTOR * expected)
    return limit_s if limits.run_s is None else min(limit_s, limits.run_s)


def _run_once(
    launcher: Group, plan: ConstructionPlan, program: AllocatedProgram, run: PlannedRun, *, limit_s: float
) -> tuple[MeasuredTimes, float]:
    """Its times, and its seconds in all."""
    ranks = placed_ranks(plan.kinds, run.allocation)
    program.prepare(run.size, ranks)
    words = program.rendered(run.size, ranks)
    command = {
        "do": "run",
        "words": words,
        "limit_s": limit_s,
        "keep_bytes": KEEP_BYTES,
        "folder": str(program.folder),
    }
    try:
        (answer,) = launcher.ask_all(command, Ended, limit_s=_START_S + limit_s)
    except CalibrationError as error:
        raise LauncherLostError(error.lines) from error  # what it started has ended with it
    if said := failure(answer, limit_s=limit_s):
        last = _last_line(answer.said, answer.output)
        raise CalibrationError(_reason(said, last, answer, shlex.join(words)))
    wall_s = answer.usage.wall_s
    kinds = list(dict.fromkeys(rank.kind for rank in ranks))
    try:
        return program.reader.read(answer.output, wall_s=wall_s, kinds=kinds), wall_s
    except CalibrationError as error:
        last = _last_line(answer.output, answer.said)
        raise CalibrationError(f"exit status 0, {error}; its last line: {last}") from error


def _reason(said: str, last: str, answer: Ended, words: str) -> str:
    """Why a run failed, with the last line that it said, once."""
    if answer.failed:
        return f"{words}: {said}"
    head = said.partition(":")[0] if answer.status and not answer.timed_out else said
    return f"{head}; its last line: {last}"


def _last_line(*texts: str) -> str:
    """The last line with letters in it, of the first text that has one."""
    for text in texts:
        for line in reversed(text.splitlines()):
            if any(map(str.isalpha, line)):
                return line.strip()[:200]
    return "none"


@contextmanager
def _competitors(kinds: Sequence[PEKind]) -> Iterator[None]:
    """Busy loops on the PEs that have a load."""
    with ExitStack() as stack:
        for kind in kinds:
            if kind.competitors:
                trace = LoadTrace(np.zeros(1), np.array([kind.competitors]), 60.0)
                for cpu in (pe.cpu for pe in kind.pes if pe.cpu is not None):  # all have one: it was checked before
                    competitor = stack.enter_context(Competitor(cpu, trace, apart=True))
                    stack.enter_context(competitor.replay(0.0))
        yield
