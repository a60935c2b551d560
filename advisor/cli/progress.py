"""A progress bar on standard error, with the time left; silent where nobody watches."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import simulator
from simulator import units

if TYPE_CHECKING:
    from advisor.advise.spending import Progress


@contextmanager
def progress_bar(expected_s: float) -> Iterator[Callable[[str, float], None]]:
    """Show a stage, the share done and the time left of the time expected.

    It is drawn only when progress is reported: a bar that redraws itself would compete with what is measured.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    begun = time.monotonic()
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<18}"), BarColumn(), TextColumn("about {task.fields[left]:.0f} s left"))
    with Progress(
        *columns, console=console, auto_refresh=False, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("start", total=1.0, left=expected_s)

        def show(stage: str, share: float) -> None:
            left = max(0.0, expected_s - (time.monotonic() - begun))
            bar.update(task, description=stage, completed=min(1.0, share), left=left, refresh=True)

        yield show


@contextmanager
def progress_lines(expected_s: float) -> Iterator[Callable[[str, float], None]]:
    """The bar on a terminal; a line on standard error at every tenth of the way where it goes into a file."""
    if sys.stderr.isatty():
        with progress_bar(expected_s) as show:
            yield show
        return
    begun, shown = time.monotonic(), 0

    def tell(stage: str, share: float) -> None:
        nonlocal shown
        if share * 10 >= shown + 1:
            shown = int(share * 10)
            print(f"{10 * shown} % after {time.monotonic() - begun:.0f} s, now {stage}", file=sys.stderr, flush=True)

    yield tell


@contextmanager
def timed_work(expected_s: float, what: str) -> Iterator[Callable[[str, float], None]]:
    """Say on standard error where the work is done and about how long it takes, then how far it is."""
    print(f"{simulator.this_machine().summary()}; about {units.show_duration(expected_s)} of {what}", file=sys.stderr)
    with progress_lines(expected_s) as show:
        yield show


@contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many are done and the time left; silent where nobody watches and in the first second."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console, begun = Console(stderr=True), time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not console.is_terminal)
    task, last = bar.add_task(what, total=None), begun
    try:

        def show(done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - begun < 1 or (now - last < 0.1 and done < total):
                return
            last = now
            bar.start()
            bar.update(task, completed=done, total=total, refresh=True)

        yield show
    finally:
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
            elif watched:
                bar(done, total)
            elif total and done * 10 // total > shown and now - begun >= 1:
                shown = done * 10 // total
                left = (now - begun) / done * (total - done)
                print(f"{done} of {total} {what}, about {left:.0f} s left", file=sys.stderr, flush=True)

        yield tell


FIRST_LINE_S = 0.6
"""After which a command that searches shows that it works: shorter ones need no line."""


@contextmanager
def search_lines() -> Iterator[tuple[Callable[["Progress"], None], Callable[[], None]]]:
    """One line on standard error that shows how far a search is; lines, ever more seldom, where it goes into a file.

    Yields whom to tell, and what ends it. In a file nothing stands before what was asked for was found to be sound.
    """
    import threading

    watched, last, due, begun = sys.stderr.isatty(), "reading the scenario", 0.0, time.monotonic()
    timers: list[threading.Timer] = []

    def write() -> None:
        print(f"\r\x1b[K{last}" if watched else last, end="" if watched else "\n", file=sys.stderr, flush=True)

    def later() -> None:
        timers.append(threading.Timer(max(0.0, FIRST_LINE_S - (time.monotonic() - begun)), write))
        timers[0].daemon = True
        timers[0].start()

    def tell(progress: "Progress") -> None:
        nonlocal last, due
        last = _line(progress)
        if not timers:
            later()  # the first call of the simulator may be long
        if watched or progress.elapsed_s >= max(due, FIRST_LINE_S):
            due = 2 * progress.elapsed_s
            write()

    def end() -> None:
        for timer in timers:
            timer.cancel()
        if watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    if watched:
        later()
    try:
        yield tell, end
    finally:
        end()


def _line(progress: "Progress") -> str:
    best = "" if progress.value is None else f", best so far {progress.value:.4g} by {progress.best}"
    return f"{progress.stage}: {progress.runs} runs in {units.show_duration(progress.elapsed_s)}{best}"


@contextmanager
def host_table(expected_s: float) -> Iterator[Callable[[str, str, float], None]]:
    """A table of what is done on each host, with the time left; a line for each new stage where it goes into a file."""
    import sys
    import time

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
            if not console.is_terminal:
                print(f"{host + ': ' if host else ''}{stage}", file=sys.stderr, flush=True)

    if not console.is_terminal:
        yield note
        return
    with Live(get_renderable=shown, console=console, refresh_per_second=1, transient=True):
        yield note


MOST_HOSTS = 40
"""Rows of the table of hosts."""
