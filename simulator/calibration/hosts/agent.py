"""The far side of a measurement: starts workers on its host, hands lines to and fro, and leaves nothing behind.

It is started over ssh or srun from an archive that the driver sends (`archive.py`), and needs Python 3.11 and, for its
workers, NumPy. It obeys JSON lines on its input, `{"do": NAME, "id": NUMBER, ...}`, and answers `{"id": NUMBER, ...}`
where there is an answer; a fault is `{"id": NUMBER, "fault": SENTENCE}`. What a worker says goes out as `{"worker":
NUMBER, "line": TEXT}`, its end as `{"worker": NUMBER, "ended": STATUS, "said": LAST WORDS}`. Every `BEAT_S` seconds it
says that it is there, and of workers that owe an answer how much they have computed: `{"at_work": {NUMBER: CPU_S}}`. It
ends, with all that it started, when its input does.
"""

import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable

from simulator.base.errors import ApportionError
from simulator.base.machine import boot_number, process_state, this_machine, this_topology
from simulator.calibration.bench.group import HERE, Worker

PROTOCOL = 1
BEAT_S = 2.0
"""How often it says that it is there."""
MAX_LINE_BYTES = 2**20
"""Of a command, and of what a worker says in one line."""
WAIT_S = 10.0
"""How long a connection of another host may take."""
BUFFER_BYTES = 2**19
"""What the system may keep of a message at either end."""
_CHUNK_BYTES = 2**16
_GRACE_S = 1.0
_ADDRESS_OF_INTERFACE = 0x8915
"""The system's request SIOCGIFADDR."""
_COMPUTING = ("kernel",)
"""Subjects whose workers compute until they answer; others wait for a program, a clock or each other."""

Answer = dict[str, object]


