"""An advice: what `apportion advise` prints and writes, and what pages and texts of it take."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from advisor.advise.explanation import Explanation
from advisor.advise.explanation.next_measurement import next_measurement
from advisor.advise.measured_again import MeasuredAgain, standing
from advisor.advise.pareto import Front
from advisor.advise.recommendation import Recommendation
from advisor.advise.scheduling import Scheduling
from advisor.advise.strategies import advisable, oversubscribed, uneven
from advisor.results import Compared, Provenance
from simulator import IdleCores, Scenario, documents, idle_cores

FORMAT = 1
WITH_REASONS = ("why", "sensitivity", "explanation")
"""Keys that an advice has where an explanation was asked for."""
IF_ASKED = ("pareto", "scheduling", "measured_again", "exports")
"""Keys that it has where there is something to say under them."""


@dataclass(frozen=True)
class Process:
    """A process of the recommended configuration: where it runs, and how much it gets."""

    pe: str
    units: int


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What `apportion advise` answers."""

    format: int = FORMAT
    command: str = "advise"
    compared: Compared = field(metadata=documents.FLAT)
    partition: tuple[int, ...]
    """Of the recommended configuration."""
    placement: tuple[int, ...]
    """Of each process, the place of its PE in the scenario: that in `pes`."""
    processes: tuple[Process, ...]
    """The same by name, rank by rank."""
    grid: tuple[int, ...] | None
    idle_cores: IdleCores | None
    varied: tuple[str, ...]
    p_best: float | None
    p_within_1_percent: float | None
    lower_bound_s: float | None
    pareto: tuple[Front, ...] = ()
    scheduling: Scheduling | None = None
    explained: Explanation = field(metadata=documents.FLAT)
    measured_again: MeasuredAgain | None = None
    warnings: tuple[str, ...]
    provenance: Provenance
    exports: tuple[str, ...] = ()
    """Names of the files for launchers and programs, where they were written."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; keys of what was not asked for are left out."""
        plain = documents.by_field(self)
        out = [key for key in IF_ASKED if not plain[key]]
        out += WITH_REASONS if self.explained.effort is None else ()
        return {key: value for key, value in plain.items() if key not in out}


def read_advice(document: object, place: object) -> Advice:
    """What `Advice.to_dict` wrote in a file; see `documents.read_format`."""
    return documents.read_format(Advice, document, place, newest=FORMAT, writer="apportion advise")


def advice_of(
    scenario: Scenario,
    recommendation: Recommendation,
    *,
    top: int | None = None,
    fronts: Sequence[Front] = (),
    explanation: Explanation | None = None,
    measured: MeasuredAgain | None = None,
    exports: Sequence[str] = (),
) -> Advice:
    """All that is said of a recommendation.

    `scenario`: what the recommendation is for.
    `top`: how many candidates the ranking holds; all by default.
    `fronts`: of `pareto_fronts`, if they were asked for.
    `explanation`: of this recommendation; by default only its doubt is looked at.
    `measured`: what `measured_first` returned: what is advised now is added.
    `exports`: names of what is written for launchers and programs.
    """
    compared, chosen = recommendation.compared, recommendation.configuration
    best = compared.ranking[0]
    found = explanation or Explanation(*next_measurement(scenario, recommendation))
    again = None if measured is None else replace(measured, after=standing(recommendation, found.measure_next))
    return Advice(
        compared=replace(compared, ranking=compared.ranking[:top]),
        partition=chosen.partition,
        placement=chosen.placement,
        processes=tuple(
            Process(scenario.platform.pes[place].name, units)
            for place, units in zip(chosen.placement, chosen.partition, strict=True)
        ),
        grid=chosen.grid,
        idle_cores=idle_cores(scenario, chosen),
        varied=recommendation.varied,
        p_best=best.p_best,
        p_within_1_percent=best.p_within_1_percent,
        lower_bound_s=recommendation.ranking.bound_s,
        pareto=tuple(fronts),
        scheduling=recommendation.scheduling,
        explained=found,
        measured_again=again,
        warnings=tuple(_warnings(scenario, recommendation)),
        provenance=Provenance.of(recommendation.runs.seed, scenario.inputs),
        exports=tuple(exports),
    )


def _warnings(scenario: Scenario, recommendation: Recommendation) -> list[str]:
    runs = recommendation.runs
    lines = list(recommendation.strategies.left_out)
    lines += [] if runs.deterministic or runs.interval_note is None else [runs.interval_note]
    lines += scenario.with_configurations(recommendation.candidates).warnings
    lines += [
        f"configuration {entry.configuration}: the engines disagree: {entry.reference_s[0]:g} s by process, "
        f"{entry.screened_s[0]:g} s by {entry.screened_by}"
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
