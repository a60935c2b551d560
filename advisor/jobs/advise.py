"""Which one change pays most for a stream of jobs: another policy, other estimates, more PEs; and how sure that is.

Each candidate differs from the base in one thing and runs the same draws. What perfect estimates would give is
stated with them as a bound: nobody can buy it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from advisor.jobs.compare import LEVEL, Alternative, Compared, Generator, Metric, compare, with_sizes
from advisor.jobs.kinds import parts
from advisor.jobs.paired import Differences, differences
from advisor.jobs.setting import Setting, Sizes
from simulator import Estimates, Policy, ScenarioError, Stream, units

Floats = NDArray[np.float64]
KINDS = ("policy", "estimates", "sizes", "add", "change")
"""What a change may be, and what a price may be of."""
BOUND = "bound"
POLICIES = (
    Policy(),
    Policy(candidates="shortest"),
    Policy(backfill="conservative"),
    Policy(backfill="replanned"),
    Policy(order="sjf"),
    Policy(order="wfp3"),
    Policy(order="unicep"),
    Policy(order="f1"),
)
"""Policies that are tried; the usual ones that a scheduler can be set to."""
ESTIMATES = (Estimates("last-two"), Estimates("last-two", "limit"))
PLACEMENTS: tuple[Literal["fastest", "earliest-finish", "min-min"], ...] = ("fastest", "earliest-finish", "min-min")
QUANTILES = 0.5, 0.9
"""Of predicted run times that are tried."""
SIZES: tuple[Sizes, ...] = ("fit", "advised")
MORE = 0.05
"""Share of the PEs that is added as one candidate; a single PE is another."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One change of the base."""

    kind: str
    """One of `KINDS`, or `bound` for what nobody can have."""
    alternative: Alternative
    price: float | None = None


@dataclass(frozen=True, eq=False)
class JobAdvice:
    """What `advise` found."""

    compared: Compared
    """The base first, then the candidates."""
    candidates: tuple[Candidate, ...]
    metric: Metric
    gains: Differences
    """How much better each candidate is than the base: above 0 is better; (candidate,)."""
    best: int | None
    """The candidate that pays most, if one surely pays."""
    ties: tuple[int, ...]
    """Others that cannot be distinguished from it."""
    best_per_price: int | None
    ties_per_price: tuple[int, ...]

    @property
    def refused(self) -> str | None:
        """Why there is no advice, in one sentence."""
        over = self.compared.overloaded[0]
        return self.compared.no_interval(self.metric) or (f"the base is overloaded: {over}" if over else None)

    @property
    def sentence(self) -> str:
        """The answer."""
        if self.refused is not None:
            return f"no advice: {self.refused}"
        if self.best is None:
            return f"no change surely lowers the {self.metric.said} of {self._name(None)}"
        said = f"{self._name(self.best)} pays most: it lowers the {self.metric.said} by {self._gain(self.best)}"
        ties = f"; it cannot be distinguished from {self._names(self.ties)}" if self.ties else ""
        return said + ties + self._priced()

    def _priced(self) -> str:
        if self.best_per_price is None:
            return ""
        ties = self.ties_per_price
        other = f", not distinguished from {self._names(ties)}" if ties else ""
        return f"; per price it is {self._name(self.best_per_price)}{other}"

    def _name(self, place: int | None) -> str:
        return self.compared.alternatives[0 if place is None else place + 1].name

    def _names(self, places: Sequence[int]) -> str:
        return ", ".join(self._name(place) for place in places)

    def _gain(self, place: int) -> str:
        low, mean, high = (float(getattr(self.gains, name)[place]) for name in ("low", "mean", "high"))
        return units.show_interval(mean, low, high, unit=self.metric.unit)


def candidates(
    base: Alternative,
    *,
    stream: Stream | None = None,
    add: Sequence[int] | None = None,
    needed: Mapping[str, int] | None = None,
    changed: Sequence[Setting] = (),
    prices: Mapping[str, float] | None = None,
) -> tuple[Candidate, ...]:
    """Changes of the base that can be tried: usual policies, predictions, more PEs or nodes, exact estimates.

    On a platform also placements, quantiles of predicted run times, other sizes of moldable jobs, and changes of it.

    Raises ScenarioError for a price of an unknown kind, or one that is not positive.

    `stream`: its moldable jobs get other sizes.
    `changed`: the platform with something changed: a node added, a faster link.
    `add`: PEs, or nodes of each kind, to add; one, and 5 %, if not given. None are added to a platform whose PEs are
    described one by one.
    `needed`: more that are tried, by name of the part.
    `prices`: by kind of change; that of `add` is for each PE or node, that of a node's name for each of its kind.
    """
    ways = parts(base.setting)
    known, each = dict(prices or {}), part_prices(base.setting, prices)
    nodes = [name for name in known if any(part.holds(name) for part in ways)]
    if wrong := [name for name, price in known.items() if name not in (*KINDS, *nodes) or not price > 0]:
        raise ScenarioError(f"price: {', '.join(wrong)} is no change with a price; give {', '.join(KINDS)}, above 0")
    added = list[Candidate]()
    found = [("policy", replace(base, name=f"policy {one.name}", policy=one)) for one in _policies(base)]
    found += _estimates(base)
    if stream is not None and stream.moldable:
        found += [
            ("sizes", replace(with_sizes(base, _plan(base), size, stream), name=f"sizes {size}")) for size in SIZES
        ]
    for part in ways:
        mine = [(needed or {})[part.name]] if part.name in (needed or {}) else []
        for more in dict.fromkeys([*(add or (1, max(1, round(MORE * part.now)))), *mine]):
            one = replace(base, name=f"{more} {part.counted(more)} more", setting=part.setting_with(part.now + more))
            price = each.get(part.name)
            added.append(Candidate("add", one, None if price is None else price * more))
    changes = [("change", replace(base, name=one.label, setting=one)) for one in changed]
    rest = [[Candidate(kind, one, known.get(kind)) for kind, one in some] for some in (found, changes)]
    return (*rest[0], *added, *rest[1])


