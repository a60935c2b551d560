"""What a page shows beyond what `--json` prints: the platform's models, timelines, the scenario's text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor import wording
from advisor.advise.export import commands, layout_of
from advisor.advise.kinds import kinds_of
from advisor.report.origin import MessageTimes
from advisor.report.timelines import BAD, Timeline, TooLong, replication_near, timelines
from simulator import (
    PE,
    Load,
    RunSet,
    Scenario,
    Share,
    SpeedBand,
    blocks,
    dump_scenario,
    plots,
    shares_of,
    units,
)

MOST_TIMELINES = 4
MOST_SCENARIO = 60_000
"""Characters of the scenario that are shown."""
MOST_LOADS = 3
"""Loads that are drawn; the table has all."""
MOST_LINKS, MOST_NAMED = 6, 3
"""Kinds of links, and links of a kind that are named."""
NO_PLATFORM = blocks.Section("platform", "Platform", ())
_LONG_LIST = re.compile(r"\[([^\[\]{}]{400,})\]")
"""Of plain values, traces for instance."""
RULES = {
    "fair": "fair: all runnable processes of the PE get equal shares",
    "idle": "idle: we get what the competitors leave",
    "given": "given: the trace states our share",
    "turns": "turns: all runnable processes of the PE alternate by time slices",
}
CONTENTION = {
    "none": "none: messages do not slow each other down",
    "fifo": "fifo: one message after the other on a link",
    "fair": "fair: messages share a link's bandwidth",
}


@dataclass(frozen=True)
class Speed:
    """A speed band at one size, in units per second."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class Trace:
    """A load over time, in seconds."""

    times_s: tuple[float, ...]
    values: tuple[float, ...]
    end_s: float
    start: str = ""
    """When its time 0 was, ISO 8601, where that is known."""


@dataclass(frozen=True)
class Illustration:
    """What a page shows of a scenario that was simulated."""

    timelines: tuple[Timeline | TooLong, ...] = ()
    scenario_text: str = ""
    platform: blocks.Section = NO_PLATFORM
    shares: tuple[Share, ...] = ()
    """What each PE gets, and what it can do."""
    launches: str = ""
    """How the exports of an advice are used: `commands.txt`."""
    bad: Timeline | TooLong | None = None
    """A slow run of the first configuration."""


NOTHING = Illustration()
"""Of a document alone."""


def illustration(
    scenario: Scenario,
    runs: RunSet,
    names: Sequence[str],
    *,
    before: str = "",
    launched: bool = False,
    drawn: bool = True,
) -> Illustration:
    """Platform, timelines and text of a scenario.

    `scenario`: with the configurations.
    `runs`: of it.
    `names`: configurations whose timelines are shown, the one to show first in front; `MOST_TIMELINES` at most. The
    replication is the one nearest the median of the first.
    `before`: what the first one is compared with: what runs now.
    `launched`: whether host files and the like were written for the first one.
    `drawn`: whether all of it is shown, or only what each PE gets is told.
    """
    named, shown = {one.name: one for one in scenario.configurations}, list(dict.fromkeys(names))[:MOST_TIMELINES]
    if not drawn:
        return Illustration(shares=shares_of(scenario, None, named[shown[0]]))
    replication, slow = (replication_near(runs, shown[0], share) for share in (0.5, BAD))
    model = None if scenario.application.model is None else "model.json"
    text = _LONG_LIST.sub(_shortened, dump_scenario(scenario, model=model))
    return Illustration(
        timelines(scenario, runs, shown, replication=replication),
        text if len(text) <= MOST_SCENARIO else "",
        blocks.Section("platform", "Platform: speeds, loads, network", tuple(_platform(scenario))),
        shares_of(scenario, named.get(before), named[shown[0]]),
        commands(layout_of(scenario, named[shown[0]])) if launched else "",
        None if slow == replication else timelines(scenario, runs, shown[:1], replication=slow)[0],
    )


def _shortened(found: re.Match[str]) -> str:
    """A long list by its ends."""
    values = [value.strip() for value in found[1].split(",")]
    return f"[{', '.join(values[:4])}, ... {len(values) - 5} more ..., {values[-1]}]"


