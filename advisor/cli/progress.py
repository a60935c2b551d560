"""How far a command is and the time left: in the line of `signs`, and as lines where it goes into a file."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import simulator
from advisor.cli import signs
from simulator import units

if TYPE_CHECKING:
    from advisor.advise.spending import Progress

QUICK_S = 1.0
"""Work that takes less is not reported on."""


@contextmanager
def progress_lines(expected_s: float) -> Iterator[Callable[[str, float], None]]:
    """The share of the time expected in the line on a terminal; a line at every tenth where it goes into a file."""
    begun, shown, watched = time.monotonic(), 0, sys.stderr.isatty()

    def show(stage: str, share: float) -> None:
        nonlocal shown
        spent_s = time.monotonic() - begun
        signs.say(f"{stage}: {share:.0%} done, {_left(expected_s, spent_s)}")
        if not watched and share * 10 >= shown + 1:
            shown = int(share * 10)
            print(f"{10 * shown} % after {spent_s:.0f} s, now {stage}", file=sys.stderr, flush=True)

    yield show


def _left(expected_s: float, spent_s: float) -> str:
    left_s = expected_s - spent_s
    return f"about {left_s:.0f} s left" if left_s > 0 else f"{-left_s:.0f} s longer than expected"


@contextmanager
def timed_work(expected_s: float, what: str) -> Iterator[Callable[[str, float], None]]:
    """Say on standard error where the work is done and about how long it takes, then how far it is."""
    print(f"{simulator.this_machine().summary()}; about {units.show_duration(expected_s)} of {what}", file=sys.stderr)
    with progress_lines(expected_s) as show:
        yield show


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Say in the line how many are done and the time left."""
    begun = time.monotonic()

    def show(done: int, total: int) -> None:
        left = f", about {(time.monotonic() - begun) / done * (total - done):.0f} s left" if done else ""
        signs.say(f"{what}: {done} of {total}{left}" if total else what)

    signs.say(what)
    yield show


@contextmanager
def counting_lines(what: str, *, hint: str = "") -> Iterator[Callable[[int, int], None]]:
    """As `counting` on a terminal; a line with the time left at every tenth where it goes into a file.

    Called with -1, it says that there is no worker, at most every ten seconds, and every minute with the hint what to
    look at.
    """
    begun, shown, said, waits = time.monotonic(), 0, -10.0, 0
    watched = sys.stderr.isatty()

    with counting(what) as bar:

        def tell(done: int, total: int) -> None:
            nonlocal shown, said, waits
            now = time.monotonic()
            if done < 0:
                if now - said >= 10:
                    said, waits = now, waits + 1
                    more = f": {hint}" if hint and waits % 6 == 2 else ""
                    print(f"waiting for a worker{more}", file=sys.stderr, flush=True)
                return
            bar(done, total)
            if not watched and total and done * 10 // total > shown and now - begun >= QUICK_S:
                shown = done * 10 // total
                left = (now - begun) / done * (total - done)
                print(f"{done} of {total} {what}, about {left:.0f} s left", file=sys.stderr, flush=True)

        yield tell


def search_sign(progress: "Progress") -> None:
    """Have the line say how far a search is."""
    best = "" if progress.value is None else f", best so far {progress.value:.4g} by {progress.best}"
    signs.say(f"{progress.stage}: {progress.runs} runs{best}")


def say_compiling(kernel: str) -> None:
    """The first use of a new version takes seconds; what is compiled is kept where nobody else can change it."""
    nowhere = "for this command alone: no folder that only you can write was found; set XDG_CACHE_HOME to one"
    print(
        f"compiling the simulator's kernel {kernel!r}, {'once' if simulator.cache_folder() else nowhere} ...",
        file=sys.stderr,
    )
    signs.say(f"compiling the simulator's kernel {kernel!r}")


@contextmanager
def host_lines() -> Iterator[Callable[[str, str, float], None]]:
    """A line for each new stage of a host."""
    stages: dict[str, str] = {}

    def note(host: str, stage: str, _share: float) -> None:
        if stages.get(host) != stage:
            stages[host] = stage
            line = f"{host}: {stage}" if host else stage
            signs.say(line)
            print(line, file=sys.stderr, flush=True)

    yield note
