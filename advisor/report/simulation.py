"""What a simulation answers: its document, the folder with tables, charts and page, and the file of a timeline."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from advisor.advise.advice import application_facts
from simulator import (
    IdleCores,
    RunSet,
    Scenario,
    ScenarioError,
    files,
    idle_cores,
    intervals,
    plots,
    process_lines,
    provenance,
    run,
    save_runs,
    write_timeline,
)

MOST_PROCESS_ROWS = 2_000_000
"""Rows up to which `processes.csv` is written; the manifest has the means anyway."""
ROW_BYTES, PAGE_BYTES = 80, 2**20
"""About what a row of a table takes, and everything else."""


def needed_bytes(loaded: Scenario, replications: int | None) -> int:
    """About what `-o` writes: a row per run, and one per process of a run as long as these are not too many."""
    count = loaded.replications if replications is None else replications
    rows = count * sum(len(one.partition) for one in loaded.configurations)
    runs = count * len(loaded.configurations)
    return PAGE_BYTES + ROW_BYTES * (runs + (rows if rows <= MOST_PROCESS_ROWS else 0))


def simulation_document(loaded: Scenario, runs: RunSet, *, level: float = intervals.LEVEL) -> dict[str, Any]:
    """What `simulate --json` prints; intervals hold with `level`."""
    pes, described = loaded.platform.pes, runs.summary(level=level)
    return {
        "format": 1,
        "command": "simulate",
        **loaded.application.prepared_as,
        "application": application_facts(loaded),
        "pes": [pe.name for pe in pes],
        "engine": runs.engine,
        "tick_s": runs.tick_s,
        "replications": runs.makespan_ticks.shape[1],
        "truths": runs.truth_count,
        "level": level,
        "deterministic": runs.deterministic,
        "seed": runs.seed,
        "configurations": [
            {
                "name": configuration.name,
                "partition": list(configuration.partition),
                "makespan_s": {key: value for key, value in makespan.items() if key != "name"},
                "processes": [
                    {"process": process, "pe": pes[place].name, **spent}
                    for process, (place, spent) in enumerate(
                        zip(configuration.placement, runs.breakdown(configuration.name), strict=True)
                    )
                ],
            }
            for configuration, makespan in zip(loaded.configurations, described, strict=True)
        ],
        "idle_cores": [found.to_dict() for found in idle_of(loaded)],
        "changes": [{"path": change.path, "before": change.before, "after": change.after} for change in loaded.changes],
        "extrapolation": [found.to_dict() for found in loaded.extrapolations],
        "warnings": simulation_warnings(loaded, runs),
        "provenance": provenance.provenance(seed=runs.seed, inputs=loaded.inputs),
    }


def idle_of(loaded: Scenario) -> list[IdleCores]:
    """The configurations that leave cores idle, and which."""
    return [found for one in loaded.configurations if (found := idle_cores(loaded, one)) is not None]


def simulation_warnings(loaded: Scenario, runs: RunSet) -> list[str]:
    """What the scenario warns of, and that one replication has no interval."""
    note = runs.interval_note
    return [*loaded.warnings, *([] if note is None or runs.deterministic else [note])]


def save_simulation(
    loaded: Scenario, runs: RunSet, folder: Path, document: dict[str, Any], form: Literal["csv", "parquet"]
) -> None:
    """The folder that `-o` names: tables, page, a chart per configuration."""
    from advisor.report.html import render_html
    from advisor.report.illustrated import compared, illustrated

    changed = {change["path"]: change["after"] for change in document["changes"]}
    save_runs(runs, folder, manifest=document, parameters=changed, form=form)
    if sum(busy.size for busy in runs.busy_ticks) <= MOST_PROCESS_ROWS:
        files.write_pieces(folder / "processes.csv", process_lines(loaded, runs))
    judged = compared(loaded, runs, level=document["level"])
    shown = (judged["recommended"], *runs.configurations)
    files.write_text(folder / "report.html", render_html(illustrated(document | judged, loaded, runs, shown)))
    for number, name in enumerate(runs.configurations):
        drawing = plots.gantt_svg(runs.timeline(name), name=f"timeline-{number}")
        if drawing:
            files.write_text(folder / f"timeline-{number}.svg", drawing)


def shown_in_timeline(
    loaded: Scenario, replications: int | None, replication: int, configuration: str | None
) -> tuple[str, ...]:
    """Names of the configurations that a timeline shows."""
    count = loaded.replications if replications is None else replications
    if replication >= count:
        raise ScenarioError(f"--replication: {replication} found, 0 to {count - 1} allowed")
    names = tuple(one.name for one in loaded.configurations)
    if configuration is None:
        return names
    if configuration not in names:
        raise ScenarioError(f"--configuration: {configuration!r} found, one of {', '.join(names)} allowed")
    return (configuration,)


def save_timeline(
    loaded: Scenario,
    runs: RunSet,
    path: Path,
    *,
    document: dict[str, Any],
    replication: int,
    shown: tuple[str, ...],
) -> None:
    """One file: all configurations for a trace viewer, one as a chart. Only replication 0 is logged with the others."""
    if replication:
        alone = loaded.with_configurations(tuple(one for one in loaded.configurations if one.name in shown))
        known: Any = runs.engine
        again = {"replications": 1, "first_replication": replication, "seed": runs.seed, "engine": known}
        alone = replace(alone, truths=runs.truth_count)
        loaded, runs = alone, run(alone, log_replications=1, **again)
    if path.suffix == ".svg":
        files.write_text(path, plots.gantt_svg(runs.timeline(shown[0])))
        return
    about = {
        "command": "simulate --timeline",
        "application": loaded.application.name,
        "replication": replication,
        "makespan_s": {name: float(runs.of(name)[0]) for name in shown},
        **{name: document[name] for name in ("engine", "tick_s", "seed", "changes", "warnings", "provenance")},
    }
    write_timeline(path, loaded, runs=runs, configurations=shown, first_replication=replication, about=about)
