"""What a simulation answers: values, page, text, the folder with tables and charts, the file of a timeline."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from advisor import wording
from advisor.advise.ranking import gain
from advisor.report.html import render_page
from advisor.report.illustrated import Illustration, illustration
from advisor.report.origin import head, provenance_section
from advisor.report.picture import answer_picture, reference
from advisor.report.strategies import strategies_section
from advisor.report.timelines import timeline_section
from advisor.report.verdict import speeds_line, verdict_of
from advisor.results import Application, Compared, Described, Drawn, Ends, Provenance, Strategy, application_of
from simulator import (
    Change,
    IdleCores,
    RunSet,
    Scenario,
    ScenarioError,
    blocks,
    documents,
    files,
    idle_cores,
    intervals,
    plots,
    process_lines,
    run,
    save_runs,
    ties,
    write_timeline,
)

MOST_PROCESS_ROWS = 2_000_000
"""Rows up to which `processes.csv` is written; the manifest has the means anyway."""
CLOSE = 1.005
"""Ratio up to which two configurations are as fast as each other."""
MOST_OPEN = 16
"""Processes whose table is not folded on a page."""
ROUNDED = 1e-6
"""Part of a process's time below which a time is not worth its digits."""


@dataclass(frozen=True)
class ProcessTimes:
    """Where the time of one process goes, in the mean."""

    process: int
    pe: str
    busy_s: float
    waiting_s: float
    idle_s: float

    @property
    def times(self) -> list[str]:
        """Computing, waiting and done, in words; what is nothing but rounding is 0."""
        spent = self.busy_s, self.waiting_s, self.idle_s
        return [wording.duration(value if abs(value) > ROUNDED * sum(spent) else 0.0) for value in spent]


@dataclass(frozen=True)
class Simulated:
    """One configuration."""

    name: str
    partition: tuple[int, ...]
    makespan_s: Described
    processes: tuple[ProcessTimes, ...]


@dataclass(frozen=True)
class Simulation:
    """What `apportion simulate` answers."""

    format: int
    command: str
    application: Application
    pes: tuple[str, ...]
    engine: str
    tick_s: float
    drawn: Drawn = field(metadata=documents.FLAT)
    configurations: tuple[Simulated, ...]
    idle_cores: tuple[IdleCores, ...]
    changes: tuple[Change, ...]
    extrapolation: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    provenance: Provenance


def simulation_of(loaded: Scenario, runs: RunSet, *, level: float = intervals.LEVEL) -> Simulation:
    """What runs of a scenario say; intervals hold with `level`."""
    pes, application = loaded.platform.pes, application_of(loaded)
    simulated = tuple(
        Simulated(
            configuration.name,
            configuration.partition,
            Described.of(described),
            tuple(
                ProcessTimes(process, pes[place].name, **spent)
                for process, (place, spent) in enumerate(
                    zip(configuration.placement, runs.breakdown(configuration.name), strict=True)
                )
            ),
        )
        for configuration, described in zip(loaded.configurations, runs.summary(level=level), strict=True)
    )
    note = runs.interval_note
    return Simulation(
        format=1,
        command="simulate",
        application=application,
        pes=tuple(pe.name for pe in pes),
        engine=runs.engine,
        tick_s=runs.tick_s,
        drawn=Drawn.of(runs, level),
        configurations=simulated,
        idle_cores=tuple(found for one in loaded.configurations if (found := idle_cores(loaded, one)) is not None),
        changes=loaded.changes,
        extrapolation=tuple(found.to_dict() for found in loaded.extrapolations),
        warnings=(*loaded.warnings, *([] if note is None or runs.deterministic else [note])),
        provenance=Provenance.of(runs.seed, loaded.inputs),
    )


