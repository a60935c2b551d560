"""How far a command is and the time left, said in the line of `signs`, on a terminal and in a file."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import simulator
from advisor.cli import signs
from simulator import Interrupted, units

if TYPE_CHECKING:
    from advisor.advise.spending import Progress

WAITING_S, HINTED = 10, 6
"""Between two lines that nobody answers, and how many of them until one says what to look at."""


def of_time(expected_s: float) -> Callable[[str, float], None]:
    """What says the share that is done at a stage, and what is left of the time expected."""
    begun = time.monotonic()

    def show(stage: str, share: float) -> None:
        left_s = expected_s - (time.monotonic() - begun)
        left = f"about {left_s:.0f} s left" if left_s > 0 else f"{-left_s:.0f} s longer than expected"
        signs.say(f"{stage}: {share:.0%} done, {left}")

    return show


def of_time_here(expected_s: float, what: str) -> Callable[[str, float], None]:
    """The same, once it is said on standard error where the work is done and about how long it takes."""
    print(f"{simulator.this_machine().summary()}; about {units.show_duration(expected_s)} of {what}", file=sys.stderr)
    return of_time(expected_s)


def counting(what: str) -> Callable[[int, int], None]:
    """What says how many are done, and the time left."""
    begun = time.monotonic()
    signs.say(what)

    def show(done: int, total: int) -> None:
        left = f", about {(time.monotonic() - begun) / done * (total - done):.0f} s left" if done else ""
        signs.say(f"{what}: {done} of {total}{left}" if total else what)

    return show


def waiting(hint: str) -> Callable[[], None]:
    """What says that there is no worker, at most every ten seconds, and every minute what to look at."""
    said, times = -float(WAITING_S), 0

    def show() -> None:
        nonlocal said, times
        if time.monotonic() - said >= WAITING_S:
            said, times = time.monotonic(), times + 1
            more = f": {hint}" if hint and times % HINTED == 2 else ""
            print(f"waiting for a worker{more}", file=sys.stderr, flush=True)

    return show


@contextmanager
def goes_on(kept: str, place: Path | None = None) -> Iterator[None]:
    """Say, if the work is interrupted, what is kept of it, as half a sentence.

    `place`: the file that keeps it, once there is something to keep.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        there = place is None or place.exists()
        said = f"{kept}, the same command goes on from there" if there else "nothing was run yet"
        raise Interrupted(f"interrupted; {said}") from error


def search_sign(progress: "Progress") -> None:
    """Have the line say how far a search is."""
    best = "" if progress.value is None else f", best so far {progress.value:.4g} by {progress.best}"
    signs.say(f"{progress.stage}: {progress.runs} runs{best}")


def say_compiling(_kernel: str) -> None:
    """The first use of a new version takes seconds; what is compiled is kept where nobody else can change it."""
    _announce_compiling()
    signs.say("compiling the simulator")


@cache
def _announce_compiling() -> None:
    nowhere = "for this command alone: no folder that only you can write was found; set XDG_CACHE_HOME to one"
    print(f"compiling the simulator, {'once' if simulator.cache_folder() else nowhere} ...", file=sys.stderr)


def stages() -> Callable[[str, str, float], None]:
    """What prints a line for each new stage of a host."""
    known: dict[str, str] = {}

    def note(host: str, stage: str, _share: float) -> None:
        if known.get(host) != stage:
            known[host] = stage
            line = f"{host}: {stage}" if host else stage
            signs.say(line)
            print(line, file=sys.stderr, flush=True)

    return note
