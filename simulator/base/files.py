"""The only opener of files: bounded reads, writes that are whole or absent, hashes, and the data that is shipped."""

import contextlib
import csv
import gzip
import hashlib
import io
import itertools
import json
import math
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from importlib import resources
from pathlib import Path
from typing import IO, Any

from simulator.base.errors import MALFORMED, ApportionError, ScenarioError, reason

MAX_TEXT_BYTES = 64 * 2**20
"""Largest text file read into memory at once."""
LEAST_FREE_BYTES = 2**20
"""Room that a file or folder must have before anything is computed for it."""
LONGEST_NAME_BYTES = 240
"""Of a file: systems allow 255, and a file has a longer name while it is written."""
MAX_LEVELS = 100
"""Lists and objects of JSON that lie in each other, so that no reader of what was parsed runs out of stack."""
_HOLD = (dict, list)
_MOST_DIGITS = 308
"""Digits of a whole number in JSON, sign included; any of so many is also a float."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_STANDARD_ERROR = 2
_GZIP = b"\x1f\x8b"
"""How a file begins that gzip has packed, and no text does."""


def read_bytes(path: Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> bytes:
    """Read a whole file of at most `limit_bytes` bytes."""
    with _opened(path) as stream:
        found = os.fstat(stream.fileno()).st_size
        data = stream.read(limit_bytes + 1) if found <= limit_bytes else b""
    if max(found, len(data)) > limit_bytes:  # a file may grow while it is read
        found = max(found, len(data))
        raise ScenarioError(
            f"{path}: the file has {found} bytes and at most {limit_bytes} are read; name a smaller one"
        )
    return data


def read_text(path: Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> str:
    """Read a whole UTF-8 text; see `read_bytes` for limits and errors."""
    data = read_bytes(path, limit_bytes=limit_bytes)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = data.count(b"\n", 0, error.start) + 1, error.start - data.rfind(b"\n", 0, error.start)
        raise ScenarioError(
            f"{path}:{line}:{column}: byte {data[error.start]:#04x} is no text in UTF-8; save the file as that"
        ) from error


def read_json(path: Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> Any:
    """Read a JSON document; see `parse_json` for what is refused."""
    return parse_json(read_text(path, limit_bytes=limit_bytes), str(path))


def parse_json(text: str, place: str) -> Any:
    """The document of a JSON text, read strictly."""
    try:
        found = json.loads(
            text, parse_constant=_no_number, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
        )
        _check_levels(found)
        if _SURROGATE.search(text):  # most documents escape nothing
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{place}:{error.lineno}:{error.colno}: this is no JSON: {error.msg}") from error
    except UnicodeEncodeError as error:
        shown = f"\\u{ord(error.object[error.start]):04x}"
        raise ScenarioError(f"{place}: {shown} is half of a surrogate pair and no letter; write the letter") from error
    except RecursionError:
        raise ScenarioError(f"{place}: this lies more than {MAX_LEVELS} levels deep; write fewer levels") from None
    except ValueError as error:
        raise ScenarioError(f"{place}: this is no JSON: {error}") from error
    return found


def _check_levels(found: Any) -> None:
    level: list[Any] = [[found]]
    levels = 0
    while level := [p for one in level for p in (one.values() if type(one) is dict else one) if type(p) in _HOLD]:
        levels += 1
        if levels > MAX_LEVELS:
            raise RecursionError


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is beyond the largest number")
    return value


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"{text[:20]}... of {len(text)} digits is beyond the largest number")
    return int(text)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} comes twice in one object")
    return found


def check_format(document: Mapping[str, Any], newest: int, path: Path | str, writer: str) -> None:
    """Refuse what another version wrote: one format is read."""
    found = document.get("format")
    if isinstance(found, int) and not isinstance(found, bool) and found == newest:
        return
    if isinstance(found, int | float) and found > newest:
        raise ScenarioError(f"{path}: format {found} is newer than this version reads; install a newer apportion")
    said = "the format is missing" if found is None else f"format {found!r} is not read"
    raise ScenarioError(f"{path}: {said}; this version reads format {newest}: write the file again with `{writer}`")


@contextlib.contextmanager
def understood(place: object, writer: str) -> Iterator[None]:
    """Work on what was read from a file that only its form says how to read; one of another form is refused."""
    try:
        yield
    except MALFORMED as error:
        raise ScenarioError(f"{place}: this is not what `{writer}` writes; write it again") from error


@contextlib.contextmanager
def open_lines(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Stream a file line by line, for inputs that may be too large for memory; unpacked if gzip has packed it."""
    with _opened(path) as stream:
        if path.suffix != ".gz" and stream.peek(2)[:2] != _GZIP:
            yield stream
            return
        try:
            with gzip.GzipFile(fileobj=stream) as unpacked:
                yield unpacked
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ScenarioError(f"{path}: this is no file that gzip packed: {error}") from error


