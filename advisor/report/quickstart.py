"""A quickstart on a page and on a terminal: measured, modelled, simulated, advised, verified."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from advisor import wording
from advisor.report.illustrated import RULES, Speed, Trace
from advisor.report.origin import MessageTimes, head, machine_section, provenance_section
from advisor.report.picture import answer_picture
from advisor.report.strategies import first_rows, strategies_section
from advisor.report.timelines import Timeline, TooLong, timeline_section
from advisor.report.verdict import speeds_line, verdict
from advisor.report.verification import errors_of, first_measured, verification_section
from advisor.results import Compared, Provenance
from advisor.verification.check import VerifiedConfiguration
from advisor.verification.pieces import Piece
from advisor.verification.residuals import Bias
from simulator import Machine, Share, blocks, documents, intervals, plots


@dataclass(frozen=True)
class SpeedPoint:
    """A measured size."""

    n: int
    rows: int
    """Of its panel."""
    size_elements: float
    volume: float
    repetitions: int
    speed: Speed
    interval_percent: float | None
    stable: bool
    """Whether its median is known as well as was asked for."""
    cpu_s: tuple[float, ...]
    wall_s: tuple[float, ...]


@dataclass(frozen=True)
class KernelSpeeds:
    """What a kernel was measured to do on a PE."""

    name: str
    pe: str
    points: tuple[SpeedPoint, ...]


@dataclass(frozen=True)
class MeasuredLoad:
    """The load that ran on a PE, and what it is predicted to leave of it."""

    pe: str
    rule: str
    """Empty where a simulation has no load there."""
    trace: Trace
    predicted_share: float


@dataclass(frozen=True)
class PieceFacts:
    """What a real piece of the application attained beyond what the band says."""

    pe: str
    rows: int
    speed_of_band: float
    speed_attained: float
    difference_percent: float
    corrected_by_percent: float

    @classmethod
    def of(cls, piece: Piece) -> "PieceFacts":
        """Of the runs of a piece, by their median."""
        attained = float(np.median(piece.attained))
        off, corrected = 100 * (attained / piece.said - 1), 100 * (piece.ratio - 1)
        return cls(piece.pe, piece.rows, piece.said, attained, off, corrected)


@dataclass(frozen=True)
class NeighbourFacts:
    """What PEs were seen to lose to each other, or why that was not measured."""

    missing: str = ""
    domains: tuple[str, ...] = ()
    """Kinds of sharing domains that were found."""
    beyond_percent: Mapping[str, float | None] = field(default_factory=dict)
    """Level without a domain -> up to which loss none was seen."""
    kernel: str = ""
    share_together: float | None = None


@dataclass(frozen=True)
class Calibration:
    """How far speeds can be trusted."""

    pieces: tuple[PieceFacts, ...]
    neighbours: NeighbourFacts


@dataclass(frozen=True)
class QuickstartResult:
    """What `apportion quickstart` answers."""

    format: int
    command: str
    budget_s: float
    warnings: tuple[str, ...]
    machine: Machine
    kernels: tuple[KernelSpeeds, ...]
    calibration: Calibration
    load: MeasuredLoad
    messages: MessageTimes
    compared: Compared = field(metadata=documents.FLAT)
    shares: tuple[Share, ...]
    """What each PE gets, and what it can do."""
    timelines: tuple[Timeline | TooLong, ...]
    verification: tuple[VerifiedConfiguration, ...]
    bias: Bias | None
    available_share: float
    """Of the loaded PE, measured."""
    seconds: Mapping[str, float]
    provenance: Provenance
    report: str
    scenario: str


def quickstart_page(result: QuickstartResult) -> blocks.Page:
    """Machine, speeds, load, one replication, strategies, real runs."""
    compared = result.compared
    return blocks.Page(
        title=wording.asked(compared.application),
        answer=wording.answer(compared),
        sections=(
            machine_section(result.machine, result.messages),
            _speeds_section(result),
            _load_section(result),
            timeline_section(result.timelines),
            strategies_section(compared),
            verification_section(result.verification, compared.recommended, level=intervals.LEVEL),
            provenance_section(
                result.provenance,
                compared.drawn.seed,
                more={
                    "Time taken": wording.took_text(result.seconds),
                    "Scenario": result.scenario,
                    "This report": result.report,
                },
            ),
        ),
        host=result.machine.host or "this machine",
        settings=_settings(result),
        picture=answer_picture(
            *(compared, result.shares, result.timelines, result.verification),
            advised="tried" if wording.is_slower(compared) else "advised",
        ),
        run=_run(result),
        facts=blocks.pairs(_facts(result)),
        rows=first_measured(result.verification, compared.recommended) or first_rows(compared),
        verdict=_verdict(result),
        **head(result.command, result.warnings, result.provenance),
    )


def _run(result: QuickstartResult) -> tuple[blocks.Command, ...]:
    """Real runs again, but beside others, which does not repeat; and host files for launchers."""
    path = shlex.quote(result.scenario)
    again = blocks.Command(f"apportion verify {path} --budget 60s", "advised and equal split, really run again")
    advise = blocks.Command(f"apportion advise {path} -o out/advice", "host files and launch lines")
    return (advise,) if result.load.rule == "given" else (again, advise)


def _verdict(result: QuickstartResult) -> str:
    """Whether it can be used, by how well the speeds of the application's kernel were measured."""
    compared = result.compared
    kernel = "" if compared.application is None else compared.application.kernel
    points = [point for entry in result.kernels if entry.name == kernel for point in entry.points]
    known = [point.interval_percent / 100 for point in points if point.interval_percent is not None and point.stable]
    return verdict(
        result.warnings,
        known=max(known, default=None),
        loss=compared.expected_loss,
        off=errors_of(result.verification),
        noisy=_noisy(result),
    )


