"""Clusters that are made up: their true speeds, links, loads and drift, what measuring them shows, and how runs go.

Nothing here is imported from what is judged. Speeds come from logistic knees, ripples and a table, times of messages
from protocols that switch, loads from states that last log-normal times, noise from a mixture with spikes that is
correlated in time. All of it is known exactly, so that how often a stated interval holds can be counted.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

WORD_BYTES = 8
RESULT_BYTES = 96
SAMPLES = 5
"""Repeated runs of each size when it is measured."""
SIZES = 41
"""Recorded between the smallest and the largest problem."""
SMALLEST = 1 / 1000
"""Of all units: the smallest problem that is measured."""
TABLED = {
    3e4: 0.42, 1e5: 0.61, 3e5: 0.83, 6e5: 0.97, 1e6: 1.0, 2e6: 0.98, 4e6: 0.78, 8e6: 0.71, 2e7: 0.69, 1e8: 0.66,
}  # fmt: skip
"""Share of the highest speed by problem size, as a real core's product of matrices once was read off."""


@dataclass(frozen=True)
class Load:
    """Competitors that come and go: states in turn, by chance, each for a log-normal time."""

    levels: tuple[float, ...]
    means_s: tuple[float, ...]
    """Mean time in each state."""
    sigma: float
    """Of the logarithms of times."""

    def history(self, length_s, draws):
        """Ends of intervals and the load in each; (n,) twice."""
        count, ends, levels, state, now = len(self.levels), [], [], int(draws.integers(len(self.levels))), 0.0
        while now < length_s:
            now += self.means_s[state] * float(np.exp(self.sigma * draws.standard_normal() - self.sigma**2 / 2))
            ends.append(min(now, length_s))
            levels.append(self.levels[state])
            state = (state + 1 + int(draws.integers(count - 1))) % count
        return np.array(ends), np.array(levels)

    def longest_s(self):
        """Longest mean time in a state."""
        return max(self.means_s)


@dataclass(frozen=True)
class Noise:
    """How runs differ: a log-normal factor, and now and then a spike."""

    sd: float
    spikes: float
    """Chance of a spike."""
    height: float
    """Mean of what a spike adds, as a share."""
    rho: float
    """Correlation of one measured run's logarithm with the next one's."""

    def factors(self, shape, draws):
        """Of independent runs."""
        spiked = (draws.random(shape) < self.spikes) * draws.exponential(self.height, shape)
        return np.exp(self.sd * draws.standard_normal(shape)) * (1 + spiked)

    def measured(self, count, draws):
        """Of runs measured one after the other."""
        steps, value, found = draws.standard_normal(count), draws.standard_normal(), []
        for step in steps:
            value = self.rho * value + np.sqrt(1 - self.rho**2) * step
            found.append(value)
        spiked = (draws.random(count) < self.spikes) * draws.exponential(self.height, count)
        return np.exp(self.sd * np.array(found)) * (1 + spiked)


@dataclass(frozen=True)
class Kind:
    """PEs of one kind: the form of their speed over problem size, and what is drawn for them."""

    form: str
    numbers: dict[str, float]
    peak: float
    """Volume per second."""
    noise: Noise
    drift: float
    """Standard deviation of the logarithm of what a run takes, from measuring to running."""
    common: float
    """Share of its variance that all PEs of the kind have in common."""
    count: int
    load: Load | None = None

    def speed(self, size):
        """Volume per second when it was measured."""
        x, n = np.asarray(size, dtype=float), self.numbers
        if self.form == "knee":
            shape = n["floor"] + (1 - n["floor"]) / (1 + (x / n["knee"]) ** n["steep"])
        elif self.form == "ripple":
            shape = x / (x + n["half"]) * (1 - n["deep"] * (1 + np.sin(2 * np.pi * np.log2(x) / n["octaves"])) / 2)
        else:
            shape = np.interp(np.log(x * n["scale"]), np.log(list(TABLED)), list(TABLED.values()))
        return self.peak * shape


@dataclass(frozen=True)
class Link:
    """Message times with a protocol that switches at a size."""

    latency_s: float
    rate: float
    """Bytes per second."""
    switch: float
    """Bytes from which on sender and receiver agree first."""
    handshakes: float
    """Latencies that this costs."""
    quicker: float
    """Times the rate beyond."""
    drift: float
    noise: float

    def time_s(self, size_bytes):
        """Of one message when it was measured."""
        size = np.asarray(size_bytes, dtype=float)
        large = size > self.switch
        rate = np.where(large, self.rate * self.quicker, self.rate)
        return self.latency_s * (1 + self.handshakes * large) + size / rate


