"""Where a prediction and real runs part: computing, what the load left, or the rest, which is messages and waiting.

With the seconds `c` that the busiest PE computes without load, `w` that it computes with it, and the makespan `m`, the
difference of two makespans is `(c' - c) w / c` from computing, `w' - c' w / c` from the load, and what remains. The
primes are predicted. CPU seconds do not count a load, so they say what `c` really was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from advisor.verification.interleaved import Verification
from simulator import PE, Configuration, RunSet, Scenario, run

Part = Literal["compute", "load", "rest"]
PARTS: dict[Part, str] = {
    "compute": "computing",
    "load": "the share of PEs that the load leaves",
    "rest": "messages and waiting",
}
BIAS = 0.03
"""Errors of one sign whose median is larger are no chance."""


@dataclass(frozen=True)
class Residual:
    """Predicted minus measured makespan of one configuration, in parts, as per cent of the measured one."""

    compute_percent: float
    load_percent: float
    rest_percent: float
    pe: str
    """The PE that computed longest."""
    processes: int
    """How many computed at once."""
    speed_ratio: float
    """Attained speed of that PE over the predicted one."""
    loaded: bool
    """Whether the scenario has a load or a quota on that PE."""

    def of(self, part: Part) -> float:
        """One part of it."""
        return {"compute": self.compute_percent, "load": self.load_percent, "rest": self.rest_percent}[part]


def residuals(scenario: Scenario, runs: RunSet, verification: Verification) -> dict[str, Residual]:
    """The residual of every configuration whose busiest PE had a core for each of its processes; by name."""
    names = [configuration.name for configuration in scenario.configurations]
    rows, count = verification.usages, len(names)
    if not rows or len(rows) % count:
        return {}
    idle = run(without_loads(scenario))
    found = {}
    for place, configuration in enumerate(scenario.configurations):
        own = rows[place::count]
        cpu_s, wall_s = (np.median([[getattr(used, key) for used in row] for row in own], axis=0) for key in _KEYS)
        one = _residual(scenario, (runs, idle), configuration, verification, cpu_s=cpu_s, wall_s=wall_s)
        if one is not None:
            found[configuration.name] = one
    return found


_KEYS = ("cpu_s", "wall_s")


def _residual(
    scenario: Scenario,
    predicted: tuple[RunSet, RunSet],
    configuration: Configuration,
    verification: Verification,
    *,
    cpu_s: Any,
    wall_s: Any,
) -> Residual | None:
    runs, idle = predicted
    computing = [place for place, units in enumerate(configuration.partition) if units]
    pe = int(np.argmax(wall_s))
    mine = [place for place in computing if configuration.placement[place] == pe]
    if not mine or cpu_s[pe] <= 0 or wall_s[pe] <= 0:
        return None
    loaded_s, nominal_s = (_busy_s(one, configuration.name, mine) for one in (runs, idle))
    measured_s = float(np.median(verification.measured_s[configuration.name]))
    stretch = float(wall_s[pe] / cpu_s[pe])
    compute = (nominal_s - float(cpu_s[pe])) * stretch
    load = loaded_s - nominal_s * stretch
    whole = float(np.median(runs.of(configuration.name))) - measured_s
    percent, name = 100 / measured_s, scenario.platform.pes[pe].name
    rest = whole - compute - load
    ratio = float(nominal_s / cpu_s[pe])
    loaded = scenario.platform.pes[pe] != _alone(scenario.platform.pes[pe])
    return Residual(percent * compute, percent * load, percent * rest, name, len(computing), ratio, loaded)


def _busy_s(runs: RunSet, name: str, processes: Sequence[int]) -> float:
    """Seconds that some processes compute together, the median over replications."""
    ticks = runs.busy_ticks[runs.configurations.index(name)][:, processes]
    return float(np.median(ticks.sum(axis=1))) * runs.tick_s


def without_loads(scenario: Scenario) -> Scenario:
    """The same with all PEs to ourselves: computing takes CPU seconds then."""
    pes = tuple(_alone(pe) for pe in scenario.platform.pes)
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


def _alone(pe: PE) -> PE:
    """A PE without what takes a part of it."""
    return pe if pe.load is None and pe.quota is None else replace(pe, load=None, quota=None)


@dataclass(frozen=True)
class Bias:
    """What all predictions of a set are off by in one direction."""

    percent: float
    """The median error."""
    part: Part | None
    """What most of it lies in; None where that is not known."""
    cause: str | None
    """What is suspected."""
    text: str
    """For a reader."""


def bias_of(errors_percent: Sequence[float], found: Mapping[str, Residual]) -> Bias | None:
    """The bias of a set of predictions, None where their errors have two signs or are small.

    `found`: where errors come from, by the name of a configuration.
    """
    errors = np.array(errors_percent)
    if not errors.size or not (np.all(errors > 0) or np.all(errors < 0)) or abs(np.median(errors)) < 100 * BIAS:
        return None
    middle = float(np.median(errors))
    slow = middle > 0
    how = f"{abs(middle):.1f} % too {'slow' if slow else 'fast'} (median)"
    what = "every strategy" if errors.size > 1 else "the strategy"
    said = f"{what} is predicted {how}"
    if not found:
        return Bias(middle, None, None, f"{said}; where this comes from is not known")
    parts = {part: float(np.median([one.of(part) for one in found.values()])) for part in PARTS}
    part = max(parts, key=lambda name: parts[name] * (1 if slow else -1))
    cause = _cause(part, list(found.values()), slow=slow)
    share = f"of which {abs(parts[part]):.1f} points come from {PARTS[part]}"
    return Bias(middle, part, cause, f"{said}, {share}: {cause}")


FEWEST_ALIKE = 3
"""Strategies that say more together than each by itself."""


def _cause(part: Part, found: Sequence[Residual], *, slow: bool) -> str:
    idle = [one.load_percent for one in found if not one.loaded]
    if part == "load" and idle and abs(np.median(idle)) > 100 * BIAS:
        return "other programs took a part of PEs that the scenario has no load on"
    if part == "load":
        return "the load left another share than the scenario's trace says, or other programs run here"
    if part == "rest":
        return "messages were measured with other payloads, places or loads than these runs have"
    return _cause_in_computing(found, slow=slow)


def _cause_in_computing(found: Sequence[Residual], *, slow: bool) -> str:
    lone = [abs(one.speed_ratio - 1) for one in found if one.processes == 1]
    several = [abs(one.speed_ratio - 1) for one in found if one.processes > 1]
    ratios = np.array([one.speed_ratio for one in found])
    if ratios.size >= FEWEST_ALIKE and np.ptp(ratios) < abs(np.median(ratios) - 1):
        faster = f"{abs(np.median(ratios) - 1):.0%} {'faster' if slow else 'slower'}"
        return f"all computing alike is {faster} than calibrated: the machine's clock has changed since, or the shape"
    if slow:
        return "speeds were measured in another shape (rows and columns), or while other programs ran"
    if lone and several and np.median(lone) < np.median(several) / 2:
        return "neighbours: processes slow each other down more than when speeds were measured"
    return "speeds were measured in another shape (rows and columns) or with one process alone"
