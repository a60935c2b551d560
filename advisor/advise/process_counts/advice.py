"""The advice: which PEs should take part with how many processes each, by a model fitted to measured runs."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from advisor.advise.baselines import plain_allocations
from advisor.advise.export import Layout, Rank
from advisor.advise.export.hosts import (
    launches,
    mpich_hostfile,
    mpich_rankfile,
    openmpi_hostfile,
    openmpi_rankfile,
    slurm_hostfile,
)
from advisor.advise.export.layout import check_hosts
from advisor.advise.kinds import Kind
from advisor.advise.process_counts.answer import (
    BASELINES,
    Baseline,
    Entry,
    ProcessCountAdvice,
    Regret,
    configuration_text,
)
from advisor.advise.process_counts.search import (
    Allocations,
    Counts,
    Floats,
    Kinds,
    Limits,
    Space,
    configuration_dict,
    fewest_of_near,
    processes_of,
)
from advisor.results import Provenance
from simulator import ScenarioError, ties
from simulator.calibration import AllocationFit

# What a configuration may cost more than the best, over equally likely truths.


RISK = 0.95
"""Quantile of regret that is called its risk."""


def regrets(members_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Expected regret, its 95 % quantile and the chance to be best of each configuration; ties share that chance.

    `members_s`: seconds by equally likely truths, paired; (member, n).
    """
    least = members_s.min(axis=1, keepdims=True)
    lost = members_s / least - 1
    first = members_s == least
    p_best = np.mean(first / first.sum(axis=1, keepdims=True), axis=0)
    return lost.mean(axis=0), np.quantile(lost, RISK, axis=0), p_best


# What to know before an advice is trusted.


SURE = 0.9
"""From this chance on, one configuration counts as faster than another."""
NOTHING = 1e-6
"""Regret that is none: configurations that come to the same."""


def _near(names: Sequence[str], ranking: Allocations, members_s: Floats) -> list[str]:
    """Whether the runs can tell the first of the ranking from what else may be best.

    `members_s`: of the first of the ranking, paired; (member, n).
    """
    if members_s.shape[1] < 2:
        return []
    first, others = members_s[:, :1], members_s[:, 1:]
    chances = np.mean((first < others) + 0.5 * (first == others), axis=0)  # that it is faster; ties count half
    near = (np.flatnonzero(chances < SURE) + 1).tolist()
    if not near:
        return []
    expected, risk, _ = (part[0] for part in regrets(members_s))
    if risk < NOTHING:
        return []
    rival = near[0]
    best, second = (configuration_text(configuration_dict(ranking[place], names)) for place in (0, rival))
    more = f" and {len(near) - 1} others" if len(near) > 2 else " and another" if len(near) == 2 else ""
    chance = f"a chance of {100 * chances[rival - 1]:.0f} % that the first is faster"
    stake = f"at stake are {100 * expected:.1f} % on average, {100 * risk:.1f} % in one case of 20"
    return [f"the runs cannot tell {best} from {second}{more}: {chance}; {stake}"]


# What one would do without a model, with its estimate and how much longer it takes.


def baselines_of(
    space: Space, advised: Allocations, level: float, named: Callable[[Allocations], Counts]
) -> tuple[Baseline, ...]:
    """The baselines at one size, in the order of `BASELINES`; speeds are the model's, of one PE with one process."""
    first = np.cumsum([0, *(pes for pes, _ in space.kinds.values())]).tolist()
    kinds = [
        Kind(name, tuple(range(start, start + pes)), most)
        for start, (name, (pes, most)) in zip(first, space.kinds.items(), strict=False)
    ]
    alone = np.eye(len(kinds), dtype=np.int64)[:, :, None] * np.ones(2, np.int64)
    plain = plain_allocations(kinds, 1 / space.model.estimate(space.size, space.wide(alone)).mean_s)
    every = np.stack([advised, *(plain[name] for name in BASELINES)])
    held, wide = space.held(every), space.wide(every)
    mine, members_s = space.model.estimate(space.size, wide, level=level), space.model.members(space.size, wide)
    ends = ((1 - level) / 2, (1 + level) / 2)
    lows, highs = np.quantile(members_s / members_s[:, :1], ends, axis=0)
    found = []
    for place, name in enumerate(BASELINES, start=1):
        estimate_s, longer = None, None
        if held[place]:
            estimate_s = mine.at(place)
            mean = float(mine.mean_s[place] / mine.mean_s[0])
            longer = {"mean": mean, "low": float(lows[place]), "high": float(highs[place])}
        found.append(Baseline(name, named(every[place]), estimate_s, longer))
    return tuple(found)


