"""`apportion lab load-check`: whether a band predicted from recorded load holds what really happens under it."""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import simulator
from advisor.cli.options import (
    Json,
    Seed,
    folder,
    print_json,
    print_warnings,
    read_share,
)
from advisor.cli.outputs import nothing_lost
from simulator import files, units

if TYPE_CHECKING:
    from advisor.verification.load_band import LoadBandCheck


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

    Example: apportion lab load-check --kernel dgemm --load 40% -o check
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
    document = done.to_dict() | {"command": "lab load-check"}

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
