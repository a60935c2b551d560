"""Stated guesses: cycles of each operation before anything is measured, and what a designer may expect of one."""

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.models.resource import Cost, CostVector

HIGH_LEVEL: Mapping[str, float] = {
    "assign": 0.25,
    "multiply": 1.0,
    "divide": 6.0,
    "modulo": 12.0,
    "choose": 1.0,
    "sqrt": 6.0,
    "exp": 25.0,
    "sin": 30.0,
    "power": 40.0,
    "convert": 1.0,
    "store": 1.0,
    "array_assign": 0.5,
    "shape": 0.25,
    "for_iteration": 1.0,
    "while_iteration": 1.0,
    "branch": 1.0,
    "jump": 1.0,
    "call": 5.0,
    "return": 5.0,
}
"""Part of a construct's name -> cycles; the longest part that fits decides."""
INTERMEDIATE: Mapping[str, float] = {
    "div": 6.0,
    "rem": 8.0,
    "sqrt": 8.0,
    "call.math": 30.0,
    "call.other": 30.0,
    "call.sqrt": 8.0,
    **dict.fromkeys(("call.exp", "call.log", "call.sin", "call.cos", "call.tan", "call.pow", "call.mem"), 30.0),
    "call": 2.0,
    "phi": 0.1,
    "getelementptr": 0.1,
    "bitcast": 0.1,
    "sext": 0.1,
    "zext": 0.1,
    "trunc": 0.1,
    "insertelement": 1.0,
    "extractelement": 1.0,
    "fmul": 1.0,
    "fadd": 1.0,
    "fsub": 1.0,
    "mul": 1.0,
    "store": 1.0,
    "tofp": 1.0,
    "fptosi": 1.0,
    "br": 0.75,
    "switch": 1.0,
}
"""The same for parts of the names of LLVM's instructions; much of what is free in machine code stands in them."""
INSTRUCTIONS: Mapping[str, float] = {
    "cycles": 1.0,
    "unforeseen": 8.0,
    "branch": 0.1,
    "call": 2.0,
    "call_math": 40.0,
    "call_other": 40.0,
    "return": 2.0,
}
OTHER_INSTRUCTION = 0.03
"""What the cycles of blocks leave over: branches not foreseen, calls; of every other instruction hardly anything."""
OTHER_CYCLES = 0.5
"""Of an operation that no guess names."""

VECTOR_NUMBERS = 4.0
"""Numbers of 8 bytes that one instruction is thought to work on."""
WIDTH = 4.0
"""Instructions that a processor is thought to begin in one cycle."""
CLOCK_HZ = 3e9
"""Where the system does not say."""


@dataclass(frozen=True)
class Cycles:
    """Cycles of an operation of a design."""

    low: float
    likely: float
    high: float
    why: str


DESIGN: Mapping[str, Cycles] = {
    "flop": Cycles(1 / (2 * VECTOR_NUMBERS), 1.0, 4.0, "two vectors per cycle; one at a time; waiting for each result"),
    "divide": Cycles(1.25, 5.0, 20.0, "in vectors; one at a time; waiting for each result, square roots too"),
    "access": Cycles(
        1 / (2 * VECTOR_NUMBERS), 0.5, 5.0, "in vectors; two per cycle; waiting for each, first-level cache"
    ),
    "step": Cycles(1 / (2 * VECTOR_NUMBERS), 1.0, 2.0, "unrolled and in vectors; count, test and jump; not overlapped"),
    "decide": Cycles(1 / WIDTH, 2.0, 20.0, "without a jump; foreseen mostly; never foreseen"),
}
"""Operations that a designer counts, in words of 8 bytes."""


def guess_cycles(operation: str, table: Mapping[str, float] = HIGH_LEVEL) -> float:
    """Cycles of an operation by the longest part of its name that a table has."""
    parts = sorted((part for part in table if part in operation), key=len)
    rest = OTHER_INSTRUCTION if table is INSTRUCTIONS else OTHER_CYCLES
    return table[parts[-1]] if parts else rest


def design_vector(clock_hz: float | None) -> CostVector:
    """Costs of a design on a processor of which only the clock is known, each with its range.

    `clock_hz`: none where the system does not say.
    """
    clock = CLOCK_HZ if clock_hz is None else clock_hz
    source = "as the system says" if clock_hz is not None else "a guess, the system does not say"
    costs = {name: Cost(one.likely / clock, one.low / clock, one.high / clock) for name, one in DESIGN.items()}
    notes = [f"guesses at {clock / 1e9:.2f} GHz ({source})"]
    notes += [f"{name}: {one.low:g} to {one.high:g} cycles ({one.why})" for name, one in DESIGN.items()]
    return CostVector("dbc", costs, notes=tuple(notes))
