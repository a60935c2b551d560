"""Attained service and its inverse on flat integer tables, compiled: what a PE's load leaves to `m` processes.

A table says what one of `m` processes attains on a PE: the function `R_m` of `costs.service_table`, to the tick. Of its
knots every `STRIDE`-th is stored; what lies between is computed again from the trace itself, which is read where it
lies. So a table of 10^5 samples is built at the speed of reading them.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import TraceError
from simulator.engines.compiled.cache import callee, compiled, subroutine
from simulator.engines.costs import LAST_TICK, TickOverflowError
from simulator.engines.costs.ticks import rounded, to_ticks
from simulator.models.load import AfterEnd, AvailabilityRule
from simulator.platform.nodes import PE

STRIDE = 16
"""Pieces from one stored knot to the next."""
NEVER, TRACE_ENDED, OVERFLOW = -1, -2, -3
"""In place of a tick or of attained service: it never comes; the trace ends before; past the last tick."""
HOLD, CYCLE, ERROR = 0, 1, 2
FAIR, IDLE, GIVEN, TURNS = 0, 1, 2, 3
AFTER_END: dict[AfterEnd, int] = {"hold": HOLD, "cycle": CYCLE, "error": ERROR}
RULES: dict[AvailabilityRule, int] = {"fair": FAIR, "idle": IDLE, "given": GIVEN, "turns": TURNS}
EXACT = 2**53
"""Ticks up to which float64 holds every one."""


class ServiceTables(NamedTuple):
    """The tables of all PEs; T tables, of PEs that share trace, rule, cores and slice the same ones.

    A PE with at most `M` processes has one for each `m` from 1 to `M`: that of `m` is `of_pe[pe] + m - 1`. The arrays
    `times` and `values` hold addresses of NumPy's memory: keep the platform while the tables are in use.
    """

    of_pe: Ints
    """Table of each PE for one process, -1 for PEs without processes; (PE,)."""
    pieces: Ints
    """Samples of the trace, 0 without load; (T,)."""
    times: Ints
    """Address of the trace's `times_s`; (T,)."""
    values: Ints
    """Address of its values; (T,)."""
    after_end: Ints
    """`HOLD`, `CYCLE` or `ERROR`; (T,)."""
    rule: Ints
    """`FAIR`, `IDLE`, `GIVEN` or `TURNS`; (T,)."""
    processes: Floats
    """m; (T,)."""
    cores: Floats
    """c; (T,)."""
    first: Ints
    """Where each table's stored knots begin; (T + 1,)."""
    knots: Ints
    """Stored knots of all tables: ticks of pieces 0, STRIDE, 2 STRIDE ..., then the end of the trace."""
    attained: Ints
    """Nominal ticks attained by each stored knot."""
    last_rate: Floats
    """Share of the PE in the last piece, or without load; (T,)."""
    tick_s: Floats
    """Seconds per tick; (1,)."""
    slices: Ints
    """Ticks of a slice under `TURNS`, else 0; (T,)."""


