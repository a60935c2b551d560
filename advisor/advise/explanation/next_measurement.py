"""What to measure next: the parameter whose stated uncertainty the advice would regret most, and the command for it."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from advisor.advise.explanation import changes
from advisor.advise.explanation.optimum import Advised
from advisor.advise.explanation.sensitivity import SAME_REGRET, busiest, called, effect, parameters
from advisor.advise.explanation.simulations import OutOfRuns, Simulations
from simulator import PE, Configuration, Load, Scenario, ScenarioError, ties

BLOCKS = 10
"""Parts of a trace whose means say how well its mean is known."""
T_QUANTILE = 2.262
"""Of Student's t, 9 degrees of freedom, 95 % two-sided."""
WORTH = 0.001
"""A regret below which nothing is worth a measurement."""


@dataclass(frozen=True)
class Uncertain:
    """A parameter, how far from the truth it may be, and what the advice would regret then."""

    parameter: str
    stated: str
    """Where its uncertainty is from."""
    low: float
    high: float
    """As shares of the value that is used: -0.03 to 0.03."""
    regret_low: float
    regret_high: float
    """If the truth were at that end."""
    makespan_low: float
    makespan_high: float
    """Change of the recommended configuration's makespan there, as a share."""
    command: str

    @property
    def regret(self) -> float:
        """The larger one."""
        return max(self.regret_low, self.regret_high)


@dataclass(frozen=True)
class NextMeasurement:
    """What to measure next, and why."""

    ranked: tuple[Uncertain, ...]
    """The most regretted first."""
    unstated: tuple[str, ...]
    """Parameters of which no uncertainty is known: constants, and models without an interval."""
    left_out: tuple[str, ...]
    """For want of runs."""
    least: float
    """Regrets up to here say nothing."""

    @property
    def best(self) -> Uncertain | None:
        """The one to measure; None where the advice would regret none by 0.1 % or more."""
        enough = max(WORTH, 2 * self.least)
        return self.ranked[0] if self.ranked and self.ranked[0].regret >= enough else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "measure": None if self.best is None else self.best.parameter,
            "command": None if self.best is None else self.best.command,
            "ranked": [{**asdict(one), "regret": one.regret} for one in self.ranked],
            "unstated": list(self.unstated),
            "left_out": list(self.left_out),
        }


def next_measurement(advised: Advised, simulations: Simulations, *, least: float = 0.0) -> NextMeasurement:
    """Put each parameter at both ends of its stated uncertainty, and see what the advice regrets there.

    Speeds: both edges of the band, for all of a kind together. Loads: the 95 % interval of the trace's mean, from the
    means of ten parts of it, where replications draw its start. Links and memory levels state none.

    Parameters
    ----------
    least
        Regret that the search finds where nothing is changed: no more than that is none.
    """
    scenario, chosen = advised.scenario, advised.configuration
    ranked: list[Uncertain] = []
    missing: list[str] = []
    stated = set()
    for name, source, ends, scenarios, command in _stated(scenario, chosen):
        stated.add(name)
        try:
            effects = [effect(advised, changed, end, simulations) for end, changed in zip(ends, scenarios, strict=True)]
        except (OutOfRuns, ScenarioError):
            missing.append(name)
            continue
        low, high = effects
        ranked.append(Uncertain(name, source, *ends, low.regret, high.regret, low.makespan, high.makespan, command))
    order = ties.in_order([-one.regret for one in ranked], [one.low - one.high for one in ranked], floor=SAME_REGRET)
    ranked = [ranked[place] for place in order]
    unstated = [name for name, *_ in parameters(scenario, chosen) if name not in stated]
    return NextMeasurement(tuple(ranked), tuple(unstated), tuple(missing), least)


_Stated = tuple[str, str, tuple[float, float], tuple[Scenario, Scenario], str]


def _stated(scenario: Scenario, chosen: Configuration) -> Iterator[_Stated]:
    """Parameters with a stated uncertainty: name, source, ends, scenarios at them, and the command to measure it."""
    kernel = scenario.application.kernel
    for kind in busiest(scenario, chosen):
        pe = scenario.platform.pes[kind.pes[0]]
        band, name = pe.speed_of(kernel), called(scenario, kind)
        if band.wide:
            place = _cut_of(scenario, chosen, kind.pes[0])
            cut = band.cut(place)
            ends = cut.low / cut.mid - 1, cut.high / cut.mid - 1
            edges = changes.with_edge(scenario, kind.pes, "low"), changes.with_edge(scenario, kind.pes, "high")
            yield f"speed of {name}", "edges of its speed band", ends, edges, _speed_command(scenario, pe)
        if pe.load is not None and pe.load.drawn:
            half = mean_half_width(pe.load)
            if half > 0:
                low = max(-half, -1.0)
                loads = tuple(changes.with_load(scenario, 1 + by, kind.pes) for by in (low, half))
                command = f"apportion record -o {_file(pe.name)}-load.csv --per-core"
                source = "95 % interval of its trace's mean"
                yield f"load of {name}", source, (low, half), (loads[0], loads[1]), command


def mean_half_width(load: Load) -> float:
    """Half the 95 % interval of a trace's mean, as a share of it, from the means of ten parts.

    0 for a constant, and for fewer than two samples in each part: that is a pattern written out, which states none.
    """
    trace = load.trace
    if trace.values.size < 2 * BLOCKS:
        return 0.0
    values = 1 - trace.values if load.rule == "given" else trace.values
    knots = np.append(trace.times_s, trace.end_s)
    totals = np.concatenate(([0.0], np.cumsum(values * np.diff(knots))))
    means = np.diff(np.interp(np.linspace(0, trace.end_s, BLOCKS + 1), knots, totals)) * BLOCKS / trace.end_s
    mean, spread = float(means.mean()), float(means.std(ddof=1))
    return T_QUANTILE * spread / math.sqrt(BLOCKS) / mean if mean > 0 else 0.0


def _cut_of(scenario: Scenario, chosen: Configuration, pe: int) -> float:
    """The problem size that a PE computes at: its own share, or an equal one if it has none."""
    mine = [units for place, units in zip(chosen.placement, chosen.partition, strict=True) if place == pe and units]
    taking_part = sum(units > 0 for units in chosen.partition)
    units = mine[0] if mine else -(-scenario.application.work.units // max(1, taking_part))
    return float(scenario.application.work.compute(taking_part)(units).size)


def _speed_command(scenario: Scenario, pe: PE) -> str:
    kernel = scenario.application.kernel
    if scenario.application.prepared is not None:  # its speeds follow from the costs of operations
        return f"apportion calibrate resource -o {_file(pe.name)}-resource.json"
    pinned = "" if pe.cpu is None else f" --cpu {pe.cpu}"
    return f"apportion calibrate speed --kernel {kernel}{pinned} --accuracy 2% -o {_file(pe.name)}-{kernel}.json"


def _file(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-_." else "-" for character in name)
