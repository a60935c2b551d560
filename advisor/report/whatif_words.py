"""What the text and the page of a what-if have in common: names of points, and numbers."""

from advisor import wording
from advisor.results import Ends
from advisor.whatif import Findings
from advisor.whatif.findings import Diminishing, PointFound
from advisor.whatif.purchases import share_text
from simulator import units

LITTLE = 0.01
"""Chance below which it is written as none."""
DIMINISHING = ("field", "towards what is faster", "no gain is seen", "at most", "1 % at most is left")
"""What `diminishing` gives."""


def short_paths(found: Findings) -> dict[str, str]:
    """Each path by as many of its last parts as tell it from the others."""
    paths = [path for field in found.grid.fields for path in field.paths]
    short = {}
    for path in paths:
        parts = path.split(".")
        tails = (".".join(parts[-count:]) for count in range(1, len(parts) + 1))
        others = [f".{other}" for other in paths if other != path]
        short[path] = next((tail for tail in tails if not any(other.endswith(f".{tail}") for other in others)), path)
    return short


def named(found: Findings, point: PointFound) -> str:
    """What a point changes, by short names, or that it changes nothing."""
    paths = short_paths(found)
    changed = zip(point.set, point.changes, strict=True)
    return (
        ", ".join(f"{paths[path]}={text.partition('=')[2]}" for text, path in changed if path in point.differs)
        or "as it is"
    )


def reason(found: Findings, point: PointFound) -> str:
    """Why a point has no answer, without the path to the scenario."""
    text = wording.clean(point.error)
    before, cut, after = text.partition(f"{found.scenario}: ")
    return after if cut and " " not in before else text


def failures(found: Findings) -> list[tuple[str, list[PointFound]]]:
    """Reasons, each with the points that it kept from an answer."""
    lost: dict[str, list[PointFound]] = {}
    for point in found.points:
        if point.error:
            lost.setdefault(reason(found, point), []).append(point)
    return list(lost.items())


def makespan(point: PointFound) -> str:
    """Mean makespan with its interval, in the unit that reads best."""
    return wording.with_interval(None if point.own is None else point.own.makespan_s)


def chance(found: Findings, point: PointFound) -> str:
    """The chance that no other point is faster, or that it is tied with the fastest: nobody is sure to win a tie."""
    share, said = point.chance, wording.chance(point.chance, found.drawn)
    if point.point not in found.ties:
        return said
    return f"{said} (tie)" if share is not None and LITTLE <= share <= 1 - LITTLE else "tie"


def low_to_high(ends: Ends | None) -> str:
    """The two ends of an interval of ratios."""
    return wording.NOTHING if ends is None else units.show_range(ends.low, ends.high, unit="")


def diminishing(one: Diminishing) -> list[str]:
    """A field, the values looked at, beyond which one no gain is seen, the most that may still be there, and 1 %."""
    beyond = "every step gains" if one.beyond is None else f"beyond {one.beyond}"
    high = None if one.rest is None else one.rest.high
    most = wording.NOTHING if high is None else f"{100 * max(0.0, high - 1):.2g} %"
    little = wording.NOTHING if one.little_beyond is None else f"beyond {one.little_beyond}"
    return [one.field, f"{one.begin} to {one.to}", beyond, most, little]


def per_price(found: Findings, point: PointFound) -> list[str]:
    """The price of a purchase, and what it gains for a round part of it."""
    bought = found.bought or ()
    return [text for one in bought if one.point == point.point for text in (f"{one.price:g}", share_text(one, bought))]


def run_text(point: PointFound, of: str) -> str:
    """What a run costs or draws."""
    spent = point.spent(of)
    return wording.NOTHING if spent is None else wording.digits(spent.run, 4)
