"""`apportion calibrate speed | load-check | resource`: speed bands, their test under load, what operations cost."""

import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli.declared import only_with, only_without
from advisor.cli.options import (
    LENGTH,
    Json,
    PinnedTo,
    Seed,
    file,
    folder,
    offered,
    print_answers,
    print_json,
    print_warnings,
    read_budget,
    read_number,
    read_share,
)
from advisor.cli.outputs import finish, nothing_lost
from advisor.cli.progress import timed_work
from advisor.cli.scenarios import INPUT
from simulator import calibration, characterisation, files, models, units

if TYPE_CHECKING:
    from advisor.verification.load_band import LoadBandCheck
    from simulator.calibration.bands import BuiltBand, CutRule, Source


LEAST_S, ENDING_S = 3.0, 0.3
"""Least budget for a kernel of ours, and what a band takes once its points are measured."""
TIME_CAP_S = 10.0
"""Longest predicted single run at b where neither cap nor budget is stated."""

REAL = only_without("replay", why="where nothing is run")
ADAPTIVE = only_with("method", "adaptive")
Kernel = Annotated[str | None, typer.Option(help="A kernel of ours that is really run, such as dgemm.")]
Command = Annotated[str | None, typer.Option(help="A command line to run; {n} stands for its parameter.")]
Size = Annotated[str | None, typer.Option(help="Elements stored and processed, such as 3*n**2."), only_with("command")]
Volume = Annotated[str | None, typer.Option(help="Volume of computation, such as 2*n**3."), only_with("command")]
Replay = Annotated[
    Path | None,
    typer.Option(
        metavar="SIZES.csv",
        help="A table size_elements,volume,cpu_s[,wall_s] instead (rows of one size are repetitions), or points kept "
        "by --store.",
        **INPUT,
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="adaptive, gbbp or grid (20 equidistant sizes).", autocompletion=offered("adaptive", "gbbp", "grid")
    ),
]
Accuracy = Annotated[str, typer.Option(help="Mean error asked for."), ADAPTIVE]
Band = Annotated[str | None, typer.Option(help="Half width of a cut; replay: 5%, real runs: as measured.")]
Budget = Annotated[
    str | None, typer.Option(help="Time that may be spent on finding a and b and on runs, such as 120s.")
]
VerifyLargest = Annotated[
    bool,
    typer.Option("--verify-largest", help="Measure b in the place of trusting the trend."),
    ADAPTIVE,
]
MaxSize = Annotated[str | None, typer.Option(help="Largest problem size b, in elements.")]
TimeCap = Annotated[
    str | None,
    typer.Option(help="Longest predicted single run at b; by default 10s, or a tenth of a smaller budget."),
    REAL,
]
Cpu = Annotated[PinnedTo, REAL]
Columns = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="dgemm, matmul, stencil: measure panels of so many columns, over their rows, as an application of that n.",
    ),
    only_with("kernel"),
]
Depth = Annotated[
    int | None,
    typer.Option(min=1, help="With --columns, dgemm or matmul: add products of panels so deep, as matmul_2d does."),
    only_with("kernel"),
]
Together = Annotated[
    bool,
    typer.Option("--together", help="Run it on all cores at once, as a parallel run does, not alone."),
    only_with("kernel"),
]
Store = Annotated[
    Path | None,
    typer.Option(
        metavar="POINTS.json",
        help="Keep every finished point here for good, a line each; by default in MODEL.json.partial until done.",
    ),
    REAL,
]
Load = Annotated[Path | None, typer.Option(metavar="T.csv", help="Recorded load that the cuts predict.", **INPUT)]
Column = Annotated[
    str | None,
    typer.Option(help="Column to read, such as busy_cpu1; by default load.", metavar="NAME"),
    only_with("load"),
]
Window = Annotated[str | None, LENGTH, only_with("load")]
History = Annotated[str | None, typer.Option(help="Latest samples that count, or a duration."), only_with("load")]
Availability = Annotated[str, typer.Option(help="idle (we take idle cycles only) or fair."), only_with("load")]
Output = Annotated[Path | None, file("MODEL.json", "the model")]


