"""A slow and thorough search over small clusters that imports nothing of the advisor: what advice is measured against.

Every number of processes on each PE is levelled by simulated ends; the best go on with every order of the PEs and every
place of a master, and the best of these descend by all small changes: of units, of processes, of PEs, of the order.
"""

import collections
import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simulator import Configuration, ScenarioError, run

FRESH = 5_000_000
"""Number of the first replication that judges: none that a search has seen."""
MOST_COUNTS, MOST_ORDERS = 400, 120
ORDERED, DESCENDED = 10, 4
FINEST, ENOUGH = 2000, 1e-5
"""The least step of units, as a part of all, and the least gain that a descent goes on for."""
LEVELLED = 4
"""Times that units are levelled by their ends."""


def divided(units, weights):
    """Whole units in proportion, the largest remainders first."""
    exact = np.array(weights) / np.sum(weights) * units
    whole = np.floor(exact).astype(int)
    whole[np.argsort(whole - exact, kind="stable")[: units - whole.sum()]] += 1
    return whole


def rate(scenario, one, objective):
    """What a second of a configuration counts for."""
    if objective not in ("cost", "energy"):
        return 1.0
    master, platform = scenario.application.work.has_master, scenario.platform
    pes = {
        pe
        for place, (pe, units) in enumerate(zip(one.placement, one.partition, strict=True))
        if units or (master and not place)
    }
    if objective == "energy":
        return sum(platform.pes[pe].power_w for pe in pes)
    prices = [platform.known_nodes[node].price_per_hour / 3600 for node in {int(platform.node_of[pe]) for pe in pes}]
    return sum(prices) + sum(platform.pes[pe].cost_per_s or 0.0 for pe in pes)


def can_run(scenario, one):
    try:
        scenario.application.work.program(one)
    except ScenarioError:
        return False
    return scenario.lacking_bytes(one) <= 0


def values(scenario, configurations, objective, *, replications=None, first=0, ends=False):
    """The objective of each on common draws, infinite where it cannot run; with the ends of its processes if asked."""
    fit = [place for place, one in enumerate(configurations) if can_run(scenario, one)]
    found, ended = np.full(len(configurations), np.inf), [None] * len(configurations)
    if fit:
        named = tuple(replace(configurations[place], name=f"c{place}") for place in fit)
        runs = run(scenario.with_configurations(named), replications=replications, first_replication=first)
        seconds = runs.makespan_s
        judged = np.quantile(seconds, 0.95, axis=1) if objective == "p95" else seconds.mean(axis=1)
        found[fit] = [rate(scenario, one, objective) * value for one, value in zip(named, judged, strict=True)]
        for place, computed in zip(fit, runs.computed_ticks, strict=True):
            ended[place] = computed.mean(axis=0) * runs.tick_s
    return (found, ended) if ends else found


@dataclass(frozen=True)
class State:
    """Blocks of processes side by side, (PE, units of each process there), in the order of ranks; and a grid."""

    blocks: tuple
    grid: tuple | None = None

    @property
    def pes(self):
        return tuple(pe for pe, _ in self.blocks)


@dataclass(frozen=True)
class Space:
    """All that may be advised for a scenario."""

    scenario: object
    objective: str

    @cached_property
    def work(self):
        return self.scenario.application.work

    @cached_property
    def equal(self):
        """Whether all processes get as much."""
        return self.scenario.application.name == "hpl"

    @cached_property
    def most(self):
        """Processes on each PE: its cores; of equal shares on PEs of one core what the fastest is worth."""
        pes = self.scenario.platform.pes
        cores = [pe.cores for pe in pes]
        if self.equal and max(cores) == 1:
            speeds = [float(pe.speed_of(self.scenario.application.kernel).mid[-1]) for pe in pes]
            return [min(8, int(np.ceil(max(speeds) / min(speeds) - 1e-9)))] * len(pes)
        return cores

    def configured(self, state):
        placement = [pe for pe, units in state.blocks for _ in units]
        units = [count for _, units in state.blocks for count in units]
        if self.equal:
            units = divided(self.work.units, [1] * len(units)).tolist()
        return Configuration("c", self.work.fitting(tuple(units), state.grid), tuple(placement), state.grid)

    def weighted(self, blocks, grid=None):
        """A state with whole units in proportion to weights."""
        weights = [weight for _, each in blocks for weight in each]
        if not any(weights):
            return None
        whole = iter(divided(self.work.units, weights).tolist())
        return State(tuple((pe, tuple(next(whole) for _ in each)) for pe, each in blocks), grid)

    def allowed(self, state):
        """Whether no PE has more processes with units than it may."""
        busy = collections.Counter(pe for pe, units in state.blocks for count in units if count)
        return all(count <= self.most[pe] for pe, count in busy.items())

    def judged(self, states, draws):
        """States and their objective, the best first, each once; those with too many processes on a PE are left out."""
        states = list(dict.fromkeys(state for state in states if state is not None and self.allowed(state)))
        found = values(self.scenario, [self.configured(one) for one in states], self.objective, replications=draws)
        order = np.argsort(found, kind="stable")
        return [(float(found[place]), states[place]) for place in order if np.isfinite(found[place])]


