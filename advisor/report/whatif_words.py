"""What the text and the page of a what-if have in common: names of points, numbers, and the matrix of two fields."""

from collections.abc import Mapping
from typing import Any

from advisor import wording
from advisor.wording import clean, number
from simulator import units

Entry = Mapping[str, Any]


def short_paths(document: Entry) -> dict[str, str]:
    """Each path by as many of its last parts as tell it from the others."""
    paths = [path for field in document["grid"]["fields"] for path in field["paths"]]
    found = {}
    for path in paths:
        parts = path.split(".")
        tails = (".".join(parts[-count:]) for count in range(1, len(parts) + 1))
        others = [f".{other}" for other in paths if other != path]
        found[path] = next((tail for tail in tails if not any(other.endswith(f".{tail}") for other in others)), path)
    return found


def named(document: Entry, entry: Entry) -> str:
    """What a point changes, by short names, or that it changes nothing."""
    paths = short_paths(document)
    found = [
        f"{paths[path]}={text.partition('=')[2]}"
        for text, path in zip(entry["set"], entry["changes"], strict=True)
        if path in entry["differs"]
    ]
    return clean(", ".join(found) or "as it is")


def reason(document: Entry, entry: Entry) -> str:
    """Why a point has no answer, without the path to the scenario."""
    text = clean(entry["error"])
    before, found, after = text.partition(f"{document['scenario']}: ")
    return after if found and " " not in before else text


def failures(document: Entry) -> list[tuple[str, list[Entry]]]:
    """Reasons, each with the points that it kept from an answer."""
    found: dict[str, list[Entry]] = {}
    for entry in document["points"]:
        if entry["error"]:
            found.setdefault(reason(document, entry), []).append(entry)
    return list(found.items())


def best_of(entry: Entry) -> Entry:
    """The configuration that a point is judged by; empty where it has no answer."""
    return next((one for one in entry["configurations"] if one["name"] == entry["best"]), {})


def makespan(entry: Entry) -> str:
    """Mean makespan with its interval, in the unit that reads best."""
    return wording.with_interval(best_of(entry).get("makespan_s"))


def difference(found: Entry | None) -> str:
    """Seconds more or less than the base, with their interval."""
    return wording.with_interval(found, signed=True)


def _unit(seconds: float) -> tuple[float, str]:
    return next(
        ((scale, unit) for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if seconds >= scale),
        (1e-9, "ns") if seconds else (1.0, "s"),
    )


def chance(document: Entry, entry: Entry) -> str:
    """The chance that no other point is faster, or that it is tied with the fastest: nobody is sure to win a tie."""
    share = number(entry["chance"])
    told = wording.chance(share, document)
    if entry["point"] not in (document.get("ties") or ()):
        return told
    return f"{told} (tie)" if share is not None and LITTLE <= share <= 1 - LITTLE else "tie"


LITTLE = 0.01
"""Chance below which it is told as none."""


def gain(found: Entry | None) -> str:
    """A gain with its interval."""
    return wording.with_interval(found, "")


def low_to_high(found: Entry | None) -> str:
    """The two ends of an interval of ratios."""
    return wording.NOTHING if found is None else units.show_range(found["low"], found["high"], unit="")


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
    means = [
        [number((best_of(points[point]).get("makespan_s") or {}).get("mean")) for point in row]
        for row in grid["points"]
    ]
    known = [mean for row in means for mean in row if mean is not None]
    if not known:
        return None
    scale, unit = _unit(min(known))
    cells = [["failed" if mean is None else wording.digits(mean / scale, 4) for mean in row] for row in means]
    head = ["", *(clean(stop["text"]) for stop in across["stops"])]
    return head, [[clean(stop["text"]), *row] for stop, row in zip(down["stops"], cells, strict=True)], unit


def by_gain(document: Entry) -> list[Entry]:
    """Points with a gain, the fastest first."""
    from simulator import ties  # NumPy is for those who ask

    some = [entry for entry in document["points"] if entry["gain"] is not None]
    gain, changes = [-entry["gain"]["mean"] for entry in some], [len(entry["differs"]) for entry in some]
    return [some[place] for place in ties.in_order(gain, changes)]


def diminishing(found: Entry) -> list[str]:
    """A field, the values looked at, beyond which one no gain is seen, the most that may still be there, and 1 %."""
    beyond = "every step gains" if found["beyond"] is None else f"beyond {clean(found['beyond'])}"
    rest = found["rest"]
    most = wording.NOTHING if rest is None or rest["high"] is None else f"{100 * max(0.0, rest['high'] - 1):.2g} %"
    little = wording.NOTHING if found["little_beyond"] is None else f"beyond {clean(found['little_beyond'])}"
    return [clean(found["field"]), f"{clean(found['from'])} to {clean(found['to'])}", beyond, most, little]


DIMINISHING = ("field", "towards what is faster", "no gain is seen", "at most", "1 % at most is left")
"""What `diminishing` gives."""


def interaction_text(document: Entry, found: Entry) -> str:
    """Whether two changes help each other, in words."""
    factor = found["factor"]
    if factor["low"] is None:
        how = "whether they help each other cannot be told from so few replications"
    elif factor["low"] <= 1 <= factor["high"]:
        how = "as much as the single gains multiplied, as far as can be told"
    elif factor["mean"] > 1:
        how = "more than the single gains multiplied: they help each other"
    else:
        how = "less than the single gains multiplied: the one leaves less to the other"
    name = named(document, document["points"][found["point"]])
    return f"{name}: {found['gain']:.2f} together, {found['product']:.2f} multiplied; {how}"


def percents(found: Entry) -> str:
    """An elasticity with its interval."""
    return wording.with_interval(found, "", signed=True)