def _load(typing_context: Any, address: Any, place: Any) -> Any:  # noqa: ARG001 - Numba's signature
    """A float64 of an array by the array's address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        pointer = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        return builder.load(builder.gep(pointer, [arguments[1]]))

    return types.float64(types.int64, types.int64), generate


_number_at: Any = intrinsic(_load)


@callee
def _rate(value: float, rule: int, processes: float, cores: float) -> float:
    """Share of the PE that each process gets under a load; `models.load.availability`."""
    if rule in (FAIR, TURNS):
        whole = np.floor(value)
        share, part = min(1.0, cores / (whole + processes)), value - whole
        if part == 0.0:
            return share
        return share + part * (min(1.0, cores / (whole + (processes + 1.0))) - share)
    if rule == IDLE:
        return min(1.0, max(0.0, cores - value) / processes)
    return value * min(1.0, cores / processes)


@callee
def _knot(tables: ServiceTables, table: int, piece: int) -> int:
    """First tick of a piece, or of what follows the last one."""
    if piece >= tables.pieces[table]:
        return tables.knots[tables.first[table + 1] - 1]
    return np.int64(np.rint(_number_at(tables.times[table], piece) / tables.tick_s[0]))


@callee
def _rate_of(tables: ServiceTables, table: int, piece: int) -> float:
    value = _number_at(tables.values[table], piece)
    return _rate(value, tables.rule[table], tables.processes[table], tables.cores[table])


@callee
def grown(rate: float, ticks: int) -> int:
    """`floor(rate * ticks)`, the one float formula of an engine."""
    return np.int64(math.floor(rate * np.float64(ticks)))


@callee
def _gained(tables: ServiceTables, table: int, rate: float, ticks: int) -> int:
    """What is attained in so many ticks of a piece at a share of the PE."""
    return grown(rate, ticks) if tables.slices[table] == 0 else _gained_in_turns(tables, table, rate, ticks)


@callee
def _turns(tables: ServiceTables, table: int, rate: float) -> tuple[float, int, int]:
    """Share in turns of ours, their ticks in a round, and ticks of the round; `costs.turns_of`."""
    alone = min(1.0, tables.cores[table] / tables.processes[table])
    ours = max(1, np.int64(np.rint(np.float64(tables.slices[table]) / alone)))
    return alone, ours, max(ours, np.int64(np.rint(np.float64(ours) * alone / rate)))


@subroutine
def _gained_in_turns(tables: ServiceTables, table: int, rate: float, ticks: int) -> int:
    alone, ours, of_all = _turns(tables, table, rate)
    return grown(alone, ticks // of_all * ours + max(0, ticks % of_all - (of_all - ours)))


@subroutine
def _steps_in_turns(tables: ServiceTables, table: int, rate: float, missing: int, longest: int) -> int:
    """As `_steps`, where competitors have turns."""
    alone, ours, of_all = _turns(tables, table, rate)
    own = _steps(alone, missing, longest)
    if np.float64(own) / np.float64(ours) * np.float64(of_all) >= np.float64(LAST_TICK):
        return longest
    rounds = (own - 1) // ours
    return min(longest, rounds * of_all + of_all - ours + own - rounds * ours)


@callee
def _held(tables: ServiceTables, table: int, ticks: int) -> int:
    """As `_gained`, at a rate that holds for ever: at most LAST_TICK (then the clock passes it first)."""
    rate = tables.last_rate[table]
    return _gained(tables, table, rate, ticks) if rate * np.float64(ticks) < 2.0**62 else LAST_TICK


@callee
def _steps(rate: float, missing: int, longest: int) -> int:
    """The least number of ticks in which `floor(rate * ticks)` reaches what is missing, at most `longest`."""
    if np.float64(missing) > rate * np.float64(longest):
        return longest
    steps = min(np.int64(math.ceil(np.float64(missing) / rate)), np.int64(longest))
    while steps > 1 and grown(rate, steps - 1) >= missing:
        steps -= 1
    while steps < longest and grown(rate, steps) < missing:
        steps += 1
    return steps


@callee
def _guess(first: int, last: int, tick: int, end: int) -> int:
    """About where a tick of the trace is among the stored knots: samples mostly lie at regular times."""
    return first + np.int64(np.float64(last - first) * (np.float64(tick) / np.float64(end)))


@callee
def _before(stored: Ints, first: int, end: int, value: int, guess: int) -> int:
    """The last stored entry from `first` on, before `end`, that is less than `value`; `first` if none is.

    Looked for around a guess in steps that double, so that a good guess costs the same in a trace of any length.
    """
    low, step = min(max(guess, first), end - 1), 1
    high = low
    if stored[low] < value:
        high += 1
        while high < end and stored[high] < value:
            low, high, step = high, high + 2 * step, 2 * step
        high = min(high, end)
    else:
        low -= 1
        while low > first and stored[low] >= value:
            low, high, step = low - 2 * step, low, 2 * step
        low = max(low, first)
    while high - low > 1:
        middle = (low + high) >> 1
        if stored[middle] < value:
            low = middle
        else:
            high = middle
    return low


@callee
def attained_at(tables: ServiceTables, table: int, tick: int) -> int:
    """Nominal ticks that one of the table's processes attains from the trace's start to `tick`, or `TRACE_ENDED`."""
    if tables.pieces[table] == 0:
        return _held(tables, table, tick)
    first, last = tables.first[table], tables.first[table + 1] - 1
    end, total = tables.knots[last], tables.attained[last]
    laps = np.int64(0)
    if tick >= end:
        if tables.after_end[table] == ERROR:
            return total if tick == end else TRACE_ENDED
        if tables.after_end[table] == HOLD:
            return total + _held(tables, table, tick - end)
        laps = tick // end
        if total > 0 and laps > LAST_TICK // total:
            return OVERFLOW
        tick -= laps * end
    stored = _before(tables.knots, first, last, tick + 1, _guess(first, last, tick, end))
    piece, gained = (stored - first) * STRIDE, tables.attained[stored]
    begin = tables.knots[stored]
    while True:
        following, rate = _knot(tables, table, piece + 1), _rate_of(tables, table, piece)
        if tick < following:
            return laps * total + gained + _gained(tables, table, rate, tick - begin)
        gained += _gained(tables, table, rate, following - begin)
        begin = following
        piece += 1


@callee
def piece_at(tables: ServiceTables, table: int, tick: int) -> tuple[int, int, float]:
    """First tick of the piece that a tick of the trace's time lies in, the tick where it ends, and its load.

    All of a PE's tables have the same pieces. The end is at most EXACT; it is -1 where pieces are of no use: from there
    on, after a trace that ends, where turns are taken and where a PE is said to be faster than itself.
    """
    if tick >= EXACT or tables.slices[table] > 0:
        return 0, -1, 0.0
    pieces = tables.pieces[table]
    if pieces == 0:
        return 0, EXACT, 0.0
    first, last = tables.first[table], tables.first[table + 1] - 1
    end, passed = tables.knots[last], np.int64(0)
    if tick < end or tables.after_end[table] == CYCLE:
        passed = tick // end * end
        tick -= passed
        piece = (_before(tables.knots, first, last, tick + 1, _guess(first, last, tick, end)) - first) * STRIDE
        begin, following = _knot(tables, table, piece), _knot(tables, table, piece + 1)
        while following <= tick:
            piece += 1
            begin, following = following, _knot(tables, table, piece + 1)
    elif tables.after_end[table] == HOLD:
        piece, begin, following = pieces - 1, end, EXACT
    else:
        return 0, -1, 0.0
    value = _number_at(tables.values[table], piece)
    if tables.rule[table] == GIVEN and value > 1.0:
        return 0, -1, 0.0
    return passed + begin, min(passed + following, EXACT), value


@callee
def rate_in(tables: ServiceTables, table: int, value: float) -> float:
    """Share of the PE that each of the table's processes gets in a piece with a load as `piece_at` says it."""
    if tables.pieces[table] == 0:
        return tables.last_rate[table]
    return _rate(value, tables.rule[table], tables.processes[table], tables.cores[table])


