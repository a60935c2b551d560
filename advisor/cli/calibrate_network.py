"""`apportion calibrate network`: message-time models fitted to ping-pong times, and which of them the data support."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.declared import only_with, option
from advisor.cli.inputs import INPUT
from advisor.cli.models import links_blocks, network_blocks
from advisor.cli.options import REAL, Seed, budget_left, file, partial_of
from advisor.cli.outputs import finish
from advisor.cli.progress import of_time
from simulator import calibration, files, units

BUDGET = "30s"
"""Where none is stated; a busy machine may take longer."""
ENDING_S = 0.5
"""What the fits take."""


def network(
    between: str | None = option(
        "processes, mpi or tcp, all on this machine, or gpu0 and so on: copies to and from a GPU, by CuPy; "
        "`apportion cluster` measures hosts."
    ),
    replay: Path | None = option(
        "A table bytes[,hops],one_way_s of recorded message times, or [direction,][pinned,]bytes,time_s of copies to "
        "and from a GPU, which are links of their own.",
        metavar="TABLE.csv",
        **INPUT,
    ),
    only: str | None = option(
        "Rows of the table that count, such as direction=h2d,pinned=1.", only_with("replay"), metavar="NAME=VALUE,..."
    ),
    max_bytes: str = option("Largest message.", REAL, default="64MiB"),
    budget: str | None = option(
        "What it may take in all; too small, it says how much is needed. By default about 30s.", REAL
    ),
    table: Path | None = option(
        "Write bytes,hops,one_way_s, as --replay reads it (of a GPU direction,pinned,bytes,time_s).",
        REAL,
        metavar="FILE.csv",
    ),
    output: Path | None = file("LINK.json", "the model"),
    seed: Annotated[Seed, REAL] = 0,
) -> None:
    """Measure messages between processes of this machine, or take recorded times, and fit how long a message takes.

    Fitted are latency and bandwidth, packets (equation 5), lines by message size and a smooth curve; one is chosen.

    Every form is judged on points that it was not fitted to. The model file is a link of a scenario
    (`{model: LINK.json}`), and `apportion predict LINK.json --at TARGETS.csv` answers from it.

    Real measuring keeps every sample at once: interrupted or killed, the same command goes on where it was.

    Example: apportion calibrate network --between processes -o link.json
    """
    if (replay is None) == (between is None):
        found = "--between or --replay is missing" if replay is None else "--between and --replay exclude each other"
        raise typer.BadParameter(f"{found}; give one of --between (real messages) and --replay (a table)")
    if replay is not None and len(links := calibration.links_in(replay, only=only)) > 1:
        _each_link(replay, links, output)
        return
    if between is not None and between.startswith("gpu"):
        _copies(between, max_bytes, budget or BUDGET, (table, output), seed)
        return
    more, store = list[str](), partial_of(output, f"calibrate-network-{between}")
    if replay is not None:
        calibrated = calibration.fit_network_table(replay, only=only)
    else:
        asked = {"between": between, "max_bytes": _largest(max_bytes), "seed": seed}
        measured = _measured(asked, budget, table, store)
        calibrated, more = calibration.fit_measured_link(measured, seed=seed), calibration.link_lines(measured)
    shown = network_blocks(calibrated, *more)
    finish(calibrated.to_dict(), shown, output, write=partial(calibration.save_network_model, calibrated))
    if replay is None:
        files.remove(store)


def _largest(max_bytes: str) -> int:
    return round(units.parse(max_bytes, units.SIZE, field="--max-bytes"))


def _measured(
    asked: Mapping[str, Any], budget: str | None, table: Path | None, store: Path
) -> calibration.LinkMeasurement:
    """Messages between processes of this machine, in a table too if one is asked for."""
    with budget_left(budget or BUDGET, ending_s=ENDING_S) as budget_s, calibration.kept(store):
        plan = calibration.LinkPlan(**asked, budget_s=budget_s, firm=budget is not None)
        measured = calibration.measure_link_times(plan, store=store, on_progress=of_time(budget_s))
    if measured.samples_reused:
        print(f"{measured.samples_reused} samples were taken before and not again ({store})", file=sys.stderr)
    if table is not None:
        rows = "".join(f"{size},{hops},{time_s!r}\n" for size, hops, time_s in measured.rows())
        files.write_text(table, f"bytes,hops,one_way_s\n{rows}")
    return measured


def _copies(device: str, max_bytes: str, budget: str, to: tuple[Path | None, Path | None], seed: int) -> None:
    """A model for each way to copy to a GPU and back, measured here; the table of all samples stays beside them."""
    table, output = to
    asked: Any = {"max_bytes": _largest(max_bytes), "seed": seed}
    store = partial_of(output, f"calibrate-network-{device}")
    with budget_left(budget, ending_s=ENDING_S) as budget_s, calibration.kept(store):
        rows = calibration.measure_copies(
            device, **asked, budget_s=budget_s, store=store, on_progress=of_time(budget_s)
        )
    path = table or (output or Path(f"{device}.json")).with_suffix(".csv")
    files.write_text(path, rows)
    _each_link(path, calibration.links_in(path), output, machine=simulator.this_machine())
    files.remove(store)


def _each_link(
    replay: Path, links: Mapping[str, str], output: Path | None, machine: simulator.Machine | None = None
) -> None:
    """A model for each link of a table, in a file of its own, named after `output`."""
    fitted = {name: calibration.fit_network_table(replay, only=said, machine=machine) for name, said in links.items()}
    written = {} if output is None else {name: output.with_stem(f"{output.stem}-{name}") for name in fitted}

    def write(_output: Path) -> None:
        for name, path in written.items():
            calibration.save_network_model(fitted[name], path)

    shown = links_blocks(fitted, written)
    finish({name: one.to_dict() for name, one in fitted.items()}, shown, output, write=write, said="")
