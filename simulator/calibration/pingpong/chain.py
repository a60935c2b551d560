"""Message times over several hops: a chain of real processes in which each passes packets on to the next."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from simulator.calibration.parallel.children import Children
from simulator.calibration.pingpong.pairs import SAMPLE_LIMIT_S, start_endpoints


class Chain:
    """Processes in a row, joined by Unix sockets; the first and the one so many hops away play ping-pong."""

    def __init__(self, children: Children, *, packet_bytes: int) -> None:
        self._children = children
        self._packet_bytes = packet_bytes

    def sample_s(self, pattern: str, size_bytes: int, *, rounds: int, batches: int) -> float:
        """Seconds per message over as many hops as `pattern` says, half a round trip."""
        hops = int(pattern)
        shared = {"size_bytes": size_bytes, "rounds": rounds, "batches": batches}
        commands = {0: {"do": "sample", "peer": 1, "first": True, "both": False, **shared}}
        commands[hops] = {"do": "sample", "peer": hops - 1, "first": False, "both": False, **shared}
        for number in range(1, hops):
            neighbours = [number - 1, number + 1]
            commands[number] = {"do": "relay", "peers": neighbours, "packet_bytes": self._packet_bytes, **shared}
        answers = self._children.ask(commands, limit_s=SAMPLE_LIMIT_S)
        return float(answers[0]["wall_s"]) / rounds / 2


@contextmanager
def open_chain(hops: int, *, cpus: Sequence[int], packet_bytes: int) -> Iterator[Chain]:
    """A chain of `hops + 1` processes, on the processors in turn; relays pass on packets of so many bytes."""
    places = [cpus[number % len(cpus)] for number in range(hops + 1)]
    joined = [(number, number + 1) for number in range(hops)]
    with start_endpoints(places, "unix", joined=joined) as children:
        yield Chain(children, packet_bytes=packet_bytes)
