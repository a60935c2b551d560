"""Processes in a grid: which shapes there are, and parts of a square divided by its rows and columns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError
from simulator.programs.applications.team import wrong_sum
from simulator.programs.configuration import Configuration

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Shape = tuple[int, int]
"""Rows and columns; process i Q + j stands in row i and column j of Q columns."""


def shapes(processes: int) -> tuple[Shape, ...]:
    """All grids that so many processes form, the flattest (1 x P) first."""
    return tuple((rows, processes // rows) for rows in range(1, processes + 1) if processes % rows == 0)


@dataclass(frozen=True)
class Grid:
    """Rows of a square that each row of the grid has, and its columns of each column."""

    rows: Ints
    """(R,)."""
    columns: Ints
    """(Q,)."""

    @property
    def partition(self) -> tuple[int, ...]:
        """Elements of each process."""
        return tuple(np.outer(self.rows, self.columns).reshape(-1).tolist())

    @classmethod
    def near(cls, side: int, partition: tuple[int, ...], shape: Shape) -> "Grid":
        """Rows in proportion to what a row of the grid has, columns likewise."""
        elements = np.array(partition, dtype=np.float64).reshape(shape)
        return cls(*(_shares(side, elements.sum(axis=axis)) for axis in (1, 0)))

    @classmethod
    def of(cls, side: int, configuration: Configuration, shape: Shape, *, noun: str, power: str) -> "Grid":
        """The grid that a partition of the elements of a square describes.

        Raises
        ------
        ScenarioError
            If it describes none; the elements are called by the noun, their number by the power.
        """
        partition = configuration.partition
        elements = np.array(partition, dtype=np.int64).reshape(shape)
        grid = cls(elements.sum(axis=1) // side, elements.sum(axis=0) // side)
        where = f"configuration {configuration.name}: partition"
        if sum(partition) != side**2:
            raise wrong_sum(configuration, sum(partition), total=side**2, noun=noun, name=power)
        for process, (found, wanted) in enumerate(zip(partition, grid.partition, strict=True)):
            if found != wanted:
                allowed = f"rows of its grid row x columns of its grid column, for example {wanted}, allowed"
                raise ScenarioError(f"{where}: process {process}: {found} {noun} found, {allowed}")
        return grid


def _shares(total: int, weights: Floats) -> Ints:
    """A total in whole numbers in proportion to weights, by largest remainders, the first of equals."""
    exact = total * weights / weights.sum()
    shares = np.floor(exact).astype(np.int64)
    order = np.argsort(shares - exact, kind="stable")
    shares[order[: total - int(shares.sum())]] += 1
    return np.asarray(shares)
