"""What processes ask of the domains that they share if all compute at once, and what each keeps of its speed there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.models.neighbours import BUSY, NO_USE, ShareTable, SharingDomain, Use
from simulator.platform.nodes import Platform

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Meeting:
    """Processes that meet in a domain."""

    domain: SharingDomain
    processes: tuple[int, ...]
    """Those that compute on its PEs."""
    asked: float
    """What they and the mean background load ask for together: bytes per second, bytes, or how many compute."""
    kept: Floats
    """The share of its lone speed that each keeps in this domain; of the length of `processes`."""

    @property
    def least(self) -> float:
        """The smallest share."""
        return float(self.kept.min())


def meetings(platform: Platform, kernel: str, placement: Sequence[int], sizes: Sequence[float]) -> tuple[Meeting, ...]:
    """The domains on whose PEs processes compute, by what nodes' `uses` say of the kernel.

    Parameters
    ----------
    placement
        The PE of each process that computes.
    sizes
        The problem size of each one's computation, in elements.
    """
    if not platform.domains:
        return ()
    on: dict[int, list[int]] = {}
    for process, pe in enumerate(placement):
        on.setdefault(pe, []).append(process)
    nodes = platform.known_nodes
    found = []
    for domain in platform.domains:
        here = tuple(process for pe in domain.pes for process in on.get(pe, ()))
        if not here:
            continue
        counted = isinstance(domain.law, ShareTable)
        uses = nodes[platform.node_of[domain.pes[0]]].uses.get(kernel)
        if counted:
            each = [BUSY] * len(here)
        elif uses is None:
            each = [NO_USE] * len(here)
        else:
            known: dict[float, Use] = {}
            each = [known.setdefault(size, uses.at(domain.level, size)) for size in (sizes[one] for one in here)]
        asked = sum(use.demand for use in each) + taken_by_loads(platform, domain)
        shares = {use: float(domain.truly(domain.law.kept(use, max(0.0, asked - use.demand)))) for use in set(each)}
        found.append(Meeting(domain, here, asked, np.array([shares[use] for use in each])))
    return tuple(found)


def kept_shares(platform: Platform, kernel: str, placement: Sequence[int], sizes: Sequence[float]) -> Floats:
    """The share of its lone speed that each process keeps if all compute at once; (process,). See `meetings`."""
    kept = np.ones(len(placement))
    for meeting in meetings(platform, kernel, placement, sizes):
        kept[list(meeting.processes)] *= meeting.kept
    return kept


def capacity_of(domain: SharingDomain) -> float | None:
    """What a domain delivers or holds; None of a core or a clock."""
    law = domain.law
    return None if isinstance(law, ShareTable) else float(law.capacity)


def taken_by_loads(platform: Platform, domain: SharingDomain) -> float:
    """What the mean background load of a domain's PEs takes there."""
    total, counted = 0.0, isinstance(domain.law, ShareTable)
    for place in domain.pes:
        load = platform.pes[place].load
        if load is not None:
            mean = load.trace.mean() if load.rule != "given" else platform.pes[place].cores * (1 - load.trace.mean())
            total += mean * (1.0 if counted else load.demands.get(domain.level, 0.0))
    return total
