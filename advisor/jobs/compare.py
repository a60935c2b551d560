"""Alternatives (policy, estimates, cluster) compared: each draw runs under all of them, and differences are paired."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.jobs.paired import FEWEST_DRAWS, FEWEST_STREAMS, FEWEST_UNITS, Differences, differences
from advisor.jobs.setting import Setting, Sizes, advised_sizes
from simulator import (
    Estimates,
    JobRuns,
    Policy,
    ScenarioError,
    Stream,
    intervals,
    job_draws,
    job_metrics,
    read_slurm_policy,
    some_names,
    this_machine,
)

Floats = NDArray[np.float64]
Row = tuple[Floats, list[bool]]
"""Of a draw: metrics, (alternative, metric), and which alternatives are overloaded."""
OfLog = tuple[tuple[job_metrics.JobAverages, ...], list[str | None]]
"""Averages by alternative, and why one is overloaded."""
Generator = Callable[[int], Stream]
"""Stream number so and so of a generator: the same number, the same stream."""
NO_DRAWS = "none"
STREAMS, SHAKEN, LOADS = "streams", "shaken", "loads"
"""What results call draws from a generator."""
FLUCTUATING = {STREAMS, "users"}
"""Draws of which each is looked at for overload; others have the load of their log."""
LEVEL = intervals.LEVEL
OFTEN = 0.5
"""Share of draws above which overloaded ones are the rule."""


@dataclass(frozen=True)
class Metric:
    """What is compared."""

    name: str
    field: str
    """Of `JobAverages`."""
    said: str
    unit: str
    """`s`, or nothing."""
    less_is_better: bool = True
    of_the_end: bool = False
    """Whether the last jobs of a stream decide it: draws of one log then tell little of how far off its value is."""


METRICS = {
    one.name: one
    for one in (
        Metric("wait", "wait_s", "mean wait", "s"),
        Metric("slowdown", "bounded_slowdown", "mean bounded slowdown", ""),
        Metric("p95-wait", "wait_p95_s", "95th percentile of the wait", "s"),
        Metric("p95-slowdown", "bounded_slowdown_p95", "95th percentile of the bounded slowdown", ""),
        Metric("turnaround", "turnaround_s", "mean turnaround", "s"),
        Metric("makespan", "makespan_s", "makespan", "s", of_the_end=True),
        Metric("utilisation", "utilisation", "utilisation", "", less_is_better=False, of_the_end=True),
    )
}
"""By name."""


@dataclass(frozen=True, eq=False)
class Alternative:
    """One way to run a stream."""

    name: str
    policy: Policy
    estimates: Estimates
    setting: Setting
    """What it runs on."""
    quantile: float | None = None
    """Of the run times that the setting predicts, in place of `estimates`."""
    processes: NDArray[np.int64] | None = None
    """Of each job of the source, in place of what moldable jobs ask for; (job,)."""

    def run(self, drawn: job_draws.Drawn, draw: int = 0) -> JobRuns:
        """All jobs of a draw, under the loads of a draw; what is given by job follows its job."""
        stream, estimates, given = drawn.stream, self.estimates, self.estimates.given_s
        if self.processes is not None:
            sizes = self.processes[drawn.source]
            stream = stream.take(np.arange(len(stream)), processors=sizes, least=sizes, most=sizes)
        if self.quantile is not None:
            estimates = self.setting.planned(stream, self.quantile, self.policy)
        elif given is not None:
            estimates = replace(estimates, given_s=given[drawn.source])
        return self.setting.run(stream, self.policy, estimates, draw=draw % self.setting.draws)

    @property
    def pes(self) -> int:
        """How many PEs there are."""
        return self.setting.pes

    @property
    def planned_with(self) -> str:
        """How results call its estimates."""
        return self.estimates.name if self.quantile is None else f"predicted p{100 * self.quantile:g}"


@dataclass(frozen=True)
class Pair:
    """How one alternative differs from another: `other` minus `base`."""

    base: int
    other: int


@dataclass(frozen=True, eq=False)
class Compared:
    """What `compare` found."""

    stream: str
    alternatives: tuple[Alternative, ...]
    metrics: tuple[Metric, ...]
    pairs: tuple[Pair, ...]
    draws: str
    """Kind: `weeks`, `users`, `shaken`, `streams` of a generator, or `none`."""
    values: Floats
    """(draw, alternative, metric)."""
    own: tuple[job_metrics.JobAverages, ...] | None
    """Averages of the log itself by alternative; None for a generator."""
    jobs: int
    """Of the log, or of the first stream."""
    units: float
    """Of how many independent parts the log is; infinite for a generator."""
    overloaded: tuple[str | None, ...]
    """By alternative: why its averages mean nothing, or None."""
    overloaded_draws: tuple[float, ...]
    """By alternative: share of the draws that are overloaded."""
    level: float
    warm_up: float
    seed: int
    by_metric: dict[str, Differences] = field(default_factory=dict)
    """By name of the metric: an entry per pair."""

    @property
    def refused(self) -> str | None:
        """Why no interval is stated at all, in one sentence."""
        count = self.values.shape[0]
        if self.draws == NO_DRAWS:
            return "one stream without draws tells no interval; draw weeks, or users"
        if self.draws in {STREAMS, SHAKEN, LOADS}:
            few = count < FEWEST_STREAMS
            return f"{count} streams are too few for an interval; take {FEWEST_STREAMS} or more" if few else None
        if count < FEWEST_DRAWS:
            return f"{count} draws are too few for an interval; take {FEWEST_DRAWS} or more"
        if self.units < FEWEST_UNITS:
            return f"the log's {self.draws} count as {self.units:.3g}, and an interval needs {FEWEST_UNITS}"
        return None

    @property
    def of_one_log(self) -> bool:
        """Whether the log's own values are stated, and draws tell how far off they are; else means of draws are."""
        return self.own is not None and self.draws in {"weeks", "users", NO_DRAWS}

    def no_interval(self, metric: Metric) -> str | None:
        """Why no interval of a metric is stated, in one sentence."""
        if self.of_one_log and metric.of_the_end:
            return (
                f"the last jobs of a log decide its {metric.said}, and draws of it tell no interval; take a generator"
            )
        return self.refused

    def centres(self) -> Floats:
        """What is stated of each alternative; (alternative, metric)."""
        said = self.own if self.of_one_log else None
        return self.values.mean(axis=0) if said is None else _own_values(said, self.metrics)

    def verdict(self, place: int, metric: Metric) -> str:
        """`less`, `more`, `alike` (equal in every draw), `open` (they cannot be distinguished), or `refused`."""
        found = self.by_metric[metric.name]
        holm, mean = float(found.holm[place]), float(found.mean[place])
        if np.isnan(holm):
            return "refused"
        if holm < 1 - self.level:
            return "less" if mean < 0 else "more"
        return "alike" if found.alike[place] else "open"


