"""Repartition between iterations, decided: from each process's times, new units or stay. The same in `balance.c`.

Plain functions with `+ - * /` and `sqrt` in the order in which they stand, so that Python, C and the compiled engine
come to the same units. A process takes its units' seconds at the speed measured before times a factor that is learnt:
the one of four smoothed values (mean, gains 1/16, 1/4 and 1) whose last forecasts were best (Wolski, Spring and Hayes,
"The Network Weather Service", FGCS 15, 1999). New units are those that end first (Lastovetsky and Reddy, IJHPCA 21,
2007): the line through the origin is turned by false position and bisection, in a bounded number of steps.
"""

from collections.abc import MutableSequence
from math import sqrt
from typing import NamedTuple

Floats = MutableSequence[float]
Ints = MutableSequence[int]

WIDTH = 16
"""Numbers that are kept of a process; the next line says where each lies, levels and errors being four each."""
COUNT, CHANGES, LAST, NOISE, WAITED, NOMINAL, FORECAST, DOUBT, LEVELS, ERRORS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 12
AFTER = 6
"""Numbers after those of the processes: calls, calls since a decision was due, and the four of the outlook."""
MODE, PERIOD, LIMIT, FIXED_S, MESSAGE_S, UNIT_S, CONTIGUOUS, LEAST, PATIENCE_S, CALLS, CAUTION = range(11)
"""Where a rule's numbers lie."""
EVERY, THRESHOLD, GAIN = 0.0, 1.0, 2.0
STAY, MOVE, FORCED, NOBODY, NO_ROOM = 0, 1, 2, -1, -2
GAINS = (0.0, 0.0625, 0.25, 1.0)
"""Of the smoothed values; each is at least one over the times seen, so the first is the plain mean."""
MEMORY = 0.015625
"""Weight of the latest error of a forecast in the mean that chooses among them: some 64 calls count."""
NOISE_CALLS = 32.0
"""Over how many calls noise is averaged."""
FIRST_NOISE = 0.1
"""Taken for the noise of a process of which one time is known, as a share."""
CHANGE, LEAST_CHANGE = 4.0, 0.05
"""A step is a change of level if it is more than so many usual steps, and more than such a share."""
MOST_STEP = 3.0
"""Usual steps that a step counts as at most in the noise, so that a change of level is no noise."""
STEP_TO_DEVIATION = 0.886226925452758
"""The standard deviation of noise over the mean absolute difference of two draws, if normal: sqrt(pi) / 2."""
BAND_TO_DEVIATION = 0.6079568319117691
"""One over the normal quantile of 95 %: a band's half-width holds 90 %."""
MOST_STEPS = 100
NO_ANSWER = 1e300
"""Seconds from here on stand for no answer."""


class Book(NamedTuple):
    """What the functions below read and write: lists, or arrays of float64 and int64 where they are compiled."""

    rule: Floats
    first: Ints
    sizes: Floats
    speeds: Floats
    widths: Floats
    most: Ints
    memory: Floats
    units: Ints
    times: Floats
    shares: Floats
    found: Ints


def decide_units(book: Book) -> int:
    """What a call decides: `STAY`, or `MOVE` with new units in `found`; `NOBODY` or `NO_ROOM` where it cannot go on."""
    processes = len(book.units)
    slot = processes * WIDTH
    book.memory[slot] += 1.0
    waiting = hear(book)
    standing = stand(book, waiting)
    if standing < 0:
        return standing
    if waiting > 0 or (standing != FORCED and not is_due(book)):
        return STAY
    suppose(book)
    total, rate = 0, 0.0
    for p in range(processes):
        total += book.units[p]
        if book.units[p] > 0 and book.most[p] > 0:
            rate += book.units[p] / (book.memory[p * WIDTH + NOMINAL] * book.memory[p * WIDTH + FORECAST])
    divide(book, total, total / rate if rate > 0.0 else 1.0)
    moved = False
    for p in range(processes):
        if book.found[p] != book.units[p]:
            moved = True
    if not moved:
        return STAY
    gains = pays(book)
    if standing != FORCED and book.rule[MODE] == GAIN and not gains:
        return STAY
    settle(book)
    return MOVE


