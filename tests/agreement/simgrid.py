"""Programs run by SimGrid, as an oracle: a description in lines of text goes in, the end of every operation comes out.

`tests/benchmarks/simgrid/interpreter.cpp` says what the lines mean, `tests/benchmarks/simgrid/README.md` what SimGrid
makes of them. The functions here write single lines; numbers keep all their digits.
"""

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.benchmarks import simgrid_cpp

EQUAL_WEIGHTS = "equal-weights"
"""As the first line: flows with unlike latencies share links equally, which SimGrid by itself does not do."""


class SimGridError(Exception):
    """SimGrid refused the description or did not come to an end; its last words are the message."""


@dataclass(frozen=True)
class SimGridRun:
    """When each operation of each process ended, in the processes' order."""

    ends_s: dict[str, list[float]]
    makespan_s: float

    @property
    def finish_s(self) -> dict[str, float]:
        """When each process ended; 0 for one that does nothing."""
        return {name: ends[-1] if ends else 0.0 for name, ends in self.ends_s.items()}


def run_simgrid(description: str | Iterable[str], *, options: Sequence[str] = (), limit_s: float = 60.0) -> SimGridRun:
    """Run one description; `options` such as `cpu/optim:Full` go to SimGrid."""
    text = description if isinstance(description, str) else "\n".join(description)
    command = [str(simgrid_cpp.program("interpreter")), *(f"--cfg={option}" for option in options)]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise SimGridError(f"no end after {limit_s} s") from error
    if done.returncode:
        raise SimGridError(f"status {done.returncode}: {done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    return SimGridRun(answer["ends_s"], answer["makespan_s"])


def _profile(times_s: Sequence[float], values: Sequence[float], period_s: float | None) -> str:
    points = " ".join(f"{time!r} {value!r}" for time, value in zip(times_s, values, strict=True))
    return f"{'-' if period_s is None else repr(period_s)} {points}"


def host(name: str, speed: float, *, cores: int = 1) -> str:
    return f"host {name} {speed!r} {cores}"


def speed(name: str, times_s: Sequence[float], shares: Sequence[float], *, period_s: float | None = None) -> str:
    """The share of a host's speed that is there from each time on."""
    return f"speed {name} {_profile(times_s, shares, period_s)}"


def link(name: str, bandwidth: float, latency_s: float = 0.0, *, shared: bool = True) -> str:
    return f"link {name} {bandwidth!r} {latency_s!r}{'' if shared else ' fatpipe'}"


def route(source: str, destination: str, links: Iterable[str]) -> str:
    return f"route {source} {destination} {' '.join(links)}"


def star(
    hosts: Sequence[str], bandwidths: Sequence[float], latency_s: float, *, backbone: float | None = None
) -> list[str]:
    """A full-duplex link per host, and a backbone for all if wanted: links NAME:up, NAME:down, backbone; all routes.

    Half of `latency_s` on each private link, none on the backbone. Two processes on one host use SimGrid's loopback.
    """
    lines = [] if backbone is None else [link("backbone", backbone)]
    for name, capacity in zip(hosts, bandwidths, strict=True):
        lines += [link(f"{name}:up", capacity, latency_s / 2), link(f"{name}:down", capacity, latency_s / 2)]
    middle = [] if backbone is None else ["backbone"]
    pairs = ((a, b) for a in hosts for b in hosts if a != b)
    return lines + [route(a, b, [f"{a}:up", *middle, f"{b}:down"]) for a, b in pairs]


def process(name: str, place: str, operations: Iterable[str] = ()) -> list[str]:
    return [f"process {name} {place}", *operations]


def compute(flops: float) -> str:
    return f"compute {flops!r}"


def sleep(seconds: float) -> str:
    return f"sleep {seconds!r}"


def send(to: str, size_bytes: int, tag: int | str = 0) -> str:
    return f"send {to} {size_bytes} {tag}"


def recv(source: str, tag: int | str = 0) -> str:
    return f"recv {source} {tag}"