def check_regular(path: Path) -> None:
    """Refuse what is no file to read from, for those that open it themselves, such as SQLite."""
    with _opened(path):
        pass


_within: list[tuple[Path, ...]] = []
"""Folders that files may be read in, while something confines reading to them; the last entry holds."""


@contextlib.contextmanager
def confined(*folders: Path) -> Iterator[None]:
    """Read files in some folders only, for work that a file from anybody asks for: a link out of them leads nowhere."""
    _within.append(tuple(folder.resolve() for folder in folders))
    try:
        yield
    finally:
        _within.pop()


def _check_within(path: Path) -> None:
    """Refuse what lies outside the folders that reading is confined to."""
    if not _within:
        return
    try:
        whole = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ScenarioError(f"{path}: this path leads nowhere") from error
    if not any(whole.is_relative_to(folder) for folder in _within[-1]):
        raise ScenarioError(f"{path}: this lies outside the results folder, and a rerun reads nothing there")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    """A file to read from; what is none is refused without waiting for a pipe's other end."""
    _check_within(path)
    try:
        stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - closed below; Path.open takes none
    except (OSError, ValueError) as error:  # a path with a null byte
        raise ScenarioError(f"{path}: {reason(error)}") from error
    with stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ScenarioError(f"{path}: this is a device or a pipe; name a file")
        try:
            yield stream
        except OSError as error:
            raise ScenarioError(f"{path}: {reason(error)}") from error


def _without_waiting(name: str, flags: int) -> int:
    """As `os.open`, but a pipe without a writer does not hold it up."""
    return os.open(name, flags | os.O_NONBLOCK)


def write_text(path: Path, text: str) -> None:
    """Write a text atomically: readers and crashes see the old file or the whole new one."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes, *, synced: bool = True) -> None:
    """Write bytes atomically, making the folder if need be: what took long to compute is not lost to a missing one.

    `synced`: wait until the disk has them. Without, a crash of the machine may lose or tear the file; `kill -9` does
    not.
    """
    with open_whole(path, synced=synced) as stream:
        stream.write(data)


@contextlib.contextmanager
def open_whole(path: Path, *, synced: bool = True) -> Iterator[IO[bytes]]:
    """Write a file piece by piece that is there once it is whole; see `write_bytes`."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
            temporary = Path(stream.name)
            yield stream
            stream.flush()
            if synced:
                os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        temporary = None
        for written in _noted:
            written.add(path)
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


_noted: list[set[Path]] = []


@contextlib.contextmanager
def noted() -> Iterator[set[Path]]:
    """Note the paths of all files that are written whole meanwhile, by whatever thread."""
    written: set[Path] = set()
    _noted.append(written)
    try:
        yield written
    finally:
        _noted.pop()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Have a folder, or a file that may not be there yet, to oneself; false if another process has it.

    The lock ends with the process, however that ends. That of a file is `.NAME.lock` next to it, since the file itself
    may be replaced by a new one meanwhile; it goes when the block ends, and one that a killed process left holds nobody
    up. Where the file system has no locks, or the system nothing that can be locked, everybody has it.
    """
    lock_file = None if path.is_dir() else path.with_name(f".{path.name}.lock")
    opened = path if lock_file is None else lock_file
    try:
        import fcntl

        handle = os.open(opened, os.O_RDONLY if lock_file is None else os.O_RDWR | os.O_CREAT, 0o666)
    except (ImportError, OSError):
        yield True
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mine = _is_open(opened, handle)
    except BlockingIOError:
        mine = False
    except OSError:
        mine = True
    try:
        yield mine
    finally:
        if mine and lock_file is not None:
            with contextlib.suppress(OSError):
                lock_file.unlink(missing_ok=True)
        os.close(handle)


def _is_open(path: Path, handle: int) -> bool:
    """Whether a path still names what is open: else the process that had the lock before has just removed it."""
    try:
        found, own = path.stat(), os.fstat(handle)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)


_alone_at: ContextVar[frozenset[str]] = ContextVar("_alone_at", default=frozenset())
"""Where this thread writes alone already: a command has its folder, and so has what it calls."""


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Write to a file or a folder while no other process of ours does; see `locked`."""
    place = os.path.realpath(path)
    if place in _alone_at.get():
        yield
        return
    with locked(path) as mine:
        if not mine:
            raise ScenarioError(f"{path}: another run is writing there; wait until it has ended, or name another place")
        token = _alone_at.set(_alone_at.get() | {place})
        try:
            yield
        finally:
            _alone_at.reset(token)


