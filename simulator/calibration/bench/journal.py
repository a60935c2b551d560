"""Finished work on disk: a head with subject and machine, then a line for each piece of it, appended at once."""

import contextlib
import json
import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

from simulator.base import files
from simulator.base.documents import in_file
from simulator.base.errors import ApportionError, CalibrationError, Interrupted, ScenarioError
from simulator.base.machine import Machine

SYNC_S = 1.0
"""A line waits for the disk only if none did for this long: points that take minutes all do, quick ones once a pass."""
IDENTITY = ("host", "system", "cpu_model", "cores", "caches", "memory_bytes", "quota_cores", "governor")
"""What must be the same of two machines for measurements to stand side by side."""

Entry = dict[str, Any]
"""A line of the file, or an object in it."""


class Journal:
    """A file of JSON lines that only grows, so that keeping a piece costs the same whatever was kept before.

    Lines that are cut off or damaged, as a crash or a full disk leaves them, are left out. A context manager that
    closes the file.

    `path`: read if it is there; made with its head when the first line is kept. None: nothing is kept on disk.
    `kind`, `version`: what the file is, and how its lines are written.
    `what`: what a line holds, in the plural, for messages.
    `take`: takes in a line that was kept before; what it raises of one that no crash tore is told with file and line.
    `belongs`: plain data of what the lines belong to, under names such as `subject`: a file with others is refused. Of
    a `machine` the parts in `IDENTITY` count; None is not compared.
    `note`: further plain data of the head.
    `place`: what messages call the file, where that is another one: the table that it belongs to.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        kind: str,
        version: int,
        what: str,
        take: Callable[[Entry], None],
        belongs: Mapping[str, Any],
        note: Mapping[str, Any] | None = None,
        place: Path | None = None,
    ) -> None:
        self._path, self._what, self._belongs, self._place = path, what, plain(belongs), place or path
        head = {"format": version, "kind": kind, **self._belongs, **(note or {})}
        self._head = head
        self.damage = ""
        """One line on what was left out; empty where the file was whole."""
        self._stream: IO[str] | None = None
        self._torn = False
        self._synced_s = time.monotonic()
        self._before = f"{json.dumps(head, allow_nan=False)}\n"
        if path is not None and path.exists():
            self._read(path, take)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line if a part of the file was damaged."""
        return (self.damage,) if self.damage else ()

    def keep(self, entry: Mapping[str, Any]) -> None:
        """Append a line: with the system when this returns, and with the disk about every second and at `sync`."""
        if self._path is None:
            return
        line = f"{self._before}{json.dumps(entry, allow_nan=False)}\n"
        try:
            self._opened(self._path).write(line)
        except OSError as error:
            raise ApportionError(f"{self._path}: {(error.strerror or str(error)).lower()}") from error
        self._before = ""
        if time.monotonic() - self._synced_s >= SYNC_S:
            self.sync()

    def sync(self) -> None:
        """Wait until the disk has every line: at the end of a pass."""
        if self._stream is not None:
            with contextlib.suppress(OSError):  # file systems without it; the write itself reported a full disk
                os.fsync(self._stream.fileno())
        self._synced_s = time.monotonic()

    def close(self) -> None:
        """Wait for the disk and close the file; the next line opens it again."""
        if self._stream is not None:
            self._closing()
            self._stream = None

    def _opened(self, path: Path) -> IO[str]:
        if self._stream is None:
            files.make_folder(path.parent)
            if self._torn:
                files.end_with_line(path)
            stack = contextlib.ExitStack()
            self._stream = stack.enter_context(files.open_append(path))
            self._closing = weakref.finalize(self, _end, self._stream, stack)
        return self._stream

    def _read(self, path: Path, take: Callable[[Entry], None]) -> None:
        first, newline, rest = files.read_bytes(path).partition(b"\n")
        head = parse_entry(first)
        if head is None and not newline and self._is_begun_head(first):
            files.remove(path)
            if first:
                self.damage = f"{path}: cut off before its first line ended: no {self._what} in it; begun again"
            return
        self._refuse_others(check_head(head or parse_entry(first + newline + rest), self._head, path, self._what))
        numbered = enumerate(rest.split(b"\n"), 2)
        taken = [_taken(line, take, f"{path}:{number}") for number, line in numbered if line]
        ended = (rest or newline).endswith(b"\n")
        self._torn = not ended and bool(taken) and not taken[-1]
        self._before = "" if ended or self._torn else "\n"
        if lost := taken.count(False):
            lines = "1 line is" if lost == 1 else f"{lost} lines are"
            whole = f"going on from the {len(taken) - lost} that are whole"
            self.damage = f"{path}: {lines} cut off or damaged and left out; {whole}"

    def _refuse_others(self, head: Entry) -> None:
        """Refuse a file of another subject or machine, with what differs."""
        for name, here in self._belongs.items():
            there = head.get(name)
            if name == "machine":
                there, here = ({part: (side or {}).get(part) for part in IDENTITY} for side in (there, here))  # noqa: PLW2901
            if self._belongs[name] is None or there == here:
                continue
            was, now = _differing(there, here)
            if name == "machine":
                other = f"{self._what} of another machine ({was}), and this one has {now}"
                raise ScenarioError(f"{self._place} holds {other}; name a new file")
            raise ScenarioError(f"{self._place} holds {self._what} of {was}; name a file of {now}, or a new one")

    def _is_begun_head(self, text: bytes) -> bool:
        """Whether a text may be the beginning of a head of this kind."""
        known = json.dumps({name: self._head[name] for name in ("format", "kind")})[:-1].encode()
        return text.startswith(known) or known.startswith(text)


