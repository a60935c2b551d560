"""Drives real ranks, one pinned to each PE: kernels side by side, ping-pong, and the row-partitioned matrix product."""

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from simulator.calibration.bench.children import LIMIT_S, Children
from simulator.calibration.bench.usage import Usage

_RANK = "simulator.calibration.ranks.rank"


@dataclass(frozen=True)
class RealRun:
    """One run of the matrix product on real processes."""

    makespan_s: float
    """Last finish minus first start."""
    compute: tuple[Usage, ...]
    """What the computation of each rank cost."""


class Ranks:
    """Real processes, rank 0 joined to every other by a socket pair; a context manager that ends them.

    Parameters
    ----------
    cpus
        The logical processor of each rank.
    """

    def __init__(self, cpus: Sequence[int]) -> None:
        self.cpus = tuple(cpus)
        pairs = [socket.socketpair() for _ in cpus[1:]]
        own = [{rank: pair[0].fileno() for rank, pair in enumerate(pairs, start=1)}]
        own += [{0: pair[1].fileno()} for pair in pairs]
        arguments = [(str(cpu), json.dumps(peers)) for cpu, peers in zip(cpus, own, strict=True)]
        try:
            self._children = Children(_RANK, arguments, inherited=[list(peers.values()) for peers in own])
        finally:
            for pair in pairs:
                pair[0].close()
                pair[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._children.end()

    def prepare(self, kernel: str, n: int, rows: int) -> None:
        """Make the operands of a kernel ready on every rank and run it there once."""
        self._all({"do": "prepare", "kernel": kernel, "n": n, "rows": rows})

    def measure(self, kernel: str, n: int, rows: int, *, inner: int, ranks: Sequence[int] | None = None) -> list[Usage]:
        """Run a prepared kernel `inner` times in a row, on all ranks at once (or on some), and say what it cost."""
        command = {"do": "measure", "kernel": kernel, "n": n, "rows": rows, "inner": inner}
        return [Usage(**answer) for answer in self._all(command, ranks=ranks).values()]

    def forget(self) -> None:
        """Free the operands of all kernels."""
        self._all({"do": "forget"})

    def ping(self, size_bytes: int, *, peer: int) -> float:
        """Seconds for a payload from rank 0 to a peer, half of there and back."""
        command = {"do": "ping", "size_bytes": size_bytes}
        commands = {0: command | {"peer": peer, "first": True}, peer: command | {"peer": 0, "first": False}}
        return float(self._children.ask(commands)[0]["wall_s"]) / 2

    def prepare_matmul(self, kernel: str, n: int, partition: Sequence[int], *, limit_s: float = LIMIT_S) -> None:
        """Give the master A and B, and every rank room for its part; earlier partitions of the same n stay ready."""
        command = {"do": "prepare-matmul", "kernel": kernel, "n": n, "rows": list(partition)}
        self._children.ask({rank: command | {"rank": rank} for rank in range(len(partition))}, limit_s=limit_s)

    def matmul(self, partition: Sequence[int], *, limit_s: float = LIMIT_S) -> RealRun:
        """Run a prepared matrix product once: distribute, multiply, collect; the product is checked.

        Raises
        ------
        CalibrationError
            If a rank ends; `NoAnswerError` if one takes longer than the limit, after which the ranks are of no use.
        """
        answers = self._all({"do": "matmul", "rows": list(partition)}, limit_s=limit_s)
        last_end = max(answer["end"] for answer in answers.values())
        computed = tuple(Usage(**answer["compute"]) for answer in answers.values())
        return RealRun(last_end - answers[0]["start"], computed)  # one clock serves all processes; the master starts

    def _all(
        self, command: Mapping[str, Any], *, ranks: Sequence[int] | None = None, limit_s: float = LIMIT_S
    ) -> dict[int, dict[str, Any]]:
        asked = range(len(self.cpus)) if ranks is None else ranks
        return self._children.ask(dict.fromkeys(asked, command), limit_s=limit_s)