def speed(  # noqa: PLR0913, PLR0917 - one per option
    kernel: Kernel = None,
    command: Command = None,
    size: Size = None,
    volume: Volume = None,
    replay: Replay = None,
    method: Method = "adaptive",
    accuracy: Accuracy = "5%",
    band: Band = None,
    budget: Budget = None,
    verify_largest: VerifyLargest = False,
    max_size: MaxSize = None,
    time_cap: TimeCap = None,
    cpu: Cpu = None,
    columns: Columns = None,
    depth: Depth = None,
    together: Together = False,
    store: Store = None,
    load: Load = None,
    column: Column = None,
    window: Window = None,
    history: History = None,
    availability: Availability = "idle",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Build the speed band of a PE: few points, the rest by straight lines, and what that takes for granted.

    Every finished point is on disk at once. Interrupted or killed, the same command goes on where it was; once it has
    written its model, it measures again.

    Example: apportion calibrate speed --replay sizes.csv --method gbbp -o model.json
    """
    seconds = None if budget is None else _budget_s(budget, kernel=kernel, replay=replay)
    options: dict[str, Any] = {
        "max_size": None if max_size is None else read_number(max_size, "--max-size"),
        "time_cap_s": _time_cap_s(time_cap, seconds),
        "cpu": cpu,
        "store": None if replay is not None else _points_file(store, output, kernel or command or ""),
    }
    half = band or ("5%" if _ran_once(replay) and load is None else None)
    asked: dict[str, Any] = {
        "rule": _rule(half, (load, column), (window, history), availability, real=replay is None),
        "accuracy": _accuracy(accuracy, method),
        "inputs": [path for path in (replay, load) if path is not None],
    }
    shape = {"columns": columns, "depth": depth, "together": together}
    with calibration.kept(options["store"]) if replay is None else nullcontext():
        source = _source(kernel, command, replay, size=size, volume=volume, options=options, shape=shape)
        asked |= {"method": method, "budget_s": seconds, "verify_largest": verify_largest}
        built, drift = _built(source, asked, None if replay is not None else _learnt(kernel, output))
    write = None if output is None else partial(calibration.save_speed_model, built, output)
    document = built.to_dict() | {"command": "calibrate speed", "band": built.band.to_dict()}
    document |= {} if drift is None else {"drift": drift.to_dict()}
    tell = partial(_tell, built, options["store"], drift)
    finish(document, tell, as_json=as_json, write=write, said=f"model written to {output}")
    if options["store"] is not None and store is None:
        files.remove(options["store"])


def _built(
    source: "Source", asked: dict[str, Any], learnt: float | None
) -> "tuple[BuiltBand, calibration.Drift | None]":
    """The band; of real runs, which have a learnt factor, with the drift of earlier ones, and kept for later ones."""
    if learnt is None:
        return calibration.fit_speed(source, **asked), None
    drift = calibration.drift_of(source)
    built = calibration.fit_speed(source, drift=drift.sd, learnt=learnt, **asked)
    calibration.keep_speeds(built)
    return built, drift


def _learnt(kernel: str | None, output: Path | None) -> float:
    """The factor that verifications taught: of a kernel, or of a command by the name of its model's file."""
    return calibration.widening(kernel, model="" if kernel is not None or output is None else output.name)


def _ran_once(replay: Path | None) -> bool:
    """Whether a recorded table shows nothing of how runs scatter."""
    return replay is not None and not calibration.read_replay(replay).repeats


def _accuracy(text: str, method: str) -> float:
    """The accuracy asked for, and a method that there is: before a real run is begun."""
    from simulator.calibration.bands import check_build

    accuracy = read_share(text, "--accuracy")
    check_build(method, accuracy)
    return accuracy


def _budget_s(text: str, *, kernel: str | None, replay: Path | None) -> float:
    """What the budget leaves for points; that of a replay is spent in recorded times, of any length, and whole."""
    if replay is not None:
        return units.parse_duration(text, field="--budget")
    return read_budget(text, least_s=0.0 if kernel is None else LEAST_S, ending_s=ENDING_S)


def _time_cap_s(text: str | None, budget_s: float | None) -> float:
    """The cap asked for, or one that leaves a budget room for about ten of the dearest points."""
    if text is not None:
        return units.parse_duration(text, field="--time-cap")
    return TIME_CAP_S if budget_s is None else min(TIME_CAP_S, budget_s / 10)


def _points_file(store: Path | None, output: Path | None, subject: str) -> Path:
    """Where finished points are kept: as asked, next to the model, or in this folder."""
    if store is not None:
        return store
    if output is not None:
        return output.with_name(f"{output.name}.partial")
    return Path(f"calibrate-{files.digest(subject.encode())[:8]}.partial")


def _source(
    kernel: str | None,
    command: str | None,
    replay: Path | None,
    *,
    size: str | None,
    volume: str | None,
    options: dict[str, Any],
    shape: dict[str, Any],
) -> "Source":
    """The one source that was asked for."""
    given = [
        name
        for name, value in (("--kernel", kernel), ("--command", command), ("--replay", replay))
        if value is not None
    ]
    if len(given) != 1:
        raise typer.BadParameter(
            f"the subject is {', '.join(given) or 'missing'}; give one of --kernel, --command, --replay"
        )
    if replay is not None:
        table = calibration.read_replay(replay)
        return table if options["max_size"] is None else table.up_to(options["max_size"])
    if options["cpu"] is None:
        options["cpu"] = simulator.this_machine().cores[-1].cpu

    if kernel is not None:
        return calibration.RealSource.of_kernel(kernel, **options, **shape)
    if command is None or size is None or volume is None:
        raise typer.BadParameter("--command needs --size and --volume; give both")
    return calibration.RealSource.of_command(command, size=size, volume=volume, **options)


def _rule(
    band: str | None,
    recorded: tuple[Path | None, str | None],
    lengths: tuple[str | None, str | None],
    availability: str,
    *,
    real: bool,
) -> "CutRule":
    from simulator.calibration.bands import CutRule

    half = None if band is None else read_share(band, "--band")
    (load, column), (window, history) = recorded, lengths
    if load is None:
        return CutRule(band=half)
    if window is None:
        raise typer.BadParameter("--load needs --window; give it")
    from simulator.load_traces import in_samples, read_table

    trace = simulator.read_trace(load, column=column)
    if real and column is None and (own := [name for name in read_table(load).columns if name.startswith("busy_cpu")]):
        about = f"{load}: load counts the whole machine, --column {own[-1]} that processor alone"
        print(f"warning: {about}", file=sys.stderr)
    step_s = models.regular_step(trace)
    width = in_samples(window, step_s, field="--window")
    length = None if history is None else in_samples(history, step_s, field="--history")
    return CutRule.under_load(
        trace, window=width, history=length, availability=availability, band=half, outer_spread=real
    )


def _tell(built: "BuiltBand", store: Path | None, drift: "calibration.Drift | None") -> None:
    ends = f", {units.show_duration(built.ends_s)} to find a and b" if built.ends_s else ""
    print(f"{built.method}: {len(built.points)} points in {units.show_duration(built.experimental_s)} of runs{ends}")
    if reused := built.provenance["points_reused"]:
        print(f"{reused} of them were finished before and not measured again ({store})")
    print("\n".join(f"  {step}" for step in built.steps))
    print(built.largest_reason)
    if built.expected_error is not None:
        print(
            f"expected error: {built.expected_error['mean']:.1%} on average, {built.expected_error['max']:.1%} at most"
        )
    if built.table_error is not None:
        print(f"against the table: {built.table_error}")
    print(models.noise_and_doubt(built.band.doubt, built.band.noise, sizes=built.band.sizes))
    if drift is not None and drift.pairs:
        print(f"drift: {drift.sd:.1%}, learnt from {drift.pairs + 1} calibrations of this machine")
    if (learnt := calibration.learnt_in(built.band.doubt)) > 1:
        print(f"doubt widened by {learnt:.2f}: stated intervals held too seldom, see `apportion history coverage`")
    for line in built.incomplete:
        print(f"incomplete: {line}")
    for line in built.assumptions:
        print(f"assumed: {line}")
    print_answers((check.assumption, check.holds) for check in built.shape)
    print_warnings([line for line in built.warnings if line not in built.incomplete])
    print(_verdict(built))


def _verdict(built: "BuiltBand") -> str:
    """Whether the band is usable: by its doubt, which a band of a stated width has not."""
    from advisor import wording

    band, lacking = built.band, ""
    error = None if band.doubt is None else float((band.doubt.at(band.sizes) ** 2).mean() ** 0.5)
    if built.incomplete:
        lacking = f"the budget ended it at {max(point.size for point in built.points):.3g} elements"
    elif built.assumptions_violated:
        lacking = f"{len(built.assumptions_violated)} of its assumptions do not hold, see the warnings"
    return wording.verdict(wording.SPEEDS, error, by="doubt", lacking=lacking)


# `apportion calibrate load-check`: whether a band predicted from recorded load holds what really happens under it.


def load_check(  # noqa: PLR0913, PLR0917 - one per option
    kernel: Annotated[str, typer.Option(help="A kernel of ours that is really run.")] = "dgemm",
    load: Annotated[str, typer.Option(help="Share of the time for which a competitor is there.")] = "40%",
    period: Annotated[str, typer.Option(help="One time on and off of the competitor.")] = "1s",
    interval: Annotated[str, typer.Option(help="Of the recording of its load.")] = "100ms",
    history: Annotated[str, typer.Option(help="How long its load is recorded; all of it counts.")] = "60s",
    durations: Annotated[
        str, typer.Option(help="Times that runs take on an idle PE; the sizes follow.")
    ] = "100ms,500ms,2s",
    runs: Annotated[int, typer.Option(min=1, help="Fresh runs of each size.")] = 30,
    cpu: Annotated[int | None, typer.Option(min=0, help="Processor to share; by default the last core.")] = None,
    output: Annotated[Path | None, folder("recording, band and check")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Put load bands to the test: a known competitor on one core, its load recorded, and fresh runs against it.

    The band must hold 90 % of the wall-clock speeds at every size; if they show otherwise, the exit code is 1.

    Example: apportion calibrate load-check --kernel dgemm --load 40% -o check
    """
    from advisor.verification.load_band import LoadBandPlan, check_load_band

    plan = LoadBandPlan(
        kernel=kernel,
        cpu=simulator.this_machine().cores[-1].cpu if cpu is None else cpu,
        load=read_share(load, "--load"),
        period_s=units.parse_duration(period, field="--period"),
        interval_s=units.parse_duration(interval, field="--interval"),
        history_s=units.parse_duration(history, field="--history"),
        durations_s=tuple(units.parse_duration(text, field="--durations") for text in durations.split(",")),
        runs=runs,
        seed=seed,
    )
    if output is not None:
        files.make_folder(output)
    with tempfile.TemporaryDirectory() as scratch, files.alone(output or Path(scratch)):
        done = check_load_band(plan, output or Path(scratch), lambda text: print(text, file=sys.stderr))
    document = done.to_dict() | {"command": "calibrate load-check"}

    def tell() -> None:
        if as_json:
            print_json(document)
        else:
            _tell_check(done)

    with nothing_lost(document, tell):
        if output is not None:
            files.write_json(output / "check.json", done.to_dict())
    tell()
    if not done.held:
        raise typer.Exit(1)


def _tell_check(done: "LoadBandCheck") -> None:
    plan = done.plan
    print(
        f"{plan.kernel} on processor {plan.cpu} against a competitor of {plan.load:.0%} on and off every "
        f"{plan.period_s:g} s; recorded: {done.recorded_load:.1%}"
    )
    print(f"{'elements':>12}{'idle run':>12}{'low':>12}{'mean':>12}{'high':>12}{'width':>8}{'inside':>9}")
    for size in done.sizes:
        print(
            f"{size.size_elements:>12.6g}{size.ideal_s:>10.3g} s{size.low:>12.4g}{size.mid:>12.4g}{size.high:>12.4g}"
            f"{size.relative_width:>8.0%}{size.inside:>5} / {len(size.speeds)}"
        )
    low, high = done.share_interval
    print(
        f"{done.share_inside:.0%} of the fresh speeds lie in the band (90 % interval {low:.0%} to {high:.0%}); its "
        f"mean relative width is {done.mean_relative_width:.0%}"
    )
    print_warnings(done.warnings)


# `apportion calibrate resource`: what operations cost on a PE of this machine, by every method.


RESOURCE_BUDGET = "60s"
LEAST_BUDGET_S, RESOURCE_ENDING_S = 10.0, 1.0
ResourceBudget = Annotated[
    str, typer.Option(help="About how long it may take; what it did not come to is done by the next call.")
]
Memory = Annotated[
    Path | None,
    typer.Option(metavar="MODEL.json", help="Model of `calibrate memory` for the memory term, in place of a sweep."),
]
ResourceOutput = Annotated[
    Path | None,
    file("HARDWARE.json", "the costs; by default in this user's cache"),
]


def resource(
    output: ResourceOutput = None,
    budget: ResourceBudget = RESOURCE_BUDGET,
    memory: Memory = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Calibrate cost vectors: micro-benchmarks per source construct, fits for intermediate and machine code, flop rate.

    About a hundred small programs are compiled, counted and timed in turns. Counts and times are kept next to the
    model, so that the same command goes on where an earlier one ended.

    Example: apportion calibrate resource -o hardware.json --budget 2min
    """
    model, path = calibrated(output, budget=budget, memory=memory, seed=seed)
    if as_json:
        document = model.to_dict()
        document["provenance"] = {name: value for name, value in document["provenance"].items() if name != "runs"}
        print_json(document | {"command": "calibrate resource", "file": str(path)})
        return
    _tell_resource(model)
    print(f"model written to {path}")


def calibrated(
    output: Path | None, *, budget: str, memory: Path | None, seed: int
) -> tuple["models.HardwareModel", Path]:
    """Calibrate with progress on standard error, and write the model; the model and where it is."""
    budget_s = read_budget(budget, least_s=LEAST_BUDGET_S, ending_s=RESOURCE_ENDING_S)
    times = (
        None
        if memory is None
        else characterisation.times_of_model(calibration.load_memory_model(memory)[0], str(memory))
    )
    path = output or characterisation.kept_here()
    files.check_room(path, folder=False)
    with timed_work(budget_s, "calibration") as on_progress:
        model = characterisation.calibrate_resource(
            budget_s=budget_s,
            seed=seed,
            store=characterisation.runs_beside(output),
            memory=times,
            on_progress=on_progress,
        )
    with nothing_lost(model.to_dict(), lambda: _tell_resource(model)):
        calibration.save_resource_model(model, path)
    return model, path


def _tell_resource(model: "models.HardwareModel") -> None:
    rests_on = model.provenance
    print(model.name)
    for method in model.methods:
        vector = model.vector(method)
        print(f"{method}: {'; '.join(vector.notes[:1])}")
        fit = rests_on["fits"].get(method)
        if fit:
            held = fit["held_out_mean_error_percent"]
            print(
                f"  {fit['operations']} operations; mean error {fit['mean_error_percent']:.0f} % where it was fitted, "
                f"{held:.0f} % on programs left out"
            )
        if method in {"dbc", "poc", "hllc"}:
            costs = ", ".join(f"{name} {1e9 * cost.seconds:.3g}" for name, cost in vector.costs.items())
            print(f"  ns: {costs}")
    memory = rests_on["memory"]
    print(f"memory ({memory['source']}), ns per word: {_by_size(memory['working_sets_bytes'], memory['word_s'])}")
    print_warnings(model.warnings)


def _by_size(sizes: list[float], times_s: list[float]) -> str:
    pairs = zip(sizes, times_s, strict=True)
    return ", ".join(f"{1e9 * time:.3g} at {units.show_size(round(size))}" for size, time in pairs)
