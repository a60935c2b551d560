"""Repartition between iterations, in programs that really run: a rule, what is known so far, new units or stay.

After some iterations the caller gathers each process's seconds and calls `Balancer.update`. How it is decided stands in
`repartition.py`; `balance.h` and `balance.c` are the same in C, bit for bit, and states saved by one serve the other.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import sqrt
from numbers import Integral, Real
from pathlib import Path
from typing import Literal

from simulator.base.errors import MALFORMED, ScenarioError, meant
from simulator.scheduling.repartition import (
    AFTER,
    CAUTION,
    CHANGES,
    COUNT,
    FORECAST,
    MOVE,
    NO_ROOM,
    NOBODY,
    NOMINAL,
    WIDTH,
    Book,
    decide_units,
    divide,
    settle,
)

When = Literal["gain", "threshold", "every"]
WHEN: tuple[When, ...] = ("every", "threshold", "gain")
MOST_UNITS = 10**12
MOST_PROCESSES = 100_000
LEAST_TIME_S, MOST_TIME_S = 1e-12, 1e12
LEAST_SPEED, MOST_SPEED = 1e-30, 1e30
"""What times and speeds may be, so that no square of theirs overflows."""

ONE_SIDED = 1.6448536269514722
"""The normal quantile of 95 %."""
TWICE_LN_2 = 1.3862943611198906
FORMAT = 1
_FLOATS = ("sizes", "speeds", "widths", "memory")
_PARTS = ("rule", "first", "sizes", "speeds", "widths", "most", "units", "memory")


@dataclass(frozen=True)
class Rule:
    """When to move units, and what moving costs.

    Raises
    ------
    ScenarioError
        One line per number that cannot be used.
    """

    when: When = "gain"
    """`gain`: where the expected gain over the calls to come exceeds the cost of moving; `threshold`: where the longest
    time over the mean one, minus 1, is above `threshold`; `every`: always."""
    every: int = 1
    """Calls from one decision to the next; those between them only teach."""
    threshold: float = 0.1
    fixed_s: float = 0.0
    """Of any move: gather, broadcast, what is set up again."""
    message_s: float = 0.0
    """Of each message that a process sends or receives for it."""
    unit_s: float = 0.0
    """Of each unit that a process sends or receives: its bytes over the bandwidth."""
    contiguous: bool = True
    """Processes hold neighbouring units in their order, which move from neighbour to neighbour; or any units."""
    least: int = 1
    """Units that each process keeps; a process without units teaches nothing."""
    patience_s: float = 0.0
    """A process that gave no answer for more than this, by the longest times of the others, is left out for good."""
    calls: int = 0
    """Calls that there will be; 0: not known, so levels are expected to last as they did so far."""
    caution: float = 0.0
    """Standard deviations that a gain must be ahead of its doubt by; 0: as many as the greatest of all processes'
    deviations has with 5 %, sqrt(1.645^2 + 2 ln P)."""

    def __post_init__(self) -> None:
        faults = []
        if self.when not in WHEN:
            faults.append(f"rule: there is no {self.when!r}; take {', '.join(WHEN)}{meant(self.when, WHEN)}")
        for name, lowest, highest in (("every", 1, 10**9), ("least", 0, MOST_UNITS), ("calls", 0, 10**12)):
            value = getattr(self, name)
            if not _whole(value) or not lowest <= value <= highest:
                faults.append(f"rule: {name} is {value!r}; give a whole number from {lowest} to {highest}")
        for name in ("threshold", "fixed_s", "message_s", "unit_s", "patience_s", "caution"):
            value = getattr(self, name)
            if not _number(value) or not 0 <= value <= MOST_TIME_S:
                faults.append(f"rule: {name} is {value!r}; give a number from 0 to {MOST_TIME_S:g}")
        if not isinstance(self.contiguous, bool):
            faults.append(f"rule: contiguous is {self.contiguous!r}; give True or False")
        if faults:
            raise ScenarioError(faults)

    def numbers(self, processes: int) -> tuple[float, ...]:
        """As the functions below read them."""
        caution = self.caution
        if caution == 0.0:
            doublings = 0
            while 2**doublings < processes:
                doublings += 1
            caution = sqrt(ONE_SIDED * ONE_SIDED + TWICE_LN_2 * doublings)
        when = float(WHEN.index(self.when))
        rest = (self.every, self.threshold, self.fixed_s, self.message_s, self.unit_s, self.contiguous)
        return (when, *map(float, rest), *map(float, (self.least, self.patience_s, self.calls)), caution)


@dataclass(frozen=True)
class Band:
    """A process's speed over units: lower and upper at points, straight between them, constant beyond.

    Raises ScenarioError if points do not ascend, a speed is none, or more units would take less time.
    """

    units: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("units", "low", "high"):
            object.__setattr__(self, name, _numbers_of(f"band: {name}", getattr(self, name)))
        if not self.units or not len(self.units) == len(self.low) == len(self.high):
            raise ScenarioError("band: units, low and high differ in length or are empty; give one of each per point")
        pairs = zip(self.low, self.high, strict=True)
        if not all(LEAST_SPEED <= low <= high <= MOST_SPEED for low, high in pairs):
            raise ScenarioError("band: a lower speed is not above 0 or is above the upper one; give 0 < low <= high")
        if self.units[0] < 0 or any(a >= b for a, b in pairwise(self.units)):
            raise ScenarioError("band: units do not ascend from 0 or more; sort the points")
        times = [units / speed for units, speed in zip(self.units, self.speeds, strict=True)]
        if any(a >= b for a, b in pairwise(times)):
            raise ScenarioError("band: more units would take less time somewhere; give speeds that rise more slowly")

    @property
    def speeds(self) -> tuple[float, ...]:
        """Half-way between lower and upper."""
        return tuple(0.5 * (low + high) for low, high in zip(self.low, self.high, strict=True))

    @property
    def widths(self) -> tuple[float, ...]:
        """Half of each cut over its middle."""
        return tuple((high - low) / (high + low) for low, high in zip(self.low, self.high, strict=True))


@dataclass(frozen=True)
class Outlook:
    """What the last decision weighed; zeros before there was one to weigh."""

    gain_s: float
    """Of one call: the longest time expected of the units as they are, minus that of other units."""
    doubt_s: float
    """`caution` standard deviations of that gain."""
    lasting_calls: float
    cost_s: float


@dataclass(frozen=True)
class State:
    """All that is known between two calls; `decide` makes the next one of it."""

    rule: Rule
    units: tuple[int, ...]
    most: tuple[int, ...]
    """Units that fit each process; 0: it is left out."""
    first: tuple[int, ...]
    """Where the points of each process's speed begin, and their end."""
    sizes: tuple[float, ...]
    speeds: tuple[float, ...]
    widths: tuple[float, ...]
    memory: tuple[float, ...] = field(repr=False)
    """`WIDTH` numbers of each process; then calls, calls since a decision was due, and the four of the outlook."""

    @property
    def left_out(self) -> tuple[int, ...]:
        """Processes that never answered, by their numbers."""
        return tuple(p for p, most in enumerate(self.most) if most == 0)

    @property
    def outlook(self) -> Outlook:
        """What the last decision weighed."""
        return Outlook(*self.memory[-4:])


