"""The advice: which PEs should take part with how many processes each, by a model fitted to measured runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
from advisor.advise.process_counts.search import Allocations, Floats, Kinds, Limits, Space, fewest_of_near, processes_of
from advisor.advise.process_counts.wording import BASELINES, configuration_dict, configuration_text, page
from simulator import ScenarioError, provenance, ties
from simulator.calibration import AllocationFit
from simulator.models import Estimates

# What a configuration may cost more than the best, over equally likely truths.


RISK = 0.95
"""Quantile of regret that is called its risk."""


@dataclass(frozen=True)
class Regret:
    """How much slower a configuration may be than the best of the shortlist, over the model's members."""

    expected: float
    """Mean, as a share."""
    risk: float
    """95 % quantile, as a share."""
    p_best: float
    """Chance that no other is faster."""


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
    best, second = (configuration_text(ranking[place], names) for place in (0, rival))
    more = f" and {len(near) - 1} others" if len(near) > 2 else " and another" if len(near) == 2 else ""
    chance = f"a chance of {100 * chances[rival - 1]:.0f} % that the first is faster"
    stake = f"at stake are {100 * expected:.1f} % on average, {100 * risk:.1f} % in one case of 20"
    return [f"the runs cannot tell {best} from {second}{more}: {chance}; {stake}"]


# What one would do without a model, with its estimate and how much longer it takes.


@dataclass(frozen=True)
class Baseline:
    """A naive configuration to compare the advised one with."""

    name: str
    allocation: Allocations
    """(kind, 2)."""
    estimate_s: dict[str, float] | None
    """`mean`, `low`, `high`; None where memory does not hold it or the model does not know it."""
    times_longer: dict[str, float] | None
    """Times as long as the advised one: by the estimates, and the interval over the model's members, paired."""


def baselines_of(space: Space, advised: Allocations, level: float) -> tuple[Baseline, ...]:
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
        parts: list[dict[str, float] | None] = [None, None]
        if held[place]:
            longer = mine.mean_s[place] / mine.mean_s[0]
            parts = [mine.at(place), {"mean": longer, "low": lows[place], "high": highs[place]}]
        found.append(Baseline(name, every[place], *(part and _plain(part) for part in parts)))
    return tuple(found)


def _plain(part: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in part.items()}


LARGEST_SIZE = 1e15
"""Problem sizes above are refused: their powers would leave the range of numbers."""
WHY = "the runs do not show that more are worth it"
LISTED = 1000
"""Configurations that the ranking holds if nothing else is asked for."""
SHORTLIST = 100
"""Best by estimate: regret is of these."""


@dataclass(frozen=True)
class ProcessCountAdvice:
    """Which configuration to run, and by how much it is better than others."""

    kinds: Kinds
    """What may be used; a kind of the model that is not named is not used."""
    known: tuple[str, ...]
    """The model's kinds."""
    size: float
    level: float
    """Probability of the intervals."""
    ranking: Allocations
    """By estimate, the advised one first; (n, kind, 2), kinds as in `kinds`."""
    estimates: Estimates
    """Of those in the ranking."""
    searched: int
    """How many configurations there are."""
    p_best: Floats
    """Chance to be the best, of the first of the ranking; (up to a hundred,)."""
    regret: Regret
    """Of the advised one."""
    baselines: tuple[Baseline, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def configuration(self) -> dict[str, dict[str, int]]:
        """The advised one: per kind, `pes` that take part and `procs` on each of them."""
        return self.named(self.ranking[0])

    @property
    def estimate_s(self) -> dict[str, float]:
        """Of the advised one: `mean`, `low`, `high`."""
        return self.estimate_at(0)

    def named(self, allocation: Allocations) -> dict[str, dict[str, int]]:
        """A configuration by kind, those of the model that are not used too."""
        return configuration_dict(allocation, tuple(self.kinds), self.known)

    def estimate_at(self, place: int) -> dict[str, float]:
        """Estimate of the configuration at a place of the ranking."""
        return self.estimates.at(place)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "command": "advise",
            "size": self.size,
            "level": self.level,
            "kinds": {name: {"pes": pes, "most": most} for name, (pes, most) in self.kinds.items()},
            "best": self.configuration,
            "processes": int(processes_of(self.ranking[:1])[0]),
            "estimate_s": self.estimate_s,
            "regret": vars(self.regret),
            "configurations": self.searched,
            "ranking": [
                {
                    "configuration": self.named(allocation),
                    "processes": count,
                    "estimate_s": self.estimate_at(place),
                    "p_best": float(self.p_best[place]) if place < self.p_best.size else 0.0,
                    "warnings": list(self.estimates.warnings[place]),
                }
                for place, (allocation, count) in enumerate(
                    zip(self.ranking, processes_of(self.ranking).tolist(), strict=True)
                )
            ],
            "baselines": [
                {
                    "name": one.name,
                    "configuration": self.named(one.allocation),
                    "estimate_s": one.estimate_s,
                    "times_longer": one.times_longer,
                }
                for one in self.baselines
            ],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "provenance": provenance.provenance(inputs=self.inputs),
        }

    def _repr_html_(self) -> str:
        return page(self.to_dict())


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
    return ProcessCountAdvice(
        kinds=dict(kinds),
        known=tuple(model.kinds),
        size=size,
        level=level,
        ranking=listed,
        estimates=model.estimate(size, space.wide(listed), level=level),
        searched=space.count,
        p_best=p_best[: listed.shape[0]],
        regret=Regret(float(expected[0]), float(risk[0]), float(p_best[0])),
        baselines=baselines_of(space, ranking[0], level),
        warnings=tuple(dict.fromkeys(doubts)),
        notes=tuple(_notes(space, len(found), best, None if top else len(listed))),
        inputs=dict(inputs or {}),
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
        lines.append(f"fewer processes than {configuration_text(best, tuple(space.kinds))}: {WHY}")
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
    """Refuse hosts that no host file can name, before anything is looked for; see `layout_of_advice`.

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

    Raises ScenarioError if a kind that takes part has no host, or more or other hosts than its PEs can be spread over.
    """
    ranks, faults = [], []
    for name, part in advice.configuration.items():
        if not part["pes"]:
            continue
        count = advice.kinds[name][0]
        own = [name] if count == 1 else [f"{name}{number}" for number in range(1, count + 1)]
        named = own if hosts is None else list(hosts.get(name, ()))
        if fault := _fault(name, count, named):
            faults.append(fault)
            continue
        each = count // len(named)
        for pe in range(part["pes"]):
            ranks += [Rank(named[pe // each], f"{name}{pe + 1}", None, 0, 0)] * part["procs"]
    if faults:
        raise ScenarioError(faults)
    check_hosts((rank.host for rank in ranks), "--hosts")
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
