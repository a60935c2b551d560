"""Chunk rules of self-scheduling: how many units a process gets that asks a pool for work.

Plain functions of whole numbers and float64 with `+ - * /` and the square root in the order written, which the compiled
engine compiles as they stand: `left` units, number of `processes`, the asking one's `place` among them, and `notes`, a
list of floats that `begin` makes and rules may write to; the answer is from 1 to `left`. Sources: Hummel, Schonberg and
Flynn 1992, and Mohammed et al., "Experimental verification and analysis of dynamic loop scheduling", ISPDC 2018.
"""

from collections.abc import Callable
from itertools import accumulate
from math import sqrt

from simulator.base.errors import SimulationError
from simulator.programs.columns import RULES, SelfScheduling

Notes = list[float]
STATIC, SS, GSS, TSS, FAC, FAC2, AWF_B, AF = range(len(RULES))

LEAST = 0
"""Units of a chunk at least; under `ss` the chunk, under `tss` the last one."""
NEXT = 1
"""Under `tss` the next chunk; under `fac` the deviation of a unit's time over its mean."""
STEP = 2
"""Under `tss` what the next chunk is less; under `fac` whether there was a batch."""
IN_BATCH = 3
"""Left of the batch: chunks (`fac`, `fac2`) or units (`awf-b`); under `af` processes that have finished two chunks."""
SIZE = 4
"""Units of an equal chunk of the batch."""
HEAD, WIDTH = 5, 4
"""Places before those of the processes, and places of each. Under `static` first unit and units; under `awf-b` finished
chunks, sums of chunk x units and chunk x ticks, speed; under `af` finished chunks, units, mean, sum of squares."""


def static(left: int, processes: int, place: int, notes: Notes) -> int:  # noqa: ARG001 - arguments of all rules
    """A process's part of the partition, all at once."""
    return int(notes[HEAD + WIDTH * place + 1])


def ss(left: int, processes: int, place: int, notes: Notes) -> int:  # noqa: ARG001
    """Self-scheduling with a fixed chunk k: min(k, left).

    Source: k = 1: Tang and Yew, "Processor self-scheduling for multiple nested parallel loops", ICPP 1986; any k:
    Kruskal and Weiss, "Allocating independent subtasks on parallel processors", IEEE TSE 11(10), 1985.
    """
    return min(left, int(notes[LEAST]))


