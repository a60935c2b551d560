"""Ping-pong between two hosts over TCP: one listens for a session, the other connects and measures."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from simulator.calibration.parallel.children import Children
from simulator.calibration.pingpong import wire
from simulator.calibration.pingpong.channels import SILENCE_S
from simulator.calibration.pingpong.pairs import ENDPOINT, Pairs
from simulator.calibration.pingpong.wire import PeerError
from simulator.errors import CalibrationError

SERVE = "simulator.calibration.pingpong.serve"
ANSWER_S = 5.0
"""How long a host may take to answer when a session begins."""
WAIT_S = 600.0
"""How long a listener waits for a session to begin."""
MAX_REFUSED = 100
"""Connections without the token after which a listener gives up."""


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
    except OSError:
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
        raise PeerError(f"{field}: {text!r} found, HOST:PORT such as node2:4711 or [::1]:4711 allowed")
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
        Called with the address and the session's token, which is made anew.
    wait_s
        Longest wait for the session to begin.

    Raises
    ------
    PeerError
        If it cannot listen there, nobody comes in time, or too many come without the token.
    """
    token, refused = wire.new_token(), 0
    served: list[subprocess.Popen[bytes]] = []
    with _server(address) as server:
        on_ready(Address(address.host, server.getsockname()[1]), token)
        deadline = time.monotonic() + wait_s
        try:
            while not served or any(child.poll() is None for child in served):
                connection = _accept(server, wait_s=0.2 if served else min(1.0, wait_s))
                if connection is not None and len(served) < len(cpus):
                    child = _admit(connection, token, cpu=cpus[len(served)])
                    served += [] if child is None else [child]
                    refused += child is None
                elif connection is not None:
                    connection.close()
                if refused >= MAX_REFUSED:
                    raise PeerError(f"--listen: {refused} connections without the token found, one with it allowed")
                if not served and time.monotonic() > deadline:
                    raise PeerError(f"--listen: nobody came within {wait_s:g} s")
        finally:
            for child in served:
                child.kill()
                child.wait()
    return {"connections": len(served), "refused": refused}


def _server(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise PeerError(f"--listen: {address.text}: {_reason(error)}") from error


def _admit(connection: socket.socket, token: str, *, cpu: int) -> "subprocess.Popen[bytes] | None":
    """A process that serves whoever proves that it knows the token; None for others."""
    with connection:
        try:
            wire.prove(connection, token, timeout_s=ANSWER_S, listens=True)
        except (PeerError, OSError):
            return None
        return _start(connection, cpu)


@contextmanager
def connected_pairs(address: Address, token: str, *, cpus: Sequence[int]) -> Iterator[Pairs]:
    """Pairs whose far ends are on a host that listens, a connection for each of our processors.

    Raises
    ------
    PeerError
        If it does not answer, or the token is another one.
    """
    with ExitStack() as stack:
        rows, inherited = [], []
        for cpu in cpus:
            connection = stack.enter_context(_connect(address, token))
            number = connection.fileno()
            rows.append((str(cpu), json.dumps({0: (number, number)})))
            inherited.append([number])
        children = stack.enter_context(Children(ENDPOINT, rows, inherited=inherited))
        yield Pairs(children, [[(number, 0, True)] for number in range(len(cpus))], steer=True)


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
        raise PeerError(f"--hosts: {host!r} found, a host name allowed")
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
        raise PeerError(f"--hosts: ssh: {_reason(error)}, ssh or --listen and --connect allowed") from error
    try:
        yield _announced(host, child)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(ANSWER_S)  # the session is over, and the listener ends by itself
    finally:
        child.kill()
        child.communicate()


def _announced(host: str, child: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Port and token from the first line that a listener prints."""
    import select

    assert child.stdout is not None  # noqa: S101 - asked for
    assert child.stderr is not None  # noqa: S101 - asked for
    ready, _, _ = select.select([child.stdout], [], [], 6 * ANSWER_S)
    line = child.stdout.readline(wire.MAX_LINE_BYTES) if ready else b""
    try:
        said = json.loads(line)
        return wire.told(said, "port", most=65535), str(said["token"])
    except (ValueError, KeyError, AttributeError, CalibrationError):
        child.kill()
        errors = child.stderr.read(4096).decode(errors="replace").strip().splitlines()
        reason = errors[-1] if errors else f"nothing from its listener within {6 * ANSWER_S:g} s"
    raise PeerError(
        f"--hosts: {host}: {reason}; `ssh {host} apportion` must work without a question, or use --listen there"
    )


def _connect(address: Address, token: str) -> socket.socket:
    try:
        connection = socket.create_connection((address.host, address.port), timeout=ANSWER_S)
    except OSError as error:
        raise PeerError(f"--connect: {address.text} does not answer ({_reason(error)})") from error
    connection.settimeout(None)
    wire.tune(connection)
    try:
        wire.prove(connection, token, timeout_s=ANSWER_S, listens=False)
    except PeerError as error:
        connection.close()
        named = [line.replace("the other host", f"--connect: {address.text}", 1) for line in error.lines]
        raise PeerError(named) from error
    return connection


def _accept(server: socket.socket, *, wait_s: float) -> socket.socket | None:
    server.settimeout(wait_s)
    try:
        connection, _ = server.accept()
    except TimeoutError:
        return None
    connection.settimeout(None)
    wire.tune(connection)
    return connection


def _start(connection: socket.socket, cpu: int) -> "subprocess.Popen[bytes]":
    wire.limit_silence(connection, SILENCE_S)
    number = connection.fileno()
    words = [sys.executable, "-m", SERVE, str(os.getpid()), str(cpu), str(number)]
    return subprocess.Popen(
        words, pass_fds=[number], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing within {ANSWER_S:g} s"
    return (error.strerror or str(error)).lower()