# The platform


def _platform(scenario: Scenario) -> Iterator[blocks.Block]:
    """What the simulated PEs, loads and links are like."""
    pes, kernel, kinds = scenario.platform.pes, scenario.application.kernel, kinds_of(scenario)
    first = [pes[kind.pes[0]] for kind in kinds]
    curves = [
        plots.Curve(kernel, kind.name, _points(pe.speed_of(kernel)))
        for kind, pe in zip(kinds, first, strict=True)
        if pe.speed_of(kernel).sizes.size > 1
    ]
    rows = [
        [kind.name, str(kind.count), str(pe.cores), _speed_text(pe.speed_of(kernel)), _load_text(pe)]
        for kind, pe in zip(kinds, first, strict=True)
    ]
    caption = f"Kinds of PEs; speed of {kernel}" if kernel else "Kinds of PEs"
    said = blocks.table(caption, ["like", "PEs", "cores", "speed of a core", "load (rule)"], rows)
    facts = said, _network_facts(scenario.platform.network)
    if curves and (drawn := plots.kernels(curves, unit="units/s")):
        caption = (
            "Speed bands that were assumed, over problem size. Each replication draws where in its band a PE runs."
        )
        yield blocks.SideBySide(blocks.Figure(drawn, caption), facts)
    else:
        yield from facts
    for pe in [pe for pe in first if pe.load is not None][:MOST_LOADS]:
        yield from _load_blocks(pe)


def _points(band: SpeedBand) -> list[plots.CurvePoint]:
    """What the figure takes."""
    knots = zip(*(curve.tolist() for curve in (band.sizes, band.low, band.mid, band.high)), strict=True)
    return [plots.CurvePoint(*knot) for knot in knots]


def _speed_text(band: SpeedBand) -> str:
    """The extremes of the middle of its band."""
    low, high = (units.show_rate(float(speed), "units/s") for speed in (band.mid.min(), band.mid.max()))
    return low if low == high else f"{low} to {high}"


def _mean_load(load: Load) -> str:
    return wording.digits(float(np.average(load.trace.values, weights=load.trace.durations_s)))


def _load_text(pe: PE) -> str:
    return "none" if pe.load is None else f"{_mean_load(pe.load)} ({pe.load.rule})"


def _load_blocks(pe: PE) -> Iterator[blocks.Block]:
    """The load of a PE as a figure, with its facts."""
    load = pe.load
    if load is None:
        return
    begun = load.trace.start_instant
    start = "" if begun is None else begun.isoformat()
    drawn = plots.load(load.trace, rule=load.rule, pe=pe.name, start=start)
    if drawn:
        said = "Load that each replication starts at another point of, where draws decide. Dashed: its mean."
        what = "Mean share left to us" if load.rule == "given" else "Mean competing processes"
        facts = blocks.pairs({"On": pe.name, "Rule": RULES.get(load.rule, load.rule), what: _mean_load(load)})
        yield blocks.SideBySide(blocks.Figure(drawn, said), (facts,))


def _network_facts(network: Any) -> blocks.Pairs:
    eager, alike = network.eager_bytes, dict[tuple[float, float, bool], list[str]]()
    found = {"Network": "one model for all pairs of nodes"}
    if network.topology is None:
        found["Messages"] = MessageTimes.of(network.model).text
    else:
        found["Network"] = type(network.topology).__name__.lower()
        for link in network.links:
            alike.setdefault((link.latency_s, link.bandwidth_bytes_per_s, link.shared), []).append(link.name)
    found["Contention"] = CONTENTION.get(network.contention, network.contention)
    found["Sent without waiting"] = f"up to {units.show_size(eager)}" if eager else ""
    for place, ((latency_s, bandwidth, shared), names) in enumerate(list(alike.items())[:MOST_LINKS]):
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        said = f"{', '.join(names[:MOST_NAMED])}{more}: {wording.duration(latency_s)}, "
        said += units.show_rate(8 * bandwidth, "bit/s") + (", both directions together" if shared else "")
        found["Links" if place == 0 else f"Links ({place + 1})"] = said
    return blocks.pairs(found)
