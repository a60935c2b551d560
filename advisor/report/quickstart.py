"""A quickstart on a page and on a terminal: measured, modelled, simulated, advised, verified."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from advisor import wording
from advisor.report.illustrated import RULES, Speed, Trace
from advisor.report.origin import head, machine_section, provenance_section
from advisor.report.picture import answer_picture, commands
from advisor.report.strategies import first_rows, strategies_section
from advisor.report.timelines import HEADING, Timeline, TooLong, timeline_section
from advisor.report.verdict import speeds_line, verdict
from advisor.report.verification import errors_of, first_measured, verification_section
from advisor.results import Compared, Provenance
from advisor.verification.check import VerifiedConfiguration
from simulator import Machine, Share, blocks, documents, intervals, plots

MOST_SPEEDS, MOST_COLUMNS = 12, 5
"""PEs, and sizes, in the tables of speeds of a page."""


@dataclass(frozen=True)
class SpeedPoint:
    """A measured size."""

    n: int | None
    rows: int | None
    size_elements: float | None
    speed: Speed
    interval_percent: float | None
    stable: bool | None
    wall_s: tuple[float, ...]

    @property
    def unstable(self) -> bool:
        """Whether its median is not known as well as was asked for."""
        return self.stable is False

    @property
    def panel(self) -> int:
        """Rows of its panel; all n where it does not say."""
        return (self.n or 0) if self.rows is None else self.rows


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
    trace: Trace | None
    predicted_share: float | None


@dataclass(frozen=True)
class PieceFacts:
    """What a real piece of the application attained beyond what the band says."""

    pe: str
    difference_percent: float | None


@dataclass(frozen=True)
class DomainFacts:
    """A sharing domain that was found."""

    kind: str


@dataclass(frozen=True)
class NeighbourFacts:
    """What PEs were seen to lose to each other."""

    missing: str
    domains: tuple[DomainFacts, ...]
    beyond_percent: Mapping[str, float | None]
    kernel: str
    share_together: float | None


@dataclass(frozen=True)
class Calibration:
    """How far speeds can be trusted."""

    pieces: tuple[PieceFacts, ...]
    neighbours: NeighbourFacts | None


@dataclass(frozen=True)
class Operation:
    """What one process did in the replication that was kept."""

    process: int
    pe: str
    operation: str
    start_s: float | None
    end_s: float | None


@dataclass(frozen=True)
class QuickstartResult:
    """What `apportion quickstart` answers."""

    command: str
    budget_s: float | None
    warnings: tuple[str, ...]
    machine: Machine | None
    kernels: tuple[KernelSpeeds, ...]
    calibration: Calibration | None
    load: MeasuredLoad | None
    link: Mapping[str, Any]
    timeline: tuple[Operation, ...]
    timelines: tuple[Timeline | TooLong, ...]
    verification: tuple[VerifiedConfiguration, ...]
    available_share: float | None
    seconds: Mapping[str, float] | None
    provenance: Provenance
    report: str
    scenario: str
    stated: Compared = field(metadata=documents.FLAT)
    shares: tuple[Share, ...] = ()
    """What each PE gets, and what it can do; results of older versions have none."""

    @property
    def compared(self) -> Compared:
        """The strategies, with the PE of each process."""
        known = self.stated.pes or tuple(dict.fromkeys(entry.pe for entry in self.kernels))
        named = {entry.process: entry.pe for entry in self.timeline}
        names = wording.pe_names(replace(self.stated, pes=known))
        return replace(self.stated, pes=tuple(named.get(place, name) for place, name in enumerate(names)))


def quickstart_page(result: QuickstartResult) -> blocks.Page:
    """Machine, speeds, load, one replication, strategies, real runs."""
    compared, machine = result.compared, result.machine
    took = "" if result.seconds is None else wording.took_text(result.seconds)
    return blocks.Page(
        title=wording.asked(compared.application),
        answer=wording.answer(compared),
        sections=(
            machine_section(machine, result.link),
            _speeds_section(result),
            _load_section(result),
            timeline_section(result.timelines, compared.application, otherwise=_recorded_section(result)),
            strategies_section(compared),
            verification_section(result.verification, compared.recommended, level=intervals.LEVEL),
            provenance_section(
                result.provenance,
                compared.drawn.seed,
                more={"Time taken": took, "Scenario": result.scenario, "This report": result.report},
            ),
        ),
        host=(machine.host if machine is not None else "") or "this machine",
        settings=_settings(result),
        key_figures=_key_figures(result),
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
    """Real runs again, and host files for launchers."""
    path = shlex.quote(result.scenario) if result.scenario else ""
    again = "" if result.load is not None and result.load.rule == "given" else path  # what others take does not repeat
    return commands(
        ("advised and equal split, really run again", again and f"apportion verify {path} --budget 60s"),
        ("host files and launch lines", path and f"apportion advise {path} -o out/advice"),
    )


def _verdict(result: QuickstartResult) -> str:
    """Whether it can be used, by how well the speeds of the application's kernel were measured."""
    compared = result.compared
    kernel = "" if compared.application is None else compared.application.kernel
    points = [point for entry in result.kernels if entry.name == kernel for point in entry.points]
    known = [point.interval_percent / 100 for point in points if point.interval_percent is not None and point.stable]
    noisy = sum(point.unstable for entry in result.kernels for point in entry.points)
    return verdict(
        result.warnings,
        known=max(known, default=None),
        loss=compared.expected_loss,
        off=errors_of(result.verification),
        noisy=noisy,
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
        "Load": _load_text(result) if result.load is not None else "",
    }


