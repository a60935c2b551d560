"""What is measured: a kernel of ours or a command line, with the problem size and the volume of its parameter n."""

import re
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np

from simulator.base import units
from simulator.base.errors import CalibrationError, FormulaError, ScenarioError
from simulator.base.formula import Formula, parse
from simulator.calibration.bench.group import Command, EndedError, Group
from simulator.calibration.bench.launcher import Ended, failure
from simulator.calibration.bench.measurement import Workload
from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.kernels.device import number_of
from simulator.calibration.kernels.sized import LARGEST_N, WORD_BYTES, SizedKernel, largest_within
from simulator.calibration.kernels.table import MARK

_PLACE = re.compile(r"\{(\w+)\}")
_NO_MEMORY = re.compile(r"memory ?error|bad_alloc|cannot allocate|out of memory|unable to allocate", re.IGNORECASE)
_START_S = 60.0
"""How long a child of ours may take to start, to compile and to fill operands, the run itself apart."""


@dataclass(frozen=True)
class KernelSubject:
    """One of our kernels."""

    kernel: SizedKernel
    device: str | None = None
    """The GPU that it runs on."""

    @property
    def label(self) -> str:
        """`kernel NAME`, and of which columns, and on which GPU."""
        name, _, columns = self.kernel.name.partition(MARK)
        return f"kernel {name}" + (f" on {columns} columns" if columns else "") + on_which(self.device)

    @property
    def least_n(self) -> int:
        """The smallest n that is looked at."""
        return self.kernel.least

    @property
    def stored_bytes(self) -> bool:
        """Whether it stores its elements."""
        return self.kernel.bytes_of(2**20) > self.kernel.bytes_of(1)

    def size(self, n: int) -> float:
        """Problem size in elements."""
        return float(self.kernel.size(n))

    def volume(self, n: int) -> float:
        """Volume of computation of one run."""
        return self.kernel.volume(n)

    def bytes_of(self, n: int) -> int:
        """Memory of the operands."""
        return self.kernel.bytes_of(n)

    def n_of(self, size: float) -> int:
        """The n whose size is nearest."""
        return self.kernel.n_of(size)

    @property
    def workload(self) -> Workload:
        """Its name, and the columns and depth of its panels if it has them."""
        name, _, _ = self.kernel.name.partition(MARK)
        return Workload(name, self.kernel.columns, self.kernel.depth, device=self.device)


@dataclass(frozen=True)
class CommandSubject:
    """A command line with a place `{n}`, and formulas in n for its problem size and its volume."""

    words: tuple[str, ...]
    size_formula: Formula
    volume_formula: Formula
    device: str | None = None
    """The GPU that it runs on."""
    stored_bytes: bool = True
    least_n: int = 1

    @property
    def label(self) -> str:
        """`command WORDS`, with the place of n, and on which GPU."""
        return f"command {shlex.join(self.words)}" + on_which(self.device)

    def at(self, n: int) -> tuple[str, ...]:
        """The words to run for n."""
        said = {"n": str(n), "device": "" if self.device is None else str(number_of(self.device))}
        return tuple(_PLACE.sub(lambda place: said[place[1]], word) for word in self.words)

    def size(self, n: int) -> float:
        """Problem size in elements; infinite beyond the range of numbers."""
        return _value(self.size_formula, n)

    def volume(self, n: int) -> float:
        """Volume of computation of one run; infinite beyond the range of numbers."""
        return _value(self.volume_formula, n)

    def bytes_of(self, n: int) -> int:
        """Memory of its elements, 8 bytes each (what the command really takes is not known before it runs)."""
        return int(min(WORD_BYTES * self.size(n), 2.0**62))

    def n_of(self, size: float) -> int:
        """The n, at least 1, whose size is nearest, by bisection."""
        below = max(1, largest_within(self.size, size))
        return min((below, below + 1), key=lambda n: (abs(self.size(n) - size), n))

    @property
    def workload(self) -> Workload:
        """Its words and formulas."""
        size, volume = self.size_formula.text, self.volume_formula.text
        return Workload(command=self.words, size=size, volume=volume, device=self.device)


