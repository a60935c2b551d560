"""Where ranks run that are like no others: neighbours together, heavy ones on fast PEs, small changes of the best."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from advisor.advise.judge import Judge
from advisor.advise.space import NAME, Space
from advisor.advise.traffic import USUAL, Traffic
from simulator import Configuration, ties

WIDE, NEAR, TWICE = 4, 1.1, 24
"""Placements that are changed in a turn, times the best that they may be, and changes that are changed again."""
ALL, STEP = 2_000, 160
"""Placements up to which all are tried, and changes of a placement in a turn, at most."""
MENDED = 4
"""Placements to begin with that the model mends, with each of the weights."""
SETS = 8
"""Numbers of nodes that are tried, at most."""
LEANS = np.array([USUAL, [0.2, 1.0, 0.1, 0.1, 0.1], [0.3, 0.1, 0.3, 3.0, 1.0]])
"""Weights to begin with: all alike, computing, messages; see `Traffic.parts`."""


def starts(_: Space, judge: Judge) -> Iterator[Configuration]:
    """All placements where these are few; else sets of nodes filled by neighbours and by speed, mended by the model."""
    traffic, most = judge.traffic, judge.room(ALL)
    every = list(itertools.islice(_all(traffic, []), most + 1))
    if len(every) <= most:
        yield from _configured(traffic, every)
        return
    filled = np.unique([one for slots in _sets(traffic) for one in _filled(traffic, slots)], axis=0)
    count = max(MENDED, judge.patience // (2 * len(LEANS)))
    for lean in LEANS:
        begun = filled[ties.in_order(traffic.values(filled, lean).tolist())][:count].tolist()
        yield from _configured(traffic, [*(traffic.descended(one, lean) for one in begun[:MENDED]), *begun])


def steps(_: Space, judge: Judge) -> Iterator[Configuration]:
    """What the model, with what it has learned, makes of the best; and the likeliest small changes of the best."""
    return _changed(judge, twice=0)


def leaps(_: Space, judge: Judge) -> Iterator[Configuration]:
    """The likeliest of two changes of the best at once."""
    return _changed(judge, twice=TWICE)


def _changed(judge: Judge, *, twice: int) -> Iterator[Configuration]:
    """Changes of the best placements that were not tried, those first that promise most.

    `twice`: how many changes of each are changed again.
    """
    traffic, record = judge.traffic, judge.record
    weights = traffic.learned((one.configuration.placement, one.seconds) for one in record)
    known = {one.configuration.placement for one in record}
    made, worth = list[list[int]](), list[float]()
    for turn, base in enumerate(judge.best_placed(WIDE, near=NEAR)):
        if set(base.placement) <= set(traffic.pes):
            placed = traffic.placed(base.placement)
            near = traffic.near(placed, turn=len(known) + turn)
            if twice:
                first = near[ties.in_order(traffic.values(near, weights).tolist())[:twice]].tolist()
                near = np.concatenate([near[:0], *(traffic.near(one, turn=turn, share=1 / twice) for one in first)])
            off = judge.value(base) / float(traffic.values(np.array([placed]), weights)[0])
            made += [*near.tolist(), *([] if turn else [traffic.descended(placed, weights)])]
            worth += [*(off * traffic.values(near, weights)).tolist(), *([] if turn else [0.0])]
    fresh = _configured(traffic, [made[place] for place in ties.in_order(worth).tolist()])
    return itertools.islice((one for one in fresh if one.placement not in known), judge.room(STEP))


def _configured(traffic: Traffic, placed: Sequence[Sequence[int]]) -> Iterator[Configuration]:
    """Each once that does not only swap what is alike."""
    seen = set[tuple[int, ...]]()
    for one in map(traffic.usual, placed):
        if one not in seen:
            seen.add(one)
            yield Configuration(NAME, (1,) * traffic.ranks, tuple(traffic.pes[place] for place in one))


def _all(traffic: Traffic, begun: list[int]) -> Iterator[list[int]]:
    """All placements that begin so and do not only swap what is alike."""
    if len(begun) == traffic.ranks:
        yield begun
        return
    for place, room in enumerate(traffic.room.tolist()):
        longer = [*begun, place]
        if begun.count(place) < room and traffic.usual(longer) == tuple(longer):
            yield from _all(traffic, longer)


def _sets(traffic: Traffic) -> Iterator[list[int]]:
    """Rooms for ranks, node by node: of the first nodes by what they are, and of each switch alone."""
    node, room, order = traffic.nodes[0].tolist(), traffic.room.tolist(), traffic.space.order
    rooms = [place for place, count in enumerate(room) for _ in range(count)]
    for count in np.unique(np.linspace(1, len(set(node)), 1 + 2 * SETS).astype(int)).tolist():
        yield [place for place in rooms if node[place] < count]
    switches = [order.switch_of[traffic.pes[place]] for place in rooms]
    for switch in dict.fromkeys(switches):
        yield [place for place, of in zip(rooms, switches, strict=True) if of == switch]


def _filled(traffic: Traffic, slots: Sequence[int]) -> Iterator[list[int]]:
    """Ranks in their order, together with whom they tell most, and the heaviest on the fastest; if there is room."""
    if len(slots) < traffic.ranks:
        return
    alone_s = traffic.alone_s
    fast = [slots[at] for at in ties.in_order(alone_s.sum(axis=0)[list(slots)].tolist())]
    heavy = ties.in_order((-alone_s.sum(axis=1)).tolist()).tolist()
    for places, order in ((slots, range(traffic.ranks)), (slots, _grown(traffic)), (fast, heavy)):
        of_rank = dict(zip(order, places, strict=False))
        yield [of_rank[rank] for rank in range(traffic.ranks)]


def _grown(traffic: Traffic) -> list[int]:
    """Ranks in an order in which each tells most to those just before it, for how much it tells in all."""
    told = traffic.told
    table, order = np.zeros((traffic.ranks, traffic.ranks)), list[int]()
    table[told.one, told.other] = table[told.other, told.one] = told.sent_bytes + 1
    pull, all_ = np.zeros(traffic.ranks), table.sum(axis=0) + 1e-300
    for _ in range(traffic.ranks):
        worth = pull / all_ + 1e-9 * all_ / all_.max()
        worth[order] = -1
        order.append(ties.first_most(worth.tolist()))
        pull = 0.7 * pull + table[order[-1]]
    return order