def hear(book: Book) -> int:
    """Take in all times; leave out who has not answered for too long; how many are still waited for."""
    most, memory, times = book.most, book.memory, book.times
    processes = len(book.units)
    slowest = 0.0
    for p in range(processes):
        if most[p] > 0 and slowest < times[p] < NO_ANSWER:
            slowest = times[p]
    waiting = 0
    for p in range(processes):
        at = p * WIDTH
        if most[p] == 0:
            continue
        if times[p] >= NO_ANSWER:
            memory[at + WAITED] += slowest
            if memory[at + WAITED] > book.rule[PATIENCE_S]:
                most[p] = 0
            else:
                waiting += 1
            continue
        memory[at + WAITED] = 0.0
        if book.units[p] > 0:
            learn(memory, at, times[p])
        elif memory[at + COUNT] > 0.0:  # nothing is seen of it, so it goes back to its mean as fast as levels changed
            back = (memory[at + CHANGES] + 1.0) / (memory[at + COUNT] + 1.0)
            memory[at + FORECAST] += back * (memory[at + LEVELS] - memory[at + FORECAST])
    return waiting


def learn(memory: Floats, at: int, seconds: float) -> None:
    """Take in a process's time: its noise, whether its level changed, its levels, and which of them forecasts best."""
    value = seconds / memory[at + NOMINAL]
    count = memory[at + COUNT] + 1.0
    weight = 1.0 / count
    if count > 1.0:
        step = value - memory[at + LAST]
        if step < 0.0:
            step = -step
        noise = memory[at + NOISE]
        if step > CHANGE * noise and step > LEAST_CHANGE * memory[at + LAST]:
            memory[at + CHANGES] += 1.0
        if step > MOST_STEP * noise:
            step = MOST_STEP * noise
        calls = count if count < NOISE_CALLS else NOISE_CALLS
        memory[at + NOISE] = noise + (step - noise) / calls
        past = 1.0 / (count - 1.0)
        if past < MEMORY:
            past = MEMORY
    else:
        memory[at + NOISE] = FIRST_NOISE * value
        past = 0.0
    best, least = 0, 0.0
    for k in range(4):
        level = memory[at + LEVELS + k]
        off = value - level
        error = memory[at + ERRORS + k]
        error = error + past * (off * off - error)
        memory[at + ERRORS + k] = error
        gain = GAINS[k]
        if gain < weight:
            gain = weight
        memory[at + LEVELS + k] = level + gain * off
        if k == 0 or error < least:
            best, least = k, error
    gain = GAINS[best]
    if gain < weight:
        gain = weight
    memory[at + COUNT] = count
    memory[at + LAST] = value
    memory[at + FORECAST] = memory[at + LEVELS + best]
    memory[at + DOUBT] = STEP_TO_DEVIATION * memory[at + NOISE] * sqrt(gain / (2.0 - gain))


def stand(book: Book, waiting: int) -> int:
    """`NOBODY` answered, `NO_ROOM` for all units, `FORCED` as who is left out still has some; 0 if nothing of these."""
    total, room, active, standing = 0, 0, 0, 0
    for p in range(len(book.units)):
        total += book.units[p]
        room += book.most[p]
        if book.most[p] > 0:
            active += 1
        elif book.units[p] > 0:
            standing = FORCED
    if active == waiting:
        return NOBODY
    return NO_ROOM if room < total else standing


def is_due(book: Book) -> bool:
    """Whether a decision is due, and the imbalance is above the threshold where there is one."""
    slot = len(book.units) * WIDTH
    book.memory[slot + 1] += 1.0
    if book.memory[slot + 1] < book.rule[PERIOD]:
        return False
    book.memory[slot + 1] = 0.0
    if book.rule[MODE] != THRESHOLD:
        return True
    longest, total, count = 0.0, 0.0, 0.0
    for p in range(len(book.units)):
        if book.most[p] > 0 and book.units[p] > 0:
            total += book.times[p]
            count += 1.0
            if book.times[p] > longest:
                longest = book.times[p]
    return longest / (total / count) - 1.0 > book.rule[LIMIT]


def suppose(book: Book) -> None:
    """Take those of whom no time is known for as the others are in the mean."""
    known, total = 0.0, 0.0
    for p in range(len(book.units)):
        if book.memory[p * WIDTH + COUNT] > 0.0 and book.most[p] > 0:
            known += 1.0
            total += book.memory[p * WIDTH + FORECAST]
    if known > 0.0:
        for p in range(len(book.units)):
            if book.memory[p * WIDTH + COUNT] == 0.0:
                book.memory[p * WIDTH + FORECAST] = total / known
                book.memory[p * WIDTH + DOUBT] = FIRST_NOISE * (total / known)


