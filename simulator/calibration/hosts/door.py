"""The door of a host: who connects to it proves to know a token, without sending it; many are heard at once."""

import errno
import hashlib
import hmac
import json
import os
import re
import resource
import selectors
import socket
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Self, cast

from simulator.base.errors import CalibrationError

PROTOCOL = 1
TOKEN_BYTES = 16
ANSWER_S = 5.0
"""How long a guest may take to prove that it knows the token."""
MAX_GUESTS = 256
"""Connections that have not proved to know the token yet; of more the oldest goes, since ours take an instant."""
CROWDED_S = 0.05
"""How long to wait where the system has no room for another connection."""
MAX_LINE_BYTES = 1024

Message = dict[str, object]
"""What a side says, of which nothing but the names is sure."""
Handshake = Generator[Message, Message, None]
"""Yields what to send and is given what came in return; it ends once the other side has proved to know the token."""


class PeerError(CalibrationError):
    """Another host that does not answer, or not as one of ours."""


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
        """Take what came, without waiting and no further than the proof."""
        while True:
            try:
                byte = self.connection.recv(1)
            except BlockingIOError:
                return False
            self.data += byte
            if not byte or len(self.data) >= MAX_LINE_BYTES:
                raise PeerError("the other host: no line")
            if byte == b"\n":
                line, self.data = self.data, b""
                try:
                    self._say(self.steps.send(parse_line(line)))
                except StopIteration:
                    return True

    def _say(self, message: Message) -> None:
        line = _line(message)
        if self.connection.send(line) < len(line):  # it fits every buffer of who reads
            raise PeerError("the other host: it does not read")


class Door:
    """Lets in who proves to know the token. Nobody is waited for: many are heard at once, each for a short time."""

    def __init__(self, server: socket.socket, token: str) -> None:
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


# How each side proves that it knows the token.


def new_token() -> str:
    """A secret for one session."""
    return os.urandom(TOKEN_BYTES).hex()


def handshake(token: str, *, listens: bool) -> Handshake:
    """What one side says so that both know that the other has the token, without sending it.

    Each answers the other's random challenge by its HMAC with SHA-256; the roles go into it, so that no side can be
    made to answer its own challenge.
    """
    own = os.urandom(TOKEN_BYTES).hex()
    roles = ("listens", "connects") if listens else ("connects", "listens")
    hello = yield {"apportion": PROTOCOL, "challenge": own}
    if hello.get("apportion") != PROTOCOL:
        raise PeerError("the other host: another version")
    challenge = _hexadecimal(hello, "challenge", TOKEN_BYTES)
    answer = yield {"proof": _proof(token, roles[0], challenge, own)}
    proof = _hexadecimal(answer, "proof", hashlib.sha256().digest_size)
    if not hmac.compare_digest(proof, _proof(token, roles[1], own, challenge)):
        raise PeerError("the other host: it does not know the token")


def _hexadecimal(message: Message, name: str, size: int) -> str:
    """So many bytes that the other host sent in hexadecimal digits, as ours are written."""
    value = message.get(name)
    if not isinstance(value, str) or not re.fullmatch(rf"[0-9a-f]{{{2 * size}}}", value):
        raise PeerError(f"the other host: {name}: no {2 * size} hexadecimal digits")
    return value


def prove(connection: socket.socket, token: str, *, timeout_s: float) -> None:
    """Carry the handshake of the side that connects out and wait for it."""
    deadline = time.monotonic() + timeout_s
    steps = handshake(token, listens=False)
    try:
        connection.settimeout(timeout_s)
        connection.sendall(_line(next(steps)))
        while True:
            connection.sendall(_line(steps.send(parse_line(_received(connection, deadline)))))
    except StopIteration:
        connection.settimeout(None)
    except (TimeoutError, ConnectionError) as error:
        raise PeerError(f"the other host: no answer within {timeout_s:g} s") from error


def tune(connection: socket.socket) -> None:
    """Small messages are not held back, and a host that is gone is noticed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _proof(token: str, role: str, challenge: str, own: str) -> str:
    text = f"apportion {PROTOCOL} {role} {challenge} {own}".encode()
    return hmac.new(token.encode(errors="replace"), text, hashlib.sha256).hexdigest()


# What both sides say: JSON lines of bounded length.


def _line(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _received(connection: socket.socket, deadline: float) -> bytes:
    """The next line, and no byte behind it."""
    data = b""
    while not data.endswith(b"\n"):
        connection.settimeout(max(1e-3, deadline - time.monotonic()))
        if len(data) >= MAX_LINE_BYTES:
            raise PeerError(f"the other host: a line longer than {MAX_LINE_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
        if not (byte := connection.recv(1)):
            raise PeerError("the other host: it closed the connection before tokens were compared")
        data += byte
    return data


def parse_line(data: bytes) -> Message:
    """A line as a message: a JSON object in UTF-8 whose names differ and whose numbers are finite."""

    def refuse(_: object) -> float:
        raise ValueError

    def named_once(pairs: list[tuple[str, object]]) -> Message:
        found = dict(pairs)
        return found if len(found) == len(pairs) else {"twice": refuse(pairs)}

    try:
        message = json.loads(data.decode(), parse_constant=refuse, object_pairs_hook=named_once)
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode()  # no half characters, no 1e999
    except (ValueError, RecursionError) as error:
        raise PeerError("the other host: no JSON line") from error
    if not isinstance(message, dict):
        raise PeerError("the other host: no JSON object")
    return message
