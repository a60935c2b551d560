"""Micro-benchmarks: small functions that lean on few constructs each, generated from a table, and how they run."""

import ast
import itertools
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.characterisation.costs.micro_table import APART, CHAINED, GATHERED, NESTED, OTHERS, OVERWRITING
from simulator.characterisation.costs.vectors import MICRO, STREAM
from simulator.models.memory.levels import WORD_BYTES

VECTOR = 1000
"""Elements of a vector: three of them fit the smallest first-level cache."""
STEPS = 5000
"""Steps of a loop without vectors."""
SIDE = 40
"""Rows and columns of a grid."""
ENTRY = "micro"
"""Name of every micro-benchmark's function."""


@dataclass(frozen=True)
class Program:
    """A function at one size: what is counted and timed."""

    name: str
    """Sizes of one program share it."""
    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    overwrites: bool = False
    """Whether a run spoils its arguments for the next one."""
    role: str = MICRO
    n: int = 1
    """Size; words for a stream."""
    text: str = ""
    """Source of a micro-benchmark; other functions have theirs in a file."""

    @property
    def label(self) -> str:
        """Name and size."""
        if self.role == STREAM:
            return f"read {WORD_BYTES * self.n} bytes"
        return self.name if self.role == MICRO else f"{self.name} {self.n}"


def _floats(step: int = 7) -> Floats:
    """Numbers between 1/2 and 3/2, in no order."""
    return np.asarray(0.5 + (np.arange(VECTOR) * step % 997) / 997)


def _ints(step: int = 7) -> Ints:
    """Whole numbers from 1 to 997, in no order."""
    return np.asarray(1 + np.arange(VECTOR) * step % 997)


def _grid(step: int = 7) -> Floats:
    return _floats(step)[np.arange(SIDE * SIDE) % VECTOR].reshape(SIDE, SIDE)


_MAKERS: dict[str, Callable[..., Any]] = {
    "floats": _floats,
    "ints": _ints,
    "grid": _grid,
    "few_ints": lambda step: _ints(step)[:200].copy(),
    "few_floats": lambda step: _floats(step)[:300].copy(),
    "small_floats": lambda step: 1e-9 * _floats(step),
    "sorted_ints": lambda: np.sort(_ints()),
    "even_floats": lambda: np.linspace(0.5, 1.5, VECTOR),
    "int_grid": lambda: _ints()[np.arange(SIDE * SIDE) % VECTOR].reshape(SIDE, SIDE),
    "steep_grid": lambda: _grid() + 40 * np.eye(SIDE),
    "column": lambda: np.array(_floats()[:SIDE]),
    "cube": lambda: _floats().reshape(10, 10, 10),
    "int_cube": lambda: _ints().reshape(10, 10, 10),
    "shuffled": lambda: np.asarray((_ints(401) - 1) % VECTOR),
    "ring": lambda: (np.arange(VECTOR) + 387) % VECTOR,
    "room": lambda: np.zeros(VECTOR),
    "int_room": lambda: np.zeros(VECTOR, dtype=np.int64),
    "counters": lambda: np.zeros(64, dtype=np.int64),
    "steps": lambda: STEPS,
    "fewer_steps": lambda: STEPS // 5,
}
"""Word of the table, which a number may follow after a colon -> what makes that argument."""


def _rows() -> Iterator[tuple[str, str, str]]:
    """Name, arguments and body of every micro-benchmark."""
    for name, given, following, first in CHAINED:
        loop = f"for {'k' if 'k' in following else '_'} in range(n):"
        yield f"{name}, chained", f"n=steps {given}", f"s = {first}\n{loop}\n    s = {following}\nreturn s"
    for name, given, value in APART:
        over = "a" if "a=" in given else "c"
        yield name, given, f"for k in range({over}.size):\n    c[k] = {value}"
    for name, given, first, statement in GATHERED:
        over = "at" if "at=" in given else "a"
        yield name, given, f"s = {first}\nfor k in range({over}.size):\n    {statement}\nreturn s"
    for name, given, order, statement in NESTED:
        loops = [f"{4 * depth * ' '}for {i} in range(a.shape[{'ijk'.index(i)}]):" for depth, i in enumerate(order)]
        inside = "\n".join([*loops, f"{4 * len(order) * ' '}{statement}"])
        yield name, given, f"s = 0.0\n{inside}\nreturn s" if statement.startswith("s ") else inside
    blocks = itertools.groupby(OTHERS.strip().splitlines(), lambda line: line == "")
    for head, *body in (list(lines) for empty, lines in blocks if not empty):
        name, _, given = head.rpartition(": ")
        yield name, given, textwrap.dedent("\n".join(body))


def _argument(text: str) -> Callable[[], Any]:
    """What makes an argument: `1.5`, `floats` or `floats:3`."""
    maker, _, step = text.partition(":")
    return partial(_MAKERS[maker], *map(int, step.split())) if maker in _MAKERS else partial(ast.literal_eval, text)


def _made(name: str, given: str, body: str) -> Program:
    pairs = [pair.partition("=") for pair in given.split()]
    makers = [_argument(text) for _, _, text in pairs]
    head = f"from math import exp, log, sin, sqrt\n\n\ndef {ENTRY}({', '.join(name for name, _, _ in pairs)}):\n"
    text = head + textwrap.indent(body, "    ") + "\n"
    module: dict[str, object] = {"__name__": __name__}
    exec(compile(text, name, "exec"), module)  # noqa: S102 - the table is ours
    function = cast("Callable[..., Any]", module[ENTRY])
    return Program(name, function, lambda: tuple(make() for make in makers), name in OVERWRITING, text=text)


SUITE: tuple[Program, ...] = tuple(_made(*row) for row in _rows())
