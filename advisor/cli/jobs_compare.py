"""`apportion jobs compare | advise | forecast`: policies on the same draws, what pays most, and when a job starts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

import typer

import simulator
from advisor.cli.asked import next_line
from advisor.cli.declared import REQUIRED, argument, only_with, only_without, option
from advisor.cli.inputs import INPUT
from advisor.cli.jobs import (
    LOG,
    SCENARIO_SUFFIXES,
    SIMULATED,
    Clean,
    First,
    Platform,
    Procs,
    Times,
    WarmUp,
    read_jobs,
    read_platform,
    read_setting,
)
from advisor.cli.options import LEVEL, REPLICATIONS, Level, PrintedForm, Seed, folder, named_values, whole_numbers
from advisor.cli.outputs import finish
from advisor.cli.progress import counting
from simulator import ScenarioError, blocks, documents, files, units

if TYPE_CHECKING:
    from advisor.jobs.capacity import Capacity
    from advisor.jobs.compare import Alternative, Generator
    from advisor.jobs.forecast import StartForecast
    from advisor.jobs.setting import Setting
    from advisor.results import Provenance

Answer = TypeVar("Answer")
MAYBE_LOG = argument("A stream, as for jobs run; or none with --model.", None, metavar="LOG", **INPUT)
Replications = Annotated[int, REPLICATIONS]
PolicyWords = Annotated[str, typer.Option("--policy", help="In words: easy, sjf easy, replanned, conservative named.")]
STREAMS_APART = 1_000_000
"""Seeds of the streams of a generator: this many for each seed of the command."""


@dataclass(frozen=True)
class Streams:
    """Draws of a stream, from a log or of a generator, and what they run on."""

    platform: Annotated[Platform, only_without("model")] = None
    times: Times = "predicted"
    change: list[str] | None = option(
        "Another platform: platform.network.link.bandwidth=x2, or a scenario file. Repeatable.",
        SIMULATED,
        metavar="PATH=VALUE",
    )
    model: Literal["lublin"] | None = option("Streams of a generator in place of a log; limits as users state them.")
    count: int = option(
        "Of each stream of the generator.", only_with("model"), default=2000, names=("--jobs",), min=1, metavar="N"
    )
    load: float = option("Offered load of the generator's streams.", only_with("model"), default=0.7)
    clean: Annotated[Clean, only_without("model")] = "strong"
    first: Annotated[First, only_without("model")] = None
    draws: Literal["weeks", "users", "shaken", "loads", "none"] = option(
        "What is resampled: whole weeks, users, submissions within a minute, or loads alone (--platform).",
        only_without("model"),
        default="weeks",
    )
    replications: Replications = 100
    level: Level = LEVEL
    seed: Seed = 0

    @property
    def named(self) -> bool:
        """Whether policies choose PEs by number, as on a scenario's platform."""
        return self.platform is not None and self.platform.suffix in SCENARIO_SUFFIXES

    def drawn(self, compare: Callable[..., Answer]) -> Callable[..., Answer]:
        """A comparison with how draws are made and intervals stated."""
        how = {"draws": self.draws, "replications": self.replications}
        return partial(compare, **how, level=self.level, seed=self.seed, progress=counting("draws"))


@dataclass(frozen=True)
class Choices:
    """What is compared."""

    policies: str = option("In words; the first is the base.", default="easy,fcfs", metavar="P1,P2,...")
    estimates: str = option(
        "limit, exact, last-two, last-two to-limit, or predicted p75.", default="limit", metavar="E1,E2,..."
    )
    procs: str | None = option("PEs of the machine, in place of the log's.", metavar="N1,N2,...")
    sizes: str = option(
        "What moldable jobs get: fixed (as they ask), fit, advised.",
        only_without("model"),
        default="fixed",
        metavar="S1,S2,...",
    )
    metric: str = option(
        "wait, slowdown, p95-wait, p95-slowdown, turnaround, makespan ...", default="wait,slowdown", metavar="M1,M2,..."
    )
    warm_up: WarmUp = 0.01


