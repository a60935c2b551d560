"""Drives pairs of real processes that exchange messages over any medium."""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from simulator.base.errors import CalibrationError, ScenarioError, reason
from simulator.calibration.bench.group import Group, mpi_fault
from simulator.calibration.pingpong.ends import SAMPLE_LIMIT_S, Sampled

LEAD_S = 0.01
"""How long before pairs begin at once their start is said, so that all are ready."""
MAX_STRANGERS = 100
"""Connections of other processes to a socket of loopback before ours."""

Ends = tuple[int, int]
"""File descriptors that a process writes to and reads from."""


class Pairs:
    """Pairs of processes, and the message times between them.

    `sides` are per pair the processes that we drive: number, number of its peer, whether it sends first.
    """

    def __init__(
        self,
        group: Group,
        sides: Sequence[Sequence[tuple[int, int, bool]]],
        *,
        library: str = "",
        limit_s: float = SAMPLE_LIMIT_S,
    ) -> None:
        self.library = library
        self._limit_s = limit_s
        self._group = group
        self._sides = sides

    def sample_s(self, pattern: str, size_bytes: int, *, rounds: int, batches: int) -> float:
        """Seconds per message.

        `pattern`: `one_way`: half a round trip of the first pair; `exchange`: both of it send at once, until both have
        received; `pairs`: half a round trip of all pairs at once, on average.
        `size_bytes`, `rounds`, `batches`: of each message; how many ping-pongs or exchanges are timed in one go; how
        many such batches give a median.
        """
        active = self._sides if pattern == "pairs" else self._sides[:1]
        both, command = pattern == "exchange", {"do": "sample", "size_bytes": size_bytes, "rounds": rounds}
        command |= {"batches": batches, "both": both, "start": time.monotonic() + LEAD_S if len(active) > 1 else None}
        commands = {
            number: command | {"peer": peer, "first": first} for sides in active for number, peer, first in sides
        }
        answers = self._group.ask(commands, Sampled, limit_s=self._limit_s)
        firsts = [number for sides in active for number, _, first in sides if first]
        mean_s = sum(answers[number].wall_s for number in firsts) / len(firsts) / rounds
        return mean_s if both else mean_s / 2


@contextmanager
def local_pairs(medium: str, cpus: Sequence[tuple[int, int]]) -> Iterator[Pairs]:
    """Pairs on this machine over `pipe`, `unix`, `tcp` or `mpi`, each on two of the processors."""
    places, joined = [cpu for pair in cpus for cpu in pair], [(2 * pair, 2 * pair + 1) for pair in range(len(cpus))]
    with start_ends(places, medium, joined=joined) as group:
        yield Pairs(group, [[(one, other, True), (other, one, False)] for one, other in joined], library=group.library)


def start_ends(cpus: Sequence[int], medium: str, *, joined: Sequence[tuple[int, int]]) -> Group:
    """A process pinned to each processor, with channels between those that are joined; see `local_pairs`."""
    if medium == "mpi":
        if fault := mpi_fault():
            raise ScenarioError(f"--between mpi: {fault}")
        return Group("ping-pong", [(cpu, "mpi") for cpu in cpus], mpi=True)
    channels: list[dict[int, Ends]] = [{} for _ in cpus]
    made: list[Ends] = []
    try:
        for one, other in joined:
            channels[one][other], channels[other][one] = both = CONNECT[medium]()
            made += both
        rows = [(cpu, json.dumps(own)) for cpu, own in zip(cpus, channels, strict=True)]
        inherited = [sorted({number for ends in own.values() for number in ends}) for own in channels]
        return Group("ping-pong", rows, inherited=inherited)
    except OSError as error:
        raise CalibrationError(f"{medium}: {reason(error)}") from error
    finally:  # the processes keep their own: an end that is gone is noticed at the other
        for number in {number for ends in made for number in ends}:
            os.close(number)


def pipe_ends() -> tuple[Ends, Ends]:
    """Both ends of two pipes, one each way."""
    there, back = os.pipe(), os.pipe()
    return (there[1], back[0]), (back[1], there[0])


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


CONNECT: Final[dict[str, Callable[[], tuple[Ends, Ends]]]] = {"pipe": pipe_ends, "unix": unix_ends, "tcp": tcp_ends}
"""Medium -> what makes both ends."""
