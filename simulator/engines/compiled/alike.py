"""Does once what comes out alike: replications in which no load takes anything away, and those that start alike.

A load takes nothing from our processes as long as it leaves each of them a whole core. A run that is over before that
ends is, to the tick, the run without any load, and such a run is done once for all replications.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from simulator.base.arrays import Flags, Ints
from simulator.base.errors import SimulationError
from simulator.engines.compiled.block import Block, Outcome
from simulator.engines.compiled.service import EXACT
from simulator.models.load import availability
from simulator.platform.nodes import Load

BY_CONFIGURATION = ("nominal_ticks", "ticks", "units", "route")
"""Costs whose first axis are the configurations, or one for all."""
TIMES = ("makespan", "computed", "busy", "finish", "fault")
_FIRST = slice(0, 1)


def do_block(block: Block, do: Callable[[Block], Outcome]) -> Outcome:
    """Do all runs of a block, those that come out alike once; `do` does all runs of a block one by one."""
    costs, (configurations, replications, _) = block.costs, block.shape
    varied = any(ticks.shape[1] > 1 for ticks in (costs.nominal_ticks, costs.ticks, *costs.farm_ticks))
    if replications == 1 or varied or any(block.logged) or costs.quotas is not None:
        return do(block)
    calm_until = np.array([_calm_until(block, row) for row in costs.placement])
    if costs.sharing is not None and costs.sharing.presses.any():  # loads press, whatever they leave to their own PEs
        calm_until[costs.sharing.presses.any(axis=1)] = 0
    calm = _calm_runs(block, do) if calm_until.any() else None
    like_calm = np.zeros((configurations, replications), dtype=np.bool_)
    if calm is not None:
        like_calm = ~calm.fault & (calm.makespan <= calm_until)
    like_first = np.array([_like_first(block, row, place) for place, row in enumerate(costs.placement)])
    like_first &= ~like_calm[:, _FIRST]
    own = ~like_calm & ~like_first
    own[:, 0] = ~like_calm[:, 0]
    if own.all():
        return do(block)
    times = {name: np.zeros_like(values) for name, values in _shapes(block).items()}
    for places, columns in _groups(own):
        found = do(_part(block, places, columns))
        for name, values in times.items():
            values[np.ix_(places, columns)] = getattr(found, name)
    for name, values in times.items():
        values[like_first] = np.broadcast_to(values[:, _FIRST], values.shape)[like_first]
        if calm is not None:
            values[like_calm] = np.broadcast_to(getattr(calm, name), values.shape)[like_calm]
    return Outcome(**times)


def _shapes(block: Block) -> dict[str, Ints | Flags]:
    """Arrays as an outcome has them."""
    runs, processes = block.shape[:2], block.shape[2]
    per_process = np.broadcast_to(np.int64(0), (*runs, processes))
    whole, fault = np.broadcast_to(np.int64(0), runs), np.broadcast_to(np.zeros((), dtype=np.bool_), runs)
    return dict(zip(TIMES, (whole, per_process, per_process, per_process, fault), strict=True))


def _groups(own: Flags) -> Iterator[tuple[list[int], Ints]]:
    """Configurations of which the same replications are to be done, and which."""
    groups: dict[bytes, list[int]] = {}
    for place, row in enumerate(own):
        if row.any():
            groups.setdefault(row.tobytes(), []).append(place)
    for places in groups.values():
        yield places, np.flatnonzero(own[places[0]])


def _part(block: Block, places: Sequence[int], replications: Ints) -> Block:
    """Some configurations and replications of a block, without logs."""
    costs = block.costs
    shorter = {name: getattr(costs, name) for name in BY_CONFIGURATION}
    costs = replace(
        costs,
        configurations=tuple(costs.configurations[place] for place in places),
        replications=range(replications.size),
        placement=costs.placement[places],
        farm_ticks=tuple(_of(ticks, places) for ticks in costs.farm_ticks),
        data_rows=tuple(rows[places] for rows in costs.data_rows),
        sharing=None if costs.sharing is None else costs.sharing.of(places),
        **{name: _of(values, places) for name, values in shorter.items()},
    )
    return replace(block, costs=costs, starts=np.ascontiguousarray(block.starts[replications]), log_replications=0)


def _of(values: Ints, places: Sequence[int]) -> Ints:
    return values if values.shape[0] == 1 else values[places]


def _calm_runs(block: Block, do: Callable[[Block], Outcome]) -> Outcome | None:
    """One run of each configuration without loads; None for a program with a fault, which its first run tells."""
    part = _part(block, range(block.shape[0]), np.zeros(1, dtype=np.int64))
    try:
        return do(replace(part, starts=np.zeros_like(part.starts), loads=block.loads.without))
    except SimulationError:
        return None


def _used(block: Block, placement: Ints) -> Iterator[tuple[int, int, Load]]:
    """PEs with load that have processes of a configuration, how many, and the load."""
    pes = block.scenario.platform.pes
    numbers, counts = np.unique(placement, return_counts=True)
    for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        load = pes[number].load
        if load is not None:
            yield number, count, load


def _like_first(block: Block, placement: Ints, place: int) -> Flags:
    """Replications whose loads all start where the first one's do; (replication,)."""
    used = [number for number, _, _ in _used(block, placement)]
    if block.costs.sharing is not None:
        used += np.flatnonzero(block.costs.sharing.presses[place]).tolist()
    starts = block.starts[:, used]
    return np.asarray(np.all(starts == starts[0], axis=1))


def _calm_until(block: Block, placement: Ints) -> Ints:
    """Up to which tick all loads leave every process of a configuration a whole core; (replication,)."""
    until = np.full(block.starts.shape[0], EXACT, dtype=np.int64)
    for number, count, load in _used(block, placement):
        cores = block.scenario.platform.pes[number].cores
        until = np.minimum(until, _calm_for(load, block.starts[:, number], count, cores, block.loads.tick_s))
        if not until.any():
            break
    return until


def _calm_for(load: Load, starts: Ints, processes: int, cores: int, tick_s: float) -> Ints:
    """Ticks from each start on for which a load leaves so many processes a whole core each, 0 if it does not."""
    trace = load.trace
    whole = availability(trace.values, load.rule, processes=processes, cores=cores) == 1
    whole &= availability(trace.values, load.rule, cores=cores) == 1  # a share above 1 is no whole core either
    knots = np.rint(np.append(trace.times_s, trace.end_s) / tick_s).astype(np.int64)
    if trace.after_end == "error":  # nothing is told about what follows
        whole = np.append(whole, False)
    elif trace.after_end == "hold":
        whole = np.append(whole, whole[-1])
    elif whole.all():
        return np.full(starts.size, EXACT)
    else:  # up to the end of the second lap at least
        whole, knots = np.tile(whole, 2), np.concatenate((knots[:-1], knots[-1] + knots))
    changes = np.append(np.where(whole, EXACT, knots[: whole.size]), EXACT)
    ends = np.minimum.accumulate(changes[::-1])[::-1]
    inside = starts % knots[trace.times_s.size] if trace.after_end == "cycle" else starts
    piece = np.searchsorted(knots[: whole.size], inside, side="right") - 1
    return np.asarray(np.maximum(0, ends[piece] - inside))
