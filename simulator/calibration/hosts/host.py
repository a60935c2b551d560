"""A host that is measured: the line to its agent, the workers there, and what becomes of it when that line is cut."""

import contextlib
import itertools
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Annotated, NoReturn, Self

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from simulator.base.blocks import plain
from simulator.base.errors import CalibrationError
from simulator.base.machine import Machine, Topology
from simulator.calibration.hosts import archive
from simulator.calibration.hosts.agent import MAX_LINE_BYTES, PROTOCOL
from simulator.calibration.hosts.door import Message, PeerError, parse_line

SILENCE_S = 20.0
"""A host of which nothing is heard for so long is given up; it says every two seconds that it is there."""
START_S = 40.0
"""How long a host may take until it answers first."""
CALL_S = 40.0
"""How long a host may take to answer a command of ours."""
HUNG_S = 40.0
"""A host is given up of which a worker owes an answer and has not computed for so long: it is stopped, or waits."""
MOST_BYTES = 2**28
"""What a host may send in all."""
PREAMBLE_BYTES = 2**16
"""What a login shell may say before the agent does."""
CLOCK_TRIES = 12
MOST_NUMBER = 2**62
"""A larger number of seconds, bytes or runs is no measurement."""
MOST_CPU = 2**16
"""Logical processors have lower numbers."""
NO_ANSWER = "what it sent is no answer"
_QUANTITIES = ("_s", "_bytes", "_switches", "runs")
"""Ends of the names of fields that hold numbers of at least 0."""
_SAID_CHARACTERS = 200
_CHUNK_BYTES = 2**16
_ERRORS_BYTES = 4096
_CAUSES = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key has changed; find out why before you trust it"),
    ("Host key verification failed", "its host key is not known here; log in once by hand and compare the key"),
    ("Permission denied", "it asks for a password or refuses the key; set up a key with which ssh gets in"),
)
"""What ssh says -> what to do."""
Address = Annotated[str, Field(max_length=80, pattern=r"^[0-9A-Fa-f:.%\w]+$")]


class HostError(CalibrationError):
    """A host that cannot be reached, failed, or answered what is no answer."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"{host}: {reason}")
        self.host, self.reason = host, reason


@dataclass(frozen=True, config=ConfigDict(extra="ignore", allow_inf_nan=False))
class About:
    """What a host says of itself."""

    machine: Machine
    topology: Topology
    python: Annotated[str, Field(max_length=40)]
    numpy: Annotated[str, Field(max_length=40)]
    numba: Annotated[str, Field(max_length=40)]
    boot: Annotated[str, Field(max_length=80)]
    addresses: Annotated[list[Address], Field(max_length=64)]
    protocol: int = 0

    @property
    def identity(self) -> tuple[str, str]:
        """What no two machines share: host name, and the number drawn at the system's start."""
        return self.machine.host, self.boot


_ABOUT = TypeAdapter(About)


def printable(text: str) -> str:
    """What a far side said, as one line that no terminal obeys."""
    said = " ".join(plain(text).split())
    return said if len(said) <= _SAID_CHARACTERS else f"{said[: _SAID_CHARACTERS - 3]}..."


def _described(told: Message) -> About:
    """What a host says of itself, if all of it can be so."""
    for field, value in _leaves(told):
        if isinstance(value, str) and not value.isprintable():
            raise ValueError(f"{field} holds characters that do not print")
        if isinstance(value, str) and len(value) > _SAID_CHARACTERS:
            raise ValueError(f"{field} is too long")
        if isinstance(value, int | float) and not 0 <= value <= MOST_NUMBER:
            raise ValueError(f"{field} is {printable(str(value))[:40]}")
    try:
        about: About = _ABOUT.validate_json(json.dumps(told), strict=True)
    except ValidationError as error:
        raise ValueError(f"{'.'.join(map(str, error.errors()[0]['loc']))} is missing or of another kind") from None
    machine, topology = about.machine, about.topology
    cpus = [core.cpu for core in machine.cores]
    if about.protocol != PROTOCOL:
        raise ValueError("use the same version of apportion there")
    if not cpus or not machine.host:
        raise ValueError(f"{'machine.host' if cpus else 'machine.cores'} is empty")
    if len(set(cpus)) < len(cpus) or max(cpus) >= MOST_CPU:
        raise ValueError("machine.cores has a processor twice, or one that is none")
    if cpus != [core.cpu for core in topology.cores] or machine.quota_cores != topology.quota_cores:
        raise ValueError("machine and topology differ in their cores")
    return about


