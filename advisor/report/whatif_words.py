"""What the text and the page of a what-if have in common: names of points, numbers, and the matrix of two fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from advisor.report import wording
from advisor.report.wording import clean, number
from simulator import units

Entry = Mapping[str, Any]


def named(entry: Entry) -> str:
    """The changes of a point, or that it has none."""
    return clean(", ".join(entry["set"]) or "as it is")


def best_of(entry: Entry) -> Entry:
    """The configuration that a point is judged by; empty where it has no answer."""
    return next((one for one in entry["configurations"] if one["name"] == entry["best"]), {})


def makespan(entry: Entry) -> str:
    """Mean makespan with half its interval, in the unit that reads best."""
    return with_unit(best_of(entry).get("makespan_s"))


def with_unit(found: Entry | None, *, signed: bool = False) -> str:
    """Seconds as `mean`, `low`, `high`, in the unit that reads best."""
    mean = number((found or {}).get("mean"))
    if found is None or mean is None:
        return wording.NOTHING
    scale, unit = _unit(max(abs(mean), (found["high"] - found["low"]) / 2))
    text = wording.with_interval({key: found[key] / scale for key in ("mean", "low", "high")})
    return f"{'+' if signed and mean > 0 else ''}{text} {unit}"


def _unit(seconds: float) -> tuple[float, str]:
    return next(
        ((scale, unit) for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if seconds >= scale),
        (1e-9, "ns") if seconds else (1.0, "s"),
    )


def gain(found: Entry | None) -> str:
    """A gain with half its interval."""
    return wording.with_interval(found)


def low_to_high(found: Entry | None, decimals: int = 2) -> str:
    """The two ends of an interval of ratios."""
    return wording.NOTHING if found is None else f"{found['low']:.{decimals}f} to {found['high']:.{decimals}f}"


def values_of(field: Entry, *, most: int = 8) -> str:
    """The stops of a field: all, or the first and the last of many."""
    texts = [clean(stop["text"]) for stop in field["stops"]]
    return ", ".join(texts) if len(texts) <= most else f"{len(texts)} values, {texts[0]} to {texts[-1]}"


def matrix(document: Entry) -> tuple[list[str], list[list[str]], str] | None:
    """Makespans of a grid of two fields: header, rows, and the unit; None for other grids."""
    grid = document["grid"]
    if len(grid["fields"]) != 2:
        return None
    points = document["points"]
    down, across = grid["fields"]
    means = [[number((best_of(points[point]).get("makespan_s") or {}).get("mean")) for point in row] for row in grid["points"]]
    known = [mean for row in means for mean in row if mean is not None]
    if not known:
        return None
    scale, unit = _unit(min(known))
    cells = [["failed" if mean is None else wording.digits(mean / scale, 4) for mean in row] for row in means]
    head = ["", *(clean(stop["text"]) for stop in across["stops"])]
    return head, [[clean(stop["text"]), *row] for stop, row in zip(down["stops"], cells, strict=True)], unit


def by_gain(document: Entry) -> list[Entry]:
    """Points with a gain, the fastest first."""
    some = [entry for entry in document["points"] if entry["gain"] is not None]
    return sorted(some, key=lambda entry: (-entry["gain"]["mean"], len(entry["differs"])))


def diminishing_text(found: Entry) -> str:
    """Where more of a field gains nothing any more."""
    others = f" (others {found['others']})" if found["others"] else ""
    name, end = f"{clean(found['field'])}{others}", clean(found["to"])
    if found["beyond"] is None:
        said = f"{name}: every step up to {end} still gains"
    elif found["beyond"] == found["from"]:
        said = f"{name}: no value up to {end} is seen to gain over {clean(found['from'])}; at most {_most(found['rest'])}"
    else:
        said = f"{name}: beyond {clean(found['beyond'])} no further gain up to {end} is seen; at most {_most(found['rest'])}"
    little = found["little_beyond"]
    return said if little in {None, found["beyond"]} else f"{said}; beyond {clean(little)} at most 1 %"


def _most(rest: Entry) -> str:
    return f"{100 * max(0.0, rest['high'] - 1):.2g} %"


def interaction_text(found: Entry, points: Sequence[Entry]) -> str:
    """Whether two changes help each other, in words."""
    factor = found["factor"]
    if factor["low"] <= 1 <= factor["high"]:
        how = "as much as the single gains multiplied, as far as can be told"
    elif factor["mean"] > 1:
        how = "more than the single gains multiplied: they help each other"
    else:
        how = "less than the single gains multiplied: the one leaves less to the other"
    return f"{named(points[found['point']])}: {found['gain']:.2f} together, {found['product']:.2f} multiplied; {how}"


def percents(found: Entry) -> str:
    """An elasticity with its interval."""
    half = (found["high"] - found["low"]) / 2
    return f"{found['mean']:+.2f} +/- {half:.2f}"


def duration_or_nothing(seconds: float | None) -> str:
    """A duration, if there is one."""
    return wording.NOTHING if seconds is None else units.show_duration(seconds)
