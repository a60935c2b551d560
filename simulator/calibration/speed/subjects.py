"""What is measured: a kernel of ours or a command line, with the problem size and the volume of its parameter n."""

import re
import shlex
import shutil
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from simulator.base.errors import FormulaError, ScenarioError
from simulator.base.formula import Formula, parse
from simulator.calibration.kernels.sized import LARGEST_N, WORD_BYTES, SizedKernel, largest_within
from simulator.calibration.kernels.table import MARK

_PLACE = re.compile(r"\{(\w+)\}")


class Subject(Protocol):
    """What is measured, at a parameter n."""

    @property
    def label(self) -> str:
        """What messages call it."""

    @property
    def stored_bytes(self) -> bool:
        """Whether its memory grows with n at all."""

    @property
    def least_n(self) -> int:
        """The smallest n that is looked at."""

    def size(self, n: int) -> float:
        """Problem size in elements."""

    def volume(self, n: int) -> float:
        """Volume of computation of one run."""

    def bytes_of(self, n: int) -> int:
        """Memory of the operands."""

    def n_of(self, size: float) -> int:
        """The n whose size is nearest."""

    def to_dict(self) -> dict[str, Any]:
        """What makes two subjects the same, as plain data."""


@dataclass(frozen=True)
class KernelSubject:
    """One of our kernels."""

    kernel: SizedKernel

    @property
    def label(self) -> str:
        """`kernel NAME`, and of which columns."""
        name, _, columns = self.kernel.name.partition(MARK)
        return f"kernel {name}" + (f" on {columns} columns" if columns else "")

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

    def to_dict(self) -> dict[str, Any]:
        """Its name, and the columns of its panels if it has them."""
        name, _, _ = self.kernel.name.partition(MARK)
        return {"kernel": name} | ({} if self.kernel.columns is None else {"columns": self.kernel.columns})


@dataclass(frozen=True)
class CommandSubject:
    """A command line with a place `{n}`, and formulas in n for its problem size and its volume."""

    words: tuple[str, ...]
    size_formula: Formula
    volume_formula: Formula
    stored_bytes: bool = True
    least_n: int = 1

    @property
    def label(self) -> str:
        """`command WORDS`, with the place of n."""
        return f"command {shlex.join(self.words)}"

    def at(self, n: int) -> tuple[str, ...]:
        """The words to run for n."""
        return tuple(_PLACE.sub(str(n), word) for word in self.words)

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

    def to_dict(self) -> dict[str, Any]:
        """Its words and formulas."""
        return {"command": list(self.words), "size": self.size_formula.text, "volume": self.volume_formula.text}


def command_subject(command: str, *, size: str, volume: str) -> CommandSubject:
    """Check a command line and its formulas; it is split into words here and never sees a shell.

    Raises
    ------
    ScenarioError
        If the command is empty, badly quoted, without `{n}`, with another place or not found, or if the size falls or
        does not grow with n, or size or volume is not above 0.
    FormulaError
        If a formula is outside the language.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ScenarioError(f"command: {str(error).lower()}, words with matching quotes allowed") from error
    if not words:
        raise ScenarioError("command: an empty line found, a program with {n} in its arguments allowed")
    places = {name for word in words for name in _PLACE.findall(word)}
    if places != {"n"}:
        found = ", ".join(f"{{{name}}}" for name in sorted(places)) or "no place"
        raise ScenarioError(f"command: {found} found, {{n}} and no other allowed")
    program = _PLACE.sub("1", words[0])
    if shutil.which(program) is None:
        raise ScenarioError(f"command: {program} not found, a program that can be run allowed")
    formulas = (parse(size, names=("n",), place="size"), parse(volume, names=("n",), place="volume"))
    subject = CommandSubject(words, *formulas)
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
                raise ScenarioError(f"{name}: {value:g} at n = {n} found, above 0 for every n allowed")
        if sizes and size < sizes[-1]:
            raise ScenarioError(f"size: {sizes[-1]:g} falls to {size:g} at n = {n}, a size that grows with n allowed")
        sizes.append(size)
    if np.ptp(sizes) == 0:
        raise ScenarioError(f"size: {sizes[0]:g} for every n found, a size that grows with n allowed")
