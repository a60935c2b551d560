"""Runs a hostile case, in this process or in one of its own, and says what it broke: exit code, lines, time, memory.

Limits of time are multiples of what `apportion check` of a small scenario takes in a process of its own, in CPU
seconds and measured in turn, so that a slow or busy machine judges alike.
"""

import contextlib
import io
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from advisor.cli import _run, _show_warning
from tests.support.command_line import APPORTION, ROOT

MB = 10**6
CHECKS, MOST_BYTES = 4, 500 * MB
"""Bad input: as long as so many `apportion check`, which take half a second each, and so much memory at its peak."""
BOUND_CHECKS, BOUND_BYTES = 2, 200 * MB
"""The same of what is refused because it is too much: before it is built."""
PATIENCE_S = 60
"""Longest wait for a case on a busy machine; one that waits for something for ever ends here."""
ADDRESSES = 16 * 2**30
"""Most address space of a process, so that a case that eats memory does not take the machine's."""
DAMAGE = (
    *("Traceback", "╭", "│", "RuntimeWarning", "object at 0x"),
    *("KeyError", "TypeError", "ValueError", "AttributeError", "IndexError", "ZeroDivision", "NoneType", "unhashable"),
    *("could not convert", "invalid literal", "is not iterable", "not subscriptable", "unexpected keyword", "<class"),
    *("positional argument", "object is not", "inhomogeneous", "broadcast", "values to unpack"),
)
"""What no user should read."""


@dataclass(frozen=True)
class Case:
    """A command line, the files it needs, and how it must end."""

    name: str
    arguments: tuple[str, ...]
    exits: tuple[int, ...] = (2,)
    """Exit codes that are right; a mutation of a good file may also leave it good."""
    files: Mapping[str, bytes | Callable[[bytes], bytes] | None] = field(default_factory=dict)
    """Written into the folder that it runs in: bytes, what makes them of the good file, or None: a pipe that nobody
    writes to."""
    bounded: bool = False
    """Refused because it is too much: the closer limits."""


@dataclass(frozen=True)
class Ending:
    """How a case ended."""

    exit: int | str
    """The exit code, or the traceback."""
    said: str
    cpu_s: float
    peak_bytes: int

    def faults(self, case: Case, check_s: float) -> list[str]:
        """What was broken; empty where the case ended as it must."""
        checks, most = (BOUND_CHECKS, BOUND_BYTES) if case.bounded else (CHECKS, MOST_BYTES)
        lines = self.said.splitlines()
        found = [] if self.exit in case.exits else [f"exit {self.exit} where {case.exits} is right"]
        found += [f"{word} on standard error" for word in DAMAGE if word in self.said]
        if self.exit == 2:
            errors = [line for line in lines if line.startswith("error: ")]
            found += [] if errors else ["no line that begins with error:"]
            strange = [line for line in lines if not line.startswith(("error: ", "warning: ", "looking for", "  "))]
            found += [f"a line that is no error: {line[:200]!r}" for line in strange[:3]]
            found += [f"a line of {len(line)} letters" for line in errors if len(line) > 2000]
            found += [f"a line that cannot be shown: {line[:200]!r}" for line in errors if not line.isprintable()]
            found += [] if len(set(errors)) == len(errors) else ["the same line twice"]
        if self.exit == 2 and self.cpu_s > checks * check_s:
            found.append(f"{self.cpu_s / check_s:.1f} times as long as `apportion check`, at most {checks}")
        if self.exit == 2 and self.peak_bytes > most:
            found.append(f"{self.peak_bytes / MB:.0f} MB, at most {most / MB:.0f}")
        return [f"{case.name}: apportion {shown(case.arguments)}: {fault}\n{self.said[-2000:]}" for fault in found]


def shown(arguments: Sequence[str]) -> str:
    """A command line for a message, long words cut."""
    return (
        " ".join(word if len(word) < 200 else f"{word[:100]}..." for word in arguments)
        .encode("utf-8", "backslashreplace")
        .decode()
    )