def read_policy(text: str, *, named: bool = False) -> Policy:
    """`easy`, `sjf easy`, `fcfs conservative named`, `easy shortest first`: words as in `Policy.name`; or a slurm.conf.

    Raises ScenarioError for a word that no policy has.

    `named`: have PEs named in any case, as a platform needs them; a placement says so itself.
    """
    if text.endswith(".conf"):
        return read_slurm_policy(Path(text))[0]
    fields: dict[str, str] = {}
    for word in text.replace("shortest first", "shortest").split():
        known = {one: name for name, words in _WORDS.items() for one in words}
        if word not in known:
            raise ScenarioError(f"policy {text!r}: there is no {word!r}; take words of {', '.join(known)}")
        if fields.get(known[word], word) != word:
            raise ScenarioError(f"policy {text!r}: {fields[known[word]]} and {word} exclude each other; take one")
        fields[known[word]] = word
    given: Any = {"backfill": "none" if "order" in fields else "easy"} | fields
    given |= {"processors": "named"} if named or "placement" in fields else {}
    return Policy(**given)


_WORDS: dict[str, tuple[str, ...]] = {
    "order": ("fcfs", "sjf", "ljf", "wfp3", "unicep", "f1"),
    "backfill": ("easy", "conservative", "replanned", "slurm"),
    "candidates": ("shortest",),
    "processors": ("named",),
    "placement": ("fastest", "earliest-finish", "min-min", "memory"),
    "same_second": ("event",),
}


