"""Finished work on disk: a head, then a line for each piece of it, appended at once; what is whole is gone on with."""

import contextlib
import json
import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from simulator.base import files
from simulator.base.errors import MALFORMED, ApportionError, ScenarioError

SYNC_S = 1.0
"""A line waits for the disk only if none did for this long: points that take minutes all do, quick ones once a pass."""

Entry = dict[str, Any]


class Journal:
    """A file of JSON lines that only grows, so that keeping a piece costs the same whatever was kept before.

    Lines that are cut off or damaged, as a crash or a full disk leaves them, are left out.

    Parameters
    ----------
    path
        Read if it is there; made with its head when the first line is kept.
    head
        The first line: `kind` and `format`, and whatever tells what the lines belong to.
    what
        What a line holds, in the plural, for messages.
    check
        Raises ScenarioError if the lines after a head belong to something else.
    take
        Takes in a line that was kept before; raises KeyError, TypeError or ValueError if it is none.

    Raises
    ------
    ScenarioError
        If the file holds anything else.
    """

    def __init__(
        self,
        path: Path,
        *,
        head: Mapping[str, Any],
        what: str,
        check: Callable[[Entry], None],
        take: Callable[[Entry], None],
    ) -> None:
        self._path, self._what = path, what
        self.head: Entry = dict(head)
        """As the file has it, if it was there."""
        self.damage = ""
        """One line on what was left out; empty where the file was whole."""
        self._stream: IO[str] | None = None
        self._torn = False
        self._synced_s = time.monotonic()
        self._before = f"{json.dumps(self.head, allow_nan=False)}\n"
        if path.exists():
            self._read(check, take)

    def keep(self, entry: Mapping[str, Any]) -> None:
        """Append a line: with the system when this returns, and with the disk about every second and at `sync`.

        Raises
        ------
        ApportionError
            If the disk is full or the folder cannot be written.
        """
        line = f"{self._before}{json.dumps(entry, allow_nan=False)}\n"
        try:
            self._opened().write(line)
        except OSError as error:
            raise ApportionError(f"{self._path}: {(error.strerror or str(error)).lower()}") from error
        self._before = ""
        if time.monotonic() - self._synced_s >= SYNC_S:
            self.sync()

    def sync(self) -> None:
        """Wait until the disk has every line: at the end of a pass."""
        if self._stream is not None:
            with contextlib.suppress(OSError):  # file systems without it; a full disk was told by the write
                os.fsync(self._stream.fileno())
        self._synced_s = time.monotonic()

    def close(self) -> None:
        """Wait for the disk and close the file; the next line opens it again."""
        if self._stream is not None:
            self._closing()
            self._stream = None

    def _opened(self) -> IO[str]:
        if self._stream is None:
            files.make_folder(self._path.parent)
            if self._torn:
                files.end_with_line(self._path)
            stack = contextlib.ExitStack()
            self._stream = stack.enter_context(files.open_append(self._path))
            self._closing = weakref.finalize(self, _end, self._stream, stack)
        return self._stream

    def _read(self, check: Callable[[Entry], None], take: Callable[[Entry], None]) -> None:
        first, newline, rest = files.read_bytes(self._path).partition(b"\n")
        found = _entry(first)
        if found is None and not newline and self._is_begun_head(first):
            files.remove(self._path)
            if first:
                self.damage = f"{self._path}: cut off before its first line ended: no {self._what} in it; begun again"
            return
        allowed = f"a file of {self._what}, or a name that is not taken, is needed here"
        if found is None or any(found.get(name) != self.head[name] for name in ("kind", "format")):
            raise ScenarioError(f"{self._path}: this file holds no {self._what} as they are kept now; {allowed}")
        check(found)
        self.head = found
        taken = [_taken(line, take) for line in rest.split(b"\n") if line]
        ended = (rest or newline).endswith(b"\n")
        self._torn = not ended and bool(taken) and not taken[-1]
        self._before = "" if ended or self._torn else "\n"
        if lost := taken.count(False):
            lines = "1 line is" if lost == 1 else f"{lost} lines are"
            whole = f"going on from the {len(taken) - lost} that are whole"
            self.damage = f"{self._path}: {lines} cut off or damaged and left out; {whole}"

    def _is_begun_head(self, text: bytes) -> bool:
        """Whether a text may be the beginning of a head of this kind."""
        known = json.dumps({name: self.head[name] for name in ("format", "kind")})[:-1].encode()
        return text.startswith(known) or known.startswith(text)


def read_entries(path: Path) -> Iterator[Entry]:
    """The whole lines of a journal, its head first; nothing if there is no file."""
    lines = files.read_bytes(path).split(b"\n") if path.exists() else []
    return (entry for line in lines if (entry := _entry(line)) is not None)


def _end(stream: IO[str], stack: contextlib.ExitStack) -> None:
    """Close a file after the disk has it all; what a full disk did not take was told when it was written."""
    with contextlib.suppress(OSError), stack:
        os.fsync(stream.fileno())


def _taken(line: bytes, take: Callable[[Entry], None]) -> bool:
    """Whether a line is whole; it is taken in then."""
    entry = _entry(line)
    if entry is None:
        return False
    try:
        take(entry)
    except MALFORMED:
        return False
    return True


def _entry(line: bytes) -> Entry | None:
    """The object of a line; None if it is none."""
    try:
        found = files.parse_json(line.decode(), "")
    except (ScenarioError, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) else None