def _facts(result: QuickstartResult) -> dict[str, str]:
    """Times, what they rest on, and the load that ran."""
    compared, ran = result.compared, {one.name: one.measured_median_s for one in result.verification}
    now, advised = ran.get("equal"), ran.get(compared.recommended)
    measured = f"{wording.duration(now)} with the equal split, {wording.duration(advised)} as advised; measured"
    rests = (speeds_line(result.shares), _settings(result), wording.machine_line(result.machine))
    return {
        "Time": measured if now is not None and advised is not None else wording.time_line(compared),
        "Rests on": "; ".join(filter(None, rests)),
        "Load": _load_text(result),
    }


def _settings(result: QuickstartResult) -> str:
    return f"budget {wording.duration(result.budget_s)}, seed {result.compared.drawn.seed}"


# Load


def _load_text(result: QuickstartResult) -> str:
    """What ran on a PE of ours, and what share of it that left."""
    load = result.load
    shares = f"{wording.percent(load.predicted_share)} predicted, {wording.percent(result.available_share)} measured"
    return f"on {load.pe}, rule {load.rule or 'none'}; share of it left to us: {shares}"


def _load_section(result: QuickstartResult) -> blocks.Section:
    """The trace over time, and what it leaves us."""
    load = result.load
    drawn = plots.load(load.trace, rule=load.rule or "fair", pe=load.pe)
    caption = "The load that ran on one PE and that every replication starts at another point of. Dashed: its mean."
    facts = {
        "On": load.pe,
        "Rule": RULES.get(load.rule, load.rule),
        "Share left to us, predicted": wording.percent(load.predicted_share, 1),
        "Share left to us, measured": wording.percent(result.available_share, 1),
    }
    return blocks.Section(
        "load", "Background load", (blocks.SideBySide(blocks.Figure(drawn, caption), (blocks.pairs(facts),)),)
    )


# Speeds


def _speeds_section(result: QuickstartResult) -> blocks.Section:
    """Speed bands as a figure, how they are known, and all measured points."""
    drawn = plots.kernels(
        [documents.to_dict(entry) for entry in result.kernels], caches=documents.to_dict(result.machine.caches)
    )
    figure = blocks.Figure(
        drawn,
        "Measured speed over problem size, on a logarithmic axis. Line: median in CPU time. Band: without the outer "
        "tenths of the runs; those that other programs disturbed are left out. Dotted: size at which the data fill a "
        "cache. Hollow mark: not stable.",
    )
    table, noisy = _points(result.kernels), _noisy(result)
    stable = "Every point is stable: the 95 % interval of its median is as narrow as was asked for."
    unstable = f"{noisy} of {wording.counted(len(table.rows), 'point')} not stable: their medians are known less well."
    notes = [unstable if noisy else stable, *_calibrated(result.calibration)]
    said = tuple(blocks.Text(line, quiet=True) for line in notes)
    folded = blocks.Folded(f"All {len(table.rows)} measured points", (table,))
    return blocks.Section("speed", "Speed of each kernel", (blocks.SideBySide(figure, said), folded))


def _noisy(result: QuickstartResult) -> int:
    """Measured points that are not known as well as was asked for."""
    return sum(not point.stable for entry in result.kernels for point in entry.points)


def _calibrated(said: Calibration) -> list[str]:
    """How speeds together compare with those alone, and what real pieces of the application said of them."""
    lines = _neighbours(said.neighbours)
    if said.pieces:
        off = ", ".join(f"{one.pe} {wording.signed_percent(one.difference_percent)}" for one in said.pieces)
        lines.append(f"Real pieces of the application attained more (+) or less than the band says: {off}.")
    return lines


def _neighbours(said: NeighbourFacts) -> list[str]:
    """What PEs were seen to lose to each other."""
    if said.missing:
        return [f"What PEs lose to each other was not measured: {said.missing}."]
    if said.domains:
        kept, names = wording.percent(said.share_together, 1), ", ".join(said.domains)
        return [f"PEs slow each other down ({names}): {said.kernel} on all of them keeps {kept} of its speed alone."]
    seen = ", ".join(f"{level} {most:.1f} %" for level, most in said.beyond_percent.items() if most is not None)
    return [f"No PE was seen to slow another down by more than can be measured here: {seen}."] if seen else []


def _points(kernels: Sequence[KernelSpeeds]) -> blocks.Table:
    rows = [_point(entry, point) for entry in kernels for point in entry.points]
    return blocks.table(
        "Measured points: speed in Gflop/s at the middle of the band, and the band",
        ["kernel, PE", "n", "rows", "elements", "speed", "band", "95 % interval of the median", "runs", "stable"],
        rows,
    )


def _point(entry: KernelSpeeds, point: SpeedPoint) -> list[str]:
    low, mid, high = (wording.digits(speed / 1e9) for speed in (point.speed.low, point.speed.mid, point.speed.high))
    half = point.interval_percent
    return [
        f"{entry.name}, {entry.pe}",
        *map(wording.whole, (point.n, point.rows, point.size_elements)),
        mid,
        f"{low} to {high}",
        "too few runs" if half is None else f"+/- {half:.1f} %",
        str(len(point.wall_s)),
        "yes" if point.stable else "no",
    ]