@callee
def steps_in(rate: float, missing: int, longest: int) -> int:
    """When so much is attained from the beginning of a piece on; -1 if not in its `longest` ticks."""
    if missing > grown(rate, longest):
        return -1
    return _steps(rate, missing, longest)


@callee
def tick_when(tables: ServiceTables, table: int, attained: int, near: int) -> int:
    """The least tick by which `attained` (above 0) is reached, or `NEVER`, `TRACE_ENDED`, `OVERFLOW`.

    `near` is a tick that may be near it, or any other; it decides nothing but how long the search takes.
    """
    if tables.pieces[table] == 0:
        found = _steps(tables.last_rate[table], attained, LAST_TICK)
        return found if found < LAST_TICK else OVERFLOW
    first, last = tables.first[table], tables.first[table + 1] - 1
    end, total = tables.knots[last], tables.attained[last]
    passed, inside = np.int64(0), attained
    if attained > total:
        if tables.after_end[table] == ERROR:
            return TRACE_ENDED
        if tables.after_end[table] == HOLD:
            return _when_held(tables, table, attained - total, end)
        if total == 0:
            return NEVER
        laps = (attained - 1) // total
        if laps >= LAST_TICK // end:
            return OVERFLOW
        passed, inside = laps * end, attained - laps * total
    stored = _before(tables.attained, first, last, inside, _guess(first, last, near % end, end))
    piece, gained, begin = (stored - first) * STRIDE, tables.attained[stored], tables.knots[stored]
    while True:
        following, rate = _knot(tables, table, piece + 1), _rate_of(tables, table, piece)
        inside_piece = _gained(tables, table, rate, following - begin)
        if inside <= gained + inside_piece:
            found = passed + begin + _steps_of(tables, table, rate, inside - gained, following - begin)
            return found if found < LAST_TICK else OVERFLOW
        gained += inside_piece
        begin = following
        piece += 1


