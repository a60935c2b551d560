"""Drives real ranks, pinned to PEs: parallel programs, and command lines."""

import json
import math
import shlex
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Self

from simulator.base.errors import CalibrationError, reason
from simulator.calibration.bench.group import LIMIT_S, Group, Place
from simulator.calibration.bench.launcher import Ended, failure
from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.ranks.programs import PROGRAMS, RankRun, RealProgram

LEAD_S = 0.02
"""How long before all ranks start together their start is said, so that each is ready."""
FAR_LEAD_S = 0.3
"""The same where ranks are on other hosts."""
_START_S = 60.0
"""How long starting a command may take besides its run."""


@dataclass(frozen=True)
class RealRun:
    """One run on real processes."""

    makespan_s: float
    compute: tuple[Usage, ...]
    pull_s: float | None = None
    """What a pull of a farm took, on average."""


class Ranks:
    """Real processes; a context manager that ends them.

    Rank 0 is joined to every other by a socket pair, and every rank to the next one.

    `cpus` are the logical processor of each rank, several of which may be the same; a program moves its ranks where it
    says.
    """

    def __init__(self, cpus: Sequence[int]) -> None:
        self.cpus = tuple(cpus)
        self._prepared: dict[str, int] = {}
        self._alike: tuple[str, str, Mapping[str, object]] | None = None
        self._open()

    def _open(self) -> None:
        # A file in a folder: of those that memfd_create makes, Linux moves the position for several processes at once.
        with tempfile.TemporaryFile() as pool:
            self._start(pool.fileno())

    def _start(self, pool: int) -> None:
        own: list[dict[int, int]] = [{} for _ in self.cpus]
        made: list[socket.socket] = []
        try:
            for one, other in joined(len(own)):
                pair = socket.socketpair()
                made += pair
                own[one][other], own[other][one] = (end.fileno() for end in pair)
            rows = [(cpu, json.dumps(peers), pool) for cpu, peers in zip(self.cpus, own, strict=True)]
            self._group = Group("rank", rows, inherited=[[*peers.values(), pool] for peers in own])
        except OSError as error:
            raise CalibrationError(f"{len(own)} ranks cannot be started: {reason(error)}") from error
        finally:
            for end in made:  # the ranks keep theirs
                end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._group.end()

    def forget(self) -> None:
        """Free the operands of all programs."""
        self._prepared.clear()
        self._group.ask_all({"do": "forget"}, Done)

    def prepare_program(self, program: RealProgram, *, limit_s: float = LIMIT_S) -> None:
        """Give every rank of a program its part; those prepared before stay ready.

        A program of another name, kernel or other parameters takes the place of all prepared before.
        """
        alike = (program.name, program.kernel, dict(program.parameters))
        if self._prepared and self._alike != alike:
            self.forget()
        self._alike = alike
        number = self._prepared.setdefault(_key(program), len(self._prepared))
        command = {"do": "prepare program", "program": asdict(program), "number": number}
        self._group.ask({rank: command | {"rank": rank} for rank in range(len(program.units))}, Done, limit_s=limit_s)

    def run_program(
        self,
        program: RealProgram,
        *,
        limit_s: float = LIMIT_S,
        beside: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> RealRun:
        """Run a prepared program once, each rank where the program says; every rank checks its answer.

        What takes longer than `limit_s` is given up. What is on `beside` the run, such as a load, begins when all ranks
        are ready, so that the program meets it from its start.
        """
        number, taking_part = self._prepared[_key(program)], range(len(program.units))
        self._group.ask_all({"do": "ready", "number": number}, Done, numbers=taking_part, limit_s=limit_s)
        with beside():
            offsets_s = [self._group.offset_s(rank) for rank in taking_part]  # one clock serves a machine
            start = time.perf_counter() + (FAR_LEAD_S if any(offsets_s) else LEAD_S)
            run = {"do": "run program", "number": number}
            commands = {rank: run | {"start": start + offset_s} for rank, offset_s in enumerate(offsets_s)}
            answers = list(self._group.ask(commands, RankRun, limit_s=limit_s).values())
        return _run_of(program, answers, offsets_s)


def _run_of(program: RealProgram, answers: Sequence[RankRun], offsets_s: Sequence[float]) -> RealRun:
    """What the ranks answered after a run, on one clock."""
    reports = [answer.report for answer in answers]
    if wrong := PROGRAMS[program.name].agree(program, reports):
        raise CalibrationError(f"{program.name} on {len(program.units)} ranks: {wrong}")
    pulls = sum(one.get("pulls", 0) for one in reports)
    shifted = [
        (answer.start - offset_s, answer.end - offset_s) for answer, offset_s in zip(answers, offsets_s, strict=True)
    ]
    return RealRun(
        _makespan_s(program.name, max(end for _, end in shifted) - min(start for start, _ in shifted)),
        tuple(answer.compute for answer in answers),
        sum(one.get("pull_s", 0.0) for one in reports) / pulls if pulls else None,
    )


def _makespan_s(program: str, seconds: float) -> float:
    if not 0 < seconds < math.inf:
        raise CalibrationError(f"{program}: a run took {seconds:g} s, which is no time")
    return seconds


def _key(program: RealProgram) -> str:
    return json.dumps(asdict(program), sort_keys=True)


def joined(count: int) -> list[tuple[int, int]]:
    """The ranks that a channel joins: the first with all others, and each other with the next one."""
    return [(0, rank) for rank in range(1, count)] + [(rank, rank + 1) for rank in range(1, count - 1)]


class CommandRanks:
    """Launchers, one per rank and pinned to its PE; a context manager that ends them and all that they started.

    Several ranks may share a processor, and a run may move them; `places` are the machine of each rank, this one by
    default.
    """

    def __init__(self, cpus: Sequence[int], places: Sequence[Place] | None = None) -> None:
        self.cpus = tuple(cpus)
        self._group = Group("command", [(cpu,) for cpu in cpus], places=places)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._group.end()

    def run(
        self, words: Sequence[Sequence[str]], *, limit_s: float, places: Sequence[Sequence[int]] | None = None
    ) -> RealRun:
        """Start the words of the first ranks at once and wait for all.

        The makespan is the longest time from a rank's start to its end, so that our own start-up does not count.

        `words` are of each rank that has something to do; what takes longer than `limit_s` is stopped; `places` are the
        logical processors that each may use, where it was last by default.
        """
        commands = {
            rank: {"do": "run", "words": list(own), "limit_s": limit_s}
            | ({"cpus": list(places[rank])} if places else {})
            for rank, own in enumerate(words)
        }
        answers = self._group.ask(commands, Ended, limit_s=_START_S + limit_s)
        for rank, run in answers.items():
            if said := failure(run, limit_s=limit_s):
                raise CalibrationError(f"rank {rank}: {shlex.join(words[rank])}: {said}")
        usages = tuple(answers[rank].usage for rank in range(len(words)))
        return RealRun(_makespan_s(shlex.join(words[0]), max(usage.wall_s for usage in usages)), usages)