def alternatives(
    policies: Iterable[Policy],
    estimates: Iterable[Estimates | float],
    settings: Iterable[Setting | int],
    *,
    sizes: Sequence[Sizes] = ("fixed",),
    stream: Stream | None = None,
) -> tuple[Alternative, ...]:
    """All combinations; a name says what is not the same in all.

    Raises ScenarioError if two are the same, and for advised sizes of a stream whose run times nobody predicts.

    `estimates`: a number stands for a quantile of the run times that the setting predicts.
    `sizes`: what moldable jobs get: as they ask, whatever ends first, or what `setting.advised_sizes` says for
    `stream`.
    """
    places = [Setting(one) if isinstance(one, int) else one for one in settings]
    lists = tuple(policies), tuple(estimates), tuple(places), tuple(sizes)
    found = []
    for policy, estimate, setting, size in itertools.product(*lists):
        one = with_sizes(Alternative("", policy, Estimates(), setting), estimate, size, stream)
        words = [policy.name, one.planned_with, setting.label or f"{one.pes} PEs", f"sizes {size}"]
        said = [word for word, several in zip(words, lists, strict=True) if len(several) > 1]
        found.append(replace(one, name=", ".join(said or words[:1])))
    if len({one.name for one in found}) < len(found):
        raise ScenarioError(f"{some_names([one.name for one in found])}: one is there twice; name each once")
    return tuple(found)


def with_sizes(one: Alternative, estimate: Estimates | float, size: Sizes, stream: Stream | None) -> Alternative:
    """With estimates, and with what moldable jobs get."""
    planned = replace(one, estimates=estimate) if isinstance(estimate, Estimates) else replace(one, quantile=estimate)
    if size != "advised":
        return replace(planned, policy=replace(one.policy, sizes=size))
    if stream is None:
        raise ScenarioError("sizes advised: a generator has no jobs of which sizes could be advised; take fixed or fit")
    sized, _ = advised_sizes(stream, one.setting, one.policy, quantile=planned.quantile)
    return replace(planned, processes=sized.processors)


