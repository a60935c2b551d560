"""What Extra-P reads, as it reads it: its text, JSON of today and before, JSON lines, and Talpas."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simulator.base import files
from simulator.base.errors import ScenarioError, meant
from simulator.base.units import to_number
from simulator.calibration.history.store import TOTAL

__all__ = ["Measurements", "Regions", "measured", "read_extrap_json", "read_extrap_text"]

Regions = dict[str, dict[tuple[float, ...], list[float]]]
"""Region -> point -> repetitions."""
TIME: Final = "time"
_TIMES: Final = (TIME, "runtime")
"""Metrics that are taken where there are others, whatever these are."""
_FORMATS: Final = "Extra-P's text, its JSON of today or before, JSON lines, or Talpas"
_SPARE: Final = ("$schema", "callpaths", "metrics", "coordinates")


@dataclass
class Measurements:
    """All values of a file."""

    place: str
    names: list[str] = field(default_factory=list)
    """Parameters."""
    metrics: dict[str, Regions] = field(default_factory=dict)
    repeated: int = 0
    """Entries of a point that had one already."""

    def named(self, names: Sequence[Any], where: str) -> None:
        """Add parameters, each of them once."""
        for name in names:
            if not isinstance(name, str) or not name or name in self.names:
                raise ScenarioError(f"{where}: parameter {name!r:.60} comes twice or is no name; name each once")
            self.names.append(name)

    def add(self, metric: str, region: str, point: Sequence[Any], values: Sequence[Any], where: str) -> None:
        """Add the repetitions of a point to those that it has."""
        if len(point) != len(self.names):
            wanted = f"{len(self.names)}, one for each parameter ({', '.join(self.names)})"
            raise ScenarioError(f"{where}: a point has {len(point)} values; give {wanted}")
        if not values:
            raise ScenarioError(f"{where}: there is no value; give one for each repetition")
        key = tuple(_number(value, where) for value in point)
        found = self.metrics.setdefault(metric, {}).setdefault(region, {}).setdefault(key, [])
        self.repeated += bool(found)
        found += [_number(value, where) for value in values]


def measured(found: Measurements, asked: Sequence[str]) -> tuple[list[str], Regions, list[str]]:
    """Parameters, times of the metric that is meant, and a line for each thing that a user should know.

    `asked`: the metric in seconds that the user names, if one.
    """
    place, metrics = found.place, ", ".join(found.metrics) or "none"
    if not found.names or not found.metrics:
        raise ScenarioError(f"{place}: there is no parameter or no measurement; name a file of {_FORMATS}")
    if len(asked) > 1 or not set(asked) <= set(found.metrics):
        close = meant(asked[-1], found.metrics)
        raise ScenarioError(f"{place}: --time names {', '.join(asked)}; name one of the metrics {metrics}{close}")
    usual = [name for name in found.metrics if name.lower() in _TIMES]
    alike = usual or [name for name in found.metrics if re.search(r"time|seconds|_s$", name.lower())]
    chosen = list(asked) or alike
    if len(chosen) != 1:
        which = "none is known to be a time" if not chosen else "several may be the time"
        raise ScenarioError(f"{place}: of the metrics {metrics} {which}; name the one in seconds with --time")
    others = [name for name in found.metrics if name not in chosen]
    notes = [f"{place}: metrics left out: {', '.join(others)}; {chosen[0]} is read as the time"] if others else []
    if found.repeated:
        said = "1 point that comes again is" if found.repeated == 1 else f"{found.repeated} points that come again are"
        notes.append(f"{place}: {said} read as repetitions: each measurement is a run")
    return found.names, found.metrics[chosen[0]], notes


def read_extrap_text(text: str, place: str) -> Measurements:
    """The lines PARAMETER, POINTS, REGION, METRIC and DATA."""
    found, reader = Measurements(place), _Text()
    for number, raw in enumerate(text.splitlines(), 1):
        word, _, rest = raw.strip().replace("\t", " ").partition(" ")
        if word and not word.startswith("#"):
            reader.take(word.upper(), rest.strip(), found, f"{place}:{number}")
    reader.close(f"{place}:{len(text.splitlines())}")
    return found


@dataclass
class _Text:
    """Where a reader of the text stands."""

    points: list[tuple[str, ...]] = field(default_factory=list)
    region: str = TOTAL
    metric: str = TIME
    at: int = 0
    """Of how many points there were data, for this region and metric."""
    awaits: str = ""
    """What was begun and has no DATA yet: a region or a metric."""

    def take(self, word: str, rest: str, found: Measurements, where: str) -> None:
        """Read a line."""
        match word:
            case "PARAMETER":
                found.named(rest.split(), where)
            case "POINTS":
                self.points += _points(rest, where)
            case "REGION":
                self.close(where)
                self.region, self.at, self.awaits = rest or TOTAL, 0, "REGION"
            case "METRIC":
                self.awaits = "" if self.awaits == "REGION" else self.awaits
                self.close(where)
                self.metric, self.at, self.awaits = rest or TIME, 0, "METRIC"
            case "DATA":
                if self.at >= len(self.points):
                    raise ScenarioError(f"{where}: there are more DATA lines than the {len(self.points)} POINTS")
                found.add(self.metric, self.region, self.points[self.at], rest.split(), where)
                self.at, self.awaits = self.at + 1, ""
            case _:
                allowed = "PARAMETER, POINTS, REGION, METRIC or DATA"
                raise ScenarioError(f"{where}: {word!r:.60} is no line of Extra-P; write {allowed}")

    def close(self, where: str) -> None:
        """Extra-P takes a line for each point, no fewer."""
        if self.awaits or self.at not in {0, len(self.points)}:
            wanted = f"give {len(self.points)}, one for each of POINTS"
            raise ScenarioError(f"{where}: {self.region} has {self.at} DATA lines; {wanted}")


def _points(text: str, where: str) -> list[tuple[str, ...]]:
    """A point in each pair of parentheses, or each word a point."""
    if "(" not in text and ")" not in text:
        return [(cell,) for cell in text.split()]
    rest = re.sub(r"\([^()]*\)", "", text).strip()
    if rest:
        raise ScenarioError(f"{where}: {rest[:40]!r} stands outside of the points; write each in parentheses")
    return [tuple(group.replace(", ", " ").split()) for group in re.findall(r"\(([^()]*)\)", text)]


def _number(value: Any, where: str) -> float:
    number = to_number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ScenarioError(f"{where}: {value!r:.60} is no number")
    return float(number)


def read_extrap_json(text: str, place: str) -> Measurements:
    """One document, of today or as Extra-P wrote them before, or a document on each line."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    found = Measurements(place)
    if all(line.lstrip().startswith("{") for _, line in lines) and (len(lines) > 1 or '"measurements"' not in text):
        for number, line in lines:
            _take_line(found, line, f"{place}:{number}")
        return found
    document = _fields(files.parse_json(text, place), place, ("parameters", "measurements"), spare=_SPARE)
    if "callpaths" in document or "coordinates" in document:
        _take_older(found, document)
    else:
        _take_newer(found, document)
    return found


