"""The allocation experiment in small, on this machine: few cheap runs, advice for large sizes, then every run made.

This machine is made unequal: one PE is a free core (fast), one a core with two busy loops of equal weight (slow). Up to
four processes go on the fast one and three on the slow one. A model is built from construction runs at small sizes; it
advises for two larger sizes; then every configuration is really run there, in shuffled rounds with a control
configuration in each block, and what the advice was worth is read off. Every run is on disk at once: started again, it
goes on.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.process_counts import advise_allocation
from advisor.advise.process_counts.construction import LEAST_SIZES, Wishes, every_configuration, plan_construction
from advisor.report.text import aligned
from simulator import ScenarioError, files, load_platform, provenance, this_machine
from simulator.calibration import (
    AllocatedProgram,
    ConstructionPlan,
    Limits,
    PlannedRun,
    RunTable,
    fit_allocation_table,
    learned_costs,
    lu_command,
    make_reader,
    make_runs,
    parse_program,
    save_allocation_fit,
)

DOCUMENT = "allocation-live.json"
COMPETITORS = 2
MOST = {"fast": 4, "slow": 3}
GUESSED_SPEED = "30 Gflop/s"
"""Of one core, for the first guess of costs; the runs correct it."""
LARGEST = (6400, 5600, 4800, 4000, 3200, 2400, 1600, 1200, 800)
"""The larger of the two sizes that advice is judged at; the other one is three quarters of it."""
SMALL = (1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2)
"""Construction sizes, of the larger judged size."""
JUDGED_REPETITIONS = 2
CONTROL_EVERY = 10
AIM = 0.15
"""Construction may cost this share of running every configuration at both judged sizes once."""
LEAST_RUNS = 14
"""Construction runs that are paid for in any case: at sizes that take no longer than a start, 15 % buys too few."""
LU_START_S, COMMAND_START_S = 1.5, 0.5
NAIVE = {"one process on each PE": ((1, 1), (1, 1)), "one process on the fast PE": ((1, 1), (0, 0))}
STEP = 100
"""Sizes are multiples of it."""

OnProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class LiveProgram:
    """What is run: our LU, or a command template as `allocate run` takes it."""

    command: str | None = None
    before: tuple[Path, ...] = ()
    read: str | None = None
    time: str = "hpl"
    wait: str = "yield"

    def allocated(self, folder: Path) -> AllocatedProgram:
        """The program, run in a folder, ranks pinned, with real busy loops."""
        if self.command is None:
            return AllocatedProgram(lu_command(self.wait, local=True), folder, make_reader("lu", "lu"), local=True)
        words, templates = parse_program(self.command, templates=self.before, local=True)
        return AllocatedProgram(words, folder, make_reader(self.time, None), templates, self.read, local=True)


def live(
    folder: Path,
    *,
    budget_s: float,
    seed: int,
    program: LiveProgram | None = None,
    model: str = "pooled",
    sizes: Sequence[float] | None = None,
    on_progress: OnProgress = lambda _stage, _share: None,
) -> dict[str, Any]:
    """Build, advise, run everything, and judge.

    Parameters
    ----------
    folder
        Keeps the platform, plans, runs, model and the result.
    budget_s
        About how long it may take; the judged sizes follow from it, unless they are given.
    sizes
        The judged sizes, two.

    Raises
    ------
    ScenarioError
        If there are fewer than two PEs, or the budget is too small for the smallest sizes.
    CalibrationError
        If no run was made at all; one that failed is in the result's warnings.
    """
    files.make_folder(folder / "work")
    chosen = program or LiveProgram()
    allocated = chosen.allocated(folder / "work")
    plan = _construction(folder, budget_s, chosen, seed=seed, sizes=sizes)
    files.write_json(folder / "plan.json", plan.to_dict())
    everything = _everything(plan)
    built, judged = (_table(folder / name, plan, allocated) for name in ("construction.csv", "judged.csv"))
    failures = _build(plan, allocated, built, on_progress)
    fitted = fit_allocation_table(folder / "construction.csv", method=model)
    save_allocation_fit(fitted, folder / "model.json")
    named = {kind.name: (len(kind.pes), kind.most) for kind in plan.kinds}
    advice = {size: advise_allocation(fitted, named, size).to_dict() for size in plan.at}
    failures += _judge(everything, allocated, judged, on_progress)
    machine = this_machine()
    found = {
        "sizes": list(plan.sizes),
        "at": list(plan.at),
        "model": model,
        "command": list(allocated.words),
        "local": {"competitors_on_slow": COMPETITORS, "most": MOST},
        "judged": [_judged(size, advice[size], judged, everything) for size in plan.at],
        "cost": _cost(built, judged, everything),
        "control": _control(judged, everything),
        "warnings": [*failures, *_busy(machine)],
        "seed": seed,
        "provenance": provenance.provenance(seed=seed, machine=machine),
    }
    files.write_json(folder / DOCUMENT, {"format": 1, "kind": "allocation experiment", **found})
    return found


def _table(path: Path, plan: ConstructionPlan, program: AllocatedProgram) -> RunTable:
    """Runs kept of this program at these sizes; others are refused."""
    about = {"command": list(program.words), "files": dict(program.templates), "at": list(plan.at)}
    kinds = [kind.name for kind in plan.kinds]
    return RunTable(path, kinds, phases=program.reader.tells_phases, about=about, machine=this_machine().to_dict())


_BUILDING = AIM / (AIM + JUDGED_REPETITIONS)
"""The share of the whole that construction takes."""


def _build(plan: ConstructionPlan, program: AllocatedProgram, table: RunTable, on_progress: OnProgress) -> list[str]:
    """Make the construction runs; what failed.

    Each kind alone comes first; then it is known what running everything takes, and so what may be spent.
    """

    def on_run(label: str, _wall_s: float, share: float) -> None:
        on_progress(f"construction: {label}", _BUILDING * min(1.0, share))

    first = replace(plan, runs=plan.runs[: LEAST_SIZES * len(plan.kinds)])
    failures = make_runs(first, program, table, limits=Limits(math.inf)).failures
    costs = learned_costs(plan, table)
    size, rows = _configurations(plan)
    typical_s = float(np.median([wall_s for walls in table.walls.values() for wall_s in walls]))
    budget_s = max(AIM * float(costs.wall_s(size, rows).sum()), LEAST_RUNS * typical_s)
    failures += make_runs(plan, program, table, limits=Limits(budget_s), on_run=on_run).failures
    return [f"construction: {line}" for line in failures]


def _configurations(plan: ConstructionPlan) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Every configuration at every judged size."""
    allocations, _ = every_configuration(plan.kinds)
    return np.repeat(np.array(plan.at), len(allocations)), np.tile(allocations, (len(plan.at), 1, 1))


