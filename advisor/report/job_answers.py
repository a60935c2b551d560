"""What commands on streams of jobs answer: one value each, which pages take and files hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from advisor.jobs.advise import JobAdvice
from advisor.jobs.backtest import Backtest
from advisor.jobs.capacity import Capacity, Drained
from advisor.jobs.compare import Alternative, Compared, Metric
from advisor.jobs.effects import Effects, slurm_lines
from advisor.jobs.paired import Apart
from advisor.results import Provenance
from simulator import Estimates, Policy, documents


@dataclass(frozen=True)
class PolicyWords:
    """Who starts when; a policy of the user's own has no words for what it decides itself."""

    own: str = field(metadata=documents.SPARE)
    order: str = field(metadata=documents.SPARE)
    backfill: str = field(metadata=documents.SPARE)
    candidates: str = field(metadata=documents.SPARE)
    processors: str
    placement: str = field(metadata=documents.SPARE)
    same_second: str
    sizes: str = field(metadata=documents.SPARE)
    slurm: str = field(metadata=documents.SPARE)
    """What of Slurm's policy is not as Slurm comes."""

    @classmethod
    def of(cls, policy: Policy) -> "PolicyWords":
        """Those of a policy."""
        return documents.read(cls, policy.to_dict())


@dataclass(frozen=True)
class Planned:
    """What was planned with, and what it is called."""

    source: str
    correction: str
    label: str

    @classmethod
    def of(cls, estimates: Estimates) -> "Planned":
        """What estimates say of themselves."""
        return cls(estimates.source, estimates.correction, estimates.name)


@dataclass(frozen=True)
class AlternativeFacts:
    """One way to run a stream, and what it gives."""

    name: str
    policy: PolicyWords
    estimates: Planned
    pes: int
    platform: str | None
    overloaded: str | None
    overloaded_draws: float
    """Share of the draws that are."""
    metrics: Mapping[str, float | None]


@dataclass(frozen=True)
class DifferenceFacts:
    """How one alternative differs from another: `other` minus `base`."""

    metric: str
    base: str
    other: str
    apart: Apart = field(metadata=documents.FLAT)
    verdict: str
    """See `Compared.verdict`."""


@dataclass(frozen=True)
class Comparison:
    """Alternatives under the same draws, and how they differ."""

    stream: str
    jobs: int
    draws: str
    replications: int
    units: float | None
    level: float
    warm_up: float
    seed: int
    refused: str | None
    untold: Mapping[str, str | None]
    """By metric: why no interval is stated; None where one is."""
    alternatives: tuple[AlternativeFacts, ...]
    differences: tuple[DifferenceFacts, ...]

    def by_metric(self) -> dict[str, list[DifferenceFacts]]:
        """The differences of each metric."""
        found: dict[str, list[DifferenceFacts]] = {}
        for one in self.differences:
            found.setdefault(one.metric, []).append(one)
        return found

    @classmethod
    def of(cls, found: Compared) -> "Comparison":
        """What `compare` found."""
        return cls(
            stream=found.stream,
            jobs=found.jobs,
            draws=found.draws,
            replications=int(found.values.shape[0]),
            units=_known(found.units),
            level=found.level,
            warm_up=found.warm_up,
            seed=found.seed,
            refused=found.refused,
            untold={metric.name: found.no_interval(metric) for metric in found.metrics},
            alternatives=tuple(_alternative(found, place, one) for place, one in enumerate(found.alternatives)),
            differences=tuple(
                _difference(found, place, metric) for metric in found.metrics for place in range(len(found.pairs))
            ),
        )


@dataclass(frozen=True)
class JobsCompared:
    """What `apportion jobs compare` answers."""

    format: int
    command: str
    compared: Comparison = field(metadata=documents.FLAT)
    provenance: Provenance


@dataclass(frozen=True)
class Base:
    """What changes are counted from."""

    name: str
    value: float | None
    overloaded: str | None


