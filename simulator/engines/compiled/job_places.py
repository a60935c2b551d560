"""What is free when, and the hole that is best for a job: `scheduling.profiles` and `scheduling.places`, compiled.

A row of the profile holds from its time up to the next one's; the last one holds for ever.
"""

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.job_nodes import PARTS, best_on_nodes, change
from simulator.engines.compiled.job_state import NONE, N, State

WORD = 64
TAKE, GIVE = 0, 1
PICKED, ROOM = range(2)
"""Rows of `State.hole`."""


@callee
def width(j: State) -> int:
    """Numbers of a row: a count, words, or three for each node."""
    return max(1, j.n[N.WORDS], PARTS * j.n[N.NODES])


@subroutine
def clear_profile(j: State) -> None:
    """A profile with all free from now on."""
    j.n[N.PROFILE], j.time[0], j.n[N.RISING] = 1, j.n[N.NOW], 1
    for place in range(width(j)):
        j.free[place] = j.level[place]


@subroutine
def reserve(j: State) -> None:
    """Hold what reservations hold."""
    wide = width(j)
    for span in range(j.n[N.OPENED], j.n[N.RESERVED]):
        j.n[N.RISING], base = 0, span * (2 + wide)
        first = edge(j, j.reserved[base])
        for row in range(first, edge(j, j.reserved[base + 1])):
            for place in range(wide):
                j.free[row * wide + place] -= j.reserved[base + 2 + place]


@subroutine
def forget_past(j: State) -> None:
    """Drop rows that are over, and those that are like the row before them."""
    rows, wide, first = j.n[N.PROFILE], width(j), 0
    while first + 1 < rows and j.time[first + 1] <= j.n[N.NOW]:
        first += 1
    kept = 0
    for row in range(first, rows):
        alike = kept > 0
        for word in range(wide):
            alike = alike and j.free[row * wide + word] == j.free[(kept - 1) * wide + word]
        if alike:
            continue
        j.time[kept] = j.time[row]
        for word in range(wide):
            j.free[kept * wide + word] = j.free[row * wide + word]
        kept += 1
    j.n[N.PROFILE] = kept
    j.time[0] = max(j.time[0], j.n[N.NOW])


@subroutine
def edge(j: State, time: int) -> int:
    """The row that begins at a time, put in where none does; 0 for what is over."""
    low, high = 0, j.n[N.PROFILE]
    while low < high:
        middle = (low + high) >> 1
        if j.time[middle] <= time:
            low = middle + 1
        else:
            high = middle
    row, wide = low - 1, width(j)
    if row < 0:
        return 0
    if j.time[row] == time:
        return row
    for place in range(j.n[N.PROFILE], row + 1, -1):
        j.time[place] = j.time[place - 1]
    for place in range((j.n[N.PROFILE] + 1) * wide - 1, (row + 2) * wide - 1, -1):
        j.free[place] = j.free[place - wide]
    j.time[row + 1] = time
    for word in range(wide):
        j.free[(row + 1) * wide + word] = j.free[row * wide + word]
    j.n[N.PROFILE] += 1
    return row + 1


@subroutine
def take(j: State, begin: int, end: int, job: int, back: int) -> None:
    """Occupy in [begin, end) what a job holds, or give it back."""
    first = edge(j, begin)
    for row in range(first, edge(j, end)):
        add_free(j, row, job, 1 if back == GIVE else -1)


@callee
def add_free(j: State, row: int, job: int, sign: int) -> None:
    """Have what a job holds free in a row, or no longer."""
    words = j.n[N.WORDS]
    if j.n[N.NODES] > 0:
        change(j, j.free, row, job, sign)
    elif words == 0:
        j.free[row] += sign * j.size[j.choice[job]]
    for word in range(words):
        if sign > 0:
            j.free[row * words + word] |= j.pes[job * words + word]
        else:
            j.free[row * words + word] &= ~j.pes[job * words + word]


@callee
def earliest(j: State, count: int, lasting: int) -> int:
    """The earliest time from which so many PEs are free for so long."""
    start = 0
    for row in range(j.n[N.PROFILE]):
        if start < row and j.time[row] >= j.time[start] + lasting:
            break
        if j.free[row] < count:
            start = row + 1
    return j.time[start]


