"""`apportion jobs run | generate`: a stream of jobs under one policy on one cluster, and streams drawn from a model."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import simulator
from advisor.cli import signs
from advisor.cli.asked import next_line
from advisor.cli.declared import argument, only_with, only_without, option
from advisor.cli.inputs import INPUT, SCENARIO
from advisor.cli.options import Engine, PrintedForm, Seed, folder
from advisor.cli.outputs import finish
from advisor.cli.progress import counting
from advisor.cli.simulate import check_endings
from simulator import ScenarioError, blocks

if TYPE_CHECKING:
    from advisor.jobs.setting import Setting

SCENARIO_SUFFIXES = {".yaml", ".yml", ".json", ".toml"}
MOST_NOTES = 4
"""Of a file of nodes, so many are said."""
SIMULATED = only_with("platform", why="where no applications can be simulated")
LOG = argument("A stream: .swf(.gz), what sacct -P printed, or Batsim's .json.", metavar="LOG", **INPUT)
Platform = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What the jobs run on: a scenario, or nodes as scontrol show, sinfo -N or slurm.conf describe them.",
        **SCENARIO,
    ),
]
Times = Annotated[
    Literal["predicted", "simulated"],
    typer.Option(help="Whether applications take the times predicted for each alone, or are simulated together."),
    SIMULATED,
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
TWO_WEEKS_S = 14 * 86_400.0
"""A stream that lasts less has no weeks to draw."""


@dataclass(frozen=True)
class Rules:
    """The policy: the order of the queue, who may pass whom, and which PEs a job gets."""

    order: Literal["fcfs", "sjf", "ljf", "wfp3", "unicep", "f1"] = option(
        "Of the queue; ties as submitted.", only_without("policy"), only_without("slurm"), default="fcfs"
    )
    backfill: Literal["none", "easy", "conservative", "replanned", "slurm"] = option(
        "Who may pass whom; conservative keeps its promises, replanned makes all again at each end of a job, "
        "slurm is sched/backfill as it comes.",
        only_without("policy"),
        only_without("slurm"),
        default="easy",
    )
    slurm: Path | None = option(
        "Slurm's own policy: slurm.conf or what scontrol show config printed.", only_without("policy"), **INPUT
    )
    accounts: Path | None = option("What sacctmgr -P show assoc printed.", only_with("slurm"), **INPUT)
    qos: Path | None = option("What sacctmgr -P show qos printed.", only_with("slurm"), **INPUT)
    candidates: Literal["order", "shortest"] = option(
        "How easy tries those that may pass: as queued, or shortest first.",
        only_without("policy"),
        only_with("backfill", "easy"),
        default="order",
    )
    processors: Literal["counted", "named"] = option(
        "Whether PEs are only counted, or each job gets some by number.", default="counted"
    )
    placement: Literal["lowest", "fastest", "earliest-finish", "min-min", "memory"] = option(
        "Which of the free PEs.", only_without("policy"), only_with("processors", "named"), default="lowest"
    )
    sizes: Literal["fixed", "fit", "advised"] = option(
        "Processes of moldable jobs: as asked, as end first at the start, or fixed before by advice.",
        SIMULATED,
        default="fixed",
    )
    same_second: Literal["instant", "event"] = option(
        "One pass after all that happens at an instant, or after each event.", default="instant"
    )
    own: str | None = option(
        "A policy of your own: a function of what waits and runs.", names=("--policy",), metavar="FILE.py[:NAME]"
    )


@dataclass(frozen=True)
class Plan:
    """What the policy takes run times for."""

    estimates: Literal["limit", "exact", "last-two", "predicted"] = option(
        "What is planned with: the user's limit, the run time, the mean of the user's last two, or the times that are "
        "predicted for applications.",
        default="limit",
    )
    correction: Literal["steps", "limit", "quantile"] = option(
        "What holds once an estimate is outlived.", only_with("estimates", "last-two"), default="steps"
    )
    quantile: float = option(
        "Of run times that a plan with an interval holds for.",
        only_with("estimates", "predicted"),
        default=0.75,
        min=0.01,
        max=0.99,
        metavar="SHARE",
    )


@dataclass(frozen=True)
class Jobs:
    """Which jobs are run, on what."""

    clean: Clean = "strong"
    first: First = None
    procs: Procs = None
    platform: Platform = None
    times: Times = "predicted"
    draw: int = option("Which draw of the platform's loads.", SIMULATED, default=0, min=0, metavar="N")


@dataclass(frozen=True)
class Told:
    """What is told of the run, and written beside its folder."""

    warm_up: WarmUp = 0.01
    jobs: Path | None = option("The schedule as a log: .swf, or .csv as Batsim writes it.")
    fairness: int | None = option("Which of N drawn jobs later ones delay: a run for each.", min=1, metavar="N")
    seed: Annotated[Seed, only_with("fairness", why="where nothing is drawn")] = 0
    table_form: PrintedForm = "text"


def run(
    rules: Rules,
    plan: Plan,
    asked: Jobs,
    told: Told,
    log: Path = LOG,
    engine: Engine = "auto",
    output: Path | None = folder("jobs.csv, report.html and manifest.json"),
) -> None:
    """Run a stream of jobs under one policy and print what its jobs met.

    Example: apportion jobs run KTH-SP2-1996-2.swf.gz --backfill easy --candidates shortest -o kth
    """
    from advisor.report.jobs import SettingFacts, jobs_page, ran_jobs, save_jobs

    check_endings({"jobs": (told.jobs, simulator.JOB_FILES)})
    simulator.job_metrics.check_warm_up(told.warm_up)
    policy, said = (_policy(rules), []) if rules.slurm is None else _slurm(rules.slurm, rules.accounts, rules.qos)
    on = read_platform(asked.platform, asked.procs)
    stream = read_jobs(log, asked.clean, asked.first, asked.procs, on)
    stream = replace(stream, notes=(*stream.notes, *said))
    setting = read_setting(stream, on, asked.procs, asked.times)
    how: Any = {"draw": asked.draw, "engine": engine}
    runs = _runs(stream, setting, policy, plan, sizes=rules.sizes, **how)
    late = None if told.fairness is None else setting.delayed(runs, count=told.fairness, seed=told.seed, **how)
    platform_text = None if asked.platform is None else str(asked.platform)
    where = SettingFacts(platform_text, asked.times, asked.draw, rules.sizes, rules.own)
    seed = None if late is None else told.seed
    ran = ran_jobs(runs, log=log, warm_up=told.warm_up, setting=where, delayed=late, seed=seed)
    line = (_next_line(runs, plan.estimates, rules.slurm),)
    more = partial(save_jobs, runs, ran, folder=output, jobs=told.jobs, run=line)
    finish(ran, jobs_page(ran, line), output, more=more, form=told.table_form)


def _next_line(runs: "simulator.JobRuns", estimates: str, slurm: Path | None) -> "blocks.Command":
    """Which change pays most for the same stream, under the same policy."""
    return next_line(
        "jobs advise",
        "which change pays most for this stream",
        policy=None if runs.policy.own is not None else slurm or runs.policy.name,
        estimates=None if estimates == "limit" else estimates,
        model=None,
        draws="shaken" if runs.stream.submit_s[-1] - runs.stream.submit_s[0] < TWO_WEEKS_S else None,
        output="out/jobs-advice",
    )


def _runs(
    stream: "simulator.Stream",
    setting: "Setting",
    policy: "simulator.Policy",
    plan: Plan,
    *,
    sizes: str,
    draw: int,
    engine: Any,
) -> "simulator.JobRuns":
    """The stream under the policy, with advised sizes if these are asked for."""
    if draw >= setting.draws:
        known = "no loads that are drawn" if setting.draws == 1 else f"draws 0 to {setting.draws - 1}"
        raise ScenarioError(f"--draw {draw}: the platform has {known}; take a lower one, or set its replications")
    if sizes == "advised":
        stream = _advised(stream, setting, policy, plan)
    planned = _estimates(stream, setting, policy, plan)
    return setting.run(stream, policy, planned, draw=draw, engine=engine)


def read_platform(path: Path | None, procs: int | None = None) -> "Path | simulator.JobNodes | None":
    """The nodes that a file of Slurm's describes; a scenario stays a path."""
    if path is None or path.suffix in SCENARIO_SUFFIXES:
        return path
    nodes, notes = simulator.read_job_nodes(path)
    if procs is not None:
        raise ScenarioError(f"--procs has no effect with the {len(nodes.names)} nodes of {path}; leave one of them out")
    for note in notes[:MOST_NOTES]:
        signs.say(f"{path}: {note}")
    return nodes