def compare(
    log: Path | None = MAYBE_LOG,
    *,
    choices: Choices,
    streams: Streams,
    output: Path | None = folder("report.html, draws.csv, comparison.json, manifest.json"),
    table_form: PrintedForm = "text",
) -> None:
    """Compare policies, estimates and numbers of PEs on the same draws of a stream; differences with intervals.

    Example: apportion jobs compare KTH-SP2-1996-2.swf.gz --policies 'easy,sjf easy,conservative' -o out/kth
    """
    from advisor.jobs.compare import alternatives, read_policy
    from advisor.jobs.compare import compare as compared
    from advisor.jobs.setting import Sizes
    from advisor.report.job_answers import Comparison, JobsCompared
    from advisor.report.job_choices import comparison_page, save_answer

    source, settings = _source(log, streams, None if choices.procs is None else whole_numbers(choices.procs, "--procs"))
    stream, plans = None if callable(source) else source, [_estimates(one) for one in _words(choices.estimates)]
    policies = [read_policy(one, named=streams.named) for one in _words(choices.policies)]
    sizes: Any = _words(choices.sizes)
    for word in sizes:
        simulator.given.check_choice(word, get_args(Sizes), where="--sizes")
    compares = alternatives(policies, plans, settings, sizes=sizes, stream=stream)
    found = streams.drawn(compared)(source, compares, metrics=_words(choices.metric), warm_up=choices.warm_up)
    answered = JobsCompared(1, "jobs compare", Comparison.of(found), _provenance(log, streams.seed, streams.platform))
    lists = {"policy": choices.policies, "estimates": choices.estimates, "procs": choices.procs}
    first_of = {name: text.partition(",")[0] for name, text in lists.items() if text}
    line = next_line("jobs advise", "which change pays most for this stream", **first_of, output="out/jobs-advice")
    page = comparison_page(answered, (line,))
    finish(answered, page, output, write=partial(save_answer, answered, found, page), form=table_form)


@dataclass(frozen=True)
class Now:
    """What runs now."""

    policy: Annotated[
        str | None,
        typer.Option(help="In words: easy, sjf easy, conservative named; what fits the log's own waits, else easy."),
    ] = None
    estimates: str = option("limit, exact, last-two, last-two to-limit, or predicted p75.", default="limit")
    procs: Procs = None


@dataclass(frozen=True)
class Tried:
    """Which changes are tried, and by what they are judged."""

    objective: Literal["wait", "slowdown", "p95-wait", "p95-slowdown", "turnaround", "makespan"] = option(
        "What is to be least; slowdown is bounded (10 s).", default="wait"
    )
    add: str | None = option("PEs to add, each tried; one, and 5 %, by default.", metavar="N1,N2,...")
    target: str | None = option(
        "How many PEs or nodes keep to it: 'mean wait 30min', 'p95 wait 4h for jobs up to 64 PEs', 'mean slowdown 5'.",
        only_without("model"),
    )
    price: str | None = option(
        "Of policy, estimates, sizes, change, add (each PE or node), or a node's name.", metavar="KIND=PRICE,..."
    )


def advise(
    log: Path | None = MAYBE_LOG,
    *,
    now: Now,
    streams: Streams,
    tried: Tried,
    output: Path | None = folder("report.html, draws.csv, advice.json, manifest.json"),
    table_form: PrintedForm = "text",
) -> None:
    """Say which one change pays most for a stream of jobs: policy, estimates, or more PEs; per price too.

    Example: apportion jobs KTH-SP2-1996-2.swf.gz --objective slowdown --price add=1000,policy=200
    """
    from advisor.jobs.advise import advise as advised
    from advisor.jobs.advise import candidates
    from advisor.jobs.backtest import backtest
    from advisor.jobs.capacity import drains_from
    from advisor.jobs.compare import Alternative, read_policy, with_sizes
    from advisor.jobs.effects import effects
    from advisor.report.job_answers import JobsAdvised
    from advisor.report.job_choices import changes_page, save_answer

    source, settings = _source(log, streams, None if now.procs is None else [now.procs])
    stream = None if callable(source) else source
    plan = _estimates(now.estimates)
    tested = (
        None if stream is None or not isinstance(plan, simulator.Estimates) else backtest(stream, settings[0], plan)
    )
    fitting = tested.policy if tested is not None and tested.agrees else "easy"
    words = read_policy(now.policy or fitting, named=streams.named)
    base = Alternative(f"{words.name}, {now.estimates}", words, simulator.Estimates(), settings[0])
    base = with_sizes(base, plan, "fixed", stream)
    prices = named_values(_words(tried.price or ""), "--price", "KIND=PRICE, such as add=1000", units.to_number)
    enough = () if tried.target is None else _capacity(tried.target, stream, base, streams, prices)
    more = None if tried.add is None else whole_numbers(tried.add, "--add")
    needed = {one.of: one.fewest - one.now for one in enough if one.fewest > one.now}
    changes = candidates(base, stream=stream, add=more, needed=needed, changed=settings[1:], prices=prices)
    found = streams.drawn(advised)(source, base, changes, objective=tried.objective)
    drains = drains_from(stream, base) if stream is not None and found.compared.overloaded[0] is not None else ()
    besides = None
    if stream is not None and found.best is not None:
        besides = effects(stream, base, changes[found.best].alternative)
    answered = JobsAdvised.of(found, tested, enough, drains, besides, _provenance(log, streams.seed, streams.platform))
    line = next_line("jobs advise", "asked again", output=output or "out/jobs-advice")
    page = changes_page(answered, (line,))
    finish(answered, page, output, write=partial(save_answer, answered, found.compared, page), form=table_form)


