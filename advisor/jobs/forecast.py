"""When a job starts: the queue as it is at the job's submission, run forward over draws of what is not known.

Known are who runs since when, who waits in which order, and all limits. Not known are run times, and who comes later:
under backfilling, later jobs take holes and put others off. A draw has run times from jobs that ended before (those of
the user count most; of a running job, those that lasted longer than it has), and the arrivals of a past week at the
same time of the week.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator import (
    Estimates,
    JobNodes,
    JobRuns,
    ScenarioError,
    Stream,
    documents,
    job_draws,
    randomness,
    run_jobs,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Later = tuple[Ints, Floats]
"""Jobs that come later, and how long after."""
NOBODY: Later = (np.empty(0, dtype=np.int64), np.empty(0))
LEVEL = 0.9
DRAWS = 200
ORDERS = ("fcfs", "sjf", "ljf")
"""Those that do not ask how long a job has waited, which a queue that begins with the forecast does not know."""
LAST_OWN = 40
"""Ended jobs of the user that are looked at, the last ones."""
LAST_LIKE = 400
"""Ended jobs of anybody, with a like limit, that are looked at."""
LIKE = 1.25
"""Limits are alike up to this ratio."""
FEWEST_LIKE = 30
"""Ended jobs with a like limit below which those with any limit are taken."""
OTHERS = 16.0
"""How many jobs of the user's own all others together weigh."""
SAME_LIMIT = 3.0
"""How many others one with the very limit weighs, among those of the user."""
FADING = 0.98
"""Weight of a job of the user against the one that ended after it."""
TOGETHER = 0.8
"""How often jobs of one user share what is drawn: they fail, or last, together."""
LONGEST_S = 7 * 86400.0
"""For how long arrivals are drawn, at most."""
AHEAD = 1.5
"""For how long: so many times the wait that nearly all draws without later arrivals have."""
NEARLY_ALL = 0.95


@dataclass(frozen=True, eq=False)
class StartForecast(documents.Record):
    """Where a job's start lies; times in seconds of the stream."""

    DERIVED = ("low_s", "median_s", "high_s", "at_once", "draws")

    job: int
    """Row of the stream."""
    submit_s: float
    starts_s: Floats = field(metadata=documents.NOT_WRITTEN)
    """One per draw, ascending."""
    level: float
    running: int
    waiting: int
    """Jobs at the submission, without the job itself."""

    @property
    def at_once(self) -> bool:
        """Whether it starts at its submission whatever is drawn."""
        return bool(self.starts_s[-1] <= self.submit_s)

    @property
    def low_s(self) -> float:
        """The earlier end of the interval."""
        return float(np.quantile(self.starts_s, (1 - self.level) / 2, method="hazen"))

    @property
    def high_s(self) -> float:
        """The later end."""
        return float(np.quantile(self.starts_s, (1 + self.level) / 2, method="hazen"))

    @property
    def median_s(self) -> float:
        """As likely earlier as later."""
        return float(np.median(self.starts_s))

    @property
    def draws(self) -> int:
        """How many starts were drawn."""
        return int(self.starts_s.size)


