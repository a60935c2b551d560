"""Changes together: whether they gain what their single gains promise, and what the points cost beside it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from advisor.advise.pareto import front
from advisor.advise.ranking import product_of_means
from advisor.whatif.outcomes import Outcomes
from simulator import ties

MOST_INTERACTIONS = 20
"""Combinations that are told, those that differ most from the product of their single gains."""


def interactions(
    changed: Mapping[int, Mapping[str, str]], outcomes: Outcomes, *, first: int | None = None
) -> tuple[list[dict[str, Any]], int]:
    """Each combination against its single changes, those that surely differ most first, and how many there are.

    `factor` is the gain together over the product of the single gains, with intervals that hold for all together:
    above 1 they help each other, below 1 the one leaves less for the other to gain.

    Parameters
    ----------
    changed
        Of each point with an answer, what differs from the base: path and value as text.
    first
        The combination to begin with, if it is one.
    """
    single = {next(iter(of.items())): point for point, of in reversed(list(changed.items())) if len(of) == 1}
    known = {
        point: [single[item] for item in of.items()]
        for point, of in changed.items()
        if len(of) > 1 and all(item in single for item in of.items())
    }
    found: list[tuple[float, float, dict[str, Any]]] = []
    for point, parts in known.items():
        # gain together / product of gains = product of single means / (mean together x base^(parts - 1))
        rows = np.array([0, point, *parts])
        powers = np.array([1.0 - len(parts), -1.0, *[1.0] * len(parts)])
        log, half = product_of_means(
            powers, outcomes.own_s(rows), comparisons=len(known), deterministic=outcomes.deterministic
        )
        ends = (None, None) if math.isnan(half) else (log - max(half, ROUNDING), log + max(half, ROUNDING))
        base_s = outcomes.mean_s(0)
        singles = [base_s / outcomes.mean_s(part) for part in parts]
        entry = {
            "point": point,
            "parts": parts,
            "gain": base_s / outcomes.mean_s(point),
            "product": math.prod(singles),
            "factor": {"mean": math.exp(log)}
            | {name: None if end is None else math.exp(end) for name, end in zip(("low", "high"), ends, strict=True)},
        }
        sure = math.inf if point == first else max(0.0, abs(log) - half) if half >= 0 else 0.0
        found.append((sure, abs(log), entry))
    order = ties.in_order([-sure for sure, *_ in found], [-size for _, size, _ in found], floor=ROUNDING)
    return [found[place][2] for place in order[:MOST_INTERACTIONS]], len(found)


ROUNDING = 1e-9
"""Factors nearer to 1 are 1."""
RATES = {"cost": ("cost_per_s", "units of cost"), "energy": ("power_w", "J")}
"""What a platform may say: the entry of a point's document, and the unit of that times seconds."""


def add_costs(entries: Sequence[dict[str, Any]], outcomes: Outcomes) -> list[dict[str, Any]]:
    """Put cost and energy of a run into entries of points, and return the fronts of makespan and cost.

    All PEs of the platform at the point count for the whole makespan, used or not: that is what one pays for.
    """
    fronts = []
    for of, (key, unit) in RATES.items():
        rates = [said.get("rates", {}) for said in outcomes.told]
        told = [point for point in outcomes.answered.tolist() if key in rates[point]]
        for point in told:
            rate = rates[point][key]
            entries[point][of] = {key: rate, "run": rate * outcomes.mean_s(point)}
        if not told:
            continue
        values = np.array([outcomes.mean_s(point) for point in told])
        spent = np.array([entries[point][of]["run"] for point in told])
        fronts.append(
            {
                "of": of,
                "unit": unit,
                "points": [told[place] for place in front(values, spent)],
                "considered": len(told),
                "silent": outcomes.answered.size - len(told),
            }
        )
    return fronts
