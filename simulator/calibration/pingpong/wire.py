"""What two hosts say to each other: JSON lines of bounded length, after both have proved that they know one token."""

import hashlib
import hmac
import json
import math
import os
import socket
import struct
import time
from typing import Any

from simulator.errors import CalibrationError, ScenarioError

PROTOCOL = 1
MAX_LINE_BYTES = 1024
TOKEN_BYTES = 16


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
        If it is not there at `deadline` (`time.monotonic`) though bytes come.
    """
    data = b""
    while not data.endswith(b"\n"):
        if time.monotonic() > deadline:
            raise TimeoutError
        if len(data) >= MAX_LINE_BYTES:
            raise PeerError(f"the other host: a line longer than {MAX_LINE_BYTES} bytes found")
        try:
            byte = os.read(into, 1)
        except ConnectionResetError:
            return None
        if not byte:
            return None
        data += byte
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise PeerError("the other host: no JSON line found, an apportion of the same version allowed") from error
    if not isinstance(message, dict):
        raise PeerError("the other host: no JSON object found, an apportion of the same version allowed")
    return message


def prove(connection: socket.socket, token: str, *, timeout_s: float, listens: bool) -> None:
    """Make sure that both sides know the token, without sending it.

    Each answers the other's random challenge by its HMAC with SHA-256; the roles go into it, so that no side can be
    made to answer its own challenge.

    Raises
    ------
    PeerError
        If the other side is silent for so long, ends, or does not know it.
    """
    own = os.urandom(TOKEN_BYTES).hex()
    roles = ("listens", "connects") if listens else ("connects", "listens")
    number = connection.fileno()
    limit_silence(connection, timeout_s)
    deadline = time.monotonic() + timeout_s
    try:
        send_line(number, {"apportion": PROTOCOL, "challenge": own})
        hello = _expect(number, "challenge", deadline)
        if hello.get("apportion") != PROTOCOL:
            raise PeerError("the other host: another version found, the same apportion on both allowed")
        send_line(number, {"proof": _proof(token, roles[0], str(hello["challenge"]), own)})
        proof = _expect(number, "proof", deadline)["proof"]
    except (TimeoutError, BlockingIOError, ConnectionError) as error:
        raise PeerError(f"the other host: no answer within {timeout_s:g} s") from error
    if not hmac.compare_digest(str(proof).encode(), _proof(token, roles[1], own, str(hello["challenge"])).encode()):
        raise PeerError("--token: it is not the one that the other host printed")
    limit_silence(connection, 0.0)


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


def _expect(number: int, key: str, deadline: float) -> dict[str, Any]:
    message = receive_line(number, deadline=deadline)
    if message is None:
        raise PeerError("the other host: it closed the connection, the token that it printed needed")
    if key not in message:
        raise PeerError("the other host: another answer found, an apportion of the same version allowed")
    return message


def _proof(token: str, role: str, challenge: str, own: str) -> str:
    text = f"apportion ping-pong {PROTOCOL} {role} {challenge} {own}".encode()
    return hmac.new(token.encode(), text, hashlib.sha256).hexdigest()


def told(message: dict[str, Any], name: str, *, most: int) -> int:
    """A whole number of 1 to `most` that the other host sent.

    Raises
    ------
    CalibrationError
        If it is anything else.
    """
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise CalibrationError(f"the other host: {name}: {value!r} found, 1 to {most} allowed")
    return value
