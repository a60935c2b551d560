"""`apportion jobs run | generate`: a stream of jobs under one policy on one cluster, and streams drawn from a model."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import simulator
from advisor.cli.asked import next_line
from advisor.cli.declared import only_with, only_without
from advisor.cli.options import Engine, Json, PrintedForm, Seed, file, folder, print_warnings
from advisor.cli.outputs import check_room, finish, report_in
from advisor.cli.progress import counting
from advisor.cli.scenarios import INPUT, SCENARIO
from advisor.cli.simulate import check_endings
from simulator import ScenarioError, blocks, calibration, documents, files, provenance, units

if TYPE_CHECKING:
    from advisor.jobs.setting import Setting

SIMULATED = only_with("platform", why="where no applications can be simulated")
Log = Annotated[
    Path,
    typer.Argument(metavar="LOG", help="A stream: .swf(.gz), what sacct -P printed, or Batsim's .json.", **INPUT),
]
Order = Annotated[
    Literal["fcfs", "sjf", "ljf", "wfp3", "unicep", "f1"],
    typer.Option(help="Of the queue; ties as submitted."),
    only_without("policy"),
]
Backfill = Annotated[
    Literal["none", "easy", "conservative"], typer.Option(help="Who may pass whom."), only_without("policy")
]
Candidates = Annotated[
    Literal["order", "shortest"],
    typer.Option(help="How easy tries those that may pass: as queued, or shortest first."),
    only_without("policy"),
    only_with("backfill", "easy"),
]
Processors = Annotated[
    Literal["counted", "named"], typer.Option(help="Whether PEs are only counted, or each job gets some by number.")
]
Placement = Annotated[
    Literal["lowest", "fastest", "earliest-finish", "min-min", "memory"],
    typer.Option(help="Which of the free PEs."),
    only_without("policy"),
    only_with("processors", "named"),
]
Source = Annotated[
    Literal["limit", "exact", "last-two", "fit", "predicted"],
    typer.Option(
        help="What is planned with: the user's limit, the run time, the mean of the user's last two, a regression "
        "(--model), or the times that are predicted for applications."
    ),
]
Quantile = Annotated[
    float,
    typer.Option(min=0.01, max=0.99, metavar="SHARE", help="Of run times that a plan with an interval holds for."),
    only_with("estimates", "fit", "predicted"),
]
Model = Annotated[
    Path | None,
    typer.Option(
        help="Regression of run times that apportion fit wrote: of processors, limit_s or parameters.", **INPUT
    ),
    only_with("estimates", "fit"),
]
Platform = Annotated[
    Path | None,
    typer.Option(metavar="SCENARIO", help="Whose PEs, loads and network the jobs run on.", **SCENARIO),
]
Times = Annotated[
    Literal["predicted", "simulated"],
    typer.Option(help="Whether applications take the times predicted for each alone, or are simulated together."),
    SIMULATED,
]
Sizes = Annotated[
    Literal["fixed", "fit", "advised"],
    typer.Option(help="Processes of moldable jobs: as asked, as end first at the start, or fixed before by advice."),
    SIMULATED,
]
Own = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE.py[:NAME]", help="A policy of your own: a function of what waits and runs."),
]
Draw = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="Which draw of the platform's loads."),
    SIMULATED,
]
Correction = Annotated[
    Literal["steps", "limit", "quantile"],
    typer.Option(help="What holds once an estimate is outlived."),
    only_with("estimates", "last-two"),
]
Clean = Annotated[
    Literal["strong", "pyss", "none"],
    typer.Option(help="Which jobs of a log are dropped or changed; said in the output."),
]
First = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N jobs that are left.")]
Procs = Annotated[int | None, typer.Option(min=1, metavar="N", help="PEs of the machine, in place of the log's.")]
WarmUp = Annotated[
    float, typer.Option(metavar="SHARE", help="Of the jobs: those that end first and averages leave out; 0 for none.")
]
SameSecond = Annotated[
    Literal["instant", "event"],
    typer.Option(help="One pass after all that happens at an instant, or after each event."),
]
Output = Annotated[Path | None, folder("jobs.csv, report.html and manifest.json")]
Jobs = Annotated[Path | None, typer.Option(help="The schedule as a log: .swf, or .csv as Batsim writes it.")]
Timeline = Annotated[Path | None, typer.Option(help="For Perfetto: .json or .json.gz.")]
Fairness = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Which of N drawn jobs later ones delay: a run for each.")
]
ENDINGS = (".swf", ".swf.gz")
LINE_BYTES = 80
"""About what a job takes in the log, at most."""
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the jobs, for the quantiles that are printed."""