def part_prices(setting: Setting, prices: Mapping[str, float] | None) -> dict[str, float]:
    """What each PE, or node of a kind, costs, by name of the part; nothing for those whose price nobody says."""
    known = prices or {}
    own = {part.name: [price for name, price in known.items() if part.holds(name)] for part in parts(setting)}
    usual = [known["add"]] if "add" in known else []
    return {name: (found or usual)[0] for name, found in own.items() if found or usual}


def _plan(base: Alternative) -> Estimates | float:
    return base.estimates if base.quantile is None else base.quantile


def _policies(base: Alternative) -> list[Policy]:
    """Other policies; on PEs by number, other placements too."""
    if base.policy.processors == "counted":
        return [one for one in POLICIES if one.name != base.policy.name]
    named = [replace(one, processors="named", placement=base.policy.placement) for one in POLICIES]
    if base.setting.scenario is not None:
        named += [replace(base.policy, placement=one) for one in PLACEMENTS]
    return [one for one in named if one.name != base.policy.name]


def _estimates(base: Alternative) -> list[tuple[str, Alternative]]:
    """Other estimates, and exact ones as a bound, which nobody has of jobs that are simulated together."""
    if base.estimates.source == "exact":
        return []
    others = [replace(base, estimates=one, quantile=None) for one in ESTIMATES if one.name != base.planned_with]
    if base.setting.predicted is not None:
        others += [replace(base, quantile=one) for one in QUANTILES if one != base.quantile]
    found = [("estimates", replace(one, name=f"estimates {one.planned_with}")) for one in others]
    if base.setting.predicted is not None and base.setting.times == "simulated":
        return found
    return [
        *found,
        (BOUND, replace(base, name="exact estimates (a bound)", estimates=Estimates("exact"), quantile=None)),
    ]


def advise(  # noqa: PLR0913 - all by name
    source: Stream | Generator,
    base: Alternative,
    changes: Sequence[Candidate],
    *,
    objective: str = "wait",
    draws: str = "weeks",
    replications: int = 100,
    level: float = LEVEL,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> JobAdvice:
    """Which change pays most for one metric; see `advisor.jobs.compare.compare` for what draws are.

    A change pays if its difference to the base is one after Holm's correction for all changes. Another cannot be
    distinguished from the best if their own difference, corrected likewise, is none.

    Raises ScenarioError as `compare`.
    """
    choices = [base, *(one.alternative for one in changes)]
    found = compare(source, choices, draws=draws, replications=replications, metrics=[objective], level=level,
                    seed=seed, workers=workers, progress=progress)  # fmt: skip
    metric = found.metrics[0]
    gains = _turned(found.by_metric[metric.name]) if metric.less_is_better else found.by_metric[metric.name]
    free = np.array([one.kind != BOUND for one in changes])
    prices = np.array([one.price or np.nan for one in changes])
    sure = (gains.holm < 1 - level) & (gains.mean > 0) & free
    best, ties = _first(found, gains.mean, sure, free, np.ones(len(changes)))
    per, near = _first(found, gains.mean / prices, sure & ~np.isnan(prices), free & ~np.isnan(prices), prices)
    return JobAdvice(found, tuple(changes), metric, gains, best, ties, per, near)


def _turned(found: Differences) -> Differences:
    """Base minus other in the place of other minus base."""
    return replace(
        found, mean=-found.mean, low=-found.high, high=-found.low,
        low_together=-found.high_together, high_together=-found.low_together,
    )  # fmt: skip


def _first(
    found: Compared, worth: Floats, sure: NDArray[np.bool_], free: NDArray[np.bool_], prices: Floats
) -> tuple[int | None, tuple[int, ...]]:
    """The candidate of most worth among the sure ones, and those that cannot be distinguished from it."""
    if not sure.any():
        return None, ()
    best = int(np.argmax(np.where(sure, worth, -np.inf)))
    said = ~np.array([why is not None for why in found.overloaded[1:]])
    others = np.flatnonzero(free & said & (np.arange(worth.size) != best))
    centres = found.centres()[:, 0]

    def scaled(values: Floats) -> Floats:
        """Change to the base per price; (candidate, ...)."""
        return np.asarray(((values[1:] - values[0]).T / prices).T)

    draws, own = scaled(found.values[:, :, 0].T), scaled(centres)
    apart = differences(
        draws[others] - draws[best],
        own[others] - own[best] if found.of_one_log else None,
        units=found.units,
        level=found.level,
    )
    same = ~(apart.holm < 1 - found.level)
    return best, tuple(others[same].tolist())