@dataclass(frozen=True)
class Cluster:
    """A true cluster with the program that it shall run."""

    number: int
    program: str
    n: int
    """Samples, or the order of the matrix."""
    volume: float
    """Of a sample; iterations of the stencil; unused for matmul."""
    kinds: tuple[Kind, ...]
    link: Link
    history_s: float
    """How long loads were recorded."""
    upset: str | None = None
    """What happens between measuring and running, each time in another way; None: nothing."""
    of_kind: tuple[int, ...] = field(default=())
    """Kind of each PE."""

    def size(self, units):
        """Problem size of a process with so many units."""
        units = np.asarray(units, dtype=float)
        if self.program == "ep":
            return units
        return self.n**2 + 2 * units * self.n if self.program == "matmul" else self.n * (2 * units + 2)

    def work(self, units):
        """Volume of a process with so many units; of one iteration."""
        units = np.asarray(units, dtype=float)
        if self.program == "ep":
            return units * self.volume
        return 2 * units * self.n**2 if self.program == "matmul" else 5 * self.n * units

    @property
    def iterations(self):
        """How often all compute."""
        return int(self.volume) if self.program == "stencil" else 1


# Making one


def made(number, *, seed, upset=False):
    """Cluster of that number, the same for the same seed."""
    draws = np.random.default_rng([seed, number, 1])
    program = ("ep", "matmul", "stencil")[number % 3]
    n = {"ep": 3000, "matmul": int(draws.integers(600, 2400)), "stencil": int(draws.integers(1000, 4000))}[program]
    volume = {"ep": 1e6, "matmul": 1.0, "stencil": float(draws.integers(8, 30))}[program]
    kinds = int(draws.integers(1, 4))
    counts = [int(draws.integers(1, 4)) for _ in range(kinds)]
    while sum(counts) < 2:
        counts[0] += 1
    relative = np.exp(draws.uniform(np.log(1), np.log(5), kinds))
    seconds = float(np.exp(draws.uniform(np.log(3), np.log(40))))
    cluster = Cluster(number, program, n, volume, (), _link(draws), float(draws.uniform(600, 3600)))
    whole = float(cluster.work(n)) * cluster.iterations
    peak = whole / seconds / float(np.dot(relative, counts))
    size = float(cluster.size(n / sum(counts)))
    found = [_kind(draws, peak * r, count, size) for r, count in zip(relative, counts, strict=True)]
    if draws.random() < 0.5:  # one PE is also used by others: a kind of its own
        place = int(draws.integers(kinds))
        found[place] = replace(found[place], count=1, load=_load(draws))
        if sum(kind.count for kind in found) < 2:
            found.append(replace(found[place], count=1, load=None))
    of_kind = tuple(place for place, kind in enumerate(found) for _ in range(kind.count))
    cluster = replace(cluster, kinds=tuple(found), of_kind=of_kind)
    return replace(cluster, upset=_upset(cluster, draws)) if upset else cluster


def _upset(cluster, draws):
    """One that this cluster can have: a load can be unlike its history only where there is one."""
    loaded = any(kind.load for kind in cluster.kinds)
    return ("step", "drift", "load" if loaded else "step")[int(draws.integers(3))]


def _kind(draws, peak, count, size):
    form = ("knee", "ripple", "table")[int(draws.integers(3))]
    near = size * np.exp(draws.uniform(-1.5, 1.5))
    numbers = {
        "knee": {"floor": draws.uniform(0.3, 0.8), "knee": near, "steep": draws.uniform(1, 6)},
        "ripple": {"half": near / 20, "deep": draws.uniform(0.02, 0.12), "octaves": draws.uniform(1, 3)},
        "table": {"scale": 3e6 / near},
    }[form]
    noise = Noise(
        sd=float(np.exp(draws.uniform(np.log(0.005), np.log(0.04)))),
        spikes=float(draws.choice([0, 0.01, 0.03])),
        height=0.25,
        rho=float(draws.uniform(0, 0.6)),
    )
    drift, common = float(draws.uniform(0.02, 0.08)), float(draws.uniform(0.6, 1))
    return Kind(form, {name: float(value) for name, value in numbers.items()}, peak, noise, drift, common, count)