@dataclass(frozen=True)
class Change:
    """A change, and what it gains."""

    name: str
    kind: str
    value: float | None
    gain: Apart
    share: float | None
    price: float | None
    gain_per_price: float | None
    overloaded: str | None


@dataclass(frozen=True)
class JobsAdvised:
    """What `apportion jobs` answers."""

    format: int
    command: str
    sentence: str
    refused: str | None
    objective: str
    base: Base
    candidates: tuple[Change, ...]
    pays_most: str | None
    ties: tuple[str, ...]
    pays_most_per_price: str | None
    ties_per_price: tuple[str, ...]
    backtest: Backtest | None
    """Whether the simulation is right for the log; None for a log that does not tell waits."""
    capacity: tuple[Capacity, ...]
    """PEs, or nodes of each kind that can be enough, for a target, where one was asked for; best first."""
    drains_from: tuple[Drained, ...]
    """With which the queue drains, where it does not as it is; fewest cores first."""
    effects: Effects | None
    """What the change that pays most does besides; None without one, and for streams of a generator."""
    slurm_conf: tuple[str, ...]
    """Lines for that change where it is a policy that Slurm has."""
    compared: Comparison
    provenance: Provenance

    @classmethod
    def of(
        cls,
        found: JobAdvice,
        tested: Backtest | None,
        needed: tuple[Capacity, ...],
        drains: tuple[Drained, ...],
        besides: Effects | None,
        provenance: Provenance,
    ) -> "JobsAdvised":
        """What `advise`, `backtest`, `capacity` and `drains_from` found."""
        names, centres = [one.name for one in found.compared.alternatives], found.compared.centres()[:, 0]
        changes, best = names[1:], None if found.best is None else found.candidates[found.best]
        return cls(
            format=1,
            command="jobs advise",
            sentence=found.sentence,
            refused=found.refused,
            objective=found.metric.name,
            base=Base(names[0], float(centres[0]), found.compared.overloaded[0]),
            candidates=tuple(_change(found, place, centres) for place in range(len(found.candidates))),
            pays_most=None if found.best is None else changes[found.best],
            ties=tuple(changes[place] for place in found.ties),
            pays_most_per_price=None if found.best_per_price is None else changes[found.best_per_price],
            ties_per_price=tuple(changes[place] for place in found.ties_per_price),
            backtest=tested,
            capacity=needed,
            drains_from=drains,
            effects=besides,
            slurm_conf=() if best is None or best.kind != "policy" else slurm_lines(best.alternative.policy),
            compared=Comparison.of(found.compared),
            provenance=provenance,
        )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _alternative(found: Compared, place: int, one: Alternative) -> AlternativeFacts:
    values = map(_known, found.centres()[place].tolist())
    return AlternativeFacts(
        one.name,
        PolicyWords.of(one.policy),
        Planned(one.estimates.source, one.estimates.correction, one.planned_with),
        one.pes,
        one.setting.label or None,
        found.overloaded[place],
        found.overloaded_draws[place],
        dict(zip((metric.name for metric in found.metrics), values, strict=True)),
    )


def _difference(found: Compared, place: int, metric: Metric) -> DifferenceFacts:
    pair, apart = found.pairs[place], found.by_metric[metric.name].apart(place)
    base, other = (found.alternatives[one].name for one in (pair.base, pair.other))
    return DifferenceFacts(metric.name, base, other, apart, found.verdict(place, metric))


def _change(found: JobAdvice, place: int, centres: NDArray[np.float64]) -> Change:
    one, gain = found.candidates[place], found.gains.apart(place)
    mean = float(found.gains.mean[place])
    return Change(
        one.alternative.name,
        one.kind,
        _known(centres[place + 1]),
        gain,
        mean / float(centres[0]) if centres[0] else None,
        one.price,
        mean / one.price if one.price else None,
        found.compared.overloaded[place + 1],
    )