LARGEST_SIZE = 1e15
"""Problem sizes above are refused: their powers would leave the range of numbers."""
WHY = "the runs do not show that more are worth it"
LISTED = 1000
"""Configurations that the ranking holds if nothing else is asked for."""
SHORTLIST = 100
"""Best by estimate: regret is of these."""


def advise_allocation(
    fitted: AllocationFit,
    kinds: Kinds,
    size: float,
    *,
    level: float = 0.9,
    limits: Limits | None = None,
    top: int | None = None,
    inputs: Mapping[str, str] | None = None,
) -> ProcessCountAdvice:
    """Rank configurations at a problem size by a fitted model.

    Advised is the one of fewest processes among those that the runs cannot tell from the best, where that saves many.

    Raises ScenarioError if the model does not know a kind, nothing fits into memory, or a number cannot be.

    `fitted`: of `simulator.calibration.fit_allocation_table` or `load_allocation_fit`.
    `kinds`: name -> how many PEs there are, and most processes on one of them; each may run 0 to all of them.
    `limits`: memory per PE and footprint per process: what does not fit is left out.
    `top`: how many configurations the ranking holds; 1000 by default.
    `inputs`: names and hashes of input files, for the provenance.
    """
    if not 0 < size <= LARGEST_SIZE:
        raise ScenarioError(f"--size is {size:g}; give a number above 0 and up to {LARGEST_SIZE:g}")
    if not 0 < level < 1:
        raise ScenarioError(f"--level is {level:g}; give a number between 0 and 1")
    space, model, count = Space(fitted.model, kinds, size, limits), fitted.model, LISTED if top is None else top
    found = space.looked_at()
    best, listed, ranking = _ranked(space, found, count)
    shortlist = space.wide(ranking[:SHORTLIST])
    members_s = model.members(size, shortlist)
    expected, risk, p_best = regrets(members_s)
    names, own = tuple(kinds), model.estimate(size, shortlist[:1]).warnings[0]
    doubts = [*fitted.warnings, *own, *_near(names, ranking, members_s)]
    estimates = model.estimate(size, space.wide(listed), level=level)

    def named(one: Allocations) -> Counts:
        return configuration_dict(one, names, model.kinds)

    chances = [*p_best.tolist(), *[0.0] * len(listed)]
    entries = tuple(
        Entry(named(one), processes, estimates.at(place), chances[place], tuple(estimates.warnings[place]))
        for place, (one, processes) in enumerate(zip(listed, processes_of(listed).tolist(), strict=True))
    )
    return ProcessCountAdvice(
        size=size,
        level=level,
        kinds={name: {"pes": pes, "most": most} for name, (pes, most) in kinds.items()},
        configuration=entries[0].configuration,
        processes=entries[0].processes,
        estimate_s=entries[0].estimate_s,
        regret=Regret(float(expected[0]), float(risk[0]), float(p_best[0])),
        searched=space.count,
        ranking=entries,
        baselines=baselines_of(space, ranking[0], level, named),
        notes=tuple(_notes(space, len(found), best, None if top else len(listed))),
        warnings=tuple(dict.fromkeys(doubts)),
        provenance=Provenance.of(None, inputs),
    )


