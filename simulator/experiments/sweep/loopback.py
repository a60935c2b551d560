"""Dask's connections between the processes of one sweep on this machine: nobody else is heard.

By itself Dask carries out whatever code reaches its ports, and every user of a machine reaches those of loopback. So
both ends of a connection prove first that they know a secret of this sweep; workers have it from their environment.
"""

import asyncio
import hashlib
import hmac
import os
from contextlib import suppress
from functools import cache
from typing import Any

from distributed import Nanny, Worker
from distributed.comm import registry
from distributed.comm.core import CommClosedError
from distributed.comm.tcp import TCP, BaseTCPBackend, TCPConnector, TCPListener
from tornado.iostream import IOStream, StreamClosedError

SCHEME = "apportion"
SECRET = "APPORTION_SWEEP_SECRET"  # noqa: S105 - the name of a variable
PROOF_S = 10.0
"""How long either side may take to prove what it knows; others are heard at the same time."""
_BYTES = 32


@cache
def secret() -> str:
    """What the processes of this sweep know: made by the first of them, handed to the others."""
    return os.environ.get(SECRET) or os.urandom(_BYTES).hex()


def _proof(role: str, port: int, *challenges: bytes) -> bytes:
    """Holds for one side of one connection to one port, so that nobody can pass it on to another."""
    return hmac.new(secret().encode(), b"".join([f"{role} {port} ".encode(), *challenges]), hashlib.sha256).digest()


async def _admit(stream: IOStream, port: int) -> bool:
    """The listening side: whether the other one knows the secret."""
    own = os.urandom(_BYTES)
    await stream.write(own)
    answer = await _heard(stream, 2 * _BYTES)
    theirs, proof = answer[:_BYTES], answer[_BYTES:]
    if not hmac.compare_digest(proof, _proof("connects", port, own, theirs)):
        return False
    await stream.write(_proof("listens", port, theirs, own))
    return True


async def _enter(stream: IOStream, port: int) -> bool:
    """The connecting side, likewise."""
    own, theirs = os.urandom(_BYTES), await _heard(stream, _BYTES)
    await stream.write(own + _proof("connects", port, theirs, own))
    return hmac.compare_digest(await _heard(stream, _BYTES), _proof("listens", port, own, theirs))


async def _heard(stream: IOStream, count: int) -> bytes:
    data = bytearray(count)
    await stream.read_into(data)
    return bytes(data)


class _Connector(TCPConnector):
    prefix = f"{SCHEME}://"

    async def connect(self, address: str, deserialize: bool = True, **more: Any) -> TCP:  # noqa: FBT001, FBT002 - Dask's
        comm: TCP = await super().connect(address, deserialize=deserialize, **more)
        known, port = False, int(address.rpartition(":")[2])
        with suppress(TimeoutError, StreamClosedError):
            known = comm.stream is not None and await asyncio.wait_for(_enter(comm.stream, port), PROOF_S)
        if not known:
            comm.abort()
            raise CommClosedError(f"{address}: another process than one of this sweep")
        return comm


class _Listener(TCPListener):
    prefix = f"{SCHEME}://"

    async def _prepare_stream(self, stream: IOStream, address: str) -> IOStream | None:  # noqa: ARG002 - Dask's
        with suppress(TimeoutError, StreamClosedError):
            if self.bound_address and await asyncio.wait_for(_admit(stream, self.bound_address[1]), PROOF_S):
                return stream
        stream.close()
        return None


class _Backend(BaseTCPBackend):
    _connector_class = _Connector
    _listener_class = _Listener


registry.backends[SCHEME] = _Backend()


class TrustedWorker(Worker):
    """A worker whose process knows how to connect, since it finds this module by it."""


class TrustedNanny(Nanny):
    """Starts such a worker and hands it the secret."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options | {"worker_class": TrustedWorker, "env": {SECRET: secret()}})