def divide(book: Book, total: int, guess_s: float) -> None:
    """Put into `found` the units that end first, ties to the process with the lower number.

    The line is turned until the shares are half a unit for each process too many, so that their whole parts are nearly
    all; then units are added where they end first, or taken where they end last.
    """
    found, shares, most = book.found, book.shares, book.most
    processes, least = len(found), int(book.rule[LEAST])
    room, active = 0.0, 0.0
    for p in range(processes):
        room += most[p]
        if most[p] > 0:
            active += 1.0
    wanted = total + 0.5 * active
    if wanted > room:
        wanted = room
    turn(book, wanted, 0.5 + active / 64.0, guess_s * (wanted / total))
    left = total
    for p in range(processes):
        found[p] = int(shares[p])
        left -= found[p]
    for p in range(processes):
        shares[p] = end_of(book, p, found[p] + 1 if left > 0 else found[p])
    while left > 0:
        best, ends = -1, 0.0
        for p in range(processes):
            if found[p] < most[p] and (best < 0 or shares[p] < ends):
                best, ends = p, shares[p]
        found[best] += 1
        shares[best] = end_of(book, best, found[best] + 1)
        left -= 1
    while left < 0:
        best, ends = -1, 0.0
        for p in range(processes):
            if found[p] > least and (best < 0 or shares[p] >= ends):
                best, ends = p, shares[p]
        found[best] -= 1
        shares[best] = end_of(book, best, found[best])
        left += 1


def turn(book: Book, wanted: float, slack: float, guess_s: float) -> None:
    """Turn the line from a guess of the seconds until the shares are as many as wanted, to within some slack.

    False position that halves what an end is off by which stays (the Illinois rule), and each fourth step bisection.
    """
    low, low_off, high = 0.0, -wanted, guess_s
    off = high_off = fill(book, high) - wanted
    steps = 0
    while high_off < -slack and steps < MOST_STEPS:
        low, low_off = high, high_off
        high = high * (wanted / (wanted + high_off)) if steps < 8 and wanted + high_off > 0.0 else high * 2.0
        off = high_off = fill(book, high) - wanted
        steps += 1
    steps, side = 0, 0
    while (off > slack or off < -slack) and steps < MOST_STEPS:
        middle = low - low_off * ((high - low) / (high_off - low_off))
        if steps % 4 == 3 or not low < middle < high:
            middle = 0.5 * (low + high)
        off = fill(book, middle) - wanted
        if off < 0.0:
            low, low_off = middle, off
            if side < 0:
                high_off = 0.5 * high_off
            side = -1
        else:
            high, high_off = middle, off
            if side > 0:
                low_off = 0.5 * low_off
            side = 1
        steps += 1


def fill(book: Book, seconds: float) -> float:
    """Put into `shares` the units, with fractions, that each process does in some seconds, in its bounds; their sum."""
    first, sizes, speeds, most, memory, shares = (
        book.first,
        book.sizes,
        book.speeds,
        book.most,
        book.memory,
        book.shares,
    )
    least = book.rule[LEAST]
    total = 0.0
    for p in range(len(shares)):
        begins = first[p]
        own = seconds / memory[p * WIDTH + FORECAST]
        share = own * speeds[begins]
        if share > sizes[begins] and first[p + 1] > begins + 1:
            share = units_within(own, begins, first[p + 1], sizes, speeds)
        if share > most[p]:
            share = 1.0 * most[p]
        elif share < least:
            share = least
        shares[p] = share
        total += share
    return total


def units_within(seconds: float, begins: int, ends: int, sizes: Floats, speeds: Floats) -> float:
    """Units, with fractions, that end in some seconds: where a line through the origin meets the speeds."""
    if seconds * speeds[ends - 1] >= sizes[ends - 1]:
        return seconds * speeds[ends - 1]
    at = begins
    while seconds * speeds[at + 1] >= sizes[at + 1]:
        at += 1
    slope = (speeds[at + 1] - speeds[at]) / (sizes[at + 1] - sizes[at])
    return seconds * (speeds[at] - slope * sizes[at]) / (1.0 - seconds * slope)


