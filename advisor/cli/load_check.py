"""`apportion lab load-check`: whether a band predicted from recorded load holds what really happens under it."""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import simulator
from advisor.cli.declared import option
from advisor.cli.models import lines, warned
from advisor.cli.options import Seed, folder, read_share
from advisor.cli.outputs import finish
from simulator import blocks, files, units

if TYPE_CHECKING:
    from advisor.verification.load_band import LoadBandCheck


@dataclass(frozen=True)
class Against:
    """The competitor, how its load is recorded, and the runs against it."""

    kernel: str = option("A kernel of ours that is really run.", default="dgemm")
    load: str = option("Share of the time for which a competitor is there.", default="40%")
    interval: str = option("Of the recording of its load.", default="100ms")
    history: str = option("How long its load is recorded; all of it counts.", default="60s")
    durations: str = option("Times that runs take on an idle PE; the sizes follow.", default="100ms,500ms,2s")
    runs: int = option("Fresh runs of each size.", default=30, min=1)
    cpu: int | None = option("Processor to share; by default the last core.", min=0)
    seed: Seed = 0


def load_check(against: Against, output: Path | None = folder("recording, band and check")) -> None:
    """Put load bands to the test: a known competitor on one core, its load recorded, and fresh runs against it.

    The band must hold 90 % of the wall-clock speeds at every size; if they show otherwise, the exit code is 1.

    Example: apportion lab load-check --kernel dgemm --load 40% -o check
    """
    from advisor.verification.load_band import LoadBandPlan, check_load_band

    plan = LoadBandPlan(
        kernel=against.kernel,
        cpu=simulator.this_machine().cores[-1].cpu if against.cpu is None else against.cpu,
        load=read_share(against.load, "--load"),
        interval_s=units.parse_duration(against.interval, field="--interval"),
        history_s=units.parse_duration(against.history, field="--history"),
        durations_s=tuple(units.parse_duration(text, field="--durations") for text in against.durations.split(",")),
        runs=against.runs,
        seed=against.seed,
    )
    if output is not None:
        files.make_folder(output)
    with tempfile.TemporaryDirectory() as scratch, files.alone(output or Path(scratch)):
        done = check_load_band(plan, output or Path(scratch), lambda text: print(text, file=sys.stderr))
    finish(
        done.to_dict(),
        _shown(done),
        output,
        write=lambda path: files.write_json(path / "check.json", done.to_dict()),
        said="",
    )
    if not done.held:
        raise typer.Exit(1)


def _shown(done: "LoadBandCheck") -> list[blocks.Block]:
    """What was recorded, and how many of the fresh speeds the band held."""
    plan, (low, high) = done.plan, done.share_interval
    rows = [
        (
            f"{one.size_elements:.6g}",
            units.show_duration(one.ideal_s),
            f"{one.low:.4g} to {one.high:.4g}",
            f"{one.inside} of {len(one.speeds)}",
        )
        for one in done.sizes
    ]
    return [
        blocks.Text(
            f"{plan.kernel} on processor {plan.cpu} against a competitor of {plan.load:.0%} on and off every "
            f"{plan.period_s:g} s; recorded: {done.recorded_load:.1%}"
        ),
        blocks.table("", ("elements", "idle run", "band", "inside"), rows, text_columns=0),
        lines(
            f"{done.share_inside:.0%} of the fresh speeds lie in the band (90 % interval {low:.0%} to {high:.0%}); its "
            f"mean relative width is {done.mean_relative_width:.0%}",
            *warned(done.warnings),
        ),
    ]
