"""Ping-pong between two hosts over TCP: one listens for a session, the other connects and measures.

Both have to prove first that they know one token.
"""

import contextlib
import errno
import hashlib
import hmac
import json
import os
import re
import resource
import selectors
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from simulator.base.errors import CalibrationError
from simulator.calibration.bench.group import EndedError, Group, NoAnswerError
from simulator.calibration.pingpong import ends
from simulator.calibration.pingpong.ends import OTHER, SILENCE_S, PeerError

if TYPE_CHECKING:
    from simulator.calibration.pingpong.pairs import Pairs

PROTOCOL = 1
TOKEN_BYTES = 16
ANSWER_S = 5.0
"""How long a host may take to answer when a session begins."""
WAIT_S = 600.0
"""How long a listener waits for a session to begin."""
MAX_GUESTS = 256
"""Connections that have not proved to know the token yet; of more the oldest goes, since ours take an instant."""
CROWDED_S = 0.05
"""How long to wait where the system has no room for another connection."""

Handshake = Generator[dict[str, Any], dict[str, Any], None]
"""Yields what to send and is given what came in return; it ends once the other side has proved to know the token."""


@dataclass(frozen=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_this_host(name: str) -> bool:
    """Whether a host's name is one of this machine's own addresses."""
    try:
        found = socket.getaddrinfo(name, 0, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return False
    for family, kind, protocol, _, address in found:
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as own:
            own.bind(address)  # only an own address can be bound to
            return True
    return False


def parse_address(text: str, *, field: str, least_port: int = 1) -> Address:
    """`HOST:PORT`, an IPv6 address in brackets.

    Raises
    ------
    PeerError
        If it is anything else.
    """
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    number = int(port) if port.isascii() and port.isdigit() else -1
    if not bare or not least_port <= number <= 65535 or (":" in host and not host.startswith("[")):
        raise PeerError(f"{field} is {text!r}; give HOST:PORT, such as node2:4711 or [::1]:4711")
    return Address(bare, number)


def listen(
    address: Address,
    *,
    cpus: Sequence[int],
    on_ready: Callable[[Address, str], None],
    wait_s: float = WAIT_S,
) -> dict[str, int]:
    """Serve one session of another host, and say how many connections and refusals there were.

    Parameters
    ----------
    address
        Where to listen; port 0 for any free one.
    cpus
        Processors for the far ends, in turn; as many connections as this at once at most.
    on_ready
        Called with the address and the session's token, which is a new one.
    wait_s
        Longest wait for the session to begin.

    Raises
    ------
    PeerError
        If it cannot listen there, or nobody with the token comes in time.
    """
    token, active, count, failed = new_token(), list[int](), 0, 0
    with _server(address) as server, Door(server, token) as door, Group("ping-pong", []) as group:
        on_ready(Address(address.host, server.getsockname()[1]), token)
        deadline = time.monotonic() + wait_s
        while not count or active:
            for connection in door.admit(wait_s=0.2 if count else min(1.0, wait_s)):
                with connection:
                    if count < len(cpus):
                        active.append(_serve(group, connection, cpus[count]))
                        count += 1
            if not count and time.monotonic() > deadline:
                raise PeerError(f"--listen: nobody with the token came within {wait_s:g} s")
            served = {number: _served(group, number) for number in active}
            active = [number for number, well in served.items() if well is None]
            failed += sum(well is False for well in served.values())
    return {"connections": count, "failed": failed, "refused": door.refused}


def _serve(group: Group, connection: socket.socket, cpu: int) -> int:
    """Have one more process of a group be the far end of a connection."""
    limit_silence(connection, SILENCE_S)
    end = connection.fileno()
    number = group.start((cpu, "{}"), [end])
    group.tell(number, {"do": "serve", "number": end, "limit_s": ends.COMMAND_S})
    return number


def _served(group: Group, number: int) -> bool | None:
    """Whether a far end did all that was asked of it, what it did not being written; None while it is at work."""
    try:
        group.answers([number], limit_s=0.0)
    except NoAnswerError:
        return None
    except EndedError as error:
        sys.stderr.write(f"--listen: {error.reason}\n")
        return False
    return True


@dataclass
class _Guest:
    """Somebody who came and has not proved yet to know the token."""

    connection: socket.socket
    steps: Handshake
    deadline: float
    data: bytes = b""

    def greet(self) -> None:
        """Say our first line."""
        self._say(next(self.steps))

    def proved(self) -> bool:
        """Take what came, without waiting and no further than the proof.

        Raises
        ------
        PeerError, OSError
            If it is anything else.
        """
        while True:
            try:
                byte = self.connection.recv(1)
            except BlockingIOError:
                return False
            self.data += byte
            if not byte or len(self.data) >= ends.MAX_LINE_BYTES:
                raise PeerError("the other host: no line")
            if byte == b"\n":
                line, self.data = self.data, b""
                try:
                    self._say(self.steps.send(ends.parse_line(line)))
                except StopIteration:
                    return True

    def _say(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        if self.connection.send(line) < len(line):  # it fits every buffer of who reads
            raise PeerError("the other host: it does not read")


class Door:
    """Lets in who proves to know the token. Nobody is waited for: many are heard at once, each for a short time.

    Parameters
    ----------
    server
        A listening socket.
    token
        The session's.

    Attributes
    ----------
    refused
        How many came and did not prove it.
    """

    def __init__(self, server: socket.socket, token: str) -> None:
        self.refused = 0
        self._server = server
        self._token = token
        self._guests: dict[socket.socket, _Guest] = {}
        self._selector = selectors.DefaultSelector()
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._limit = MAX_GUESTS if files == resource.RLIM_INFINITY else max(1, min(MAX_GUESTS, files // 4))
        server.settimeout(0.0)
        self._selector.register(server, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for guest in self._guests.values():
            guest.connection.close()
        self._selector.close()

    def admit(self, *, wait_s: float) -> list[socket.socket]:
        """Those who proved it within so many seconds; as soon as there is one."""
        proved = []
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._server:
                self._welcome()
            elif guest := self._guests.get(cast("socket.socket", key.fileobj)):  # it may have had to go since
                try:
                    if guest.proved():
                        self._leave(guest)
                        guest.connection.settimeout(None)
                        proved.append(guest.connection)
                except (PeerError, OSError):
                    self._refuse(guest)
        now = time.monotonic()
        for guest in [guest for guest in self._guests.values() if guest.deadline < now]:
            self._refuse(guest)
        return proved

    def _welcome(self) -> None:
        """Take one newcomer; where there is no room, the oldest guest has had time enough."""
        if len(self._guests) >= self._limit:
            self._refuse(next(iter(self._guests.values())))
        try:
            connection, _ = self._server.accept()
        except OSError as error:
            if error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}:
                time.sleep(CROWDED_S)
                for guest in [*self._guests.values()][:1]:
                    self._refuse(guest)
            return  # or it went before we came to it
        guest = _Guest(connection, handshake(self._token, listens=True), time.monotonic() + ANSWER_S)
        self._guests[connection] = guest
        self._selector.register(connection, selectors.EVENT_READ)
        try:
            connection.settimeout(0.0)
            tune(connection)
            guest.greet()
        except (PeerError, OSError):
            self._refuse(guest)

    def _leave(self, guest: _Guest) -> None:
        del self._guests[guest.connection]
        self._selector.unregister(guest.connection)

    def _refuse(self, guest: _Guest) -> None:
        self._leave(guest)
        guest.connection.close()
        self.refused += 1


def _server(address: Address) -> socket.socket:
    try:
        family, _, _, _, found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((str(found[0]), address.port), family=family, backlog=MAX_GUESTS)
    except (OSError, UnicodeError) as error:  # a name that is none
        raise PeerError(f"--listen: {address.text}: {_reason(error)}") from error


@contextmanager
def connected_pairs(address: Address, token: str, *, cpus: Sequence[int]) -> "Iterator[Pairs]":
    """Pairs whose far ends are on a host that listens, a connection for each of our processors.

    Raises
    ------
    PeerError
        If it does not answer, or the token is another one.
    """
    from simulator.calibration.pingpong.pairs import Pairs  # which loads more than a far host may have

    with ExitStack() as stack:
        rows, inherited = [], []
        for cpu in cpus:
            connection = stack.enter_context(_connect(address, token))
            number = connection.fileno()
            rows.append((cpu, json.dumps({0: (number, number)})))
            inherited.append([number])
        group = stack.enter_context(Group("ping-pong", rows, inherited=inherited))
        yield Pairs(group, [[(number, 0, True)] for number in range(len(cpus))], steer=True)


@contextmanager
def listener_over_ssh(host: str, command: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Start a listener on another host by ssh, without any question asked, and give its port and token.

    Parameters
    ----------
    host
        As ssh knows it.
    command
        What starts `apportion` there.

    Raises
    ------
    PeerError
        If ssh is not there, does not get in, or the listener says nothing in time.
    """
    if host.startswith("-"):
        raise PeerError(f"--hosts: {host!r} is no name of a host")
    remote = [*command, "calibrate", "network", "--between", "tcp", "--listen", "0.0.0.0:0", "--json"]
    options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={ANSWER_S:.0f}", "-T"]
    try:
        child = subprocess.Popen(
            ["ssh", *options, "--", host, *remote],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise PeerError(f"--hosts: ssh: {_reason(error)}; install ssh, or use --listen and --connect") from error
    try:
        yield _announced(host, child)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(ANSWER_S)  # the session is over, and the listener ends by itself
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdout, child.stderr):  # not read to their ends: what ssh started may keep them open
            if stream is not None:
                stream.close()


def _announced(host: str, child: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Port and token from the first line that a listener prints."""
    assert child.stdout is not None  # noqa: S101 - asked for
    assert child.stderr is not None  # noqa: S101 - asked for
    try:
        said = ends.receive_line(child.stdout.fileno(), deadline=time.monotonic() + 6 * ANSWER_S) or {}
        return ends.whole_number(said, "port", most=65535), hexadecimal(said, "token", TOKEN_BYTES)
    except (TimeoutError, CalibrationError, PeerError):
        child.kill()
        child.wait()
        os.set_blocking(child.stderr.fileno(), False)
        errors = (child.stderr.read(4096) or b"").decode(errors="replace").strip().splitlines()
        said_last = "".join(filter(str.isprintable, errors[-1])) if errors else ""
        reason = said_last or f"nothing from its listener within {6 * ANSWER_S:g} s"
    raise PeerError(
        f"--hosts: {host}: {reason}; `ssh {host} apportion` must work without a question, or use --listen there"
    )


def _connect(address: Address, token: str) -> socket.socket:
    try:
        connection = socket.create_connection((address.host, address.port), timeout=ANSWER_S)
    except (OSError, UnicodeError) as error:  # a name that is none
        raise PeerError(f"--connect: {address.text} does not answer ({_reason(error)})") from error
    connection.settimeout(None)
    tune(connection)
    try:
        prove(connection, token, timeout_s=ANSWER_S, listens=False)
    except PeerError as error:
        connection.close()
        named = [line.replace("the other host", f"--connect: {address.text}", 1) for line in error.lines]
        raise PeerError(named) from error
    return connection


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing within {ANSWER_S:g} s"
    return (getattr(error, "strerror", None) or str(error)).lower()


# How each side proves that it knows the token.


def new_token() -> str:
    """A secret for one session."""
    return os.urandom(TOKEN_BYTES).hex()


def handshake(token: str, *, listens: bool) -> Handshake:
    """What one side says so that both know that the other has the token, without sending it.

    Each answers the other's random challenge by its HMAC with SHA-256; the roles go into it, so that no side can be
    made to answer its own challenge.

    Raises
    ------
    PeerError
        If the other side says anything else, or does not know the token.
    """
    own = os.urandom(TOKEN_BYTES).hex()
    roles = ("listens", "connects") if listens else ("connects", "listens")
    hello = yield {"apportion": PROTOCOL, "challenge": own}
    if hello.get("apportion") != PROTOCOL:
        raise PeerError(f"the other host: another version; {OTHER}")
    challenge = hexadecimal(hello, "challenge", TOKEN_BYTES)
    answer = yield {"proof": _proof(token, roles[0], challenge, own)}
    proof = hexadecimal(answer, "proof", hashlib.sha256().digest_size)
    if not hmac.compare_digest(proof, _proof(token, roles[1], own, challenge)):
        raise PeerError("--token: it is not the one that the other host printed")


def hexadecimal(message: dict[str, Any], name: str, size: int) -> str:
    """So many bytes that the other host sent in hexadecimal digits, as ours are written.

    Raises
    ------
    PeerError
        If it sent anything else.
    """
    value = message.get(name)
    if not isinstance(value, str) or not re.fullmatch(rf"[0-9a-f]{{{2 * size}}}", value):
        raise PeerError(f"the other host: {name}: no {2 * size} hexadecimal digits; {OTHER}")
    return value


def prove(connection: socket.socket, token: str, *, timeout_s: float, listens: bool) -> None:
    """Carry a handshake out and wait for it.

    Raises
    ------
    PeerError
        As `handshake`, and if the other side is silent for so long or ends.
    """
    number = connection.fileno()
    limit_silence(connection, timeout_s)
    deadline = time.monotonic() + timeout_s
    steps = handshake(token, listens=listens)
    try:
        ends.send_line(number, next(steps))
        while True:
            message = ends.receive_line(number, deadline=deadline)
            if message is None:
                raise PeerError(
                    "the other host: it closed the connection before tokens were compared; it must still listen"
                )
            ends.send_line(number, steps.send(message))
    except StopIteration:
        limit_silence(connection, 0.0)
    except (TimeoutError, BlockingIOError, ConnectionError) as error:
        raise PeerError(f"the other host: no answer within {timeout_s:g} s") from error


def tune(connection: socket.socket) -> None:
    """Small messages are not held back, and a host that is gone is noticed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def limit_silence(connection: socket.socket, seconds: float) -> None:
    """Longest silence within the kernel; the socket stays a blocking one. 0 for no limit."""
    whole = int(seconds)
    value = struct.pack("@ll", whole, int((seconds - whole) * 1e6))  # the system's `struct timeval`
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, value)


def _proof(token: str, role: str, challenge: str, own: str) -> str:
    text = f"apportion ping-pong {PROTOCOL} {role} {challenge} {own}".encode()
    return hmac.new(token.encode(errors="replace"), text, hashlib.sha256).hexdigest()
