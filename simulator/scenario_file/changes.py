"""Values set in place of what a scenario file says: `platform.nodes.n01.memory=x0.5`."""

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from typing import Any

from simulator.base import units
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant
from simulator.base.names import all_names, compact, counted
from simulator.base.units import to_whole
from simulator.base.yaml_document import Document, read_value
from simulator.models.network.kinds.kind import NO_LIMIT
from simulator.platform.networks.link import is_line, model_of, usual_link
from simulator.scenario_file.scenario import Change

Expand = Callable[[str, Any], Mapping[str, Any]]
"""A field that names a model (`levels`, `domains`) and the entry that has it -> fields of it, written out.

Of `link` and `speeds` it takes the message times or speeds themselves, and answers these without a file.
"""
_OF_A_MODEL = {"levels": "levels", "domains": "domains", "uses": "domains"}
"""Field whose parts can be set -> the field that may name a model in place of it."""
_FACTOR = re.compile(r"([x/])\s*(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)")
_LINKS = ("link", "uplink", "backbone", "loopback")
"""Fields that hold message times; `links` holds some by name."""
_OF_LINKS: Mapping[str, tuple[dict[str, Decimal], Callable[[float], str]]] = {
    "latency": (units.DURATION, units.write_duration),
    "bandwidth": (units.BANDWIDTH, units.write_bandwidth),
}
"""What can be set of message times that a model says otherwise: its unit, and how it is written."""
_ALL_LINKS = {f"platform.network.{number}": number for number in _OF_LINKS}
_SPEEDS = ("low", "mid", "high", "speeds")
"""Lists of speeds in an entry of `speeds`."""
MOST_ADDED = 1024
"""Most nodes that one change adds."""
_MOST_SHOWN = 20
_LONGEST_SHOWN = 60
_MOST_POWER = 308
"""Of ten, in what a factor makes of a value: a double holds no more."""


def with_changes(document: Document, texts: Sequence[str], *, expand: Expand) -> tuple[Document, tuple[Change, ...]]:
    """What a file holds with some values set, and what these were.

    `texts`: `PATH=VALUE`: keys from the top down, parted by dots; an entry of a list by its place from 0 or its `name`.
    The value in YAML, or `x2`, `/2`: the file's numbers or quantities times or over so much. Measured speeds, and
    latency and bandwidth of measured message times, have factors too; `platform.network.bandwidth=x2`: all links. A
    link may be the name of a usual one (`25GbE`); `platform.nodes+=new: 2` adds two nodes like those called new.
    """
    data, changes, fields = deepcopy(document.data), [], dict[tuple[str | int, ...], str]()
    for text in texts:
        path, equals, value = text.partition("=")
        path = path.strip()
        if not equals or not path:
            raise ScenarioError(f"--set: {text!r} is no change; write PATH=VALUE, such as platform.nodes.0.memory=8GiB")
        if path.endswith("+"):
            found, change = _with_more_nodes(data, path, value.strip())
            fields |= dict.fromkeys(found, path)
            changes.append(change)
            continue
        if path in _ALL_LINKS:
            found, change = _with_all_links(data, path, value.strip(), expand)
            fields |= dict.fromkeys(found, path)
            changes.append(change)
            continue
        field, holder = _find(data, path, expand)
        if field == ("extends",):
            raise ScenarioError(f"--set {path}: the scenario has been read; name another file in its place")
        if field in fields:
            raise ScenarioError(f"--set {path}: the path is given twice; leave one out")
        fields[field] = path
        changes.append(_changed(path, value.strip(), field, holder, expand=expand))
    return replace(document, data=data, fields_set=fields), tuple(changes)