def check_room(path: Path, *, folder: bool, needed_bytes: int = LEAST_FREE_BYTES) -> None:
    """Refuse what could not be written, before it is computed; nothing is made, the file that tries it has no name."""
    try:
        if path.exists() and path.is_dir() != folder:
            what = "a folder is needed and a file stands there" if folder else "a file is needed and a folder is there"
            raise ScenarioError(f"{path}: {what}; name another place")
        if not folder and path.exists() and not path.is_file():
            raise ScenarioError(f"{path}: a device or pipe is there, which a file would replace; name another place")
        if len(os.fsencode(path.name)) > LONGEST_NAME_BYTES:
            raise ScenarioError(f"{path}: the name is too long; take one of at most {LONGEST_NAME_BYTES} bytes")
        inside = path if folder else path.parent
        there = next(one for one in (inside, *inside.absolute().parents) if one.exists())
        if not there.is_dir():
            raise ScenarioError(f"{path}: {there} is a file, so no folder can be made there; name another place")
        with tempfile.TemporaryFile(dir=there) as stream:  # access() lies on read-only mounts and to root
            stream.write(bytes(min(needed_bytes, LEAST_FREE_BYTES)))
            stream.flush()
        free = shutil.disk_usage(there).free
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{path}: nothing can be written there ({reason(error)}); name another place") from error
    if free < needed_bytes:
        needed, left = (f"{size / 2**20:,.1f} MiB".replace(",", " ") for size in (needed_bytes, free))
        raise ScenarioError(f"{path}: about {needed} are to be written there and {left} are free; make room first")


def null_device(number: int) -> None:
    """Put the null device in the place of a standard stream, for this process and those it starts."""
    handle = os.open(os.devnull, os.O_WRONLY)
    os.dup2(handle, number)
    os.close(handle)


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Meanwhile what other processes say on our standard error goes nowhere; what this one says there is heard."""
    ours = sys.stderr
    try:
        swapped = ours.fileno() == _STANDARD_ERROR
        ours.flush()
        kept = os.dup(_STANDARD_ERROR)
    except (AttributeError, OSError, ValueError):  # none, or one that is not the system's
        yield
        return
    with os.fdopen(kept, "w", buffering=1, encoding=ours.encoding, errors=ours.errors) as own:
        if swapped:
            sys.stderr = own
        null_device(_STANDARD_ERROR)
        try:
            yield
        finally:
            os.dup2(kept, _STANDARD_ERROR)
            sys.stderr = ours


def write_json(path: Path, document: object) -> None:
    """Write a JSON document atomically; NaN and Infinity are refused as a fault of ours."""
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Rows as lines of CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # so that both are quoted within a cell
    ends = [0]
    for row in rows:
        writer.writerow(row)
        ends.append(text.tell())
    whole = text.getvalue()
    return "".join(f"{whole[start : end - 2]}\n" for start, end in itertools.pairwise(ends))


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a text atomically as its pieces come, for texts larger than memory; packed if the name ends in `.gz`."""
    with open_whole(path) as stream:
        if path.suffix != ".gz":
            stream.writelines(piece.encode() for piece in pieces)
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=6, mtime=0) as packed:  # same bytes
            packed.writelines(piece.encode() for piece in pieces)