def _ranked(space: Space, found: Allocations, count: int) -> tuple[Allocations | None, Allocations, Allocations]:
    """The best estimate where the advised one has another, the ranking as it is asked for, and one for the regret.

    The advised one comes first, then all by estimate, of equals those of fewer processes.
    """
    wide, processes = space.wide(found), processes_of(found)
    advised = fewest_of_near(*space.model.behind(space.size, wide), processes)
    order = ties.in_order(space.model.estimate(space.size, wide).mean_s, processes)
    ranking = found[[advised, *order[order != advised][: max(count, SHORTLIST) - 1]]]
    return None if advised == order[0] else found[order[0]], ranking[:count], ranking


def _notes(space: Space, looked_at: int, best: Allocations | None, listed: int | None) -> list[str]:
    """What was left out, of the ranking too where nobody asked for a part of it, and why not the least estimate."""
    lines = []
    if best is not None:
        lines.append(f"fewer processes than {configuration_text(configuration_dict(best, tuple(space.kinds)))}: {WHY}")
    every, complete = space.every
    if complete and looked_at < len(every):
        lines.append(
            f"{len(every) - looked_at} of {space.count} configurations are left out: memory does not hold them"
        )
    if not complete:
        lines.append(f"{looked_at} of {space.count} configurations were looked at")
    if listed == LISTED:
        lines.append(f"the ranking holds the best {listed} of {space.count} configurations")
    return lines


# Host files of an advised configuration: its ranks, kind by kind, on the hosts that have them.


Hosts = Mapping[str, Sequence[str]]
"""Kind -> names of its hosts; PEs are spread over them evenly, in order."""


def check_kinds(kinds: Mapping[str, tuple[int, int]], hosts: Hosts | None) -> None:
    """Refuse hosts that no host file can name, or other numbers of them than PEs can be spread over.

    `kinds`: PEs of each kind, and the most processes on one.
    `hosts`: none: each PE is a host of its own, named after its kind.
    """
    if hosts is None:
        check_hosts(kinds, "--kinds: without --hosts")
        return
    faults = [fault for name, (count, _) in kinds.items() if (fault := _fault(name, count, hosts.get(name, ())))]
    if faults:
        raise ScenarioError(faults)
    check_hosts((host for named in hosts.values() for host in named), "--hosts")


def _fault(name: str, count: int, named: Sequence[str]) -> str | None:
    if not named or count % len(named):
        wanted = f"as many as it has PEs ({count}), or a number that divides it"
        return f"--hosts: {name} has {len(named) or 'no'} hosts; give {wanted}"
    if len(set(named)) < len(named):
        return f"--hosts: {name}: a host is named twice; name each once"
    return None


def layout_of_advice(advice: ProcessCountAdvice, hosts: Hosts | None = None) -> Layout:
    """The ranks of the advised configuration, those of a PE side by side; without hosts, each PE is one, by its name.

    `hosts`: see `check_kinds`.
    """
    ranks = list[Rank]()
    for name, part in advice.configuration.items():
        if part["pes"]:
            count = advice.kinds[name]["pes"]
            own = [name] if count == 1 else [f"{name}{number}" for number in range(1, count + 1)]
            named = own if hosts is None else hosts[name]
            each = count // len(named)
            for pe in range(part["pes"]):
                ranks += [Rank(named[pe // each], f"{name}{pe + 1}", None, 0, 0)] * part["procs"]
    return Layout("", tuple(ranks))


def host_files(layout: Layout, name: str) -> dict[str, str]:
    """Host files by file name: `name` and `name.mpich` for MPICH, `.openmpi` and `.rankfile` for Open MPI, `.slurm`."""
    return {
        name: mpich_hostfile(layout),
        f"{name}.mpich": mpich_rankfile(layout),
        f"{name}.openmpi": openmpi_hostfile(layout),
        f"{name}.rankfile": openmpi_rankfile(layout),
        f"{name}.slurm": slurm_hostfile(layout),
    }


def host_commands(layout: Layout, name: str) -> str:
    """How these files are used, a line each."""
    return launches(layout, (name, f"{name}.mpich", f"{name}.openmpi", f"{name}.rankfile", f"{name}.slurm"))
