"""Drives two real processes that exchange messages over any medium."""

import itertools
import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from simulator.base.errors import CalibrationError, ScenarioError, reason
from simulator.calibration.bench.group import Group, mpi_fault
from simulator.calibration.pingpong.ends import SAMPLE_LIMIT_S, Sampled

MAX_STRANGERS = 100
"""Connections of other processes to a socket of loopback before ours."""

Ends = tuple[int, int]
"""File descriptors that a process writes to and reads from."""


class Pair:
    """The message times between the two processes of a group."""

    def __init__(self, group: Group, *, limit_s: float = SAMPLE_LIMIT_S) -> None:
        self.library, self._group, self._limit_s = group.library, group, limit_s

    def sample_s(self, size_bytes: int, *, rounds: int, batches: int) -> float:
        """Seconds one way, half of a round trip.

        `rounds`, `batches`: how many ping-pongs are timed in one go; how many such batches give a median.
        """
        command = {"do": "sample", "size_bytes": size_bytes, "rounds": rounds, "batches": batches}
        commands = {number: command | {"peer": 1 - number, "first": not number} for number in (0, 1)}
        return self._group.ask(commands, Sampled, limit_s=self._limit_s)[0].wall_s / rounds / 2


@contextmanager
def local_pair(medium: str, cpus: Sequence[int]) -> Iterator[Pair]:
    """Two processes on two processors of this machine, joined by `unix`, `tcp` or `mpi`."""
    with _started(medium, cpus) as group:
        yield Pair(group)


def _started(medium: str, cpus: Sequence[int]) -> Group:
    if medium == "mpi":
        if fault := mpi_fault():
            raise ScenarioError(f"--between mpi: {fault}")
        return Group("ping-pong", [(cpu, "mpi") for cpu in cpus], mpi=True)
    ends: tuple[Ends, ...] = ()
    try:
        ends = CONNECT[medium]()
        rows = [(cpu, json.dumps({1 - number: own})) for number, (cpu, own) in enumerate(zip(cpus, ends, strict=True))]
        return Group("ping-pong", rows, inherited=[sorted({*own}) for own in ends])
    except OSError as error:
        raise CalibrationError(f"{medium}: {reason(error)}") from error
    finally:  # the processes keep their own: an end that is gone is noticed at the other
        for number in {*itertools.chain(*ends)}:
            os.close(number)


def unix_ends() -> tuple[Ends, Ends]:
    """Both ends of a pair of Unix sockets."""
    first, second = (end.detach() for end in socket.socketpair())
    return (first, first), (second, second)


def tcp_ends() -> tuple[Ends, Ends]:
    """Both ends of a TCP connection over loopback, small messages not held back."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        first = socket.create_connection(server.getsockname())
        for _ in range(MAX_STRANGERS):  # anybody on this machine may come in between
            second, who = server.accept()
            if who == first.getsockname():
                break
            second.close()
        else:
            raise CalibrationError(f"loopback: {MAX_STRANGERS} other connections came first; close what makes them")
    for end in (first, second):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one, other = first.detach(), second.detach()
    return (one, one), (other, other)


CONNECT: Final[dict[str, Callable[[], tuple[Ends, Ends]]]] = {"unix": unix_ends, "tcp": tcp_ends}
"""Medium -> what makes both ends."""