def compare(  # noqa: PLR0913 - all by name
    source: Stream | Generator,
    choices: Sequence[Alternative],
    *,
    draws: str = "weeks",
    replications: int = 100,
    metrics: Sequence[str] = ("wait", "slowdown"),
    all_pairs: bool = False,
    level: float = LEVEL,
    warm_up: float = job_metrics.WARM_UP,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Compared:
    """Run every draw under every alternative, and state where true differences lie.

    With a log, what intervals are to hold is the mean difference over logs like it: resampled weeks say so of other
    weeks, users of other users, shaken submissions only of chance within a minute. With a generator it is the mean
    over all of its streams.

    Raises ScenarioError for unknown words, fewer than one alternative, and what a policy refuses.

    `source`: a log, or a generator: its streams 0, 1, ... are the draws.
    `choices`: the first one is the base of all differences, unless `all_pairs`.
    `draws`: `weeks`, `users`, `shaken`, `loads` (of the platform; the other kinds draw those too) or `none`; nothing to
    a generator.
    `replications`: draws, or streams.
    `metrics`: names in `METRICS`.
    `level`: how often intervals are to hold.
    `warm_up`: share of the jobs, those that ended first, that averages leave out.
    `workers`: threads; one per core if not given.
    """
    if not choices:
        raise ScenarioError("alternatives: there is none; name at least one policy")
    kind = _kind(source, draws, choices)
    count = 0 if kind == NO_DRAWS else replications
    plan = _Plan(source, tuple(choices), kind, _metrics(metrics), warm_up, seed)
    own = plan.of_log(source) if isinstance(source, Stream) else None
    rows = _all(plan.of_draw, count, workers, progress)
    found = plan.found(own, rows, level=level, pairs=_pairs(len(choices), all_pairs=all_pairs))
    return replace(found, by_metric=_differences(found))


def _kind(source: Stream | Generator, draws: str, choices: Sequence[Alternative]) -> str:
    """The kind of draws, once it is known that there are such."""
    if not isinstance(source, Stream):
        return STREAMS
    known = (*job_draws.DRAWS, LOADS, NO_DRAWS)
    if draws not in known:
        raise ScenarioError(f"draws: there is no {draws!r}; take {', '.join(known)}")
    if draws == LOADS and max(one.setting.draws for one in choices) < 2:
        raise ScenarioError("draws loads: nothing of the platform is drawn; take weeks, users or shaken")
    return draws


def _metrics(names: Sequence[str]) -> tuple[Metric, ...]:
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise ScenarioError(f"metric: there is no {', '.join(unknown) or 'name'}; take {', '.join(METRICS)}")
    return tuple(METRICS[name] for name in dict.fromkeys(names))


def _pairs(count: int, *, all_pairs: bool) -> tuple[Pair, ...]:
    if all_pairs:
        return tuple(Pair(*both) for both in itertools.combinations(range(count), 2))
    return tuple(Pair(0, other) for other in range(1, count))


@dataclass(frozen=True, eq=False)
class _Plan:
    """What each draw is asked."""

    source: Stream | Generator
    choices: tuple[Alternative, ...]
    draws: str
    metrics: tuple[Metric, ...]
    warm_up: float
    seed: int

    def drawn(self, number: int) -> job_draws.Drawn:
        """A draw, or a stream of the generator."""
        if isinstance(self.source, Stream) and self.draws == LOADS:
            return job_draws.Drawn(self.source, np.arange(len(self.source)))
        if isinstance(self.source, Stream):
            return job_draws.draw_of(self.draws, self.source, self.seed, number)
        made = self.source(number)
        return job_draws.Drawn(made, np.arange(len(made)))

    def of_log(self, log: Stream) -> OfLog:
        """Averages of the log itself, and why alternatives are overloaded."""
        itself = job_draws.Drawn(log, np.arange(len(log)))
        ran = [one.run(itself) for one in self.choices]
        return tuple(job_metrics.averages(one, warm_up=self.warm_up) for one in ran), [
            job_metrics.overload(one) for one in ran
        ]

    def found(self, own: OfLog | None, rows: Sequence[Row], *, level: float, pairs: tuple[Pair, ...]) -> Compared:
        """What all draws say, before differences are taken."""
        stream = self.source if isinstance(self.source, Stream) else self.source(0)
        shape = len(rows), len(self.choices)
        crowded = np.array([row[1] for row in rows], dtype=np.float64).reshape(shape)
        shares = crowded.mean(axis=0) if rows else np.zeros(len(self.choices))
        resampled = own is not None and self.draws in job_draws.DRAWS
        return Compared(
            stream=stream.name,
            alternatives=self.choices,
            metrics=self.metrics,
            pairs=pairs,
            draws=self.draws,
            values=np.array([row[0] for row in rows]).reshape(*shape, len(self.metrics)),
            own=None if own is None else own[0],
            jobs=len(stream),
            units=job_draws.units_of(self.draws, stream) if resampled else float("inf"),
            overloaded=_overloaded(own[1] if own else [None] * len(self.choices), shares),
            overloaded_draws=tuple(shares.tolist()),
            level=level,
            warm_up=self.warm_up,
            seed=self.seed,
        )

    def of_draw(self, number: int) -> Row:
        """Metrics, (alternative, metric), and which alternatives are overloaded."""
        drawn = self.drawn(number)
        found, crowded = [], []
        for one in self.choices:
            ran = one.run(drawn, number)
            found.append(job_metrics.averages(ran, warm_up=self.warm_up))
            crowded.append(self.draws in FLUCTUATING and job_metrics.overload(ran) is not None)
        return _own_values(tuple(found), self.metrics), crowded


def _own_values(found: tuple[job_metrics.JobAverages, ...], metrics: tuple[Metric, ...]) -> Floats:
    """(alternative, metric); NaN where an average is not defined."""
    return np.array(
        [[_or_nan(getattr(one, metric.field)) for metric in metrics] for one in found], dtype=np.float64
    ).reshape(len(found), len(metrics))


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _all(ask: Callable[[int], Row], count: int, workers: int | None, progress: Callable[[int, int], None]) -> list[Row]:
    """Draws in their order, on threads: the compiled engine lets others go on."""
    found: list[Row] = []
    with ThreadPoolExecutor(workers or this_machine().pe_count) as pool:
        for row in pool.map(ask, range(count)):
            found.append(row)
            progress(len(found), count)
    return found


def _overloaded(own: Sequence[str | None], shares: Floats) -> tuple[str | None, ...]:
    """By alternative: of the log itself, or because most draws are."""
    said = "averages measure the length of the stream"
    return tuple(
        why or (f"{100 * share:.0f} % of the draws are overloaded; {said}" if share > OFTEN else None)
        for why, share in zip(own, shares.tolist(), strict=True)
    )


def _differences(found: Compared) -> dict[str, Differences]:
    """All pairs by metric; intervals hold together over pairs and metrics."""
    bases, others = ([getattr(pair, one) for pair in found.pairs] for one in ("base", "other"))
    rest = (found.values[:, others] - found.values[:, bases]).transpose(2, 1, 0)
    own = (found.centres()[others] - found.centres()[bases]).T if found.of_one_log else None
    crowded = np.array([why is not None for why in found.overloaded])
    silent = crowded[bases] | crowded[others]
    return {
        metric.name: differences(
            rest[number],
            None if own is None else own[number],
            units=found.units,
            level=found.level,
            comparisons=len(found.metrics) * len(found.pairs),
        ).without(silent | (found.no_interval(metric) is not None))
        for number, metric in enumerate(found.metrics)
    }
