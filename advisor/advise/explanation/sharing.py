"""Which sharing domains bind: what the advised processes ask of each, and what each keeps of its speed there."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator import Configuration, Meeting, Scenario, capacity_of, domain_meetings, ties

LEAST_LOST = 0.005
"""A domain in which each keeps more than 1 less this does not bind."""


@dataclass(frozen=True)
class Binding:
    """A sharing domain, and others that are asked for as much of the same, while all its processes compute."""

    domain: str
    kind: str
    pes: tuple[str, ...]
    processes: int
    """That compute on these PEs."""
    asked: float
    """Bytes per second of memory, bytes of a cache, or how many compute; mean background load counted."""
    capacity: float | None
    """What there is; None of a core or a clock."""
    kept: float
    """Smallest share of its lone speed that one of them keeps there."""
    alike: int
    """Further domains of which all this holds."""


def bindings(scenario: Scenario, configuration: Configuration) -> tuple[Binding, ...]:
    """The domains in which the processes with units keep least, first."""
    met = domain_meetings(scenario, configuration)
    bound = [one for one in met if one.least < 1 - LEAST_LOST]
    found: dict[tuple[object, ...], list[Meeting]] = {}
    for place in ties.in_order([one.least for one in bound]).tolist():
        one = bound[place]
        found.setdefault(_rounded(one), []).append(one)
    return tuple(_binding(scenario, same) for same in found.values())


def _rounded(one: Meeting) -> tuple[object, ...]:
    return one.domain.level, one.domain.law, len(one.processes), f"{one.asked:.3g}", f"{one.least:.3f}"


def _binding(scenario: Scenario, same: Sequence[Meeting]) -> Binding:
    first = same[0]
    names = tuple(scenario.platform.pes[pe].name for pe in first.domain.pes)
    capacity, count = capacity_of(first.domain), len(first.processes)
    return Binding(
        first.domain.name, first.domain.kind, names, count, first.asked, capacity, first.least, len(same) - 1
    )
