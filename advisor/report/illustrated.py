"""What a page shows beyond what `--json` prints: the platform's models, timelines, the scenario's text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor import wording
from advisor.advise.simulated import kinds_of
from advisor.report.timelines import Timeline, TooLong, median_replication, timelines
from simulator import PE, RunSet, Scenario, blocks, documents, dump_scenario, plots, units

MOST_TIMELINES = 4
MOST_SCENARIO = 60_000
"""Characters of the scenario that are shown."""
MOST_LOADS = 3
"""Loads that are drawn; the table has all."""
MOST_LINKS = 6
_LONG_LIST = re.compile(r"\[([^\[\]{}]{400,})\]")
"""Of plain values, traces for instance."""
PROBES = (8, 2**20)
"""Bytes of messages whose time is shown."""
RULES = {
    "fair": "fair: all runnable processes of the PE get equal shares",
    "idle": "idle: we get what the competitors leave",
    "given": "given: the trace states our share",
}
CONTENTION = {
    "none": "none: messages do not slow each other down",
    "fifo": "fifo: one message after the other on a link",
    "fair": "fair: messages share a link's bandwidth",
}


@dataclass(frozen=True)
class Speed:
    """A speed band at one size, in units per second."""

    low: float | None
    mid: float | None
    high: float | None


@dataclass(frozen=True)
class BandPoint:
    """A size and its speed."""

    size_elements: float
    speed: Speed


@dataclass(frozen=True)
class Trace:
    """A load over time, in seconds."""

    times_s: list[float]
    values: list[float]
    end_s: float


@dataclass(frozen=True)
class LoadFacts:
    """The load of a kind of PEs."""

    pe: str
    rule: str
    mean: float | None
    trace: Trace


@dataclass(frozen=True)
class KindFacts:
    """PEs that are alike."""

    name: str
    count: int
    node: str
    cores: int
    points: tuple[BandPoint, ...]
    load: LoadFacts | None


@dataclass(frozen=True)
class Times:
    """What messages take."""

    sizes_bytes: tuple[float, ...]
    times_s: tuple[float, ...]


@dataclass(frozen=True)
class LinkFacts:
    """Links that are alike."""

    names: tuple[str, ...]
    """The first of them."""
    count: int
    latency_s: float
    bandwidth_bytes_per_s: float
    shared: bool


@dataclass(frozen=True)
class NetworkFacts:
    """How PEs are joined."""

    contention: str
    eager_bytes: float | None
    topology: str
    times: Times | None
    links: tuple[LinkFacts, ...]


@dataclass(frozen=True)
class PlatformFacts:
    """Kinds of PEs with their speeds and loads, and the network."""

    kernel: str
    pes: int
    kinds: tuple[KindFacts, ...]
    network: NetworkFacts


@dataclass(frozen=True)
class Illustration:
    """What a page shows of a scenario that was simulated."""

    platform: PlatformFacts | None
    timelines: tuple[Timeline | TooLong, ...]
    scenario_text: str


def illustration(scenario: Scenario, runs: RunSet, names: Sequence[str]) -> Illustration:
    """Platform, timelines and text of a scenario.

    Parameters
    ----------
    scenario
        With the configurations.
    runs
        Of it.
    names
        Configurations whose timelines are shown, the one to show first in front; `MOST_TIMELINES` at most. The
        replication is the one nearest the median of the first.
    """
    shown = list(dict.fromkeys(names))[:MOST_TIMELINES]
    replication = median_replication(runs, shown[0])
    text = _LONG_LIST.sub(_shortened, dump_scenario(scenario))
    return Illustration(
        platform_facts(scenario),
        timelines(scenario, runs, shown, replication=replication),
        text if len(text) <= MOST_SCENARIO else "",
    )


def _shortened(found: re.Match[str]) -> str:
    """A long list by its ends."""
    values = [value.strip() for value in found[1].split(",")]
    return f"[{', '.join(values[:4])}, ... {len(values) - 5} more ..., {values[-1]}]"


def platform_facts(scenario: Scenario) -> PlatformFacts:
    """Kinds of PEs with their speeds and loads, and the network."""
    pes, kernel = scenario.platform.pes, scenario.application.kernel
    kinds = tuple(_kind(pes[kind.pes[0]], kernel, kind.name, kind.count) for kind in kinds_of(scenario))
    return PlatformFacts(kernel, len(pes), kinds, _network(scenario.platform.network))


def _kind(pe: PE, kernel: str, name: str, count: int) -> KindFacts:
    band, load = pe.speed_of(kernel), None
    knots = zip(*(curve.tolist() for curve in (band.sizes, band.low, band.mid, band.high)), strict=True)
    points = tuple(BandPoint(size, Speed(low, mid, high)) for size, low, mid, high in knots)
    if pe.load is not None:
        trace = pe.load.trace
        mean = float(np.average(trace.values, weights=trace.durations_s))
        told = Trace(trace.times_s.tolist(), trace.values.tolist(), float(trace.end_s))
        load = LoadFacts(pe.name, pe.load.rule, mean, told)
    return KindFacts(name, count, pe.node, pe.cores, points, load)


def _network(network: Any) -> NetworkFacts:
    if network.topology is None:
        times = tuple(float(time) for time in network.model.time_s(np.array(PROBES, dtype=np.float64)))
        alone = "one model for all pairs of nodes"
        return NetworkFacts(network.contention, network.eager_bytes, alone, Times(PROBES, times), ())
    alike: dict[tuple[float, float, bool], list[str]] = {}
    for link in network.links:
        alike.setdefault((link.latency_s, link.bandwidth_bytes_per_s, link.shared), []).append(link.name)
    links = tuple(LinkFacts(tuple(names[:3]), len(names), *facts) for facts, names in alike.items())
    topology = type(network.topology).__name__.lower()
    return NetworkFacts(network.contention, network.eager_bytes, topology, None, links)


# Shown


def platform_section(platform: PlatformFacts | None) -> blocks.Section:
    """What the simulated PEs, loads and links are like."""
    if platform is None or not platform.kinds:
        return blocks.Section("platform", "Platform", (blocks.Text("Nothing is known of the platform."),))
    return blocks.Section("platform", "Platform: speeds, loads, network", tuple(_shown(platform)))


def _shown(platform: PlatformFacts) -> Iterator[blocks.Block]:
    curves = [
        {"name": platform.kernel, "pe": kind.name, "points": documents.to_dict(kind.points)}
        for kind in platform.kinds
        if len(kind.points) > 1
    ]
    facts = _kinds_table(platform), _network_facts(platform.network)
    if curves and (drawn := plots.speed_bands_svg(curves, unit="units/s")):
        caption = (
            "Speed bands that were assumed, over problem size. Each replication draws where in its band a PE runs."
        )
        yield blocks.SideBySide(blocks.Figure(drawn, caption), facts)
    else:
        yield from facts
    loads = [kind.load for kind in platform.kinds if kind.load is not None]
    for place, load in enumerate(loads[:MOST_LOADS]):
        told = "Load that each replication starts at another point of, where draws decide. Dashed: its mean."
        if drawn := plots.load_svg(documents.to_dict(load), name=f"load-{place}"):
            yield blocks.SideBySide(blocks.Figure(drawn, told), (_load_facts(load),))


def _kinds_table(platform: PlatformFacts) -> blocks.Table:
    rows = [
        [
            kind.name,
            str(kind.count),
            str(kind.cores),
            _speed_text(kind),
            "none" if kind.load is None else f"{wording.digits(kind.load.mean)} ({kind.load.rule})",
        ]
        for kind in platform.kinds
    ]
    caption = f"Kinds of PEs; speed of {platform.kernel}" if platform.kernel else "Kinds of PEs"
    return blocks.table(caption, ["like", "PEs", "cores", "speed of a core", "load (rule)"], rows)


def _speed_text(kind: KindFacts) -> str:
    """The extremes of the middle of its band."""
    speeds = [point.speed.mid for point in kind.points if point.speed.mid]
    if not speeds:
        return wording.NOTHING
    low, high = (units.show_rate(speed, "units/s") for speed in (min(speeds), max(speeds)))
    return low if low == high else f"{low} to {high}"


def _load_facts(load: LoadFacts) -> blocks.Pairs:
    what = "Mean share left to us" if load.rule == "given" else "Mean competing processes"
    return blocks.pairs({"On": load.pe, "Rule": RULES.get(load.rule, load.rule), what: wording.digits(load.mean)})


def _network_facts(network: NetworkFacts) -> blocks.Pairs:
    times = network.times or Times((), ())
    knots = zip(times.sizes_bytes, times.times_s, strict=False)
    eager = network.eager_bytes
    found = {
        "Network": network.topology,
        "Messages": ", ".join(f"{wording.duration(time)} for {wording.size_text(size)}" for size, time in knots),
        "Contention": CONTENTION.get(network.contention, network.contention),
        "Sent without waiting": f"up to {wording.size_text(eager)}" if eager else "",
    }
    for place, link in enumerate(network.links[:MOST_LINKS]):
        more = link.count - len(link.names)
        told = f"{', '.join(link.names)}{f' and {more} more' if more > 0 else ''}: {wording.duration(link.latency_s)}, "
        told += units.show_rate(8 * link.bandwidth_bytes_per_s, "bit/s")
        found["Links" if place == 0 else f"Links ({place + 1})"] = told + (
            ", both directions together" if link.shared else ""
        )
    return blocks.pairs(found)
