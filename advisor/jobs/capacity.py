"""How many PEs or nodes a stream needs: the fewest with which waits keep to a target, or its queue drains."""

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from advisor.jobs.backtest import NEARLY_S
from advisor.jobs.compare import Alternative
from advisor.jobs.kinds import Part, parts
from advisor.jobs.paired import FEWEST_DRAWS, FEWEST_UNITS
from simulator import JobNodes, ScenarioError, Stream, fitting_jobs, job_draws, job_metrics, this_machine, units

Floats = NDArray[np.float64]
_TARGET = re.compile(
    r"(mean|p95) (wait|slowdown|turnaround) (?:at most )?(.+?)(?: for jobs up to ([0-9]{1,7})(?: PEs| cores)?)?"
)
_EXAMPLE = "write such as 'mean wait 30min', 'p95 wait 4h for jobs up to 64 PEs' or 'mean slowdown 5'"
P95 = 0.95


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
    """The fewest PEs, or nodes of a kind, for a target."""

    target: Target
    of: str
    """What is counted: `PEs`, or nodes like some."""
    now: int
    fewest: int
    """With which the stream itself keeps to it."""
    value: float
    surely: int | None
    """With which streams like it do as often as intervals hold; None where too few draws tell."""
    cores: int
    """That they have more than now, or fewer; the surely ones where these are known."""
    price: float | None = None
    """Of what is more than now, likewise."""

    @property
    def count(self) -> int:
        """With which it is kept, as surely as is known."""
        return self.fewest if self.surely is None else self.surely

    @property
    def sentence(self) -> str:
        """The answer."""
        kind, about = self.of.partition(" like ")[::2]
        named = f" like {about}" if about else ""
        apart = self.fewest - self.now
        than = f"{abs(apart)} {'more' if apart > 0 else 'fewer'} than now" if apart else "as now"
        value = units.show_duration(self.value) if self.target.measure != "slowdown" else f"{self.value:.3g}"
        sure = "" if self.surely is None else f"; surely with {self.surely}"
        cost = "" if self.price is None else f"; price {self.price:.6g}"
        return f"The fewest {kind}{named} for {self.target.text} are {self.fewest}, {than} ({value}{sure}{cost})."


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


@dataclass(frozen=True, eq=False)
class _Asked:
    """A target for a stream, and how streams like it are drawn."""

    stream: Stream
    base: Alternative
    target: Target
    draws: str
    replications: int
    level: float
    seed: int

    def value(self, part: Part, count: int, draw: int | None = None) -> float:
        """What jobs meet with so many of a part: those of the stream, or of a draw."""
        own = job_draws.Drawn(self.stream, np.arange(len(self.stream)))
        drawn = own if draw is None else job_draws.draw_of(self.draws, self.stream, self.seed, draw)
        return _value(replace(self.base, setting=part.setting_with(count)), drawn, self.target)

    def keeps(self, part: Part, count: int) -> bool:
        """Whether the stream does."""
        return self.value(part, count) <= self.target.most

    def keeps_surely(self, part: Part, count: int) -> bool:
        """Whether another stream like it does, as often as the level says.

        The two differ by a factor, as two draws do: the longer waits are, the more they vary.
        """
        with ThreadPoolExecutor(this_machine().pe_count) as pool:
            drawn = np.array(list(pool.map(partial(self.value, part, count), range(self.replications))))
        nearly = NEARLY_S if self.target.measure == "wait" else 0.0
        factors = np.log((drawn + nearly)[:, np.newaxis] / (drawn + nearly))[~np.eye(drawn.size, dtype=bool)]
        weeks = min(job_draws.units_of(self.draws, self.stream), 1e9)
        factor = np.exp(np.quantile(factors, self.level) * np.sqrt(weeks / (weeks - 1)))
        return bool((self.value(part, count) + nearly) * factor - nearly <= self.target.most)


