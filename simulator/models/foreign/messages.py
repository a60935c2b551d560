"""Message times of OSU micro-benchmarks and of Intel MPI Benchmarks."""

import re
from collections.abc import Sequence

from simulator.base.errors import ScenarioError
from simulator.models.foreign.printed import (
    Line,
    Printed,
    Section,
    check_once,
    not_understood,
    numbers_of,
    sections_of,
    table_of,
    time_at,
)

OSU = re.compile(r"^#? ?OSU MPI(\S* .+?) Test\b", re.MULTILINE)
IMB = re.compile(r"^\s*# Benchmarking (\S+)\s*$", re.MULTILINE)
_OSU_COLUMN = re.compile(
    r"\s*((?:(?:Avg|Min|Max) )?(?:Latency|Lat) ?\(us\)|P\d+ Tail (?:Lat|Latency) ?\(us\)|Bandwidth \(MB/s\)"
    r"|P\d+ Tail Bw ?\(MB/s\)|Iterations|Validation)"
)
_OSU_VALUE = re.compile(r"(?:Avg )?Latency ?\(us\)|Bandwidth \(MB/s\)")
_PINGPONGS = ("PingPong", "PingPongSpecificSource", "PingPongAnySource")
"""In the order in which they are looked for."""
_IMB_COLUMNS = ("#repetitions", "t[usec]", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec", "Msg/sec")
COLUMNS = ("bytes", "one_way_s")
_WINDOW = (
    "these are bandwidths with many messages on their way: bytes over bandwidth, without the latency of a message; "
    "osu_latency tells more"
)


def read_osu(text: str, place: str) -> Printed:
    """One-way times of `osu_latency`; where there are none, bytes over the bandwidths of `osu_bw`."""
    sections = sections_of(text, OSU)
    names = [section.title.rpartition(" ")[2] if section.title.count(" ") == 1 else "" for section in sections]
    kind = next((name for name in ("Latency", "Bandwidth") if name in names), None)
    if kind is None:
        raise ScenarioError(f"{place}: {_told(sections)} of OSU says no one-way times; give osu_latency or osu_bw")
    used = [section for section, name in zip(sections, names, strict=True) if name == kind]
    rows: list[tuple[float, float]] = []
    lines: list[Line] = []
    notes = [_WINDOW] if kind == "Bandwidth" else []
    for section in used:
        header, own = _split(section, place, r"# ?Size\b")
        columns = _osu_columns(header, place)
        at = next((k for k, name in enumerate(columns, 1) if _OSU_VALUE.fullmatch(name)), None)
        if at is None:
            raise not_understood(header, place, "name a column Latency (us) or Bandwidth (MB/s)")
        notes += [f"{name} is not used" for name in columns if name != columns[at - 1]]
        if failed := next((line for line in own if "Validation" in columns and line[1].split()[-1] != "Pass"), None):
            raise not_understood(failed, place, "its validation did not pass; measure it again")
        found = [numbers_of(line, place, ("Size", *columns), ("Validation",)) for line in own]
        check_once([row[0] for row in found], own, place)
        rows += [
            (row[0], row[at] / 1e6 if kind == "Latency" else time_at(row[at] * 1e6, row[0], line, place))
            for row, line in zip(found, own, strict=True)
        ]
        lines += own
    return Printed(table_of(place, COLUMNS, rows, lines), (*dict.fromkeys(notes), *_left(sections, used)))


def _osu_columns(header: Line, place: str) -> list[str]:
    rest, found = re.sub(r"^# ?Size\b", "", header[1]), []
    while rest.strip():
        match = _OSU_COLUMN.match(rest)
        if match is None:
            raise not_understood(header, place, f"the column {rest.strip()!r} is not known; leave it out")
        found.append(match[1])
        rest = rest[match.end() :]
    return found


def read_imb(text: str, place: str) -> Printed:
    """One-way times of PingPong, or of its like."""
    sections = sections_of(text, IMB)
    name = next((name for name in _PINGPONGS if name in {section.title for section in sections}), None)
    if name is None:
        raise ScenarioError(f"{place}: {_told(sections)} of IMB says no one-way times; run PingPong")
    used = [section for section in sections if section.title == name]
    rows: list[tuple[float, float]] = []
    lines: list[Line] = []
    for section in used:
        header, own = _split(section, place, r"#bytes\b")
        columns = header[1].split()[1:]
        if unknown := [column for column in columns if column not in _IMB_COLUMNS]:
            raise not_understood(header, place, f"the column {unknown[0]!r} is not known; leave it out")
        at = next((k for k, one in enumerate(columns, 1) if one in {"t[usec]", "t_avg[usec]"}), None)
        if at is None:
            raise not_understood(header, place, "name a column t[usec]")
        found = [numbers_of(line, place, ("#bytes", *columns)) for line in own]
        check_once([row[0] for row in found], own, place)
        rows += [(row[0], row[at] / 1e6) for row in found]
        lines += own
    cut = () if "All processes entering MPI_Finalize" in text else (f"{place} ends before IMB did: it is cut",)
    return Printed(table_of(place, COLUMNS, rows, lines), (*_left(sections, used), *cut))


def _split(section: Section, place: str, begins: str) -> tuple[Line, list[Line]]:
    """The header and the rows of a section, which follow it; comments go."""
    headers = [line for line in section.lines if re.match(begins, line[1])]
    if len(headers) != 1:
        found = f"{section.title.strip()} has {len(headers)} headers of columns"
        raise ScenarioError(f"{place}: {found}; give the whole output, with one for each run")
    header = headers[0]
    rows = [line for line in section.lines if line != header and not line[1].startswith(("#", "-"))]
    if not rows:
        raise ScenarioError(f"{place}:{header[0]}: {section.title.strip()}: there is no row below the header")
    return header, rows


def _told(sections: Sequence[Section]) -> str:
    return ", ".join(dict.fromkeys(section.title.strip() for section in sections))


def _left(sections: Sequence[Section], used: Sequence[Section]) -> list[str]:
    """What of the file says nothing of one-way times, and how often it says some."""
    others = [section for section in sections if section not in used]
    more = [f"{len(used)} runs in it are taken as repetitions on one link"] if len(used) > 1 else []
    return [*more, *([f"left out: {_told(others)}, which says no one-way times"] if others else [])]