def _capacity(
    text: str, stream: "simulator.Stream | None", base: "Alternative", streams: Streams, prices: dict[str, float]
) -> "tuple[Capacity, ...]":
    """How many PEs, or nodes of each kind, keep to a target."""
    from advisor.jobs.advise import part_prices
    from advisor.jobs.capacity import capacity, read_target

    target = read_target(text)
    if stream is None:
        raise ScenarioError("--target: a generator has no stream of its own; name a log")
    return streams.drawn(capacity)(stream, base, target, prices=part_prices(base.setting, prices))


@dataclass(frozen=True)
class Machine:
    """Which jobs of a log, and what they ran on."""

    clean: Clean = "strong"
    procs: Procs = None
    platform: Platform = None


def forecast(
    log: Path = LOG,
    *,
    job: str = option("As the log numbers or names it.", default=REQUIRED, metavar="ID"),
    policy: PolicyWords = "easy",
    machine: Machine,
    replications: Replications = 200,
    level: Level = 0.9,
    seed: Seed = 0,
) -> None:
    """Say when a job of a stream starts, as it can be known when it is submitted, with an interval.

    Example: apportion jobs forecast KTH-SP2-1996-2.swf.gz --job 4711
    """
    from advisor.jobs.compare import read_policy
    from advisor.jobs.forecast import StartForecasts

    on = read_platform(machine.platform, machine.procs)
    stream = read_jobs(log, machine.clean, None, machine.procs, on)
    rows = [row for row, name in enumerate(stream.ids.tolist()) if str(name) == job]
    if not rows:
        where = f"stream {stream.name} has no job {job} after cleaning {machine.clean}"
        raise ScenarioError(f"--job: {where}; name another one")
    if isinstance(on, Path):
        raise ScenarioError(f"--platform {on}: starts are forecast on nodes as Slurm describes them, or on --procs")
    setting = read_setting(stream, on, machine.procs, "predicted")
    runs = simulator.run_jobs(stream.first(rows[0] + 1), setting.cluster, read_policy(policy))
    found = StartForecasts(runs, draws=replications, level=level, seed=seed).of(rows[0])
    about = {"stream": stream.name, "policy": runs.policy.name, "job": job, "row": rows[0]}
    provenance = {"provenance": documents.to_dict(_provenance(log, seed, machine.platform))}
    page = _forecast_page(found, job, f"{stream.name}, policy {runs.policy.name}, seed {seed}")
    finish(found.to_dict() | about | provenance, page)


def _source(
    log: Path | None, streams: Streams, procs: Sequence[int] | None
) -> "tuple[simulator.Stream | Generator, list[Setting]]":
    """A log or a generator, and what each alternative runs on: a platform, first as it is, then with each change."""
    from advisor.jobs.setting import Setting

    if (log is None) == (streams.model is None):
        raise ScenarioError("jobs: name a log, or a generator by --model lublin; one of the two")
    if log is not None:
        least = None if procs is None else min(procs)
        on = read_platform(streams.platform, least)
        stream = read_jobs(log, streams.clean, streams.first, least, on)
        how: Any = {"times": streams.times, "draws": streams.replications}
        asked = [(pes, change) for pes in procs or (None,) for change in (None, *(streams.change or ()))]
        return stream, [read_setting(stream, on, pes, change=one, **how) for pes, one in asked]
    sizes = procs or (128,)

    def drawn(number: int) -> "simulator.Stream":
        own = streams.seed * STREAMS_APART + number
        found = simulator.lublin(streams.count, processors=min(sizes), seed=own, load=streams.load)
        return simulator.with_estimates(found, seed=own)

    return drawn, [Setting(pes) for pes in sizes]


def _provenance(log: Path | None, seed: int, platform: Path | None = None) -> "Provenance":
    from advisor.results import Provenance

    inputs = {str(path): files.digest_of(path) for path in (log, platform) if path is not None}
    return Provenance.of(seed, inputs)


def _words(text: str) -> list[str]:
    return [" ".join(word.split()) for word in text.split(",") if word.strip()]


def _estimates(text: str) -> "simulator.Estimates | float":
    source, _, correction = text.partition(" ")
    if source == "predicted":
        percent = units.to_number(correction.removeprefix("p") or "75")
        if percent is None or not 0 < percent < 100:
            raise ScenarioError(f"--estimates: {text!r} names no quantile; write predicted p75")
        return percent / 100
    known: Any = {"": "steps", "to-limit": "limit"}.get(correction, correction)
    kind: Any = source
    return simulator.Estimates(kind, known)


def _forecast_page(found: "StartForecast", job: str, of: str) -> "blocks.Page":
    """When a job starts, and what that rests on."""
    wait_s = [time_s - found.submit_s for time_s in (found.median_s, found.low_s, found.high_s)]
    starts = "starts at once" if found.at_once else f"waits {units.show_interval(*wait_s)}, simulated"
    before = f"{found.running} jobs run and {found.waiting} wait before it"
    return blocks.Page(
        title=f"Job {job}",
        answer=f"Job {job} {starts}; {before}.",
        sections=(),
        command="jobs forecast",
        facts=blocks.pairs({"Rests on": f"{100 * found.level:.4g} % interval of {of}"}),
    )