def _changed(path: str, text: str, field: tuple[str | int, ...], holder: Any, *, expand: Expand) -> Change:
    """Set one field in what holds it."""
    key, before = field[-1], _held(holder, field[-1])
    if key in _OF_LINKS and before is None and _is_link(field[:-1], holder):
        return _with_link(path, text, holder, expand)
    if len(field) > 1 and field[-2] == "speeds" and isinstance(before, dict) and _FACTOR.fullmatch(text):
        times = _times(path, text)
        holder[key] = _scaled_speeds(path, times, expand("speeds", before))
        return Change(path, 1.0, float(times))
    holder[key] = usual_link(text) if key in _LINKS or field[-2:-1] == ("links",) else None
    holder[key] = holder[key] or _value(path, text, before)
    return Change(path, before, holder[key])


def _with_more_nodes(data: Any, path: str, text: str) -> tuple[list[tuple[str | int, ...]], Change]:
    """Add nodes like some that are there, with the numbers that follow."""
    if path.rstrip("+ ") != "platform.nodes":
        raise ScenarioError(f"--set {path}: only platform.nodes takes +=; write PATH=VALUE")
    name, count = (part.strip() for part in (text if ":" in text else f"{text}: 1").rsplit(":", 1))
    platform = data.get("platform") if isinstance(data, dict) else None
    nodes = platform.get("nodes") if isinstance(platform, dict) else None
    if not isinstance(nodes, list):
        raise ScenarioError(f"--set {path}: the file lists no nodes; write them out in it")
    known = {str(node["name"]): node for node in nodes if isinstance(node, dict) and "name" in node}
    taken = {label: node for pattern, node in known.items() for label in counted(pattern, node.get("count"))}
    like = known.get(name) or next((node for label, node in taken.items() if name in {label, _stem(label)}), None)
    number = to_whole(count)
    if like is None or number is None or not 1 <= number <= MOST_ADDED:
        close = "" if like is not None else meant(name, known)
        what = f"give NODE: COUNT with one of {_shown(known)}, and 1 to {MOST_ADDED}"
        raise ScenarioError(f"--set {path}: {text[:_LONGEST_SHOWN]!r} adds no nodes; {what}{close}")
    first = next(label for label, node in taken.items() if node is like)
    stem, width = _stem(first), len(first) - len(_stem(first))
    ends = [label.removeprefix(stem) for label in taken if _stem(label) == stem]
    begin = 1 + max((int(end) for end in ends if end), default=1)
    added = {
        **deepcopy({key: part for key, part in like.items() if key != "count"}),
        "name": compact([f"{stem}{begin + place:0{width}d}" for place in range(number)]),
    }
    for pe in added.get("pes") or ():
        if isinstance(pe, dict) and "{node}" not in str(pe.get("name", "{node}")):
            pe["name"] = f"{{node}}-{pe['name']}"  # no two PEs of a platform have the same name
    nodes.append(added)
    _switch(data["platform"].get("network"), first, added["name"])
    return [("platform", "nodes", len(nodes) - 1)], Change(path, None, text)


def _switch(network: Any, like: str, added: str) -> None:
    """Put added nodes on the switch of one that is there."""
    for _, switch in _listed(network.get("switches") if isinstance(network, dict) else None):
        names = switch.get("nodes") or ()
        if like in all_names(names):
            switch["nodes"] = [*([names] if isinstance(names, str) else names), added]


def _stem(label: str) -> str:
    """A node's name without the number at its end."""
    return label.rstrip("0123456789") or label


def _is_link(field: tuple[str | int, ...], entry: Any) -> bool:
    named = bool(field) and (field[-1] in _LINKS or field[-2:-1] == ("links",))
    return named and isinstance(entry, dict) and not is_line(entry)