@callee
def _steps_of(tables: ServiceTables, table: int, rate: float, missing: int, longest: int) -> int:
    if tables.slices[table] == 0:
        return _steps(rate, missing, longest)
    return _steps_in_turns(tables, table, rate, missing, longest)


@callee
def _when_held(tables: ServiceTables, table: int, missing: int, end: int) -> int:
    """After the end of a trace whose last value holds."""
    rate = tables.last_rate[table]
    if rate == 0.0:
        return NEVER
    found = _steps_of(tables, table, rate, missing, LAST_TICK)
    return end + found if found < LAST_TICK - end else OVERFLOW


@callee
def finish(tables: ServiceTables, table: int, start: int, now: int, nominal: int) -> int:
    """When a computation ends that runs alone among the table's `m` processes, or why it does not.

    `tables`, `table`: those of the PE for a number of runnable processes that stays as it is.
    `start`: tick of the trace at tick 0 of the run.
    `now`, `nominal`: tick at which it joins, and its nominal ticks.
    """
    if tables.pieces[table] == 0 and tables.last_rate[table] == 1.0 and now + nominal <= EXACT:
        return now + nominal
    if start > LAST_TICK - now:
        return OVERFLOW
    attained = attained_at(tables, table, start + now)
    if attained < 0:
        return attained
    if nominal > 2 * LAST_TICK - 1 - attained:
        return OVERFLOW
    found = tick_when(tables, table, attained + nominal, start + now)
    return found - start if found >= 0 else found


@callee
def _build(tables: ServiceTables, table: int) -> float:
    """Fill a table's stored knots in one pass over its trace; the greatest rate."""
    rule, processes, cores = tables.rule[table], tables.processes[table], tables.cores[table]
    times, values, tick_s = tables.times[table], tables.values[table], tables.tick_s[0]
    pieces, place, end = tables.pieces[table], tables.first[table], tables.knots[tables.first[table + 1] - 1]
    begin, attained, piece, greatest, rate = np.int64(0), np.int64(0), 0, 0.0, 0.0
    while piece < pieces:
        tables.knots[place], tables.attained[place] = begin, attained
        place += 1
        stop = min(piece + STRIDE, pieces)
        while piece < stop:
            piece += 1
            following = np.int64(np.rint(_number_at(times, piece) / tick_s)) if piece < pieces else end
            rate = _rate(_number_at(values, piece - 1), rule, processes, cores)
            greatest = max(greatest, rate)
            attained += _gained(tables, table, rate, following - begin)
            begin = following
    tables.attained[place] = attained
    tables.last_rate[table] = rate
    return greatest


def build_all(tables: ServiceTables) -> bool:
    """Kernel: fill all tables with load; False if any would pass what int64 holds."""
    for table in range(tables.pieces.size):
        if tables.pieces[table]:
            greatest = _build(tables, table)
            if greatest > 1.0 and greatest * np.float64(tables.knots[tables.first[table + 1] - 1]) > LAST_TICK:
                return False
    return True


