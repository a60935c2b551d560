"""Simulated runs as jobs of a batch system: the Standard Workload Format 2.2, and the jobs table that Batsim writes.

A job is a run of a configuration on the PEs that it uses, submitted when the run before has ended: a machine that does
nothing else. So batch simulators get run times as they scatter, and the log is one that they all take.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.engines.run_set import RunSet
from simulator.scenario_file.scenario import Scenario

__all__ = ["JOB_FILES", "job_lines"]

JOB_FILES = (".swf", ".csv")
"""What the name of a file of jobs ends in: the Standard Workload Format, or Batsim's table."""
COLUMNS = (
    *("job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time"),
    *("success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time"),
    *("stretch", "allocated_resources"),
)
UNKNOWN = -1
COMPLETED = 1
NS = 10**9
_HEAD = """\
; Version: 2.2
; Computer: simulated by apportion
; MaxJobs: {jobs}
; MaxRecords: {jobs}
; MaxProcs: {pes}
; MaxNodes: {nodes}
; Note: a job is a simulated run, submitted when the one before has ended; executable numbers are configurations
"""


def job_lines(scenario: Scenario, runs: RunSet, kind: str) -> Iterator[str]:
    """Text of a file of jobs, a line at a time: configuration after configuration, each replication after replication.

    Parameters
    ----------
    scenario, runs
        What was simulated, and its runs.
    kind
        One of `JOB_FILES`.

    Raises
    ------
    ScenarioError
        For another kind.
    """
    if kind not in JOB_FILES:
        raise ScenarioError(f"jobs: {kind!r} found, {' or '.join(JOB_FILES)} allowed")
    return _swf(scenario, runs) if kind == ".swf" else _batsim(scenario, runs)


def _swf(scenario: Scenario, runs: RunSet) -> Iterator[str]:
    """18 fields a job; an average CPU time is that of its processes on one PE, memory that of the largest of them."""
    jobs = runs.makespan_ticks.size
    yield _HEAD.format(jobs=jobs, pes=len(scenario.platform.pes), nodes=len(scenario.platform.node_names))
    for k, name in enumerate(runs.configurations):
        yield f"; Executable: {k + 1} {' '.join(name.split())}\n"
    used = [len(set(configuration.placement)) for configuration in scenario.configurations]
    held = [max(scenario.program(configuration).footprints_bytes) for configuration in scenario.configurations]
    for job, (k, replication, submit, lasting) in enumerate(_jobs(runs), start=1):
        busy = round(float(runs.busy_ticks[k][replication].sum()) * runs.tick_s / used[k] * NS)
        fields = (job, _s(submit), 0, _s(lasting), used[k], _s(busy), -(-held[k] // 1024) or UNKNOWN, used[k])
        yield " ".join(map(str, (*fields, UNKNOWN, UNKNOWN, COMPLETED, *(UNKNOWN,) * 2, k + 1, *(UNKNOWN,) * 4))) + "\n"


def _batsim(scenario: Scenario, runs: RunSet) -> Iterator[str]:
    """A row per job; its resources are numbers of PEs."""
    yield files.csv_lines([COLUMNS])
    used = [sorted(set(configuration.placement)) for configuration in scenario.configurations]
    for job, (k, _, submit, lasting) in enumerate(_jobs(runs), start=1):
        asked = job, "apportion", runs.configurations[k], _s(submit), len(used[k]), UNKNOWN
        ended = 1, "COMPLETED_SUCCESSFULLY", _s(submit), _s(lasting), _s(submit + lasting), 0, _s(lasting), 1
        yield files.csv_lines([(*asked, *ended, intervals(used[k]))])


def _jobs(runs: RunSet) -> Iterator[tuple[int, int, int, int]]:
    """Configuration, replication, submission and run time of each run in whole nanoseconds, so that they add up."""
    before = 0
    for (k, replication), seconds in np.ndenumerate(runs.makespan_s):
        lasting = round(seconds * NS)
        yield k, replication, before, lasting
        before += lasting


def _s(nanoseconds: int) -> str:
    """Seconds."""
    whole, part = divmod(nanoseconds, NS)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".")


def intervals(numbers: Sequence[int]) -> str:
    """Ascending numbers as Batsim says sets of resources: `0-2 5`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in found)
