"""The advice: which PEs should take part with how many processes each, by a model fitted to measured runs."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from advisor.advise.process_counts.space import (
    Allocations,
    Floats,
    Kinds,
    Limits,
    Space,
    SpaceAt,
    space_of,
)
from advisor.advise.process_counts.wording import BASELINES, configuration_dict, configuration_text, page
from simulator import ScenarioError, provenance
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


def warnings_of(
    fitted: AllocationFit, space: Space, size: float, ranking: Allocations, members_s: Floats
) -> tuple[str, ...]:
    """Of the model, of the advised configuration (the first of the ranking), and of its distance to the others.

    `members_s`: of the first of the ranking, paired; (member, n).
    """
    own = space.model.estimate(size, space.wide(ranking[:1])).warnings[0]
    return tuple(dict.fromkeys([*fitted.warnings, *own, *_near(space, ranking, members_s)]))


def _near(space: Space, ranking: Allocations, members_s: Floats) -> list[str]:
    """Whether the runs can tell the first from what else may be best."""
    if members_s.shape[1] < 2:
        return []
    names = [kind.name for kind in space.kinds]
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


def baselines_of(here: SpaceAt, advised: Allocations, level: float) -> tuple[Baseline, ...]:
    """The baselines at one size, in the order of `BASELINES`.

    Speeds are the model's, of PEs with one process among as many as there are PEs.
    """
    space, size, ends = here.space, here.size, (1 - level) / 2
    plain = plain_allocations(space.kinds, _speeds(space, size, sum(kind.count for kind in space.kinds)))
    named = {name: plain[name] for name in BASELINES}
    possible_ones = np.isfinite(here.of(np.stack(list(named.values()))))
    both = space.wide(np.stack([advised, *itertools.compress(named.values(), possible_ones)]))
    mine, members_s = space.model.estimate(size, both, level=level), space.model.members(size, both)
    lows, highs = np.quantile(members_s / members_s[:, :1], (ends, 1 - ends), axis=0)
    found = []
    for (name, allocation), known, place in zip(named.items(), possible_ones, np.cumsum(possible_ones), strict=True):
        if not known:
            found.append(Baseline(name, allocation, None, None))
            continue
        estimate = {"mean": mine.mean_s[place], "low": mine.low_s[place], "high": mine.high_s[place]}
        longer = {"mean": mine.mean_s[place] / mine.mean_s[0], "low": lows[place], "high": highs[place]}
        both_parts = [{key: float(value) for key, value in part.items()} for part in (estimate, longer)]
        found.append(Baseline(name, allocation, *both_parts))
    return tuple(found)


def _speeds(space: Space, size: float, processes: int) -> Floats:
    """Shares per second of a PE of each kind with one of so many processes; (kind,)."""
    most = [1] * len(space.model.kinds)
    return np.asarray(1 / space.model.tables(size, most, processes).pe_s[list(space.places), 0, processes])


LARGEST_SIZE = 1e15
"""Problem sizes above are refused: their powers would leave the range of numbers."""
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
        found = self.estimates
        return {
            "mean": float(found.mean_s[place]),
            "low": float(found.low_s[place]),
            "high": float(found.high_s[place]),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "command": "advise",
            "size": self.size,
            "level": self.level,
            "kinds": {name: {"pes": pes, "most": most} for name, (pes, most) in self.kinds.items()},
            "best": self.configuration,
            "processes": int(_processes(self.ranking[:1])[0]),
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
                    zip(self.ranking, _processes(self.ranking).tolist(), strict=True)
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
    """Rank every configuration at a problem size by a fitted model: the one of least estimate is advised.

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
    space, model = space_of(fitted.model, kinds, limits), fitted.model
    count = LISTED if top is None else top
    here = space.at(size)
    found = here.best(max(count, SHORTLIST))
    members_s = model.members(size, space.wide(found[:SHORTLIST]))
    expected, risk, p_best = regrets(members_s)
    listed = found[:count]
    return ProcessCountAdvice(
        kinds=dict(kinds),
        known=tuple(model.kinds),
        size=size,
        level=level,
        ranking=listed,
        estimates=model.estimate(size, space.wide(listed), level=level),
        searched=space.most_configurations,
        p_best=p_best[: listed.shape[0]],
        regret=Regret(float(expected[0]), float(risk[0]), float(p_best[0])),
        baselines=baselines_of(here, found[0], level),
        warnings=warnings_of(fitted, space, size, found, members_s),
        notes=tuple(_notes(here, None if top else listed.shape[0])),
        inputs=dict(inputs or {}),
    )


def _notes(here: SpaceAt, listed: int | None) -> list[str]:
    """What was left out, of the ranking too where nobody asked for a part of it."""
    count, fitting, lines = here.space.most_configurations, here.fitting, []
    if fitting < count:
        lines.append(f"{count - fitting} of {count} configurations are left out: memory does not hold them")
    if listed == LISTED:
        lines.append(f"the ranking holds the best {listed} of {fitting} configurations")
    return lines


def _processes(allocations: Allocations) -> NDArray[np.int64]:
    """Processes of each configuration; (n,)."""
    return np.asarray(allocations.prod(axis=2).sum(axis=1))


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
