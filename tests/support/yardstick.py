"""Processor time beside that of a yardstick that runs in turn with the work: a slow or busy machine judges alike."""

import contextlib
import time
from collections.abc import Callable, Iterator
from statistics import median


def cpu_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def plain_loop() -> float:
    """What the interpreter takes for half a million multiplications: the yardstick where nothing nearer is at hand."""
    total = 0.0
    for number in range(500_000):
        total += number * number
    return total


def times_as_long(work: Callable[[], object], yardstick: Callable[[], object] = plain_loop, samples: int = 5) -> float:
    """Median ratio of pairs, after a run of each that compiles and fills caches."""
    cpu_s(work), cpu_s(yardstick)
    return median(cpu_s(work) / cpu_s(yardstick) for _ in range(samples))


@contextlib.contextmanager
def at_most(loops: float) -> Iterator[None]:
    """What is done here takes no more processor time than so many plain loops."""
    begun = time.process_time()
    yield
    spent_s = time.process_time() - begun
    found = spent_s / median(cpu_s(plain_loop) for _ in range(3))
    assert found <= loops, f"{found:.1f} times as long as a plain loop, at most {loops}"
