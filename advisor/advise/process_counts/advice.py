"""The advice: which PEs should take part with how many processes each, by a model fitted to measured runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from advisor.advise.candidates import distinct
from advisor.advise.problem import Allocations, Floats, processes_of
from advisor.advise.process_counts.kinds import Kinds, Limits
from advisor.advise.process_counts.regret import Regret, chance_faster, possible, regrets
from advisor.advise.process_counts.space import Space, SpaceAt, processes, space_of
from advisor.advise.process_counts.wording import configuration_dict, configuration_text, page
from simulator import ScenarioError, provenance, ties
from simulator.calibration import AllocationFit
from simulator.models import Estimates

# What to know before an advice is trusted.


SURE = 0.9
"""From this chance on, one configuration counts as faster than another."""
NOTHING = 1e-6
"""Regret that is none: configurations that come to the same."""
"""Sizes up to so many times the largest measured are taken without a warning."""


def warnings_of(
    fitted: AllocationFit, space: Space, size: float, ranking: Allocations, members_s: Floats
) -> tuple[str, ...]:
    """Of the model, of the advised configuration (the first of the ranking), and of its distance to the others.

    Parameters
    ----------
    members_s
        Of the first of the ranking, paired; (member, n).
    """
    advised = space.wide(ranking[:1])
    own = space.model.estimate(size, advised).warnings[0]
    far = _outside(fitted, space, size, ranking[0])
    if any(line.startswith("N = ") for line in own):  # the model says itself how far the size is
        far = [line for line in far if not line.startswith("size ")]
    lines = [*fitted.warnings, *own, *far]
    lines += _near(space, ranking, members_s)
    return tuple(dict.fromkeys(lines))


def _near(space: Space, ranking: Allocations, members_s: Floats) -> list[str]:
    """Whether the runs can tell the first from what else may be best."""
    if members_s.shape[1] < 2:
        return []
    names = [kind.name for kind in space.kinds]
    chances = [chance_faster(members_s, 0, place) for place in range(1, members_s.shape[1])]
    near = [place for place, chance in enumerate(chances, 1) if chance < SURE]
    if not near:
        return []
    expected, risk, _ = (part[0] for part in regrets(members_s))
    if risk < NOTHING:
        return []
    rival = near[0]
    first, second = (configuration_text(ranking[place], names) for place in (0, rival))
    more = f" and {len(near) - 1} others" if len(near) > 2 else " and another" if len(near) == 2 else ""
    chance = f"a chance of {100 * chances[rival - 1]:.0f} % that the first is faster"
    stake = f"at stake are {100 * expected:.1f} % on average, {100 * risk:.1f} % in one case of 20"
    return [f"the runs cannot tell {first} from {second}{more}: {chance}; {stake}"]


def _outside(fitted: AllocationFit, space: Space, size: float, advised: Allocations) -> list[str]:
    """Where the advice extrapolates."""
    measured, lines = fitted.measured, []
    largest, smallest = float(measured.sizes[-1]), float(measured.sizes[0])
    if size > BEYOND * largest:
        lines.append(f"size {size:g} is {size / largest:.3g} times the largest measured, {largest:g}")
    if size < smallest:
        lines.append(f"size {size:g} is below the smallest measured, {smallest:g}")
    for kind, place, (_, each) in zip(space.kinds, space.places, advised.tolist(), strict=True):
        most = int(measured.most[place, 1])
        if each > most:
            lines.append(f"{kind.name}: {each} processes on a PE advised, at most {most} measured")
    total = int(processes_of(advised[np.newaxis])[0])
    if total > measured.most_processes:
        lines.append(f"{total} processes in all advised, at most {measured.most_processes} measured")
    return lines


# Switch points: problem sizes from which on another configuration is best, by bisection.


Choice = TypeVar("Choice")
GRID = 33
"""Sizes that are looked at before bisection, each as many times the one before."""
MOST = 40
"""Switch points that are told of; more are noise of the model."""


class Switch(NamedTuple):
    """Where the best changes."""

    size: float
    """Least size looked at from which the one above is best."""
    last_below: float
    """Largest size looked at where the one below was."""
    below: int
    """What is best below, as `best_at` names it."""
    above: int


def switch_points(
    best_at: Callable[[float], int], low: float, high: float, *, step: float = 1.0, grid: int = GRID
) -> list[Switch]:
    """All switch points that the grid tells apart, each to within a step, in ascending order.

    Parameters
    ----------
    best_at
        Names the best configuration at a size, by a number.
    step
        Sizes are looked at in multiples of it.
    """
    known: dict[int, int] = {}

    def best(place: int) -> int:
        if place not in known:
            known[place] = best_at(place * step)
        return known[place]

    first, last = round(low / step), round(high / step)
    if last <= first:
        return []
    places = np.unique(np.rint(np.geomspace(max(first, 1), last, grid)).astype(np.int64)).tolist()
    open_ = [(a, b) for a, b in pairwise(places) if best(a) != best(b)]
    found = []
    while open_:
        a, b = open_.pop()
        if b - a == 1:
            found.append(Switch(b * step, a * step, best(a), best(b)))
            continue
        middle = (a + b) // 2
        open_ += [(x, y) for x, y in ((a, middle), (middle, b)) if best(x) != best(y)]
    return sorted(found)[:MOST]


# What one would do without a model, with its estimate and how much longer it takes.


@dataclass(frozen=True)
class Baseline:
    """A naive configuration beside the advised one."""

    name: str
    allocation: Allocations
    """(kind, 2)."""
    estimate_s: dict[str, float] | None
    """`mean`, `low`, `high`; None where memory does not hold it or the model does not know it."""
    times_longer: dict[str, float] | None
    """Times as long as the advised one: by the estimates, and the interval over the model's members, paired."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"estimate_s": self.estimate_s, "times_longer": self.times_longer}


