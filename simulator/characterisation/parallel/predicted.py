"""Seconds of a parallel kernel's steps by each method, and the application that a template makes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.base import formula
from simulator.base.errors import ScenarioError
from simulator.calibration.kernels.sized import compiled
from simulator.characterisation.costs.timing import Timed, time_in_turns
from simulator.characterisation.costs.vectors import bytes_of, refitted, with_guesses
from simulator.characterisation.derive.arguments import Arguments
from simulator.characterisation.derive.derivation import Derived, derive_seg, ruvs_at
from simulator.characterisation.parallel.table import ParallelKernel, ParallelStep
from simulator.models.resource import CostVector, HardwareModel, Method
from simulator.programs.graphs.nodes import Graph, Loop, Processing, Seg, expected_time, timing_formula
from simulator.programs.graphs.work import SegWork, make_seg_work

TIMED = HardwareModel("steps of known time", {"ct": CostVector.timed()})
"""What a process with steps of known times runs on."""
DERIVED: tuple[Method, ...] = ("poc", "hllc", "intcc", "icc")
LEAST_UNITS = 16
_POINTS = 5
Seconds = Mapping[str, float]
"""Step -> seconds."""


@dataclass(frozen=True)
class ParallelPrediction:
    """Seconds of each step at each number of processes, by each method that has an answer."""

    seconds: Mapping[Method, Mapping[int, Seconds]]
    formulas: Mapping[str, list[str]]
    """Step -> timing formula of its graph."""
    warnings: tuple[str, ...]


def predict_parallel(
    kernel: ParallelKernel,
    n: int,
    processes: Sequence[int],
    hardware: HardwareModel,
    *,
    methods: Sequence[Method],
    budget_s: float,
    generator: np.random.Generator,
) -> ParallelPrediction:
    """Derive each step's graph, cost it by each method, and time it for component timing.

    Parameters
    ----------
    processes
        Numbers of processes, n units divided among each.
    budget_s
        Soft limit of the timing, in seconds.
    """
    graphs = {step.name: _derived(step, n, processes) for step in kernel.steps}
    warnings = [line for graph in graphs.values() for line in graph.warnings]
    found: dict[Method, dict[int, Seconds]] = {}
    for method in methods:
        if method == "ct":
            continue
        try:
            costs = _costs(kernel, graphs, hardware, method, warnings)
            found[method] = {
                count: {step.name: _seconds(step, n, n / count, graphs[step.name], costs) for step in kernel.steps}
                for count in processes
            }
        except ScenarioError as error:
            warnings += [f"{method}: {line}" for line in error.lines]
    found["ct"] = _timed(kernel, n, processes, budget_s=budget_s, generator=generator)
    formulas = {name: timing_formula(graph.seg).splitlines() for name, graph in graphs.items()}
    return ParallelPrediction(found, formulas, tuple(dict.fromkeys(warnings)))


def parallel_work(kernel: ParallelKernel, n: int, processes: int, seconds: Seconds) -> SegWork:
    """The kernel's template with steps that take so long for n / processes units, in proportion to the units."""
    graphs = tuple(
        Graph(name, ("units",), Loop(name, formula.parse("units"), _unit(name, taken / (n / processes))))
        for name, taken in seconds.items()
    )
    return make_seg_work(Seg(graphs), kernel.asked(n, processes), [TIMED])


def _unit(name: str, seconds: float) -> Processing:
    return Processing(f"unit of {name}", {"ct": {"seconds": seconds}})


def _derived(step: ParallelStep, n: int, processes: Sequence[int]) -> Derived:
    """A step's graph with the parameter `units`, counted at shares that processes have."""
    every = sorted({max(LEAST_UNITS, n // count) for count in (1, 2, *processes)})
    chosen = {every[round(place)] for place in np.linspace(0, len(every) - 1, min(_POINTS, len(every)))}
    arguments = Arguments(
        {"units": n},
        lambda values: step.arguments(n, int(values["units"])),
        tuple({"units": units} for units in sorted(chosen)),
    )
    return derive_seg(step.function, arguments, here=True)


def _costs(
    kernel: ParallelKernel, graphs: Mapping[str, Derived], hardware: HardwareModel, method: Method, warnings: list[str]
) -> CostVector:
    """The costs, which the serial kernel's own runs at other sizes taught, with guesses for what nothing taught."""
    vector = refitted(hardware, method, own=kernel.name) or hardware.vector(method)
    if method == "dbc":
        return vector
    used = {name for graph in graphs.values() for name, amount in ruvs_at(graph, method).items() if amount}
    missing = sorted(vector.lacking(dict.fromkeys(used, 1.0)))
    if missing:
        warnings.append(f"{method}: {', '.join(missing)}: used by no calibration run, their costs are guesses")
    return with_guesses(hardware, vector, missing)


def _seconds(step: ParallelStep, n: int, units: float, graph: Derived, costs: CostVector) -> float:
    if costs.method == "dbc":
        values = {"n": n, "units": units}
        ruv = {name: float(formula.parse(text).evaluate(values)) for name, text in step.design.items()}
        return float(costs.time(ruv, used_by="design").s)
    held = bytes_of(step.arguments(n, max(1, round(units))))
    found = float(expected_time(graph.seg, {"units": units}, costs, working_set_bytes=held).s)
    if found < 0:
        raise ScenarioError(f"{step.name}: {found:.3g} s come out for {units:g} units, and no time is below 0")
    return found


def _timed(
    kernel: ParallelKernel, n: int, processes: Sequence[int], *, budget_s: float, generator: np.random.Generator
) -> dict[int, Seconds]:
    """Component timing: CPU seconds of each step alone, at each share."""
    places = [(count, step) for count in processes for step in kernel.steps]
    runs = []
    for count, step in places:
        function, units = compiled(step.function), max(1, round(n / count))
        function(*step.arguments(n, units))
        runs.append(Timed(f"{step.name} of {units}", function, step.arguments(n, units), step.overwrites))
    medians = time_in_turns(runs, budget_s=budget_s, generator=generator).median_s
    found: dict[int, dict[str, float]] = {}
    for (count, step), seconds in zip(places, medians.tolist(), strict=True):
        found.setdefault(count, {})[step.name] = max(0.0, seconds) * (n / count) / max(1, round(n / count))
    return dict(found)
