"""Drives pairs of real processes on this machine over one medium, one process of a pair on each of two PEs."""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from simulator.base.errors import CalibrationError
from simulator.calibration.bench.children import Children

ENDPOINT: Final = "simulator.calibration.pingpong.endpoint"
LEAD_S = 0.01
"""How long before pairs begin at once their start is told, so that all are ready."""
SAMPLE_LIMIT_S = 60.0
MAX_STRANGERS = 100
"""Connections of other processes to a socket of loopback before ours."""

Ends = tuple[int, int]
"""File descriptors that a process writes to and reads from."""


class Driver(Protocol):
    """Processes that carry out samples."""

    def ask(self, commands: Mapping[int, Mapping[str, Any]], *, limit_s: float) -> dict[int, dict[str, Any]]:
        """Hand each process its command at once and wait for all answers."""


class Pairs:
    """Pairs of processes, and the message times between them.

    Parameters
    ----------
    driver
        Where commands go.
    sides
        Per pair the processes that we drive: number, number of its peer, whether it sends first.
    steer
        Whether a process tells its peer what comes, since nobody here drives that one.
    """

    def __init__(
        self, driver: Driver, sides: Sequence[Sequence[tuple[int, int, bool]]], *, steer: bool = False
    ) -> None:
        self._driver = driver
        self._sides = sides
        self._steer = steer

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return len(self._sides)

    def sample_s(self, pattern: str, size_bytes: int, *, rounds: int, batches: int) -> float:
        """Seconds per message.

        Parameters
        ----------
        pattern
            `one_way`: half a round trip of the first pair; `exchange`: both of it send at once, until both have
            received; `pairs`: half a round trip of all pairs at once, on average.
        size_bytes, rounds, batches
            Of each message; how many ping-pongs or exchanges are timed in one go; how many such batches give a median.
        """
        command = {"do": "sample", "size_bytes": size_bytes, "rounds": rounds, "batches": batches}
        command |= {"both": pattern == "exchange", "steer": self._steer}
        active = self._sides if pattern == "pairs" else self._sides[:1]
        if len(active) > 1:
            command["start"] = time.monotonic() + LEAD_S
        commands = {
            number: command | {"peer": peer, "first": first} for sides in active for number, peer, first in sides
        }
        answers = self._driver.ask(commands, limit_s=SAMPLE_LIMIT_S)
        firsts = [number for sides in active for number, _, first in sides if first]
        mean_s = sum(float(answers[number]["wall_s"]) for number in firsts) / len(firsts) / rounds
        return mean_s if pattern == "exchange" else mean_s / 2

    def cpu_s(self, size_bytes: int, *, rounds: int) -> float:
        """CPU seconds of a message at an end of the first pair, the mean of sending and receiving.

        In a ping-pong each end sends one message and receives one; the ends that we drive count.
        """
        command = {"do": "sample", "size_bytes": size_bytes, "rounds": rounds, "batches": 1}
        command |= {"both": False, "steer": self._steer}
        commands = {number: command | {"peer": peer, "first": first} for number, peer, first in self._sides[0]}
        answers = self._driver.ask(commands, limit_s=SAMPLE_LIMIT_S)
        return sum(float(answer["cpu_s"]) for answer in answers.values()) / (2 * rounds * len(answers))


@contextmanager
def local_pairs(medium: str, cpus: Sequence[tuple[int, int]]) -> Iterator[Pairs]:
    """Pairs on this machine over `pipe`, `unix` or `tcp`, each on two of the processors."""
    with start_endpoints([cpu for pair in cpus for cpu in pair], medium, joined=_twos(len(cpus))) as children:
        yield Pairs(children, [[(one, other, True), (other, one, False)] for one, other in _twos(len(cpus))])


def _twos(count: int) -> list[tuple[int, int]]:
    return [(2 * pair, 2 * pair + 1) for pair in range(count)]


def start_endpoints(cpus: Sequence[int], medium: str, *, joined: Sequence[tuple[int, int]]) -> Children:
    """A process pinned to each processor, with channels between those that are joined.

    Raises
    ------
    CalibrationError
        If a process or a connection cannot be had.
    """
    channels: list[dict[int, Ends]] = [{} for _ in cpus]
    made: list[Ends] = []
    try:
        for one, other in joined:
            channels[one][other], channels[other][one] = both = CONNECT[medium]()
            made += both
        rows = [(str(cpu), json.dumps(own)) for cpu, own in zip(cpus, channels, strict=True)]
        inherited = [sorted({number for ends in own.values() for number in ends}) for own in channels]
        return Children(ENDPOINT, rows, inherited=inherited)
    except OSError as error:
        raise CalibrationError(f"{medium}: {(error.strerror or str(error)).lower()}") from error
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
