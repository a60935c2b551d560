"""Kinds of PEs as allocation sees them: PEs of a platform that are alike, with what a guess of costs needs."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.platform.nodes import PE, Platform

MOST_DEFAULT = 4
"""Most processes per PE that are looked at where nobody says."""
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True)
class PlacedPE:
    """One PE of a kind, and how launchers reach it."""

    name: str
    node: str
    host: str
    cpu: int | None = None
    """The logical processor that it stands for, where it is known."""


@dataclass(frozen=True)
class PEKind:
    """PEs that are alike."""

    name: str
    pes: tuple[PlacedPE, ...]
    most: int
    """Most processes on one of them."""
    speed: float | None = None
    """Units of volume per second of one core, for the guess of costs; None: nobody knows."""
    cores: int = 1
    competitors: float = 0.0
    """Mean runnable competitors, of equal weight."""
    steady: bool = True
    """Whether these are always as many, a whole number: what can be made real by busy loops."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**vars(self), "pes": [vars(pe) for pe in self.pes]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PEKind":
        """The kind that `to_dict` wrote."""
        return cls(**{**data, "pes": tuple(PlacedPE(**pe) for pe in data["pes"])})


def kinds_of(platform: Platform, *, kernel: str | None, size: float, most: Mapping[str, int]) -> tuple[PEKind, ...]:
    """The kinds of a platform, in the order of their first PEs.

    PEs are alike if their speeds, cores and loads are, and the memory of their nodes. A kind is named after what the
    names of its PEs have in common: `fast[01-08]` gives `fast`.

    Parameters
    ----------
    kernel
        Whose speeds the guess takes; by default dgemm's, or those of the first kernel that a PE has.
    size
        Problem size, elements, at which speeds are taken.
    most
        Most processes per PE by kind; by default as many as the kind is faster than the slowest, at least 2 and at most
        `MOST_DEFAULT`, and as many as it has cores.

    Raises
    ------
    ScenarioError
        If `most` names no kind.
    """
    nodes = {node.name: node for node in platform.known_nodes}
    groups: dict[tuple[Any, ...], list[PE]] = {}
    for pe in platform.pes:
        groups.setdefault((_alike(pe), nodes[pe.node].memory_bytes), []).append(pe)
    speeds = [_speed(pes[0], kernel, size) for pes in groups.values()]
    names = _names(list(groups.values()))
    if unknown := [name for name in most if name not in names]:
        raise ScenarioError(f"--most: kind {unknown[0]!r} found, {', '.join(names)} allowed")
    shares = [
        None if speed is None else speed / (1 + _competitors(pes[0]))
        for speed, pes in zip(speeds, groups.values(), strict=True)
    ]
    slowest = min((share for share in shares if share is not None), default=1.0)
    kinds = []
    for name, pes, speed, share in zip(names, groups.values(), speeds, shares, strict=True):
        ratio = 1 if share is None else min(MOST_DEFAULT, math.ceil(share / slowest))
        placed = tuple(PlacedPE(pe.name, pe.node, nodes[pe.node].host or pe.node, pe.cpu) for pe in pes)
        own = most.get(name, max(2, ratio, pes[0].cores))
        count = _competitors(pes[0])
        kinds.append(PEKind(name, placed, own, speed, pes[0].cores, count, steady=_steady(pes[0])))
    return tuple(kinds)


def _alike(pe: PE) -> tuple[Any, ...]:
    speeds = tuple((name, band.sizes.tobytes(), band.mid.tobytes()) for name, band in sorted(pe.speeds.items()))
    load = pe.load and (pe.load.trace.times_s.tobytes(), pe.load.trace.values.tobytes(), pe.load.rule)
    return speeds, load, pe.cores


def _speed(pe: PE, kernel: str | None, size: float) -> float | None:
    wanted = kernel or ("dgemm" if "dgemm" in pe.speeds else next(iter(pe.speeds), None))
    if wanted is None or wanted not in pe.speeds:
        return None
    return float(pe.speeds[wanted].cut(size).mid) or None


def _competitors(pe: PE) -> float:
    """Mean load, also where a trace says what share is left."""
    if pe.load is None:
        return 0.0
    mean = pe.load.trace.mean()
    return mean if pe.load.rule != "given" else max(0.0, 1 / max(mean, 1e-3) - 1)


def _steady(pe: PE) -> bool:
    if pe.load is None:
        return True
    values = pe.load.trace.values
    return pe.load.rule == "fair" and bool(np.all(values == values[0]) and values[0] == np.rint(values[0]))


def _names(groups: Sequence[Sequence[PE]]) -> list[str]:
    """A short name for each group, none twice."""
    found: list[str] = []
    for pes in groups:
        columns = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*(pe.name for pe in pes), strict=False))
        common = "".join(column[0] for column in columns)
        name = _PLAIN.sub("-", common if len(pes) == 1 else common.rstrip("0123456789")).strip("-_")
        if not name or name in found:
            name = _PLAIN.sub("-", pes[0].name).strip("-_") or f"kind{len(found) + 1}"
        while name in found:
            name += "x"
        found.append(name)
    return found