Subject = KernelSubject | CommandSubject
"""What is measured, at a parameter n."""


def on_which(device: str | None) -> str:
    """Of a label."""
    return "" if device is None else f" on {device}"


def command_subject(command: str, *, size: str, volume: str, device: str | None = None) -> CommandSubject:
    """Check a command line and its formulas; it is split into words here and never sees a shell."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ScenarioError(f"command: {str(error).lower()}; match the quotes") from error
    if not words:
        raise ScenarioError("command is empty; name a program with {n} in its arguments")
    places = {name for word in words for name in _PLACE.findall(word)}
    allowed = {"n"} if device is None else {"n", "device"}
    if "n" not in places or places - allowed:
        found = ", ".join(f"{{{name}}}" for name in sorted(places)) or "no place"
        raise ScenarioError(f"command has {found}; write {{n}} where its parameter goes, and no other")
    program = _PLACE.sub("1", words[0])
    if shutil.which(program) is None:
        raise ScenarioError(
            f"command: {program} is no program that can be run; name one on the path or by its own path"
        )
    if device is not None:
        number_of(device)
    formulas = (parse(size, names=("n",), place="size"), parse(volume, names=("n",), place="volume"))
    subject = CommandSubject(words, *formulas, device=device)
    _check_growth(subject)
    return subject


def largest_taken(subject: Subject, n: int) -> int:
    """A parameter up to n that the subject takes, the largest or near it; 0 if there is none.

    A kernel may take only some n, and a size may be the same for several.
    """
    step = 0
    while n - step >= 1:
        if (found := subject.n_of(subject.size(n - step))) <= n:
            return found
        step = max(1, 2 * step)
    return 0


def _value(formula: Formula, n: int) -> float:
    """A formula at n; infinite where it is not defined, but for n = 1, where that is the user's fault."""
    try:
        return float(formula.evaluate({"n": n}))
    except FormulaError:
        if n == 1:
            raise
        return float("inf")


def _check_growth(subject: CommandSubject) -> None:
    """Look at size and volume for n from 1 to 64 and at more and more distant n up to the first that overflows."""
    steps = [*range(1, 65), *(2**k + away for k in range(7, LARGEST_N.bit_length()) for away in (-1, 0, 1))]
    sizes: list[float] = []
    for n in steps:
        size, volume = subject.size(n), subject.volume(n)
        if not np.isfinite(size + volume):
            break  # beyond the range of numbers: no n so large is ever run
        for name, value in (("size", size), ("volume", volume)):
            if value <= 0:
                raise ScenarioError(f"{name} is {value:g} at n = {n}; give a formula that is above 0 for every n")
        if sizes and size < sizes[-1]:
            raise ScenarioError(f"size falls from {sizes[-1]:g} to {size:g} at n = {n}; give a size that grows with n")
        sizes.append(size)
    if np.ptp(sizes) == 0:
        raise ScenarioError(f"size is {sizes[0]:g} for every n; give a size that grows with n")


# Real processes that run what is measured: a kernel in a child of ours, or a command line that a child starts.


T = TypeVar("T")


@dataclass(frozen=True)
class Granted:
    """Whether memory is."""

    granted: bool


