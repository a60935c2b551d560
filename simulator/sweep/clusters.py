"""Where a sweep runs, as a Dask client: processes here, or a scheduler that is there already."""

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator import files
from simulator.errors import ScenarioError, SweepError, reason, shortage

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 10.0
CLOSE_S = 2.0
OWN: dict[str, Any] = {
    **dict.fromkeys((f"distributed.worker.memory.{name}" for name in ("spill", "target", "pause")), False),
    "distributed.scheduler.allowed-failures": 0,
}
"""What is kept on workers is little: a point that fills the memory is ended, and named, before the machine suffers."""


FILES, FILES_EACH = 32, 16
"""Files that this process opens for a cluster, and for each of its workers; some to spare."""
_LOGGERS = ("distributed", "distributed.client", "distributed.nanny", "tornado", "asyncio")
"""Each has a level of its own."""


def cores_here() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local(workers: int) -> Iterator["Client"]:
    """Worker processes on this machine.

    Raises
    ------
    SweepError
        If they cannot be started, with what this process has too little of.
    """
    _need_files(FILES + FILES_EACH * workers)
    with ExitStack() as stack:
        stack.enter_context(files.hushed())
        _need_semaphores()
        try:
            client = stack.enter_context(_started(workers))
        except (OSError, RuntimeError, MemoryError, ImportError) as error:
            raise SweepError(f"workers: {_cause(error)}") from None
        yield client


@contextmanager
def _started(workers: int) -> Iterator["Client"]:
    import dask
    from distributed import Client, LocalCluster
    from distributed.utils import LoopRunner

    quiet_logs()
    runner = LoopRunner()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        runner.start()  # workers start from this thread and leave Ctrl-C to us, as it does, from their first moment on
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with dask.config.set(OWN), ExitStack() as stack:
        stack.callback(runner.stop, timeout=CLOSE_S)
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=max(1, cores_here() // workers),
            processes=True,
            dashboard_address="127.0.0.1:0",  # None means the usual port, on all interfaces
            silence_logs=60,
            host="127.0.0.1",
            loop=runner.loop,
        )
        client = Client(cluster, set_as_default=False)
        stack.callback(close, client, cluster)
        yield client


def quiet_logs() -> None:
    """Leave it to us to tell what fails in a cluster."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 10)


def _need_files(count: int) -> None:
    """See to it that so many more files can be open: a cluster that runs out of them tries for ever.

    Raises
    ------
    SweepError
        If the system does not allow as many.
    """
    try:
        import resource

        count += len(list(Path("/dev/fd").iterdir()))
    except (ImportError, OSError):  # a system without such limits
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        said = f"{count} open files needed, this shell allows {hard}"
        raise SweepError(f"workers: {said}: raise that (ulimit -n {count}) or take fewer workers")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


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
    return f"they did not start: {(str(chain[-1]).splitlines() or ['no reason given'])[0]}"


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
        raise ScenarioError(f"--dask: {address!r} found, the address of a Dask scheduler allowed: {said}") from None
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
