"""`apportion calibrate network`: message-time models fitted to ping-pong times, and which of them the data support."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli import network_real
from advisor.cli.options import Json, Seed, print_json, print_warnings
from advisor.cli.outputs import nothing_lost
from advisor.cli.scenarios import INPUT

if TYPE_CHECKING:
    from simulator.calibration import CalibratedNetwork

Replay = Annotated[
    Path | None,
    typer.Option(metavar="TABLE.csv", help="A table bytes[,hops],one_way_s of recorded message times.", **INPUT),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="LINK.json", help="Where to write the model.")]


def network(  # noqa: PLR0913, PLR0917 - one per option
    between: network_real.Between = None,
    medium: network_real.Medium = None,
    hosts: network_real.Hosts = None,
    listen: network_real.Listen = None,
    connect: network_real.Connect = None,
    token: network_real.Token = None,
    replay: Replay = None,
    max_bytes: network_real.MaxBytes = "64MiB",
    budget: network_real.Budget = None,
    table: network_real.TableFile = None,
    output: Output = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure messages between processes or hosts, or take recorded times, and fit how long a message takes.

    Fitted are latency and bandwidth, packets (equation 5), lines by message size and a smooth curve; one is chosen.

    Every form is judged on points that it was not fitted to. The model file is a link of a scenario
    (`{model: LINK.json}`), and `apportion predict LINK.json --at TARGETS.csv` answers from it.

    Real measuring keeps every sample at once: interrupted or killed, the same command goes on where it was.

    Example: apportion calibrate network --between processes -o link.json
    """
    from simulator.calibration import fit_measured_link, fit_network_table, link_lines

    if (replay is None) == (between is None):
        found = "none" if replay is None else "--between and --replay"
        raise typer.BadParameter(f"{found} found, one of --between (real messages) and --replay (a table) needed")
    if listen is not None:
        network_real.listen_once(listen, between=between, as_json=as_json)
        return
    if replay is not None:
        calibrated = fit_network_table(replay)
        _save(calibrated, output, as_json=as_json)
    else:
        options = network_real.RealOptions(
            between or "", medium, hosts, connect, token, max_bytes, budget, seed, output
        )
        measured = network_real.measure(options)
        if table is not None:
            network_real.write_table(measured, table)
        calibrated = fit_measured_link(measured, seed=seed)
        _save(calibrated, output, as_json=as_json)
        if output is not None:
            network_real.forget(output)
        if not as_json:
            print("\n".join(link_lines(measured)))
    tell(calibrated, output, as_json=as_json)


def _save(calibrated: "CalibratedNetwork", output: Path | None, *, as_json: bool) -> None:
    from simulator.calibration import save_network_model

    with nothing_lost(calibrated.to_dict(), lambda: tell(calibrated, None, as_json=as_json)):
        if output is not None:
            save_network_model(calibrated, output)


def tell(calibrated: "CalibratedNetwork", output: Path | None, *, as_json: bool) -> None:
    """Print all forms with their errors, or the document as JSON."""
    document = calibrated.to_dict()
    if as_json:
        print_json({"format": document["format"], "command": "calibrate network"} | document)
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
    print_warnings(document["warnings"])
    if output is not None:
        print(f"model written to {output}")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
