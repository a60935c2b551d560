"""The door of a host: who connects to it proves to know a token, without sending it; many are heard at once."""

import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import re
import resource
import socket
from collections import deque
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

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

T = TypeVar("T")
Message = dict[str, object]
"""What a side says, of which nothing but the names is sure."""


class PeerError(CalibrationError):
    """Another host that does not answer, or not as one of ours."""


def admitted(server: socket.socket, token: str, *, limit_s: float) -> socket.socket | None:
    """The first who connects and proves to know the token; None where nobody does in so many seconds.

    Nobody is waited for: many are heard at once, each for a short time.
    """
    server.settimeout(0.0)
    return _done(_first(server, token, limit_s))


def _done(work: Coroutine[Any, Any, T]) -> T:
    """What some work comes to, in a thread of its own: a notebook runs a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


async def _first(server: socket.socket, token: str, limit_s: float) -> socket.socket | None:
    proved = asyncio.Queue[socket.socket]()
    entrance = asyncio.create_task(_welcome(server, token, proved))
    try:
        async with asyncio.timeout(limit_s):
            return await proved.get()
    except TimeoutError:
        return None
    finally:  # guests go when the loop ends
        entrance.cancel()


async def _welcome(server: socket.socket, token: str, proved: asyncio.Queue[socket.socket]) -> None:
    """Hear whoever connects; where there is no room for another one, the oldest connection is closed."""
    guests = deque[asyncio.Task[None]]()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = MAX_GUESTS if limit == resource.RLIM_INFINITY else max(1, min(MAX_GUESTS, limit // 4))
    while True:
        try:
            connection, _ = await asyncio.get_running_loop().sock_accept(server)
        except OSError:  # the system has no room, or it went before we came to it
            await asyncio.sleep(CROWDED_S)
        else:
            guests.append(asyncio.create_task(_hear(connection, token, proved)))
            await asyncio.sleep(0)  # it begins, so that it closes its connection however it ends
            if len(guests) <= most:
                continue
        if guests:
            guests.popleft().cancel()


async def _hear(connection: socket.socket, token: str, proved: asyncio.Queue[socket.socket]) -> None:
    with contextlib.suppress(PeerError, OSError), contextlib.ExitStack() as stack:
        stack.enter_context(connection)
        tune(connection)
        async with asyncio.timeout(ANSWER_S):
            await _prove(connection, token, listens=True)
        stack.pop_all()
        connection.settimeout(None)
        proved.put_nowait(connection)


def new_token() -> str:
    """A secret for one session."""
    return os.urandom(TOKEN_BYTES).hex()


def prove(connection: socket.socket, token: str, *, timeout_s: float) -> None:
    """Prove to the host that we connected to that we know the token, and have it prove the same."""
    connection.settimeout(0.0)

    async def proved() -> None:
        async with asyncio.timeout(timeout_s):
            await _prove(connection, token, listens=False)

    try:
        _done(proved())
    except (TimeoutError, ConnectionError) as error:
        raise PeerError(f"the other host: no answer within {timeout_s:g} s") from error
    connection.settimeout(None)


async def _prove(connection: socket.socket, token: str, *, listens: bool) -> None:
    """What one side says and hears so that both know that the other has the token, without sending it.

    Each answers the other's random challenge by its HMAC with SHA-256; the roles go into it, so that no side can be
    made to answer its own challenge.
    """
    own = os.urandom(TOKEN_BYTES).hex()
    roles = ("listens", "connects") if listens else ("connects", "listens")
    await _say(connection, {"apportion": PROTOCOL, "challenge": own})
    hello = await _heard(connection)
    if hello.get("apportion") != PROTOCOL:
        raise PeerError("the other host: another version")
    challenge = _hexadecimal(hello, "challenge", TOKEN_BYTES)
    await _say(connection, {"proof": _proof(token, roles[0], challenge, own)})
    proof = _hexadecimal(await _heard(connection), "proof", hashlib.sha256().digest_size)
    if not hmac.compare_digest(proof, _proof(token, roles[1], own, challenge)):
        raise PeerError("the other host: it does not know the token")


def _hexadecimal(message: Message, name: str, size: int) -> str:
    """So many bytes that the other host sent in hexadecimal digits, as ours are written."""
    value = message.get(name)
    if not isinstance(value, str) or not re.fullmatch(rf"[0-9a-f]{{{2 * size}}}", value):
        raise PeerError(f"the other host: {name}: no {2 * size} hexadecimal digits")
    return value


def _proof(token: str, role: str, challenge: str, own: str) -> str:
    text = f"apportion {PROTOCOL} {role} {challenge} {own}".encode()
    return hmac.new(token.encode(errors="replace"), text, hashlib.sha256).hexdigest()


def tune(connection: socket.socket) -> None:
    """Small messages are not held back, and a host that is gone is noticed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


# What both sides say: JSON lines of bounded length.


async def _say(connection: socket.socket, message: Message) -> None:
    await asyncio.get_running_loop().sock_sendall(connection, json.dumps(message).encode() + b"\n")


async def _heard(connection: socket.socket) -> Message:
    """The next line, and no byte behind it."""
    data = b""
    while not data.endswith(b"\n"):
        if len(data) >= MAX_LINE_BYTES:
            raise PeerError(f"the other host: a line longer than {MAX_LINE_BYTES} bytes")
        if not (byte := await asyncio.get_running_loop().sock_recv(connection, 1)):
            raise PeerError("the other host: it closed the connection before tokens were compared")
        data += byte
    return parse_line(data)


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