def run(  # noqa: PLR0913, PLR0917 - one per option
    log: Log,
    order: Order = "fcfs",
    backfill: Backfill = "easy",
    candidates: Candidates = "order",
    processors: Processors = "counted",
    placement: Placement = "lowest",
    estimates: Source = "limit",
    correction: Correction = "steps",
    quantile: Quantile = 0.75,
    model: Model = None,
    platform: Platform = None,
    times: Times = "predicted",
    draw: Draw = 0,
    sizes: Sizes = "fixed",
    own: Own = None,
    clean: Clean = "strong",
    first: First = None,
    procs: Procs = None,
    warm_up: WarmUp = 0.01,
    same_second: SameSecond = "instant",
    engine: Engine = "auto",
    output: Output = None,
    jobs: Jobs = None,
    timeline: Timeline = None,
    fairness: Fairness = None,
    seed: Annotated[Seed, only_with("fairness", why="where nothing is drawn")] = 0,
    table_form: PrintedForm = "text",
    as_json: Json = False,
) -> None:
    """Run a stream of jobs under one policy and print what its jobs met.

    Example: apportion jobs run KTH-SP2-1996-2.swf.gz --backfill easy --candidates shortest -o kth
    """
    from advisor.report.jobs import SettingFacts, jobs_page, needed_bytes, ran_jobs, save_jobs

    check_endings({"timeline": (timeline, simulator.JOB_TIMELINES), "jobs": (jobs, simulator.JOB_FILES)})
    simulator.job_metrics.check_warm_up(warm_up)
    words: dict[str, Any] = {"order": order, "backfill": backfill, "candidates": candidates, "processors": processors}
    words |= {"placement": placement, "same_second": same_second, "sizes": sizes}
    policy = read_policy_options(own, words)
    stream, setting = read_stream_options(log, clean, first, procs, platform, times)
    check_room(output, folder=True, needed_bytes=needed_bytes(len(stream), setting.pes, named=processors == "named"))
    plan = {"source": estimates, "correction": correction, "quantile": quantile, "model": model}
    runs = _runs(stream, setting, policy, plan, sizes=sizes, draw=draw, engine=engine)
    late = None if fairness is None else setting.delayed(runs, count=fairness, seed=seed, draw=draw, engine=engine)
    platform_text, model_text = (None if path is None else str(path) for path in (platform, model))
    where = SettingFacts(platform_text, times, draw, sizes, model_text, own)
    ran = ran_jobs(runs, log=log, warm_up=warm_up, setting=where, delayed=late, seed=None if late is None else seed)
    line = (_next_line(runs, estimates),)
    write = partial(save_jobs, runs, ran, folder=output, jobs=jobs, timeline=timeline, run=line)
    page = jobs_page(ran, line)
    finish(documents.to_dict(ran), page, as_json=as_json, write=write, said=report_in(output), form=table_form)


TWO_WEEKS_S = 14 * 86_400.0
"""A stream that lasts less has no weeks to draw."""


def _next_line(runs: "simulator.JobRuns", estimates: str) -> "blocks.Command":
    """Which change pays most for the same stream, under the same policy."""
    return next_line(
        "jobs advise",
        "which change pays most for this stream",
        policy=None if runs.policy.own is not None else runs.policy.name,
        estimates=None if estimates in {"limit", "fit"} else estimates,
        model=None,
        draws="shaken" if runs.stream.submit_s[-1] - runs.stream.submit_s[0] < TWO_WEEKS_S else None,
        output="out/jobs-advice",
    )


def _runs(
    stream: "simulator.Stream",
    setting: "Setting",
    policy: "simulator.Policy",
    plan: dict[str, Any],
    *,
    sizes: str,
    draw: int,
    engine: Any,
) -> "simulator.JobRuns":
    """The stream under the policy, with advised sizes if these are asked for.

    Raises ScenarioError for a draw that is not there, and what policy and estimates refuse.
    """
    if draw >= setting.draws:
        known = "no loads that are drawn" if setting.draws == 1 else f"draws 0 to {setting.draws - 1}"
        raise ScenarioError(f"--draw {draw}: the platform has {known}; take a lower one, or set its replications")
    if sizes == "advised":
        stream = advised(stream, setting, policy, plan["source"], plan["quantile"])
    planned = read_estimates(stream, setting, policy, **plan)
    return setting.run(stream, policy, planned, draw=draw, engine=engine)