def read_jobs(
    log: Path, cleaning: str, first: int | None, procs: int | None, on: "Path | simulator.JobNodes | None" = None
) -> "simulator.Stream":
    """The stream, cleaned, without what the nodes cannot hold, and then cut."""
    from advisor.jobs.kinds import on_nodes

    nodes = on if isinstance(on, simulator.JobNodes) else None
    size = procs if nodes is None else nodes.count
    stream = simulator.read_stream(log, cleaning=cleaning, machine_processors=size)
    stream = stream if nodes is None else on_nodes(stream, nodes)
    if first is not None and first < len(stream):
        note = f"the first {first} of {len(stream)} jobs taken"
        stream = replace(stream.first(first), notes=(*stream.notes, note))
    return stream


def _policy(rules: Rules) -> "simulator.Policy":
    """The policy of the options, or one of the user's own."""
    from advisor.jobs.own_policy import own_policy

    if rules.own is None:
        names = ("order", "backfill", "candidates", "processors", "placement", "same_second")
        words: Any = {name: getattr(rules, name) for name in names}
        return simulator.Policy(**words, sizes="fit" if rules.sizes == "fit" else "fixed")
    if rules.sizes == "fit":
        raise ScenarioError("--sizes has no effect with --policy: leave it out, or have the policy see fixed sizes")
    return own_policy(rules.own, processors=rules.processors, same_second=rules.same_second)


