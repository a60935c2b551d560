"""Rectangles of a matrix for unequal PEs, in columns, with the communication that they lead to.

Beaumont, Boudet, Rastello and Robert, "Matrix Multiplication on Heterogeneous Platforms" (IEEE Transactions on
Parallel and Distributed Systems 12, 2001): in a matrix product a PE receives what its rectangle's height and width
are, so the sum of half perimeters is to be small; no shape has less than twice the root of its area. Of all
arrangements in columns the best one keeps PEs in order of area, and dynamic programming finds it. Areas are those of
`functional`.
"""

import math

import numpy as np

from advisor.advise.partition.functional import functional
from advisor.advise.partition.min_max import check_units, most_within
from advisor.advise.partition.result import Partition, of_units
from advisor.advise.partition.speed_kinds import Floats, Ints, SpeedKinds
from simulator import ScenarioError, ties

MOST_PES = 5_000
"""The arrangement takes time that grows with the square of the PEs."""


def grid2d(units: int, pes: SpeedKinds, *, rows: int | None = None, columns: int | None = None) -> Partition:
    """Rectangles of whole rows and columns, one per PE, that cover a matrix whose elements are the units.

    Which PEs share a column is chosen for little communication; widths and heights then for the least makespan that
    those columns allow, exactly where times grow with the units.

    Raises ScenarioError if there is no unit, rows times columns are not the units, there are too many PEs, or memory
    limits leave no rectangles.

    `units`, `pes`: what is divided, and by whom.
    `rows`, `columns`: of the matrix; their product is `units`. By default as square as whole numbers allow.

    Returns
    -------
    Partition
        `details` holds the rectangles, their half perimeters in all, and twice the roots of their areas in all.
    """
    check_units(units, pes)
    if pes.pe_count > MOST_PES:
        raise ScenarioError(f"grid2d: {pes.pe_count} PEs are too many; give at most {MOST_PES}")
    rows, columns = _shape(units, rows, columns)
    whole = functional(units, pes)
    busy = np.flatnonzero(whole.units)
    order = busy[np.argsort(-whole.units[busy], kind="stable")]
    column_of = _columns(whole.units[order] / units, rows, columns)
    widths, heights = _sides(pes, order, column_of, rows, columns, whole.lower_bound_s)
    areas = np.zeros(pes.pe_count, np.int64)
    areas[order] = widths[column_of] * heights
    rectangles = _rectangles(order, column_of, widths, heights)
    half = float(sum(one["width"] + one["height"] for one in rectangles))
    bound = 2 * sum(math.sqrt(one["width"] * one["height"]) for one in rectangles)
    halves = {"half_perimeters": half, "half_perimeters_bound": bound, "half_perimeters_ratio": half / bound}
    details = {"rectangles": rectangles, **halves, "rows": rows, "columns": columns}
    return of_units("grid2d", pes, areas, whole.lower_bound_s, warnings=whole.warnings, details=details)


def _shape(units: int, rows: int | None, columns: int | None) -> tuple[int, int]:
    if rows is not None and columns is not None:
        if rows < 1 or rows * columns != units:
            raise ScenarioError(f"matrix: {rows}x{columns} is not {units} units; give rows times columns that are")
        return rows, columns
    if rows is not None or columns is not None:
        raise ScenarioError("matrix: give both rows and columns, or neither")
    sides = np.arange(1, int(np.sqrt(units)) + 1)
    side = int(sides[units % sides == 0][-1])
    return side, units // side


def _columns(shares: Floats, rows: int, columns: int) -> Ints:
    """Column of each PE, for the least sum of half perimeters; shares of the matrix descend.

    `f(j) = min over i of f(i) + (j - i) w(i, j) + rows`, where w is the width that the shares from i to j fill.
    """
    ends = np.concatenate(([0.0], np.cumsum(shares)))
    least, begin = np.zeros(ends.size), np.zeros(ends.size, np.int64)
    number = np.arange(ends.size)
    for j in range(1, ends.size):
        costs = least[:j] + (j - number[:j]) * (ends[j] - ends[:j]) * columns + rows
        begin[j] = ties.first_least(costs)
        least[j] = costs[begin[j]]
    column_of, end, column = np.empty(shares.size, np.int64), shares.size, 0
    while end:
        column_of[begin[end] : end] = column
        end, column = int(begin[end]), column + 1
    return column - 1 - column_of


def _sides(pes: SpeedKinds, order: Ints, column_of: Ints, rows: int, columns: int, low_s: float) -> tuple[Ints, Ints]:
    """Widths of columns and heights of PEs for the least makespan, by halving a bracket to the last float."""
    begins = np.flatnonzero(np.diff(column_of, prepend=-1))
    kind = pes.kind_of_pe[order]
    limits = np.minimum(pes.limits, rows * columns)

    def most(limit_s: float) -> Ints:
        return most_within(limit_s, pes, limits, "first")[0][kind]

    def widest(limit_s: float) -> Ints:
        return _widest(most(limit_s), begins, column_of, rows, columns)

    high_s = low_s
    while widest(high_s).sum() < columns:
        if np.array_equal(most(high_s), limits[kind]):
            raise ScenarioError("grid2d: memory limits (max_size) leave no rectangles of these columns; raise max_size")
        high_s *= 2
    while low_s < (middle_s := (low_s + high_s) / 2) < high_s:
        low_s, high_s = (low_s, middle_s) if widest(middle_s).sum() >= columns else (middle_s, high_s)
    widths = widest(high_s)
    while (surplus := int(widths.sum()) - columns) > 0:
        wide = int(np.argmax(widths))
        widths[wide] -= min(surplus, max(1, surplus // widths.size), int(widths[wide]))
    return widths, _heights(pes, kind, widths[column_of], most(high_s), begins, rows)


def _widest(most: Ints, begins: Ints, column_of: Ints, rows: int, columns: int) -> Ints:
    """The greatest width of each column at which its PEs, with at most so many units, can fill all rows."""
    low, high = np.zeros(begins.size, np.int64), np.full(begins.size, columns + 1, np.int64)
    while np.any(high - low > 1):
        middle = np.maximum((low + high) >> 1, 1)
        fits = np.add.reduceat(np.minimum(most // middle[column_of], rows), begins) >= rows
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return low


def _heights(pes: SpeedKinds, kind: Ints, widths: Ints, most: Ints, begins: Ints, rows: int) -> Ints:
    """Heights that add up to all rows in every column: as many as fit, less what is too much from who ends last."""
    heights = np.minimum(most // np.maximum(widths, 1), rows)
    for begin, end in zip(begins, [*begins[1:], heights.size], strict=True):
        part, width = heights[begin:end], widths[begin:end]
        while (surplus := int(part.sum()) - rows) > 0:
            last = ties.first_most(np.where(part > 0, pes.time_s(kind[begin:end], width * part), -1.0))
            part[last] -= min(surplus, max(1, surplus // part.size), int(part[last]))
    return heights


def _rectangles(order: Ints, column_of: Ints, widths: Ints, heights: Ints) -> list[dict[str, int]]:
    lefts = np.cumsum(widths) - widths
    begins = np.flatnonzero(np.diff(column_of, prepend=-1))
    above = np.cumsum(heights) - heights
    tops = above - above[begins][column_of]
    width = widths[column_of]
    some = (width > 0) & (heights > 0)
    names = ("pe", "row", "column", "height", "width")
    columns = (order[some], tops[some], lefts[column_of][some], heights[some], width[some])
    return [dict(zip(names, entry, strict=True)) for entry in zip(*(c.tolist() for c in columns), strict=True)]
