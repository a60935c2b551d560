"""What-ifs: fields of a scenario and the values they are to take, as the points of a grid or of a list side by side."""

import difflib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulator.base import units
from simulator.base.errors import ApportionError, ScenarioError
from simulator.scenario_file.load import Template
from simulator.scenario_file.schemas import scenario_schema

MOST_POINTS = 100_000
"""Most points of a what-if: planning them takes some 5 s and 300 MB before the first is simulated."""
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:\.\.({_NUMBER}))?")
_OPENING, _CLOSING = "[{", "]}"
_PAIRED = ("seed", "replications")
_NOT_THERE = ("there is no '", "the key is unknown here")


@dataclass(frozen=True)
class Varied:
    """A field by its path, and the values to set there, as `--set` takes them."""

    path: str
    values: tuple[str, ...]

    def changes(self) -> tuple[str, ...]:
        """`PATH=VALUE` for each value."""
        return tuple(f"{self.path}={value}" for value in self.values)


def read_varied(text: str) -> Varied:
    """Read `PATH=v1,v2,...`; a value may be a range of numbers `0..8` or `0..8..2`, both ends included.

    Commas within brackets or quotes part no values.
    """
    path, equals, listed = text.partition("=")
    path = path.strip()
    if not equals or not path:
        raise ScenarioError(f"--vary is {text!r}; give PATH=v1,v2,... such as platform.link.bandwidth=x1,x2")
    if path in _PAIRED:
        raise ScenarioError(f"--vary {path}: found, all points share it, as differences are of paired draws: --{path}")
    parts = [part.strip() for part in _parted(listed)]
    if not all(parts):
        raise ScenarioError(f"--vary {path}: {listed!r} has an empty value; part the values by single commas")
    return Varied(path, tuple(value for part in parts for value in _values(path, part)))


def points(varied: Sequence[Varied], *, zipped: bool = False) -> tuple[tuple[str, ...], ...]:
    """The changes of each point: all combinations, the last field's values fastest; or the values side by side."""
    paths = [one.path for one in varied]
    for path in paths:
        if paths.count(path) > 1:
            raise ScenarioError(f"--vary {path} is given twice; give each path once")
    counts = {one.path: len(one.values) for one in varied}
    if zipped and len(set(counts.values())) > 1:
        found = ", ".join(f"{count} of {path}" for path, count in counts.items())
        raise ScenarioError(f"--zip: there are {found}; give equally many values of each")
    number = len(varied[0].values) if zipped and varied else 1
    for count in () if zipped else counts.values():
        number *= count
    if number > MOST_POINTS:
        raise ScenarioError(f"--vary: these are {number} points; give at most {MOST_POINTS}")
    columns = [one.changes() for one in varied]
    found_points = tuple(zip(*columns, strict=True) if zipped else itertools.product(*columns)) if columns else ()
    if len(set(found_points)) < len(found_points):
        times = Counter(found_points)
        twice = next(point for point in found_points if times[point] > 1)
        raise ScenarioError(f"--vary: the point {', '.join(twice)} stands twice; give each point once")
    return found_points


def check_paths(template: Template, asked: Sequence[Sequence[str]], *, oversized: bool = False) -> None:
    """Refuse paths that lead nowhere, with the nearest one that does; values are the points' own affair."""
    lines = []
    for change in {
        change.partition("=")[0]: change for point in reversed(asked) for change in reversed(point)
    }.values():
        try:
            template.scenario([change], oversized=oversized)
        except ApportionError as error:
            path = change.partition("=")[0]
            if any(word in line for line in error.lines for word in _NOT_THERE):
                lines.append(f"{error.lines[0].replace('--set ', '--vary ', 1)}{_nearest(template, path)}")
    if lines:
        raise ScenarioError(sorted(lines))


def _nearest(template: Template, path: str) -> str:
    """The path that a wrong one is most like, as the end of a line; nothing if its last part is like no other."""
    here, found = template.document.data, list[str]()
    parts = path.split(".")
    for number, part in enumerate(parts):
        names = _names(here)
        if number == len(parts) - 1 and isinstance(here, dict):
            names |= dict.fromkeys(_keys_of_forms())
        close = [part] if part in names else difflib.get_close_matches(part, list(names), n=1)
        if close:
            found.append(close[0])
            here = names[close[0]]
        elif number == len(parts) - 1:
            return ""
    return "" if found == parts else f"; nearest: {'.'.join(found)}"


def _names(here: object) -> dict[str, object]:
    """What can stand next in a path, and what it leads to."""
    if isinstance(here, dict):
        return {str(key): value for key, value in here.items()}
    if not isinstance(here, list):
        return {}
    places = {str(place): entry for place, entry in enumerate(here)}
    return places | {str(entry["name"]): entry for entry in here if isinstance(entry, dict) and "name" in entry}


def _keys_of_forms() -> list[str]:
    schema = json.loads(scenario_schema())
    return sorted({key for form in (schema, *schema.get("$defs", {}).values()) for key in form.get("properties", {})})


def _parted(text: str) -> Iterator[str]:
    """What stands between commas outside of brackets and quotes."""
    depth, quote, part = 0, "", ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        if letter == "," and not depth and not quote:
            yield part
            part = ""
        else:
            part += letter
    yield part


def _values(path: str, part: str) -> Iterator[str]:
    """The numbers of a range, or a value as it stands."""
    found = _RANGE.fullmatch(part)
    if found is None:
        yield part
        return
    low, high, step = (units.exact(number) for number in (found[1], found[2], found[3] or "1"))
    if low is None or high is None or step is None:
        raise ScenarioError(
            f"--vary {path}: {part[:60]!r} is too long; give numbers of at most {units.MOST_LETTERS} letters"
        )
    if low > high or step <= 0:
        raise ScenarioError(f"--vary {path}: {part!r} holds no value; give a range that ascends")
    count = int((high - low) / step) + 1
    if count > MOST_POINTS:
        raise ScenarioError(f"--vary {path}: these are {count} values; give at most {MOST_POINTS}")
    yield from (f"{low + number * step:f}" for number in range(count))
