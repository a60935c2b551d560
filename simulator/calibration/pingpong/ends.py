"""The jobs at an end of message times: channels to other processes, and samples over them."""

import contextlib
import json
import os
import select
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.base.errors import CalibrationError
from simulator.calibration.bench.worker import Jobs

MAX_BYTES = 2**30
"""Largest message, so that no command of a peer can ask for all memory."""
MAX_ROUNDS = 100_000
MAX_BATCHES = 1000
SILENCE_S = 60.0
"""How long the other end of an exchange may be silent."""
_SMALL_BYTES = 4096
"""Fits every buffer of the system: sent before the other's is received, it blocks neither."""
SAMPLE_LIMIT_S = 60.0


class ChannelEndedError(CalibrationError):
    """The process at the other end is gone."""


class StreamChannel:
    """File descriptors of pipes or of a connected socket.

    Of a socket both descriptors, written to and read from, are the same one.
    """

    def __init__(self, out: int, into: int) -> None:
        self._out = out
        self._in = into

    @property
    def ends(self) -> tuple[int, int]:
        """Descriptors written to and read from."""
        return self._out, self._in

    def send(self, payload: memoryview) -> None:
        """Write all of it; blocks while the other end does not read."""
        while payload:
            try:
                payload = payload[os.write(self._out, payload) :]
            except (ConnectionError, TimeoutError) as error:  # the system's own limit, where a host is gone
                raise ChannelEndedError("the other process: ended early") from error

    def receive(self, payload: memoryview) -> None:
        """Read until it is full."""
        while payload:
            payload = payload[self._read(payload) :]

    def exchange(self, sent: memoryview, received: memoryview) -> None:
        """Small messages one after the other; of larger ones whatever the buffers take, in both directions at once."""
        if len(sent) <= _SMALL_BYTES:
            self.send(sent)
            self.receive(received)
            return
        with self._not_blocking():
            self._exchange(select.poll(), sent, received)

    def _exchange(self, poll: select.poll, sent: memoryview, received: memoryview) -> None:
        while sent or received:
            with contextlib.suppress(BlockingIOError):
                while sent:
                    sent = sent[os.write(self._out, sent) :]
            with contextlib.suppress(BlockingIOError):
                while received:
                    received = received[self._read(received) :]
            wanted = {self._out: 0, self._in: 0}
            wanted[self._out] |= select.POLLOUT if sent else 0
            wanted[self._in] |= select.POLLIN if received else 0
            for number, events in wanted.items():
                poll.register(number, events)
                if not events:
                    poll.unregister(number)
            if (sent or received) and not poll.poll(1000 * SILENCE_S):
                raise ChannelEndedError(f"the other process: nothing for {SILENCE_S:g} s")

    def _read(self, payload: memoryview) -> int:
        try:
            count = os.readv(self._in, [payload])
        except (ConnectionError, TimeoutError) as error:
            raise ChannelEndedError("the other process: ended early") from error
        if not count:
            raise ChannelEndedError("the other process: ended early")
        return count

    @contextlib.contextmanager
    def _not_blocking(self) -> Iterator[None]:
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)
        try:
            yield
        finally:
            os.set_blocking(self._out, True)
            os.set_blocking(self._in, True)


class MpiChannel:
    """Messages to one other rank."""

    def __init__(self, mpi: Any, peer: int) -> None:
        self._world = mpi.COMM_WORLD
        self._byte = mpi.BYTE
        self._peer = peer

    def send(self, payload: memoryview) -> None:
        """A standard send: eager or rendezvous, as the library decides."""
        self._world.Send([payload, self._byte], dest=self._peer)

    def receive(self, payload: memoryview) -> None:
        """A receive from that rank."""
        self._world.Recv([payload, self._byte], source=self._peer)


Channel = StreamChannel | MpiChannel
"""A way to one other process and back."""


class Buffers:
    """What is sent and what comes back, kept between samples so that their pages are there before the clock starts."""

    def __init__(self) -> None:
        self._sent = np.zeros(0, dtype=np.uint8)
        self._received = np.zeros(0, dtype=np.uint8)

    def views(self, size_bytes: int) -> tuple[memoryview, memoryview]:
        """Two buffers of one size: the first holds what every process sends, the second something else."""
        if not 0 < size_bytes <= MAX_BYTES:
            raise CalibrationError(f"a message of {size_bytes} bytes; give 1 to {MAX_BYTES}")
        if self._sent.size < size_bytes:
            self._sent = np.arange(size_bytes, dtype=np.uint32).astype(np.uint8)
            self._received = np.ones(size_bytes, dtype=np.uint8)
        self._received[:size_bytes] = 255
        return self._sent.data[:size_bytes], self._received.data[:size_bytes]

    def same(self, size_bytes: int) -> bool:
        """Whether what was received is what was sent."""
        return np.array_equal(self._sent[:size_bytes], self._received[:size_bytes])


@dataclass(frozen=True)
class Sampled:
    """What a sample took."""

    wall_s: float
    """Seconds of a batch, the median of all: where others take the PE away now and then, few batches see it."""


class End:
    """One end: its channels, by the number of the process at the other end, and its buffers."""

    def __init__(self, channels: Mapping[int, Channel]) -> None:
        self._channels = channels
        self._buffers = Buffers()

    def sample(self, peer: int, size_bytes: int, rounds: int, batches: int, *, first: bool) -> Sampled:
        """Carry out one sample with a peer, which carries out the same with the other value of `first`.

        `rounds` are timed in one go, so that the clock's grain does not matter; `first` says who sends first.
        """
        sent, received = self._buffers.views(size_bytes)
        channel = self._channels[peer]
        wall_s = batch_s(lambda: bounce(channel, sent, received, rounds=rounds, first=first), batches)
        if not self._buffers.same(size_bytes):
            raise CalibrationError(f"message of {size_bytes} bytes: other bytes came back than were sent")
        return Sampled(wall_s)


def batch_s(batch: Callable[[], None], batches: int) -> float:
    """Seconds of a batch, the median of so many."""
    marks = [time.perf_counter()]
    for _ in range(batches):
        batch()
        marks.append(time.perf_counter())
    return float(np.median(np.diff(marks)))


def bounce(channel: Channel, sent: memoryview, received: memoryview, *, rounds: int, first: bool) -> None:
    """So many ping-pongs: the first end sends and waits, the other sends back what came."""
    for _ in range(rounds):
        if first:
            channel.send(sent)
            channel.receive(received)
        else:
            channel.receive(received)
            channel.send(received)


def jobs(channels: str) -> Jobs:
    """An end that has so many channels, `{"PEER": [OUT, IN]}`, or with `mpi` one to each rank of its program."""
    if channels == "mpi":
        from mpi4py import MPI

        end = End({rank: MpiChannel(MPI, rank) for rank in range(MPI.COMM_WORLD.Get_size())})
    else:
        end = End({int(peer): StreamChannel(*ends) for peer, ends in json.loads(channels).items()})
    return {"sample": end.sample}