@dataclass(frozen=True, eq=False)
class StartForecasts:
    """Forecasts of jobs of one run of a stream; nothing that is not known at a job's submission is used for it.

    With conservative backfilling, all promises are made again in the order of the queue, so that forecasts may be off
    by what earlier promises kept.

    Raises ScenarioError for jobs without limits, and orders that ask how long a job has waited.
    """

    runs: JobRuns
    draws: int = DRAWS
    level: float = LEVEL
    seed: int = 0

    def __post_init__(self) -> None:
        policy, stream = self.runs.policy, self.runs.stream
        if policy.order not in ORDERS:
            why = "how long a job has waited decides, and forecasts cannot begin from that"
            raise ScenarioError(f"forecast: with order {policy.order} {why}; take {', '.join(ORDERS)}")
        if np.any(np.isnan(stream.limit_s)):
            raise ScenarioError(f"stream {stream.name}: some jobs have no limit; forecasts need them")

    @cached_property
    def _submit(self) -> Floats:
        return self.runs.submit_s

    @cached_property
    def _start(self) -> Floats:
        return self.runs.start_s

    @cached_property
    def _finish(self) -> Floats:
        return self.runs.finish_s

    @cached_property
    def plan_s(self) -> Floats:
        """What was planned with at the start, which is known at the submission."""
        return np.asarray(self.runs.estimate_ticks * self.runs.tick_s)

    def of(self, job: int) -> StartForecast:
        """Of one job, by its row."""
        now = float(self._submit[job])
        came = np.arange(job + 1)  # later rows come later, if at the same second
        running = came[(self._start[: job + 1] < now) & (self._finish[: job + 1] > now)]
        if self.runs.first_node is not None:  # those on few nodes first: what they hold is where they find it again
            running = running[np.argsort(np.diff(self.runs.first_node)[running], kind="stable")]
        waiting = came[self._start[: job + 1] >= now]
        known = np.concatenate((running, waiting))
        generator = randomness.stream(self.seed, job, "forecast of a start")
        lasting = self._run_times(known, now, generator)
        elapsed = np.where(np.arange(known.size) < running.size, now - self._start[known], 0.0)
        queue = _Queue(self, job, now, known, running.size, lasting - elapsed[:, np.newaxis], elapsed)
        starts = queue.starts(None)
        if starts.max() > now:
            ahead = min(LONGEST_S, AHEAD * (float(np.quantile(starts, NEARLY_ALL)) - now) + 3600.0)
            starts = queue.starts(self._later(now, ahead, generator))
        return StartForecast(job, now, np.sort(starts), self.level, running.size, waiting.size - 1)

    def _run_times(self, known: Ints, now: float, generator: np.random.Generator) -> Floats:
        """Of known jobs, longer than each has lasted; (job, draw)."""
        stream, limit = self.runs.stream, self.runs.stream.limit_s
        ended = np.flatnonzero(self._finish[: known.max() + 1] <= now)
        past = _Past(
            stream.user[ended], limit[ended], self.runs.run_s[ended] / limit[ended], np.argsort(self._finish[ended])
        )
        own = generator.random((known.size, self.draws))
        shared = generator.random((known.size, self.draws))
        together = generator.random((known.size, self.draws)) < TOGETHER
        user = stream.user[known]  # those that nobody knows share nothing
        _, alike = np.unique(np.where(user < 0, -1 - np.arange(user.size), user), return_inverse=True)
        drawn = np.where(together, shared[np.ravel(alike)], own)
        found = np.empty((known.size, self.draws))
        for place, job in enumerate(known.tolist()):
            lasted = max(0.0, now - float(self._start[job]))
            found[place] = past.lasting(int(stream.user[job]), float(limit[job]), lasted, drawn[place])
        return np.ceil(found) if stream.whole_seconds else found

    def _later(self, now: float, ahead_s: float, generator: np.random.Generator) -> list[Later]:
        """For each draw: jobs that came in a past week from this time of the week on, and how long after it."""
        weeks = max(1, int((now - self._submit[0]) // job_draws.WEEK_S))
        begins = now - job_draws.WEEK_S * np.arange(1, weeks + 1)
        begins = begins[(begins >= self._submit[0]) & (begins + ahead_s <= now)]
        if not begins.size:  # of a young log, what came last
            begins = np.array([now - ahead_s])
        first, after = np.searchsorted(self._submit, begins), np.searchsorted(self._submit, begins + ahead_s)
        chosen = generator.integers(0, begins.size, self.draws)
        return [
            (np.arange(first[week], after[week]), self._submit[first[week] : after[week]] - begins[week])
            for week in chosen.tolist()
        ]


@dataclass(frozen=True, eq=False)
class _Past:
    """Jobs that ended before; arrays (job,), in the order of submission."""

    user: Ints
    limit_s: Floats
    ratio: Floats
    """Run time over limit."""
    order: Ints
    """By end."""

    def lasting(self, user: int, limit_s: float, lasted_s: float, drawn: Floats) -> Floats:
        """Run times for uniform draws, longer than the job has lasted and no longer than its limit; (draw,)."""
        ratio, weight = self._of_user(user, limit_s)
        others = self._like(limit_s)
        values = np.concatenate((ratio, others, [1.0]))
        weights = np.concatenate((weight, np.full(others.size, OTHERS / max(1, others.size)), [1e-3]))
        weights = np.where((values * limit_s > lasted_s) | (values >= 1), weights, 0.0)
        order = np.argsort(values, kind="stable")
        upto = np.cumsum(weights[order])
        place = np.searchsorted(upto, drawn * upto[-1], side="right")
        chosen = values[order][np.minimum(place, order.size - 1)]
        return np.asarray(np.minimum(np.maximum(chosen * limit_s, lasted_s), limit_s))

    def _of_user(self, user: int, limit_s: float) -> tuple[Floats, Floats]:
        """The user's last jobs, and what each weighs."""
        theirs = self.order[self.user[self.order] == user][-LAST_OWN:] if user >= 0 else np.empty(0, np.int64)
        weight = FADING ** np.arange(theirs.size - 1, -1, -1)
        return self.ratio[theirs], np.where(self.limit_s[theirs] == limit_s, SAME_LIMIT, 1.0) * weight

    def _like(self, limit_s: float) -> Floats:
        """The last jobs with a like limit, or with any."""
        ordered = self.limit_s[self.order]
        alike = self.order[(ordered <= limit_s * LIKE) & (ordered >= limit_s / LIKE)]
        return np.asarray(self.ratio[(alike if alike.size >= FEWEST_LIKE else self.order)[-LAST_LIKE:]])


@dataclass(frozen=True, eq=False)
class _Queue:
    """What is known at a submission, and draws of what remains of each job."""

    of: StartForecasts
    job: int
    now: float
    known: Ints
    """Running jobs, then waiting ones in their order, the job itself last."""
    running: int
    remaining_s: Floats
    """(job, draw)."""
    elapsed_s: Floats

    def starts(self, later: list[Later] | None) -> Floats:
        """When the job starts in each draw; (draw,).

        All draws are one stream, one after the other with so long a break that everything has ended: one run instead of
        hundreds. What runs is submitted a second before the queue is, with what remains of it.
        """
        begin, begins, parts = 2.0, [], []
        for draw in range(self.of.draws):
            came, when = NOBODY if later is None else later[draw]
            part = self._part(draw, came, when, begin)
            parts.append(part)
            begins.append(begin)
            begin += float(np.ceil(np.sum(part[1]) + (when[-1] if when.size else 0.0))) + 10.0
        submit, run, plan, limit, rows, runs_now = (np.concatenate(values) for values in zip(*parts, strict=True))
        order = np.argsort(submit, kind="stable")
        fields = {"submit_s": submit, "run_s": run, "limit_s": limit}
        runs, which = self.of.runs, rows[order].astype(np.int64)
        alone = {
            "ids": np.arange(which.size),
            "preceding": np.full(which.size, -1),
            "think_s": np.full(which.size, np.nan),
        }
        stream = runs.stream.take(which, **alone, **{name: values[order] for name, values in fields.items()})
        cluster: JobNodes | int = runs.pes
        if runs.nodes is None:
            sizes = runs.processors[which]
            stream = stream.take(np.arange(which.size), processors=sizes, least=sizes, most=sizes)
        else:
            cluster, stream = self._pinned(runs.nodes, stream, np.where(runs_now[order] > 0, which, -1))
        given = Estimates("given", runs.estimates.correction, plan[order][:, np.newaxis], "as planned")
        starts = np.empty(submit.size)
        starts[order] = run_jobs(stream, cluster, runs.policy, given).start_s
        first = np.cumsum([0, *(part[0].size for part in parts[:-1])])
        return np.asarray(starts[first + self.known.size - 1] - np.array(begins) + self.now)

    def _pinned(self, nodes: JobNodes, stream: Stream, running: Ints) -> tuple[JobNodes, Stream]:
        """Nodes that have a feature for each job that runs on them, and a stream whose running jobs ask for theirs."""
        names, feature = list(stream.names.get("feature", ())), stream.feature.copy()
        features = [list(one) for one in nodes.features or ((),) * len(nodes.names)]
        for job in self.known[: self.running].tolist():
            feature[running == job] = len(names)
            names.append(f"job {job} runs")
            for place in self.of.runs.nodes_of(job).tolist():
                features[place].append(names[-1])
        pinned = replace(stream, feature=feature, names={**stream.names, "feature": tuple(names)})
        return replace(nodes, features=tuple(map(tuple, features)), reservations=()), pinned

    def _part(self, draw: int, came: Ints, when: Floats, begin: float) -> tuple[Floats, ...]:
        """Submissions, run times, plans, limits, rows and whether it runs already, of one draw; (job,) each."""
        runs, rows = self.of.runs, np.concatenate((self.known, came))
        early = (np.arange(rows.size) < self.running).astype(np.float64)
        plan, limit = self._plans
        return (
            begin - early + np.concatenate((np.zeros(self.known.size), when)),
            early + np.concatenate((self.remaining_s[:, draw], runs.run_s[came])),
            early + np.concatenate((plan, self.of.plan_s[came])),
            early + np.concatenate((limit, runs.stream.limit_s[came])),
            rows.astype(np.float64),
            early,
        )

    @cached_property
    def _plans(self) -> tuple[Floats, Floats]:
        """What remains of plans and limits; (job,) each."""
        stream = self.of.runs.stream
        limit = stream.limit_s[self.known]
        plan = self.of.plan_s[self.known]
        outlived = plan <= self.elapsed_s
        plan = np.where(outlived, limit, plan)
        return plan - self.elapsed_s, limit - self.elapsed_s