def _slurm(path: Path, *tables: Path | None) -> "tuple[simulator.Policy, list[str]]":
    """What slurm.conf and sacctmgr state, and what of it is not modelled."""
    policy, notes = simulator.read_slurm_policy(path)
    for one in tables:
        policy = policy if one is None else simulator.with_accounts(policy, one)
    return policy, notes


def read_setting(
    stream: "simulator.Stream",
    platform: "Path | simulator.JobNodes | None",
    procs: int | None,
    times: Any,
    *,
    change: str | None = None,
    draws: int | None = None,
) -> "Setting":
    """What the stream runs on; a changed platform is called by its change."""
    from advisor.jobs.setting import setting_of

    if isinstance(platform, simulator.JobNodes):
        if change is not None:
            raise ScenarioError(f"--change {change}: only scenarios are changed so; write another file of nodes")
        return setting_of(stream, platform=platform, pes=None, times=times)
    changes = [] if change is None or "=" not in change else [change]
    file = platform if change is None or changes else Path(change)
    scenario = None if file is None else simulator.load_scenario(file, changes=changes)
    count = None if scenario is None or draws is None else max(draws, scenario.replications)
    asked: Any = {"times": times, "replications": count, "label": change or ""}
    return setting_of(stream, platform=scenario, pes=procs, progress=counting("predicting applications"), **asked)


def _estimates(
    stream: "simulator.Stream", setting: "Setting", policy: "simulator.Policy", plan: Plan
) -> "simulator.Estimates":
    """What is planned with."""
    if plan.estimates == "predicted":
        return setting.planned(stream, plan.quantile, policy)
    return simulator.Estimates(plan.estimates, plan.correction)


def _advised(
    stream: "simulator.Stream", setting: "Setting", policy: "simulator.Policy", plan: Plan
) -> "simulator.Stream":
    """The stream with sizes that were tried out for its moldable jobs, which its notes say."""
    from advisor.jobs.setting import advised_sizes

    quantile = plan.quantile if plan.estimates == "predicted" else None
    sized, found = advised_sizes(stream, setting, policy, quantile=quantile)
    best = min(found, key=lambda name: found[name])
    return replace(sized, notes=(*sized.notes, f"sizes of moldable jobs by the best of {len(found)} rules: {best}"))
