"""What to buy: changes with prices, each a point of a what-if, and which of them pays most per price."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from advisor.advise.ranking import Gain
from advisor.results import Ends
from advisor.whatif.outcomes import Outcomes, times, together
from advisor.wording import listed, with_interval
from simulator import ScenarioError, given, intervals, ties, usual_link

_ITEM = re.compile(r"\s*((?:\[[^]]*]|{[^}]*}|[^,[{])+?)\s+at\s+([0-9]+(?:\.[0-9]+)?)\s*(?:,|$)")
MARGIN = 0.01
"""Part of the best gain per price that is not worth being better."""
_LINKS = (("platform", "link"), ("platform", "network", "link"))


@dataclass(frozen=True)
class Purchase:
    """A change that has a price."""

    name: str
    change: str
    """As `--set` takes it."""
    price: float


@dataclass(frozen=True)
class Bought:
    """What a purchase gains per price."""

    point: int
    name: str
    price: float
    pays: bool
    per_price: Ends
    """By how much more of the work is done in a second, as a share, for one of the price's unit."""
    tied: bool
    """Whether it cannot be told from the one that pays most per price."""


def read_purchases(text: str, data: Any) -> tuple[Purchase, ...]:
    """Read `new: 1 at 8000, 25GbE at 3000`: nodes to add, a usual network, or any change, each with its price.

    Raises ScenarioError if one has no price, or the file writes out no link that a network could take the place of.

    `data`: what the scenario's file holds.
    """
    found, end = list[Purchase](), 0
    for item in _ITEM.finditer(text):
        if item.start() != end:
            break
        end, name, price = item.end(), item[1], float(item[2])
        if price <= 0:
            raise ScenarioError(f"--buy {name}: its price is {item[2]}; give one above 0")
        given.check_once(change := _change(name, data), [one.change for one in found], where="--buy")
        found.append(Purchase(name, change, price))
    if end != len(text) or not found:
        rest = text[end:].strip()[:60]
        raise ScenarioError(
            f"--buy: {rest!r} has no price; write WHAT at PRICE, such as 'new: 1 at 8000, 25GbE at 3000'"
        )
    return tuple(found)


def _change(name: str, data: Any) -> str:
    if "=" in name:
        return name
    if usual_link(name) is None:
        return f"platform.nodes+={name}"
    for path in _LINKS:
        here = data
        for key in path:
            here = here.get(key) if isinstance(here, Mapping) else None
        if here is not None:
            return f"{'.'.join(path)}={name}"
    raise ScenarioError(f"--buy {name}: the file has no one link; say which, such as platform.network.uplink={name}")


def bought_of(
    gains: Mapping[int, Gain], pays: Collection[int], outcomes: Outcomes, purchases: Sequence[Purchase]
) -> tuple[Bought, ...]:
    """What each purchase gains per price: those that pay first, and of these the one that pays most per price.

    `gains`: of the points that have one; the first purchase is point 1.
    """
    found = []
    for point, gain in gains.items():
        one = purchases[point - 1]
        per_price = Ends(*(None if end is None else (end - 1) / one.price for end in (gain.mean, gain.low, gain.high)))
        found.append(Bought(point, one.name, one.price, point in pays, per_price, tied=False))
    order = ties.in_order([-(one.per_price.mean or 0.0) for one in found])
    rows = sorted((found[place] for place in order), key=lambda one: not one.pays)
    near = _not_behind(outcomes, rows) if rows else ()
    return tuple(replace(one, tied=one.pays and tied) for one, tied in zip(rows, near, strict=True))


def _not_behind(outcomes: Outcomes, rows: Sequence[Bought]) -> list[bool]:
    """Whether each is not surely behind the first one per price by more than 1 %; intervals of all hold together."""
    points = np.array([one.point for one in rows])
    base_s, own_s, base_reach_s, reach_s = outcomes.compared(np.zeros_like(points), points)
    price = np.array([[one.price] for one in rows])
    means_s = own_s.mean(axis=1, keepdims=True)
    gains = base_s.mean(axis=1, keepdims=True) / means_s
    # varies over replications as the gain does, which is its mean
    values = (gains - 1 + (base_s - gains * own_s) / means_s) / price
    level = together(outcomes.level, len(rows) - 1)
    sure = outcomes.deterministic
    found = intervals.of_difference(values[0], values, outcomes.truths, level=level, deterministic=sure)
    reach = (base_reach_s / reach_s - 1) / price[:, 0]
    rates = np.where(np.isnan(reach), (gains[:, 0] - 1) / price[:, 0], reach)
    found = found.reaching(np.where(np.isnan(reach) & np.isnan(reach[0]), np.nan, rates - rates[0]))
    return [not high < -MARGIN * values[0].mean() for high in found.high.tolist()]


def price_unit(rows: Sequence[Bought]) -> int:
    """What gains are stated for: the power of ten at or below the highest price."""
    return int(10 ** max(0, math.floor(math.log10(max((one.price for one in rows), default=1.0)))))


def share_text(one: Bought, rows: Sequence[Bought]) -> str:
    """What a purchase gains for a round part of its price, in percent."""
    return with_interval(times(one.per_price, price_unit(rows)), "%")


def sentence(rows: Sequence[Bought]) -> str:
    """Which purchase pays most per price; empty where none pays."""
    paying = [one for one in rows if one.pays]
    tied = [one for one in paying if one.tied]
    if not paying:
        return ""
    per = f"more work in a second for each {price_unit(rows)}"
    if len(tied) > 1:
        names, texts = listed([one.name for one in tied]), listed([share_text(one, rows) for one in tied])
        return f"Per price {names} are a tie: {texts} {per}."
    rest = "".join(f"; {one.name}: {share_text(one, rows)}" for one in paying[1:3])
    return f"Per price {paying[0].name} pays most: {share_text(paying[0], rows)} {per}{rest}."