def compared(scenario: Scenario, runs: RunSet, *, level: float = intervals.LEVEL) -> Compared:
    """The configurations of a scenario against the one with the least mean, as the strategies of an advice."""
    fastest = runs.configurations[ties.first_least(runs.makespan_s.mean(axis=1))]
    entries = []
    for one, described in zip(scenario.configurations, runs.summary(level=level), strict=True):
        own, least = runs.of(one.name), runs.of(fastest)
        against = gain(own, least, truths=runs.truths, level=level, deterministic=runs.deterministic)
        predicted = Described.of(described)
        over = Ends(against.mean, against.low, against.high)
        entries.append(
            Strategy(one.name, None, one.partition, one.placement, None, predicted, None, over, against.probability)
        )
    pes = tuple(pe.name for pe in scenario.platform.pes)
    return Compared(application_of(scenario), pes, fastest, tuple(entries), Drawn.of(runs, level))


# Page


def simulation_page(
    simulation: Simulation, judged: Compared, drawn: Illustration, run: tuple[blocks.Command, ...] = ()
) -> blocks.Page:
    """Compared, followed in time, broken down.

    `judged`, `drawn`: what is shown beyond what `--json` prints.
    """
    several = len(judged.baselines) > 1
    heading, tag = ("Configurations compared", "fastest") if several else ("Makespan", "")
    sections = (
        strategies_section(judged, heading=heading, noun="configuration", tag=tag),
        timeline_section(drawn.timelines),
        _time_section(simulation),
        provenance_section(simulation.provenance, simulation.drawn.seed, scenario_text=drawn.scenario_text),
    )
    return blocks.Page(
        title=wording.asked(simulation.application),
        answer=_answer(judged),
        facts=blocks.pairs(_facts(simulation, drawn)),
        rows=_rows(judged),
        sections=sections,
        picture=answer_picture(judged, drawn.shares, drawn.timelines, bad=drawn.bad, advised=judged.recommended),
        run=run,
        verdict=verdict_of(simulation.warnings, drawn.shares),
        settings=", ".join(filter(None, (wording.drawn_text(simulation.drawn), f"engine {simulation.engine}"))),
        **head(simulation.command, simulation.warnings, simulation.provenance),
    )


def _facts(simulation: Simulation, drawn: Illustration) -> dict[str, str]:
    """What the times rest on, and cores that stay idle."""
    rests = (
        speeds_line(drawn.shares, divided=False),
        wording.rests_text(simulation.drawn),
        f"engine {simulation.engine}",
    )
    idle = [f"configuration {one.configuration}: {one.text}" for one in simulation.idle_cores]
    more = f"; also in {wording.counted(len(idle) - 1, 'more configuration')}" if len(idle) > 1 else ""
    changed = [f"{one.path}: {one.after} in place of {one.before}" for one in simulation.changes]
    return {
        "Rests on": "; ".join(filter(None, rests)),
        "Set": "; ".join(changed),
        "Idle": f"{idle[0]}{more}" if idle else "",
    }


def _rows(judged: Compared) -> blocks.Table:
    """The fastest configurations."""
    ranked = sorted(judged.baselines, key=lambda one: one.predicted.mean)
    rows = [(one.name, wording.with_interval(one.predicted), wording.of_runs(one.predicted)) for one in ranked]
    columns = 2 if judged.drawn.deterministic else 3
    head = ("configuration", "mean, predicted", wording.runs_text(judged.drawn))
    return blocks.table("", head[:columns], [row[:columns] for row in rows])


def _answer(judged: Compared) -> str:
    best, *others = sorted(judged.baselines, key=lambda one: one.predicted.mean)
    takes = f"{best.name} takes {wording.with_interval(best.predicted)}, predicted"
    return f"{takes}: {_against(others)}." if others else f"{takes}."


def _against(others: list[Strategy]) -> str:
    """How much faster than the next and than the slowest."""
    if all(one.gain.low is None for one in others):
        return f"{_faster(others[0])} in the one replication there is, which tells nothing of others"
    near = [one for one in others if (one.gain.low or 0.0) < CLOSE]
    if near:
        far = [one for one in others if one not in near]
        said = f"too close to tell from {', '.join(one.name for one in near[: wording.MOST_NAMED])}"
        return said + (f", {_faster(far[-1])}" if far else "")
    said, last = _faster(others[0]), others[-1]
    if len(others) == 1:
        return said
    return f"{said}, the next, and {wording.with_interval(last.gain, '')} than {last.name}"