def begin(
    units: int | Iterable[int],
    processes: int | None = None,
    *,
    speeds: Sequence[float | Band] | None = None,
    most: Sequence[int] | None = None,
    rule: Rule | None = None,
) -> State:
    """The state before the first call.

    `units`: all units, which are divided by the speeds (whole, of `least` and more), or each process's.
    `processes`: how many there are; not needed where units, speeds or most say it.
    `speeds`: each process's, in units per second, or on any scale of its own if all share it; equal if not given.
    """
    rule = rule or Rule()
    parts = list(units) if isinstance(units, Iterable) else [units]
    given = parts if isinstance(units, Iterable) else None
    count = _count(processes, given, speeds, most)
    bands = _bands([1.0] * count if speeds is None else speeds)
    total = _total(parts, rule.least * (count if given is None else 1))
    least = max(1, rule.least)
    fits = [total] * count if most is None else list(most)
    if not all(_whole(value) and least <= value <= MOST_UNITS for value in fits) or sum(fits) < total:
        raise ScenarioError(f"most: give whole numbers of at least {least} that hold all {total} units together")
    first = [0]
    for band in bands:
        first.append(first[-1] + len(band.units))
    sizes, speeds_at, widths = (
        tuple(value for band in bands for value in getattr(band, name)) for name in ("units", "speeds", "widths")
    )
    memory = [0.0] * (count * WIDTH + AFTER)
    for p in range(count):
        memory[p * WIDTH + FORECAST] = 1.0
        memory[p * WIDTH + NOMINAL] = 1.0
    held = tuple(map(int, given or [0] * count))
    state = State(rule, held, tuple(map(int, fits)), tuple(first), sizes, speeds_at, widths, tuple(memory))
    book = _open(state, [0.0] * count)
    if given is None:
        divide(book, total, 1.0)
    else:
        book.found[:] = held
        if any(value > fit for value, fit in zip(held, fits, strict=True)):
            raise ScenarioError("units: a process has more than most says that it holds; give it fewer")
    settle(book)
    return replace(state, units=tuple(book.found), memory=tuple(book.memory))


