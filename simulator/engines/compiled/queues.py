"""Queues in the event engine's memory: the events by tick, each id at most once, and small heaps of entries."""

from typing import Any

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.memory import W, Words, queue
from simulator.engines.costs import LAST_TICK

(
    RUNNING, DONE, DEADLOCK, UNRECEIVED, STALLED, ENDED_TRACE, NO_RATE, PAST_LAST_TICK, MORE_SLOTS, BAD_CHUNK,
) = range(10)  # fmt: skip
"""`w[STATUS]`; `w[FAULT]` is then the PE (STALLED, ENDED_TRACE) or the directed link (NO_RATE)."""


@callee
def later(w: Words, ticks: int) -> int:
    """The tick so much after now; past the last one the run fails."""
    return after(w, w[W.NOW], ticks)


@callee
def after(w: Words, tick: int, ticks: int) -> int:
    """The tick so much after another; past the last one the run fails."""
    if ticks > LAST_TICK - tick:
        w[W.STATUS] = PAST_LAST_TICK
        return LAST_TICK
    return tick + ticks


@subroutine
def _rise(heap: Any, place: int, tick: int, number: int) -> None:
    """Put an event where it belongs, at `place` or above."""
    while place > 1:
        parent = (place + 2) >> 2
        if heap[parent].tick <= tick:
            break
        heap[place].tick, heap[place].id = heap[parent].tick, heap[parent].id
        heap[heap[parent].id].place = place
        place = parent
    heap[place].tick, heap[place].id = tick, number
    heap[number].place = place


@subroutine
def _sink(heap: Any, size: int, place: int, tick: int, number: int) -> None:
    """Put an event where it belongs, at `place` or below."""
    while True:
        child = 4 * place - 2
        if child > size:
            break
        least, until = child, heap[child].tick
        for other in range(child + 1, min(child + 4, size + 1)):
            if heap[other].tick < until:
                least, until = other, heap[other].tick
        if until >= tick:
            break
        heap[place].tick, heap[place].id = until, heap[least].id
        heap[heap[least].id].place = place
        place = least
    heap[place].tick, heap[place].id = tick, number
    heap[number].place = place


@subroutine
def schedule(w: Words, number: int, tick: int) -> None:
    """An event at a tick, in place of an earlier one of the same id."""
    heap = queue(w)
    place = heap[number].place
    if place == 0:
        w[W.QUEUED] += 1
        _rise(heap, w[W.QUEUED], tick, number)
    elif tick < heap[place].tick:
        _rise(heap, place, tick, number)
    else:
        _sink(heap, w[W.QUEUED], place, tick, number)


@subroutine
def cancel(w: Words, number: int) -> None:
    """No event of an id any more, if there was one."""
    heap = queue(w)
    place = heap[number].place
    if place == 0:
        return
    heap[number].place = 0
    size = w[W.QUEUED]
    w[W.QUEUED] = size - 1
    if place == size:
        return
    tick, last = heap[size].tick, heap[size].id
    if place > 1 and tick < heap[(place + 2) >> 2].tick:
        _rise(heap, place, tick, last)
    else:
        _sink(heap, size - 1, place, tick, last)


@subroutine
def take_first(w: Words) -> int:
    """The id of the first event, which is over."""
    number = queue(w)[1].id
    cancel(w, number)
    return number


@subroutine
def push(heap: Any, first: int, size: int, key: int, second: int, value: int) -> None:
    """Add an entry to a heap of `size` entries from `first` on."""
    place = size
    while place > 0:
        parent = (place - 1) >> 1
        above = heap[first + parent]
        if above.key < key or (above.key == key and above.second <= second):
            break
        below = heap[first + place]
        below.key, below.second, below.value = above.key, above.second, above.value
        place = parent
    entry = heap[first + place]
    entry.key, entry.second, entry.value = key, second, value


@subroutine
def pop(heap: Any, first: int, size: int) -> None:
    """Take the first entry off a heap of `size` entries; `size - 1` are left."""
    last = heap[first + size - 1]
    key, second, value = last.key, last.second, last.value
    place, left = 0, size - 1
    while True:
        child = 2 * place + 1
        if child >= left:
            break
        one = heap[first + child]
        if child + 1 < left:
            other = heap[first + child + 1]
            if other.key < one.key or (other.key == one.key and other.second < one.second):
                child, one = child + 1, other
        if key < one.key or (key == one.key and second <= one.second):
            break
        above = heap[first + place]
        above.key, above.second, above.value = one.key, one.second, one.value
        place = child
    entry = heap[first + place]
    entry.key, entry.second, entry.value = key, second, value
