"""Where a sweep runs, as a Dask client: processes here, or a scheduler that is there already."""

import asyncio
import hashlib
import hmac
import logging
import math
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Nanny, Worker
from distributed.comm import registry
from distributed.comm.core import CommClosedError
from distributed.comm.tcp import TCP, BaseTCPBackend, TCPConnector, TCPListener
from tornado.iostream import IOStream, StreamClosedError

from simulator.base import files
from simulator.base.errors import ScenarioError, SweepError, reason, shortage

if TYPE_CHECKING:
    from distributed import Client

SCHEME = "apportion"
SECRET = "APPORTION_SWEEP_SECRET"  # noqa: S105 - the name of a variable
PROOF_S = 10.0
"""How long either side may take to prove what it knows; others are heard at the same time."""
_BYTES = 32
CONNECT_S = 10.0
CLOSE_S = 2.0
FILES, FILES_EACH = 32, 16
"""Files that this process opens for a cluster, and for each of its workers; some to spare."""
_OURS = {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}
"""Signals that a terminal sends to all processes: they are for the main one, which ends the others."""
_LOGGERS = ("distributed", "distributed.client", "distributed.nanny", "tornado", "asyncio")
"""Each has a level of its own."""


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


OWN: dict[str, Any] = {
    **dict.fromkeys((f"distributed.worker.memory.{name}" for name in ("spill", "target", "pause")), False),
    "distributed.scheduler.allowed-failures": 0,
}
"""What is kept on workers is little: a point that fills the memory is ended, and named, before the machine suffers."""


def cores_here() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def settings() -> Iterator[None]:
    """What we ask of Dask, whose files lie in a folder of this process.

    By default they have a name that everybody knows among the temporary files, and Python modules are imported from it.
    """
    import dask

    with dask.config.set(OWN | {"temporary-directory": _folder().name}):
        yield


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Goes with the process, after what Dask still has open in it then."""
    return tempfile.TemporaryDirectory(prefix="apportion-", ignore_cleanup_errors=True)


@contextmanager
def local(workers: int) -> Iterator["Client"]:
    """Worker processes on this machine."""
    _need(workers)
    with ExitStack() as stack:
        stack.enter_context(files.hushed())
        loop = stack.enter_context(_loop())
        try:
            client = stack.enter_context(_started(workers, loop))
        except (OSError, RuntimeError, MemoryError, ImportError) as error:
            raise SweepError(f"workers: {_cause(error)}") from None
        yield client


@contextmanager
def _loop() -> Iterator[Any]:
    """The thread of Dask's that starts the workers."""
    try:
        from distributed.utils import LoopRunner

        with _blocked():  # what starts here leaves signals of the terminal to us from its first moment on
            _need_semaphores()
            runner = LoopRunner()
            runner.start()
    except (OSError, RuntimeError, MemoryError, ImportError) as error:
        raise SweepError(f"workers: {_cause(error)}") from None
    try:
        yield runner.loop
    finally:
        runner.stop(timeout=CLOSE_S)


@contextmanager
def _blocked() -> Iterator[None]:
    """Meanwhile this thread hears none of the terminal's signals, and those that it starts never do."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _started(workers: int, loop: Any) -> Iterator["Client"]:
    from distributed import Client, LocalCluster

    quiet_logs()
    with settings():
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=max(1, cores_here() // workers),
            processes=True,
            dashboard_address="127.0.0.1:0",  # None means the usual port, on all interfaces
            silence_logs=60,
            host="127.0.0.1",
            protocol=SCHEME,
            worker_class=TrustedNanny,
            loop=loop,
        )
        client = Client(cluster, set_as_default=False)
        try:
            yield client
        finally:
            close(client, cluster)


def quiet_logs() -> None:
    """Leave it to us to tell what fails in a cluster."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 10)


def _need(workers: int) -> None:
    """See to it that so many files may be open: a cluster that runs out of them tries for ever."""
    try:
        import resource

        count = len(list(Path("/dev/fd").iterdir())) + FILES + FILES_EACH * workers
    except (ImportError, OSError):  # a system without such limits
        return
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (math.inf if one == resource.RLIM_INFINITY else one for one in limits)
    if hard < count:
        said = f"{count} open files needed, this shell allows {hard}"
        raise SweepError(f"workers: {said}: raise that (ulimit -n {count}) or take fewer workers")
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, limits[1]))


def _need_semaphores() -> None:
    """See whether processes can share them; queues between ours and the workers do."""
    import multiprocessing

    try:
        multiprocessing.get_context("spawn").Lock()
    except OSError as error:
        said = "shared memory that can be written is needed in /dev/shm (of a container: --shm-size)"
        raise SweepError(f"workers: {reason(error)}: {said}") from None


def _cause(error: BaseException) -> str:
    """What is behind a cluster that did not start, in one line."""
    chain: list[BaseException] = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(before)
    for one in reversed(chain):
        if (short := shortage(one)) is not None:
            return f"they did not start: {short}"
    said = (str(chain[-1]).splitlines() or ["no reason given"])[0].rstrip(".")
    return f"they did not start: {said}: see whether this shell allows enough memory, processes and files (ulimit -a)"


@contextmanager
def existing(address: str) -> Iterator["Client"]:
    """A scheduler that somebody started."""
    from distributed import Client

    quiet_logs()
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        said = (str(error).splitlines() or ["no answer"])[0]
        raise ScenarioError(f"--dask is {address!r}; give the address of a Dask scheduler: {said}") from None
    try:
        yield client
    finally:
        close(client)


def close(client: "Client", cluster: Any = None) -> None:
    """End without waiting for what is still being computed."""
    with suppress(OSError, TimeoutError, RuntimeError):
        client.close(timeout=CLOSE_S)
    if cluster is not None:
        with suppress(OSError, TimeoutError, RuntimeError, AssertionError):  # it asserts that all jobs were started
            cluster.close(timeout=CLOSE_S)
