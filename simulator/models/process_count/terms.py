"""The costs of a PE that runs m of P processes at problem size N, as columns of a non-negative linear model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulator.base.arrays import Floats

WORK = 4
"""The first so many terms are the work itself."""
COMPUTATION = 7
"""The first so many go as fast as the PE does; the rest is communication, and waiting."""


@dataclass(frozen=True)
class Shape:
    """How the work of a program grows: its leading order in N and the orders below."""

    name: str
    order: float
    """Exponent of the leading order."""
    logarithm: float
    """Exponent of the logarithm in the leading order."""
    below: float
    """Exponent of the next lower order (panels, halos, volumes of messages)."""
    steps: float
    """Exponent of the number of steps that exchange messages."""

    def orders(self, size: Floats) -> tuple[Floats, Floats, Floats]:
        """Work, next lower order and steps at each size."""
        work = size**self.order * np.log(np.maximum(size, 2.0)) ** self.logarithm
        return work, size**self.below, size**self.steps


SHAPES = (
    Shape("N", 1.0, 0.0, 0.5, 0.0),
    Shape("N log N", 1.0, 1.0, 1.0, 0.0),
    Shape("N^1.5", 1.5, 0.0, 1.0, 0.0),
    Shape("N^2", 2.0, 0.0, 1.0, 0.0),
    Shape("N^2.5", 2.5, 0.0, 1.5, 0.5),
    Shape("N^3", 3.0, 0.0, 2.0, 1.0),
)
"""Programs whose leading order is tried."""


@dataclass(frozen=True)
class Term:
    """One cost: what it is, how large it is likely to be, and how much kinds differ in it."""

    name: str
    share: float
    """Share of the time at which its prior is centred."""
    sd: float
    """Standard deviation of the log coefficient, common to all kinds."""
    kind_sd: float
    """Standard deviation of the log coefficient between kinds, beyond their speed."""


TERMS = (
    Term("m W/P", 0.5, 2.0, 0.25),  # time-sharing between our processes on the PE
    Term("W/P", 0.0005, 1.0, 2.0),  # k competitors: (m + k)/P instead of m/P
    Term("W", 0.001, 1.0, 0.25),  # what is not divided (Amdahl)
    Term("m V/P", 0.05, 2.0, 0.5),  # lower order, as the efficiency that grows with the size
    Term("V", 0.005, 2.0, 0.5),  # panel factorisation, which one process does at a time
    Term("L", 0.005, 2.0, 0.5),
    Term("1", 0.005, 2.0, 0.5),
    Term("V several", 0.003, 2.5, 1.5),  # waiting of a shared PE for its turn, per volume
    Term("L several", 0.003, 2.5, 1.5),  # the same per step
    Term("V/P several", 0.003, 2.5, 1.5),
    Term("(m-1) V", 0.003, 2.5, 1.0),  # oversubscription
    Term("(m-1) L", 0.003, 2.5, 1.0),
    Term("(m-1) V/P", 0.003, 2.5, 1.0),
    Term("(m-1) m L/P", 0.003, 2.5, 1.0),
    Term("V alone", 0.003, 2.5, 0.5),  # several processes on one PE: memory instead of a network
    Term("m L alone", 0.003, 2.5, 0.5),
    Term("V net", 0.02, 2.0, 0.15),  # messages between PEs: volume, broadcast, latency
    Term("V P net", 0.003, 2.5, 0.15),
    Term("L net", 0.003, 2.5, 0.15),
    Term("L P net", 0.003, 2.5, 0.15),
    Term("P net", 0.003, 2.5, 0.15),
)
"""Of every kind; W, V, L: work, next lower order, steps; several: P > 1; alone: P = m > 1; net: P > m."""


@dataclass(frozen=True)
class Belief:
    """What makes runs with several processes slow, or no faster."""

    factors: Mapping[str, float]
    """End of the names of terms -> factor on their shares."""
    doubt: float = 0.0
    """Added to the standard deviation of their log coefficients."""

    def on(self, name: str) -> float | None:
        """The factor on a term, None where nothing is believed of it."""
        return next((factor for end, factor in self.factors.items() if name.endswith(end)), None)


BELIEFS = (
    Belief({"several": 0.3}),
    Belief({"several": 3.0}),
    Belief({"m W/P": 0.1, "m V/P": 0.1, "W/P": 1.0, "W": 100.0}, 1.5),
)
"""Messages between the PEs, or a shared PE that waits for its turn, or work that more processes do not divide."""


def columns(shape: Shape, size: Floats, m: Floats, processes: Floats) -> Floats:
    """All terms at broadcast sizes, m and P, shape (..., terms)."""
    several = (processes > 1).astype(np.float64)
    net = (processes > m).astype(np.float64)
    return _columns(shape.orders(size), m, processes, (several, several - net, net))


def typical(shape: Shape, size: Floats, m: Floats, processes: Floats) -> Floats:
    """The terms as if each took part everywhere, so that those that no run shows have a size too."""
    return _columns(shape.orders(size), np.maximum(m, 2.0), np.maximum(processes, 2.0), (1.0, 1.0, 1.0))


def _columns(
    orders: tuple[Floats, Floats, Floats],
    m: Floats,
    processes: Floats,
    where: tuple[Floats | float, Floats | float, Floats | float],
) -> Floats:
    work, below, steps = orders
    several, alone, net = where
    inverse = 1.0 / processes
    more = m - 1.0
    per_process = below * inverse
    steps_net = net * steps
    below_net = net * below
    found = np.empty((*np.broadcast_shapes(work.shape, m.shape, processes.shape), len(TERMS)))
    for place, column in enumerate(
        (
            m * work * inverse, work * inverse, work, m * per_process, below, steps, 1.0,
            several * below, several * steps, several * per_process,
            more * below, more * steps, more * per_process, more * m * steps * inverse,
            alone * more * per_process, alone * m * steps,
            below_net, below_net * processes, steps_net, steps_net * processes, net * processes,
        )
    ):  # fmt: skip
        found[..., place] = column
    return found
