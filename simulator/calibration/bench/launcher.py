"""Jobs that run a command line and account for it and whatever it starts and leaves behind, and for what failed."""

import contextlib
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.base.machine import descendants
from simulator.calibration.bench import pin
from simulator.calibration.bench.usage import Usage
from simulator.calibration.bench.worker import Jobs

_TAIL_BYTES = 4096
"""How much of what a run says at last is kept."""
_LAST_READS = 16
"""How often a pipe is read once its writer should be gone: as much as one holds, and no end if it writes on."""


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what it cost with all that it started."""

    failed: str = ""
    """Why it could not be started; all else is as if nothing had run then."""
    status: int = 0
    timed_out: bool = False
    said: str = ""
    """Its last line on standard error."""
    output: str = ""
    peak_bytes: int = 0
    usage: Usage = field(default_factory=Usage)


def jobs(device: str = "") -> Jobs:
    """Be ready to start commands: asked to end, and without the driver, this process ends them first.

    Of GPUs commands see the one named alone.
    """
    if device:
        from simulator.calibration.kernels.device import show_only  # most commands need no kernel

        show_only(device)
    signal.signal(signal.SIGTERM, _end)
    pin.end_with_parent(signal.SIGTERM)
    pin.adopt_orphans()
    return {"limit": pin.limit_memory, "allocate": pin.allocate, "run": run_once}


def run_once(
    words: Sequence[str],
    *,
    limit_s: float,
    keep_bytes: int = 0,
    folder: str | None = None,
    cpus: Sequence[int] = (),
) -> Ended:
    """Run a command line to its end or for `limit_s` seconds, and say what it cost with all its children.

    `keep_bytes` of the end of standard output come back as `output`, and what is not kept is not read; `cpus` are those
    of before by default.
    """
    if cpus:
        os.sched_setaffinity(0, cpus)
    start = time.perf_counter()
    try:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if keep_bytes else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
            preexec_fn=pin.end_with_parent,  # noqa: PLW1509 - this process has one thread
        )
    except OSError as error:
        return Ended(failed=(error.strerror or str(error)).lower())
    ended, heard = _wait(child, start + limit_s, keep_bytes=keep_bytes)
    wall_s = time.perf_counter() - start
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    end_descendants()
    status, usages = _reap(child)
    lines = heard["stderr"].strip().splitlines()
    cpu_s = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    switches = (sum(usage.ru_nvcsw for usage in usages), sum(usage.ru_nivcsw for usage in usages))
    return Ended(
        status=status,
        timed_out=not ended,
        said=lines[-1] if lines else "",
        output=heard.get("stdout", ""),
        peak_bytes=1024 * max(usage.ru_maxrss for usage in usages),
        usage=Usage(cpu_s, wall_s, *switches),
    )


def _wait(child: "subprocess.Popen[bytes]", deadline: float, *, keep_bytes: int) -> tuple[bool, dict[str, str]]:
    """Whether the run ended in time, and the end of what it said on each stream."""
    keep = {"stderr": _TAIL_BYTES, "stdout": keep_bytes}
    streams = {stream.fileno(): name for name in keep if (stream := getattr(child, name)) is not None}
    tails, ended = dict.fromkeys(streams, b""), False
    handle = os.pidfd_open(child.pid)
    poll = select.poll()
    for number in (handle, *streams):
        poll.register(number, select.POLLIN)
    try:
        while not ended and (left_s := deadline - time.perf_counter()) > 0:
            for number, _ in poll.poll(1000 * left_s):
                if number == handle:
                    ended = True
                elif chunk := os.read(number, 2**16):
                    tails[number] = (tails[number] + chunk)[-keep[streams[number]] :]
                else:
                    poll.unregister(number)
        for number, name in streams.items():
            tails[number] = _rest(number, tails[number], keep_bytes=keep[name])
    finally:
        os.close(handle)
        for name in streams.values():
            getattr(child, name).close()
    return ended, {name: tails[number].decode(errors="replace") for number, name in streams.items()}


def _rest(number: int, tail: bytes, *, keep_bytes: int) -> bytes:
    """What is left in a pipe whose writer has ended or is about to."""
    os.set_blocking(number, False)
    with contextlib.suppress(BlockingIOError):
        for _ in range(_LAST_READS):
            tail = (tail + os.read(number, 2**16))[-keep_bytes:]
    return tail


def _reap(child: "subprocess.Popen[bytes]") -> tuple[int, list[resource.struct_rusage]]:
    """Exit status of the run, and the resources of it and of every process that it left to us."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    usages = [usage]
    with contextlib.suppress(ChildProcessError):
        while True:
            end_descendants()
            usages.append(os.wait4(-1, 0)[2])
    return child.returncode, usages


def end_descendants() -> None:
    """Kill whatever descends from this process, also what left the run's process group."""
    for number in descendants():
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _end(_signal: int, _frame: object) -> None:
    end_descendants()
    os._exit(1)


def failure(run: Ended, *, limit_s: float, memory_bytes: float | None = None) -> str | None:
    """Why a run is of no use, None if it is.

    `limit_s` is the time that it had, `memory_bytes` what it was allowed, to tell a silent end at that limit.
    """
    if run.failed:
        return run.failed
    if run.timed_out:
        return f"no end within {limit_s:g} s, stopped with all that it started"
    if not run.status:
        return None
    ended = f"ended by signal {-run.status}" if run.status < 0 else f"ended with exit status {run.status}"
    reached = memory_bytes is not None and run.peak_bytes >= 0.9 * memory_bytes
    return f"{ended}: {run.said or ('out of memory' if reached else 'no message')}"