def _judge(plan: ConstructionPlan, program: AllocatedProgram, table: RunTable, on_progress: OnProgress) -> list[str]:
    """Run every configuration; what failed."""
    wanted = sum(run.repetitions for run in plan.runs)

    def on_run(label: str, _wall_s: float, _share: float) -> None:
        on_progress(f"judged: {label}", _BUILDING + (1 - _BUILDING) * len(table.done) / wanted)

    return make_runs(plan, program, table, limits=Limits(math.inf), on_run=on_run).failures


def _construction(
    folder: Path, budget_s: float, program: LiveProgram, *, seed: int, sizes: Sequence[float] | None
) -> ConstructionPlan:
    """The plan for the largest sizes whose whole experiment fits the budget."""
    path = folder / "cluster.yaml"
    files.write_text(path, platform_text())
    platform = load_platform(path)
    start_s = LU_START_S if program.command is None else COMMAND_START_S
    least_s = math.inf
    for at in [tuple(sizes)] if sizes else [(0.75 * size, float(size)) for size in LARGEST]:
        small = tuple(sorted({max(STEP, STEP * round(share * max(at) / STEP)) for share in SMALL}))
        plan = plan_construction(platform, Wishes(small, at, None, start_s, seed), most=MOST)
        least_s = (JUDGED_REPETITIONS + AIM) * plan.full_s
        if sizes or least_s <= budget_s:
            return plan
    raise ScenarioError(f"--budget: the smallest sizes take {least_s:.0f} s, more than {budget_s:g} s; give more")


