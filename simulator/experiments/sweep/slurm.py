"""A sweep on jobs of Slurm: what may be said of them, the script, and new jobs for those whose time is up."""

import difflib
import logging
import re
import shlex
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from simulator.base import units
from simulator.base.errors import ScenarioError, SweepError
from simulator.experiments.sweep.clusters import close, quiet_logs, settings

if TYPE_CHECKING:
    from distributed import Client

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
    directives = []
    for part in _parts(text):
        key, equals, value = part.partition("=")
        if not equals or key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            nearest = f"; nearest: {near[0]}" if near and near[0] != key else ""
            raise ScenarioError(f"--slurm: {part!r} is not KEY=VALUE with one of {', '.join(_KEYS)}{nearest}")
        if key == "directive":
            directives.append(value)
        else:
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
    """Ask for jobs, and again whenever some have ended; what Slurm refuses the first time is told."""
    logging.getLogger("tornado.application").setLevel(logging.CRITICAL)  # what Slurm says is told by us, once

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