def _leaves(told: object) -> Iterator[tuple[str, object]]:
    """Every value within a document that is no list or object, with where it is."""
    waiting: list[tuple[str, object]] = [("", told)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{where}.{name}".strip("."), held) for name, held in value.items()]
        elif isinstance(value, list) and value:
            waiting += [(where, held) for held in value]
        else:
            yield where, value


def _checked(told: Message) -> Message:
    """An answer all of whose quantities are numbers that a measurement can have."""
    for field, value in _leaves(told):
        if isinstance(value, int | float) and not isinstance(value, bool):
            fits = (0 if field.endswith(_QUANTITIES) else -MOST_NUMBER) <= value <= MOST_NUMBER
        else:
            fits = not field.endswith(_QUANTITIES)
        if not fits:
            raise ValueError(f"{printable(field)} is {printable(str(value))[:40] or 'nothing'}")
    return told


def _line(command: Message) -> memoryview:
    return memoryview(json.dumps(command).encode() + b"\n")


def _begin(line: bytes) -> str:
    """The begin of a line that is none of ours."""
    return printable(line[:80].decode(errors="replace"))


class FarWorker:
    """A worker on a host; see `bench.group.Worker`."""

    def __init__(self, host: "Host", number: int) -> None:
        self._host, self.number = host, number
        self._over = threading.Event()
        self._said = ""
        self.asked = 0
        """Commands that it was handed and did not answer yet."""
        self.pid = 0
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """How it ended, if it has."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if not self._over.wait(timeout):
            raise subprocess.TimeoutExpired(f"worker {self.number} of {self._host.name}", timeout or 0.0)
        return self.returncode or 0

    def last_words(self) -> str:
        """What it said last as an error."""
        return self._said

    def signal(self, number: signal.Signals, *, session: bool) -> None:
        """Have the agent send it a signal."""
        if not self._over.is_set():
            self._host.send({"do": "signal", "worker": self.number, "number": int(number), "session": session})

    def forget(self) -> None:
        """Nothing is kept of it here."""

    def ended(self, status: object, said: object) -> None:
        """Take its end in."""
        self.returncode = status if isinstance(status, int) and abs(status) < 2**16 else 1
        self._said = printable(str(said))
        self._over.set()


class Host:
    """A host behind a transport, a context manager that ends what was started there; workers run on it as on this one.

    A thread of its own carries lines to and fro.

    `words` start a command line there: `ssh`'s words, or `srun`'s, with the command line at their end.
    """

    def __init__(self, name: str, words: Callable[[str, str], Sequence[str]], *, python: str | None = None) -> None:
        self.name = name
        self._words = tuple(words(name, archive.start_line(python)))
        self._numbers, self._fault = itertools.count(1), ""
        self._calls: dict[int, Future[Message]] = {}
        self._workers: dict[int, tuple[FarWorker, socket.socket]] = {}
        self._outgoing: deque[memoryview] = deque()
        self._joining: deque[tuple[socket.socket, int]] = deque()
        self._begun: dict[object, bytes] = {}
        self._heard_bytes, self._heard_s, self._speaks = 0, time.monotonic(), False
        self._errors, self._lock = b"", threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._offset_s: float | None = None
        self._closing = False
        self._refused = ""
        self._deadline_s = math.inf
        self._at_work: dict[str, tuple[object, float]] = {}
        """Of workers that owe an answer: CPU seconds, and since when it is not more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def fault(self) -> str:
        """Why it is lost; empty as long as it is not."""
        return self._fault or self._refused

    def refuse(self, reason: str) -> NoReturn:
        """Give the host up for what it answered."""
        self._refused = self._refused or reason
        self._poke()
        raise HostError(self.name, reason)

    @contextlib.contextmanager
    def done_within(self, seconds: float) -> Iterator[None]:
        """Give the host up if the block takes longer, though its agent says that it is there."""
        self._deadline_s, self._limit_s = time.monotonic() + seconds, seconds
        try:
            yield
        finally:
            self._deadline_s = math.inf

    def reach(self) -> About:
        """Start the agent there, and say what the host is."""
        try:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise HostError(self.name, f"{self._words[0]}: {(error.strerror or str(error)).lower()}") from error
        self._outgoing.append(memoryview(archive.opening()))
        self._heard_s = time.monotonic() + START_S - SILENCE_S
        self._thread = threading.Thread(target=self._carry, name=f"host {self.name}", daemon=True)
        self._thread.start()
        told = self.call("describe", limit_s=START_S)
        try:
            return _described(told)
        except ValueError as error:
            self.refuse(f"what it says of itself is no answer: {printable(str(error))}")

    def close(self) -> None:
        """End what runs there, and the line."""
        if not hasattr(self, "_process"):
            self._wake.close()
            self._woken.close()
            return
        self._closing = True
        self._poke()
        self._thread.join(SILENCE_S)
        self._lose("it is closed")

    def call(self, do: str, *, limit_s: float = CALL_S, **fields: object) -> Message:
        """Have the agent do something and wait for its answer."""
        number, answer = next(self._numbers), Future[Message]()
        with self._lock:
            self._calls[number] = answer
        self.send({"do": do, "id": number, **fields})
        try:
            told = answer.result(limit_s)
        except NotInTime:
            raise HostError(self.name, f"no answer within {limit_s:g} s") from None
        if "fault" in told:
            raise HostError(self.name, printable(str(told["fault"])))
        return told

    def send(self, command: Message) -> None:
        """Hand a command to the agent."""
        if self.fault:
            raise HostError(self.name, self.fault)
        self._outgoing.append(_line(command))
        self._poke()

    def start(self, words: Sequence[str], inherited: Sequence[int], *, apart: bool) -> tuple[socket.socket, FarWorker]:
        """Start a worker there, which keeps channels of the agent; see `bench.group.Place`."""
        worker = FarWorker(self, next(self._numbers))
        own, theirs = socket.socketpair()
        with self._lock:
            self._workers[worker.number] = worker, theirs
        told = self.call("start", worker=worker.number, words=list(words), inherited=list(inherited), apart=apart)
        worker.pid = pid if isinstance(pid := told.get("pid"), int) else 0
        self._joining.append((theirs, worker.number))
        self._poke()
        return own, worker

    def offset_s(self) -> float:
        """What its clock shows more than ours, by the quickest of some questions."""
        if self._offset_s is None:
            best = float("inf")
            for _ in range(CLOCK_TRIES):
                before = time.perf_counter()
                clock_s = self.call("clock").get("clock_s")
                after = time.perf_counter()
                if not isinstance(clock_s, float):
                    raise HostError(self.name, "its clock shows no number")
                if after - before < best:
                    best, self._offset_s = after - before, clock_s - (before + after) / 2
        return self._offset_s or 0.0

    def _poke(self) -> None:
        with contextlib.suppress(OSError):
            self._wake.send(b".")

    def _carry(self) -> None:
        """What the thread does: lines from and to the agent, until one side ends."""
        out, errors = (self._stream(name) for name in ("stdout", "stderr"))
        for stream in (out, errors, self._stream("stdin")):
            os.set_blocking(stream, False)
        self._selector.register(out, selectors.EVENT_READ, "out")
        self._selector.register(errors, selectors.EVENT_READ, "errors")
        self._selector.register(self._woken, selectors.EVENT_READ, "woken")
        try:
            while not (self._closing and not self._outgoing):
                writing = self._write()
                for key, _ in self._selector.select(0.05 if writing else 1.0):
                    self._take(key)
                self._check_alive()
        except HostError as error:
            self._lose(error.reason)
        except Exception as error:  # noqa: BLE001 - whatever it sent, only this host is lost
            self._lose(f"{NO_ANSWER} ({type(error).__name__})")
        finally:
            self._lose("it is closed")
            self._selector.close()
            self._wake.close()
            self._woken.close()

    def _check_alive(self) -> None:
        if self._refused:
            raise HostError(self.name, self._refused)
        if time.monotonic() > self._deadline_s:
            raise HostError(self.name, f"its workers did not answer in time; it had {self._limit_s:.0f} s")
        if time.monotonic() - self._heard_s > SILENCE_S:
            raise HostError(self.name, f"nothing was heard of it for {SILENCE_S:g} s")

    def _stream(self, name: str) -> int:
        number: int = getattr(self._process, name).fileno()
        return number

    def _write(self) -> bool:
        """Write what there is to write as far as it goes; whether something is left."""
        while self._outgoing:
            data = self._outgoing[0]
            try:
                count = os.write(self._stream("stdin"), data)
            except BlockingIOError:
                return True
            except OSError:
                return False  # its end is read soon
            self._outgoing.popleft()
            if count < len(data):
                self._outgoing.appendleft(data[count:])
        return False

    def _take(self, key: selectors.SelectorKey) -> None:
        if key.data == "woken":
            self._woken.recv(_CHUNK_BYTES)
            while self._joining:
                control, number = self._joining.popleft()
                self._selector.register(control, selectors.EVENT_READ, number)
        elif key.data == "errors":
            came = os.read(key.fd, _CHUNK_BYTES)
            self._errors = (self._errors + came)[-_ERRORS_BYTES:]
            if not came:
                self._selector.unregister(key.fd)
        elif key.data == "out":
            self._hear(os.read(key.fd, _CHUNK_BYTES))
        else:
            self._pass_on(key.data)

    def _pass_on(self, number: int) -> None:
        """Lines of a group to its worker."""
        worker, control = self._workers[number]
        try:
            came = control.recv(_CHUNK_BYTES)
        except OSError:
            came = b""
        for line in self._lines(number, came):
            worker.asked += 1
            self._outgoing.append(_line({"do": "tell", "worker": number, "line": line.decode()}))
        if not came:
            self._selector.unregister(control)
            control.close()
            self._outgoing.append(_line({"do": "close", "worker": number}))

    def _hear(self, came: bytes) -> None:
        """What the agent says."""
        if not came:
            raise HostError(self.name, self._why())
        self._heard_bytes += len(came)
        if self._heard_bytes > MOST_BYTES:
            raise HostError(self.name, f"it sent more than {MOST_BYTES // 2**20} MiB")
        for line in self._lines("out", came):
            try:
                told = parse_line(line)
            except PeerError:
                if self._speaks or self._heard_bytes > PREAMBLE_BYTES or line.startswith(b"{"):
                    raise HostError(self.name, f"{NO_ANSWER}: {_begin(line)}") from None
                continue
            self._speaks, self._heard_s = True, time.monotonic()
            self._answered(told)

    def _answered(self, told: Message) -> None:
        """Hand an answer to who waits for it."""
        if "worker" in told:
            if not isinstance(number := told["worker"], int) or number not in self._workers:
                raise HostError(self.name, f"{NO_ANSWER}: it has no worker {printable(str(number))}")
            if "ended" in told:
                worker, control = self._workers[number]
                worker.ended(told["ended"], told.get("said", ""))
                with contextlib.suppress(OSError):
                    control.shutdown(socket.SHUT_WR)
            else:
                self._worker_answered(*self._workers[number], str(told.get("line")).encode())
        elif isinstance(number := told.get("id"), int):
            with self._lock:
                waiting = self._calls.pop(number, None)
            if waiting is not None:
                waiting.set_result(told)
        elif "fault" in told:
            raise HostError(self.name, printable(str(told["fault"])))
        elif isinstance(at_work := told.get("at_work"), dict):
            self._check_at_work(at_work)

    def _check_at_work(self, at_work: Message) -> None:
        """Give the host up if a worker hangs."""
        now, before = time.monotonic(), self._at_work
        fresh = (math.nan, now)
        self._at_work = {
            number: last if (last := before.get(number, fresh))[0] == cpu_s else (cpu_s, now)
            for number, cpu_s in itertools.islice(at_work.items(), MOST_CPU)
        }
        if any(now - since > HUNG_S for _, since in self._at_work.values()):
            raise HostError(self.name, f"a worker of it hangs: it owes an answer and computed nothing for {HUNG_S:g} s")

    def _worker_answered(self, worker: FarWorker, control: socket.socket, line: bytes) -> None:
        """Hand a worker's line to its group: one answer to each command, or a fault."""
        try:
            answer = _checked(parse_line(line))
        except PeerError:
            raise HostError(self.name, f"what a worker of it said is no answer: {_begin(line)}") from None
        except ValueError as error:
            raise HostError(self.name, f"what a worker of it said is no answer: {error}") from None
        if "fault" in answer:
            answer = {"fault": printable(str(answer["fault"]))}
        elif worker.asked < 1:
            raise HostError(self.name, f"a worker of it answered what nobody asked: {_begin(line)}")
        worker.asked -= 1
        with contextlib.suppress(OSError):  # the group may have ended
            control.settimeout(CALL_S)
            control.sendall(json.dumps(answer).encode() + b"\n")

    def _lines(self, stream: object, came: bytes) -> list[bytes]:
        *whole, rest = (self._begun.pop(stream, b"") + came).split(b"\n")
        if len(rest) > MAX_LINE_BYTES + 1024:
            raise HostError(self.name, f"it sent a line of more than {MAX_LINE_BYTES // 2**20} MiB")
        self._begun[stream] = rest
        return whole

    def _why(self) -> str:
        """Why the line ended, by what was said last."""
        with contextlib.suppress(OSError):
            self._errors = (self._errors + (os.read(self._stream("stderr"), _CHUNK_BYTES) or b""))[-_ERRORS_BYTES:]
        said = self._errors.decode(errors="replace")
        for sign, cause in _CAUSES:
            if sign in said:
                return cause
        lines = [printable(line) for line in said.splitlines() if line.strip()]
        return lines[-1] if lines else "the connection ended"

    def _lose(self, reason: str) -> None:
        """Give the host up: everything that waits for it ends now."""
        with self._lock:
            if self._fault:
                return
            self._fault = reason
            calls, self._calls = self._calls, {}
        for waiting in calls.values():
            waiting.set_exception(HostError(self.name, reason))
        for worker, control in self._workers.values():
            if worker.returncode is None:
                worker.ended(1, reason)
            control.close()
        for name in ("stdin", "stdout", "stderr"):
            with contextlib.suppress(OSError):
                getattr(self._process, name).close()
        try:
            self._process.wait(2.0 if self._closing else 0.2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
