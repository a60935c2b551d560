"""`apportion calibrate network`: message-time models fitted to ping-pong times, and which of them the data support."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.options import Json, Seed, file, print_json, print_warnings, read_budget, stated_budget
from advisor.cli.outputs import nothing_lost
from advisor.cli.progress import progress_lines
from advisor.cli.scenarios import INPUT
from simulator import calibration, files, units

# The part of `apportion calibrate network` that really measures: options, listening for another host, ping-pong.


Between = Annotated[
    str | None, typer.Option(help="processes or mpi (on this machine), or tcp (loopback, or two hosts).")
]
Medium = Annotated[str | None, typer.Option(help="With --between processes: unix (the default) or pipe.")]
Hosts = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="With --between tcp: this host and another, whose end ssh starts unasked."),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="[ADDRESS:]PORT",
        help="With --between tcp: be the far end for one session; port 0 for any. Without an address, or with one of "
        "loopback, for this machine alone; 0.0.0.0 for all others.",
    ),
]
Connect = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="With --between tcp: a host that listens.")]


def _warned(context: typer.Context, option: typer.CallbackParam, value: str | None) -> str | None:
    """A token on the command line is taken, but everybody on this machine can read it there."""
    source = context.get_parameter_source(option.name or "")
    if value is not None and source is not None and source.name == "COMMANDLINE":
        seen = "others on this machine can see the token in the list of processes"
        print(f"warning: --token: {seen}; put it in APPORTION_TOKEN, or leave it out and be asked", file=sys.stderr)
    return value


Token = Annotated[
    str | None,
    typer.Option(
        envvar="APPORTION_TOKEN",
        callback=_warned,
        help="With --connect: what the listening host printed. Better in APPORTION_TOKEN, or when asked: others can "
        "see a command's options.",
    ),
]
MaxBytes = Annotated[str, typer.Option(help="Largest message.")]
Budget = Annotated[
    str | None,
    typer.Option(
        help="What it may take in all; too small, it says how much is needed. By default about 30s.",
    ),
]
TableFile = Annotated[
    Path | None, typer.Option("--table", metavar="FILE.csv", help="Write bytes,hops,one_way_s, as --replay reads it.")
]

BUDGET = "30s"
"""Where none is stated; a busy machine may take longer."""
ENDING_S = 0.5
"""What CPU costs of messages and the fits take."""


@dataclass(frozen=True)
class RealOptions:
    """What was asked for on the command line."""

    between: str
    medium: str | None
    hosts: str | None
    connect: str | None
    token: str | None
    max_bytes: str
    budget: str | None
    seed: int
    output: Path | None


def measure(options: RealOptions) -> "calibration.LinkMeasurement":
    """Measure for real, with progress on standard error; every sample is kept at once next to the output."""
    store = partial_file(options)
    with (
        _far_end(options) as plan,
        calibration.kept(store),
        progress_lines(plan.budget_s) as show,
        stated_budget(options.budget or BUDGET, plan.budget_s),
    ):
        measured = calibration.measure_link_times(plan, store=store, on_progress=show)
    if measured.reused:
        print(f"{measured.reused} samples were taken before and not again ({store})", file=sys.stderr)
    if options.output is None:
        files.remove(store)
    return measured


def forget(output: Path) -> None:
    """Remove the samples kept next to a model that is written."""
    files.remove(_partial_of(output))


def _partial_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.partial")


def partial_file(options: RealOptions) -> Path:
    """Where samples are kept until the model is written."""
    if options.output is not None:
        return _partial_of(options.output)
    return Path(f"calibrate-network-{options.medium or options.between}.partial")


def write_table(measured: "calibration.LinkMeasurement", path: Path) -> None:
    """The rows that `--replay` reads."""
    rows = "".join(f"{size},{hops},{time_s!r}\n" for size, hops, time_s in measured.rows())
    files.write_text(path, f"bytes,hops,one_way_s\n{rows}")


def listen_once(address: str, *, between: str | None, as_json: bool) -> None:
    """Be the far end of one session; what to run on the other host is printed first."""
    if between != "tcp":
        raise typer.BadParameter("--listen goes with --between tcp only")
    simulator.require_linux()
    machine = simulator.this_machine()
    cpus = [core.cpu for core in machine.cores[: machine.pe_count]][::-1]  # connecting hosts begin with their first

    def ready(where: "calibration.Address", token: str) -> None:
        if as_json:
            print_json_line({"port": where.port, "token": token})
            return
        wild = where.host in {"0.0.0.0", "::"}  # noqa: S104 - compared with, not bound to
        host = machine.host if wild else where.text.rpartition(":")[0]
        print("listening for one session; on the other host:")
        command = f"apportion calibrate network --between tcp --connect {host}:{where.port} -o link.json"
        print(f"  APPORTION_TOKEN={token} {command}", flush=True)

    here = address if ":" in address else f"127.0.0.1:{address}"
    served = calibration.listen(
        calibration.parse_address(here, field="--listen", least_port=0),
        cpus=(cpus * 2)[: max(2, len(cpus))],
        on_ready=ready,
    )
    if not as_json:
        failed = f" ({served['failed']} ended by a fault)" if served["failed"] else ""
        print(f"served {served['connections']} connections{failed}, refused {served['refused']}")


def print_json_line(message: dict[str, object]) -> None:
    """A JSON document in one line, at once."""
    print(json.dumps(message), flush=True)


@contextmanager
def _far_end(options: RealOptions) -> "Iterator[calibration.LinkPlan]":
    """The plan, with the other host's end listening while it is carried out."""
    given = {"--hosts": options.hosts, "--connect": options.connect}
    if options.between != "tcp" and (found := [name for name, value in given.items() if value is not None]):
        raise typer.BadParameter(f"{found[0]} goes with --between tcp only, not with {options.between}")
    if options.hosts is not None and options.connect is not None:
        raise typer.BadParameter("--hosts and --connect exclude each other; give one of them")
    secret = options.token or (_asked_token() if options.connect is not None else "")

    def plan(address: calibration.Address | None = None, token: str = "") -> calibration.LinkPlan:
        return calibration.LinkPlan(
            between=options.between,
            medium=options.medium,
            max_bytes=round(units.parse(options.max_bytes, units.SIZE, field="--max-bytes")),
            budget_s=read_budget(options.budget or BUDGET, ending_s=ENDING_S),
            firm=options.budget is not None,
            seed=options.seed,
            address=address,
            token=token,
        )

    plan()  # faults are found before another host is asked
    if options.connect is not None:
        yield plan(calibration.parse_address(options.connect, field="--connect"), secret)
    elif options.hosts is not None:
        here, other = _two_hosts(options.hosts)
        if not calibration.is_this_host(here):
            raise typer.BadParameter(f"--hosts: the first is {here!r}; give a name of this host first, then the other")
        with calibration.listener_over_ssh(other, ["apportion"]) as (port, token):
            yield plan(calibration.Address(other.rpartition("@")[2], port), token)
    else:
        yield plan()


