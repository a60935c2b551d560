"""Where a sweep runs, as a Dask client: processes here, a scheduler that is there already, or jobs of Slurm."""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from simulator.errors import ScenarioError, SweepError

if TYPE_CHECKING:
    from distributed import Client

START_S = 60.0
CONNECT_S = 10.0
CLOSE_S = 2.0
_OWN: dict[str, Any] = {
    **dict.fromkeys((f"distributed.worker.memory.{name}" for name in ("spill", "target", "pause")), False),
    "distributed.scheduler.allowed-failures": 0,
}
"""What is kept on workers is little: a point that fills the memory is ended, and named, before the machine suffers."""

_SLURM = ("jobs", "queue", "account", "cores", "processes", "memory", "walltime", "interface", "python", "directive")
SLURM_HELP = f"Jobs by dask-jobqueue, as KEY=VALUE parted by spaces; keys: {', '.join(_SLURM)}."


def cores_here() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local(workers: int) -> Iterator["Client"]:
    """Worker processes on this machine."""
    import dask
    from distributed import Client, LocalCluster

    threads = max(1, cores_here() // workers)
    with dask.config.set(_OWN):
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=True,
            dashboard_address="127.0.0.1:0",  # None means the usual port, on all interfaces
            silence_logs=60,
            host="127.0.0.1",
        )
        client = Client(cluster, set_as_default=False)
        try:
            yield client
        finally:
            _close(client, cluster)


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
        _close(client)


def slurm_options(text: str) -> dict[str, Any]:
    """Options of `--slurm` for `dask_jobqueue.SLURMCluster`, and `jobs`, how many to ask for.

    Raises
    ------
    ScenarioError
        For an unknown key or a number that is none.
    """
    found: dict[str, Any] = {"jobs": 1, "cores": 1, "memory": "2GB", "processes": 1, "walltime": "01:00:00"}
    directives = []
    for part in shlex.split(text):
        key, equals, value = part.partition("=")
        if not equals or key not in _SLURM:
            raise ScenarioError(f"--slurm: {part!r} found, KEY=VALUE with one of {', '.join(_SLURM)} allowed")
        if key in ("jobs", "cores", "processes"):
            if not value.isdecimal() or not int(value):
                raise ScenarioError(f"--slurm: {key}: {value!r} found, a whole number above 0 allowed")
            found[key] = int(value)
        elif key == "directive":
            directives.append(value)
        else:
            found[key] = value
    return found | {"job_extra_directives": directives}


@contextmanager
def slurm(text: str, *, tell: Callable[[str], None], submit: bool = True) -> Iterator["Client"]:
    """Workers that Slurm starts as jobs.

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
        If jobs cannot be submitted.
    """
    options = slurm_options(text)
    jobs = options.pop("jobs")
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError:
        lacking = "dask-jobqueue is not installed: pip install 'apportion[cluster]'"
        raise ScenarioError(f"--slurm: {lacking}") from None
    if submit and shutil.which("sbatch") is None:
        raise ScenarioError("--slurm: no command sbatch found, a machine that submits jobs to Slurm allowed")
    import dask
    from distributed import Client

    with dask.config.set(_OWN):
        try:
            cluster = SLURMCluster(n_workers=0, **options)
        except (TypeError, ValueError, OSError) as error:
            raise ScenarioError(f"--slurm: {str(error).splitlines()[0]}") from None
        tell(str(cluster.job_script()))
        client = Client(cluster, set_as_default=False)
        try:
            if submit:
                cluster.scale(jobs=jobs)
            yield client
        except (RuntimeError, FileNotFoundError) as error:
            raise SweepError(f"--slurm: {str(error).splitlines()[0]}") from None
        finally:
            _close(client, cluster)


def _close(client: "Client", cluster: Any = None) -> None:
    """End without waiting for what is still being computed."""
    with suppress(OSError, TimeoutError, RuntimeError):
        client.close(timeout=CLOSE_S)
    if cluster is not None:
        with suppress(OSError, TimeoutError, RuntimeError):
            cluster.close(timeout=CLOSE_S)
