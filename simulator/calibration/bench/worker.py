"""The child program of all that is measured: `python -m simulator.calibration.bench.worker DRIVER CPUS SUBJECT ...`.

DRIVER is the number of the process that started it and that it ends with, or under mpiexec the socket where that one
listens; CPUS the logical processors that it may use, with commas, or `any`. Each line of input is a command in JSON,
`{"do": JOB, ...}`: the subject's job of that name is called with the rest, and what it returns is the answer, one line;
None is no answer. A job that is a generator yields its answer and then goes on, until `command_waits` at most. A fault
is answered as `{"fault": "..."}` and ends the process, as the end of input does. A subject is a row of the table here
and a module with `jobs`, which is called with the further arguments and returns the jobs by name.
"""

import importlib
import json
import os
import select
import sys
from collections.abc import Callable, Generator
from typing import Final

from simulator.calibration.bench.pin import die_with_parent, pin

SUBJECTS: Final = {
    "apex": "calibration.apex.reader",
    "command": "calibration.bench.launcher",
    "copies": "calibration.pingpong.copies",
    "kernel": "calibration.speed.solo",
    "load": "calibration.bench.busy_loop",
    "ping-pong": "calibration.pingpong.ends",
    "rank": "calibration.ranks.programs",
}
"""What is measured -> the module of `simulator` that has its jobs."""
_THREADED = ("OMP", "OPENBLAS", "MKL", "BLIS")
"""Libraries that would start threads of their own."""

Jobs = dict[str, Callable[..., object]]
"""Jobs by name; each takes the fields of its command and returns a dataclass, plain data, or None for no answer."""


def command_waits(within_s: float = 0.0) -> bool:
    """Whether the driver says something, or ends, within so many seconds."""
    return bool(select.select([0], [], [], within_s)[0])


def main() -> None:
    """Get ready, and obey the driver until it closes our input."""
    sys.modules["simulator.calibration.bench.worker"] = sys.modules[__name__]  # subjects need not load it again
    driver, cpus, subject, *arguments = sys.argv[1:]
    sys.excepthook = _fault
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in _THREADED})
    if driver.isdigit():
        die_with_parent(int(driver))
    else:
        _join(driver)
    pin(cpus)  # before any memory is touched
    jobs: Jobs = importlib.import_module(f"simulator.{SUBJECTS[subject]}").jobs(*arguments)
    for line in sys.stdin:
        command = json.loads(line)
        answer = jobs[command.pop("do")](**command)
        if isinstance(answer, Generator):
            _say(next(answer))
            next(answer, None)
        else:
            _say(answer)


def _say(answer: object) -> None:
    if answer is not None:
        sys.stdout.write(json.dumps(answer, default=vars) + "\n")
        sys.stdout.flush()


def _fault(kind: type[BaseException], error: BaseException, _trace: object) -> None:
    """Say what went wrong, to the driver and where nobody hears us, and end at once, so that peers notice."""
    lines = getattr(error, "lines", None)
    said = lines[0] if lines else f"{kind.__name__}: {error}"
    try:
        _say({"fault": said})
        sys.stderr.write(f"{said}\n")
    finally:
        os._exit(1)


def _join(path: str) -> None:
    """Take part in an MPI program, and obey the driver over a socket of our own."""
    import socket

    from mpi4py import MPI

    die_with_parent(os.getppid())
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(path)
        for stream in (sys.stdin, sys.stdout):
            os.dup2(control.fileno(), stream.fileno())
    library = " ".join(MPI.Get_library_version().strip("\0").splitlines()[0].split())[:80]
    _say({"rank": MPI.COMM_WORLD.Get_rank(), "world": MPI.COMM_WORLD.Get_size(), "library": library})


if __name__ == "__main__":
    main()