def _settings(result: QuickstartResult) -> str:
    seed = result.compared.drawn.seed
    parts = [] if result.budget_s is None else [f"budget {wording.duration(result.budget_s)}"]
    return ", ".join([*parts, *([] if seed is None else [f"seed {seed}"])])


def _key_figures(result: QuickstartResult) -> blocks.Pairs:
    """The few numbers that a reader looks for first."""
    compared, share = result.compared, result.available_share
    error = errors_of(result.verification)
    gains = {
        "measured gain over the equal split": compared.measured_gain,
        "most that is possible here": compared.largest_gain,
    }
    loaded = (result.load.pe if result.load is not None else "") or "the loaded PE"
    return blocks.pairs(
        {name: "" if gain is None else f"{wording.times(gain)} ×" for name, gain in gains.items()}
        | {f"of {loaded} left to us, measured": "" if share is None else wording.percent(share)}
        | {"largest error of a prediction": wording.percent(error, 1) if error is not None else ""}
    )


# Load


def _load_text(result: QuickstartResult) -> str:
    """What ran on a PE of ours, and what share of it that left."""
    load = result.load
    if load is None:
        return "none"
    known = (("predicted", load.predicted_share), ("measured", result.available_share))
    shares = [f"{wording.percent(value)} {what}" for what, value in known if value is not None]
    left = f"; share of it left to us: {', '.join(shares)}" if shares else ""
    return f"on {load.pe}, rule {load.rule}{left}"


def _load_section(result: QuickstartResult) -> blocks.Section:
    """The trace over time, and what it leaves us."""
    load = result.load
    drawn = None if load is None else plots.load(load.trace, rule=load.rule, pe=load.pe)
    if not drawn or load is None:
        return blocks.Section("load", "Background load", (blocks.Text("No background load was set."),))
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


# One replication


def _recorded_section(result: QuickstartResult) -> blocks.Section:
    """The operations that older versions kept of the recommended partition."""
    said = _recorded(result)
    drawn = plots.timeline(documents.to_dict(result.timeline))
    if not drawn:
        none = blocks.Text("No replication was kept.")
        return blocks.Section("timeline", HEADING, (none, said) if said.rows else (none,))
    caption = "Simulated run of the recommended partition. Gaps: waiting. Dotted: the makespan."
    return blocks.Section("timeline", HEADING, (blocks.SideBySide(blocks.Figure(drawn, caption), (said,)),))


