"""Pins a rank of an MPI program, then becomes it: `python -m simulator.calibration.bench.pin CPUS -- COMMAND...`.

CPUS lists the logical processor of each rank, separated by commas. The rank comes from what the launcher says in the
environment (MPICH's and other PMI, Open MPI, PMIx, Slurm). The rank gets a session of its own: Linux shares a processor
between sessions first and between the processes of each second (autogroup), so that ranks and competitors weigh the
same only if each has its own. Nothing but the standard library is used: `python -I -S pin.py` starts in milliseconds.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence

RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MPI_LOCALRANKID", "SLURM_PROCID")
"""Environment variables that hold the rank, the first one that is there counts."""
_PR_SET_PDEATHSIG = 1


def cpu_of(listed: str, environment: Mapping[str, str]) -> int | None:
    """The processor of this rank; None where the list leaves it open.

    Raises
    ------
    SystemExit
        If the environment tells no rank, or the list has no processor for it.
    """
    rank = next((environment[name] for name in RANKS if name in environment), None)
    if rank is None:
        raise SystemExit(f"pin: no rank found, one of {', '.join(RANKS)} needed: start it by mpiexec")
    cells = listed.split(",")
    if not rank.isdigit() or int(rank) >= len(cells) or not (cells[int(rank)] or "0").isdigit():
        raise SystemExit(f"pin: no processor for rank {rank} found in {listed!r}")
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
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execvp(command[0], list(command))  # noqa: S606
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: os.kill(child, got))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status not in {signal.SIGKILL, signal.SIGSTOP} else None
        os.kill(os.getpid(), -status)
    os._exit(status)


def main() -> None:
    """Pin and become the command."""
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        raise SystemExit("usage: pin CPUS -- COMMAND [ARGUMENT ...]")
    cpu = cpu_of(sys.argv[1], os.environ)
    try:
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        become(sys.argv[3:])
    except OSError as error:
        raise SystemExit(f"pin: {sys.argv[3]} on processor {cpu}: {(error.strerror or str(error)).lower()}") from error


if __name__ == "__main__":
    main()
