"""Signs of life: a line on standard error where a command is silent, whatever it does; begun before anything heavy.

One thread watches. On a terminal the line says what is done now and for how long, and makes way for all else that is
printed; in a file there is a line after a second, and further ones ever more seldom. Commands name what they do by
`say`. Those that measure report their progress, and the thread does no more than look at the clock meanwhile.
"""

import os
import shutil
import sys
import threading
import time
from contextlib import suppress

SWITCH = "APPORTION_SIGNS"
"""Environment variable: `never` for programs that compare what stands on standard error."""
STARTING = "starting"
"""What is done before a command is known."""
FIRST_S = 0.7
"""Silence after which there is a sign."""
EVERY_S = 1.0
"""Between two signs on a terminal."""
MOST_S = 60.0
"""Longest silence in a file."""
_REDRAW_S = 0.1
_ERASE = b"\r\x1b[K"
_STANDARD_ERROR = 2


class _Signs:
    """What is done now, and what was last seen of it."""

    def __init__(self) -> None:
        self.begun_s = time.monotonic()
        self.known = False
        """Whether the command has a process of its own, which began then."""
        self.heard_s = self.begun_s
        """When anything was last printed."""
        self.text = STARTING
        self.watched = False
        """Whether standard error is a terminal."""
        self.drawn = False
        """Whether the line stands there now."""
        self.over = True
        """Before the beginning, and after the end."""
        self.lock = threading.RLock()


_state = _Signs()


def begin() -> None:
    """Watch from now on; nothing, where the environment says so or no thread can be started."""
    _state.begun_s, _state.known = time.monotonic(), True
    if os.environ.get(SWITCH) == "never":
        return
    _state.watched, _state.over = os.isatty(_STANDARD_ERROR), False
    with suppress(RuntimeError):
        threading.Thread(target=_watch, name="apportion signs", daemon=True).start()


def end() -> None:
    """No signs from now on; a line that is still there makes way for what is printed next."""
    _state.over = True


def spent_s() -> float:
    """Seconds since the command was started; 0 where it runs in somebody else's process."""
    return time.monotonic() - _state.begun_s if _state.known else 0.0


def say(text: str) -> None:
    """What is done now, as a few words: `reading cluster.yaml`."""
    _state.text = text
    if _state.drawn and time.monotonic() - _state.heard_s > _REDRAW_S:
        _draw()


def text() -> str:
    """What is done now."""
    return _state.text


def make_way() -> None:
    """Take the line away: something else is about to be printed."""
    with _state.lock:
        _state.heard_s = time.monotonic()
        if _state.drawn:
            _state.drawn = False
            _write(_ERASE)


def _watch() -> None:
    wait_s = FIRST_S
    while not _state.over:
        time.sleep(max(0.05, _state.heard_s + wait_s - time.monotonic()))
        silent_s = time.monotonic() - _state.heard_s
        if silent_s >= wait_s:
            _draw()
            wait_s = EVERY_S if _state.watched else min(MOST_S, max(EVERY_S, time.monotonic() - _state.begun_s))


def _draw() -> None:
    with _state.lock:
        if _state.over:
            return
        _state.heard_s = time.monotonic()
        line = f"{_state.text}, {_state.heard_s - _state.begun_s:.0f} s so far"
        if _state.watched:
            _write(_ERASE + line[: shutil.get_terminal_size().columns - 1].encode("utf-8", "replace"))
        else:
            _write(f"{line}\n".encode("utf-8", "replace"))
        _state.drawn = _state.watched


def _write(text: bytes) -> None:
    """Write where messages go: not always the system's standard error, which is taken away while workers start."""
    try:
        place = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # none, or one that is not the system's
        place = _STANDARD_ERROR
    with suppress(OSError):
        os.write(place, text)