def _with_link(path: str, text: str, entry: Data, expand: Expand) -> Change:
    """Scale message times so that they have the latency or the bandwidth that is asked for."""
    number = path.rpartition(".")[2]
    kind, write = _OF_LINKS[number]
    data = expand("link", entry)
    model = model_of(data)
    present = model.latency_s if number == "latency" else model.bandwidth_bytes_per_s
    before = write(float(f"{present:.6g}"))
    if _FACTOR.fullmatch(text):
        times, after = float(_times(path, text)), _value(path, text, before)
    else:
        times, after = units.parse(text, kind, field=f"--set {path}") / present, text
    if not times > 0 or (number == "bandwidth" and present >= NO_LIMIT and times != 1):
        why = "it has to be above 0" if number == "latency" else "these message times do not grow with bytes"
        raise ScenarioError(f"--set {path}: {why}; write a latency and a bandwidth in place of what is measured")
    _scale_link(entry, data, number, times)
    return Change(path, before, after)


def _scale_link(entry: Data, data: Mapping[str, Any], number: str, times: float) -> None:
    """Put message times into an entry that are scaled, and as doubtful as they were."""
    kept = {key: data[key] for key in ("doubt", "source", "shared") if key in data}
    scaled = model_of(data).scaled(**{number: times})
    entry.clear()
    entry.update({**replace(scaled, doubt=None).to_data(), **kept})


def _with_all_links(data: Any, path: str, text: str, expand: Expand) -> tuple[list[tuple[str | int, ...]], Change]:
    """Scale every link between nodes, and say which fields that were."""
    number, places = _ALL_LINKS[path], _links_of(data)
    if not _FACTOR.fullmatch(text):
        one = ".".join(map(str, places[0][0])) if places else "platform.link"
        raise ScenarioError(f"--set {path}: all links are meant; give a factor such as x2, or set {one}.{number}")
    if not places:
        raise ScenarioError(f"--set {path}: the file writes out no links; name a file with other ones in its place")
    times = _times(path, text)
    for _, entry in places:
        if number in entry:
            entry[number] = _value(path, text, entry[number])
        else:
            _scale_link(entry, expand("link", entry), number, float(times))
    return [field for field, _ in places], Change(path, 1.0, float(times))


def _links_of(data: Any) -> list[tuple[tuple[str | int, ...], Data]]:
    """The fields that hold a link between nodes, and what is there."""
    platform = data.get("platform") if isinstance(data, dict) else None
    if not isinstance(platform, dict):
        return []
    network, above = platform.get("network"), ("platform", "network")
    network = network if isinstance(network, dict) else {}
    found: list[tuple[tuple[str | int, ...], Any]] = [(("platform", "link"), platform.get("link"))]
    found += [((*above, key), network.get(key)) for key in ("link", "uplink", "backbone")]
    found += [((*above, "links", key), link) for key, link in _listed(network.get("links"))]
    found += [
        ((*above, "switches", key, "uplink"), link.get("uplink")) for key, link in _listed(network.get("switches"))
    ]
    found += [(("platform", "nodes", key, "link"), link.get("link")) for key, link in _listed(platform.get("nodes"))]
    return [(field, entry) for field, entry in found if isinstance(entry, dict)]


