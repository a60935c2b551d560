"""Import of Dinda's host load traces: pairs of doubles (seconds, load average) in Alpha order, or the same as text."""

import codecs
import string
from pathlib import Path

import numpy as np

from simulator.base import files
from simulator.base.errors import TraceError
from simulator.load_traces.importers.source import ImportOptions, Rows, Source, read_lines

_PAIR_BYTES = 16
_NOTE = "load: Digital Unix's five-second exponential average, sampled once a second"


def read(path: Path, _options: ImportOptions) -> Source:
    """The load average as recorded; a file of text is recognised by its first bytes."""
    with files.open_lines(path) as stream:
        head = stream.read(256)
    if not head:
        raise TraceError(f"{path}: the file is empty; give pairs of doubles")
    is_text = all(byte in string.printable.encode() for byte in head.removeprefix(codecs.BOM_UTF8))
    return (_read_text if is_text else _read_doubles)(path).source("load", _NOTE)


def _read_doubles(path: Path) -> Rows:
    data = files.read_bytes(path)
    if len(data) % _PAIR_BYTES:
        raise TraceError(f"{path}: the size is {len(data)} bytes; give a multiple of {_PAIR_BYTES} (pairs of doubles)")
    pairs = np.frombuffer(data, dtype="<f8").reshape(-1, 2)
    rows = Rows(path, "timestamp", "load", unix=True)
    for index, (time_s, load) in enumerate(pairs.tolist()):
        rows.add(f"pair {index + 1}", time_s, load)
    return rows


def _read_text(path: Path) -> Rows:
    rows = Rows(path, "timestamp", "load", unix=True)

    def parse(place: int, line: str) -> None:
        cells = line.split()
        if len(cells) != 2:
            raise rows.fault(place, f"the line has {len(cells)} columns; give 2 (seconds, load)")
        rows.add(place, rows.number(place, "timestamp", cells[0]), rows.number(place, "load", cells[1]))

    read_lines(path, parse)
    return rows
