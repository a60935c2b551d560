"""Recording real runs here: a program run over a grid of parameters within a budget, each run kept at once."""

import contextlib
import itertools
import math
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.base import files, units
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.machine import this_machine
from simulator.base.units import to_number
from simulator.calibration.bench.campaign import Budget, BudgetSpentError, run_campaign
from simulator.calibration.history.store import TOTAL, RunRecord

_PLACE = re.compile(r"\{(\w+)\}")


Point = Mapping[str, float]
"""Parameter -> value."""


@dataclass(frozen=True)
class RunPlan:
    """A command line to run, how often and for how long."""

    command: tuple[str, ...]
    """Words of the command line, with `{NAME}` where a parameter goes."""
    grid: Mapping[str, Sequence[float]]
    """Parameter -> values; every combination is run."""
    budget_s: float
    """No run starts when this is used up, and one that outlasts it is stopped."""
    application: str
    repetitions: int = 3


def parse_grid(text: str) -> dict[str, tuple[float, ...]]:
    """Parse `N=1000:2000:4000,P=1:2`; values may also be separated by commas."""
    found: dict[str, list[float]] = {}
    name = ""
    for part in text.split(","):
        head, mark, rest = part.partition("=")
        if mark:
            name = head.strip()
            if not name.isidentifier() or name in found:
                raise ScenarioError(f"grid: {name!r} is no name, or comes twice; name each parameter once")
            found[name] = []
        elif not name:
            raise ScenarioError(f"grid: {part!r} has no name; write NAME=VALUE:VALUE:...")
        for cell in (rest if mark else part).split(":"):
            value = to_number(cell.strip())
            if value is None or not math.isfinite(value):
                raise ScenarioError(f"grid: {name}: {cell!r} is no number; give a finite one")
            found[name].append(value)
    return {key: tuple(values) for key, values in found.items()}


def make_plan(
    command: str,
    grid: Mapping[str, Sequence[float]],
    *,
    budget: str,
    name: str | None = None,
    repetitions: int = 3,
) -> RunPlan:
    """Check a command line against its grid; the command is split into words here and never sees a shell.

    `budget` has its unit, such as `60s`; the runs are named as the program by default.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ScenarioError(f"command: {str(error).lower()}; match the quotes") from error
    used = {name for word in words for name in _PLACE.findall(word)}
    faults = [] if words else ["command is empty; name a program"]
    faults += [
        f"command: {{{name}}} is not in the grid, which has {', '.join(grid) or 'nothing'}"
        for name in sorted(used - set(grid))
    ]
    faults += [
        f"grid: {name} has no place in the command; write {{{name}}} there, or leave it out"
        for name in grid
        if name not in used
    ]
    faults += [] if repetitions > 0 else [f"repetitions is {repetitions}; give 1 or more"]
    budget_s = units.parse_duration(budget, field="budget")
    if faults:
        raise ScenarioError(faults)
    return RunPlan(words, grid, budget_s, name or Path(words[0]).name, repetitions=repetitions)


def record_runs(plan: RunPlan, keep: Callable[[RunRecord], None], *, version: str = "") -> list[str]:
    """Run the plan, repetition after repetition over the whole grid, and hand each finished run to `keep`.

    The total of a run is its wall time. If its last line on stdout is a JSON object of numbers, each `NAME_s`
    in it is the time of a part, and `total_s` replaces the wall time.

    Returns one line for each thing that did not fit into the budget.
    """
    machine, budget, done = this_machine().host, Budget(plan.budget_s), 0
    points = [dict(zip(plan.grid, values, strict=True)) for values in itertools.product(*plan.grid.values())]

    def sample(point: Point, _repetition: int) -> None:
        nonlocal done
        times = _run_once(plan, point, budget.limit_s - budget.spent_s)
        if times is None:
            raise BudgetSpentError
        keep(RunRecord(plan.application, point, times, version=version, machine=machine))
        done += 1

    run_campaign(((repetition, points) for repetition in range(plan.repetitions)), sample, budget=budget)
    wanted = len(points) * plan.repetitions
    return [] if done == wanted else [f"budget of {plan.budget_s:g} s used up after {done} of {wanted} runs"]


def _run_once(plan: RunPlan, point: Point, limit_s: float) -> dict[str, float] | None:
    """Seconds in all and by part; None if the run outlasted the limit."""
    words = [_PLACE.sub(lambda match: _shown(point[match[1]]), word) for word in plan.command]
    begin = time.perf_counter()
    try:
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise CalibrationError(f"command: {words[0]}: {(error.strerror or str(error)).lower()}") from error
    try:
        out, err = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        _stop(child)
        return None
    except BaseException:
        _stop(child)
        raise
    elapsed = time.perf_counter() - begin
    if child.returncode:
        last = (err.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise CalibrationError(f"command: {shlex.join(words)}: ended with exit status {child.returncode}: {last}")
    return {TOTAL: elapsed} | _parts(out)


def _stop(child: "subprocess.Popen[bytes]") -> None:
    """End the run and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def _parts(out: bytes) -> dict[str, float]:
    last = (out.decode(errors="replace").strip().splitlines() or [""])[-1]
    try:
        document = files.parse_json(last, "the last line")
    except ScenarioError:
        return {}
    if not isinstance(document, dict):
        return {}
    return {
        str(name).removesuffix("_s"): float(value)
        for name, value in document.items()
        if str(name).endswith("_s") and isinstance(value, int | float) and value >= 0
    }


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