def _fields(data: Any, where: str, needed: Sequence[str], *, spare: Sequence[str] = ()) -> Mapping[str, Any]:
    """An object with these fields and no others."""
    if not isinstance(data, dict):
        raise ScenarioError(f"{where}: this is no object with {' and '.join(needed)}; write {_FORMATS}")
    if missing := [name for name in needed if name not in data]:
        raise ScenarioError(f"{where}: {', '.join(missing)} missing; write {_FORMATS}")
    if unknown := [name for name in data if name not in (*needed, *spare)]:
        close = meant(unknown[0], (*needed, *spare))
        raise ScenarioError(f"{where}: {unknown[0]!r:.60} is no field of {_FORMATS}{close}")
    return data


def _entries(data: Any, where: str) -> Iterator[tuple[str, Any]]:
    """What is in a list or an object, with where it stands."""
    if not isinstance(data, list | dict) or not data:
        raise ScenarioError(f"{where}: this is empty, or no list of entries; write {_FORMATS}")
    for key, entry in data.items() if isinstance(data, dict) else enumerate(data):
        yield f"{where}.{key}", entry


def _listed(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list):
        raise ScenarioError(f"{where}: {data!r:.60} is no list; write one")
    return data


def _take_newer(found: Measurements, document: Mapping[str, Any]) -> None:
    """`measurements: {region: {metric: [{point, values}]}}`."""
    found.named(_listed(document["parameters"], f"{found.place}: parameters"), f"{found.place}: parameters")
    for region, metrics in _entries(document["measurements"], f"{found.place}: measurements"):
        name = region.removeprefix(f"{found.place}: measurements.")
        for metric, entries in _entries(metrics, region):
            for where, entry in _entries(_listed(entries, metric), metric):
                one = _fields(entry, where, ("point", "values"))
                point, values = _listed(one["point"], f"{where}.point"), _listed(one["values"], f"{where}.values")
                found.add(metric.removeprefix(f"{region}."), name, point, values, where)


