"""Policies of the user's own: a function of what is known at a tick that says which waiting jobs start now.

def decide(seen):
    for job in seen.waiting:
        if job.processors <= seen.free:
            return [job]
    return []
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.base.errors import MALFORMED, ScenarioError

__all__ = ["OwnDecide", "Running", "Seen", "Waiting", "checked_starts"]

FAULTS = (*MALFORMED, AssertionError, NameError, OSError, RuntimeError)
"""What a function of the user's own may raise, named with the policy; anything else is ours."""


@dataclass(frozen=True)
class Waiting:
    """A job that waits."""

    number: int
    """Its place in the stream, from 0."""
    id: Any
    processors: int
    submitted_s: float
    estimate_s: float
    user: int
    """-1 where nobody knows."""


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
    """PEs that nobody uses."""
    free_pes: tuple[int, ...]
    """Their numbers; empty where PEs are counted."""


OwnDecide = Callable[[Seen], Iterable[Any]]
"""The jobs that start now: each a `Waiting`, or a pair of it and the numbers of its PEs (the lowest free otherwise)."""


def checked_starts(name: str, decide: OwnDecide, seen: Seen) -> list[tuple[int, tuple[int, ...]]]:
    """Number and PEs (none where these are counted) of each job that a policy starts now.

    Raises
    ------
    ScenarioError
        For a policy that fails, starts a job twice or one that does not wait, or takes busy or too few PEs.
    """
    where = f"policy {name} at {seen.now_s:.9g} s"
    try:
        chosen = list(decide(seen))
    except FAULTS as error:
        raise ScenarioError(f"{where}: it failed with {type(error).__name__}: {error}; mend its function") from error
    waiting = {job.number: job for job in seen.waiting}
    free, starts = set(seen.free_pes), list[tuple[int, tuple[int, ...]]]()
    named = bool(free or any(one.pes for one in seen.running))
    left = seen.free
    for one in chosen:
        job, pes = _parts(where, one, waiting)
        if any(job.number == number for number, _ in starts):
            raise ScenarioError(f"{where}: it starts job {job.id} twice; return each job once")
        if job.processors > left:
            what = f"it starts job {job.id} on {job.processors} PEs, but only {left} are free"
            raise ScenarioError(f"{where}: {what}; return jobs that fit")
        left -= job.processors
        if named:
            pes = pes or tuple(sorted(free)[: job.processors])
            _check_pes(where, job, pes, free)
            free -= set(pes)
        starts.append((job.number, pes if named else ()))
    return starts


def _parts(where: str, one: Any, waiting: dict[int, Waiting]) -> tuple[Waiting, tuple[int, ...]]:
    """The job that is meant, and its PEs."""
    job, pes = one if isinstance(one, tuple) and len(one) == 2 else (one, ())
    number = getattr(job, "number", None)
    if number not in waiting:
        shown = getattr(job, "id", job)
        raise ScenarioError(f"{where}: {shown!r:.80} is no job that waits; return entries of seen.waiting")
    return waiting[number], tuple(int(pe) for pe in pes)


def _check_pes(where: str, job: Waiting, pes: Sequence[int], free: set[int]) -> None:
    if busy := sorted(set(pes) - free):
        raise ScenarioError(f"{where}: it starts job {job.id} on PE {busy[0]}, which is busy; take seen.free_pes")
    if len(set(pes)) != job.processors:
        what = f"it gives job {job.id} {len(set(pes))} PEs for {job.processors} processes"
        raise ScenarioError(f"{where}: {what}; give one for each")
