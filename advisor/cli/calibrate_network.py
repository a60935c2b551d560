"""`apportion calibrate network`: message-time models fitted to ping-pong times, and which of them the data support."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.asked import as_json
from advisor.cli.declared import only_with, only_without, option
from advisor.cli.inputs import INPUT
from advisor.cli.options import Seed, file, gave_json, print_warnings, read_budget, stated_budget
from advisor.cli.outputs import nothing_lost
from advisor.cli.progress import progress_lines
from simulator import calibration, files, units

REAL = only_without("replay", why="where nothing is measured")

BUDGET = "30s"
"""Where none is stated; a busy machine may take longer."""
ENDING_S = 0.5
"""What CPU costs of messages and the fits take."""


def measure(plan: "calibration.LinkPlan", *, budget: str, output: Path | None) -> "calibration.LinkMeasurement":
    """Measure for real, with progress on standard error; every sample is kept at once next to the output."""
    store = Path(f"calibrate-network-{plan.medium or plan.between}.partial") if output is None else _partial_of(output)
    with (
        calibration.kept(store),
        progress_lines(plan.budget_s) as show,
        stated_budget(budget, plan.budget_s),
    ):
        measured = calibration.measure_link_times(plan, store=store, on_progress=show)
    if measured.reused:
        print(f"{measured.reused} samples were taken before and not again ({store})", file=sys.stderr)
    if output is None:
        files.remove(store)
    return measured


def _partial_of(output: Path) -> Path:
    """Where samples are kept until the model is written."""
    return output.with_name(f"{output.name}.partial")


def _write_table(measured: "calibration.LinkMeasurement", path: Path) -> None:
    """The rows that `--replay` reads."""
    rows = "".join(f"{size},{hops},{time_s!r}\n" for size, hops, time_s in measured.rows())
    files.write_text(path, f"bytes,hops,one_way_s\n{rows}")


def network(
    between: str | None = option("processes, mpi or tcp, all on this machine; `apportion cluster` measures hosts."),
    medium: str | None = option("unix (the default) or pipe.", only_with("between", "processes")),
    replay: Path | None = option(
        "A table bytes[,hops],one_way_s of recorded message times.", metavar="TABLE.csv", **INPUT
    ),
    max_bytes: str = option("Largest message.", REAL, default="64MiB"),
    budget: str | None = option(
        "What it may take in all; too small, it says how much is needed. By default about 30s.", REAL
    ),
    table: Path | None = option("Write bytes,hops,one_way_s, as --replay reads it.", REAL, metavar="FILE.csv"),
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
    if replay is not None:
        calibrated = calibration.fit_network_table(replay)
        _save(calibrated, output)
    else:
        plan = calibration.LinkPlan(
            between=between or "",
            medium=medium,
            max_bytes=round(units.parse(max_bytes, units.SIZE, field="--max-bytes")),
            budget_s=read_budget(budget or BUDGET, ending_s=ENDING_S),
            firm=budget is not None,
            seed=seed,
        )
        measured = measure(plan, budget=budget or BUDGET, output=output)
        if table is not None:
            _write_table(measured, table)
        calibrated = calibration.fit_measured_link(measured, seed=seed)
        _save(calibrated, output)
        if output is not None:
            files.remove(_partial_of(output))
        if not as_json():
            print("\n".join(calibration.link_lines(measured)))
    tell(calibrated, output)


def _save(calibrated: "calibration.CalibratedNetwork", output: Path | None) -> None:
    with nothing_lost(calibrated.to_dict(), lambda: tell(calibrated, None)):
        if output is not None:
            calibration.save_network_model(calibrated, output)


def tell(calibrated: "calibration.CalibratedNetwork", output: Path | None) -> None:
    """Print all forms with their errors, or the document as JSON."""
    from advisor import wording

    document = calibrated.to_dict()
    if gave_json({"format": document["format"], "command": "calibrate network"} | document):
        return
    print(f"{'model':<12}{'numbers':>8}{'SSE s^2':>11}{'mean':>8}{'max':>8}{'held out':>10}{'max':>8}  physical")
    for form in document["models"]:
        if form["fitted_numbers"] is None:
            print(f"{form['name']:<12}{'not fitted: ' + '; '.join(form['faults'])}")
            continue
        held_out = form["held_out"]
        physical = "yes" if form["physical"] else f"no: {'; '.join(form['faults'])}"
        print(
            f"{form['name']:<12}{form['fitted_numbers']:>8}{form['sse']:>11.3g}{_percent(form['mean_relative_error']):>8}"
            f"{_percent(form['max_relative_error']):>8}{_percent(held_out['mean_relative_error']):>10}"
            f"{_percent(held_out['max_relative_error']):>8}  {physical}"
        )
    chosen = next(form for form in document["models"] if form["name"] == document["chosen"])
    print(f"chosen: {document['chosen']} ({document['criterion']})")
    for entry in chosen["parameters"]:
        note = f" ({entry['note']})" if entry["note"] else ""
        value = "not known" if entry["value"] is None else f"{entry['value']:.4g} +- {entry['standard_error']:.2g}"
        print(f"  {entry['name']}: {value} {entry['unit']}{note}")
    for line in chosen["notes"]:
        print(f"  {line}")
    for entry in document["breakpoints"]:
        between = f"between {entry['after_bytes']:g} and {entry['before_bytes']:g} B"
        print(f"breakpoint {between}: the time changes by {entry['jump_s']:.3g} s")
    for entry in document["jump"] or ():
        at = f"l = p = {entry['bytes']:.4g} B, {entry['hops']:g} hops"
        print(f"jump of equation 5 at {at}: {entry['jump_s']:.3g} s")
    for line in () if calibrated.cost is None else calibrated.cost.lines():
        print(line)
    print_warnings(document["warnings"])
    left_out = chosen["held_out"]["mean_relative_error"]
    print(wording.verdict(wording.MESSAGES, left_out, by="in the mean, on points that it was not fitted to"))
    if output is not None:
        print(f"model written to {output}")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
