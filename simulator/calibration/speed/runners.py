"""Real processes that run what is measured: a kernel in a child of ours, or a command line that a child starts."""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from simulator.base import units
from simulator.base.errors import CalibrationError
from simulator.calibration.bench.group import EndedError, Group
from simulator.calibration.bench.launcher import failure
from simulator.calibration.bench.usage import Usage
from simulator.calibration.speed.subjects import CommandSubject, KernelSubject, Subject

_NO_MEMORY = re.compile(r"memory ?error|bad_alloc|cannot allocate|out of memory|unable to allocate", re.IGNORECASE)
_START_S = 60.0
"""How long a child of ours may take to start, to compile and to fill operands beside the run itself."""


class Runner(Protocol):
    """Runs one subject on one PE."""

    def can_allocate(self, count_bytes: int) -> bool:
        """Whether so much memory is granted; none is touched."""

    def prepare(self, n: int) -> None:
        """Make ready for runs at n."""

    def sample(self, inner: int) -> Usage:
        """What `inner` runs in a row cost in all."""

    def close(self) -> None:
        """End every process."""


class _Child:
    """A child of ours and the memory it may take; beside it others that do the same at the same time."""

    def __init__(
        self, subject: Subject, what: str, rows: Sequence[Sequence[object]], *, limits: tuple[int, float]
    ) -> None:
        self._label = subject.label
        self._memory_bytes, self._limit_s = limits
        self._n = 0
        self._group = Group(what, rows)
        try:
            self.ask({"do": "limit", "count_bytes": self._memory_bytes}, limit_s=_START_S)
        except BaseException:  # nobody else knows of the child yet
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def can_allocate(self, count_bytes: int) -> bool:
        """Whether so much memory is granted; none is touched."""
        return bool(self.ask({"do": "allocate", "count_bytes": count_bytes}, limit_s=_START_S)["granted"])

    def ask(self, command: dict[str, Any], *, limit_s: float) -> dict[str, Any]:
        """The child's answer.

        Raises
        ------
        CalibrationError
            If it ends or does not answer, with the n that it was at.
        """
        try:
            return self._group.ask_all(command, limit_s=limit_s)[0]
        except CalibrationError as error:
            raise self.fault(error.reason if isinstance(error, EndedError) else str(error)) from error

    def fault(self, what: str) -> CalibrationError:
        """An error that says at which n."""
        if _NO_MEMORY.search(what):
            limit = units.show_size(self._memory_bytes)
            what = f"exceeds the {limit} of memory allowed ({what}); a smaller --max-size needed"
        return CalibrationError(f"{self._label}: n = {self._n}: {what}")

    def close(self) -> None:
        """End every process."""
        self._group.end()


class KernelRunner(_Child):
    """A kernel in a pinned child; the library's own threads are switched off."""

    def __init__(self, subject: KernelSubject, *, cpus: Sequence[int], memory_bytes: int, limit_s: float) -> None:
        rows = [(cpu, subject.kernel.name) for cpu in cpus]
        super().__init__(subject, "kernel", rows, limits=(memory_bytes // len(cpus), limit_s))

    def prepare(self, n: int) -> None:
        """Allocate, fill and touch the operands."""
        self._n = n
        self.ask({"do": "prepare", "n": n}, limit_s=_START_S + self._limit_s)

    def sample(self, inner: int) -> Usage:
        """What `inner` runs in a row cost in all."""
        return Usage(**self.ask({"do": "sample", "inner": inner}, limit_s=_START_S + 2 * self._limit_s))


class CommandRunner(_Child):
    """A command line, started by a pinned child that accounts for it and for all it starts."""

    def __init__(self, subject: CommandSubject, *, cpu: int, memory_bytes: int, limit_s: float) -> None:
        super().__init__(subject, "command", [(cpu,)], limits=(memory_bytes, limit_s))
        self._subject = subject

    def prepare(self, n: int) -> None:
        """Remember n; a command makes its own data."""
        self._n = n

    def sample(self, inner: int) -> Usage:
        """What `inner` runs in a row cost in all, from the start of each to its end."""
        total = Usage()
        for _ in range(inner):
            total += self._run()
        return total

    def _run(self) -> Usage:
        words = self._subject.at(self._n)
        command = {"do": "run", "words": list(words), "limit_s": self._limit_s}
        answer = self.ask(command, limit_s=_START_S + self._limit_s)
        if said := failure(answer, limit_s=self._limit_s, memory_bytes=self._memory_bytes):
            raise self.fault(f"{shlex.join(words)}: {said}" if "failed" in answer else said)
        return Usage(**answer["usage"])


def open_runner(subject: Subject, *, cpu: int, memory_bytes: int, limit_s: float, beside: Sequence[int] = ()) -> Runner:
    """Start the child that runs a subject.

    Parameters
    ----------
    cpu
        The logical processor it is pinned to.
    memory_bytes
        What it may take.
    limit_s
        A single run that lasts longer is stopped.
    beside
        Further processors on which a kernel runs at the same time, as in a parallel run.
    """
    if isinstance(subject, KernelSubject):
        return KernelRunner(subject, cpus=(cpu, *beside), memory_bytes=memory_bytes, limit_s=limit_s)
    kinds: dict[type, Callable[..., Runner]] = {CommandSubject: CommandRunner}
    return kinds[type(subject)](subject, cpu=cpu, memory_bytes=memory_bytes, limit_s=limit_s)


class LateRunner:
    """A runner that is started when it is first needed: points that are all known already need none."""

    def __init__(self, start: Callable[[], Runner]) -> None:
        self._start = start
        self._runner: Runner | None = None

    def running(self) -> Runner:
        """The runner, started if it was not."""
        if self._runner is None:
            self._runner = self._start()
        return self._runner

    def close(self) -> None:
        """End every process."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None