def _link(draws):
    return Link(
        latency_s=float(np.exp(draws.uniform(np.log(5e-6), np.log(1e-4)))),
        rate=float(np.exp(draws.uniform(np.log(1e8), np.log(3e9)))),
        switch=float(2 ** draws.integers(13, 19)),
        handshakes=float(draws.uniform(1, 3)),
        quicker=float(draws.uniform(0.8, 1.3)),
        drift=float(draws.uniform(0.02, 0.08)),
        noise=float(draws.uniform(0.02, 0.06)),
    )


def _load(draws):
    count = int(draws.integers(2, 4))
    levels = (0.0, 1.0, 2.0)[:count]
    return Load(levels, tuple(float(x) for x in draws.uniform(3, 60, count)), float(draws.uniform(0.3, 1)))


# What measuring it shows


def speed_rows(cluster, kind, draws):
    """Rows (problem size, volume, seconds) of runs measured one after the other, each size several times in a row."""
    units = np.unique(np.geomspace(max(1, cluster.n * SMALLEST), cluster.n, SIZES).round())
    size, work = np.repeat(cluster.size(units), SAMPLES), np.repeat(cluster.work(units), SAMPLES)
    return size, work, work / kind.speed(size) * kind.noise.measured(size.size, draws)


def link_rows(cluster, draws):
    """Rows (bytes, seconds) of messages, each size several times."""
    size = np.repeat(np.unique(2 ** np.arange(0, 28)), SAMPLES)
    return size, cluster.link.time_s(size) * np.exp(cluster.link.noise * draws.standard_normal(size.size))


def load_rows(cluster, kind, draws):
    """Rows (second, load) as they were recorded each second: the mean over that second."""
    ends, levels = kind.load.history(cluster.history_s, draws)
    upto = np.concatenate(([0.0], np.cumsum(np.diff(ends, prepend=0.0) * levels)))
    seconds = np.arange(int(cluster.history_s) + 1, dtype=float)
    return seconds[:-1], np.diff(np.interp(seconds, np.concatenate(([0.0], ends)), upto))


# Its truth when it runs


@dataclass(frozen=True)
class Truth:
    """What is fixed while all runs are made: time over that when measured, of each PE and of the link."""

    slower: np.ndarray
    link_slower: float
    loads: tuple[Load | None, ...]
    """Of each PE."""


def true_one(cluster, draws, *, doubt=None):
    """A truth drawn for a cluster; with `doubt` (kind,), as one who knows all standard deviations has to expect it.

    The PE that was measured is the first of its kind; the others differ from it by their own part twice: when it was
    measured, and now.
    """
    wild = 2.5 if cluster.upset == "drift" and doubt is None else 1.0
    slower = np.empty(len(cluster.of_kind))
    for number, kind in enumerate(cluster.kinds):
        places = [place for place, one in enumerate(cluster.of_kind) if one == number]
        sd, own = kind.drift * wild, np.sqrt(1 - kind.common)
        logs = sd * (np.sqrt(kind.common) * draws.standard_normal() + own * draws.standard_normal(len(places)))
        if doubt is not None:
            logs += doubt[number] * draws.standard_normal()
        slower[places] = np.exp(logs)
    link = float(np.exp(cluster.link.drift * wild * draws.standard_normal()))
    loads = [cluster.kinds[one].load for one in cluster.of_kind]
    if doubt is None:
        slower, loads = _after_upset(cluster, draws, slower, loads)
    return Truth(slower, link, tuple(loads))


def _after_upset(cluster, draws, slower, loads):
    if cluster.upset == "step":  # one kind is in another phase now, a slow or a quick one
        hit = int(draws.integers(len(cluster.kinds)))
        by = draws.uniform(1.1, 1.3) ** draws.choice((-1, 1))
        slower = slower * np.where(np.array(cluster.of_kind) == hit, by, 1.0)
    if cluster.upset == "load":  # one competitor more from time to time, or none of them
        more = draws.random() < 0.5
        loads = [one and (_busier(one) if more else replace(one, levels=(0.0,) * len(one.levels))) for one in loads]
    return slower, loads


def _busier(load):
    return Load((*load.levels, load.levels[-1] + 1), (*load.means_s, 30.0), load.sigma)


def judged_doubt(cluster):
    """What measuring leaves unknown of each kind's speed at a size: of the mean of the runs there, correlated."""
    return [kind.noise.sd * np.sqrt((1 + kind.noise.rho) / (1 - kind.noise.rho) / SAMPLES) for kind in cluster.kinds]


# How runs go