@contextlib.contextmanager
def open_append(path: Path) -> Iterator[IO[str]]:
    """Append lines to a text file; each line is handed to the system as it is written."""
    _check_no_link(path)
    try:
        stream = path.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}") from error
    with stream:
        yield stream


def _check_no_link(path: Path) -> None:
    """Refuse a link, which what grows line by line would be written through; a whole file takes its place."""
    if path.is_symlink():
        raise ScenarioError(
            f"{path}: this is a link, and nothing is appended through one; name the file that it leads to"
        )


def end_with_line(path: Path) -> None:
    """Cut a torn last line off a text file, so that whole lines can be appended."""
    _check_no_link(path)
    try:
        with path.open("r+b") as stream:
            end = stream.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - 2**16)
                stream.seek(start)
                newline = stream.read(end - start).rfind(b"\n")
                if newline >= 0:
                    stream.truncate(start + newline + 1)
                    return
                end = start
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}") from error


def make_folder(path: Path) -> None:
    """Make a folder, parents included, and make sure that files can be written in it."""
    if path.exists() and not path.is_dir():
        raise ApportionError(f"{path}: this is a file; name a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):  # access() lies on read-only mounts and to root
            pass
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}; name a folder that can be written") from error


def remove(path: Path) -> None:
    """Remove a file if it is there."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}") from error


def set_aside(folder: Path, names: Sequence[str]) -> Path | None:
    """Move results of these names to a subfolder `earlier-N`, so that none is lost; None: there are none."""
    found = [folder / name for name in names if (folder / name).exists()]
    if not found:
        return None
    number = 1
    while (aside := folder / f"earlier-{number}").exists():
        number += 1
    aside.mkdir()
    for path in found:
        path.rename(aside / path.name)
    return aside


def digest(data: bytes) -> str:
    """Hash of bytes as provenance states it: `sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def digest_of(path: Path) -> str:
    """The same of a file of any size."""
    with _opened(path) as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def shipped(kind: str, name: str) -> Path:
    """Path of a file that ships with the product, in a checkout and in an installed wheel alike.

    `kind`: `traces` or `scenarios`.
    `name`: file name inside that folder, `/` between folders.
    """
    root = Path(str(resources.files("simulator")))
    installed = root / "_data" / kind / name
    return installed if installed.exists() else root.parent / kind / name


def user_cache() -> Path | None:
    """The folder for what can be made again, by the user's settings or below the home folder; it is made if need be.

    Where there is none, or nothing can be written there, as in many batch jobs and containers, one of the user's own
    among the temporary files takes its place. None where no folder is private: what others can write is not trusted.
    """
    base = os.environ.get("XDG_CACHE_HOME") or ""
    wanted = []
    with contextlib.suppress(RuntimeError):  # nobody's home
        wanted.append((Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "apportion")
    if hasattr(os, "geteuid"):
        wanted.append(Path(tempfile.gettempdir()) / f"apportion-cache-{os.geteuid()}")
    return next((folder for path in wanted if (folder := private_folder(path)) is not None), None)


def user_state() -> Path | None:
    """The folder for what commands learnt of this machine: `$APPORTION_STATE`, or by the user's settings below home.

    It is made if need be; None where no folder is private, see `private_folder`.
    """
    own, base = os.environ.get("APPORTION_STATE") or "", os.environ.get("XDG_STATE_HOME") or ""
    if own:
        return private_folder(Path(own))
    with contextlib.suppress(RuntimeError):  # nobody's home
        return private_folder(
            (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state") / "apportion"
        )
    return None


def private_folder(path: Path) -> Path | None:
    """A folder that belongs to this user and that nobody else can write in; it is made if it is not there.

    None if it cannot be made or written, is another user's, as is a link on the way to it, or others can write there.
    On systems whose users have no numbers it is trusted as it is.
    """
    with contextlib.suppress(OSError, ValueError):
        for folder in (*reversed(path.parents), path):
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
        real = path.resolve(strict=True)
        if not os.access(real, os.W_OK | os.X_OK):
            return None
        if not hasattr(os, "geteuid"):
            return real
        found = real.stat()
        alone = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if alone and found.st_uid == path.lstat().st_uid == os.geteuid():
            return real
    return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
