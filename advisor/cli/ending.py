"""How a command ends, whatever happens: signals at any moment, standard streams that are full, closed or gone.

`begin` comes before everything heavy is imported, so that the first import can be interrupted already. The first signal
unwinds the work by `KeyboardInterrupt`, so that children are stopped and the user hears what was kept; further ones are
left unheard meanwhile. What cannot unwind in time (machine code, a library that swallows the exception) is ended: all
that is kept is on disk already, each file whole.
"""

import atexit
import contextlib
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, TextIO

from advisor.cli import signs

_HANG_UP = getattr(signal, "SIGHUP", None)  # not on every system
SIGNALS = (signal.SIGINT, signal.SIGTERM, *([_HANG_UP] if _HANG_UP else []))
READER_GONE = 141
"""Exit code where the reader of standard output has left, as of tools that end by the signal."""
STUCK_S = 2.0
"""How long the main thread may stay in machine code once a signal has come."""
GRACE_S = 15.0
"""How long unwinding may take: a cluster or children are ended in a few seconds, on a busy machine in more."""
_STANDARD_ERROR = 2


class OutputError(Exception):
    """Standard output takes no more, or never took any."""


class _Ending:
    """What is known of this process's end."""

    def __init__(self) -> None:
        self.number = 0
        """Of the first signal, 0 before."""
        self.unwinding = threading.Event()
        self.over = False
        """Whether the command is done: a signal now ends the process at once."""
        self.heard = False
        self.last = threading.Lock()
        self.leaving = 0
        """The thread that ends the process."""
        self.reader: int | None = None
        """Where signals are heard of."""


_state = _Ending()


def begin() -> None:
    """Take over signals and standard streams; to be called once, first of all."""
    for number in SIGNALS:
        if number != _HANG_UP or signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _heard)  # Ctrl-C also where a script started us in the background
    sys.unraisablehook = _lost
    sys.stdout = _guarded(sys.stdout, 1, _Output, "replace")
    sys.stderr = _guarded(sys.stderr, _STANDARD_ERROR, _Messages, "backslashreplace")
    _watch()


def finish(code: int) -> NoReturn:
    """Hand over what is printed and end the process with a code: that of the signal, if one came."""
    _state.over = True
    signs.end()
    try:
        sys.stdout.flush()
    except SystemExit as error:
        code = int(error.code or 0)
    except OutputError as error:
        say(f"error: {error}")
        code = 1
    if _state.number:
        _leave()
    sys.stderr.flush()
    signs.make_way()
    sys.stderr = io.StringIO()  # libraries that end with tracebacks
    with contextlib.suppress(RuntimeError):  # or wait
        late = threading.Timer(GRACE_S, os._exit, (code,))
        late.daemon = True
        late.start()
    atexit._run_exitfuncs()  # noqa: SLF001 - nothing public does it before the end
    os._exit(code)  # before the interpreter forgets its handlers


def say(line: str) -> None:
    """Print a line on standard error; after a signal it is the one that the user hears."""
    _state.heard = _state.heard or bool(_state.number)
    print(line, file=sys.stderr, flush=True)


def _heard(number: int, _frame: FrameType | None) -> None:
    _state.number = _state.number or number
    signs.end()
    if _state.over:
        _leave()
    if not _state.unwinding.is_set():
        _state.unwinding.set()
        raise KeyboardInterrupt


def _lost(lost: Any) -> None:
    """An interruption that came where nothing can be raised, as in a destructor, ends all at once."""
    if isinstance(lost.exc_value, KeyboardInterrupt) and _state.number:
        _leave()
    sys.__unraisablehook__(lost)


def _watch() -> None:
    """Hear of signals also while the main thread is in machine code, where Python's own handlers wait."""
    try:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        threading.Thread(target=_ended_in_time, args=(reader,), name="apportion ending", daemon=True).start()
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        _state.reader = reader
    except (OSError, RuntimeError):  # too few files or threads: then the handlers alone
        return


def _ended_in_time(reader: int) -> None:
    while (number := os.read(reader, 1)[0]) not in SIGNALS:
        pass
    _state.number = _state.number or number
    if _state.unwinding.wait(STUCK_S):
        time.sleep(GRACE_S)
    _leave()


def _leave() -> NoReturn:
    """End at once, with the one line if none was said; no process that this one started stays behind."""
    if _state.leaving == threading.get_ident():  # one more signal
        os._exit(128 + _state.number)
    if not _state.last.acquire(blocking=False):
        time.sleep(GRACE_S)  # another thread is at it
    _state.leaving = threading.get_ident()
    if not _state.heard:
        _state.heard = True
        signs.make_way()
        with contextlib.suppress(OSError, ValueError):
            os.write(_STANDARD_ERROR if _state.over else sys.stderr.fileno(), b"interrupted\n")
    sys.stderr = io.StringIO()  # for what other threads miss now, and processes that they start
    if _state.reader is not None:
        os.dup2(_state.reader, _STANDARD_ERROR)  # that cannot be written
    with contextlib.suppress(OSError, ValueError, RuntimeError, OutputError, SystemExit):
        sys.stdout.flush()
    with contextlib.suppress(OSError, RuntimeError, MemoryError, ImportError):
        _end_descendants()
    os._exit(128 + _state.number)


def _end_descendants() -> None:
    import psutil

    with contextlib.suppress(psutil.Error):
        for _ in range(20):  # some may have been starting others
            found = psutil.Process().children(recursive=True)
            if not found:
                return
            for one in found:
                with contextlib.suppress(psutil.Error):
                    one.kill()
            psutil.wait_procs(found, timeout=0.1)


class _Output(io.FileIO):
    """Standard output: what cannot be written ends the command, in one line, or silently where the reader has left."""

    def write(self, data: Any) -> int:
        if self.isatty():
            signs.make_way()
        try:
            return int(super().write(data))
        except OSError as error:
            from simulator import files, shortage

            with contextlib.suppress(OSError):  # what is still in buffers is lost, and the end is not held up by it
                files.null_device(self.fileno())
            if isinstance(error, BrokenPipeError):
                raise SystemExit(READER_GONE) from None
            raise OutputError(f"standard output: {shortage(error)}") from None


class _Messages(io.FileIO):
    """Standard error: where it cannot be written, nobody can be warned, and the work goes on."""

    def write(self, data: Any) -> int:
        signs.make_way()
        with contextlib.suppress(OSError):
            return int(super().write(data))
        return len(data)


def _guarded(stream: TextIO | None, number: int, raw: Callable[..., io.FileIO], errors: str) -> TextIO:
    """The same stream; characters that its encoding lacks are replaced. What goes to a closed one is lost."""
    if stream is None:
        return io.StringIO()
    if not any(stream is one for one in (sys.__stdout__, sys.__stderr__)):
        return stream  # somebody caught it
    return io.TextIOWrapper(
        io.BufferedWriter(raw(number, "w", closefd=False)),
        encoding=stream.encoding,
        errors=errors,
        line_buffering=number == _STANDARD_ERROR or stream.isatty(),
    )