class Agent:
    """What the far side keeps: its workers, and the channels that they may inherit."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._workers: dict[int, Worker] = {}
        self._computing: dict[int, bool] = {}
        self._owing: dict[int, int] = {}
        """Of each worker, the answers that it owes."""
        self._controls: dict[int, socket.socket] = {}
        self._begun: dict[object, bytes] = {}
        """Of each stream, what it has said of a line."""
        self._channels: set[int] = set()
        self._server: socket.socket | None = None
        self.commands: dict[str, Callable[..., Answer | None]] = {
            "describe": self.describe,
            "clock": self.clock,
            "start": self.start,
            "tell": self.tell,
            "signal": self.signal,
            "close": self.close,
            "listen": self.listen,
            "accept": self.accept,
            "connect": self.connect,
            "pair": self.pair,
            "release": self.release,
        }

    def describe(self) -> Answer:
        """What this host is, and where others may reach it."""
        came = os.environ.get("SSH_CONNECTION", "").split()
        return {
            "protocol": PROTOCOL,
            "machine": this_machine().to_dict(),
            "topology": this_topology().to_dict(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "numpy": _version("numpy"),
            "numba": _version("numba"),
            "boot": boot_number(),
            "addresses": [*([came[2]] if len(came) == 4 else []), *_own_addresses()],
        }

    def clock(self) -> Answer:
        """What the clock shows."""
        return {"clock_s": time.perf_counter()}

    def start(self, worker: int, words: list[str], inherited: list[int], *, apart: bool) -> Answer:
        """Start a worker, which keeps some of our channels."""
        own, process = HERE.start(words, [one for one in inherited if one in self._channels], apart=apart)
        self._workers[worker], self._controls[worker] = process, own
        self._computing[worker], self._owing[worker] = words[1] in _COMPUTING, 0
        self._selector.register(own, selectors.EVENT_READ, (self._heard, worker))
        return {"pid": process.pid}

    def tell(self, worker: int, line: str) -> None:
        """Hand a line to a worker; one that has ended says so by itself."""
        with contextlib.suppress(KeyError, OSError):
            self._owing[worker] += 1
            self._controls[worker].sendall(line.encode() + b"\n")

    def signal(self, worker: int, number: int, *, session: bool) -> None:
        """Send a worker, or its session, a signal."""
        with contextlib.suppress(KeyError, OSError):
            self._workers[worker].signal(signal.Signals(number), session=session)

    def close(self, worker: int) -> None:
        """No more lines to a worker: it ends."""
        with contextlib.suppress(KeyError, OSError):
            self._controls[worker].shutdown(socket.SHUT_WR)

    def listen(self) -> Answer:
        """Be ready for connections of other hosts, at a port of the system's choice."""
        if self._server is None:
            both = socket.has_dualstack_ipv6()
            family, everywhere = (socket.AF_INET6, "::") if both else (socket.AF_INET, "0.0.0.0")  # noqa: S104
            self._server = socket.create_server((everywhere, 0), family=family, dualstack_ipv6=both)
        return {"port": self._server.getsockname()[1]}

    def accept(self, token: str) -> Answer:
        """A connection of another host that proves to know the token."""
        from simulator.calibration.hosts.door import admitted

        self.listen()
        connection = admitted(_there(self._server), token, limit_s=WAIT_S)
        if connection is None:
            raise ApportionError(f"no connection came within {WAIT_S:g} s")
        bound_buffers(connection)
        return {"number": self._kept(connection)}

    def connect(self, addresses: list[str], port: int, token: str) -> Answer:
        """A connection to another host, at the first of its addresses that answers."""
        from simulator.calibration.hosts.door import prove, tune

        for address in addresses:
            try:
                connection = socket.create_connection((address, port), timeout=WAIT_S / (2 + len(addresses)))
            except OSError:
                continue
            connection.settimeout(None)
            tune(connection)
            bound_buffers(connection)
            prove(connection, token, timeout_s=WAIT_S / 2)
            return {"number": self._kept(connection), "address": address}
        raise ApportionError(f"nothing answers at {' or '.join(addresses)}, port {port}")

    def pair(self) -> Answer:
        """Both ends of a channel between two workers of this host."""
        return {"numbers": [self._kept(end) for end in socket.socketpair()]}

    def release(self, numbers: list[int]) -> None:
        """Close channels here; workers keep theirs."""
        for number in self._channels.intersection(numbers):
            self._channels.remove(number)
            os.close(number)

    def serve(self, commands: int) -> None:
        """Obey until the commands end, then end all workers."""
        self._selector.register(commands, selectors.EVENT_READ, (self._obey, commands))
        beat = time.monotonic()
        while True:
            for key, _ in self._selector.select(BEAT_S):
                heard, who = key.data
                if heard(who, key.fileobj) is False:
                    return
            if time.monotonic() >= beat:
                _say({"at_work": self._at_work()})
                beat = time.monotonic() + BEAT_S

    def end(self) -> None:
        """End all workers: ask, ask again, kill."""
        for number in self._workers:
            self.close(number)
        for ask in (None, signal.SIGTERM, signal.SIGKILL):
            left = [process for process in self._workers.values() if process.poll() is None]
            deadline = time.monotonic() + _GRACE_S
            for process in left:
                if ask is not None:
                    process.signal(ask, session=False)
            for process in left:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, deadline - time.monotonic()))

    def _at_work(self) -> dict[int, float]:
        """CPU seconds of each worker that owes an answer and computes for it, or is stopped."""
        states = {number: process_state(self._workers[number].pid) for number, owes in self._owing.items() if owes > 0}
        return {number: cpu_s for number, (state, cpu_s) in states.items() if self._computing[number] or state == "T"}

    def _obey(self, commands: int, _stream: object) -> bool:
        """Do what whole lines say; false at the end of the commands."""
        came = os.read(commands, _CHUNK_BYTES)
        for line in self._lines(commands, came):
            command = json.loads(line)
            name, number = command.pop("do"), command.pop("id", None)
            try:
                answer = self.commands[name](**command)
            except (ApportionError, OSError) as error:
                answer = {"fault": getattr(error, "strerror", None) or str(error)}
            if answer is not None and number is not None:
                _say({"id": number, **answer})
        return bool(came)

    def _heard(self, worker: int, control: socket.socket) -> None:
        """Pass on what a worker says, and that it ended."""
        try:
            came = control.recv(_CHUNK_BYTES)
        except OSError:
            came = b""
        for line in self._lines(control, came):
            self._owing[worker] -= 1
            _say({"worker": worker, "line": line.decode(errors="replace")})
        if not came:
            self._selector.unregister(control)
            control.close()
            self._ended(worker)

    def _ended(self, worker: int) -> None:
        process = self._workers[worker]
        self._owing[worker] = 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        _say({"worker": worker, "ended": process.returncode, "said": process.last_words()})
        process.forget()

    def _lines(self, stream: object, came: bytes) -> list[bytes]:
        """The whole lines that a stream has said by now."""
        *whole, rest = (self._begun.pop(stream, b"") + came).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise ApportionError("a line is too long")
        self._begun[stream] = rest
        return whole

    def _kept(self, connection: socket.socket) -> int:
        connection.settimeout(None)
        number = connection.detach()
        self._channels.add(number)
        return number


def bound_buffers(connection: socket.socket) -> None:
    """Let the system take little of a message before its receiver asks for it, as MPI libraries do by rendezvous.

    By itself it takes up to tens of MB, by what the connection did before; then a sender would go on where the
    simulated one waits.
    """
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)


def _there(server: socket.socket | None) -> socket.socket:
    if server is None:
        raise TypeError("it listens")
    return server


def _say(answer: Answer) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _version(package: str) -> str:
    """Of an installed package; empty if it is not there."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _own_addresses() -> list[str]:
    """Of the interfaces of this host that are none of loopback, as far as the system tells."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                told = fcntl.ioctl(asked.fileno(), _ADDRESS_OF_INTERFACE, struct.pack("256s", name.encode()[:15]))
                found.append(socket.inet_ntoa(told[20:24]))
    return [address for address in found if not address.startswith("127.")]


def main() -> None:
    """Obey the driver until it closes our input, however that comes about."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    agent = Agent()
    try:
        agent.serve(sys.stdin.fileno())
    except BrokenPipeError:
        pass  # nobody hears us any more
    finally:
        agent.end()


if __name__ == "__main__":
    main()
