"""How many PEs a stream needs: the fewest with which waits keep to a target, and with which its queue drains."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.jobs.compare import Alternative
from advisor.jobs.paired import FEWEST_DRAWS, FEWEST_UNITS
from advisor.jobs.setting import Setting
from simulator import ScenarioError, Stream, job_draws, job_metrics, this_machine, units

__all__ = ["Capacity", "Target", "capacity", "drains_from", "read_target"]

Floats = NDArray[np.float64]
_TARGET = re.compile(
    r"(mean|p95) (wait|slowdown|turnaround) (?:at most )?(.+?)(?: for jobs up to ([0-9]{1,7})(?: PEs| cores)?)?"
)
_EXAMPLE = "write such as 'mean wait 30min', 'p95 wait 4h for jobs up to 64 PEs' or 'mean slowdown 5'"
P95 = 0.95
TRIES = 8
"""Numbers of PEs that are looked at in draws, about."""


@dataclass(frozen=True)
class Target:
    """What jobs shall meet at most."""

    text: str
    statistic: str
    """`mean` or `p95`."""
    measure: str
    """`wait`, `turnaround` (in s) or `slowdown` (bounded)."""
    most: float
    largest: int | None
    """Only jobs of up to so many PEs count; all if None."""


@dataclass(frozen=True)
class Capacity:
    """The fewest PEs for a target."""

    target: Target
    now: int
    pes: int
    """With which the stream itself keeps to it."""
    value: float
    surely: int | None
    """With which streams like it do as often as intervals hold; None where too few draws tell."""

    @property
    def sentence(self) -> str:
        """The answer."""
        apart = self.pes - self.now
        than = f"{abs(apart)} {'more' if apart > 0 else 'fewer'} than now" if apart else "as now"
        value = units.show_duration(self.value) if self.target.measure != "slowdown" else f"{self.value:.3g}"
        sure = "" if self.surely is None else f"; surely with {self.surely}"
        return f"The fewest PEs for {self.target.text} are {self.pes}, {than} ({value}{sure})."


def read_target(text: str) -> Target:
    """Read `mean wait 30min`, `p95 wait 4h for jobs up to 64 PEs`, `mean slowdown 5`.

    Raises ScenarioError for anything else, and a slowdown below 1.
    """
    words = " ".join(text.split())
    found = _TARGET.fullmatch(words)
    if found is None:
        raise ScenarioError(f"--target: {text!r} is no target; {_EXAMPLE}")
    statistic, measure, value, largest = found.groups()
    if measure != "slowdown":
        most = units.parse_duration(value, field="--target")
    elif (most := units.to_number(value) or 0.0) <= 1:
        raise ScenarioError(f"--target: a slowdown of {value} cannot be kept; write a number above 1, such as 5")
    return Target(words, statistic, measure, most, None if largest is None else int(largest))


def capacity(
    stream: Stream,
    base: Alternative,
    target: Target,
    *,
    draws: str,
    replications: int,
    level: float,
    seed: int,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Capacity:
    """The fewest PEs with which a stream keeps to a target, under the base's policy, and with which others like it do.

    More PEs are taken to make no target worse, so that numbers are halved; policies that break this do so by little.

    Raises ScenarioError if no job counts.

    `draws`, `replications`, `level`, `seed`: how streams like it are drawn; see `advisor.jobs.compare.compare`.
    `progress`: called with how many numbers of PEs were looked at, of about how many.
    """
    if target.largest is not None and not np.any(stream.processors <= target.largest):
        raise ScenarioError(f"--target: no job takes up to {target.largest} PEs; name a larger number")
    tried, itself = list[int](), job_draws.Drawn(stream, np.arange(len(stream)))
    alike = draws in job_draws.DRAWS and replications >= FEWEST_DRAWS
    enough = alike and job_draws.units_of(draws, stream) >= FEWEST_UNITS

    def value(drawn: job_draws.Drawn, pes: int) -> float:
        return _value(replace(base, setting=Setting(pes)), drawn, target)

    def of_draw(number: int, pes: int) -> float:
        return value(job_draws.draw_of(draws, stream, seed, number), pes)

    def keeps_surely(pes: int) -> bool:
        with ThreadPoolExecutor(this_machine().pe_count) as pool:
            drawn = np.array(list(pool.map(of_draw, range(replications), [pes] * replications)))
        tried.append(pes)
        progress(min(len(tried), TRIES), TRIES)
        spare = np.quantile(drawn, (1 + level) / 2) - drawn.mean()
        return bool(value(itself, pes) + spare <= target.most)

    if (pes := fewest(lambda number: value(itself, number) <= target.most, stream, base.pes)) is None:
        raise ScenarioError("--target: not even with PEs for all jobs at once is it kept; ask for less")
    surely = fewest(keeps_surely, stream, pes) if enough else None
    return Capacity(target, base.pes, pes, value(itself, pes), surely)


def drains_from(stream: Stream, base: Alternative) -> int | None:
    """The fewest PEs with which nothing says that the queue of a stream grows; None if no number is enough.

    See `job_metrics.overload`.
    """
    itself = job_draws.Drawn(stream, np.arange(len(stream)))

    def drains(pes: int) -> bool:
        return job_metrics.overload(replace(base, setting=Setting(pes)).run(itself)) is None

    return fewest(drains, stream, base.pes)


def fewest(good: Callable[[int], bool], stream: Stream, start: int) -> int | None:
    """The fewest PEs that are good, from those of the largest job on, if all numbers above a good one are.

    None if not even PEs for all jobs at once are.
    """
    least, most = int(stream.processors.max()), int(stream.processors.sum())
    bad, found = least - 1, max(start, least)
    while not good(found):
        if found >= most:
            return None
        bad, found = found, min(2 * found, most)
    while found - bad > 1:
        middle = (bad + found) // 2
        bad, found = (bad, middle) if good(middle) else (middle, found)
    return found


def _value(one: Alternative, drawn: job_draws.Drawn, target: Target) -> float:
    """What the jobs that count meet."""
    runs = one.run(drawn)
    counts = job_metrics.measured(runs)
    if target.largest is not None:
        counts &= runs.processors <= target.largest
    met = {"wait": runs.wait_s, "turnaround": runs.wait_s + runs.run_s, "slowdown": job_metrics.bounded_slowdown(runs)}
    values = met[target.measure][counts]
    if not values.size:
        return 0.0
    return float(values.mean() if target.statistic == "mean" else np.quantile(values, P95))
