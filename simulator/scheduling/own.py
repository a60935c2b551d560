"""Policies of the user's own: a function of what is known at a tick that says which waiting jobs start now.

def decide(seen):
    for job in seen.waiting:
        if job.processors <= seen.free:
            return [job]
    return []
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

from simulator.base.errors import MALFORMED, ApportionError, ScenarioError


@dataclass(frozen=True)
class Waiting:
    """A job that waits."""

    number: int
    id: Any
    processors: int
    submitted_s: float
    estimate_s: float
    user: int
    """-1 where nobody knows."""
    memory_bytes: float = 0.0
    """Per process; 0 where nobody knows."""


@dataclass(frozen=True)
class Running:
    """A job that runs."""

    number: int
    id: Any
    processors: int
    started_s: float
    planned_end_s: float
    pes: tuple[int, ...]
    """Its PEs by number; empty where they are counted."""


@dataclass(frozen=True)
class Seen:
    """What is known at a tick."""

    now_s: float
    waiting: tuple[Waiting, ...]
    """In the order of submission."""
    running: tuple[Running, ...]
    """In the order of their starts."""
    free: int
    free_pes: tuple[int, ...]
    """Their numbers; empty where PEs are counted."""
    slowness: tuple[float, ...] = ()
    """Of each PE by number, free or not: 1 for a nominal one, 2 for half its speed."""
    memory_bytes: tuple[float, ...] = ()
    """Of each PE by number, for one process."""


OwnDecide = Callable[[Seen], Iterable[Any]]
"""The jobs that start now: each a `Waiting`, or a pair of it and the numbers of its PEs.

Without these it gets the lowest that are free and have the memory that it needs.
"""


def checked_starts(name: str, decide: OwnDecide, seen: Seen) -> list[tuple[int, tuple[int, ...]]]:
    """Number and PEs (none where these are counted) of each job that a policy starts now."""
    where = f"policy {name} at {seen.now_s:.9g} s"
    try:
        chosen = list(decide(seen))
    except (ApportionError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # users may raise anything, exceptions of their own among it
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise ScenarioError(f"{where}: it failed with {reason}; mend its function") from error
    waiting = {job.number: job for job in seen.waiting}
    free, starts = set(seen.free_pes), list[tuple[int, tuple[int, ...]]]()
    named = bool(free or any(running.pes for running in seen.running))
    left = seen.free
    for choice in chosen:
        job, pes = _parts(where, choice, waiting)
        if any(job.number == number for number, _ in starts):
            raise ScenarioError(f"{where}: it starts job {job.id} twice; return each job once")
        if job.processors > left:
            what = f"it starts job {job.id} on {job.processors} PEs, but only {left} are free"
            raise ScenarioError(f"{where}: {what}; return jobs that fit")
        left -= job.processors
        if named:
            pes = pes or _lowest(where, job, seen, free)
            _check_pes(where, job, pes, seen, free)
            free -= set(pes)
        starts.append((job.number, pes if named else ()))
    return starts


def _parts(where: str, choice: Any, waiting: dict[int, Waiting]) -> tuple[Waiting, tuple[int, ...]]:
    """The job that is meant, and its PEs."""
    job, pes = choice if isinstance(choice, tuple) and len(choice) == 2 else (choice, ())
    number = getattr(job, "number", None)
    if not isinstance(number, int) or number not in waiting:
        shown = getattr(job, "id", job)
        raise ScenarioError(f"{where}: {shown!s:.80} is no job that waits; return entries of seen.waiting")
    try:
        return waiting[number], tuple(index(pe) for pe in pes)
    except MALFORMED:
        what = f"it starts job {waiting[number].id} on {pes!r:.80}"
        raise ScenarioError(f"{where}: {what}; give the numbers of PEs, whole ones") from None


def _lowest(where: str, job: Waiting, seen: Seen, free: set[int]) -> tuple[int, ...]:
    """The lowest free PEs that have the memory that a job needs."""
    able = [pe for pe in sorted(free) if seen.memory_bytes[pe] >= job.memory_bytes]
    if len(able) < job.processors:
        what = f"it starts job {job.id} on {job.processors} PEs, but only {len(able)} free ones have its memory"
        raise ScenarioError(f"{where}: {what}; return jobs that fit")
    return tuple(able[: job.processors])


def _check_pes(where: str, job: Waiting, pes: Sequence[int], seen: Seen, free: set[int]) -> None:
    if unknown := sorted(set(pes) - set(range(len(seen.slowness)))):
        raise ScenarioError(f"{where}: it starts job {job.id} on PE {unknown[0]}, which is none; take seen.free_pes")
    if busy := sorted(set(pes) - free):
        raise ScenarioError(f"{where}: it starts job {job.id} on PE {busy[0]}, which is busy; take seen.free_pes")
    if len(pes) != job.processors or len(set(pes)) != job.processors:
        what = f"it gives job {job.id} {len(set(pes))} PEs for {job.processors} processes"
        raise ScenarioError(f"{where}: {what}; give one for each")
    if small := sorted(pe for pe in pes if seen.memory_bytes[pe] < job.memory_bytes):
        what = f"it starts job {job.id} on PE {small[0]}, which has less memory than it needs"
        raise ScenarioError(f"{where}: {what}; compare seen.memory_bytes with the job's")
