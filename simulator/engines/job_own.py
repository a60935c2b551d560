"""What a policy of the user's own sees in either engine, and what it decides in their terms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from simulator.base.errors import ScenarioError
from simulator.engines.costs.jobs import SECOND, JobCosts
from simulator.programs.streams.stream import Stream
from simulator.scheduling.own import Running, Seen, Waiting, checked_starts
from simulator.scheduling.places import Cluster
from simulator.scheduling.policy import Policy

__all__ = ["OwnDecisions"]


@dataclass(frozen=True, eq=False)
class OwnDecisions:
    """The passes of a policy of the user's own over one stream."""

    stream: Stream
    cluster: Cluster
    costs: JobCosts
    policy: Policy

    def starts(
        self, now: int, waiting: Iterable[tuple[int, int]], running: Sequence[tuple[int, int, int, Sequence[int]]]
    ) -> list[tuple[int, tuple[int, ...]]]:
        """Number and PEs of each job that starts now.

        Parameters
        ----------
        waiting
            Number and estimate in ticks of each job that waits, in the order of submission.
        running
            Number, start and planned end in ticks, and PEs of each job that runs.
        """
        stream, sizes = self.stream, self.costs.size
        named = self.policy.processors == "named"
        jobs = tuple(
            Waiting(
                job,
                self._id(job),
                int(sizes[job]),
                int(self.costs.submit[job]) / SECOND,
                plan / SECOND,
                int(stream.user[job]),
                float(self.costs.needs[job]),
            )
            for job, plan in waiting
        )
        busy = tuple(
            Running(job, self._id(job), int(sizes[job]), start / SECOND, end / SECOND, tuple(pes) if named else ())
            for job, start, end, pes in running
        )
        taken = {pe for one in busy for pe in one.pes}
        free_pes = tuple(pe for pe in range(self.cluster.count) if pe not in taken) if named else ()
        free = self.cluster.count - sum(one.processors for one in busy)
        own = self.policy.own
        assert own is not None  # noqa: S101 - only such policies come here
        return checked_starts(self.policy.own_name, own, Seen(now / SECOND, jobs, busy, free, free_pes, *self._pes))

    @cached_property
    def _pes(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Slowness and memory of each PE."""
        return tuple(self.cluster.slowness.tolist()), tuple(self.cluster.memory_bytes.tolist())

    def _id(self, job: int) -> Any:
        """What the source calls a job, as a number or text of Python."""
        return self.stream.ids[job].item()

    def check_ended(self, waiting: Sequence[int]) -> None:
        """Refuse a policy that leaves jobs waiting when nothing else is to come.

        Raises
        ------
        ScenarioError
            With how many, and the first.
        """
        if waiting:
            found = f"it leaves {len(waiting)} jobs waiting for ever, job {self.stream.ids[waiting[0]]} first"
            raise ScenarioError(f"policy {self.policy.own_name}: {found}; start each job at some time")
