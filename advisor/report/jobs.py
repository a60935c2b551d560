"""A stream of jobs under one policy: its document, the page and text of that, and the folders that `-o` names."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from advisor import wording
from advisor.report.html import render_page
from advisor.report.job_answers import Planned, PolicyWords
from advisor.report.origin import head, provenance_section
from advisor.report.verdict import verdict
from advisor.results import Provenance
from simulator import (
    JobRuns,
    blocks,
    documents,
    files,
    job_metrics,
    job_table_lines,
    plots,
    stream_lines,
)

TAILS = ("p95", "p99", "max")
MEASURES = {
    "wait": ("wait_s", tuple(f"wait_{tail}_s" for tail in TAILS)),
    "turnaround": ("turnaround_s", ()),
    "slowdown": ("slowdown", ()),
    "bounded slowdown (10 s)": ("bounded_slowdown", tuple(f"bounded_slowdown_{tail}" for tail in TAILS)),
    "bounded slowdown per processor": ("per_processor_slowdown", ()),
    "area-weighted slowdown": ("area_weighted_slowdown", ()),
}
"""Name -> the average, and its tails."""
FIRST = ("wait", "bounded slowdown (10 s)", "turnaround")
"""Those that the answer stands among."""


@dataclass(frozen=True)
class StreamFacts:
    """The stream that ran."""

    name: str
    jobs: int
    log: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PolicyFacts:
    """Who starts when."""

    name: str
    variant: str
    words: PolicyWords = field(metadata=documents.FLAT)


@dataclass(frozen=True)
class SettingFacts:
    """What the jobs ran on, as the options say it."""

    platform: str | None
    times: str
    draw: int
    sizes: str
    policy: str | None

    @property
    def files(self) -> list[Path]:
        """Those that it names."""
        own = None if self.policy is None else self.policy.partition(":")[0]
        return [Path(one) for one in (self.platform, own) if one is not None]


@dataclass(frozen=True)
class RanJobs:
    """What `apportion jobs run` answers."""

    format: int
    command: str
    stream: StreamFacts
    policy: PolicyFacts
    estimates: Planned
    setting: SettingFacts
    pes: int
    engine: str
    tick_s: float
    seed: int | None
    averages: job_metrics.JobAverages
    offered_load: float | None
    overloaded: str | None
    delayed: job_metrics.Delayed | None
    warnings: tuple[str, ...]
    provenance: Provenance


Drawings = Mapping[str, plots.Drawing]
"""Those of the page by name, empty where there is nothing to draw."""


# Page


def jobs_page(ran: RanJobs, run: tuple[blocks.Command, ...] = (), drawn: Drawings | None = None) -> blocks.Page:
    """Averages, over time, how it was asked."""
    figures = drawn or {}
    busy = _figure(figures, "busy", "Predicted: PEs that jobs have (dotted: all there are), and jobs that wait.")
    waits = _figure(figures, "waits", "Predicted: which share of the jobs waits longer.")
    return blocks.Page(
        title=f"{wording.counted(ran.stream.jobs, 'job')} of {ran.stream.name or 'a stream'}",
        answer=_answer(ran),
        sections=(
            blocks.Section("averages", "Averages", tuple(_averages(ran))),
            provenance_section(ran.provenance, ran.seed),
        ),
        picture=tuple(column for column in (busy, waits) if column),
        run=run,
        facts=blocks.pairs(_facts(ran)),
        rows=_measures(ran.averages, FIRST),
        verdict=verdict(ran.warnings),
        settings=_settings(ran),
        **head(ran.command, ran.warnings, ran.provenance),
    )


def _facts(ran: RanJobs) -> dict[str, str]:
    """What waits rest on."""
    jobs = f"{wording.counted(ran.stream.jobs, 'job')} on {ran.pes} PEs, {ran.policy.variant}"
    return {"Rests on": f"one run of {jobs}", "Notes": "; ".join(ran.stream.notes)}


def _settings(ran: RanJobs) -> str:
    """Where run times come from, and the engine."""
    asked, times = ran.setting, "stated by the stream"
    if asked.platform:
        times = f"{asked.times} on {asked.platform}, draw {asked.draw} of the loads"
    return f"run times {times}, engine {ran.engine}"


def _answer(ran: RanJobs) -> str:
    found = ran.averages
    marked = ", but the stream is overloaded and the averages measure its length" if ran.overloaded else ""
    waits, slow = wording.duration(found.wait_s), wording.digits(found.bounded_slowdown, 4)
    said = f"Under {ran.policy.name} a job waits {waits} in the mean, and its bounded slowdown is {slow}"
    return f"{said}{marked}; predicted."


def _averages(ran: RanJobs) -> Iterator[blocks.Block]:
    """Means, tails and the machine's share."""
    found = ran.averages
    if ran.overloaded:
        yield blocks.Text(f"Overloaded: {ran.overloaded}.")
    share = wording.percent(found.warm_up, 1)
    note = f"of {found.jobs} jobs; the first {found.dropped} to end ({share}) are the warm-up, left out"
    note = note if found.dropped else f"of all {found.jobs} jobs; no warm-up is left out"
    if found.slowdown is None:
        note += "; some took no time: their slowdown is not defined, the bounded one is"
    yield replace(_measures(found, MEASURES), caption="Averages over the jobs, predicted", note=note)
    yield blocks.pairs(
        {
            "Predicted utilisation": wording.percent(found.utilisation, 2),
            "From the end of the warm-up to the last submission": wording.percent(found.steady_utilisation, 2),
            "First submission to last end": wording.duration(found.makespan_s),
            "Ended by their limit": wording.percent(found.killed, 2),
            "Delayed by later jobs": "" if ran.delayed is None else delayed_text(ran.delayed),
            "Offered load": wording.digits(ran.offered_load),
        }
    )


