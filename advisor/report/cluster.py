"""What was measured on hosts, or on this machine beside a load of ours: who gets how much, and what really ran."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from advisor import wording
from advisor.report.origin import MessageTimes, head, provenance_section
from advisor.report.picture import answer_picture
from advisor.report.strategies import first_rows, strategies_section
from advisor.report.timelines import Timeline, TooLong, timeline_section
from advisor.report.verdict import speeds_line, verdict
from advisor.report.verification import errors_of, first_measured, verification_section
from advisor.results import Compared, Provenance
from advisor.verification.check import VerifiedConfiguration
from simulator import Share, SpeedBand, blocks, documents, plots, units
from simulator.calibration import Coverage


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
class SpeedPoint:
    """A measured size."""

    rows: int
    """Of its panel."""
    size_elements: float
    speed: Speed
    interval_percent: float | None
    stable: bool
    """Whether its median is known as well as was asked for."""


@dataclass(frozen=True)
class KernelSpeeds:
    """What a kernel was measured to do on a PE."""

    name: str
    pe: str
    points: tuple[SpeedPoint, ...]

    @property
    def band(self) -> SpeedBand:
        """What the figure takes."""
        speeds = [(one.size_elements, one.speed.low, one.speed.mid, one.speed.high) for one in self.points]
        return SpeedBand(*np.array(sorted(speeds)).T)


@dataclass(frozen=True)
class MeasuredLoad:
    """A load of ours that ran on a PE, and what it left of it."""

    pe: str
    rule: str
    """Empty where a simulation has no load there."""
    trace: Trace
    predicted_share: float
    measured_share: float


@dataclass(frozen=True)
class ClusterResult:
    """What `apportion cluster` answers, and `apportion quickstart` of this machine beside a load of ours."""

    format: int
    command: str
    budget_s: float
    compared: Compared = field(metadata=documents.FLAT)
    hosts: tuple[HostShare, ...]
    lost: Mapping[str, str]
    """Host -> why it is left out."""
    network: str
    messages: MessageTimes | None
    kernels: tuple[KernelSpeeds, ...]
    load: MeasuredLoad | None
    shares: tuple[Share, ...]
    """What each PE gets, and what it can do."""
    timelines: tuple[Timeline | TooLong, ...]
    verification: tuple[VerifiedConfiguration, ...]
    intervals: Coverage | None
    """How often predicted intervals held in real runs."""
    line: str
    """What to copy and run across the hosts."""
    folder: str
    exports: tuple[str, ...]
    reused: int
    """Pieces of measuring that an earlier call had finished."""
    seconds: Mapping[str, float]
    """What each stage took."""
    warnings: tuple[str, ...]
    provenance: Provenance


def cluster_page(result: ClusterResult) -> blocks.Page:
    """The answer, the hosts, speeds, load, one replication, strategies, real runs, origin."""
    compared = result.compared
    warnings = (*(f"{name} is left out: {why}" for name, why in result.lost.items()), *result.warnings)
    known = [one.interval_percent / 100 for one in _points(result) if one.interval_percent is not None and one.stable]
    machine = result.provenance.machine
    named = f" on {wording.counted(len(result.hosts), 'host')}" if result.load is None else ""
    return blocks.Page(
        title=f"{wording.asked(compared.application)}{named}",
        answer=wording.answer(compared),
        sections=(
            *([] if result.load is not None else [_hosts_section(result)]),
            blocks.Section("speed", "Speed of each kernel", tuple(_speeds(result))),
            blocks.Section("load", "Background load", tuple(_load(result.load))),
            timeline_section(result.timelines),
            strategies_section(compared),
            verification_section(
                *(result.verification, compared.recommended), level=compared.drawn.level, coverage=result.intervals
            ),
            provenance_section(
                result.provenance,
                compared.drawn.seed,
                more={
                    "Messages": "" if result.messages is None else result.messages.text,
                    "Time taken": wording.took_text(result.seconds),
                    "Folder": result.folder,
                },
            ),
        ),
        host=(machine.host if machine is not None else "") or "this machine",
        settings=_settings(result),
        picture=answer_picture(
            *(compared, result.shares, result.timelines, result.verification),
            advised="tried" if wording.is_slower(compared) else "advised",
        ),
        run=_run(result),
        facts=blocks.pairs(_facts(result)),
        rows=first_measured(result.verification, compared.recommended) or first_rows(compared),
        verdict=verdict(
            warnings,
            known=max(known, default=None),
            loss=compared.expected_loss,
            off=errors_of(result.verification),
            noisy=_noisy(result),
        ),
        **head(result.command, warnings, result.provenance),
    )


def _run(result: ClusterResult) -> tuple[blocks.Command, ...]:
    """The advice across the hosts; on this machine real runs again, as far as they repeat, and host files."""
    if result.load is None:
        return (blocks.Command(result.line, "on the first of the hosts"),) if result.line else ()
    path = shlex.quote(f"{result.folder}/scenario.yaml")
    again = blocks.Command(f"apportion verify {path} --budget 60s", "advised and equal split, really run again")
    advise = blocks.Command(f"apportion advise {path} -o out/advice", "host files and launch lines")
    return (advise,) if result.load.rule == "given" else (again, advise)


def _settings(result: ClusterResult) -> str:
    return f"budget {wording.duration(result.budget_s)}, seed {result.compared.drawn.seed}"


def _facts(result: ClusterResult) -> dict[str, str]:
    """Times, what they rest on, and the load that ran."""
    compared, ran = result.compared, {one.name: one.measured_median_s for one in result.verification}
    now, advised = ran.get("equal"), ran.get(compared.recommended)
    measured = f"{wording.duration(now)} with the equal split, {wording.duration(advised)} as advised; measured"
    rests = [speeds_line(result.shares), _settings(result)]
    rests += [wording.machine_line(result.provenance.machine)] if result.load is not None else [result.network]
    return {
        "Time": measured if now is not None and advised is not None else wording.time_line(compared),
        "Rests on": "; ".join(filter(None, rests)),
        "Load": "" if result.load is None else _load_text(result.load),
    }


# Hosts, load, speeds


def _hosts_section(result: ClusterResult) -> blocks.Section:
    """What each host is, what it gets, and what is between them."""
    rows = [
        (
            *(one.name, one.cpu_model, f"{one.kind}", f"{one.pes}", units.show_size(one.memory_bytes)),
            *(f"{one.available:.0%}", f"{one.units_per_s:.4g}", f"{one.units_now}", f"{one.units}", f"{one.processes}"),
        )
        for one in result.hosts
    ]
    does = ("left to us, measured", "units/s, measured", "units now", "units", "processes")
    table = blocks.table("Hosts", ("host", "processor", "kind", "PEs", "memory", *does), rows, text_columns=2)
    return blocks.Section("hosts", "Who gets how much", (table, blocks.Text(result.network, quiet=True)))


def _load_text(load: MeasuredLoad) -> str:
    """What ran on a PE of ours, and what share of it that left."""
    shares = f"{wording.percent(load.predicted_share)} predicted, {wording.percent(load.measured_share)} measured"
    return f"on {load.pe}, rule {load.rule or 'none'}; share of it left to us: {shares}"


def _load(load: MeasuredLoad | None) -> Iterator[blocks.Block]:
    """The trace over time, and what it leaves us."""
    if load is None:
        return
    drawn = plots.load(load.trace, rule=load.rule or "fair", pe=load.pe)
    caption = "The load that ran on one PE and that every replication starts at another point of. Dashed: its mean."
    facts = {
        "On": load.pe,
        "Rule": load.rule,
        "Share left to us, predicted": wording.percent(load.predicted_share, 1),
        "Share left to us, measured": wording.percent(load.measured_share, 1),
    }
    yield blocks.SideBySide(blocks.Figure(drawn, caption), (blocks.pairs(facts),))


def _speeds(result: ClusterResult) -> Iterator[blocks.Block]:
    """Speed bands as a figure, and how they are known."""
    if not result.kernels:
        return
    figure = blocks.Figure(
        plots.kernels([(one.name, one.pe, one.band) for one in result.kernels if one.points]),
        "Measured speed over problem size, on a logarithmic axis. Line: median in CPU time. Band: without the outer "
        "tenths of the runs; those that other programs disturbed are left out.",
    )
    noisy, count = _noisy(result), len(_points(result))
    stable = "Every point is stable: the 95 % interval of its median is as narrow as was asked for."
    unstable = f"{noisy} of {wording.counted(count, 'point')} not stable: their medians are known less well."
    said = (blocks.Text(unstable if noisy else stable, quiet=True),)
    yield blocks.SideBySide(figure, said)


def _points(result: ClusterResult) -> list[SpeedPoint]:
    return [point for entry in result.kernels for point in entry.points]


def _noisy(result: ClusterResult) -> int:
    """Measured points that are not known as well as was asked for."""
    return sum(not point.stable for point in _points(result))
