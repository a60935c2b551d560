"""Times per word of STREAM, and of lmbench's `lat_mem_rd` and `bw_mem`."""

import re

from simulator.base.errors import ScenarioError
from simulator.models.foreign.printed import (
    Line,
    Printed,
    check_once,
    lines_of,
    not_understood,
    numbers_of,
    sections_of,
    table_of,
    time_at,
)
from simulator.models.memory.levels import SWEEP_WORDS, WORD_BYTES

STREAM = re.compile(r"^STREAM version ", re.MULTILINE)
LMBENCH = re.compile(r'^"(stride=\d+|Memory \w+ bandwidth|Memory load latency)$', re.MULTILINE)
COLUMNS = ("M_words", "alpha", "L", "time_per_word_s")
_ARRAYS = {"Copy:": 2, "Scale:": 2, "Add:": 3, "Triad:": 3}
"""Of STREAM: arrays that a loop goes through."""
_STREAM_COLUMNS = ("Function", "Best Rate MB/s", "Avg time", "Min time", "Max time")
_ONE_SIZE = "STREAM says what swept words take at one size; nothing of caches, and latency and gap are one"
MEBIBYTE, MEGABYTE = 2.0**20, 1e6
"""Sizes of `lat_mem_rd`, and sizes and rates of `bw_mem`."""


def read_stream(text: str, place: str) -> Printed:
    """Seconds per word swept: of each loop, by its best rate."""
    lines = lines_of(text)
    said = [match for _, line in lines if (match := re.match(r"Array size = (\d+) \(elements\)", line))]
    width = [match for _, line in lines if (match := re.match(r"This system uses (\d+) bytes per array element", line))]
    if len(said) != 1 or len(width) != 1:
        raise ScenarioError(f"{place}: STREAM says its array size and bytes per element once; give one whole output")
    bytes_each = int(width[0][1])
    own = [line for line in lines if re.match(r"\w+:\s+\d", line[1])]
    check_once([line[1].split()[0] for line in own], own, place)
    rows = []
    for line in own:
        name = line[1].split()[0]
        if name not in _ARRAYS:
            raise not_understood(line, place, f"write {', '.join(_ARRAYS)}")
        rate, _, least_s, _ = numbers_of(line, place, _STREAM_COLUMNS, _STREAM_COLUMNS[:1])[1:]
        words = _ARRAYS[name] * int(said[0][1]) * bytes_each / WORD_BYTES
        if abs(words * WORD_BYTES / MEGABYTE / max(least_s, 1e-9) - rate) > rate * (0.01 + 1e-6 / max(least_s, 1e-9)):
            raise not_understood(line, place, "its rate contradicts its least time and the array size")
        rows.append((words, 1.0, SWEEP_WORDS, time_at(rate * MEGABYTE, WORD_BYTES, line, place)))
    if {line[1].split()[0] for line in own} != set(_ARRAYS):
        raise ScenarioError(f"{place}: STREAM has rates of {', '.join(_ARRAYS)}; give its whole output")
    notes = [_ONE_SIZE]
    if not any(line.startswith("Solution Validates: avg error less than ") for _, line in lines):
        notes.append(f"{place} does not say that STREAM's solution validates: it is cut, or wrong")
    return Printed(table_of(place, COLUMNS, rows, own), tuple(notes))


def read_lmbench(text: str, place: str) -> Printed:
    """Loads of `lat_mem_rd`, a word each; and what `bw_mem` reads, swept."""
    rows: list[tuple[float, float, float, float]] = []
    used: list[Line] = []
    notes: list[str] = []
    for section in sections_of(text, re.compile(r'^"(.+)$')):
        own, swept = section.lines, section.title.startswith("Memory") and section.title.endswith("bandwidth")
        if not (swept or re.fullmatch(r"stride=\d+", section.title)):
            notes += [f"left out: {section.title}"] if own or section.title != "Memory load latency" else []
            continue
        found = [numbers_of(line, place, ("megabytes", "MB/s" if swept else "nanoseconds")) for line in own]
        check_once([row[0] for row in found], own, place)
        if swept and section.title != "Memory read bandwidth":
            notes.append(f"left out: {section.title}")
            continue
        for line, (size, value) in zip(own, found, strict=True):
            words = max(1.0, size * (MEGABYTE if swept else MEBIBYTE) / WORD_BYTES)
            time_s = time_at(value * MEGABYTE, WORD_BYTES, line, place) if swept else value / 1e9
            rows.append((words, 1.0, min(SWEEP_WORDS, words) if swept else 1.0, time_s))
        used += own
    if not rows:
        raise ScenarioError(f"{place}: there is no lat_mem_rd and no `bw_mem rd` in it")
    strides = re.findall(r'^"stride=(\d+)$', text, re.MULTILINE)
    if len(strides) > 1:
        notes.append(f"strides {', '.join(strides)} are taken as repetitions; the largest hides prefetching best")
    return Printed(table_of(place, COLUMNS, rows, used), tuple(notes))
