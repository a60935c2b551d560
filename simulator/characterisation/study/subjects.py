"""What is characterised: a kernel of ours or a function in a user's file; sizes that are judged, sizes that teach."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.base import formula, units
from simulator.base.errors import FormulaError, ScenarioError
from simulator.characterisation.derive.arguments import (
    Arguments,
    Values,
    from_mapping,
    of_sizes,
    parse_arguments,
)
from simulator.characterisation.derive.source import read_source
from simulator.characterisation.kernels.study import StudyKernel
from simulator.characterisation.kernels.table import study_kernel
from simulator.models.resource import Guess, Ruv

MOST_SIZES = 20
_SHARES = (0.5, 0.7, 1.4)
"""Of a user's sizes, where component timing looks: the two below the smallest, and beyond the largest."""
_DESIGN_SHARE = 0.25
"""How far a designer's amounts may be off, as a share."""


@dataclass(frozen=True)
class Subject:
    """What is characterised."""

    name: str
    meaning: str
    kernel: StudyKernel | None
    """None for a user's function."""
    target: Path | Callable[..., Any]
    function: str | None
    """Name in the file; None for a kernel."""
    arguments: Arguments
    """Of the largest size judged, with the points that are counted."""
    judged: tuple[Values, ...]
    """Values of the parameters."""
    taught: tuple[Values, ...]
    """Values at which component timing looks, none of them judged."""
    varied: str
    """The parameter that sizes vary."""
    design: Mapping[str, formula.Formula]
    """Operation -> formula of the parameters; empty if nobody stated one."""
    template: str | None

    def design_ruv(self, values: Values) -> Ruv:
        """What a designer expects, each a quarter more or less."""
        found = {name: float(amount.evaluate(values)) for name, amount in self.design.items()}
        return {name: Guess(n, n * (1 - _DESIGN_SHARE), n * (1 + _DESIGN_SHARE)) for name, n in found.items()}


def make_subject(
    text: str, *, args: Sequence[str] = (), sizes: Sequence[int] = (), design: Sequence[str] = ()
) -> Subject:
    """A subject from what a user names.

    Parameters
    ----------
    text
        A kernel's name, or `FILE.py:FUNCTION`.
    args
        `n=1000` and the like; see `parse_arguments`. Kernels know n only.
    sizes
        Values of n (of the first whole number among the arguments, if none is called n) that are judged.
    design
        `OPERATION=FORMULA`, operations of `guesses.DESIGN`.

    Raises
    ------
    ScenarioError
        If there is no such kernel, file or function, or arguments, sizes or design cannot be used.
    """
    given = parse_arguments(args, place="--args")
    if len(sizes) > MOST_SIZES or any(size < 1 for size in sizes):
        raise ScenarioError(
            f"--sizes: {', '.join(map(str, sizes))} found, 1 to {MOST_SIZES} whole numbers above 0 allowed"
        )
    if ".py" in text or "/" in text:
        return _of_file(text, given, sizes, design)
    kernel = study_kernel(text)
    stray = [name for name, value in given.items() if name != "n" or not isinstance(value, int) or value < 1]
    if stray:
        raise ScenarioError(f"--args: {stray[0]}={given[stray[0]]} found, n=NUMBER allowed for kernel {text}")
    judged = tuple(dict.fromkeys(sizes or [int(n) for n in given.values()] or kernel.sizes))
    _check_power(kernel, judged)
    taught = tuple(n for n in kernel.training_sizes if n not in judged)
    formulas = _formulas(design, ("n",)) or {name: formula.parse(one) for name, one in kernel.design.items()}
    return Subject(
        kernel.name,
        kernel.meaning,
        kernel,
        kernel.function,
        None,
        of_sizes(kernel.arguments, max(judged), points=kernel.training_sizes),
        tuple({"n": n} for n in judged),
        tuple({"n": n} for n in taught),
        "n",
        formulas,
        kernel.template,
    )


def _of_file(text: str, given: Mapping[str, float | str], sizes: Sequence[int], design: Sequence[str]) -> Subject:
    name, mark, function = text.rpartition(":")
    if not mark or not function.isidentifier():
        raise ScenarioError(f"{text}: no function named, FILE.py:FUNCTION allowed")
    path = Path(name)
    source = read_source(path, function)
    numbers = {key: value for key, value in given.items() if not isinstance(value, str)}
    whole = [key for key, value in numbers.items() if isinstance(value, int)]
    varied = "n" if "n" in whole else next(iter(whole), "")
    if sizes and not varied:
        raise ScenarioError("--sizes: no whole number among the arguments found, --args 'n=1000' with it allowed")
    judged_n = list(dict.fromkeys(sizes)) or ([int(numbers[varied])] if varied else [])
    largest = dict(given) | ({varied: max(judged_n)} if varied else {})
    arguments = from_mapping(largest, source.parameters)
    base = dict(arguments.parameters)
    judged = tuple(base | {varied: n} for n in judged_n) if varied else (base,)
    taught = tuple(base | {varied: n} for n in _around(judged_n)) if varied else ()
    return Subject(
        f"{path.name}:{function}",
        f"function {function} of {path}",
        None,
        path,
        function,
        arguments,
        judged,
        taught,
        varied,
        _formulas(design, tuple(base)),
        None,
    )


def _around(judged: Sequence[int]) -> list[int]:
    """Sizes around those judged: powers of two for powers of two."""
    if all(n & (n - 1) == 0 for n in judged):
        found = [min(judged) // 4, min(judged) // 2, 2 * max(judged)]
        found += [n for n in (2**k for k in range(64)) if min(judged) < n < max(judged)]
    else:
        low, middle, high = _SHARES
        found = [round(low * min(judged)), round(middle * min(judged)), round(high * max(judged))]
        ordered = sorted(judged)
        found += [round((a * b) ** 0.5) for a, b in itertools.pairwise(ordered)]
    return sorted({n for n in found if n >= 1 and n not in judged})


def _formulas(design: Sequence[str], names: tuple[str, ...]) -> dict[str, formula.Formula]:
    from simulator.characterisation.costs.guesses import DESIGN

    found = {}
    for text in design:
        operation, mark, amount = text.partition("=")
        if not mark or operation not in DESIGN:
            raise ScenarioError(f"--design: {text!r} found, OPERATION=FORMULA with {', '.join(DESIGN)} allowed")
        try:
            found[operation] = formula.parse(amount, names=names, place=f"--design {operation}")
        except FormulaError as error:
            raise ScenarioError(error.lines) from error
    return found


def _check_power(kernel: StudyKernel, judged: Sequence[int]) -> None:
    if all(n & (n - 1) == 0 for n in kernel.sizes) and any(n & (n - 1) for n in judged):
        shown = ", ".join(map(str, judged))
        raise ScenarioError(f"--sizes: {shown} found, powers of two allowed for kernel {kernel.name}")


def show_size(values: Values) -> str:
    """`n = 100`, and others."""
    return ", ".join(f"{name} = {value:g}" for name, value in values.items())


def show_time(seconds: float) -> str:
    """Seconds with a unit."""
    return units.show_duration(seconds)