def service_tables(pes: Sequence[PE], most: Ints, *, tick_s: float) -> ServiceTables:
    """The tables of all PEs.

    Raises TickOverflowError if a trace is longer than all ticks; TraceError if a trace is shorter than a tick.

    `pes`: of the platform; keep it while the tables are in use.
    `most`: the most processes that each PE ever runs, 0 for none; (PE,).
    `tick_s`: seconds per tick.
    """
    loads: dict[tuple[int, str, int, float], list[int]] = {}
    for pe, count in enumerate(most.tolist()):
        if count:
            load = pes[pe].load
            slice_s = pes[pe].slice_s if pes[pe].takes_turns else 0.0
            key = (0, "", pes[pe].cores, 0.0) if load is None else (id(load.trace), load.rule, pes[pe].cores, slice_s)
            loads.setdefault(key, []).append(pe)
    of_pe = np.full(len(pes), -1, dtype=np.int64)
    counts, done = [int(most[sharing].max()) for sharing in loads.values()], 0
    for sharing, count in zip(loads.values(), counts, strict=True):
        of_pe[sharing] = done
        done += count
    kinds = [_kind(pes[sharing[0]], tick_s) for sharing in loads.values()]
    return _filled(of_pe, kinds, np.array(counts, dtype=np.int64), tick_s)


def without_load(tables: ServiceTables) -> ServiceTables:
    """The tables of the same PEs without any load."""
    return tables._replace(
        pieces=np.zeros_like(tables.pieces),
        last_rate=np.minimum(1.0, tables.cores / tables.processes),
        slices=np.zeros_like(tables.slices),
    )


class _Kind(NamedTuple):
    """What PEs that share tables have in common."""

    pieces: int
    times: int
    values: int
    after_end: int
    rule: int
    cores: int
    end: int
    slice: int


def _kind(pe: PE, tick_s: float) -> _Kind:
    if pe.load is None:
        return _Kind(0, 0, 0, HOLD, FAIR, pe.cores, 0, 0)
    trace = pe.load.trace
    if not (_readable(trace.times_s) and _readable(trace.values)):
        raise TraceError("load trace: the arrays are strided; give contiguous ones of float64")
    end = int(rounded(np.asarray(trace.end_s), tick_s))
    if end == 0:
        raise TraceError(
            f"load trace: the end at {trace.end_s:g} s is less than a tick ({tick_s:g} s); give a longer trace"
        )
    addresses = trace.times_s.ctypes.data, trace.values.ctypes.data
    codes = AFTER_END[trace.after_end], RULES[pe.load.rule]
    slice_ticks = int(to_ticks(pe.slice_s, tick_s)) if pe.takes_turns else 0
    return _Kind(trace.times_s.size, *addresses, *codes, pe.cores, end, slice_ticks)


def _readable(values: Floats) -> bool:
    return values.dtype == np.float64 and values.flags.c_contiguous and values.flags.aligned


def _filled(of_pe: Ints, kinds: Sequence[_Kind], counts: Ints, tick_s: float) -> ServiceTables:
    """As many tables of each kind as its count says, for one process, two processes and so on."""
    table = np.array(kinds, dtype=np.int64).reshape(-1, len(_Kind._fields))
    pieces, times, values, after_end, rule, cores, end, slices = np.repeat(table, counts, axis=0).T.copy()
    processes = 1 + np.arange(cores.size) - np.repeat(np.cumsum(counts) - counts, counts)
    stored = np.where(pieces > 0, (pieces + STRIDE - 1) // STRIDE + 1, 0)
    first = np.concatenate(([0], np.cumsum(stored))).astype(np.int64)
    knots, attained = np.zeros(first[-1], dtype=np.int64), np.zeros(first[-1], dtype=np.int64)
    knots[first[1:][pieces > 0] - 1] = end[pieces > 0]
    shares = processes.astype(np.float64), cores.astype(np.float64)
    of_tables = pieces, times, values, after_end, rule, *shares, first, knots, attained
    tables = ServiceTables(of_pe, *of_tables, np.minimum(1.0, cores / processes), np.array([tick_s]), slices)
    if np.any(pieces) and not compiled(build_all)(tables):
        raise TickOverflowError
    return tables