def _faster(one: Strategy) -> str:
    return f"{wording.with_interval(one.gain, '')} times faster than {one.name}"


def _time_section(simulation: Simulation) -> blocks.Section:
    """Where the time of each process goes: a table per configuration."""
    shown: list[blocks.Block] = []
    for one in simulation.configurations:
        rows = [[f"{spent.pe}, process {spent.process}", *spent.times] for spent in one.processes]
        said = blocks.table(
            f"Where time goes, predicted means: {one.name}", ["PE", "computing", "waiting", "done, idle"], rows
        )
        folded = len(rows) > MOST_OPEN or len(simulation.configurations) > 1
        shown.append(blocks.Folded(f"{one.name}: {len(rows)} processes", (said,)) if folded else said)
    return blocks.Section("time", "Where time goes", tuple(shown))


# Files


def page_of_runs(
    loaded: Scenario, runs: RunSet, simulation: Simulation, run: tuple[blocks.Command, ...], *, drawn: bool
) -> blocks.Page:
    """The page of a simulation.

    `drawn`: whether it is to be written, with timelines and the platform.
    """
    judged = compared(loaded, runs, level=simulation.drawn.level)
    before = reference(judged)
    compared_with = "" if before is None else before.name
    shown = judged.recommended, compared_with or judged.recommended, *runs.configurations
    illustrated = illustration(loaded, runs, shown, before=compared_with, drawn=drawn)
    return simulation_page(simulation, judged, illustrated, run)


def save_simulation(
    loaded: Scenario,
    runs: RunSet,
    folder: Path,
    simulation: Simulation,
    page: blocks.Page,
    form: Literal["csv", "parquet"],
) -> None:
    """The folder that `-o` names: tables, page, a chart per configuration."""
    changed = {one.path: one.after for one in simulation.changes}
    save_runs(runs, folder, manifest=documents.to_dict(simulation), parameters=changed, form=form)
    if sum(busy.size for busy in runs.busy_ticks) <= MOST_PROCESS_ROWS:
        files.write_pieces(folder / "processes.csv", process_lines(loaded, runs))
    files.write_text(folder / "report.html", render_page(page))
    for number, name in enumerate(runs.configurations):
        if drawing := plots.timeline(runs.timeline(name)):
            files.write_text(folder / f"timeline-{number}.svg", drawing.svg(f"timeline-{number}"))


def shown_in_timeline(
    loaded: Scenario, replications: int | None, replication: int, configuration: str | None
) -> tuple[str, ...]:
    """Names of the configurations that a timeline shows."""
    count = loaded.replications if replications is None else replications
    if replication >= count:
        raise ScenarioError(f"--replication is {replication}; give 0 to {count - 1}")
    names = tuple(one.name for one in loaded.configurations)
    if configuration is None:
        return names
    if configuration not in names:
        raise ScenarioError(f"--configuration: there is no {configuration!r}; name one of {', '.join(names)}")
    return (configuration,)


def save_timeline(
    loaded: Scenario,
    runs: RunSet,
    path: Path,
    *,
    simulation: Simulation,
    replication: int,
    shown: tuple[str, ...],
) -> None:
    """One file: all configurations for a trace viewer, one as a chart. Only replication 0 is logged with the others."""
    if replication:
        alone = loaded.with_configurations(tuple(one for one in loaded.configurations if one.name in shown))
        known: Any = runs.engine
        again = {"replications": 1, "first_replication": replication, "engine": known}
        loaded = runs.drawn(alone)
        runs = run(loaded, log_replications=1, **again)
    if path.suffix == ".svg":
        files.write_text(path, plots.timeline(runs.timeline(shown[0])).svg("timeline"))
        return
    document = documents.to_dict(simulation)
    about = {
        "command": "simulate --timeline",
        "application": loaded.application.name,
        "replication": replication,
        "makespan_s": {name: float(runs.of(name)[0]) for name in shown},
        **{name: document[name] for name in ("engine", "tick_s", "seed", "changes", "warnings", "provenance")},
    }
    write_timeline(path, loaded, runs=runs, configurations=shown, first_replication=replication, about=about)
