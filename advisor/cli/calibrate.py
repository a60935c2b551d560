"""`apportion calibrate speed`: speed bands by real runs or recorded tables."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli.declared import Only, is_given, only_with, only_without, option
from advisor.cli.inputs import INPUT
from advisor.cli.models import speed_blocks
from advisor.cli.options import (
    LENGTH,
    REAL,
    PinnedTo,
    file,
    offered,
    partial_of,
    read_budget,
    read_number,
    read_share,
)
from advisor.cli.outputs import finish
from simulator import calibration, documents, files, models, units

if TYPE_CHECKING:
    from simulator.calibration.bands import BuiltBand, CutRule, Source


LEAST_S, ENDING_S = 3.0, 0.3
"""Least budget for a kernel of ours, and what a band takes once its points are measured."""
TIME_CAP_S = 10.0
"""Longest predicted single run at b where neither cap nor budget is stated."""

ADAPTIVE = only_with("method", "adaptive")
SIZED = Only(
    ("with --command or --replay",),
    lambda given: "with --kernel" if is_given(given["kernel"]) else None,
    "which knows its sizes itself",
)


@dataclass(frozen=True)
class Subject:
    """What is measured: a kernel of ours, a command line, or a recorded table."""

    kernel: str | None = option("A kernel of ours that is really run, such as dgemm.")
    command: str | None = option("A command line to run; {n} stands for its parameter.")
    size: str | None = option("Elements stored and processed, such as 3*n**2.", SIZED)
    volume: str | None = option("Volume of computation, such as 2*n**3.", SIZED)
    replay: Path | None = option(
        "A table size_elements,volume,cpu_s[,wall_s] instead (rows of one size are repetitions; with columns pe[,at_s] "
        "of PEs that run at once), one kernel,rows,columns,kernel_s (or time_s) of a GPU or core, one n,GFLOPS with "
        "--size and --volume, or points kept by --store.",
        metavar="SIZES.csv",
        **INPUT,
    )
    only: str | None = option(
        "Rows of the table that count, such as kernel=gemm,pinned=1.", only_with("replay"), metavar="NAME=VALUE,..."
    )
    columns: int | None = option(
        "dgemm, matmul, stencil: measure panels of so many columns, over their rows, as an application of that n.",
        only_with("kernel"),
        min=1,
    )
    depth: int | None = option(
        "With --columns, dgemm or matmul: add products of panels so deep, as matmul_2d does.",
        only_with("kernel"),
        min=1,
    )
    device: str | None = option(
        "The GPU that it runs on, such as gpu0: kernels by CuPy (pip install 'apportion[gpu]'), without what moves; "
        "commands see that GPU alone and have its number for {device}.",
        only_without("replay"),
        metavar="GPU",
    )
    together: bool = option("Run it on all cores at once, as a parallel run does, not alone.", only_with("kernel"))

    @property
    def table(self) -> "calibration.ReplaySource | None":
        """What was recorded, if that is the subject."""
        sizes: Any = {"size": self.size, "volume": self.volume, "only": self.only}
        return None if self.replay is None else calibration.read_replay(self.replay, **sizes)


@dataclass(frozen=True)
class Points:
    """Which points are measured, and for how long."""

    method: str | None = option(
        "adaptive, gbbp or grid (20 equidistant sizes). By default adaptive; of a table all rows.",
        autocompletion=offered("adaptive", "gbbp", "grid"),
    )
    accuracy: str | None = option("Mean error asked for, by default 5%.", ADAPTIVE)
    budget: str | None = option("Time that may be spent on finding a and b and on runs, such as 120s.")
    verify_largest: bool = option("Measure b in the place of trusting the trend.", ADAPTIVE)

    @property
    def chosen(self) -> str | None:
        """The method named, or asked for by what only one that chooses its points can keep; None: none of them."""
        chooses = self.accuracy is not None or self.budget is not None or self.verify_largest
        return self.method or ("adaptive" if chooses else None)


@dataclass(frozen=True)
class Runs:
    """How points are really run, and where they are kept."""

    max_size: str | None = option("Largest problem size b, in elements.")
    time_cap: str | None = option(
        "Longest predicted single run at b; by default 10s, or a tenth of a smaller budget.", REAL
    )
    cpu: Annotated[PinnedTo, REAL] = None
    store: Path | None = option(
        "Keep every finished point here for good, a line each; by default in MODEL.json.partial until done.",
        REAL,
        metavar="POINTS.json",
    )


@dataclass(frozen=True)
class Cuts:
    """What the band holds at a size: a stated width, or what a recorded load leaves."""

    band: str | None = option("Half width of a cut; replay: 5%, real runs: as measured.")
    load: Path | None = option("Recorded load that the cuts predict.", metavar="T.csv", **INPUT)
    column: str | None = option(
        "Column to read, such as busy_cpu1; by default load.", only_with("load"), metavar="NAME"
    )
    window: Annotated[str | None, LENGTH, only_with("load")] = None
    history: str | None = option("Latest samples that count, or a duration.", only_with("load"))
    availability: str = option("idle (we take idle cycles only) or fair.", only_with("load"), default="idle")


def speed(
    subject: Subject, points: Points, runs: Runs, cuts: Cuts, output: Path | None = file("MODEL.json", "the model")
) -> None:
    """Build the speed band of a PE: few points, the rest by straight lines, and what that takes for granted.

    Every finished point is on disk at once. Interrupted or killed, the same command goes on where it was; once it has
    written its model, it measures again.

    Example: apportion calibrate speed --replay sizes.csv --method gbbp -o model.json
    """
    from simulator.calibration.bands import check_build

    replayed, seconds = subject.replay is not None, _budget_s(points.budget, subject)
    named = f"calibrate-{files.digest((subject.kernel or subject.command or '').encode())[:8]}"
    store = None if replayed else runs.store or partial_of(output, named)
    accuracy = read_share(points.accuracy or "5%", "--accuracy")
    check_build(points.method or "adaptive", accuracy)
    fit = partial(
        calibration.fit_speed,
        rule=_rule(cuts, subject.table),
        accuracy=accuracy,
        inputs=[path for path in (subject.replay, cuts.load) if path is not None],
        method=points.chosen,
        budget_s=seconds,
        verify_largest=points.verify_largest,
    )
    # of a command, what verifications taught is known by the name of its model's file
    model = "" if subject.kernel is not None or output is None else output.name
    with nullcontext() if store is None else calibration.kept(store):
        source = _source(subject, runs, seconds, store)
        built, drift = _built(source, fit, None if replayed else calibration.widening(subject.kernel, model=model))
    document = built.to_dict() | {"band": built.band.to_dict()}
    document |= {} if drift is None else {"drift": documents.to_dict(drift)}
    shown = speed_blocks(document, built.band, *_more(built, store, drift))
    finish(document, shown, output, write=partial(calibration.save_speed_model, built))
    if store is not None and runs.store is None:
        files.remove(store)


def _more(built: "BuiltBand", store: Path | None, drift: "calibration.Drift | None") -> list[str]:
    """What only the measuring knows."""
    found, learnt = [f"  {step}" for step in built.steps], calibration.learnt_in(built.band.doubt)
    if reused := built.provenance["points_reused"]:
        found.append(f"{reused} of them were finished before and not measured again ({store})")
    if built.table_error is not None:
        found.append(f"against the table: {built.table_error}")
    if drift is not None and drift.pairs:
        found.append(f"drift: {drift.sd:.1%}, learnt from {drift.pairs + 1} calibrations of this machine")
    if learnt > 1:
        found.append(f"doubt widened by {learnt:.2f}: stated intervals held too seldom, see `apportion lab history`")
    return found


def _built(
    source: "Source", fit: "partial[BuiltBand]", learnt: float | None
) -> "tuple[BuiltBand, calibration.Drift | None]":
    """The band; of real runs, which have a learnt factor, with the drift of earlier ones, and kept for later ones."""
    if learnt is None:
        return fit(source), None
    drift = calibration.drift_of(source)
    built = fit(source, drift=drift.sd, learnt=learnt)
    calibration.keep_speeds(built)
    return built, drift


def _budget_s(text: str | None, subject: Subject) -> float | None:
    """What the budget leaves for points; that of a replay is spent in recorded times, of any length, and whole."""
    if text is None:
        return None
    if subject.replay is not None:
        return units.parse_duration(text, field="--budget")
    return read_budget(text, least_s=0.0 if subject.kernel is None else LEAST_S, ending_s=ENDING_S)


def _time_cap_s(text: str | None, budget_s: float | None) -> float:
    """The cap asked for, or one that leaves a budget room for about ten of the dearest points."""
    if text is not None:
        return units.parse_duration(text, field="--time-cap")
    return TIME_CAP_S if budget_s is None else min(TIME_CAP_S, budget_s / 10)


def _source(subject: Subject, runs: Runs, budget_s: float | None, store: Path | None) -> "Source":
    """The one source that was asked for."""
    given = [f"--{name}" for name in ("kernel", "command", "replay") if getattr(subject, name) is not None]
    if len(given) != 1:
        raise typer.BadParameter(
            f"the subject is {', '.join(given) or 'missing'}; give one of --kernel, --command, --replay"
        )
    max_size = None if runs.max_size is None else read_number(runs.max_size, "--max-size")
    time_cap_s = _time_cap_s(runs.time_cap, budget_s)
    if (table := subject.table) is not None:
        return table if max_size is None else table.up_to(max_size)
    cpu = simulator.this_machine().cores[-1].cpu if runs.cpu is None else runs.cpu
    options: Any = {"max_size": max_size, "time_cap_s": time_cap_s, "cpu": cpu, "store": store}
    if subject.kernel is not None:
        names = ("columns", "depth", "together", "device")
        shape: Any = {name: getattr(subject, name) for name in names}
        return calibration.RealSource.of_kernel(subject.kernel, **options, **shape)
    if subject.command is None or subject.size is None or subject.volume is None:
        raise typer.BadParameter("--command needs --size and --volume; give both")
    sized: Any = {"size": subject.size, "volume": subject.volume, "device": subject.device}
    return calibration.RealSource.of_command(subject.command, **sized, **options)


def _rule(cuts: Cuts, table: "calibration.ReplaySource | None") -> "CutRule":
    """What cuts hold; a table whose sizes ran once shows nothing of how runs scatter."""
    from simulator.calibration.bands import CutRule

    once = cuts.load is None and table is not None and not table.repeats
    text, load = cuts.band or ("5%" if once else None), cuts.load
    half = None if text is None else read_share(text, "--band")
    if load is None:
        return CutRule(band=half)
    if cuts.window is None:
        raise typer.BadParameter("--load needs --window; give it")
    from simulator.load_traces import in_samples, read_table

    trace, real = simulator.read_trace(load, column=cuts.column), table is None
    busy = [name for name in read_table(load).columns if name.startswith("busy_cpu")] if real else []
    if busy and cuts.column is None:
        about = f"{load}: load counts the whole machine, --column {busy[-1]} that processor alone"
        print(f"warning: {about}", file=sys.stderr)
    step_s = models.regular_step(trace)
    width = in_samples(cuts.window, step_s, field="--window")
    length = None if cuts.history is None else in_samples(cuts.history, step_s, field="--history")
    return CutRule.under_load(trace, window=width, history=length, availability=cuts.availability, band=half)