def gss(left: int, processes: int, place: int, notes: Notes) -> int:  # noqa: ARG001
    """Guided self-scheduling GSS(k): ceil(left / P), at least k.

    Source: Polychronopoulos and Kuck, "Guided self-scheduling: a practical scheduling scheme for parallel
    supercomputers", IEEE Transactions on Computers C-36(12), 1987.
    """
    return min(left, max(int(notes[LEAST]), -(-left // processes)))


def tss(left: int, processes: int, place: int, notes: Notes) -> int:  # noqa: ARG001
    """Trapezoid self-scheduling TSS(f, l): each chunk is less than the one before by floor((f - l) / (C - 1)).

    C = ceil(2 N / (f + l)) chunks for N units; in their order, whoever asks. By default f = ceil(N / (2 P)), l = 1.

    Source: Tzen and Ni, "Trapezoid self-scheduling: a practical scheduling scheme for parallel compilers", IEEE TPDS
    4(1), 1993.
    """
    chunk = int(notes[NEXT])
    notes[NEXT] = max(notes[LEAST], notes[NEXT] - notes[STEP])
    return min(left, chunk)


def fac(left: int, processes: int, place: int, notes: Notes) -> int:  # noqa: ARG001
    """Factoring: batches of P equal chunks of ceil(R / (x P)), R the units left when the batch begins.

    b = P / (2 sqrt(R)) sigma / mu with mean mu and deviation sigma of a unit's time; x = 1 + b^2 + b sqrt(b^2 + 2) in
    the first batch, then x = 2 + b^2 + b sqrt(b^2 + 4).

    Source: Hummel, Schonberg and Flynn, "Factoring: a method for scheduling parallel loops", CACM 35(8), 1992.
    """
    if notes[IN_BATCH] == 0.0:
        b = processes / (2.0 * sqrt(float(left))) * notes[NEXT]
        x = 1.0 + b * b + b * sqrt(b * b + 2.0) if notes[STEP] == 0.0 else 2.0 + b * b + b * sqrt(b * b + 4.0)
        share = left / (x * processes)
        size = int(share)
        if size < share:
            size += 1
        notes[IN_BATCH], notes[STEP], notes[SIZE] = float(processes), 1.0, max(notes[LEAST], float(size))
    notes[IN_BATCH] -= 1.0
    return min(left, int(notes[SIZE]))


def fac2(left: int, processes: int, place: int, notes: Notes) -> int:  # noqa: ARG001
    """Factoring by halves: batches of P equal chunks of ceil(R / (2 P)), R the units left when the batch begins.

    Source: as `fac`, for unknown mean and deviation.
    """
    if notes[IN_BATCH] == 0.0:
        notes[IN_BATCH] = float(processes)
        notes[SIZE] = max(notes[LEAST], float(-(-left // (2 * processes))))
    notes[IN_BATCH] -= 1.0
    return min(left, int(notes[SIZE]))


def awf_b(left: int, processes: int, place: int, notes: Notes) -> int:
    """Adaptive weighted factoring by batches: chunks of `fac2` weighted by speeds that are measured in the run.

    A process's speed is the sum of k x units over that of k x time of its chunks k = 1, 2, ..., so later ones count
    more; it is looked at when a batch begins. Processes that have finished nothing count as the mean of the others.

    Source: Banicescu, Velusamy and Devaprasad, "On the scalability of dynamic scheduling scientific applications with
    adaptive weighted factoring", Cluster Computing 6(3), 2003; within one loop: Carino and Banicescu, "Dynamic load
    balancing with adaptive factoring methods in scientific applications", Journal of Supercomputing 44(1), 2008. There
    each process starts with a chunk of its own; here the first batch is that of `fac2`.
    """
    if notes[IN_BATCH] == 0.0:
        notes[SIZE] = max(notes[LEAST], float(-(-left // (2 * processes))))
        notes[IN_BATCH] = min(float(left), processes * notes[SIZE])
        known, total = 0.0, 0.0
        for one in range(processes):
            at = HEAD + WIDTH * one
            if notes[at] > 0.0:
                notes[at + 3] = notes[at + 1] / notes[at + 2]
                known += 1.0
                total += notes[at + 3]
        mean = total / known if known > 0.0 else 1.0
        whole = 0.0
        for one in range(processes):
            at = HEAD + WIDTH * one
            if notes[at] == 0.0:
                notes[at + 3] = mean
            whole += notes[at + 3]
        notes[STEP] = whole
    share = processes * notes[HEAD + WIDTH * place + 3] / notes[STEP] * notes[SIZE] + 0.5
    chunk = min(notes[IN_BATCH], max(notes[LEAST], float(int(share))))
    notes[IN_BATCH] -= chunk
    return min(left, int(chunk))


def af(left: int, processes: int, place: int, notes: Notes) -> int:
    """Adaptive factoring: (D + 2 T R - sqrt(D^2 + 4 D T R)) / (2 mu) units for a process whose unit takes mu.

    D = sum of sigma^2 / mu and 1 / T = sum of 1 / mu over all processes, mean and variance of a unit's time as measured
    in the run, R units left. The variance is that of chunk times: a chunk of n units has n sigma^2. Until every process
    has finished two chunks, all get the least one.

    Source: Banicescu and Liu, "Adaptive factoring: a dynamic scheduling method tuned to the rate of weight changes",
    HPC 2000; mean and variance from weighted values: West, CACM 22(9), 1979.
    """
    least = int(notes[LEAST])
    if notes[IN_BATCH] < processes:
        return min(left, least)
    spread, speed = 0.0, 0.0
    for one in range(processes):
        at = HEAD + WIDTH * one
        spread += notes[at + 3] / (notes[at] - 1.0) / notes[at + 2]
        speed += 1.0 / notes[at + 2]
    together = 1.0 / speed
    root = sqrt(spread * spread + 4.0 * spread * together * left)
    share = (spread + 2.0 * together * left - root) / (2.0 * notes[HEAD + WIDTH * place + 2])
    return min(left, max(least, int(share)))


def finished_awf(place: int, units: int, ticks: int, notes: Notes) -> None:
    """Note a finished chunk for `awf_b`; a time of zero counts as a tick."""
    at = HEAD + WIDTH * place
    notes[at] += 1.0
    notes[at + 1] += notes[at] * units
    notes[at + 2] += notes[at] * max(1, ticks)


def finished_af(place: int, units: int, ticks: int, notes: Notes) -> None:
    """Note a finished chunk for `af`; a time of zero counts as a tick."""
    at = HEAD + WIDTH * place
    notes[at] += 1.0
    if notes[at] == 2.0:
        notes[IN_BATCH] += 1.0
    each = float(max(1, ticks)) / units  # two whole numbers Python would divide exactly
    notes[at + 1] += units
    off = each - notes[at + 2]
    notes[at + 2] += off * units / notes[at + 1]
    notes[at + 3] += units * off * (each - notes[at + 2])


_RULES: tuple[Callable[[int, int, int, Notes], int], ...] = static, ss, gss, tss, fac, fac2, awf_b, af
_FINISHED: dict[int, Callable[[int, int, int, Notes], None]] = {AWF_B: finished_awf, AF: finished_af}


def number_of(told: SelfScheduling) -> int:
    """The number of a rule."""
    return RULES.index(told.rule)


def begin(told: SelfScheduling, units: int, processes: int, *, chunk: int = 1) -> Notes:
    """The notes of a rule before anything is handed out.

    `chunk`: under `ss`.
    """
    rule, last = number_of(told), min(told.last, max(1, units))
    head = [float(told.least), 0.0, 0.0, 0.0, 0.0]
    if rule == SS:
        head[LEAST] = float(chunk)
    if rule == FAC:
        head[NEXT] = told.assumed_cv
    if rule == TSS:
        first = max(last, told.first or -(-units // (2 * processes)))
        chunks = -(-2 * units // (first + last))
        head[LEAST], head[NEXT] = float(last), float(first)
        head[STEP] = float((first - last) // (chunks - 1)) if chunks > 1 else 0.0
    if rule == STATIC:
        parts = zip(accumulate(told.parts), told.parts, strict=True)
        return head + [float(number) for end, part in parts for number in (end - part, part, 0, 0)]
    return head + [0.0] * (WIDTH * processes if rule in _FINISHED else 0)


def decide(rule: int, left: int, processes: int, place: int, notes: Notes) -> int:
    """Units for a process that asks."""
    if left == 0:
        return 0
    chunk = _RULES[rule](left, processes, place, notes)
    if not (rule != STATIC) <= chunk <= left:
        found = f"rule {RULES[rule]} hands out {chunk} of {left} units that are left"
        raise SimulationError(f"farm: {found}; a chunk is 1 to all of them")
    return chunk


def first_unit(rule: int, handed_out: int, place: int, notes: Notes) -> int:
    """Where a process's chunk begins."""
    return int(notes[HEAD + WIDTH * place]) if rule == STATIC else handed_out


def finish(rule: int, place: int, units: int, ticks: int, notes: Notes) -> None:
    """Note a finished chunk, for the rules that look at them."""
    if rule in _FINISHED:
        _FINISHED[rule](place, units, ticks, notes)


def largest(told: SelfScheduling, units: int, processes: int, *, chunk: int = 1) -> int:
    """No chunk has more units."""
    rule, notes = number_of(told), begin(told, units, processes, chunk=chunk)
    bound = {
        STATIC: max(told.parts, default=0),
        SS: chunk,
        GSS: max(told.least, -(-units // processes)),
        TSS: int(notes[NEXT]),
        FAC2: max(told.least, -(-units // (2 * processes))),
    }
    return min(units, bound.get(rule, units))
