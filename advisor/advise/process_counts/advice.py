"""The advice: which PEs should take part with how many processes each, by a model fitted to measured runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from advisor.advise.candidates import distinct
from advisor.advise.problem import Allocations, Floats
from advisor.advise.process_counts.baselines import Baseline, baselines_of
from advisor.advise.process_counts.kinds import Kinds, Limits
from advisor.advise.process_counts.regret import Regret, possible, regrets
from advisor.advise.process_counts.space import Space, SpaceAt, processes, space_of
from advisor.advise.process_counts.switches import Switch, switch_points
from advisor.advise.process_counts.warnings import warnings_of
from advisor.advise.process_counts.wording import configuration_dict, page
from simulator import ScenarioError, provenance, ties
from simulator.calibration import AllocationFit
from simulator.models import Estimates

LARGEST_SIZE = 1e15
"""Problem sizes above are refused: their powers would leave the range of numbers."""
LISTED = 1000
"""Configurations that the ranking holds if nothing else is asked for."""
SHORTLIST = 100
"""Best by estimate: among these regret is told."""
EVERY = 20_000
"""Up to so many configurations, all are looked at for switch points; of more, the best at three sizes."""
BEYOND = 2.0
"""Switch points are looked for up to so many times the largest measured size."""


@dataclass(frozen=True)
class Switches:
    """From which problem size on which configuration is best."""

    low: float
    high: float
    """Sizes between which they were looked for."""
    points: tuple[Switch, ...]
    options: Allocations
    """Configurations that the points name by number."""
    notes: tuple[str, ...]
    """What was not looked at."""


@dataclass(frozen=True)
class ProcessCountAdvice:
    """Which configuration to run, by how much it is better than others, and where another is."""

    kinds: Kinds
    """What may be used; a kind of the model that is not named is not used."""
    known: tuple[str, ...]
    """The model's kinds."""
    method: str
    """Of the model."""
    size: float
    level: float
    """Probability of the intervals."""
    ranking: Allocations
    """By estimate, the advised one first; (n, kind, 2), kinds as in `kinds`."""
    estimates: Estimates
    """Of those in the ranking."""
    searched: int
    """How many configurations there are."""
    search: str
    """The allocator that found the best of them."""
    p_best: Floats
    """Chance to be the best, of the first of the ranking; (up to a hundred,)."""
    regret: Regret
    """Of the advised one."""
    baselines: tuple[Baseline, ...]
    switches: "Switches"
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def configuration(self) -> dict[str, dict[str, int]]:
        """The advised one: per kind, `pes` that take part and `procs` on each of them."""
        return self.named(self.ranking[0])

    @property
    def estimate_s(self) -> dict[str, float]:
        """Of the advised one: `mean`, `low`, `high`."""
        return self.estimate_at(0)

    def named(self, allocation: Allocations) -> dict[str, dict[str, int]]:
        """A configuration by kind, those of the model that are not used too."""
        return configuration_dict(allocation, tuple(self.kinds), self.known)

    def estimate_at(self, place: int) -> dict[str, float]:
        """Estimate of the configuration at a place of the ranking."""
        found = self.estimates
        return {
            "mean": float(found.mean_s[place]),
            "low": float(found.low_s[place]),
            "high": float(found.high_s[place]),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "command": "allocate advise",
            "method": self.method,
            "size": self.size,
            "level": self.level,
            "kinds": {name: {"pes": pes, "most": most} for name, (pes, most) in self.kinds.items()},
            "best": self.configuration,
            "processes": processes(self.ranking[:1])[0],
            "estimate_s": self.estimate_s,
            "regret": self.regret.to_dict(),
            "configurations": self.searched,
            "search": self.search,
            "ranking": [
                {
                    "configuration": self.named(allocation),
                    "processes": count,
                    "estimate_s": self.estimate_at(place),
                    "p_best": float(self.p_best[place]) if place < self.p_best.size else 0.0,
                    "warnings": list(self.estimates.warnings[place]),
                }
                for place, (allocation, count) in enumerate(zip(self.ranking, processes(self.ranking), strict=True))
            ],
            "baselines": [
                {"name": one.name, "configuration": self.named(one.allocation), **one.to_dict()}
                for one in self.baselines
            ],
            "sizes": {"low": self.switches.low, "high": self.switches.high},
            "switch_points": [
                {
                    "size": switch.size,
                    "last_below": switch.last_below,
                    "below": self.option(switch.below),
                    "above": self.option(switch.above),
                }
                for switch in self.switches.points
            ],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "provenance": provenance.provenance(inputs=self.inputs),
        }

    def option(self, place: int) -> dict[str, dict[str, int]] | None:
        """What a switch point names; None where no configuration is left."""
        return None if place < 0 else self.named(self.switches.options[place])

    def _repr_html_(self) -> str:
        return page(self.to_dict())


