"""Whose turn it is: all who measure advance side by side, so that a drift of the machine falls on all alike."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np


class Lane(Protocol):
    """One who measures, step by step."""

    @property
    def done(self) -> int:
        """Steps taken."""

    @property
    def expected(self) -> int:
        """Steps that it is thought to take in all, never fewer than it took."""

    @property
    def finished(self) -> bool:
        """Whether no step is left."""

    def step(self) -> None:
        """Measure one thing."""


AnyLane = TypeVar("AnyLane", bound=Lane)


def next_lane(lanes: Sequence[AnyLane], generator: np.random.Generator) -> AnyLane | None:
    """The lane that is furthest behind, by its share done plus a random part of one step; None if all are finished.

    Each lane is so spread evenly, yet in random order, over the whole run, however many steps it takes.
    """
    part = generator.random(len(lanes))
    due = [
        np.inf if lane.finished else (lane.done + part[k]) / max(lane.expected, lane.done + 1)
        for k, lane in enumerate(lanes)
    ]
    first = int(np.argmin(due))
    return None if np.isinf(due[first]) else lanes[first]