def platform_text() -> str:
    """Two PEs of this machine as a platform: the first core free, the last one with busy loops.

    Raises
    ------
    ScenarioError
        If it has one PE only.
    """
    cores = this_machine().cores
    if len(cores) < 2:
        raise ScenarioError("this machine has 1 PE, and the experiment needs 2; run it on another")
    load = f"{{trace: {{times_s: [0], values: [{COMPETITORS}], end_s: 1}}, rule: fair}}"
    speeds = f"speeds: {{dgemm: {GUESSED_SPEED}}}"
    return (
        "# One machine made unequal: fast is a free core, slow a core with busy loops of equal weight.\n"
        "format: 1\nplatform:\n  nodes:\n    - name: here\n      host: localhost\n      pes:\n"
        f"        - {{name: fast, cpu: {cores[0].cpu}, {speeds}}}\n"
        f"        - {{name: slow, cpu: {cores[-1].cpu}, {speeds}, load: {load}}}\n"
        "  link: {latency: 1us, bandwidth: 5GB/s}\n"
    )


def _everything(plan: ConstructionPlan) -> ConstructionPlan:
    """Every configuration at the judged sizes, and a control in each block."""
    size, rows = _configurations(plan)
    times = plan.guess.time_s(size, rows) + plan.start_s
    runs = [
        PlannedRun(float(n), _key(row), JUDGED_REPETITIONS, float(time_s), "judged")
        for n, row, time_s in zip(size, rows, times, strict=True)
    ]
    blocks = -(-len(runs) * JUDGED_REPETITIONS // CONTROL_EVERY) + 1
    control = PlannedRun(plan.sizes[-1], ((1, 2), (0, 0)), blocks, 1.0, "control", every=CONTROL_EVERY)
    return replace(plan, runs=(control, *runs), budget_s=sum(run.repetitions * run.expected_s for run in runs))


def _key(row: "NDArray[np.int64]") -> tuple[tuple[int, int], ...]:
    return tuple((int(pes), int(procs)) for pes, procs in row)


def _judged(size: float, advice: Mapping[str, Any], table: RunTable, plan: ConstructionPlan) -> dict[str, Any]:
    """What the advice for a size was worth."""
    names = [kind.name for kind in plan.kinds]
    times: dict[tuple[tuple[int, int], ...], list[float]] = {}
    for n, allocation, time_s in table.done:
        if n == size:
            times.setdefault(allocation, []).append(time_s)
    rows = []
    for entry in advice["ranking"]:
        allocation = tuple(
            (entry["configuration"][name]["pes"], entry["configuration"][name]["procs"]) for name in names
        )
        if allocation not in times:
            continue
        measured_s, estimate = float(np.median(times[allocation])), entry["estimate_s"]
        rows.append(
            {
                "configuration": {name: list(cell) for name, cell in zip(names, allocation, strict=True)},
                "estimate_s": estimate,
                "measured_s": measured_s,
                "runs_s": times[allocation],
                "error": estimate["mean"] / measured_s - 1,
                "inside": estimate["low"] <= measured_s <= estimate["high"],
            }
        )
    if not rows:
        raise ScenarioError(f"size {size:g}: no configuration was run, so there is nothing to judge; start it again")
    best_s = min(row["measured_s"] for row in rows)
    for row in rows:
        row["regret"] = row["measured_s"] / best_s - 1
    return {
        "size": size,
        "rows": rows,
        "advised": rows[0],
        "best": min(rows, key=lambda row: row["measured_s"]),
        "regret": rows[0]["regret"],
        "error": rows[0]["error"],
        "coverage": float(np.mean([row["inside"] for row in rows])),
        "mean_error": float(np.mean([abs(row["error"]) for row in rows])),
        "naive": {
            name: float(np.median(times[allocation])) / best_s - 1
            for name, allocation in NAIVE.items()
            if allocation in times
        },
        "not_measured": sum(_key(row) not in times for row in every_configuration(plan.kinds)[0]),
        "warnings": advice["warnings"],
    }


def _cost(built: RunTable, judged: RunTable, plan: ConstructionPlan) -> dict[str, float]:
    """Seconds of construction against running every configuration once, starts included and without them."""
    wanted = {run.key for run in plan.runs if not run.every}
    once_s = sum(float(np.median(walls)) for key, walls in judged.walls.items() if key in wanted)
    times: dict[Any, list[float]] = {}
    for size, allocation, time_s in judged.done:
        if (size, allocation) in wanted:
            times.setdefault((size, allocation), []).append(time_s)
    program_s = sum(float(np.median(own)) for own in times.values())
    own_s = sum(time_s for _, _, time_s in built.done)
    return {
        "runs": len(built.done),
        "construction_s": built.spent_s,
        "everything_once_s": once_s,
        "share": built.spent_s / once_s,
        "construction_program_s": own_s,
        "everything_once_program_s": program_s,
        "program_share": own_s / program_s,
        "judged_runs": sum(map(len, times.values())),
    }


def _control(judged: RunTable, plan: ConstructionPlan) -> dict[str, Any]:
    """The control's times, in order: what the machine itself changed by."""
    (control,) = (run for run in plan.runs if run.every)
    times = [time_s for size, allocation, time_s in judged.done if (size, allocation) == control.key]
    spread = float(np.ptp(times) / np.median(times)) if times else math.nan
    return {
        "configuration": plan.label(*control.key),
        "times_s": times,
        "spread": None if math.isnan(spread) else spread,
    }


def _busy(machine: Any) -> list[str]:
    load = machine.load_average[0]
    return [] if load <= 0.5 else [f"busy machine: load average {load:.2f} before the runs, best run when idle"]


def text(found: dict[str, Any]) -> str:
    """The tables for the terminal."""
    lines = [
        f"Process allocation on this machine: fast = a free core, slow = a core with {COMPETITORS} busy loops;",
        f"model {found['model']} from N {', '.join(f'{size:g}' for size in found['sizes'])}; every configuration run",
        *(line for part in found["judged"] for line in _lines(part)),
    ]
    cost, control = found["cost"], found["control"]
    once = f"running every configuration once ({cost['everything_once_s']:.4g} s)"
    line = f"construction: {cost['runs']} runs, {cost['construction_s']:.3g} s, {cost['share']:.1%} of {once}"
    lines += ["", f"{line}; without starts {cost['program_share']:.1%}"]
    if control["spread"] is not None:
        times = control["times_s"]
        lines.append(f"control ({control['configuration']}): {len(times)} runs, {min(times):.4g} to {max(times):.4g} s")
    return "\n".join([*lines, *(f"warning: {line}" for line in found["warnings"])])


def _lines(part: dict[str, Any]) -> list[str]:
    """The table of one judged size."""
    rows = []
    for number, row in enumerate(part["rows"]):
        name = ", ".join(f"{kind} {pes}x{procs}" for kind, (pes, procs) in row["configuration"].items() if pes)
        estimate, inside = row["estimate_s"], "yes" if row["inside"] else "no"
        seconds = [f"{value:.4g}" for value in (*estimate.values(), row["measured_s"])]
        rows.append([name + ("" if number else " *"), *seconds, f"{row['error']:+.1%}", f"{row['regret']:.1%}", inside])
    head = ["configuration", "estimate", "5 %", "95 %", "measured", "error", "regret", "inside"]
    return [
        "",
        f"N {part['size']:g}",
        *aligned(head, rows),
        (
            f"* advised: {part['regret']:.1%} slower than the best measured, estimate off by {part['error']:+.1%}; "
            f"intervals hold for {part['coverage']:.0%}, mean error {part['mean_error']:.1%}"
        ),
        *(f"{name}: {regret:.1%} slower than the best" for name, regret in part["naive"].items()),
        *(f"warning: {line}" for line in part["warnings"]),
    ]
