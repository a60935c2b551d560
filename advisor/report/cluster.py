"""A cluster on a page and on a terminal: who gets how much, the line to run it, what was measured and really run."""

from collections.abc import Mapping
from dataclasses import dataclass

from advisor import wording
from advisor.report.origin import head, provenance_section
from advisor.report.picture import columns, measured_figure, who_figure
from advisor.report.verdict import verdict
from advisor.report.verification import first_measured, verification_section
from advisor.results import Application, Ends, Provenance
from advisor.verification.check import Verified
from simulator import Share, blocks, plots, units


@dataclass(frozen=True)
class HostShare:
    """A host that was measured, and what it gets."""

    name: str
    kind: int
    """Hosts of one number are alike."""
    cpu_model: str
    pes: int
    memory_bytes: int
    available: float
    """Share of its PEs that was left to us."""
    units_per_s: float
    """Of all its PEs, at their equal share of the work."""
    units: int
    processes: int
    units_now: int
    """With one process per core and equal units."""


@dataclass(frozen=True)
class Predicted:
    """A configuration's predicted makespan."""

    name: str
    mean_s: float | None
    low_s: float | None
    high_s: float | None


@dataclass(frozen=True)
class ClusterResult:
    """What `apportion cluster` answers."""

    format: int
    command: str
    application: Application
    hosts: tuple[HostShare, ...]
    lost: Mapping[str, str]
    """Host -> why it is left out."""
    network: str
    recommended: Predicted
    now: Predicted
    gain: float | None
    """How many times longer the configuration of now is predicted to take."""
    gain_low: float | None
    gain_high: float | None
    line: str
    """What to copy and run."""
    folder: str
    exports: tuple[str, ...]
    reused: int
    """Pieces of measuring that an earlier call had finished."""
    measured_s: float
    level: float
    verified: Verified | None
    warnings: tuple[str, ...]
    provenance: Provenance


def cluster_answer(result: ClusterResult) -> str:
    """The advice in one sentence."""
    what = wording.asked(result.application)
    hosts = wording.counted(len(result.hosts), "host")
    if result.recommended.name == result.now.name or result.gain is None:
        return f"Run {what} on {hosts} as now: one process per core with equal units is as good as anything found."
    span = ""
    if result.gain_low is not None and result.gain_high is not None:
        span = f" ({result.gain_low:.2f} to {result.gain_high:.2f})"
    took = "" if result.recommended.mean_s is None else f", {units.show_duration(result.recommended.mean_s)} predicted"
    faster = f"{result.gain:.2f} times as fast{span} as one process per core with equal units"
    return f"Divide {what} among {hosts} as below{took}: {faster}."


def _shares(result: ClusterResult) -> blocks.Table:
    rows = [
        [
            one.name,
            f"{one.kind}",
            f"{one.pes}",
            f"{one.available:.0%}",
            f"{one.units_per_s:.4g}",
            f"{one.units_now}",
            f"{one.units}",
            f"{one.processes}",
        ]
        for one in result.hosts
    ]
    header = ["host", "kind", "PEs", "left to us", "units/s", "units now", "units", "processes"]
    return blocks.table("Who gets how much", header, rows)


def cluster_page(result: ClusterResult) -> blocks.Page:
    """For a browser: the answer, the line to copy, who gets how much, real runs, origin."""
    verified = result.verified
    sections = [
        blocks.Section("shares", "Who gets how much", (_shares(result), blocks.Text(result.network, quiet=True))),
    ]
    if verified is not None:
        sections.append(
            verification_section(
                verified.configurations, verified.recommended, level=verified.held, coverage=verified.intervals
            )
        )
    machines = [[one.name, one.cpu_model, f"{one.pes}", units.show_size(one.memory_bytes)] for one in result.hosts]
    listed = blocks.table("Hosts", ["host", "processor", "PEs", "memory"], machines, text_columns=2)
    sections.append(blocks.Section("hosts", "What was measured", (listed,)))
    sections.append(provenance_section(result.provenance, result.provenance.seed))
    return blocks.Page(
        title=f"{wording.asked(result.application)} on {wording.counted(len(result.hosts), 'host')}",
        answer=cluster_answer(result),
        sections=tuple(sections),
        facts=blocks.pairs(_facts(result)),
        rows=_first_rows(result),
        picture=_picture(result),
        run=(blocks.Command(result.line, "on the first of the hosts"),) if result.line else (),
        verdict=verdict(_warnings(result)),
        **head(result.command, _warnings(result), result.provenance),
    )


def _facts(result: ClusterResult) -> dict[str, str]:
    """Times, and what they rest on."""
    now, advised = (
        wording.with_interval(Ends(one.mean_s, one.low_s, one.high_s)) for one in (result.now, result.recommended)
    )
    hosts, took = wording.counted(len(result.hosts), "host"), wording.duration(result.measured_s)
    return {
        "Time": f"{now} as now, {advised} as advised; predicted",
        "Rests on": f"speeds of {hosts}, measured in {took}; {result.network}",
    }


def _first_rows(result: ClusterResult) -> blocks.Table | None:
    """What was really run, else a host of each kind."""
    if result.verified is not None:
        return first_measured(result.verified.configurations, result.verified.recommended)
    kinds = {one.kind: one for one in reversed(result.hosts)}
    rows = [[one.name, f"{one.units_now}", f"{one.units}", f"{one.processes}"] for _, one in sorted(kinds.items())]
    return blocks.table("", ["host of each kind", "units now", "units", "processes"], rows)


def _picture(result: ClusterResult) -> tuple[tuple[blocks.Figure, ...], ...]:
    """Who gets how much, and what was predicted and measured."""
    shares = [
        Share(
            *(one.name, one.name, one.units_now, one.units, one.units_per_s / one.available if one.available else None),
            left=one.available,
            processes=one.processes,
            pes=one.pes,
        )
        for one in result.hosts
    ]
    who = who_figure(shares, "units", ("as now", "advised"), of="host")
    verified = result.verified
    if verified is not None:
        times = measured_figure(verified.configurations, verified.recommended)
    else:
        known = {one.name: one for one in (result.now, result.recommended)}
        rows = [
            {
                "name": "as now" if one is result.now else "advised",
                "predicted_makespan_s": {"mean": one.mean_s, "low": one.low_s, "high": one.high_s},
            }
            for one in known.values()
        ]
        drawn = plots.makespans(rows, "advised", mark="advised", level=result.level)
        times = blocks.Figure(drawn, "Predicted; with --verify, really run.") if drawn else None
    return columns(who, None, times)


def _warnings(result: ClusterResult) -> tuple[str, ...]:
    return (*(f"{name} is left out: {why}" for name, why in result.lost.items()), *result.warnings)