def read_stream_options(
    log: Path, clean: str, first: int | None, procs: int | None, platform: Path | None, times: Any
) -> "tuple[simulator.Stream, Setting]":
    """The stream, and what it runs on."""
    stream = read_jobs(log, clean, first, procs)
    return stream, read_setting(stream, platform, procs, times)


def read_jobs(log: Path, cleaning: str, first: int | None, procs: int | None) -> "simulator.Stream":
    """The stream, cleaned and then cut."""
    stream = simulator.read_stream(log, cleaning=cleaning, machine_processors=procs)
    if first is not None and first < len(stream):
        note = f"the first {first} of {len(stream)} jobs taken"
        stream = replace(stream.first(first), notes=(*stream.notes, note))
    return stream


def read_policy_options(own: str | None, words: dict[str, Any]) -> "simulator.Policy":
    """The policy of the options, or one of the user's own."""
    from advisor.jobs.own_policy import own_policy

    if own is not None and words["sizes"] == "fit":
        raise ScenarioError("--sizes has no effect with --policy: leave it out, or have the policy see fixed sizes")
    if own is not None:
        return own_policy(own, processors=words["processors"], same_second=words["same_second"])
    return simulator.Policy(**words | {"sizes": "fit" if words["sizes"] == "fit" else "fixed"})


def read_setting(
    stream: "simulator.Stream",
    platform: Path | None,
    procs: int | None,
    times: Any,
    *,
    change: str | None = None,
    draws: int | None = None,
) -> "Setting":
    """What the stream runs on; a changed platform is called by its change."""
    from advisor.jobs.setting import setting_of

    changes = [] if change is None or "=" not in change else [change]
    file = platform if change is None or changes else Path(change)
    scenario = None if file is None else simulator.load_scenario(file, changes=changes)
    count = None if scenario is None or draws is None else max(draws, scenario.replications)
    asked: Any = {"times": times, "replications": count, "label": change or ""}
    with counting("predicting applications") as said:
        return setting_of(stream, platform=scenario, pes=procs, progress=said, **asked)


def read_estimates(
    stream: "simulator.Stream",
    setting: "Setting",
    policy: "simulator.Policy",
    *,
    source: Any,
    correction: Any,
    quantile: float,
    model: Path | None,
) -> "simulator.Estimates":
    """What is planned with.

    Raises ScenarioError for a regression that is not named or does not fit the stream.
    """
    from advisor.jobs.setting import fitted_estimates

    if source == "predicted":
        return setting.planned(stream, quantile, policy)
    if source != "fit":
        return simulator.Estimates(source, correction)
    if model is None:
        raise ScenarioError(
            "--estimates fit: no regression is named; add --model MODEL.json, which apportion fit writes"
        )
    return fitted_estimates(stream, calibration.load_runtime_model(model), quantile)


def advised(
    stream: "simulator.Stream", setting: "Setting", policy: "simulator.Policy", estimates: str, quantile: float
) -> "simulator.Stream":
    """The stream with sizes that were tried out for its moldable jobs, which its notes say."""
    from advisor.jobs.setting import advised_sizes

    sized, found = advised_sizes(stream, setting, policy, quantile=quantile if estimates == "predicted" else None)
    best = min(found, key=lambda name: found[name])
    return replace(sized, notes=(*sized.notes, f"sizes of moldable jobs by the best of {len(found)} rules: {best}"))


# Streams drawn from a workload model