def decide(state: State, times: Sequence[float | None]) -> tuple[State, tuple[int, ...] | None]:
    """Take in each process's seconds of computing since the last call: the next state, and new units or None to stay.

    `times`: one per process; infinite or None: no answer. Those of processes without units, or left out, are not looked
    at.
    """
    book = _open(state, _times(state, times))
    found = decide_units(book)
    if found == NOBODY:
        raise ScenarioError("times: no process answered; give at least one time")
    if found == NO_ROOM:
        raise ScenarioError("times: the processes that still answer cannot hold all units; raise most, or end the run")
    units = tuple(book.found) if found == MOVE else None
    return replace(state, units=units or state.units, most=tuple(book.most), memory=tuple(book.memory)), units


class Balancer:
    """A state that goes on: `update` with each process's seconds between iterations; parameters as `begin` has them.

    >>> balancer = Balancer(300, 3)
    >>> balancer.update([1.0, 1.0, 2.0])
    [120, 120, 60]
    """

    def __init__(
        self,
        units: int | Iterable[int],
        processes: int | None = None,
        *,
        speeds: Sequence[float | Band] | None = None,
        most: Sequence[int] | None = None,
        rule: Rule | None = None,
    ) -> None:
        self.state = begin(units, processes, speeds=speeds, most=most, rule=rule)

    @property
    def units(self) -> list[int]:
        """Each process's."""
        return list(self.state.units)

    @property
    def starts(self) -> list[int]:
        """Where each process's units begin in a contiguous partition, and their end; (processes + 1,)."""
        starts = [0]
        for units in self.state.units:
            starts.append(starts[-1] + units)
        return starts

    @property
    def left_out(self) -> list[int]:
        """Processes that never answered, by their numbers."""
        return list(self.state.left_out)

    def update(self, times: Sequence[float | None]) -> list[int] | None:
        """New units, or None to stay; see `decide`."""
        self.state, units = decide(self.state, times)
        return None if units is None else list(units)

    def save(self) -> str:
        """The state as JSON text, which C reads too."""
        return save(self.state)

    @classmethod
    def restore(cls, text: str) -> "Balancer":
        """From what `save` wrote, here or in C."""
        made = cls.__new__(cls)
        made.state = restore(text)
        return made


def c_files() -> tuple[Path, Path]:
    """The header and the source file of the same in C."""
    return Path(__file__).with_suffix(".h"), Path(__file__).with_suffix(".c")


def save(state: State) -> str:
    """A state as one line of JSON; fractions as C99 writes them in hexadecimal, which loses no bit."""
    count = len(state.units)
    rule = (*state.rule.numbers(count)[:CAUTION], state.rule.caution)
    parts = {name: rule if name == "rule" else getattr(state, name) for name in _PARTS}
    texts = {name: " ".join(v.hex() if isinstance(v, float) else str(v) for v in part) for name, part in parts.items()}
    return json.dumps({"apportion_balance": FORMAT, "processes": count, **texts})


def restore(text: str) -> State:
    """A state from what `save` wrote."""
    try:
        document = json.loads(text)
        if document["apportion_balance"] != FORMAT:
            raise ScenarioError(f"balance: format {document['apportion_balance']!r} is not known; save it again")
        whole = {name: tuple(int(v) for v in document[name].split()) for name in ("first", "most", "units")}
        parts = {name: tuple(float.fromhex(v) for v in document[name].split()) for name in ("rule", *_FLOATS)}
        when, every, threshold, fixed, message, unit, near, least, patience, calls, caution = parts["rule"]
        costs = (threshold, fixed, message, unit, bool(near))
        rule = Rule(WHEN[int(when)], int(every), *costs, int(least), patience, int(calls), caution)
        state = State(rule, *(whole[name] for name in ("units", "most", "first")), *(parts[name] for name in _FLOATS))
        sound = document["processes"] == len(state.units) and _is_sound(state)
    except MALFORMED as error:
        raise ScenarioError("balance: this is no saved state; give the text that save wrote, as it is") from error
    if not sound:
        raise ScenarioError(
            "balance: the saved state has numbers that cannot be; give the text that save wrote, as it is"
        )
    return state


