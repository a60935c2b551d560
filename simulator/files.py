"""The only opener of files: bounded reads, writes that are whole or absent, hashes, and the data that is shipped."""

import contextlib
import gzip
import hashlib
import json
import os
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import IO, Any

from simulator.errors import ApportionError, ScenarioError, reason

__all__ = [
    "digest",
    "make_folder",
    "read_bytes",
    "read_json",
    "read_text",
    "remove",
    "set_aside",
    "shipped",
    "user_cache",
    "write_bytes",
    "write_json",
    "write_pieces",
    "write_text",
]

MAX_TEXT_BYTES = 64 * 2**20
"""Largest text file read into memory at once."""
SPOOL_BYTES = 16 * 2**20
"""Bytes of a `Spool` up to which it stays in memory."""
_STANDARD_ERROR = 2


def read_bytes(path: Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> bytes:
    """Read a whole file of at most `limit_bytes` bytes.

    Raises
    ------
    ScenarioError
        If it is missing, a folder, a device, a pipe, unreadable or larger than the limit.
    """
    with _opened(path) as stream:
        found = os.fstat(stream.fileno()).st_size
        data = stream.read(limit_bytes + 1) if found <= limit_bytes else b""
    if max(found, len(data)) > limit_bytes:  # a file may grow while it is read
        found = max(found, len(data))
        raise ScenarioError(f"{path}: a file of {found} bytes found, at most {limit_bytes} bytes allowed")
    return data


def read_text(path: Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> str:
    """Read a whole UTF-8 text; see `read_bytes` for limits and errors."""
    data = read_bytes(path, limit_bytes=limit_bytes)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = data.count(b"\n", 0, error.start) + 1, error.start - data.rfind(b"\n", 0, error.start)
        raise ScenarioError(
            f"{path}:{line}:{column}: byte {data[error.start]:#04x} found, UTF-8 text allowed"
        ) from error


def read_output(path: Path, keep_bytes: int) -> str:
    """The end of what a program wrote, of at most so many bytes; nothing where it wrote no file."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - keep_bytes))
            return stream.read(keep_bytes).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ScenarioError(f"{path}: {reason(error)}") from error


def read_json(path: Path, *, limit_bytes: int = MAX_TEXT_BYTES) -> Any:
    """Read a JSON document; NaN and Infinity are refused."""

    def refuse(name: str) -> float:
        raise ValueError(f"{name} is no JSON number")

    text = read_text(path, limit_bytes=limit_bytes)
    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{path}:{error.lineno}:{error.colno}: {error.msg}, a JSON document allowed") from error
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{path}: {error}, a JSON document allowed") from error


@contextlib.contextmanager
def open_lines(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Stream a file line by line, for inputs that may be too large for memory; unpacked if its name ends in `.gz`."""
    with _opened(path) as stream:
        if path.suffix != ".gz":
            yield stream
            return
        try:
            with gzip.GzipFile(fileobj=stream) as unpacked:
                yield unpacked
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ScenarioError(f"{path}: {error}, a file packed with gzip allowed") from error


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """A file to read from; what is none is refused without waiting for a pipe's other end."""
    try:
        stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - closed below; Path.open takes none
    except (OSError, ValueError) as error:  # a path with a null byte
        raise ScenarioError(f"{path}: {reason(error)}") from error
    with stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ScenarioError(f"{path}: a device or pipe found, a file allowed")
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

    Parameters
    ----------
    synced
        Wait until the disk has them. Without, a crash of the machine may lose or tear the file; `kill -9` does not.

    Raises
    ------
    ApportionError
        If the folder cannot be written or the disk is full; the old file, if any, is untouched.
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
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


class Spool:
    """Texts kept outside of memory for as long as this process lives: in a file without a name, once they are many."""

    def __init__(self) -> None:
        self._stream = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - closed with this object
        weakref.finalize(self, self._stream.close)

    def put(self, data: bytes) -> tuple[int, int]:
        """Keep bytes; where they are, for `get`.

        Raises
        ------
        ApportionError
            If the folder for temporary files is full.
        """
        try:
            start = self._stream.seek(0, os.SEEK_END)
            self._stream.write(data)
            self._stream.flush()
        except OSError as error:
            raise ApportionError(f"{tempfile.gettempdir()}: {reason(error)}") from error
        return start, len(data)

    def get(self, place: tuple[int, int]) -> bytes:
        """What was put there."""
        self._stream.seek(place[0])
        return self._stream.read(place[1])


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Have a folder to oneself; false if another process has it. Ends with the process, however that ends.

    Where the file system has no locks, or the system no folders that can be locked, everybody has it.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield True
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mine = True
    except BlockingIOError:
        mine = False
    except OSError:
        mine = True
    try:
        yield mine
    finally:
        os.close(handle)


def null_device(number: int, *, readable: bool = False) -> None:
    """Put the null device in the place of a standard stream, open or closed, for this process and those it starts."""
    handle = os.open(os.devnull, os.O_RDONLY if readable else os.O_WRONLY)
    os.dup2(handle, number)
    os.set_inheritable(number, True)  # noqa: FBT003 - takes no keywords
    if handle != number:
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


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a text atomically as its pieces come, for texts larger than memory; packed if the name ends in `.gz`.

    Raises
    ------
    ApportionError
        As `write_bytes`.
    """
    with open_whole(path) as stream:
        if path.suffix != ".gz":
            stream.writelines(piece.encode() for piece in pieces)
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=6, mtime=0) as packed:  # same bytes
            packed.writelines(piece.encode() for piece in pieces)


@contextlib.contextmanager
def open_append(path: Path) -> Iterator[IO[str]]:
    """Append lines to a text file; each line is handed to the system as it is written."""
    try:
        stream = path.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}") from error
    with stream:
        yield stream


def end_with_line(path: Path) -> None:
    """Cut a torn last line off a text file, so that whole lines can be appended.

    Raises
    ------
    ApportionError
        If the file cannot be read or written.
    """
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
    """Make a folder, parents included, and make sure that files can be written in it.

    Raises
    ------
    ApportionError
        If a file stands there, or nothing can be written there.
    """
    if path.exists() and not path.is_dir():
        raise ApportionError(f"{path}: a file found, a folder allowed")
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):  # access() lies on read-only mounts and to root
            pass
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}, a folder that can be written allowed") from error


def remove(path: Path) -> None:
    """Remove a file if it is there.

    Raises
    ------
    ApportionError
        If the folder cannot be written.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ApportionError(f"{path}: {reason(error)}") from error


def set_aside(folder: Path, names: Sequence[str]) -> Path | None:
    """Move earlier results out of the way of new ones, so that nothing measured is lost.

    Parameters
    ----------
    folder
        Where results go.
    names
        The files that new results would replace.

    Returns
    -------
    Path or None
        The subfolder `earlier-N` that holds them now; None if there were none.
    """
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


def shipped(kind: str, name: str) -> Path:
    """Path of a file that ships with the product, in a checkout and in an installed wheel alike.

    Parameters
    ----------
    kind
        `traces` or `scenarios`.
    name
        File name inside that folder, `/` between folders.
    """
    root = Path(str(resources.files("simulator")))
    installed = root / "_data" / kind / name
    return installed if installed.exists() else root.parent / kind / name


def user_cache() -> Path:
    """The folder for what can be made again, by the user's settings or below the home folder; it may not exist yet.

    Where nothing can be written there, as in many batch jobs and containers, one of the user's own among the temporary
    files takes its place.
    """
    base = os.environ.get("XDG_CACHE_HOME") or ""
    try:
        wanted = (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "apportion"
    except RuntimeError:  # nobody's home
        return _own_temporary() or Path(tempfile.gettempdir()) / "apportion"
    there = next(path for path in (wanted, *wanted.parents) if os.path.exists(path))  # noqa: PTH110 - never raises
    return wanted if os.access(there, os.W_OK | os.X_OK) else _own_temporary() or wanted


def _own_temporary() -> Path | None:
    """A folder among the temporary files that nobody else can write in; machine code is run from it."""
    if not hasattr(os, "getuid"):
        return None
    folder = Path(tempfile.gettempdir()) / f"apportion-cache-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return folder
    return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
