"""Recording runs of a built-in application, on one process per PE of this machine, with the times of their parts."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from simulator.base import units
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine, require_linux, this_machine
from simulator.calibration.bench.group import NoAnswerError
from simulator.calibration.history.record import Point, Runner
from simulator.calibration.history.store import TOTAL
from simulator.calibration.kernels import kernel as find_kernel
from simulator.calibration.ranks.programs import RealProgram
from simulator.calibration.ranks.ranks import Ranks
from simulator.programs.applications import matmul

APPLICATIONS = ("matmul",)
"""What can be recorded by its name alone."""
COMPUTATION, COMMUNICATION = "computation", "communication"
SIZE, PROCESSES = "N", "P"
WARM_UP = 256
"""Order of the product that each rank makes first, so that no recorded run pays for libraries and compilation."""


@dataclass(frozen=True)
class ApplicationPlan:
    """A built-in application to run, on which processors, how often and for how long."""

    application: str
    """How the runs are named."""
    kernel: str
    grid: Mapping[str, Sequence[float]]
    """`N`, the order of the matrices, and `P`, the number of processes."""
    budget_s: float
    cpus: tuple[int, ...]
    """One per process of the largest run."""
    repetitions: int = 3

    def runner(self) -> AbstractContextManager[Runner]:
        """All processes are started once; a run with fewer leaves the others idle."""
        return _matmul_runner(self)


def make_application_plan(
    application: str,
    grid: Mapping[str, Sequence[float]],
    *,
    budget: str,
    kernel: str = "dgemm",
    name: str | None = None,
    repetitions: int = 3,
) -> ApplicationPlan:
    """Check a grid against an application and this machine.

    Parameters
    ----------
    budget
        With its unit, for example `60s`; starting the processes counts.
    name
        How the runs are named; as the application by default.

    Raises
    ------
    ScenarioError
        If there is no such application or kernel, or the grid, the budget or the repetitions do not fit.
    CalibrationError
        On any system but Linux.
    """
    if application not in APPLICATIONS:
        raise ScenarioError(f"app: {application!r} found, one of {', '.join(APPLICATIONS)} allowed")
    require_linux()
    find_kernel(kernel)
    machine = this_machine()
    faults = _grid_faults(application, grid, machine)
    if repetitions < 1:
        faults.append(f"repetitions: {repetitions} found, 1 or more allowed")
    budget_s = units.parse_duration(budget, field="budget")
    if faults:
        raise ScenarioError(faults)
    cpus = tuple(core.cpu for core in machine.cores[: int(max(grid[PROCESSES]))])
    return ApplicationPlan(name or application, kernel, grid, budget_s, cpus, repetitions)


def _grid_faults(application: str, grid: Mapping[str, Sequence[float]], machine: Machine) -> list[str]:
    if set(grid) != {SIZE, PROCESSES}:
        return [f"grid: {', '.join(grid) or 'none'} found, {SIZE} and {PROCESSES} allowed with {application}"]
    whole = [
        f"grid: {name}: {value:g} found, an integer of at least 1 allowed"
        for name, values in grid.items()
        for value in values
        if value < 1 or value != int(value)
    ]
    if whole:
        return whole
    most = machine.pe_count
    faults = [
        f"grid: {PROCESSES}: {value:g} found, 1 to {most} allowed: this machine has {most} PEs"
        for value in grid[PROCESSES]
        if value > most
    ]
    least, largest, processes = min(grid[SIZE]), max(grid[SIZE]), max(grid[PROCESSES])
    if processes > least and not faults:
        faults.append(f"grid: {SIZE}: {least:g} found, at least {processes:g} allowed: a row for each process")
    # The master holds A, B and C, every other rank B, and all together the rows of A and C once more.
    fits = math.isqrt(int(machine.memory_available_bytes / (matmul.WORD_BYTES * (processes + 4))))
    if largest > fits:
        faults.append(f"grid: {SIZE}: {largest:g} found, at most {fits} allowed: more does not fit into memory")
    return faults


@contextmanager
def _matmul_runner(plan: ApplicationPlan) -> Iterator[Runner]:
    with Ranks(plan.cpus) as ranks:
        ranks.prepare(plan.kernel, WARM_UP, WARM_UP)
        ranks.forget()

        def run(point: Point, limit_s: float) -> dict[str, float] | None:
            end = time.perf_counter() + limit_s
            n, processes = int(point[SIZE]), int(point[PROCESSES])
            places = tuple((cpu,) for cpu in plan.cpus[:processes])
            program = RealProgram("matmul", plan.kernel, {"n": n}, tuple(_equal(n, processes)), places)
            try:
                ranks.prepare_program(program, limit_s=limit_s)
                done = ranks.run_program(program, limit_s=end - time.perf_counter())
            except NoAnswerError:
                return None
            computation_s = min(max(usage.wall_s for usage in done.compute), done.makespan_s)
            return {
                TOTAL: done.makespan_s,
                COMPUTATION: computation_s,
                COMMUNICATION: done.makespan_s - computation_s,
            }

        yield run


def _equal(n: int, processes: int) -> list[int]:
    share, rest = divmod(n, processes)
    return [share + (process < rest) for process in range(processes)]
