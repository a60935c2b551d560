"""Message times over several hops: a chain of real processes in which each passes packets on to the next."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.base.errors import ScenarioError
from simulator.base.machine import require_linux, this_machine
from simulator.calibration.bench.children import Children
from simulator.calibration.pingpong.campaign import Plan, SizePoint, machine_warnings, measure_sizes, open_store
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
        commands: dict[int, dict[str, Any]] = {
            0: {"do": "sample", "peer": 1, "first": True, "both": False, **shared},
            hops: {"do": "sample", "peer": hops - 1, "first": False, "both": False, **shared},
        }
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


@dataclass(frozen=True)
class ChainMeasurement:
    """Message times by size and hops, and what to know before they are trusted."""

    packet_bytes: int
    cpus: tuple[int, ...]
    points: tuple[SizePoint, ...]
    warnings: tuple[str, ...]

    def rows(self) -> list[tuple[int, int, float]]:
        """Bytes, hops, median one-way seconds."""
        return [
            (point.size_bytes, int(hops), point.median_s(hops)) for point in self.points for hops in point.samples_s
        ]


def measure_chain(
    sizes: Sequence[int],
    hops: Sequence[int],
    *,
    packet_bytes: int,
    budget_s: float,
    seed: int,
    store: Path | None = None,
    on_progress: Callable[[str, float], None] = lambda _stage, _share: None,
) -> ChainMeasurement:
    """Measure message times over chains of real processes on the PEs of this machine.

    Raises
    ------
    ScenarioError
        If the budget is too small, or there is one PE only.
    CalibrationError
        Elsewhere than on Linux, and if a process ends early.
    """
    require_linux()
    machine = this_machine()
    cpus = tuple(core.cpu for core in machine.cores[: machine.pe_count])
    if len(cpus) < 2:
        raise ScenarioError("this machine: 1 PE found, 2 needed for messages between PEs")
    plan = Plan(sorted(sizes), [str(count) for count in hops], budget_s, seed)
    subject = {"what": "chain", "packet_bytes": packet_bytes, "cpus": list(cpus)}
    kept = open_store(store, plan, subject=subject, machine=machine)
    with open_chain(max(hops), cpus=cpus, packet_bytes=packet_bytes) as chain:
        points = tuple(measure_sizes(plan, chain.sample_s, kept, on_progress=on_progress))
    warnings = machine_warnings(machine)
    if max(hops) >= len(cpus):
        warnings.append(
            f"{max(hops) + 1} processes share {len(cpus)} PEs: no more than {len(cpus)} packets are passed on at once"
        )
    return ChainMeasurement(packet_bytes, cpus, points, tuple(warnings))