def _recorded(result: QuickstartResult) -> blocks.Table:
    """What each process gets under the recommended partition, and does in the replication that was kept."""
    compared = result.compared
    partition = () if compared.best is None else compared.best.partition
    done: dict[int, list[tuple[str, float, float]]] = {process: [] for process in range(len(partition))}
    for one in result.timeline:
        if one.start_s is not None and one.end_s is not None:
            done.setdefault(one.process, []).append((one.operation, one.start_s, one.end_s))
    names = dict(enumerate(compared.pes)) | {one.process: one.pe for one in result.timeline}
    alone = len(set(names.values())) == len(names)
    rows = []
    for process, own in sorted(done.items()):
        name = names.get(process, "") if alone else f"{names.get(process, '')}, process {process}"
        units = str(partition[process]) if process < len(partition) else wording.NOTHING
        spent: list[float | None] = [
            float(sum(end - start for operation, start, end in own if (operation == "compute") is computing))
            for computing in (True, False)
        ]
        spent.append(max((end for _, _, end in own), default=None))
        rows.append([name, units, *map(wording.duration, spent if own else (None, None, None))])
    head_ = ["PE", wording.unit_of(compared.application), "computing", "in messages", "done at"]
    return blocks.table("What each process gets and does", head_, rows)


# Speeds


def _speeds_section(result: QuickstartResult) -> blocks.Section:
    """Speed bands as a figure, short tables and all measured points."""
    machine = result.machine
    caches = documents.to_dict(machine.caches) if machine is not None else ()
    drawn = plots.kernels(_curves(result.kernels), caches=caches)
    if not drawn:
        return blocks.Section("speed", "Speed of each kernel", (blocks.Text("No speed was measured."),))
    figure = blocks.Figure(
        drawn,
        "Measured speed over problem size, on a logarithmic axis. Line: median in CPU time, as in the tables. Band: "
        "without the outer tenths of the runs; those that other programs disturbed are left out. Dotted: size at "
        "which the data fill a cache. Hollow mark: not stable.",
    )
    unstable = unstable_text(result.kernels)
    stable = "Every point is stable: the 95 % interval of its median is as narrow as was asked for."
    notes = [f"* {unstable}." if unstable else stable, *_calibrated(result.calibration)]
    tables = [
        blocks.table(f"{kernel}, Gflop/s", ["PE", *sizes], rows[:MOST_SPEEDS])
        for kernel, sizes, rows in speed_tables(result.kernels, columns=MOST_COLUMNS)
    ]
    points = _points(result.kernels)
    folded = blocks.Folded(f"All {len(points.rows)} measured points", (points,))
    right: list[blocks.Block] = [*tables, *(blocks.Text(line, quiet=True) for line in notes)]
    return blocks.Section("speed", "Speed of each kernel", (blocks.SideBySide(figure, tuple(right)), folded))


def _curves(kernels: Sequence[KernelSpeeds]) -> list[dict[str, Any]]:
    """What the figure takes: a point that does not say so is stable."""
    return [
        {
            **documents.to_dict(entry),
            "points": [{**documents.to_dict(one), "stable": not one.unstable} for one in entry.points],
        }
        for entry in kernels
    ]


Shape = tuple[int, int | None]
"""Columns and rows of a panel; no rows: whatever there are."""


