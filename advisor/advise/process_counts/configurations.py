"""Which runs of a process-count program there are to choose from: sizes, PEs of each kind, processes on each."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator import ScenarioError, units
from simulator.calibration import PEKind

Ints = NDArray[np.int64]
MOST_CONFIGURATIONS = 20_000
"""More candidates than these are thinned out."""


def every_configuration(kinds: Sequence[PEKind], *, most: int = MOST_CONFIGURATIONS) -> tuple[Ints, float]:
    """Configurations with at least one PE, and how many there are for each of them.

    Where there are too many, PE counts are halved from all of a kind's down to 1; then processes per PE likewise.

    Returns
    -------
    allocations
        PEs and processes on each; (configurations, kind, 2).
    weight
        Configurations there are in all over those listed.
    """
    whole = math.prod(len(kind.pes) * kind.most + 1.0 for kind in kinds) - 1
    choices: list[list[tuple[int, int]]] = []
    for pes, processes in ((_all, _all), (_halved, _all), (_halved, _halved), (_ends, _ends)):
        choices = [[(0, 0), *itertools.product(pes(len(kind.pes)), processes(kind.most))] for kind in kinds]
        if math.prod(len(own) for own in choices) <= most + 1:
            break
    listed = itertools.islice(itertools.product(*choices), 1, most + 1)
    found = np.array(list(listed), dtype=np.int64)
    return found, whole / len(found)


def _all(count: int) -> list[int]:
    return list(range(1, count + 1))


def _halved(count: int) -> list[int]:
    found = [count]
    while found[-1] > 1:
        found.append(found[-1] // 2)
    return found[::-1]


def _ends(count: int) -> list[int]:
    return sorted({1, count})


def fits_memory(kinds: Sequence[PEKind], memory_bytes: Mapping[str, int]) -> Callable[[float, Ints], NDArray[np.bool_]]:
    """Whether a size's matrix of 8-byte numbers, spread over the processes, fits the nodes of configurations.

    Parameters
    ----------
    memory_bytes
        Of each node that says it; the others hold anything.
    """
    nodes = list(memory_bytes)
    held = [np.zeros((len(kind.pes) + 1, len(nodes))) for kind in kinds]  # PEs on each node if the first p take part
    for kind, table in zip(kinds, held, strict=True):
        for number, pe in enumerate(kind.pes):
            table[number + 1] = table[number]
            if pe.node in memory_bytes:
                table[number + 1, nodes.index(pe.node)] += 1
    limits = np.array([memory_bytes[node] for node in nodes], dtype=np.float64)

    def fit(size: float, allocations: Ints) -> NDArray[np.bool_]:
        processes = allocations.prod(axis=2).sum(axis=1)
        ranks = np.zeros((len(allocations), len(nodes)))
        for k, table in enumerate(held):
            ranks += table[allocations[:, k, 0]] * allocations[:, k, 1, None]
        return np.asarray(np.all(8 * size**2 * ranks / processes[:, None] <= limits, axis=1))

    return fit


def check_sizes(
    kinds: Sequence[PEKind], memory_bytes: Mapping[str, int], sizes: Sequence[float], *, field: str
) -> None:
    """Refuse sizes that no configuration holds.

    Raises
    ------
    ScenarioError
        One line per size.
    """
    allocations, _ = every_configuration(kinds)
    fit = fits_memory(kinds, memory_bytes)
    faults = [
        f"{field}: {size:g} found, whose matrix of {units.show_size(8 * size**2)} no allowed configuration holds, "
        f"{units.show_size(sum(memory_bytes.values()))} of memory allowed"
        for size in sizes
        if not fit(size, allocations).any()
    ]
    if faults:
        raise ScenarioError(faults)