def _listed(value: Any) -> list[tuple[str | int, Any]]:
    """Entries that are mappings, by name or place."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(key, link) for key, link in pairs if isinstance(link, dict)]


def _scaled_speeds(path: str, times: Decimal, entry: Mapping[str, Any]) -> Data:
    """Speeds over sizes, so many times as high and as doubtful."""
    if "predicted" in entry:
        raise ScenarioError(f"--set {path}: these speeds are predicted; scale what they follow from, such as flop_rate")
    bands = {"bands": [_scaled_speeds(path, times, band) for band in entry["bands"]]} if "bands" in entry else {}
    lists = {key: [float(times) * speed for speed in entry[key]] for key in _SPEEDS if key in entry}
    return {**entry, **lists, **bands}


def _find(data: Any, path: str, expand: Expand) -> tuple[tuple[str | int, ...], Any]:
    """The field of a path, and what holds it; the last key of a mapping may be new."""
    parts = path.split(".")
    field: tuple[str | int, ...] = ()
    here, holder = data, data
    while parts:
        source = _OF_A_MODEL.get(parts[0]) if isinstance(here, dict) and len(parts) > 1 else None
        held = None if source is None else here.get(source)
        if source is not None and isinstance(held, dict) and "model" in held and parts[1] not in held:
            here.update(expand(source, here))
        try:
            key, taken = step(here, parts, field=field)
        except ScenarioError as error:
            raise ScenarioError(f"--set {path}: {error.lines[0]}") from None
        field, parts, holder = (*field, key), parts[taken:], here
        here = _held(here, key)
    return field, holder


def step(here: Any, parts: Sequence[str], *, field: tuple[str | int, ...]) -> tuple[str | int, int]:
    """The key that a path goes on with, and how many of its parts name it: keys and names may hold dots."""
    where = ".".join(map(str, field)) or "the top level"
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if isinstance(here, dict) and name in here:
            return name, count
        if isinstance(here, list):
            named = [place for place, entry in enumerate(here) if isinstance(entry, dict) and entry.get("name") == name]
            if len(named) == 1:
                return named[0], count
            if (place := to_whole(name)) is not None and place < len(here):
                return place, count
    if isinstance(here, dict):
        if len(parts) == 1:
            return parts[0], 1
        close = meant(parts[0], map(str, here))
        raise ScenarioError(f"there is no {parts[0]!r} in {where}; take {_shown(map(str, here))}{close}")
    if isinstance(here, list):
        names = [str(entry["name"]) for entry in here if isinstance(entry, dict) and "name" in entry]
        places = f"0 to {len(here) - 1}" if here else "nothing"
        known = f"{_shown(names)} or {places}" if names else places
        raise ScenarioError(f"there is no {parts[0]!r} in {where}; take {known}{meant(parts[0], names)}")
    raise ScenarioError(f"there is no {parts[0]!r} in {where}, which is {here!r} and has no fields")


def _held(holder: Any, key: str | int) -> Any:
    return holder.get(key) if isinstance(holder, dict) else holder[key]


def _shown(names: Any) -> str:
    listed = list(names)
    more = f" and {len(listed) - _MOST_SHOWN} more" if len(listed) > _MOST_SHOWN else ""
    return (", ".join(listed[:_MOST_SHOWN]) or "nothing") + more


def _value(path: str, text: str, before: Any) -> Any:
    """What a text stands for, given what is there."""
    factor = _FACTOR.fullmatch(text)
    if factor is None:
        try:
            return read_value(text)
        except ScenarioError as error:
            raise ScenarioError(f"--set {path}: {error.lines[0]}") from None
    times = _times(path, text)
    if isinstance(before, list) and before and not any(isinstance(item, dict | list) for item in before):
        return [_value(path, text, item) for item in before]
    if isinstance(before, int | float) and not isinstance(before, bool):
        number = _finite(path, text, Decimal(repr(before)) * times)
        return int(number) if isinstance(before, int) and number == int(number) else float(number)
    found = units.amount(before) if isinstance(before, str) else None
    if found is None:
        there = "nothing" if before is None else repr(before)[:60]
        raise ScenarioError(
            f"--set {path}: {text!r} changes a number, and the file says {there}; give a value in its place"
        )
    number = _finite(path, text, (found[0] * times).normalize())
    return f"{number:f}{' ' + found[1] if found[1] else ''}"


def _times(path: str, text: str) -> Decimal:
    """The factor that a text is."""
    factor = _FACTOR.fullmatch(text)
    times = (units.exact(factor[2]) if factor else None) or Decimal(0)
    if factor is None or times <= 0:
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
        raise ScenarioError(f"--set {path}: {shown!r} is no factor; give one above 0, and at most 1.8e308")
    return times if factor[1] == "x" else 1 / times


def _finite(path: str, text: str, number: Decimal) -> Decimal:
    """A product that can still be written in full."""
    if number and abs(number.adjusted()) > _MOST_POWER:
        raise ScenarioError(f"--set {path}: {text!r} makes {number:.3g}; make it a number between 1e-308 and 1e308")
    return number
