"""What the ranks of a program compute and tell each other, and what placements of them would take by a model.

The model weighs how long ranks compute, how long their messages take, and how long what leaves a node. Which of these
decides, it learns from what was simulated. It chooses what is simulated next; no answer comes from it.
A placement is an array of places, one for each rank; a place is a PE that may be worth having.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import rates
from advisor.advise.space import Placement, Space
from advisor.results import NO_TIMES
from simulator import Exchanged, partitions, ties
from simulator.platform.networks import Listed, Torus

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_PLACES = 512
"""PEs that ranks are placed on, at most, unless there are more ranks than half of these."""
FEWEST_LEARNED, MOST_LEARNED = 12, 150
"""Simulated placements that weights are learned from; the best ones."""
USUAL = np.array([1.0, 0.1, 0.1, 0.1, 0.3])
"""Weights before anything was simulated; see `Traffic.parts`."""
LACKING = 1e3
"""How bad it is, in times, that memory does not hold all footprints."""
AT_ONCE = 300_000
"""Messages between pairs that are looked at in one go."""
STEPS, PATIENT = 300, 6
"""Of a descent, at most; and those in a row that may find nothing better, where each looks at some changes only."""


@dataclass(frozen=True)
class Traffic:
    """The ranks of a program, and where they may be."""

    space: Space

    @property
    def told(self) -> Exchanged:
        """What the ranks compute and tell each other."""
        return self.space.exchanged

    @property
    def ranks(self) -> int:
        """P."""
        return self.space.units

    @cached_property
    def pes(self) -> list[int]:
        """The PE of each place: of each kind as many as hold all ranks; (place,)."""
        taken = {pe for kind in self.space.kinds for pe in kind.pes[: -(-self.ranks // kind.most)]}
        return [pe for pe in self.space.order.pes if pe in taken][: max(MOST_PLACES, 2 * self.ranks)]

    @cached_property
    def room(self) -> Ints:
        """Ranks that each place holds; (place,)."""
        return np.array([self.space.limit(pe) for pe in self.pes])

    @cached_property
    def nodes(self) -> tuple[Ints, Ints]:
        """Node of each place, numbered as they come, (place,); and its number in the platform, (node,)."""
        of_place = self.space.scenario.platform.node_of[self.pes]
        known = np.array(list(dict.fromkeys(of_place.tolist())))
        return np.argmax(of_place[:, np.newaxis] == known, axis=1), known

    @cached_property
    def kinds(self) -> list[int]:
        """Of each place; places of a kind on one node may be swapped; (place,)."""
        apart = bool(self.space.scenario.platform.domains)
        return [pe if apart else self.space.kind_of[pe] for pe in self.pes]

    @cached_property
    def node_kinds(self) -> list[Hashable]:
        """Of each node; nodes of a kind may be swapped; (node,)."""
        platform, node = self.space.scenario.platform, self.nodes[0]
        if isinstance(platform.network.topology, Listed | Torus) or platform.domains:
            return list(range(self.nodes[1].size))
        on = [np.flatnonzero(node == number).tolist() for number in range(self.nodes[1].size)]
        return [
            (tuple(sorted(self.kinds[at] for at in mine)), self.space.order.switch_of[self.pes[mine[0]]]) for mine in on
        ]

    @cached_property
    def alone_s(self) -> Floats:
        """Seconds that each rank computes at each place with nobody beside it; (rank, place)."""
        scenario, told, by_band, found = self.space.scenario, self.told, dict[int, Floats](), list[Floats]()
        for pe in (scenario.platform.pes[place] for place in self.pes):
            band = pe.speed_of(scenario.application.kernel)
            if id(band) not in by_band:
                each_s = told.volume / np.maximum(band.speed(told.size), 1e-300)
                by_band[id(band)] = np.bincount(told.process, each_s, self.ranks).astype(np.float64)
            found.append(by_band[id(band)] / max(partitions.mean_share(pe), 1e-9))
        return np.array(found).T

    @cached_property
    def links(self) -> tuple[Floats, Floats]:
        """Seconds of a message, and of each of its bytes, from node to node; (node, node) each."""
        network, known = self.space.scenario.platform.network, self.nodes[1]
        size, count = max(1.0, float(self.told.sent_bytes.sum() / max(1.0, self.told.messages.sum()))), known.size
        away = np.flatnonzero(~np.eye(count, dtype=np.bool_))
        times_s = [np.full((count, count), float(network.within.time_s(np.array([of]))[0])) for of in (0.0, size)]
        if network.topology is not None and away.size:
            routes = network.routes(known[away // count], known[away % count])
            for table, of in zip(times_s, (0.0, size), strict=True):
                table.flat[away] = network.times_s(routes, np.arange(away.size), np.full(away.size, of))
        return times_s[0], np.maximum(times_s[1] - times_s[0], 0) / size

    # What placements are worth

    def parts(self, placed: Ints) -> Floats:
        """What the model weighs, in seconds, of placements (K, rank); (K, 5).

        The busiest rank, its messages with it; the longest and the mean computing; the mean of what messages of a rank
        take; the longest that a node sends and receives.
        """
        count, nodes = len(placed), self.nodes[1].size
        cores = np.array([self.space.scenario.platform.pes[pe].cores for pe in self.pes])
        crowd = np.take_along_axis(np.maximum(1.0, _counted(placed, len(self.pes)) / cores), placed, axis=1)
        computing = self.alone_s[np.arange(self.ranks), placed] * crowd
        here = self.nodes[0][placed]
        left, right = here[:, self.told.one], here[:, self.told.other]
        wire_s = self.told.sent_bytes * self.links[1][left, right]
        messages_s = (self.told.messages * self.links[0][left, right] + wire_s) @ self._ends
        away, rows = np.where(left != right, wire_s, 0.0).ravel(), nodes * np.arange(count)[:, np.newaxis]
        crossed = sum(np.bincount((rows + end).ravel(), away, count * nodes) for end in (left, right))
        longest = np.reshape(crossed, (count, nodes)).max(axis=1)
        busiest = (computing + messages_s).max(axis=1)
        return np.column_stack(
            (busiest, computing.max(axis=1), computing.mean(axis=1), messages_s.mean(axis=1), longest)
        )

    @cached_property
    def _ends(self) -> "NDArray[np.float64]":
        """1 where a rank is of a pair, sparse; (pair, rank)."""
        from scipy.sparse import csr_array

        one, other = self.told.one, self.told.other
        place = np.tile(np.arange(one.size), 2), np.concatenate((one, other))
        return csr_array((np.ones(2 * one.size), place), shape=(one.size, self.ranks))  # type: ignore[no-any-return]

    def values(self, placed: Ints, weights: Floats) -> Floats:
        """The objective by the model of placements (K, rank), far worse where memory does not hold them; (K,)."""
        found, on_node = self.parts(placed) @ weights, self.nodes[0][placed]
        if self._per_s is not None:
            pes, nodes = self._per_s
            used, known = _counted(placed, pes.size) > 0, _counted(on_node, nodes.size) > 0
            found = found * (used @ pes + known @ nodes)
        room = np.array(self.space.room_bytes)[self.nodes[1]]
        if np.isfinite(room).any():
            held = self.told.footprints_bytes
            lacking = [np.maximum(np.bincount(one, held, room.size) - room, 0).sum() for one in on_node]
            found = found * np.where(np.array(lacking) > 0, LACKING * (1 + np.array(lacking) / held.sum()), 1.0)
        return np.asarray(found)

    @cached_property
    def _per_s(self) -> tuple[Floats, Floats] | None:
        """What a second counts for, of each place and of each node; None where the objective is a time."""
        if self.space.objective not in NO_TIMES:
            return None
        known = rates(self.space.scenario)[self.space.objective]
        return known[self.pes], known[len(self.space.scenario.platform.pes) :][self.nodes[1]]

    def learned(self, seen: Iterable[tuple[Placement, float]]) -> Floats:
        """Weights with which the model says best what the best simulated placements take, in seconds; see `parts`."""
        from scipy.optimize import nnls

        known = [(self.placed(one), seconds) for one, seconds in seen if set(one) <= set(self.pes)][:MOST_LEARNED]
        if len(known) < FEWEST_LEARNED:
            return USUAL
        parts = self.parts(np.array([placed for placed, _ in known])) / np.array([[took_s] for _, took_s in known])
        size = np.maximum(parts.mean(axis=0), 1e-12)
        little = 0.05 * np.sqrt(len(known)) * np.eye(size.size)  # no weight is large that need not be
        weights, _ = nnls(np.vstack((parts / size, little)), np.concatenate((np.ones(len(known)), np.zeros(size.size))))
        return np.asarray(weights / size)

    # Placements near others

    def placed(self, placement: Sequence[int]) -> list[int]:
        """Places of PEs."""
        place_of = {pe: place for place, pe in enumerate(self.pes)}
        return [place_of[pe] for pe in placement]

    def usual(self, placed: Sequence[int]) -> tuple[int, ...]:
        """The one that stands for all that swap places and nodes of a kind."""
        node, node_of, place_of = self.nodes[0].tolist(), dict[int, int](), dict[int, int]()
        for place in placed:
            kind = self.node_kinds[node[place]]
            if node[place] not in node_of:
                alike = (one for one, other in enumerate(self.node_kinds) if other == kind)
                node_of[node[place]] = next(one for one in alike if one not in node_of.values())
            if place not in place_of:
                mine = (one for one, on in enumerate(node) if on == node_of[node[place]])
                alike = (one for one in mine if self.kinds[one] == self.kinds[place])
                place_of[place] = next(one for one in alike if one not in place_of.values())
        return tuple(place_of[place] for place in placed)

    def near(self, placed: Sequence[int], *, turn: int = 0, share: float = 1.0) -> Ints:
        """Two ranks swapped, one moved to where there is room, or all of two nodes swapped; (K, rank).

        Of more than can be looked at in one go, or a share of that, those of a turn.
        """
        now, node, room, kind = np.array(placed), self.nodes[0], self.room, np.array(self.kinds)
        one, other = np.triu_indices(self.ranks, 1)
        unlike = (now[one] != now[other]) & (
            (node[now[one]] != node[now[other]]) | (kind[now[one]] != kind[now[other]]) | (room[now[one]] > 1)
        )
        free = np.flatnonzero(room > np.bincount(now, minlength=room.size))
        free = free[np.unique(np.column_stack((node[free], kind[free])), axis=0, return_index=True)[1]]
        rank, place = np.repeat(np.arange(self.ranks), free.size), np.tile(free, self.ranks)
        count = np.count_nonzero(unlike) + rank.size
        every = max(1, int(np.ceil(count * max(self.ranks, self.told.one.size) / (share * AT_ONCE))))
        some = slice(turn % every, None, every)
        one, other, rank, place = one[unlike][some], other[unlike][some], rank[some], place[some]
        swapped, moved = np.tile(now, (one.size, 1)), np.tile(now, (rank.size, 1))
        rows = np.arange(one.size)
        swapped[rows, one], swapped[rows, other] = now[other], now[one]
        moved[np.arange(rank.size), rank] = place
        return np.concatenate((swapped, moved, *self._nodes_swapped(now)))

    def _nodes_swapped(self, now: Ints) -> Iterable[Ints]:
        on = [np.flatnonzero(self.nodes[0] == node) for node in range(self.nodes[1].size)]
        for mine in (one for one in on if np.isin(one, now).any()):
            for theirs in on:
                if theirs is not mine and np.array_equal(self.room[mine], self.room[theirs]):
                    swap = np.arange(len(self.pes))
                    swap[mine], swap[theirs] = theirs, mine
                    yield swap[now][np.newaxis]

    def descended(self, placed: Sequence[int], weights: Floats) -> list[int]:
        """The best by the model that steps to better placements lead to."""
        now, idle = np.array(placed), 0
        value = float(self.values(now[np.newaxis], weights)[0])
        every = 1 + self.ranks * (self.ranks + self.nodes[1].size) * max(self.ranks, self.told.one.size) // AT_ONCE
        for turn in range(STEPS):
            near = self.near(now.tolist(), turn=turn)
            found = self.values(near, weights) if len(near) else np.array([np.inf])
            best = ties.first_least(found)
            if ties.is_less(float(found[best]), value):
                now, value, idle = near[best], float(found[best]), 0
            elif (idle := idle + 1) >= min(every, PATIENT):
                break
        return [int(place) for place in now]


def _counted(numbers: Ints, most: int) -> Ints:
    """How often each number stands in each row; (row, number)."""
    rows = most * np.arange(len(numbers))[:, np.newaxis]
    return np.bincount((rows + numbers).ravel(), minlength=len(numbers) * most).reshape(len(numbers), most)
