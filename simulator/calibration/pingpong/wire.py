"""What two hosts say to each other: JSON lines of bounded length, after both have proved that they know one token."""

import hashlib
import hmac
import json
import math
import os
import re
import select
import socket
import struct
import time
from collections.abc import Generator
from typing import Any

from simulator.base.errors import CalibrationError, ScenarioError

PROTOCOL = 1
MAX_LINE_BYTES = 1024
TOKEN_BYTES = 16
OTHER = "use the same version of apportion on both hosts"

Handshake = Generator[dict[str, Any], dict[str, Any], None]
"""Yields what to send and is given what came in return; it ends once the other side has proved to know the token."""


class PeerError(ScenarioError):
    """Another host that does not answer, or not as one of ours."""


def new_token() -> str:
    """A secret for one session."""
    return os.urandom(TOKEN_BYTES).hex()


def send_line(out: int, message: dict[str, Any]) -> None:
    """One message as a line."""
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(out, data) :]


def receive_line(into: int, *, deadline: float = math.inf) -> dict[str, Any] | None:
    """The next message; None if the other side ended. Read byte by byte, so that no payload behind it is swallowed.

    Raises
    ------
    PeerError
        If it is no JSON object, or longer than a line may be.
    TimeoutError
        If not all of it is there at `deadline` (`time.monotonic`).
    """
    data = b""
    while not data.endswith(b"\n"):
        if deadline < math.inf:
            _wait_for(into, deadline)
        if len(data) >= MAX_LINE_BYTES:
            raise PeerError(f"the other host: a line longer than {MAX_LINE_BYTES} bytes; {OTHER}")
        try:
            byte = os.read(into, 1)
        except ConnectionResetError:
            return None
        if not byte:
            return None
        data += byte
    return parse_line(data)


def _wait_for(into: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(into, select.POLLIN)
    if not poll.poll(1000 * max(0.0, deadline - time.monotonic())):
        raise TimeoutError


def parse_line(data: bytes) -> dict[str, Any]:
    """A line as a message: a JSON object in UTF-8 whose names differ and whose numbers are finite.

    Raises
    ------
    PeerError
        If it is anything else.
    """

    def refuse(_: object) -> float:
        raise ValueError

    def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        return found if len(found) == len(pairs) else {"twice": refuse(pairs)}

    try:
        message = json.loads(data.decode(), parse_constant=refuse, object_pairs_hook=named_once)
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode()  # no half characters, no 1e999
    except (ValueError, RecursionError) as error:
        raise PeerError(f"the other host: no JSON line; {OTHER}") from error
    if not isinstance(message, dict):
        raise PeerError(f"the other host: no JSON object; {OTHER}")
    return message


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
        send_line(number, next(steps))
        while True:
            message = receive_line(number, deadline=deadline)
            if message is None:
                raise PeerError(
                    "the other host: it closed the connection before tokens were compared; it must still listen"
                )
            send_line(number, steps.send(message))
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


def told(message: dict[str, Any], name: str, *, most: int) -> int:
    """A whole number of 1 to `most` that the other host sent.

    Raises
    ------
    CalibrationError
        If it is anything else.
    """
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise CalibrationError(f"the other host: {name}: {repr(value)[:80]} is no whole number from 1 to {most}")
    return value
