"""How far a command is and the time left: a bar on a terminal; lines, ever more seldom, where it goes into a file."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import simulator
from advisor.cli import signs
from simulator import units

if TYPE_CHECKING:
    from advisor.advise.spending import Progress

QUICK_S = 1.0
"""Work that takes less needs no bar."""


@contextmanager
def progress_lines(expected_s: float) -> Iterator[Callable[[str, float], None]]:
    """A bar of the time expected on a terminal; a line at every tenth of the way where it goes into a file.

    It is drawn when progress is reported, and once a second at most where none is: what is measured is not disturbed.
    """
    begun, shown, last = time.monotonic(), 0, ("start", 0.0)
    with _bar(lambda: show(*last)) as drawn:

        def show(stage: str, share: float) -> None:
            nonlocal shown, last
            last, spent_s = (stage, share), time.monotonic() - begun
            left = _left(expected_s, spent_s)
            signs.say(f"{stage}: {share:.0%} done, {left}")
            if drawn is not None:
                drawn(stage, min(1.0, share), 1.0, left)
            elif share * 10 >= shown + 1:
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
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many are done and the time left; no bar in the first second, and none where nobody watches."""
    begun, last_s, last = time.monotonic(), 0.0, (0, 0)
    with _bar(lambda: show(*last)) as drawn:

        def show(done: int, total: int) -> None:
            nonlocal last_s, last
            last, now = (done, total), time.monotonic()
            left = f", about {(now - begun) / done * (total - done):.0f} s left" if done else ""
            signs.say(f"{what}: {done} of {total}{left}" if total else what)
            if drawn is not None and now - begun >= QUICK_S and (now - last_s >= 0.1 or done >= total):
                last_s = now
                drawn(what, done, total, f"{done}/{total}{left}")

        signs.say(what)
        yield show


@contextmanager
def _bar(again: Callable[[], None]) -> Iterator[Callable[[str, float, float, str], None] | None]:
    """What draws a bar: its name, how much of what is done, and a remark; None where nobody watches.

    Parameters
    ----------
    again
        Draws what was drawn last, with the time that is left now.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns: Any = (TextColumn("{task.description:<18}"), BarColumn(), TextColumn("{task.fields[remark]}"))
    how: Any = dict.fromkeys(("auto_refresh", "redirect_stdout", "redirect_stderr"), False)
    bar = Progress(*columns, console=Console(stderr=True), transient=True, **how)
    task, over, lock = bar.add_task("start", total=1.0, remark=""), False, threading.RLock()

    def draw(stage: str, done: float, total: float, remark: str) -> None:
        with lock:
            if not over:  # the thread that watches may come late
                bar.start()
                bar.update(task, description=stage, completed=done, total=total or None, remark=remark, refresh=True)
                signs.drawn()

    try:
        with signs.drawn_by(again):
            yield draw
    finally:
        with lock:
            over = True
            bar.stop()


@contextmanager
def counting_lines(what: str, *, hint: str = "") -> Iterator[Callable[[int, int], None]]:
    """The counting bar on a terminal; a line with the time left at every tenth where it goes into a file.

    Called with -1, it says that there is no worker, at most every ten seconds, and every minute with the hint what to
    look at.
    """
    begun, shown, said, waits = time.monotonic(), 0, -10.0, 0
    watched = sys.stderr.isatty()

    with counting_bar(what) as bar:

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
def host_table(expected_s: float) -> Iterator[Callable[[str, str, float], None]]:
    """A table of what is done on each host, with the time left; a line for each new stage where it goes into a file."""
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    stages: dict[str, str] = {}
    console, begun = Console(stderr=True), time.monotonic()

    def shown() -> Table:
        left = max(0.0, expected_s - (time.monotonic() - begun))
        table = Table(title=f"{stages.get('', 'measuring')}, about {left:.0f} s left", box=None)
        for name in ("host", "now"):
            table.add_column(name, justify="left")
        for host, stage in list(stages.items())[-MOST_HOSTS:]:
            if host:
                table.add_row(host, stage)
        return table

    def note(host: str, stage: str, _share: float) -> None:
        if stages.get(host) != stage:
            stages[host] = stage
            signs.say(f"{host + ': ' if host else ''}{stage}")
            if not console.is_terminal:
                print(f"{host + ': ' if host else ''}{stage}", file=sys.stderr, flush=True)

    if not console.is_terminal:
        yield note
        return
    with Live(get_renderable=shown, console=console, refresh_per_second=1, transient=True):
        yield note


MOST_HOSTS = 40
"""Rows of the table of hosts."""
