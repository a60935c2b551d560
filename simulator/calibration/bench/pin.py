"""What stands before a program of ours or of others: its processor, session, memory, and whom it ends with.

`python -I -S pin.py CPUS -- COMMAND...` pins a rank of an MPI program, then becomes it. CPUS lists the logical
processor of each rank, separated by commas. The rank comes from what the launcher says in the environment (MPICH's and
other PMI, Open MPI, PMIx, Slurm). The rank gets a session of its own: Linux shares a processor between sessions first
and between the processes of each second (autogroup), so that ranks and competitors weigh the same only if each has its
own. `python -I -S pin.py driver=NUMBER -- COMMAND...` becomes a command that ends with the process of that number.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence

RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MPI_LOCALRANKID", "SLURM_PROCID")
"""Environment variables that hold the rank, the first one that is there counts."""
DRIVER = "driver="
ANYWHERE = "any"
"""In the place of processors: no pinning."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PRCTL = ctypes.CDLL(None).prctl


def die_with_parent(parent: int, *, by: signal.Signals = signal.SIGKILL) -> None:
    """Ask the system to end this process when its parent, of that number, ends (Linux); leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(by)
    if os.getppid() != parent:
        os._exit(1)  # it ended before we asked


def end_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Ask the system for a signal when the parent ends."""
    _PRCTL(_PR_SET_PDEATHSIG, by)


def adopt_orphans() -> None:
    """Ask the system to make this process the parent of what its children leave behind."""
    _PRCTL(_PR_SET_CHILD_SUBREAPER, 1)


def pin(cpus: str) -> None:
    """Keep this process on logical processors, listed with commas."""
    if cpus != ANYWHERE:
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})


def limit_memory(count_bytes: int) -> dict[str, bool]:
    """Let this process and each of its future children take `count_bytes` of memory more than this one has now.

    A request beyond it fails at once (`RLIMIT_DATA`), so that nothing swaps and no other process is killed.
    """
    import resource

    from simulator.base.machine import data_bytes  # only a worker does this, whose packages are at hand

    allowed = data_bytes() + count_bytes
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))
    return {}


def allocate(count_bytes: int) -> dict[str, bool]:
    """Whether the system grants so much memory; none of it is touched, and it is given back at once."""
    import mmap

    try:
        mmap.mmap(-1, max(1, count_bytes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, ValueError, OverflowError):
        return {"granted": False}
    return {"granted": True}


def cpu_of(listed: str, environment: Mapping[str, str]) -> int | None:
    """The processor of this rank; None where the list leaves it open."""
    rank = next((environment[name] for name in RANKS if name in environment), None)
    if rank is None:
        raise SystemExit(f"pin: none of {', '.join(RANKS)} says which rank this is: start it by mpiexec")
    cells = listed.split(",")
    if not rank.isdigit() or int(rank) >= len(cells) or not (cells[int(rank)] or "0").isdigit():
        raise SystemExit(f"pin: {listed!r} has no processor for rank {rank}")
    return int(cells[int(rank)]) if cells[int(rank)] else None


def become(command: Sequence[str]) -> None:
    """Run a command in a session of its own, in this process or, where it leads its process group, in a child."""
    if os.getsid(0) == os.getpid():
        os.execvp(command[0], list(command))  # noqa: S606 - no shell is meant
    if os.getpgrp() != os.getpid():
        os.setsid()
        os.execvp(command[0], list(command))  # noqa: S606
    child = os.fork()
    if not child:
        os.setsid()
        end_with_parent()
        os.execvp(command[0], list(command))  # noqa: S606
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: os.kill(child, got))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status not in {signal.SIGKILL, signal.SIGSTOP} else None
        os.kill(os.getpid(), -status)
    os._exit(status)


def main() -> None:
    """Pin, or stay with the driver, and become the command."""
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        raise SystemExit("usage: pin CPUS|driver=NUMBER -- COMMAND [ARGUMENT ...]")
    place, command = sys.argv[1], sys.argv[3:]
    if place.startswith(DRIVER):
        die_with_parent(int(place.removeprefix(DRIVER)))
        os.execvp(command[0], command)  # noqa: S606 - no shell is meant
    cpu = cpu_of(place, os.environ)
    try:
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        become(command)
    except OSError as error:
        raise SystemExit(f"pin: {command[0]} on processor {cpu}: {(error.strerror or str(error)).lower()}") from error


if __name__ == "__main__":
    main()
