"""What an operation log tells: which operations made a run as long as it was, and who waited for whom."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from simulator.base.arrays import Flags
from simulator.base.errors import ScenarioError
from simulator.engines.run_set import LoggedOperation, RunSet
from simulator.programs.assembly import assemble
from simulator.programs.columns import Columns, Kind
from simulator.programs.program import ANY
from simulator.scenario_file.scenario import Scenario

__all__ = ["Causes", "Step", "critical_path", "explain", "waits_by_pe"]


@dataclass(frozen=True)
class Step:
    """One link of a critical path: what happened from one tick to another, the later end of the operation."""

    operation: LoggedOperation
    from_ticks: int
    to_ticks: int


def critical_path(scenario: Scenario, runs: RunSet, configuration: int, replication: int) -> list[Step]:
    """The operations that made a run as long as it was, first to last; together they last as long as the run.

    A step that waited for another process begins when that one was ready; waiting for links, for PEs shared with
    others and for a farm's work is part of a step.

    Raises ScenarioError if this replication was not logged.
    """
    log, causes = explain(scenario, runs, configuration, replication)
    return [Step(log[row], begin, log[row].end_ticks) for row, begin in causes.path()]


def waits_by_pe(scenario: Scenario, runs: RunSet, configuration: int, replication: int) -> dict[tuple[str, str], float]:
    """Seconds that processes of one PE waited for those of another to be ready, by their names; without message times.

    Raises ScenarioError if this replication was not logged.
    """
    log, causes = explain(scenario, runs, configuration, replication)
    found: dict[tuple[str, str], int] = defaultdict(int)
    for row, entry in enumerate(log):
        ready_ticks, cause = causes.of(row)
        if log[cause].process != entry.process and ready_ticks > entry.start_ticks:
            found[entry.pe, log[cause].pe] += ready_ticks - entry.start_ticks
    return {pair: ticks * runs.tick_s for pair, ticks in found.items()}


class Causes:
    """What each operation of a logged run waited for; logs and columns list the same operations in the same order."""

    def __init__(self, columns: Columns, log: tuple[LoggedOperation, ...], *, eager: Flags) -> None:
        self.columns, self._log, self.eager = columns, log, eager
        self._kind, self._partner, self._eager = columns.kind.tolist(), columns.partner.tolist(), eager.tolist()
        self.sender_of: dict[int, int]
        """The operation that sent what each receive got."""
        self.receiver_of: dict[int, int]
        """The other way round."""
        self.sender_of, self.receiver_of = self._matches()
        self.wait_of: dict[int, int]
        """The wait for what each operation posted."""
        self.post_of: dict[int, int]
        """The other way round."""
        self.wait_of, self.post_of = self._waits()
        self._last: dict[int, int] = {}
        """Who came last to each barrier."""
        for row in np.flatnonzero(columns.kind == Kind.BARRIER).tolist():
            barrier = int(columns.partner[row])
            last = self._last.setdefault(barrier, row)
            if log[row].start_ticks >= log[last].start_ticks:
                self._last[barrier] = row

    def of(self, row: int) -> tuple[int, int]:
        """When the last thing that it waited for was ready, and the operation, maybe itself, that began then."""
        ready = [(self._log[other].start_ticks, other) for other in self._waited_for(row)]
        mine = self._log[row].start_ticks, row
        latest = max(ready, default=mine)
        if latest[0] > mine[0]:
            return latest
        post = self.post_of.get(row, row)
        sender = self.sender_of.get(post, post)
        if self._log[row].end_ticks > mine[0] and (post != row or (sender != row and self._eager[sender])):
            begun = (sender,) if self._eager[sender] else (post, *self._waited_for(row))
            return max((self._log[other].start_ticks, other) for other in begun)  # under way already
        return mine

    def path(self) -> list[tuple[int, int]]:
        """The critical path: each operation and when its part of it begins, first to last."""
        finished = [(entry.end_ticks, -row) for row, entry in enumerate(self._log)]
        steps = []
        row = -max(finished)[1] if finished else -1
        firsts = set(self.columns.first.tolist())
        while row >= 0:
            begin, cause = self.of(row)
            steps.append((row, begin))
            row = -1 if cause in firsts else cause - 1
        return steps[::-1]

    def _waited_for(self, row: int) -> list[int]:
        """Operations of others without which it could not have ended; of a barrier's the last one."""
        if self._kind[row] == Kind.BARRIER:
            return [self._last[self._partner[row]]]
        if self._kind[row] in (Kind.POST_SEND, Kind.POST_RECV):
            return []
        found, post = [], self.post_of.get(row, row)
        if post in self.sender_of:
            found.append(self.sender_of[post])
        if post in self.receiver_of and not self._eager[post]:
            found.append(self.receiver_of[post])
        return found

    def sent_by(self, row: int) -> int:
        """The operation that sent what one sends, receives or waits for."""
        post = self.post_of.get(row, row)
        return self.sender_of.get(post, post)

    def end_ticks(self, row: int) -> int:
        """When an operation has ended, of one that only posts when the wait for it has."""
        return self._log[self.wait_of.get(row, row)].end_ticks

    def _waits(self) -> tuple[dict[int, int], dict[int, int]]:
        """The wait for what each operation posted, and the other way round."""
        rows, number = self.columns.requests()
        order = rows[np.argsort(number, kind="stable")].tolist()  # by turns a post and its wait
        pairs = dict(zip(order[::2], order[1::2], strict=True))
        return pairs, {wait: post for post, wait in pairs.items()}

    def _matches(self) -> tuple[dict[int, int], dict[int, int]]:
        """The operation that sent what each receive got, and the other way round.

        A receive from anyone takes, of all that are left, the message posted first.
        """
        columns = self.columns
        posted: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        process, partner, tag = (column.tolist() for column in (columns.process, columns.partner, columns.tag))
        for row in np.flatnonzero(columns.sends).tolist():
            posted[partner[row], tag[row]].append((self._log[row].start_ticks, row))
        for messages in posted.values():
            messages.sort()
        sender_of: dict[int, int] = {}
        sources = columns.senders.tolist()
        for row in np.flatnonzero(columns.receives).tolist():
            inbox, source = (process[row], tag[row]), sources[row]
            place = next(i for i, (_, sent) in enumerate(posted[inbox]) if source in (ANY, process[sent]))
            sender_of[row] = posted[inbox].pop(place)[1]
        return sender_of, {sender: row for row, sender in sender_of.items()}


def explain(
    scenario: Scenario, runs: RunSet, configuration: int, replication: int
) -> tuple[tuple[LoggedOperation, ...], Causes]:
    """The log of a run and what each of its operations waited for.

    Raises ScenarioError if this replication was not logged.
    """
    log = _log(runs, configuration, replication)
    columns = assemble(runs.program_of(scenario, configuration, replication))
    return log, Causes(columns, log, eager=columns.eager(scenario.platform.network.eager_bytes))


def _log(runs: RunSet, configuration: int, replication: int) -> tuple[LoggedOperation, ...]:
    if (configuration, replication) not in runs.logs:
        raise ScenarioError(f"log: replication {replication}: not logged, ask for it with log_replications")
    return runs.logs[configuration, replication]
