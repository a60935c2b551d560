"""Tables of kernels on panels, as GPUs and cores are measured: `kernel,rows,columns,...,kernel_s` or `time_s`."""

from collections.abc import Callable, Sequence

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError, some_names
from simulator.base.tables import Table
from simulator.calibration.kernels.table import panel_kernel
from simulator.models.speed import Cut, SpeedBand

HEADER = "kernel", "rows", "columns"
TIMES = "kernel_s", "time_s"
"""Columns of seconds, the first that there is; `kernel_s` is without what moves to and from a GPU."""
KERNELS = {"gemm": "dgemm", "sgemm": "dgemm", "stencil_halo": "stencil"}
"""Other names of kernels whose sizes and volumes are known."""
KNOTS_PER_OCTAVE = 3
"""Of rows, between which speeds are straight lines."""
RUNS = *HEADER[1:], "repetition", "core", "pe", "at_s"
"""Columns that tell runs of one subject apart."""


def holds_panels(table: Table) -> bool:
    """Whether the header is that of such a table."""
    return set(HEADER) <= set(table.names) and bool(set(TIMES) & set(table.names))


def check_one_subject(table: Table) -> None:
    """Refuse rows of several kernels, precisions or ways to move data; those of several shapes are one subject."""
    said = {name: sorted(set(table.text(name))) for name in table.names if name not in RUNS and not name.endswith("_s")}
    if several := {name: values for name, values in said.items() if len(values) > 1}:
        found = "; ".join(f"{name} is {some_names(values)}" for name, values in several.items())
        example = ",".join(f"{name}={table.text(name)[0]}" for name in several)  # of a row that is there
        raise ScenarioError(f"{table.place}: it has several subjects ({found}); choose one: --only {example}")


def by_columns(table: Table) -> list[tuple[int, Table]]:
    """For each number of columns the runs as a table `size_elements,volume,cpu_s[,pe]`."""
    kernel = table.text("kernel")[0]
    time = next(name for name in TIMES if name in table.names)
    rows, columns, seconds = (table.numbers(name) for name in ("rows", "columns", time))
    if np.any((rows < 1) | (rows % 1 != 0) | (columns < 1) | (columns % 1 != 0)):
        raise ScenarioError(f"{table.place}: rows and columns are whole numbers from 1 on; mend those that are not")
    pe = next((name for name in ("pe", "core") if name in table.names and len(set(table.text(name))) > 1), None)
    found = []
    for width in np.unique(columns).astype(int).tolist():
        shape = panel_kernel(KERNELS.get(kernel, kernel), width)
        here = np.flatnonzero(columns == width).tolist()
        cells = [[repr(float(shape.size(int(rows[k])))), repr(float(shape.volume(int(rows[k]))))] for k in here]
        names = ("size_elements", "volume", "cpu_s", *(() if pe is None else ("pe",)))
        more = [() if pe is None else (table.text(pe)[k],) for k in here]
        lines = tuple(table.lines[k] for k in here)
        full = tuple((*cell, repr(float(seconds[k])), *own) for cell, k, own in zip(cells, here, more, strict=True))
        found.append((width, Table(table.place, names, full, lines)))
    return found


def by_rows(cuts: Sequence[Cut], kernel: str, columns: int) -> SpeedBand:
    """A band through measured cuts of panels, from one row on.

    Between measured rows times lie on straight lines, or on powers of the rows where that tells left out points better.
    A panel of few rows still takes what starting it and reading B takes: times of fewer rows than were measured lie on
    the line through the two smallest panels, or on the one through the smallest and zero if that is above.
    """
    shape = panel_kernel(kernel, columns)
    known = np.array([shape.n_of(cut.size) for cut in cuts])
    ends = np.array([(cut.low / cut.mid, cut.mid, cut.high / cut.mid) for cut in cuts]).T
    times_s = np.array([shape.volume(int(n)) for n in known]) / ends[1]
    count = int(np.ceil(np.log2(known[-1]) * KNOTS_PER_OCTAVE)) + 1
    rows = np.unique(np.concatenate([known, np.rint(np.geomspace(1, known[-1], count)).astype(np.int64)]))
    slope = max(0.0, float((times_s[1] - times_s[0]) / (known[1] - known[0])))
    fewer = np.maximum(times_s[0] - slope * (known[0] - rows), times_s[0] * rows / known[0])
    found_s = np.where(rows < known[0], fewer, _between(known, times_s)(rows, known, times_s))
    sizes, volumes = (np.array([float(of(n)) for n in rows.tolist()]) for of in (shape.size, shape.volume))
    below, above = (np.interp(np.log(rows), np.log(known), share) for share in (ends[0], ends[2]))
    speeds = volumes / found_s
    return SpeedBand(sizes, below * speeds, speeds, above * speeds)


def _between(known: Ints, times_s: Floats) -> Callable[[Ints, Ints, Floats], Floats]:
    """The way to times between rows, of `WAYS`, that comes nearer to inner points that are left out."""
    inner = range(1, known.size - 1)
    errors = [
        [abs(np.log(way(known[k], np.delete(known, k), np.delete(times_s, k)) / times_s[k])) for k in inner]
        for way in WAYS
    ]
    return WAYS[int(np.argmin(np.sum(errors, axis=1)))] if inner else WAYS[0]


WAYS: tuple[Callable[[Ints, Ints, Floats], Floats], ...] = (
    np.interp,
    lambda rows, known, times_s: np.exp(np.interp(np.log(rows), np.log(known), np.log(times_s))),
)
"""Straight lines, and powers."""