def _asked_token() -> str:
    """The token as somebody at a terminal types it, unseen."""
    if sys.stdin.isatty():
        import getpass

        if given := getpass.getpass("token that the listening host printed: ").strip():
            return given
    raise typer.BadParameter("--connect: no token; put what the listening host printed in APPORTION_TOKEN")


def _two_hosts(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise typer.BadParameter(f"--hosts is {text!r}; give two names such as node1,node2, the first of this host")
    return names[0], names[1]


Replay = Annotated[
    Path | None,
    typer.Option(metavar="TABLE.csv", help="A table bytes[,hops],one_way_s of recorded message times.", **INPUT),
]
Output = Annotated[Path | None, file("LINK.json", "the model")]


def network(  # noqa: PLR0913, PLR0917 - one per option
    between: Between = None,
    medium: Medium = None,
    hosts: Hosts = None,
    listen: Listen = None,
    connect: Connect = None,
    token: Token = None,
    replay: Replay = None,
    max_bytes: MaxBytes = "64MiB",
    budget: Budget = None,
    table: TableFile = None,
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
    if (replay is None) == (between is None):
        found = "--between or --replay is missing" if replay is None else "--between and --replay exclude each other"
        raise typer.BadParameter(f"{found}; give one of --between (real messages) and --replay (a table)")
    if listen is not None:
        listen_once(listen, between=between, as_json=as_json)
        return
    if replay is not None:
        calibrated = calibration.fit_network_table(replay)
        _save(calibrated, output, as_json=as_json)
    else:
        options = RealOptions(between or "", medium, hosts, connect, token, max_bytes, budget, seed, output)
        measured = measure(options)
        if table is not None:
            write_table(measured, table)
        calibrated = calibration.fit_measured_link(measured, seed=seed)
        _save(calibrated, output, as_json=as_json)
        if output is not None:
            forget(output)
        if not as_json:
            print("\n".join(calibration.link_lines(measured)))
    tell(calibrated, output, as_json=as_json)


def _save(calibrated: "calibration.CalibratedNetwork", output: Path | None, *, as_json: bool) -> None:
    with nothing_lost(calibrated.to_dict(), lambda: tell(calibrated, None, as_json=as_json)):
        if output is not None:
            calibration.save_network_model(calibrated, output)


def tell(calibrated: "calibration.CalibratedNetwork", output: Path | None, *, as_json: bool) -> None:
    """Print all forms with their errors, or the document as JSON."""
    from advisor import wording

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
    for line in () if calibrated.cost is None else calibrated.cost.lines():
        print(line)
    print_warnings(document["warnings"])
    left_out = chosen["held_out"]["mean_relative_error"]
    print(wording.verdict(wording.MESSAGES, left_out, by="in the mean, on points that it was not fitted to"))
    if output is not None:
        print(f"model written to {output}")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
