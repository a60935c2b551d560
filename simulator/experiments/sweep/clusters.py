"""Where a sweep runs, as a Dask client: processes here, or a scheduler that is there already.

Dask's connections between the processes of one sweep on this machine: nobody else is heard.

By itself Dask carries out whatever code reaches its ports, and every user of a machine reaches those of loopback. So
both ends of a connection prove first that they know a secret of this sweep; workers have it from their environment.

A sweep on jobs of Slurm: what may be said of them, the script, and new jobs for those whose time is up.
"""

import asyncio
import difflib
import hashlib
import hmac
import logging
import math
import os
import re
import shlex
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Nanny, Worker
from distributed.comm import registry
from distributed.comm.core import CommClosedError
from distributed.comm.tcp import TCP, BaseTCPBackend, TCPConnector, TCPListener
from tornado.iostream import IOStream, StreamClosedError

from simulator.base import files, units
from simulator.base.errors import ScenarioError, SweepError, reason, shortage
from simulator.base.given import check_once

if TYPE_CHECKING:
    from distributed import Client

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


CONNECT_S = 10.0
CLOSE_S = 2.0
OWN: dict[str, Any] = {
    **dict.fromkeys((f"distributed.worker.memory.{name}" for name in ("spill", "target", "pause")), False),
    "distributed.scheduler.allowed-failures": 0,
}
"""What is kept on workers is little: a point that fills the memory is ended, and named, before the machine suffers."""


FILES, FILES_EACH = 32, 16
"""Files that this process opens for a cluster, and for each of its workers; some to spare."""
THREADS, THREADS_EACH = 16, 24
"""Threads of this process, and those of each worker."""
_OURS = {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}
"""Signals that a terminal sends to all processes: they are for the main one, which ends the others."""
_LOGGERS = ("distributed", "distributed.client", "distributed.nanny", "tornado", "asyncio")
"""Each has a level of its own."""


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
    """Worker processes on this machine.

    Raises
    ------
    SweepError
        If they cannot be started, with what this process has too little of.
    """
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
    """See to it that so many workers can be had: a cluster that runs out of files or threads tries for ever.

    Raises
    ------
    SweepError
        If this shell does not allow as many.
    """
    try:
        import resource

        opened = len(list(Path("/dev/fd").iterdir()))
    except (ImportError, OSError):  # a system without such limits
        return
    needed = [("NOFILE", "open files", "-n", opened + FILES + FILES_EACH * workers)]
    if os.getuid() != 0:
        needed.append(("NPROC", "processes and threads", "-u", THREADS + THREADS_EACH * workers))
    for name, what, option, count in needed:
        number = getattr(resource, f"RLIMIT_{name}")
        soft, hard = (math.inf if one == resource.RLIM_INFINITY else one for one in resource.getrlimit(number))
        if hard < count:
            said = f"{count} {what} needed, this shell allows {hard}"
            raise SweepError(f"workers: {said}: raise that (ulimit {option} {count}) or take fewer workers")
        if soft < count:
            resource.setrlimit(number, (count, resource.getrlimit(number)[1]))


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
    """A scheduler that somebody started.

    Raises
    ------
    ScenarioError
        If nobody answers there.
    """
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


RENEW_S = 20.0
"""How often to ask for jobs in place of those that ended, as at their walltime."""
_KEYS: dict[str, str] = {
    "jobs": "",
    "queue": "queue",
    "account": "account",
    "cores": "cores",
    "processes": "processes",
    "memory": "memory",
    "walltime": "walltime",
    "interface": "interface",
    "python": "python",
    "logs": "log_directory",
    "directive": "",
}
"""Our keys, and what `dask_jobqueue.SLURMCluster` calls them."""
OWN_FOLDER = (
    'export DASK_TEMPORARY_DIRECTORY="$(mktemp -d)"',
    """trap 'rm -rf "$DASK_TEMPORARY_DIRECTORY"' EXIT""",
)
"""Lines of a job: a worker's files lie in a folder of its own, see `clusters.settings`."""
_NUMBERS = ("jobs", "cores", "processes")
_WALLTIME = re.compile(r"\d+(:\d\d){0,2}|\d+-\d+(:\d\d){0,2}", re.ASCII)
SLURM_HELP = f"Jobs by dask-jobqueue, as KEY=VALUE parted by spaces; keys: {', '.join(_KEYS)}."