def speed_tables(kernels: Sequence[KernelSpeeds], *, columns: int) -> list[tuple[str, list[str], list[list[str]]]]:
    """Speeds in Gflop/s by kernel: its name, the header, and a row per PE; `*` marks what is not stable.

    Panels of several numbers of rows have a table of their own. Sizes beyond so many columns are left out evenly, the
    smallest and the largest stay.
    """
    tables = []
    for kernel in dict.fromkeys(entry.name for entry in kernels):
        entries = [entry for entry in kernels if entry.name == kernel and entry.points]
        shapes = {(point.n, point.panel) for one in entries for point in one.points if point.n is not None}
        several = {n for n, _ in shapes if len({rows for other, rows in shapes if other == n}) > 1}
        general: dict[int, Shape] = {n: (n, None) for n, _ in shapes if n not in several}
        tables += _speed_table(kernel, entries, general, columns)
        for n in sorted(several):
            named: dict[int, Shape] = {rows: (n, rows) for other, rows in shapes if other == n}
            tables += _speed_table(f"{kernel} on rows of {n} columns", entries, named, columns, noun="rows")
    return tables


def _speed_table(
    title: str, entries: Sequence[KernelSpeeds], shapes: Mapping[int, Shape], columns: int, *, noun: str = "n"
) -> list[tuple[str, list[str], list[list[str]]]]:
    """The table of some shapes, by what heads their columns; none without any."""
    sizes = sorted(shapes)
    if not sizes:
        return []
    if len(sizes) > columns:
        sizes = [sizes[round(index * (len(sizes) - 1) / (columns - 1))] for index in range(columns)]
    rows = [[entry.pe, *(_speed_cell(entry, *shapes[size]) for size in sizes)] for entry in entries]
    return [(title, [f"{noun} = {sizes[0]}", *map(str, sizes[1:])], rows)]


def _speed_cell(entry: KernelSpeeds, n: int, rows: int | None) -> str:
    found = (point for point in entry.points if point.n == n and rows in (None, point.panel))
    point = next(found, None)
    if point is None or point.speed.mid is None:
        return wording.NOTHING
    return wording.digits(point.speed.mid / 1e9) + (" *" if point.unstable else "")


def unstable_text(kernels: Sequence[KernelSpeeds]) -> str:
    """How many points have a median that is not known as well as was asked for, and how well it is known."""
    points = [point for entry in kernels for point in entry.points]
    unstable = [point for point in points if point.unstable]
    if not unstable:
        return ""
    halves = sorted(point.interval_percent for point in unstable if point.interval_percent is not None)
    known = "too few runs"
    if halves:
        least = "" if halves[0] == halves[-1] else f"{halves[0]:.1f} to "
        known = f"95 % interval of the median +/- {least}{halves[-1]:.1f} %"
    return f"not stable: {len(unstable)} of {wording.counted(len(points), 'point')}, {known}"


def _calibrated(said: Calibration | None) -> list[str]:
    """How speeds together compare with those alone, and what real pieces of the application said of them."""
    if said is None:
        return []
    lines = [] if said.neighbours is None else _neighbours(said.neighbours)
    if said.pieces:
        off = ", ".join(f"{one.pe} {wording.signed_percent(one.difference_percent)}" for one in said.pieces)
        lines.append(f"Real pieces of the application attained more (+) or less than the band says: {off}.")
    return lines


def _neighbours(said: NeighbourFacts) -> list[str]:
    """What PEs were seen to lose to each other."""
    if said.missing:
        return [f"What PEs lose to each other was not measured: {said.missing}."]
    if said.domains:
        names = ", ".join(sorted({one.kind for one in said.domains}))
        kept = wording.percent(said.share_together, 1)
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
    speed = (point.speed.low, point.speed.mid, point.speed.high)
    low, mid, high = (wording.digits(None if one is None else one / 1e9) for one in speed)
    half = point.interval_percent
    return [
        f"{entry.name}, {entry.pe}",
        *map(wording.whole, (point.n, point.rows, point.size_elements)),
        mid,
        f"{low} to {high}",
        "too few runs" if half is None else f"+/- {half:.1f} %",
        str(len(point.wall_s)),
        "no" if point.unstable else "yes",
    ]