def curve_at(units: float, begins: int, ends: int, sizes: Floats, values: Floats) -> float:
    """A speed or a width at some units: straight between points, constant beyond."""
    if units <= sizes[begins]:
        return values[begins]
    if units >= sizes[ends - 1]:
        return values[ends - 1]
    at = begins
    while sizes[at + 1] <= units:
        at += 1
    return values[at] + (values[at + 1] - values[at]) * ((units - sizes[at]) / (sizes[at + 1] - sizes[at]))


def nominal_of(book: Book, p: int, units: int) -> float:
    """Seconds that a process takes for some units at the speed that was measured before."""
    if book.first[p + 1] == book.first[p] + 1:
        return units / book.speeds[book.first[p]]
    return units / curve_at(1.0 * units, book.first[p], book.first[p + 1], book.sizes, book.speeds)


def end_of(book: Book, p: int, units: int) -> float:
    """Seconds that a process is expected to take for some units."""
    return nominal_of(book, p, units) * book.memory[p * WIDTH + FORECAST]


def pays(book: Book) -> bool:
    """Whether moving is expected to gain more than it costs, with the gain per call at its lower bound.

    The gain of a call is the longest expected time of the units as they are, minus that of those found; its doubt is
    that of both. It lasts as long as the levels of the process that all wait for did so far, (times + 1) /
    (changes + 1) calls, and at most to the last call.
    """
    memory, units, found, rule = book.memory, book.units, book.found, book.rule
    now_s, doubt_s, new_s, new_doubt_s, slowest = 0.0, 0.0, 0.0, 0.0, 0
    for p in range(len(units)):
        at = p * WIDTH
        seconds = memory[at + NOMINAL] * memory[at + FORECAST]
        if units[p] > 0 and seconds > now_s:
            now_s, doubt_s, slowest = seconds, memory[at + NOMINAL] * memory[at + DOUBT], at
        nominal = nominal_of(book, p, found[p])
        seconds = nominal * memory[at + FORECAST]
        if seconds > new_s:
            new_s = seconds
        own_s = nominal * memory[at + DOUBT]
        single = book.first[p + 1] == book.first[p] + 1
        if found[p] != units[p] and not (single and book.widths[book.first[p]] == 0.0):
            # What the band leaves open, by the share of the units that are new.
            width = curve_at(1.0 * found[p], book.first[p], book.first[p + 1], book.sizes, book.widths)
            more, fewer = found[p], units[p]
            if more < fewer:
                more, fewer = fewer, more
            form_s = seconds * width * BAND_TO_DEVIATION * ((more - fewer) / more)
            own_s = sqrt(own_s * own_s + form_s * form_s)
        if own_s > new_doubt_s:
            new_doubt_s = own_s
    slot = len(units) * WIDTH
    lasting = (memory[slowest + COUNT] + 1.0) / (memory[slowest + CHANGES] + 1.0)
    left = rule[CALLS] - memory[slot]
    if rule[CALLS] > 0.0 and left < lasting:
        lasting = left
    memory[slot + 2] = now_s - new_s
    memory[slot + 3] = rule[CAUTION] * sqrt(doubt_s * doubt_s + new_doubt_s * new_doubt_s)
    memory[slot + 4] = lasting
    memory[slot + 5] = cost_of(book)
    return (memory[slot + 2] - memory[slot + 3]) * lasting > memory[slot + 5]


def cost_of(book: Book) -> float:
    """Seconds that moving takes: of the process with most to send and receive, as all do at the same time.

    In a contiguous partition units cross boundaries from neighbour to neighbour; otherwise they go to their owner.
    """
    rule = book.rule
    worst, across = 0.0, 0
    for p in range(len(book.units)):
        before = across if rule[CONTIGUOUS] > 0.0 else 0
        across = before + (book.found[p] - book.units[p])
        moved, messages = 0, 0.0
        if before != 0:
            moved += before if before > 0 else -before
            messages += 1.0
        if across != 0:
            moved += across if across > 0 else -across
            messages += 1.0
        seconds = rule[MESSAGE_S] * messages + rule[UNIT_S] * moved
        if seconds > worst:
            worst = seconds
    return rule[FIXED_S] + worst


def settle(book: Book) -> None:
    """Note how long the new units take at the speeds measured before."""
    for p in range(len(book.found)):
        if book.found[p] > 0:
            book.memory[p * WIDTH + NOMINAL] = nominal_of(book, p, book.found[p])
