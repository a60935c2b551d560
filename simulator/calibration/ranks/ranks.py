"""Drives real ranks, pinned to PEs: kernels side by side, ping-pong, and parallel programs."""

import json
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from simulator.base.errors import CalibrationError, reason
from simulator.calibration.bench.children import LIMIT_S, Children
from simulator.calibration.bench.measurement import DISTURBED
from simulator.calibration.bench.usage import Usage
from simulator.calibration.ranks.programs import PROGRAMS, RealProgram

_RANK = "simulator.calibration.ranks.rank"
WAKE_UP_S = 1e-4
"""Seconds that a process may wait for its processor without anybody else computing there."""
LEAD_S = 0.02
"""How long before all ranks start together their start is told, so that each is ready."""


@dataclass(frozen=True)
class RealRun:
    """One run on real processes."""

    makespan_s: float
    """Last finish minus first start."""
    compute: tuple[Usage, ...]
    """What the computation of each rank cost."""
    pull_s: float | None = None
    """What a pull of a farm took, on average."""


class Ranks:
    """Real processes; a context manager that ends them.

    Rank 0 is joined to every other by a socket pair, and every rank to the next one.

    Parameters
    ----------
    cpus
        The logical processor of each rank, several of which may be the same. A program moves its ranks where it says.

    Raises
    ------
    CalibrationError
        If the system does not grant so many processes or socket pairs.
    """

    def __init__(self, cpus: Sequence[int]) -> None:
        self.cpus = tuple(cpus)
        self._prepared: dict[str, int] = {}
        self._alike: tuple[str, str, dict[str, Any]] | None = None
        # A file in a folder: of those that memfd_create makes, Linux moves the position for several processes at once.
        with tempfile.TemporaryFile() as pool:
            self._start(pool.fileno())

    def _start(self, pool: int) -> None:
        own: list[dict[int, int]] = [{} for _ in self.cpus]
        made: list[socket.socket] = []
        try:
            for one, other in _joined(len(own)):
                pair = socket.socketpair()
                made += pair
                own[one][other], own[other][one] = (end.fileno() for end in pair)
            arguments = [(str(cpu), json.dumps(peers), str(pool)) for cpu, peers in zip(self.cpus, own, strict=True)]
            inherited = [[*peers.values(), pool] for peers in own]
            self._children = Children(_RANK, arguments, inherited=inherited)
        except OSError as error:
            raise CalibrationError(f"{len(own)} ranks cannot be started: {reason(error)}") from error
        finally:
            for end in made:  # the ranks keep theirs
                end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._children.end()

    def prepare(self, kernel: str, n: int, rows: int) -> list[float]:
        """Make the operands of a kernel ready on every rank and run it there once; the wall seconds of those runs.

        Panels of one order share their arrays if the one with most rows is made ready first.
        """
        answers = self._all({"do": "prepare", "kernel": kernel, "n": n, "rows": rows})
        return [float(answer["wall_s"]) for answer in answers.values()]

    def measure(self, kernel: str, n: int, rows: int, *, inner: int, ranks: Sequence[int] | None = None) -> list[Usage]:
        """Run a prepared kernel `inner` times in a row, on all ranks at once (or on some), and say what it cost."""
        command = {"do": "measure", "kernel": kernel, "n": n, "rows": rows, "inner": inner}
        return [Usage(**answer) for answer in self._all(command, ranks=ranks).values()]

    def forget(self) -> None:
        """Free the operands of all kernels and programs."""
        self._prepared.clear()
        self._all({"do": "forget"})

    def ping(self, size_bytes: int, *, peer: int) -> float:
        """Seconds for a payload from rank 0 to a peer, half of there and back.

        What rank 0 waited for its processor counts to no message, as far as it is more than a wake-up: no load of ours
        is there. What the peer waited counts, for a load may be meant to be there.
        """
        command = {"do": "ping", "size_bytes": size_bytes}
        commands = {0: command | {"peer": peer, "first": True}, peer: command | {"peer": 0, "first": False}}
        told = self._children.ask(commands)[0]
        waited_s = told["waited_s"] if told["waited_s"] > max(WAKE_UP_S, DISTURBED * told["wall_s"]) else 0.0
        return max(float(told["wall_s"]) - waited_s, WAKE_UP_S / 100) / 2

    def prepare_program(self, program: RealProgram, *, limit_s: float = LIMIT_S) -> None:
        """Give every rank of a program its part; those prepared before stay ready.

        A program of another name, kernel or other parameters takes the place of all prepared before.
        """
        alike = (program.name, program.kernel, dict(program.parameters))
        if self._prepared and self._alike != alike:
            self.forget()
        self._alike = alike
        number = self._prepared.setdefault(_key(program), len(self._prepared))
        command = {"do": "prepare-program", "program": program.to_dict(), "number": number}
        self._children.ask({rank: command | {"rank": rank} for rank in range(len(program.units))}, limit_s=limit_s)

    def run_program(
        self,
        program: RealProgram,
        *,
        limit_s: float = LIMIT_S,
        beside: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> RealRun:
        """Run a prepared program once, each rank where the program says; every rank checks its answer.

        Parameters
        ----------
        limit_s
            What takes longer is given up.
        beside
            What is on during the run, such as a load: it begins when all ranks are ready, so that the program meets it
            from its start.

        Raises
        ------
        CalibrationError
            If a rank ends, or an answer is wrong; `NoAnswerError` if one takes longer than the limit, after which the
            ranks are of no use.
        """
        command, taking_part = {"number": self._prepared[_key(program)]}, range(len(program.units))
        self._all(command | {"do": "ready"}, ranks=taking_part, limit_s=limit_s)
        with beside():
            begin = {"start": time.perf_counter() + LEAD_S}  # one clock serves all processes
            told_all = self._all(command | {"do": "run-program"} | begin, ranks=taking_part, limit_s=limit_s)
        answers = told_all.values()
        told = [answer["told"] for answer in answers]
        if wrong := PROGRAMS[program.name].agree(program, told):
            raise CalibrationError(f"{program.name} on {len(program.units)} ranks: {wrong}")
        pulls = sum(one.get("pulls", 0) for one in told)
        return RealRun(
            max(answer["end"] for answer in answers) - min(answer["start"] for answer in answers),
            tuple(Usage(**answer["compute"]) for answer in answers),
            sum(one["pull_s"] for one in told) / pulls if pulls else None,
        )

    def _all(
        self, command: Mapping[str, Any], *, ranks: Sequence[int] | None = None, limit_s: float = LIMIT_S
    ) -> dict[int, dict[str, Any]]:
        asked = range(len(self.cpus)) if ranks is None else ranks
        return self._children.ask(dict.fromkeys(asked, command), limit_s=limit_s)


def _key(program: RealProgram) -> str:
    return json.dumps(program.to_dict(), sort_keys=True)


def _joined(count: int) -> list[tuple[int, int]]:
    """The ranks that a channel joins: the first with all others, and each other with the next one."""
    return [(0, rank) for rank in range(1, count)] + [(rank, rank + 1) for rank in range(1, count - 1)]