@dataclass(frozen=True)
class Circumstances:
    """What differs from run to run, the same for all who are compared: noise (PE, run), and where loads stand."""

    noise: np.ndarray
    begins_s: np.ndarray
    """(PE, run)."""
    ends: tuple[np.ndarray | None, ...]
    """Of a long future of each PE's load: instants, and the service attained up to them."""
    attained: tuple[np.ndarray | None, ...]


def circumstances(cluster, truth, runs, draws):
    """Draw them."""
    count = len(cluster.of_kind)
    noise = np.stack([cluster.kinds[one].noise.factors(runs, draws) for one in cluster.of_kind])
    ends, attained, begins = [], [], np.zeros((count, runs))
    for place, load in enumerate(truth.loads):
        if load is None:
            ends.append(None)
            attained.append(None)
            continue
        length_s = max(4_000.0 * load.longest_s(), 50_000.0)
        until, levels = load.history(length_s, draws)
        lasting = np.diff(until, prepend=0.0)
        ends.append(np.concatenate(([0.0], until)))
        attained.append(np.concatenate(([0.0], np.cumsum(lasting / (1 + levels)))))
        begins[place] = draws.uniform(0, 0.8 * length_s, runs)
    return Circumstances(noise, begins, tuple(ends), tuple(attained))


def makespans(cluster, truth, configuration, seen):
    """Seconds of each run of (units, PE) of each process; (run,)."""
    partition, places = (np.asarray(each) for each in configuration)
    all_alone = []
    for process, place in enumerate(places):
        units, kind = int(partition[process]), cluster.kinds[cluster.of_kind[place]]
        alone = cluster.work(units) / kind.speed(cluster.size(units)) if units else 0.0
        all_alone.append(alone * truth.slower[place] * seen.noise[place])
    run = {"ep": _ep, "matmul": _matmul, "stencil": _stencil}[cluster.program]
    return run(cluster, truth, partition, np.stack(all_alone), seen, places.tolist())


def _finished(begin, alone, place, seen):
    """When computations end that begin at a time and take so long alone; (run,)."""
    if seen.ends[place] is None:
        return begin + alone
    start = seen.begins_s[place]
    served = np.interp(start + begin, seen.ends[place], seen.attained[place]) + alone
    return np.interp(served, seen.attained[place], seen.ends[place]) - start


def _message_s(cluster, truth, size_bytes):
    return float(cluster.link.time_s(size_bytes)) * truth.link_slower


def _ep(cluster, truth, partition, alone, seen, places):
    """All compute, then tell each other the result in as many rounds as doubling takes."""
    active = np.flatnonzero(partition)
    ends = np.max([_finished(0.0 * alone[p], alone[p], places[p], seen) for p in active], axis=0)
    whole = 2 ** int(np.log2(active.size))
    rounds = np.log2(whole) + (2 if whole < active.size else 0)
    return ends + rounds * _message_s(cluster, truth, RESULT_BYTES)


def _matmul(cluster, truth, partition, alone, seen, places):
    """Process 0 sends in turn, computes, and collects in turn."""
    n, now, ready = cluster.n, 0.0 * alone[0], {}
    for worker in np.flatnonzero(partition[1:]) + 1:
        now = now + _message_s(cluster, truth, WORD_BYTES * (n * n + partition[worker] * n))
        ready[worker] = _finished(now, alone[worker], places[worker], seen)
    now = _finished(now, alone[0], places[0], seen)
    for worker, done in ready.items():
        now = np.maximum(now, done) + _message_s(cluster, truth, WORD_BYTES * partition[worker] * n)
    return now


def _stencil(cluster, truth, partition, alone, seen, places):
    """In each iteration a row to and from either neighbour, one direction after the other, then the own rows."""
    active = np.flatnonzero(partition)
    message = _message_s(cluster, truth, WORD_BYTES * cluster.n)
    now = [np.zeros(alone.shape[1]) for _ in active]
    for _ in range(cluster.iterations):
        now = _halo(now, message)
        now = [_finished(t, alone[p], places[p], seen) for t, p in zip(now, active, strict=True)]
    return np.max(now, axis=0)


def _halo(now, message):
    """Each sends down and receives from above, then the other way round; a message lasts from when both are there."""
    for _ in range(2 if len(now) > 1 else 0):
        down = [np.maximum(one, other) + message for one, other in pairwise(now)]
        later = [*down, now[-1]]
        now = [np.maximum(mine, above) for mine, above in zip(later, [now[0], *down], strict=True)]
    return now
