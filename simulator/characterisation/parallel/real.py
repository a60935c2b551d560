"""Parallel kernels on one and on two real processes of this machine, each pinned to a core, in turns."""

import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.base.errors import CalibrationError
from simulator.base.machine import this_machine
from simulator.calibration.bench.campaign import Budget, run_campaign, shuffled
from simulator.calibration.bench.group import Group
from simulator.calibration.bench.measurement import half_interval_of_median

LEAST_ROUNDS, MOST_ROUNDS = 5, 101


@dataclass(frozen=True)
class RealTimes:
    """Runs of one kernel at one size."""

    kernel: str
    n: int
    processes: int
    samples_s: tuple[float, ...]
    """Last end minus first start, run by run."""

    @property
    def median_s(self) -> float:
        """What predictions are judged by."""
        return float(np.median(self.samples_s))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        half = half_interval_of_median(np.array(self.samples_s))
        return {
            "processes": self.processes,
            "measured_s": self.median_s,
            "interval_percent": 100 * half if np.isfinite(half) else None,
            "least_s": min(self.samples_s),
            "runs": len(self.samples_s),
        }


def run_in_turns(
    kernels: Sequence[tuple[str, int]],
    *,
    budget_s: float,
    generator: np.random.Generator,
    on_round: Callable[[float], None] = lambda _share: None,
) -> list[RealTimes]:
    """Run kernels on 1 and, where two cores are free to us, on 2 processes, in a new random order in every round.

    Parameters
    ----------
    kernels
        Name and size n of each.
    budget_s
        Soft limit of the rounds in seconds: at least `LEAST_ROUNDS` are run. Each kernel's first run is not counted.

    Raises
    ------
    CalibrationError
        If a result is wrong, or a process ends early.
    """
    cpus = [core.cpu for core in this_machine().cores][:2]
    counts = range(1, len(cpus) + 1)
    cases = [(name, n, processes) for name, n in kernels for processes in counts]
    ends = socket.socketpair()
    rows = [(cpu, place, ends[place].fileno()) for place, cpu in enumerate(cpus)]
    samples: list[list[float]] = [[] for _ in cases]
    with Group("body", rows, inherited=[[end.fileno()] for end in ends]) as group:
        for end in ends:
            end.close()
        for case in cases:
            _run(group, case)
        budget = Budget(budget_s)

        def passes() -> Iterator[tuple[int, list[int]]]:
            for number in budget.passes(least=LEAST_ROUNDS, most=MOST_ROUNDS):
                yield number, shuffled(range(len(cases)), generator)
                on_round(min(1.0, max(budget.share, (number + 1) / MOST_ROUNDS)))

        run_campaign(passes(), lambda place, _number: samples[place].append(_run(group, cases[place])))
    return [RealTimes(*case, tuple(taken)) for case, taken in zip(cases, samples, strict=True)]


def _run(group: Group, case: tuple[str, int, int]) -> float:
    """Seconds of one run."""
    name, n, processes = case
    command = {"do": "run", "kernel": name, "n": n, "processes": processes}
    answers = group.ask(dict.fromkeys(range(processes), command))
    wrong = [rank for rank, answer in answers.items() if not answer["right"]]
    if wrong:
        raise CalibrationError(f"{name}: n = {n} on {processes} processes: wrong result in process {wrong[0]}")
    return float(max(one["end"] for one in answers.values()) - min(one["start"] for one in answers.values()))
