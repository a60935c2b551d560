"""What a page shows beyond the document that a command prints: the platform's models, timelines, comparisons."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from advisor.advise.ranking import gain
from advisor.advise.simulated import kinds_of
from advisor.report.timelines import median_replication, timelines
from simulator import PE, RunSet, Scenario, dump_scenario, intervals, ties

MOST_TIMELINES = 4
MOST_SCENARIO = 60_000
"""Characters of the scenario that are shown."""
_LONG_LIST = re.compile(r"\[([^\[\]{}]{400,})\]")
"""Of plain values, traces for instance."""
PROBES = (8, 2**20)
"""Bytes of messages whose time is told."""


def illustrated(document: Mapping[str, Any], scenario: Scenario, runs: RunSet, names: Sequence[str]) -> dict[str, Any]:
    """The document with the fields `platform`, `timelines` and `scenario_text`, for `report.render_html`.

    Parameters
    ----------
    document
        What a command prints with `--json`.
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
    return {
        **document,
        "platform": platform_facts(scenario),
        "timelines": timelines(scenario, runs, shown, replication=replication),
        "scenario_text": text if len(text) <= MOST_SCENARIO else "",
    }


def _shortened(found: re.Match[str]) -> str:
    """A long list by its ends."""
    values = [value.strip() for value in found[1].split(",")]
    return f"[{', '.join(values[:4])}, ... {len(values) - 5} more ..., {values[-1]}]"


def compared(scenario: Scenario, runs: RunSet, *, level: float = intervals.LEVEL) -> dict[str, Any]:
    """The configurations of a scenario against the one with the least mean, as the strategies of an advice."""
    known: dict[str, Any] = {"truths": runs.truths, "level": level, "deterministic": runs.deterministic}
    fastest = runs.configurations[ties.first_least(runs.makespan_s.mean(axis=1))]
    entries = []
    for configuration, predicted in zip(scenario.configurations, runs.summary(level=level), strict=True):
        against = gain(runs.of(configuration.name), runs.of(fastest), **known)
        entries.append(
            {
                "name": configuration.name,
                "partition": list(configuration.partition),
                "placement": list(configuration.placement),
                "predicted_makespan_s": predicted,
                "gain_of_recommended": {"mean": against.mean, "low": against.low, "high": against.high},
                "probability_recommended_faster": against.probability,
            }
        )
    return {"baselines": entries, "recommended": fastest}


def platform_facts(scenario: Scenario) -> dict[str, Any]:
    """Kinds of PEs with their speeds and loads, and the network, as plain data."""
    pes, network = scenario.platform.pes, scenario.platform.network
    kinds = [
        {"name": kind.name, "count": kind.count, **_pe_facts(pes[kind.pes[0]], scenario.application.kernel)}
        for kind in kinds_of(scenario)
    ]
    return {"kernel": scenario.application.kernel, "pes": len(pes), "kinds": kinds, "network": _network(network)}


def _pe_facts(pe: PE, kernel: str) -> dict[str, Any]:
    band = pe.speed_of(kernel)
    facts: dict[str, Any] = {
        "node": pe.node,
        "cores": pe.cores,
        "points": [
            {"size_elements": float(size), "speed": {"low": float(low), "mid": float(mid), "high": float(high)}}
            for size, low, mid, high in zip(band.sizes, band.low, band.mid, band.high, strict=True)
        ],
    }
    if pe.load is not None:
        trace = pe.load.trace
        facts["load"] = {
            "pe": pe.name,
            "rule": pe.load.rule,
            "mean": float(np.average(trace.values, weights=trace.durations_s)),
            "trace": {
                "times_s": trace.times_s.tolist(),
                "values": trace.values.tolist(),
                "end_s": float(trace.end_s),
            },
        }
    return facts


def _network(network: Any) -> dict[str, Any]:
    facts = {"contention": network.contention, "eager_bytes": network.eager_bytes}
    if network.topology is None:
        sizes = np.array(PROBES, dtype=np.float64)
        times = {"sizes_bytes": list(PROBES), "times_s": [float(time) for time in network.model.time_s(sizes)]}
        return {**facts, "topology": "one model for all pairs of nodes", "times": times, "links": []}
    alike: dict[tuple[float, float, bool], list[str]] = {}
    for link in network.links:
        alike.setdefault((link.latency_s, link.bandwidth_bytes_per_s, link.shared), []).append(link.name)
    links = [
        {
            "names": names[:3],
            "count": len(names),
            "latency_s": latency,
            "bandwidth_bytes_per_s": speed,
            "shared": shared,
        }
        for (latency, speed, shared), names in alike.items()
    ]
    return {**facts, "topology": type(network.topology).__name__.lower(), "links": links}
