"""The document of an advice: what `apportion advise` prints and writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from advisor.advise.pareto import Front
from advisor.advise.recommendation import Recommendation
from advisor.advise.strategies import advisable, oversubscribed, uneven
from advisor.results import Application, Drawn, NodeKind, Provenance, Strategy, application_of
from simulator import Scenario, documents, idle_cores, provenance

FORMAT = 1
_Objects = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class WrittenAdvice:
    """What the document says; parts that only pages show are whole objects."""

    command: str
    application: Application
    pes: tuple[str, ...]
    kinds: tuple[NodeKind, ...]
    recommended: str
    reference: str
    partition: tuple[int, ...]
    placement: tuple[int, ...]
    grid: tuple[int, ...] | None
    idle_cores: Mapping[str, Any] | None
    varied: tuple[str, ...]
    objective: str
    ranking: _Objects
    p_best: float | None
    p_within_1_percent: float | None
    expected_loss: float | None
    ties: tuple[str, ...]
    lower_bound_s: float | None
    regret: float | None
    evaluations: int | None
    baselines: tuple[Strategy, ...]
    confirmed: _Objects
    drawn: Drawn = field(metadata=documents.FLAT)
    warnings: tuple[str, ...]
    provenance: Provenance
    doubt: Mapping[str, Any] | None
    measure_next: Mapping[str, Any]
    measured_again: Mapping[str, Any] | None = None
    scheduling: Mapping[str, Any] | None = None
    pareto: _Objects = ()
    why: Mapping[str, Any] | None = None
    sensitivity: _Objects = ()
    explanation: Mapping[str, Any] | None = None
    exports: tuple[str, ...] = ()


def read_advice(document: object, place: object) -> WrittenAdvice:
    """What `advice_document` and `doubt_document` wrote in a file; see `documents.read_format`."""
    return documents.read_format(WrittenAdvice, document, place, newest=FORMAT, writer="apportion advise")


def advice_document(
    scenario: Scenario, recommendation: Recommendation, *, top: int | None = None, fronts: Sequence[Front] | None = None
) -> dict[str, Any]:
    """Plain data for JSON and for `report.render_advice`.

    Parameters
    ----------
    scenario
        What the recommendation is for.
    top
        How many candidates the ranking holds; all by default.
    fronts
        Of `pareto_fronts`, if they were asked for.
    """
    seed, replications = recommendation.runs.seed, recommendation.runs.makespan_ticks.shape[1]
    best, idle = recommendation.ranked(1)[0], idle_cores(scenario, recommendation.configuration)
    return {
        "format": FORMAT,
        "command": "advise",
        "application": documents.to_dict(application_of(scenario)),
        "pes": [pe.name for pe in scenario.platform.pes],
        "kinds": documents.to_dict(recommendation.compared.kinds),
        "recommended": recommendation.configuration.name,
        "reference": recommendation.reference,
        "partition": list(recommendation.configuration.partition),
        "placement": list(recommendation.configuration.placement),
        "grid": None if recommendation.configuration.grid is None else list(recommendation.configuration.grid),
        "idle_cores": None if idle is None else idle.to_dict(),
        "varied": list(recommendation.varied),
        "objective": recommendation.objective,
        "ranking": recommendation.ranked(top),
        "p_best": best["p_best"],
        "p_within_1_percent": best["p_within_1_percent"],
        "expected_loss": best["expected_loss"],
        "ties": list(recommendation.ties),
        "lower_bound_s": recommendation.ranking.bound_s,
        "regret": recommendation.ranking.regret,
        "evaluations": recommendation.evaluations,
        "baselines": recommendation.to_dict(),
        "confirmed": _confirmed(recommendation),
        **({} if fronts is None else {"pareto": [front.to_dict() for front in fronts]}),
        **({} if recommendation.scheduling is None else {"scheduling": documents.to_dict(recommendation.scheduling)}),
        "replications": replications,
        "truths": recommendation.runs.truth_count,
        "level": recommendation.level,
        "deterministic": recommendation.runs.deterministic,
        "seed": seed,
        "warnings": _warnings(scenario, recommendation),
        "provenance": provenance.provenance(seed=seed, inputs=scenario.inputs),
    }


def _confirmed(recommendation: Recommendation) -> list[dict[str, Any]]:
    engine = recommendation.runs.engine
    return [
        {
            "configuration": entry.configuration,
            "reference_s": list(entry.reference_s),
            "screened_s": list(entry.screened_s),
            "screened_by": engine,
            "agrees": entry.agrees,
        }
        for entry in recommendation.confirmations
    ]


def _warnings(scenario: Scenario, recommendation: Recommendation) -> list[str]:
    runs = recommendation.runs
    lines = list(recommendation.strategies.left_out)
    lines += [] if runs.deterministic or runs.interval_note is None else [runs.interval_note]
    lines += scenario.with_configurations(recommendation.candidates).warnings
    lines += [
        f"configuration {entry.configuration}: the engines disagree: {entry.reference_s[0]:g} s by process, "
        f"{entry.screened_s[0]:g} s by {recommendation.runs.engine}"
        for entry in recommendation.confirmations
        if not entry.agrees
    ]
    lines += _oversubscribed(scenario, recommendation)
    name = scenario.application.name
    if uneven(scenario, recommendation.configuration):
        lines.append(
            f"{name} gives each process as much as any other: it cannot run the recommended shares as they are"
        )
    return lines


def _oversubscribed(scenario: Scenario, recommendation: Recommendation) -> list[str]:
    """What more processes than cores gain, and at whose expense."""
    expense = "more processes than cores gain at the expense of other programs there"
    if oversubscribed(scenario, recommendation.configuration):
        return [f"configuration {recommendation.configuration.name}: {expense}"]
    ranked = [(recommendation.candidates[entry.candidate], entry.value_s) for entry in recommendation.ranking.ranked]
    return [
        f"configuration {one.name} is predicted to be better, but {expense}; it is advised with --oversubscribe only"
        for one, value_s in ranked
        if value_s < ranked[0][1] and not advisable(scenario, one, recommendation.most)
    ]