def _is_sound(state: State) -> bool:
    """Whether the parts of a state fit together, so that `decide` cannot go astray in them."""
    count, points = len(state.units), len(state.sizes)
    if not count or (len(state.most), len(state.first), state.first[:1]) != (count, count + 1, (0,)):
        return False
    if not len(state.speeds) == len(state.widths) == points == state.first[-1]:
        return False
    if len(state.memory) != count * WIDTH + AFTER or not all(map(math.isfinite, state.memory)):
        return False
    if any(a >= b for a, b in pairwise(state.first)) or not all(0 <= width < 1 for width in state.widths):
        return False
    for begins, ends in pairwise(state.first):
        Band(state.sizes[begins:ends], state.speeds[begins:ends], state.speeds[begins:ends])
    least = state.rule.least
    held = all(0 <= units <= MOST_UNITS for units in state.units)
    fit = all(most == 0 or least <= most <= MOST_UNITS for most in state.most)
    enough = max(1, least * (count - len(state.left_out))) <= sum(state.units) <= MOST_UNITS
    of = {at: state.memory[at : count * WIDTH : WIDTH] for at in (NOMINAL, FORECAST, COUNT, CHANGES)}
    positive = all(value > 0 for at in (NOMINAL, FORECAST) for value in of[at])
    return held and fit and enough and positive and all(value >= 0 for at in (COUNT, CHANGES) for value in of[at])


def _open(state: State, times: list[float]) -> Book:
    count = len(state.units)
    return Book(
        list(state.rule.numbers(count)),
        list(state.first),
        list(state.sizes),
        list(state.speeds),
        list(state.widths),
        list(state.most),
        list(state.memory),
        list(state.units),
        times,
        [0.0] * count,
        [0] * count,
    )


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _number(value: object) -> bool:
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


def _count(processes: int | None, *parts: Sequence[object] | None) -> int:
    counts = [len(part) for part in parts if part is not None] + ([] if processes is None else [processes])
    if not counts or not all(_whole(count) and 1 <= count <= MOST_PROCESSES for count in counts):
        raise ScenarioError(f"processes: give how many there are, from 1 to {MOST_PROCESSES}")
    if len(set(counts)) > 1:
        raise ScenarioError(f"processes: {', '.join(map(str, counts))} do not agree; give one of each per process")
    return counts[0]


def _total(parts: Sequence[int], least: int) -> int:
    """All units, of parts of at least so many each."""
    if not all(_whole(part) and least <= part <= MOST_UNITS for part in parts) or not 1 <= sum(parts) <= MOST_UNITS:
        raise ScenarioError(f"units: give whole numbers, {least} or more in each place and {MOST_UNITS} at most in all")
    return int(sum(parts))


def _bands(speeds: Sequence[float | Band]) -> list[Band]:
    """Speeds as bands; a number is one of a single point."""
    bands = []
    for p, speed in enumerate(speeds):
        if not isinstance(speed, Band):
            if not _number(speed) or not LEAST_SPEED <= speed <= MOST_SPEED:
                raise ScenarioError(f"speeds: process {p} has {speed!r}; give a number above 0, or a band")
            speed = Band((0.0,), (float(speed),), (float(speed),))  # noqa: PLW2901 - the same, in the one form
        bands.append(speed)
    return bands


def _numbers_of(what: str, values: Sequence[float]) -> tuple[float, ...]:
    if not all(_number(value) and math.isfinite(value) for value in values):
        raise ScenarioError(f"{what} holds what is no number; give finite numbers")
    return tuple(map(float, values))


def _times(state: State, times: Sequence[float | None]) -> list[float]:
    """Times as floats, `math.inf` where there is no answer or none is looked at."""
    count = len(state.units)
    if len(times) != count:
        raise ScenarioError(f"times: there are {len(times)}; give one for each of the {count} processes")
    return [_seconds(p, *one) for p, one in enumerate(zip(times, state.units, state.most, strict=True))]


def _seconds(process: int, value: float | None, units: int, most: int) -> float:
    if value is None or most == 0:
        return math.inf
    if not _number(value):
        raise ScenarioError(f"times: process {process} has {value!r}; give seconds, or None where it did not answer")
    seconds = float(value)
    if seconds == math.inf:
        return seconds
    if units == 0:
        return 0.0
    if not LEAST_TIME_S <= seconds <= MOST_TIME_S:
        raise ScenarioError(f"times: process {process} has {seconds:g} s; give the seconds that it computed, above 0")
    return seconds