def generate(  # noqa: PLR0913, PLR0917 - one per option
    output: Annotated[Path, file("STREAM.swf[.gz]", "the log")],
    model: Annotated[Literal["lublin"], typer.Option(help="Lublin and Feitelson's.")] = "lublin",
    kind: Annotated[
        Literal["batch", "interactive", "both", "combined"],
        typer.Option(help="Which jobs: one kind, both merged, or combined, which does not tell them apart."),
    ] = "batch",
    count: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="How many.")] = 50_000,
    processors: Annotated[int, typer.Option(min=1, metavar="N", help="Of the machine.")] = 128,
    load: Annotated[
        float | None, typer.Option(help="Offered load, by stretching gaps between arrivals; as drawn by default.")
    ] = None,
    start_hour: Annotated[float, typer.Option(metavar="H", help="Hour of the day at second 0.")] = 0.0,
    users: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many; sqrt(jobs) by default.")] = None,
    estimates: Annotated[
        Literal["none", "exact", "tsafrir"],
        typer.Option(help="Limits: none, the run times, or as users state them (Tsafrir, Etsion and Feitelson)."),
    ] = "none",
    most: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Greatest estimate, such as 60h; 100min or more."),
        only_with("estimates", "tsafrir"),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw a stream of jobs from a workload model; the same options and seed give the same file, byte for byte.

    Example: apportion jobs generate --jobs 5000 --load 0.8 --estimates tsafrir -o stream.swf.gz
    """
    if not output.name.endswith(ENDINGS):
        raise ScenarioError(f"--output: {output} is no name of a log; let it end in {' or '.join(ENDINGS)}")
    check_room(output, folder=False, needed_bytes=count * LINE_BYTES)
    try:
        stream = simulator.lublin(
            count, processors=processors, seed=seed, kind=kind, load=load, start_hour=start_hour, users=users
        )
        stream = _with_limits(stream, estimates, most, seed)
    except ScenarioError as error:
        raise ScenarioError([_as_given(line) for line in error.lines]) from error
    document = _document(stream, model, kind, seed, load) | {"log": str(output)}
    said = f"written to {output}"
    finish(document, lambda: _print(document), as_json=as_json, write=lambda: _write(stream, output), said=said)


def _with_limits(stream: "simulator.Stream", estimates: str, most: str | None, seed: int) -> "simulator.Stream":
    if estimates == "exact":
        return replace(stream, limit_s=stream.run_s, notes=(*stream.notes, "limits are the run times"))
    if estimates == "tsafrir":
        most_s = None if most is None else units.parse_duration(most, field="--most")
        return simulator.with_estimates(stream, seed=seed, most_s=most_s)
    return stream


def _as_given(line: str) -> str:
    """A fault with the names of options in the place of those of parameters."""
    field, found, rest = line.partition(": ")
    named = f"--{field.replace('_', '-')}: {rest}" if found and field.replace("_", "").isalpha() else line
    return named.replace("--most-s", "--most").replace("most_s", "--most")


def _write(stream: "simulator.Stream", output: Path) -> None:
    """Without the time that gzip would note, so that the same stream is the same file."""
    import gzip

    lines = simulator.stream_lines(stream, ".swf")
    if output.suffix == ".gz":
        files.write_bytes(output, gzip.compress("".join(lines).encode(), mtime=0))
    else:
        files.write_pieces(output, lines)


def _document(stream: "simulator.Stream", model: str, kind: str, seed: int, load: float | None) -> dict[str, Any]:
    import numpy as np

    processors = stream.machine_processors or 1
    offered = stream.offered_load(processors)
    known = {
        "processors": stream.processors,
        "run_s": stream.run_s,
        "gap_s": np.diff(stream.submit_s),
        "limit_s": stream.limit_s[~np.isnan(stream.limit_s)],
    }
    overloaded = offered >= 1
    return {
        "format": 1,
        "command": "jobs generate",
        "model": model,
        "kind": kind,
        "jobs": len(stream),
        "processors": processors,
        "users": int(np.unique(stream.user).size),
        "load_asked": load,
        "offered_load": offered if np.isfinite(offered) else None,
        "lasts_s": float(stream.submit_s[-1] - stream.submit_s[0]),
        "shares": list(SHARES),
        "quantiles": {name: np.quantile(some, SHARES).tolist() if some.size else None for name, some in known.items()},
        "limits": int(np.unique(known["limit_s"]).size),
        "notes": list(stream.notes),
        "warnings": [_OVERLOADED.format(offered)] if overloaded else [],
        "seed": seed,
        "provenance": provenance.provenance(seed=seed),
    }


_OVERLOADED = "the offered load is {:.3g}: a queue grows to the end, and averages hang on the length of the stream"


def _print(document: dict[str, Any]) -> None:
    days = document["lasts_s"] / 86400
    print(f"{document['jobs']} jobs for {document['processors']} processors over {days:.4g} days")
    load = document["offered_load"]
    print(f"offered load {'-' if load is None else format(load, '.6g')}, {document['users']} users")
    print("\n" + " " * 24 + "".join(f"{f'{share:.0%} below':>14}" for share in document["shares"]))
    names = {"processors": "processors", "run_s": "run time in s", "gap_s": "gap in s", "limit_s": "limit in s"}
    for key, name in names.items():
        if document["quantiles"][key] is not None:
            print(f"{name:<24}" + "".join(f"{value:>14.6g}" for value in document["quantiles"][key]))
    print("".join(f"\n{note}" for note in document["notes"]))
    print_warnings(document["warnings"])