class _Child:
    """A child of ours and the memory it may take; and others that do the same at the same time."""

    def __init__(
        self, subject: Subject, what: str, rows: Sequence[Sequence[object]], *, limits: tuple[int, float]
    ) -> None:
        self._label = subject.label
        self._memory_bytes, self._limit_s = limits
        self._n = 0
        self._group = Group(what, rows)
        try:
            self.ask({"do": "limit", "count_bytes": self._memory_bytes}, Done, limit_s=_START_S)
        except BaseException:  # nobody else knows of the child yet
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def can_allocate(self, count_bytes: int) -> bool:
        """Whether so much memory is granted; none is touched."""
        return self.ask({"do": "allocate", "count_bytes": count_bytes}, Granted, limit_s=_START_S).granted

    def ask(self, command: Command, kind: type[T], *, limit_s: float) -> T:
        """The child's answer."""
        return self.ask_all(command, kind, limit_s=limit_s)[0]

    def ask_all(self, command: Command, kind: type[T], *, limit_s: float) -> list[T]:
        """The child's answer, then those of the others."""
        try:
            return self._group.ask_all(command, kind, limit_s=limit_s)
        except CalibrationError as error:
            raise self.fault(error.reason if isinstance(error, EndedError) else str(error)) from error

    def fault(self, what: str) -> CalibrationError:
        """An error that says at which n."""
        if _NO_MEMORY.search(what):
            limit = units.show_size(self._memory_bytes)
            what = f"exceeds the {limit} of memory that it may take ({what}); give a smaller --max-size"
        return CalibrationError(f"{self._label}: n = {self._n}: {what}")

    def close(self) -> None:
        """End every process."""
        self._group.end()


class KernelRunner(_Child):
    """A kernel in a pinned child; the library's own threads are switched off."""

    def __init__(self, subject: KernelSubject, *, cpus: Sequence[int], memory_bytes: int, limit_s: float) -> None:
        devices = (subject.device or "", *("" for _ in cpus[1:]))
        rows = [(cpu, subject.kernel.name, device) for cpu, device in zip(cpus, devices, strict=True)]
        super().__init__(subject, "kernel", rows, limits=(memory_bytes // len(cpus), limit_s))
        self._of = used_on(subject.device)
        self._warm = False
        self.at_once: list[tuple[int, float, tuple[float, ...]]] = []
        """Of each sample but the first after operands were made: n, when it began, CPU seconds of a run on each PE."""

    def prepare(self, n: int) -> None:
        """Allocate, fill and touch the operands."""
        self._n, self._warm = n, False
        self.ask({"do": "prepare", "n": n}, Done, limit_s=_START_S + self._limit_s)

    def sample(self, inner: int) -> Usage:
        """What `inner` runs in a row cost in all."""
        began_s = time.monotonic()
        each = self.ask_all({"do": "sample", "inner": inner}, Usage, limit_s=_START_S + 2 * self._limit_s)
        if self._warm and len(each) > 1:
            self.at_once.append((self._n, began_s, tuple(one.cpu_s / inner for one in each)))
        self._warm = True
        return self._of(each[0])


class CommandRunner(_Child):
    """A command line, started by a pinned child that accounts for it and for all it starts."""

    def __init__(self, subject: CommandSubject, *, cpu: int, memory_bytes: int, limit_s: float) -> None:
        super().__init__(subject, "command", [(cpu, subject.device or "")], limits=(memory_bytes, limit_s))
        self._subject, self._of = subject, used_on(subject.device)

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
        run = self.ask(command, Ended, limit_s=_START_S + self._limit_s)
        if said := failure(run, limit_s=self._limit_s, memory_bytes=self._memory_bytes):
            raise self.fault(f"{shlex.join(words)}: {said}" if run.failed else said)
        return self._of(run.usage)


def used_on(device: str | None) -> Callable[[Usage], Usage]:
    """What a run cost: on a GPU its time by the clock, whatever its host does meanwhile."""
    return (lambda used: used) if device is None else (lambda used: replace(used, cpu_s=used.wall_s))


Runner = KernelRunner | CommandRunner
"""Runs one subject on one PE."""


def open_runner(subject: Subject, *, cpu: int, memory_bytes: int, limit_s: float, others: Sequence[int] = ()) -> Runner:
    """Start the child that runs a subject.

    A single run that lasts longer than `limit_s` is stopped; on `others` a kernel runs at the same time, as in a
    parallel run.
    """
    if isinstance(subject, KernelSubject):
        return KernelRunner(subject, cpus=(cpu, *others), memory_bytes=memory_bytes, limit_s=limit_s)
    return CommandRunner(subject, cpu=cpu, memory_bytes=memory_bytes, limit_s=limit_s)


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
