"""Where a sweep runs, as a Dask client: processes here, or a scheduler that is there already."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from simulator.errors import ScenarioError

if TYPE_CHECKING:
    from distributed import Client

START_S = 60.0
CONNECT_S = 10.0
CLOSE_S = 2.0
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
    from distributed import Client, LocalCluster

    from simulator.sweep.loopback import SCHEME, TrustedNanny

    threads = max(1, cores_here() // workers)
    with settings():
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=True,
            dashboard_address="127.0.0.1:0",  # None means the usual port, on all interfaces
            silence_logs=60,
            host="127.0.0.1",
            protocol=SCHEME,
            worker_class=TrustedNanny,
        )
        client = Client(cluster, set_as_default=False)
        try:
            yield client
        finally:
            close(client, cluster)


@contextmanager
def existing(address: str) -> Iterator["Client"]:
    """A scheduler that somebody started.

    Raises
    ------
    ScenarioError
        If nobody answers there.
    """
    from distributed import Client

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