def _measures(found: job_metrics.JobAverages, names: Iterable[str]) -> blocks.Table:
    """Means with their tails."""
    rows = [[name, *_row(found, *MEASURES[name])] for name in names]
    return blocks.table("", ["measure", "mean", "95 % are below", "99 % are below", "most"], rows)


def _row(found: job_metrics.JobAverages, key: str, tails: tuple[str, ...]) -> list[str]:
    values = [getattr(found, name) for name in (key, *tails)]
    show = wording.duration if key.endswith("_s") else wording.digits
    return [*map(show, values), *[wording.NOTHING] * (3 - len(tails))]


def delayed_text(late: job_metrics.Delayed) -> str:
    """How many of the sampled jobs later ones delayed, with the interval of the share."""
    ends = f"{100 * late.low:.3g} to {100 * late.high:.3g} % with {wording.level_text(late.level)}"
    by = wording.duration(late.mean_delay_s)
    return f"{late.delayed} of {late.sampled} sampled ({ends}), by {by} in the mean of all"


def _figure(figures: Drawings, name: str, caption: str) -> tuple[blocks.Figure, ...]:
    drawn = figures.get(name)
    return (blocks.Figure(drawn, caption),) if drawn else ()


# Documents and folders


def variant(runs: JobRuns) -> str:
    """The policy with all of its settings, as results name it."""
    policy, passes = runs.policy, {"instant": "one pass per instant", "event": "one pass per event"}
    candidates = {"order": "in order", "shortest": "shortest first"}[policy.candidates]
    if policy.own is not None:
        return ", ".join([f"PEs {policy.processors}", passes[policy.same_second], f"estimates {runs.estimates.name}"])
    words = [f"order {policy.order}", f"backfill {policy.backfill}"]
    words += [f"candidates {candidates}"] if policy.backfill == "easy" else []
    words += [f"PEs {policy.processors}" if runs.nodes is None else f"{len(runs.nodes.names)} nodes"]
    words += [f"placement {policy.placement}"] if policy.processors == "named" else []
    words += [f"sizes {policy.sizes}"] if policy.sizes != "fixed" else []
    return ", ".join([*words, passes[policy.same_second], f"estimates {runs.estimates.name}"])


def ran_jobs(
    runs: JobRuns,
    *,
    log: Path,
    warm_up: float,
    setting: SettingFacts,
    delayed: job_metrics.Delayed | None = None,
    seed: int | None = None,
) -> RanJobs:
    """What `jobs run` answers.

    `log`: the file that the stream was read from.
    `warm_up`: share of the jobs that averages leave out.
    `delayed`: of the sample of `--fairness`.
    `seed`: of that sample.
    """
    stream, overloaded, load = runs.stream, job_metrics.overload(runs), job_metrics.offered_load(runs)
    return RanJobs(
        format=1,
        command="jobs run",
        stream=StreamFacts(stream.name, len(stream), str(log), tuple(stream.notes)),
        policy=PolicyFacts(runs.policy.name, variant(runs), PolicyWords.of(runs.policy)),
        estimates=Planned.of(runs.estimates),
        setting=setting,
        pes=runs.pes,
        engine=runs.engine,
        tick_s=runs.tick_s,
        seed=seed,
        averages=job_metrics.averages(runs, warm_up=warm_up),
        offered_load=load if load < float("inf") else None,
        overloaded=overloaded,
        delayed=delayed,
        warnings=() if overloaded is None else (f"overloaded: {overloaded}",),
        provenance=Provenance.of(seed, {str(path): files.digest_of(path) for path in (log, *setting.files)}),
    )


def save_jobs(
    runs: JobRuns,
    ran: RanJobs,
    *,
    folder: Path | None,
    jobs: Path | None,
    run: tuple[blocks.Command, ...] = (),
) -> None:
    """What `-o` (jobs.csv, report.html, manifest.json) and `--jobs` name, where they are given."""
    if folder is not None:
        files.write_pieces(folder / "jobs.csv", job_table_lines(runs))
        page = jobs_page(ran, run, figures(runs, ran.averages.warm_up))
        files.write_text(folder / "report.html", render_page(page))
        files.write_json(folder / "manifest.json", documents.to_dict(ran))
    if jobs is not None:
        files.write_pieces(jobs, stream_lines(runs, jobs.suffix))


def figures(runs: JobRuns, warm_up: float) -> dict[str, plots.Drawing]:
    """The drawings of the page by name, empty where there is nothing to draw."""
    waits = plots.waits({runs.policy.name: runs.wait_s[job_metrics.measured(runs, warm_up)]})
    return {"busy": plots.busy(runs), "waits": waits}
