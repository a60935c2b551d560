"""A command line as the processes of a parallel run: one pinned process per rank, all started at once."""

import shlex
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from simulator.base.errors import CalibrationError
from simulator.calibration.bench.children import Children
from simulator.calibration.bench.outcome import failure
from simulator.calibration.bench.usage import Usage
from simulator.calibration.ranks.ranks import RealRun

_START_S = 60.0
"""How long starting may take beside the run itself."""


class CommandRanks:
    """Launchers, one per rank and pinned to its PE; a context manager that ends them and all that they started.

    Parameters
    ----------
    cpus
        The logical processor of each rank; several ranks may share one, and a run may move them.
    """

    def __init__(self, cpus: Sequence[int]) -> None:
        self.cpus = tuple(cpus)
        self._children = Children("simulator.calibration.bench.launcher", [[str(cpu)] for cpu in cpus])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._children.end()

    def run(
        self, words: Sequence[Sequence[str]], *, limit_s: float, places: Sequence[Sequence[int]] | None = None
    ) -> RealRun:
        """Start the words of the first ranks at once and wait for all.

        The makespan is the longest time from a rank's start to its end, so that our own start-up does not count.

        Parameters
        ----------
        words
            Of each rank that has something to do.
        limit_s
            What takes longer is stopped.
        places
            The logical processors that each may use; where it was last by default.

        Raises
        ------
        CalibrationError
            If a command cannot start, fails, or takes longer than the limit, with its rank.
        """
        commands = {
            rank: {"do": "run", "words": list(own), "limit_s": limit_s}
            | ({"cpus": list(places[rank])} if places else {})
            for rank, own in enumerate(words)
        }
        answers = self._children.ask(commands, limit_s=_START_S + limit_s)
        for rank, answer in answers.items():
            if said := failure(answer, limit_s=limit_s):
                raise CalibrationError(f"rank {rank}: {shlex.join(words[rank])}: {said}")
        usages = [Usage(**answers[rank]["usage"]) for rank in range(len(words))]
        return RealRun(max(usage.wall_s for usage in usages), tuple(usages))