def counts(space, rng):
    """Processes on each PE: all there are, or many of them."""
    limits = space.most
    everything = itertools.product(*(range(limit + 1) for limit in limits))
    if np.prod([limit + 1 for limit in limits]) > MOST_COUNTS:
        few = [sorted({0, 1, limit // 2, limit}) for limit in limits]
        everything = list(itertools.product(*few))
        if len(everything) > MOST_COUNTS:
            ends = list(itertools.product(*((0, limit) for limit in limits)))
            rest = [everything[place] for place in rng.permutation(len(everything))[: MOST_COUNTS - len(ends)]]
            everything = [*ends, *rest]
    return [one for one in dict.fromkeys(everything) if any(one)]


def levelled(space, states, draws):
    """The best of each state that levelling its units by simulated ends meets, best first."""
    best = {place: (np.inf, state) for place, state in enumerate(states)}
    now = dict(enumerate(states))
    for _ in range(1 if space.equal else LEVELLED + 1):
        found, ends = values(
            space.scenario,
            [space.configured(one) for one in now.values()],
            space.objective,
            replications=draws,
            ends=True,
        )
        following = {}
        for (place, state), value, ended in zip(now.items(), found, ends, strict=True):
            if value < best[place][0]:
                best[place] = (float(value), state)
            if ended is None:
                continue
            blocks, process = [], 0
            for pe, units in state.blocks:
                mine = float(np.mean(ended[process : process + len(units)]))
                process += len(units)
                blocks.append((pe, tuple(np.mean(units) / mine if mine > 0 else 0.0 for _ in units)))
            following[place] = space.weighted(blocks) or state
        now = {place: state for place, state in following.items() if state.blocks != now[place].blocks}
        if not now:
            break
    return sorted((pair for pair in best.values() if np.isfinite(pair[0])), key=lambda pair: pair[0])


def led(space, state):
    """The same with a master that computes nothing, on each PE."""
    if not space.work.has_master:
        return []
    blocks = tuple(block for block in state.blocks if any(block[1]))
    return [State(((pe, (0,)), *blocks)) for pe in range(len(space.most))]


def ordered(space, state, rng):
    """Every order of its PEs, or many; a master without units anywhere; grids."""
    orders = list(itertools.permutations(state.blocks))
    if len(orders) > MOST_ORDERS:
        orders = [orders[place] for place in rng.permutation(len(orders))[:MOST_ORDERS]]
    grids = space.work.grids(sum(len(units) for _, units in state.blocks)) or (None,)
    made = [State(blocks, grid) for blocks in orders for grid in grids]
    return [state, *made, *(one for other in made[:24] for one in led(space, other))]


def moved(state, step):
    """So many units from the processes of one block to those of another, spread evenly."""
    for source, target in itertools.permutations(range(len(state.blocks)), 2):
        if sum(state.blocks[source][1]) < step:
            continue
        blocks = list(state.blocks)
        for place, sign in ((source, -step), (target, step)):
            pe, units = blocks[place]
            blocks[place] = (pe, tuple(divided(sum(units) + sign, [1] * len(units)).tolist()))
        yield State(tuple(blocks), state.grid)


def moved_one(state, step):
    """Units from one process to another, where these two differ from others by place or by units."""
    kinds = {}
    for block, (_, units) in enumerate(state.blocks):
        for place, count in enumerate(units):
            kinds.setdefault((block, count, place == 0, place == len(units) - 1), (block, place))
    for source, target in itertools.permutations(kinds.values(), 2):
        blocks = [(pe, list(units)) for pe, units in state.blocks]
        if blocks[source[0]][1][source[1]] < step:
            continue
        blocks[source[0]][1][source[1]] -= step
        blocks[target[0]][1][target[1]] += step
        yield State(tuple((pe, tuple(units)) for pe, units in blocks), state.grid)


def restructured(space, state):
    """A process or a PE less or more, another order, another master, another grid; units in proportion."""
    blocks = state.blocks
    for place, (pe, units) in enumerate(blocks):
        rest = (*blocks[:place], *blocks[place + 1 :])
        if rest:
            yield space.weighted(rest)
        if len(units) > 1:
            fewer = (pe, (sum(units) / (len(units) - 1),) * (len(units) - 1))
            yield space.weighted((*blocks[:place], fewer, *blocks[place + 1 :]))
        if len(units) < space.most[pe]:
            for each in (sum(units) / (len(units) + 1), float(np.mean(units))):
                more = (pe, (each,) * (len(units) + 1))
                yield space.weighted((*blocks[:place], more, *blocks[place + 1 :]))
        for to in range(len(blocks)):
            if to != place:
                yield State((*rest[:to], blocks[place], *rest[to:]), state.grid)
    for one, other in itertools.combinations(range(len(blocks)), 2):
        swapped = list(blocks)
        swapped[one], swapped[other] = swapped[other], swapped[one]
        yield State(tuple(swapped), state.grid)
    yield from widened(space, state)
    yield from led(space, state)
    for grid in space.work.grids(sum(len(units) for _, units in blocks)):
        yield State(blocks, grid)


def widened(space, state):
    """A PE more, anywhere in the order."""
    busy = np.mean([count for _, units in state.blocks for count in units if count])
    for pe in set(range(len(space.most))) - set(state.pes):
        for count, share in itertools.product({1, space.most[pe]}, (1.0, 0.3)):
            for to in range(len(state.blocks) + 1):
                yield space.weighted((*state.blocks[:to], (pe, (busy * share,) * count), *state.blocks[to:]))


def descended(space, value, state, draws):
    """The end of a descent by all small changes, the steps of units ever smaller."""
    step, least = max(1, space.work.units // 8), max(1, space.work.units // FINEST)
    while True:
        near = [*restructured(space, state)]
        if not space.equal:
            near += [one for each in {step, max(1, step // 3)} for one in moved(state, each)]
            near += moved_one(state, step) if step <= 2 else ()
        found = space.judged(near, draws)
        if found and found[0][0] < value * (1 - ENOUGH):
            value, state = found[0]
        elif step == least or space.equal:
            return value, state
        else:
            step = max(least, step // 3)


def best(scenario, objective):
    """The best configuration that is met, and its objective on the scenario's own draws."""
    space, rng = Space(scenario, objective), np.random.default_rng(1)
    draws = scenario.replications
    platform, kernel = scenario.platform, scenario.application.kernel
    speeds = [float(pe.speed_of(kernel).mid[0]) for pe in platform.pes]
    starts = [
        space.weighted([(pe, (speeds[pe],) * count) for pe, count in enumerate(chosen) if count])
        for chosen in counts(space, rng)
    ]
    found = levelled(space, starts, min(draws, 6))
    orders = [one for _, state in found[:ORDERED] for one in ordered(space, state, rng)]
    judged = space.judged(orders, min(draws, 12))
    chosen, seen = [], set()
    for _, state in judged:
        if frozenset(state.pes) not in seen or len(chosen) < 2:
            seen.add(frozenset(state.pes))
            chosen.append(state)
    ends = [descended(space, *pair, draws) for pair in space.judged(chosen[:DESCENDED], draws)]
    value, state = min(ends, key=lambda pair: pair[0])
    return space.configured(state), value