@subroutine
def find(j: State, job: int) -> int:
    """The begin of the best hole for a job, NONE without one; what it is to get is put down for it."""
    if j.n[N.WORDS] > 0:
        return best_hole(j, job)
    choice = j.first[job]
    j.choice[job], j.kind[job], j.estimate[job] = choice, 0, j.plan[choice * j.n[N.KINDS]]
    if j.n[N.NODES] > 0:
        return best_on_nodes(j, job, j.estimate[job] + j.n[N.BEYOND])
    return earliest(j, j.size[choice], j.estimate[job] + j.n[N.BEYOND])


@subroutine
def profile_of_running(j: State) -> None:
    """What running jobs and reservations leave free: a row for each planned end to come."""
    wide, count, row = width(j), j.n[N.RUNNING], 0
    clear_profile(j)
    for place in range(count):
        add_free(j, 0, j.running[place], -1)
    for place in range(count):
        job = j.running[place]
        if j.planned[job] > max(j.n[N.NOW], j.time[row]):
            row += 1
            j.time[row] = j.planned[job]
            for word in range(wide):
                j.free[row * wide + word] = j.free[(row - 1) * wide + word]
        add_free(j, row, job, 1)
    j.n[N.PROFILE] = row + 1
    reserve(j)


@callee
def bits_of(word: int) -> int:
    """How many bits of a word are set."""
    left = word - ((word >> 1) & 0x5555555555555555)
    left = (left & 0x3333333333333333) + ((left >> 2) & 0x3333333333333333)
    left = (left + (left >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((left * 0x0101010101010101) >> 56) & 0x7F


@callee
def room_at(j: State, row: int, lasting: int, kind: int, need: int) -> int:
    """How many PEs a job can use from the begin of a row on for so long; which they are is left in `ROOM`."""
    words, end, at = j.n[N.WORDS], j.time[row] + lasting, row
    for word in range(words):
        usable = j.within[kind * words + word] & j.able[need * words + word]
        j.hole[ROOM * words + word] = j.free[row * words + word] & usable
    if not j.n[N.RISING]:
        while at + 1 < j.n[N.PROFILE] and j.time[at + 1] < end:
            at += 1
            for word in range(words):
                j.hole[ROOM * words + word] &= j.free[at * words + word]
    count = 0
    for word in range(words):
        count += bits_of(j.hole[ROOM * words + word])
    return count


@callee
def pick(j: State, count: int) -> int:
    """So many PEs of those in `ROOM`, left in `PICKED`; the class of the slowest of them."""
    words = j.n[N.WORDS]
    for word in range(words):
        j.hole[PICKED * words + word] = 0
    for group in range(j.n[N.GROUPS]):
        for word in range(words):
            here = j.hole[ROOM * words + word] & j.groups[group * words + word]
            while here != 0 and count > 0:
                lowest = here & -here
                j.hole[PICKED * words + word] |= lowest
                here ^= lowest
                count -= 1
    kind = 0
    while True:
        inside = True
        for word in range(words):
            inside = inside and j.hole[PICKED * words + word] & ~j.within[kind * words + word] == 0
        if inside:
            return kind
        kind += 1


@subroutine
def best_hole(j: State, job: int) -> int:
    """Where a job is best placed: start of the hole; its choice, class, estimate and PEs are put down for the job.

    The earliest planned end, of equal ones the first start and the fewest PEs; each choice starts as early as it can
    unless the placement is by the earliest end.
    """
    words, kinds, best_end, best_start = j.n[N.WORDS], j.n[N.KINDS], NONE, NONE
    waits = j.n[N.EARLIEST_FINISH] != 0
    for choice in range(j.first[job], j.first[job + 1]):
        for row in range(j.n[N.PROFILE]):
            if best_end >= 0 and j.time[row] >= best_end:
                break
            found = False
            for turn in range(kinds):
                kind = turn if j.n[N.FASTEST_FIRST] else kinds - 1 - turn
                if room_at(j, row, j.plan[choice * kinds + kind], kind, j.request[job]) < j.size[choice]:
                    continue
                found = True
                slowest = pick(j, j.size[choice])
                lasting = j.plan[choice * kinds + slowest]
                if best_end < 0 or j.time[row] + lasting < best_end:
                    best_start, best_end = j.time[row], j.time[row] + lasting
                    j.choice[job], j.kind[job], j.estimate[job] = choice, slowest, lasting
                    for word in range(words):
                        j.pes[job * words + word] = j.hole[PICKED * words + word]
                break
            if found and not waits:
                break
    return best_start
