"""Drives the processes of a sweep: memory made once, then visits, on which all of them read at the same time."""

import os
from contextlib import ExitStack
from dataclasses import asdict
from types import TracebackType
from typing import Self

from simulator.calibration.apex.plan import Cell, SweepPlan
from simulator.calibration.bench.children import Children
from simulator.calibration.kernels.sized import WORD_BYTES

_READER, _MPI = "simulator.calibration.apex.reader", "simulator.calibration.bench.mpi_launch"


class Readers:
    """Real processes, one pinned to each PE; a context manager that ends them and gives their memory back.

    One process has memory of its own. Several share a segment without a name, which holds memory of M words for
    every M: each process owns, that is, touches first and fills, an equal block, and all read everywhere.

    Parameters
    ----------
    plan
        Who takes part, and the largest M.
    warm_bytes
        How much memory a visit reads through before it begins: the last-level cache.
    """

    def __init__(self, plan: SweepPlan, *, warm_bytes: int) -> None:
        self._plan, self._warm_words = plan, max(1, warm_bytes // WORD_BYTES)
        self._stack = ExitStack()
        self._ranks = range(len(plan.cpus) if plan.over == "shared" else 1)
        """Those that we talk to: of MPI's, the first."""
        try:
            self._children = self._stack.enter_context(self._started(plan.m_words[-1]))
            self._children.ask({rank: {"do": "wait"} for rank in self._ranks})
        except BaseException:
            self._stack.close()
            raise

    def _started(self, words: int) -> Children:
        cpus = self._plan.cpus
        count = len(cpus)
        if self._plan.over == "mpi":
            return Children(_MPI, [(str(count), str(words), ",".join(map(str, cpus)))])
        shared = -1
        if count > 1:
            shared = os.memfd_create("apexmap")
            self._stack.callback(os.close, shared)
            os.ftruncate(shared, 2 * words * WORD_BYTES)
        rows = [tuple(map(str, (cpu, rank, count, words, shared))) for rank, cpu in enumerate(cpus)]
        return Children(_READER, rows, inherited=[[shared]] * count if count > 1 else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def visit(self, cell: Cell, *key: int) -> tuple[tuple[float, ...], int]:
        """Read a cell once, all processes at the same time.

        Parameters
        ----------
        key
            What the draws are for; each process adds its own number.

        Returns
        -------
        tuple
            Seconds per word of each process, CPU seconds or by MPI wall seconds; how often they lost their PE.

        Raises
        ------
        CalibrationError
            If a process ends or does not answer.
        """
        over = self._plan.over
        draw = {"do": "draw", "cell": asdict(cell), "stretches": cell.stretches(over)}
        if over == "mpi":
            return tuple(self._children.ask({0: draw | {"key": [self._plan.seed, *key]}})[0]["word_s"]), 0
        self._children.ask({rank: draw | {"key": [self._plan.seed, *key, rank]} for rank in self._ranks})
        read = {
            "do": "read",
            "length": cell.length,
            "repeats": cell.repeats(over),
            "warm_words": min(cell.m_words, self._warm_words),
        }
        answers = self._children.ask(dict.fromkeys(self._ranks, read)).values()
        return tuple(answer["word_s"] for answer in answers), sum(answer["switches"] for answer in answers)