def baselines_of(here: SpaceAt, advised: Allocations, level: float) -> tuple[Baseline, ...]:
    """The baselines at one size, in order.

    - `one-per-pe`: every PE, one process on each;
    - `fastest-kind`, `fastest-pe`: one process on each PE of the fastest kind, or on one of them;
    - `speed-ratio`: every PE, processes in proportion to its speed, the slowest has one.

    Speeds are the model's, of PEs with one process among as many as there are PEs.
    """
    space, size, ends = here.space, here.size, (1 - level) / 2
    named = _allocations(space, size)
    told = np.isfinite(here.times_s(np.stack(list(named.values())))).tolist()
    both = space.wide(np.stack([advised, *(one for one, known in zip(named.values(), told, strict=True) if known)]))
    mine, members_s = space.model.estimate(size, both, level=level), possible(space.model.members(size, both))
    lows, highs = np.quantile(members_s / members_s[:, :1], (ends, 1 - ends), axis=0)
    found = []
    for name, known, place in zip(named, told, np.cumsum(told).tolist(), strict=True):
        if not known:
            found.append(Baseline(name, named[name], None, None))
            continue
        estimate = {"mean": mine.mean_s[place], "low": mine.low_s[place], "high": mine.high_s[place]}
        longer = {"mean": mine.mean_s[place] / mine.mean_s[0], "low": lows[place], "high": highs[place]}
        plain = [{key: float(value) for key, value in part.items()} for part in (estimate, longer)]
        found.append(Baseline(name, named[name], plain[0], plain[1]))
    return tuple(found)


def _allocations(space: Space, size: float) -> dict[str, Allocations]:
    """Each baseline; (kind, 2)."""
    counts, most = (np.array([getattr(kind, name) for kind in space.kinds]) for name in ("count", "most"))
    ones = np.ones_like(counts)
    speeds = _speeds(space, size, int(counts.sum()))
    only = (np.arange(counts.size) == ties.first_most(speeds)).astype(np.int64)
    ratio = np.clip(np.rint(speeds / speeds.min() * (1 + ties.SAME)), 1, most).astype(np.int64)
    pairs = {
        "one-per-pe": (counts, ones),
        "fastest-kind": (only * counts, only),
        "fastest-pe": (only, only),
        "speed-ratio": (counts, ratio),
    }
    return {name: np.stack(pair, axis=1) for name, pair in pairs.items()}


def _speeds(space: Space, size: float, processes: int) -> Floats:
    """Shares per second of a PE of each kind with one of so many processes; (kind,)."""
    most = [1] * len(space.model.kinds)
    times_s = space.model.tables(size, most, processes).pe_s[list(space.places), 0, processes]
    usable = np.isfinite(times_s) & (times_s > 0)
    return np.asarray(1 / np.where(usable, times_s, times_s[usable].max() if usable.any() else 1.0))


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