@contextlib.contextmanager
def _folder(good: Path, case: Case) -> Iterator[Path]:
    """A copy of the good files with the case's own over them."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        shutil.copytree(good, name, dirs_exist_ok=True)
        _lay(Path(name), case)
        yield Path(name)


@contextlib.contextmanager
def _folder_here(good: Path, case: Case) -> Iterator[Path]:
    """The same in one folder for all cases: after each, only the files that it changed are copied again."""
    folder = good.with_name("here")
    if not folder.exists():
        shutil.copytree(good, folder)
    before = _state(folder)
    _lay(folder, case)
    try:
        yield folder
    finally:
        after = _state(folder)
        for path in sorted({path for path, _ in before.items() ^ after.items()}, reverse=True):
            there = folder / path
            if there.is_dir() and not there.is_symlink():
                there.rmdir()
            else:
                there.unlink(missing_ok=True)
            if path in before:
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(good / path, there)


def _state(folder: Path) -> dict[str, object]:
    """What lies in a folder at whatever depth; of files, all that a write changes."""
    found: dict[str, object] = {}
    for here, folders, names in os.walk(folder):
        inside = os.path.relpath(here, folder)
        found |= dict.fromkeys((os.path.join(inside, name) for name in folders), None)  # noqa: PTH118 - many
        for name in names:
            told = os.lstat(os.path.join(here, name))  # noqa: PTH118
            found[os.path.join(inside, name)] = told.st_ino, told.st_size, told.st_mtime_ns, told.st_mode  # noqa: PTH118
    return found


def _lay(folder: Path, case: Case) -> None:
    """The case's own files."""
    for path, data in case.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        made = data((folder / path).read_bytes()) if callable(data) else data
        (folder / path).unlink(missing_ok=True)
        os.mkfifo(folder / path) if made is None else (folder / path).write_bytes(made)


def run_here(case: Case, good: Path) -> Ending:
    """The case within this process, which saves the start; ended by a signal if it does not end."""
    out, err = io.StringIO(), io.StringIO()
    before, height = _peak_bytes(reset=True), 0
    begin = time.process_time()
    code: int | str
    with _folder_here(good, case) as folder, _given_up(PATIENCE_S), contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _show_warning
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = _run(list(case.arguments))
            except SystemExit as end:
                code = int(end.code or 0)
            except BaseException:  # noqa: BLE001 - any of them is what is looked for
                code = traceback.format_exc()
        height = _peak_bytes() - before
    return Ending(code, err.getvalue(), time.process_time() - begin, height)


def run_alone(case: Case, good: Path) -> Ending:
    """The case in a process of its own, as users run it."""
    with _folder(good, case) as folder:
        return _process(case.arguments, folder)


def run_all_alone(cases: Sequence[Case], good: Path) -> list[Ending]:
    """Each in a process of its own, on all cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(partial(run_alone, good=good), cases))


@cache
def check_s(good: Path) -> float:
    """CPU seconds of `apportion check` of a small scenario in a process of its own, the least while all cores do so."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return min(pool.map(lambda _: _process(("check", "first-run.yaml"), good).cpu_s, range(2)))


def _process(arguments: Sequence[str], folder: Path) -> Ending:
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as used:
        child = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _START, str(used.fileno()), str(ADDRESSES), *APPORTION, *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=[used.fileno()],
            start_new_session=True,
        )
        try:
            child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        said.seek(0)
        used.seek(0)
        cpu_s, height_kb = map(float, used.read().split() or (math.inf, math.inf))
        return Ending(child.returncode, said.read().decode(errors="backslashreplace"), cpu_s, int(height_kb) * 1024)


_START = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
pid = os.fork()
if not pid:
    os.close(int(sys.argv[1]))
    os.execv(sys.argv[3], sys.argv[3:])
_, status, usage = os.wait4(pid, 0)
os.write(int(sys.argv[1]), f"{usage.ru_utime + usage.ru_stime} {usage.ru_maxrss}".encode())
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""
"""Starts the command from a process with hardly any memory: the most that a process held counts that of its parent."""


@contextlib.contextmanager
def _given_up(seconds: float) -> Iterator[None]:
    """A case that waits or counts for ever ends with a traceback of where it was."""

    def give_up(*_: Any) -> None:
        raise AssertionError(f"not ended after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _peak_bytes(*, reset: bool = False) -> int:
    """Highest memory of this process since the last reset; 0 where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return 0
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
