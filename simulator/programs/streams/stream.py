"""A stream: many jobs with the times of their submissions, one array per field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError

MISSING = -1
"""A whole number that nobody knows; a float that nobody knows is NaN."""


@dataclass(frozen=True)
class JobApplication:
    """An application of ours with its parameters, as jobs run it."""

    name: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Stream:
    """Jobs in the order of their submission (ties: as in the source); all arrays (job,).

    A job is one run of an application (`application` >= 0) or a duration (`run_s`).
    """

    name: str
    ids: NDArray[Any]
    """What the source calls each job: int64, or text."""
    submit_s: Floats
    """Ascending, from 0 or later."""
    run_s: Floats
    """On as many of the nominal PEs as the job asks for, without a limit; NaN for a run of an application."""
    processors: Ints
    """Processes, each of which takes a PE of its own."""
    limit_s: Floats
    """After which a job is killed, also the user's estimate; NaN where none is known."""
    least: Ints
    """Fewest processes; below `processors` or `most` only for a moldable job."""
    most: Ints
    user: Ints
    group: Ints
    executable: Ints
    queue: Ints
    partition: Ints
    memory_bytes: Floats
    """Requested per process; NaN where nobody knows."""
    wait_s: Floats
    """From submission to start, as the log says it; NaN where nobody knows."""
    application: Ints
    """Row of `applications`, -1 for a duration."""
    nodes: Ints
    """So many different nodes with equal shares of the processes and GPUs; 0: wherever there are cores."""
    gpus: Ints
    """In all; a job with GPUs says on how many nodes."""
    exclusive: Ints
    """1 where the job's nodes are its own, whatever it needs of them."""
    feature: Ints
    """That its nodes have, -1 where they need none."""
    account: Ints
    qos: Ints
    preceding: NDArray[Any]
    """The id of a job that ends before this one joins the queue; -1 or no text where there is none."""
    think_s: Floats
    """From that end to then; NaN where nobody knows is none."""
    applications: tuple[JobApplication, ...] = ()
    machine_processors: int | None = None
    """Of the machine that the source describes."""
    start_unix_s: float | None = None
    """What second 0 is, where the source says so."""
    notes: tuple[str, ...] = ()
    """What was dropped or changed while it was read, one sentence each, with counts."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By field (`user`, `queue` ...): the names that its numbers stand for, where the source has names."""

    def __len__(self) -> int:
        return int(self.submit_s.size)

    def take(self, jobs: ArrayLike, **changes: Any) -> "Stream":
        """Some of the jobs, by index or mask, in the order given, with fields changed."""
        where = np.asarray(jobs)
        where = np.flatnonzero(where) if where.dtype == np.bool_ else where.astype(np.int64)
        return replace(self, **({name: getattr(self, name)[where] for name in ARRAYS} | changes))

    def first(self, count: int) -> "Stream":
        """The first so many jobs."""
        return self.take(np.arange(min(count, len(self))))

    def by_submission(self) -> "Stream":
        """In the order of submission; jobs of one moment stay in their order."""
        return self.take(np.argsort(self.submit_s, kind="stable"))

    @property
    def whole_seconds(self) -> bool:
        """Whether all known times are whole seconds, as in most logs."""
        return all(_whole(times) for times in (self.submit_s, self.run_s, self.limit_s))

    @property
    def moldable(self) -> bool:
        """Whether a job may take one of several numbers of processes."""
        return bool(np.any(self.least < self.most))

    @property
    def chained(self) -> bool:
        """Whether a job waits for another one's end."""
        return bool(np.any(self.preceding != ("" if self.preceding.dtype.kind == "U" else MISSING)))

    def offered_load(self, processors: int) -> float:
        """Processor seconds that are asked for per processor second between the first and the last submission.

        NaN where run times are not known, infinite where all is submitted at once.
        """
        if not len(self):
            return 0.0
        asked = float(
            np.sum(self.processors * np.fmin(self.run_s, np.where(np.isnan(self.limit_s), np.inf, self.limit_s)))
        )
        lasting = float(self.submit_s[-1] - self.submit_s[0])
        return asked / (processors * lasting) if lasting > 0 else float("inf")


def _whole(times: Floats) -> bool:
    known = times[~np.isnan(times)]
    return bool(np.all(known == np.floor(known)))


ARRAYS = tuple(
    one.name for one in fields(Stream) if one.type in {"NDArray[Any]", "Floats", "Ints", Ints, Floats, NDArray[Any]}
)
"""Fields with an entry per job."""


def make_stream(
    name: str,
    *,
    submit_s: ArrayLike,
    processors: ArrayLike,
    run_s: ArrayLike | None = None,
    limit_s: ArrayLike | None = None,
    ids: Sequence[Any] | NDArray[Any] | None = None,
    **others: Any,
) -> Stream:
    """A stream of the fields that are known; what is not given is missing.

    Raises ScenarioError for fields of different lengths.

    `submit_s`, `processors`, `run_s`, `limit_s`: per job; jobs are put in the order of submission.
    `ids`: 1, 2, ... if not given.
    `others`: further fields of `Stream`.
    """
    submitted = np.asarray(submit_s, dtype=np.float64)
    count, sizes = submitted.size, np.asarray(processors, dtype=np.int64)
    unknown, missing = np.full(count, np.nan), np.full(count, MISSING, dtype=np.int64)
    given: dict[str, Any] = dict.fromkeys(("run_s", "limit_s", "memory_bytes", "wait_s", "think_s"), unknown)
    given |= dict.fromkeys(("user", "group", "executable", "queue", "partition", "application"), missing)
    given |= dict.fromkeys(("feature", "account", "qos", "preceding"), missing)
    given |= dict.fromkeys(("nodes", "gpus", "exclusive"), np.zeros(count, dtype=np.int64))
    given |= {"least": sizes, "most": sizes, "ids": np.arange(1, count + 1) if ids is None else np.asarray(ids)}
    given |= {key: value for key, value in (("run_s", run_s), ("limit_s", limit_s)) if value is not None} | others
    given |= {"submit_s": submitted, "processors": sizes}
    for key in ARRAYS:
        kind = given[key].dtype if key == "ids" else unknown.dtype if given[key] is unknown else None
        given[key] = np.asarray(given[key], dtype=kind)
        if given[key].shape != (count,):
            raise ScenarioError(
                f"stream {name}: {key} has {given[key].size} entries; give one for each of {count} jobs"
            )
    return Stream(name=name, **given).by_submission()