def capacity(  # noqa: PLR0913 - all by name
    stream: Stream,
    base: Alternative,
    target: Target,
    *,
    draws: str,
    replications: int,
    level: float,
    seed: int,
    prices: Mapping[str, float] | None = None,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> tuple[Capacity, ...]:
    """The fewest PEs with which a stream keeps to a target, under the base's policy, and with which others like it do.

    Of nodes likewise, for each kind that can be enough while all others stay as they are: cheapest first, or where not
    all have a price, those that are fewest cores more. More of them are taken to make no target worse, so that numbers
    are halved; policies that break this do so by little.

    Raises ScenarioError if no job counts.

    `draws`, `replications`, `level`, `seed`: how streams like it are drawn; see `advisor.jobs.compare.compare`.
    `prices`: of each of a part, by its name.
    `progress`: called with how many parts were looked at, of how many.
    """
    if target.largest is not None and not np.any(stream.processors <= target.largest):
        raise ScenarioError(f"--target: no job takes up to {target.largest} PEs; name a larger number")
    asked = _Asked(stream, base, target, draws, replications, level, seed)
    alike = draws in job_draws.DRAWS and replications >= FEWEST_DRAWS
    enough = alike and job_draws.units_of(draws, stream) >= FEWEST_UNITS
    ways, found = parts(base.setting), list[Capacity]()
    for number, part in enumerate(ways, 1):
        least = fewest(partial(asked.keeps, part), stream, part)
        if least is not None:
            surely = fewest(partial(asked.keeps_surely, part), stream, part, least) if enough else None
            more, price = (surely or least) - part.now, (prices or {}).get(part.name)
            cost = None if price is None else price * max(0, more)
            value = asked.value(part, least)
            found.append(Capacity(target, part.name, part.now, least, value, surely, more * part.cores, cost))
        progress(number, len(ways))
    if not found:
        raise ScenarioError("--target: not even with PEs for all jobs at once is it kept; ask for less")
    priced = all(one.price is not None for one in found)
    return tuple(sorted(found, key=lambda one: (one.price or 0.0 if priced else 0.0, one.cores)))


@dataclass(frozen=True)
class Drained:
    """The fewest PEs, or nodes of a kind, with which nothing says that a queue grows."""

    of: str
    fewest: int
    cores: int
    """More than now."""


def drains_from(stream: Stream, base: Alternative) -> tuple[Drained, ...]:
    """With which parts of a machine, and how many, the queue of a stream drains; those with the fewest cores first.

    See `job_metrics.overload`.
    """
    itself = job_draws.Drawn(stream, np.arange(len(stream)))

    def drains(part: Part, count: int) -> bool:
        return job_metrics.overload(replace(base, setting=part.setting_with(count)).run(itself)) is None

    found = [(part, fewest(partial(drains, part), stream, part)) for part in parts(base.setting)]
    enough = [Drained(part.name, least, part.cores * (least - part.now)) for part, least in found if least is not None]
    return tuple(sorted(enough, key=lambda one: one.cores))


def fewest(good: Callable[[int], bool], stream: Stream, part: Part, start: int | None = None) -> int | None:
    """The fewest of a part that are good and hold all jobs, if all numbers above a good one are.

    None if not even so many are that all jobs could run at once.
    """
    size = int(stream.processors.max()) if part.kind is None else 1
    most = (0 if part.kind is None else part.now) + -(-int(stream.processors.sum()) // part.cores)
    bad, found = size - 1, max(part.now if start is None else start, size)

    def enough(count: int) -> bool:
        nodes = part.setting_with(count).cluster
        return (not isinstance(nodes, JobNodes) or bool(fitting_jobs(stream, nodes).all())) and good(count)

    while not enough(found):
        if found >= most:
            return None
        bad, found = found, min(2 * found, most)
    while found - bad > 1:
        middle = (bad + found) // 2
        bad, found = (bad, middle) if enough(middle) else (middle, found)
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