def slurm_options(text: str) -> dict[str, Any]:
    """Options of `--slurm` for `dask_jobqueue.SLURMCluster`, and `jobs`, how many to ask for.

    Raises
    ------
    ScenarioError
        For an unknown key, or a value that it cannot have.
    """
    found: dict[str, Any] = {"jobs": 1, "cores": 1, "memory": "2GB", "processes": 1, "walltime": "01:00:00"}
    directives, named = [], set[str]()
    for part in _parts(text):
        key, equals, value = part.partition("=")
        if not equals or key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            nearest = f"; nearest: {near[0]}" if near and near[0] != key else ""
            raise ScenarioError(f"--slurm: {part!r} is not KEY=VALUE with one of {', '.join(_KEYS)}{nearest}")
        if key == "directive":
            directives.append(value)
        else:
            check_once(key, named, where="--slurm")
            named.add(key)
            found[_KEYS[key] or key] = _value(key, value)
    if found["processes"] > found["cores"]:
        said = f"{found['processes']} processes for {found['cores']} cores; give at most one each"
        raise ScenarioError(f"--slurm: processes: {said}")
    return found | {"job_extra_directives": directives}


def _parts(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ScenarioError(f"--slurm: {text!r} found, in which a quote does not end: {error}") from None


def _value(key: str, value: str) -> Any:
    if key in _NUMBERS:
        if not (value.isascii() and value.isdecimal()) or not int(value):
            raise ScenarioError(f"--slurm: {key} is {value!r}; give a whole number above 0")
        return int(value)
    if key == "walltime" and not _WALLTIME.fullmatch(value):
        raise ScenarioError(f"--slurm: walltime is {value!r}; give MINUTES, HH:MM:SS or DAYS-HH:MM:SS")
    if key == "memory" and units.parse(value, units.SIZE, field="--slurm: memory") < 1:
        raise ScenarioError(f"--slurm: memory: {value!r} is too little for a worker; write a size such as 2GB")
    if not value:
        raise ScenarioError(f"--slurm: {key} has no value; give one")
    return value


@contextmanager
def slurm(text: str, *, tell: Callable[[str], None], submit: bool = True) -> Iterator["Client"]:
    """Workers that Slurm starts as jobs; those that end are asked for again, until the sweep is through.

    Parameters
    ----------
    text
        See `slurm_options`.
    tell
        Given the job script.
    submit
        Whether jobs are asked for; without, the script is all there is.

    Raises
    ------
    ScenarioError
        If dask-jobqueue is not installed, or there is no Slurm.
    SweepError
        If jobs cannot be submitted, with what Slurm says.
    """
    options = slurm_options(text)
    jobs = options.pop("jobs")
    cluster_of_jobs = _jobqueue()
    if submit and shutil.which("sbatch") is None:
        raise ScenarioError(
            "--slurm: there is no command sbatch here; start this on a machine that submits jobs to Slurm"
        )
    import dask
    from distributed import Client

    quiet_logs()
    with settings():
        prologue = [*dask.config.get("jobqueue.slurm.job-script-prologue", []), *OWN_FOLDER]
        try:
            cluster = cluster_of_jobs(n_workers=0, job_script_prologue=prologue, **options)
        except (TypeError, ValueError, OSError) as error:
            raise ScenarioError(f"--slurm: {str(error).splitlines()[0]}") from None
        tell(str(cluster.job_script()))
        client = Client(cluster, set_as_default=False)
        try:
            if submit:
                _submit(cluster, jobs)
            yield client
        finally:
            close(client, cluster)


def _jobqueue() -> Any:
    """The cluster class of dask-jobqueue; its import makes Ctrl-C a quiet success of the process, which is undone."""
    ours = signal.getsignal(signal.SIGINT)
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        lacking = "dask-jobqueue is not installed: pip install 'apportion[cluster]'"
        raise ScenarioError(f"--slurm: {lacking}") from None
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, ours)
    return SLURMCluster


def _submit(cluster: Any, jobs: int) -> None:
    """Ask for jobs, and again whenever some have ended; what Slurm refuses the first time is an error."""
    logging.getLogger("tornado.application").setLevel(logging.CRITICAL)  # what Slurm says is in our own error, once

    async def ask() -> None:
        cluster.scale(jobs=jobs)
        await cluster._correct_state()  # noqa: SLF001 - `scale` does not wait and logs what fails

    try:
        cluster.sync(ask)
    except (RuntimeError, OSError, ValueError) as error:
        raise SweepError(f"--slurm: sbatch: {_said(str(error))}") from None

    def again() -> None:
        if cluster.status.name == "running":
            cluster.scale(jobs=jobs)
            cluster.loop.call_later(RENEW_S, again)

    cluster.loop.add_callback(cluster.loop.call_later, RENEW_S, again)


def _said(text: str) -> str:
    """What a command that failed said, in one line."""
    said = [line.strip() for line in text.rpartition("stderr:")[2].splitlines() if line.strip()]
    return "; ".join(line.removeprefix("sbatch: ").removeprefix("error: ") for line in said) or "no reason given"