def _take_line(found: Measurements, text: str, where: str) -> None:
    """`{params, [callpath], [metric], value}`; Talpas says `parameters`, and may have `;` between fields."""
    talpas = '"parameters"' in text
    try:
        data = files.parse_json(text, where)
    except ScenarioError:
        if not talpas:
            raise
        data = files.parse_json(text.replace(";", ","), where)
    key = "parameters" if talpas else "params"
    one = _fields(data, where, (key, "value"), spare=("callpath", "metric"))
    names, values = one[key], one["value"] if isinstance(one["value"], list) else [one["value"]]
    if not isinstance(names, dict) or (found.names and set(names) != set(found.names)):
        wanted = ", ".join(found.names) or "names and values"
        raise ScenarioError(f"{where}: {key}: {names!r:.60} are other parameters than above; give {wanted}")
    if not found.names:
        found.named(list(names), where)
    metric, region = one.get("metric", TIME), one.get("callpath", TOTAL)
    if not isinstance(metric, str) or not isinstance(region, str):
        raise ScenarioError(f"{where}: metric or callpath is no text; write its name")
    found.add(metric, region, [names[name] for name in found.names], values, where)


def _take_older(found: Measurements, document: Mapping[str, Any]) -> None:
    """Parameters, callpaths, metrics and coordinates with an `id` each, which measurements name."""
    tables = {}
    for name in ("parameters", "callpaths", "metrics", "coordinates"):
        where = f"{found.place}: {name}"
        own = ("id", "name") if name != "coordinates" else ("id", "parameter_value_pairs")
        rows = [_fields(entry, at, own) for at, entry in _entries(document.get(name), where)]
        tables[name] = {str(row["id"]): row[own[1]] for row in rows}
        if len(tables[name]) < len(rows):
            raise ScenarioError(f"{where}: an id comes twice; give each its own")
    ids = sorted(tables["parameters"], key=lambda key: to_number(key) or 0.0)
    found.named([tables["parameters"][key] for key in ids], found.place)
    for where, entry in _entries(document["measurements"], f"{found.place}: measurements"):
        one = _fields(entry, where, ("coordinate_id", "callpath_id", "metric_id", "value"), spare=("id",))
        names = [tables[f"{kind}s"].get(str(one[f"{kind}_id"])) for kind in ("coordinate", "callpath", "metric")]
        if None in names:
            raise ScenarioError(f"{where}: it names an id that nothing has; mend it")
        pairs = [_fields(pair, where, ("parameter_id", "parameter_value")) for pair in _listed(names[0], where)]
        point = {str(pair["parameter_id"]): pair["parameter_value"] for pair in pairs}
        if sorted(point) != sorted(ids) or len(pairs) != len(ids):
            raise ScenarioError(f"{where}: its coordinate has not each parameter once; mend it")
        found.add(str(names[2]), str(names[1]), [point[key] for key in ids], [one["value"]], where)