def advise_allocation(
    fitted: AllocationFit,
    kinds: Kinds,
    size: float,
    *,
    level: float = 0.9,
    limits: Limits | None = None,
    top: int | None = None,
    inputs: Mapping[str, str] | None = None,
) -> ProcessCountAdvice:
    """Rank every configuration at a problem size by a fitted model: the one of least estimate is advised.

    Parameters
    ----------
    fitted
        Of `simulator.calibration.fit_allocation_table` or `load_allocation_fit`.
    kinds
        Name -> how many PEs there are, and most processes on one of them; each may run 0 to all of them.
    limits
        Memory per PE and footprint per process: what does not fit is left out.
    top
        How many configurations the ranking holds; 1000 by default.
    inputs
        Names and hashes of input files, for the provenance.

    Raises
    ------
    ScenarioError
        If the model does not know a kind, nothing fits into memory, or a number cannot be.
    """
    if not 0 < size <= LARGEST_SIZE:
        raise ScenarioError(f"--size: {size:g} found, a number above 0 and up to {LARGEST_SIZE:g} allowed")
    if not 0 < level < 1:
        raise ScenarioError(f"--level: {level:g} found, a number between 0 and 1 allowed")
    space, model = space_of(fitted.model, kinds, limits), fitted.model
    count = LISTED if top is None else top
    here = space.at(size)
    found, search = here.best(max(count, SHORTLIST))
    members_s = possible(model.members(size, space.wide(found[:SHORTLIST])))
    expected, risk, p_best = regrets(members_s)
    listed = found[:count]
    switches = _switches(space, fitted, size, found[:SHORTLIST])
    return ProcessCountAdvice(
        kinds=dict(kinds),
        known=tuple(model.kinds),
        method=fitted.method,
        size=size,
        level=level,
        ranking=listed,
        estimates=model.estimate(size, space.wide(listed), level=level),
        searched=space.most_configurations,
        search=search,
        p_best=p_best[: listed.shape[0]],
        regret=Regret(float(expected[0]), float(risk[0]), float(p_best[0])),
        baselines=baselines_of(here, found[0], level),
        switches=switches,
        warnings=warnings_of(fitted, space, size, found, members_s),
        notes=(*_notes(here, search, None if top else listed.shape[0]), *switches.notes),
        inputs=dict(inputs or {}),
    )


def _switches(space: Space, fitted: AllocationFit, asked: float, found: Allocations) -> Switches:
    """From the smallest measured size to twice the largest, and to the one asked about, whose best were `found`."""
    measured, count = fitted.measured.sizes, space.most_configurations
    low, high = float(min(measured[0], asked)), float(max(BEYOND * measured[-1], asked))
    whole = np.all(np.append(measured, asked) % 1 == 0)
    step = 1.0 if whole else low / 1000
    if count <= EVERY:
        options, notes = space.every(), tuple[str, ...]()
    else:
        others = [size for size in (low, high) if size != asked]
        options = distinct(np.concatenate([found, *space.best_somewhere(others, SHORTLIST)]))
        at = ", ".join(f"{size:g}" for size in sorted({low, asked, high}))
        told = f"switch points: among {options.shape[0]} of {count} configurations, the best at N = {at}"
        notes = (told,)

    def best_at(size: float) -> int:
        times_s = space.times_s(size, options)
        best = ties.first_least(times_s) if times_s.size else -1
        return best if best >= 0 and np.isfinite(times_s[best]) else -1

    return Switches(low, high, tuple(switch_points(best_at, low, high, step=step)), options, notes)


def _notes(here: SpaceAt, search: str, listed: int | None) -> list[str]:
    """How the search was made, and what was left out, of the ranking too where nobody asked for a part of it."""
    count, lines = here.space.most_configurations, []
    if search != "exhaustive":
        lines.append(
            f"{count:.3g} configurations: the best by {search} on the model's tables, and those near it ranked"
        )
    fitting = here.fitting()
    if fitting is not None and fitting < count:
        lines.append(f"{count - fitting} of {count} configurations are left out: memory does not hold them")
    if impossible := here.impossible():
        lines.append(f"{impossible} of {count} configurations are left out: the model estimates 0 s or less")
    if search == "exhaustive" and listed == LISTED:
        lines.append(f"the ranking holds the best {listed} of {(fitting or count) - impossible} configurations")
    return lines