def read_entries(path: Path) -> Iterator[Entry]:
    """The whole lines of a journal, its head first; nothing if there is no file."""
    lines = files.read_bytes(path).split(b"\n") if path.exists() else []
    return (entry for line in lines if (entry := parse_entry(line)) is not None)


def check_head(head: Entry | None, known: Mapping[str, Any], path: Path, what: str) -> Entry:
    """The head of a file of the kind, format and keys of `known`; of another one, in this order, it is refused."""
    if head is None or head.get("kind") != known["kind"]:
        raise ScenarioError(f"{path}: this file holds no {what}; name one that does, or a new file")
    if head.get("format") != known["format"]:
        said = f"format {head.get('format')!r} of {what} is not read, but format {known['format']}"
        raise ScenarioError(f"{path}: {said}; name a new file")
    for name in sorted(known.keys() ^ head.keys()):
        raise ScenarioError(f"{path}:1: {name}: {'unknown key' if name in head else 'missing key; add it'}")
    return head


def parse_entry(line: bytes) -> Entry | None:
    """The object of a line; None if it is none."""
    try:
        entry = files.parse_json(line.decode(), "")
    except (ScenarioError, UnicodeDecodeError):
        return None
    return entry if isinstance(entry, dict) else None


def plain(document: Mapping[str, Any]) -> Entry:
    """As it is after a way through a file: lists for tuples."""
    read: Entry = json.loads(json.dumps(dict(document)))
    return read


def belongs_to(subject: Mapping[str, Any], machine: Machine | None) -> Entry:
    """What the lines of most journals belong to: what is measured, and where; None for what belongs to no machine."""
    return {"subject": dict(subject), "machine": None if machine is None else machine.to_dict()}


def _end(stream: IO[str], stack: contextlib.ExitStack) -> None:
    """Close a file after the disk has it all; the write itself reported what a full disk did not take."""
    with contextlib.suppress(OSError), stack:
        os.fsync(stream.fileno())


def _taken(line: bytes, take: Callable[[Entry], None], place: str) -> bool:
    """Whether a line is whole; it is taken in then."""
    entry = parse_entry(line)
    if entry is not None:
        with in_file(place):
            take(entry)
    return entry is not None


def _differing(there: Any, here: Any) -> tuple[str, str]:
    """Two descriptions in words, of what differs only."""
    if not (isinstance(there, dict) and isinstance(here, dict)):
        return _short(there), ", ".join(f"{name} {_short(value)}" for name, value in dict(here).items())
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    was, now = (
        ", ".join(f"{name} {_short(side[name])}" if name in side else f"no {name}" for name in names)
        for side in (there, here)
    )
    return was, now


def _short(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# While work goes on, and when it ends early.


@contextlib.contextmanager
def kept(path: Path | None, what: str = "points") -> Iterator[None]:
    """Write as the only process, and say, when the work ends early, where its finished points or visits are."""
    try:
        with contextlib.nullcontext() if path is None else files.alone(path):
            yield
    except CalibrationError as error:
        raise CalibrationError([f"{line}{_goes_on(path, what)}" for line in error.lines]) from error
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted{_goes_on(path, what)}") from error


def _goes_on(path: Path | None, what: str) -> str:
    if path is None:
        return "; nothing is kept without --output or --store"
    count = points_kept(path)
    if not count:
        return f"; no {what} were finished"
    return f"; {count} {what} are kept in {path}; the same command goes on from there"


def points_kept(path: Path) -> int:
    """How many finished points or visits a journal holds; 0 if there is none."""
    finished: dict[object, bool] = {}
    for number, entry in enumerate(read_entries(path)):
        if "key" in entry:
            finished[entry["key"]] = bool(entry.get("finished"))
        elif "visit" in entry:
            finished["line", number] = True
    return sum(finished.values())
