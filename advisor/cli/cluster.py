"""`apportion cluster`: all hosts measured at once, advice for them and the line to run it; or joined from files."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import simulator
from advisor.cli.declared import Given, Only, only_with, only_without
from advisor.cli.inputs import INPUT, located
from advisor.cli.options import LEVEL, Json, Level, Seed, folder, print_json
from advisor.cli.outputs import finish
from advisor.cli.progress import host_lines
from simulator import Interrupted, ScenarioError, calibration, documents, files, units

if TYPE_CHECKING:
    from advisor.cluster import ClusterWish
    from advisor.cluster.answer import Asked

SCENARIO_SUFFIX = ".yaml"
"""Of an output that is a file, not a folder."""
MEASURED = only_without("join", why="where nothing is measured")
Parameter = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        metavar="NAME=N",
        help="Of the application, such as n=4000; with a command units=N, all that there is to do.",
    ),
    MEASURED,
]


def _commanded(given: Given) -> str:
    return "with a command" if given["command"] else "without a command"


Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND {units}]", help="What each process runs, in the place of --kernel."),
]
Hosts = Annotated[
    str | None, typer.Option(metavar="A,B,C", help="Hosts as ssh knows them; n[01-08] is eight."), MEASURED
]
HostsFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Hosts, one a line, such as an MPI host file.", **INPUT), MEASURED
]
Slurm = Annotated[bool, typer.Option("--slurm", help="The nodes of the allocation that this runs in."), MEASURED]
Kernel = Annotated[
    str | None,
    typer.Option(
        help="dgemm (by default) or matmul (a matrix product), or stencil; with --join that of models that name none."
    ),
    Only(("without a command",), _commanded),
]
Join = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NODE.json,LINK.json,...",
        help="Measure nothing: join these. A speed model or node file (calibrate machine) is a node; a memory model is "
        "of the node before it. Repeatable.",
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERNS",
        help="Such as 'fast[01-08],slow[01-32]': one per node in order, or if there are more nodes, one per kind.",
    ),
    only_with("join"),
]
Topology = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Slurm's topology.conf or topology.yaml: the switches that nodes hang on."),
    only_with("join"),
]
Uplink = Annotated[
    str | None,
    typer.Option(metavar="LATENCY,BANDWIDTH", help="Of a switch's link upwards: 1us,400Gbit/s."),
    only_with("topology"),
]
MaxAge = Annotated[str, typer.Option(help="Warn of calibrations older than this."), only_with("join")]
Budget = Annotated[str, typer.Option(help="What measuring, and verifying with --verify, may take in all."), MEASURED]
Verify = Annotated[
    bool, typer.Option("--verify", help="Also really run the advice and the configuration of now."), MEASURED
]
Update = Annotated[
    bool, typer.Option("--update", help="Measure again what the advice doubts most; keep the rest."), MEASURED
]
Ssh = Annotated[
    str, typer.Option(metavar="COMMAND", help="What reaches a host, such as 'ssh -F config'."), only_without("slurm")
]
Python = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Python 3.11 or newer with NumPy there; looked for by default."),
    MEASURED,
]
Output = Annotated[Path, folder("everything; called again on it, measuring goes on; with --join also NAME.yaml")]


def cluster(  # noqa: PLR0913, PLR0917 - one per option
    command: Command = None,
    hosts: Hosts = None,
    hosts_file: HostsFile = None,
    slurm: Slurm = False,
    kernel: Kernel = None,
    parameter: Parameter = None,
    budget: Budget = "5min",
    verify: Verify = False,
    update: Update = False,
    join: Join = None,
    names: Names = None,
    topology: Topology = None,
    uplink: Uplink = None,
    max_age: MaxAge = "30d",
    ssh: Ssh = "ssh",
    python: Python = None,
    seed: Seed = 0,
    level: Level = LEVEL,
    output: Output = Path("out/cluster"),
    as_json: Json = False,
) -> None:
    """Measure all hosts of a cluster at once, and say who should get how much: one command, one line to run.

    Over ssh with your own configuration, or srun inside an allocation, where only Python 3.11 with NumPy is needed;
    what is sent is removed at the end, hosts that fail are named and left out. With --join from files. Examples:

    apportion cluster --hosts fast1,fast2,slow[1-4] --verify

    apportion cluster --join n01.json,n02.json,link.json --names 'fast[01-08],slow[01-32]' -o out/joined
    """
    if join is not None:
        _join(join, output, names, kernel, max_age, topology, uplink, as_json=as_json)
        return
    from advisor.cluster.answer import Asked

    if output.suffix == SCENARIO_SUFFIX:
        raise ScenarioError(f"--output: {output} is no name of a folder; name one")
    budget_s = units.parse_duration(budget, field="--budget")
    wish = _wish(command, kernel or "dgemm", parameter, budget_s=budget_s, seed=seed, level=level, verify=verify)
    reached, words = _reached(hosts, hosts_file, ssh, slurm=slurm)
    asked = Asked(wish, reached, words, python, output, verify_s=VERIFY * budget_s if verify else None, update=update)
    _measure(asked, as_json=as_json)


def _measure(asked: "Asked", *, as_json: bool) -> None:
    """Measure, answer and write; exit 1 where real runs were asked for and there are none."""
    from advisor.cluster.answer import answer_cluster
    from advisor.report.cluster import cluster_page
    from advisor.report.html import render_page

    output = asked.folder
    files.make_folder(output)
    try:
        with files.alone(output):
            with host_lines() as note:
                result = answer_cluster(asked, on_progress=note)
            page = cluster_page(result)
            files.write_text(output / "report.html", render_page(page))
            finish(
                result,
                page,
                as_json=as_json,
                write=lambda: files.write_json(output / "cluster.json", documents.to_dict(result)),
                said={"Report": str(output / "report.html"), "Scenario": str(output / "scenario.yaml")},
            )
            if asked.verify_s is not None and result.verified is None:
                raise typer.Exit(1)
    except KeyboardInterrupt as error:
        raise Interrupted(
            f"interrupted; {output} keeps what was measured, the same command goes on from there"
        ) from error


VERIFY = 0.35
"""Share of the budget for real runs, where they are asked for."""


def _wish(
    command: list[str] | None,
    kernel: str,
    parameter: list[str] | None,
    *,
    budget_s: float,
    seed: int,
    level: float,
    verify: bool,
) -> "ClusterWish":
    from advisor.cluster import ClusterWish
    from advisor.verification.applications import check_command

    found: dict[str, int] = {}
    for text in parameter or ():
        name, equals, number = text.partition("=")
        if not (name.isidentifier() and equals and number.isascii() and number.isdigit() and int(number)):
            raise ScenarioError(f"--parameter is {text!r}; give NAME=N with a whole number above 0, such as n=4000")
        simulator.given.check_once(name, found, where="--parameter")
        found[name] = int(number)
    words = tuple(command or ())
    if words:
        check_command(words)
    measuring_s = (1 - VERIFY) * budget_s if verify else budget_s
    wish = ClusterWish(kernel, words, found, measuring_s, seed, level)
    _ = wish.application.work  # what it lacks is said now
    wish.plan.check()
    return wish


def _reached(
    hosts: str | None, hosts_file: Path | None, ssh: str, *, slurm: bool
) -> "tuple[list[str], calibration.Words]":
    import shlex

    given = [hosts is not None, hosts_file is not None, slurm]
    if sum(given) != 1:
        raise ScenarioError("give one of --hosts, --hosts-file and --slurm")
    if slurm:
        cores = calibration.allocated_hosts()
        return list(cores), calibration.over_srun(cores)
    try:
        words = shlex.split(ssh)
    except ValueError as error:
        raise ScenarioError(f"--ssh is {ssh!r}: {str(error).lower()}") from error
    if not words:
        raise ScenarioError("--ssh is empty; give a command such as ssh")
    if hosts_file is not None:
        return calibration.hosts_of_file(hosts_file), calibration.over_ssh(words)
    return calibration.listed_hosts(hosts or ""), calibration.over_ssh(words)


def _join(
    join: list[str],
    output: Path,
    names: str | None,
    kernel: str | None,
    max_age: str,
    topology: Path | None,
    uplink: str | None,
    *,
    as_json: bool,
) -> None:
    """Calibrations of single nodes and a link as a scenario that loads, with an application to edit."""
    path = output if output.suffix == SCENARIO_SUFFIX else output / "scenario.yaml"
    if path.exists():
        raise ScenarioError(f"--output: {path} is there already; name a new one")
    inputs = [located(Path(name)) for text in join for name in text.split(",")]
    days = units.parse_duration(max_age, field="--max-age") / 86400
    ends = None if uplink is None else _uplink(uplink)
    joined = simulator.join_platform(inputs, names=names, kernel=kernel, most_days=days, topology=topology, uplink=ends)
    files.write_text(path, joined.text)
    simulator.load_scenario(path)  # what is wrong with it is reported now
    if as_json:
        print_json(joined.to_dict() | {"command": "cluster", "output": str(path)})
        return
    for line in (*joined.summary, *(f"warning: {text}" for text in joined.warnings)):
        print(line, file=sys.stderr)
    print(f"scenario written to {path}")


def _uplink(text: str) -> tuple[float, float]:
    """`1us,400Gbit/s` as seconds and bytes per second."""
    latency, comma, rate = text.partition(",")
    if not comma:
        raise ScenarioError(f"--uplink is {text!r}; give LATENCY,BANDWIDTH such as 1us,400Gbit/s")
    return units.parse_duration(latency, field="--uplink"), units.parse(rate, units.BANDWIDTH, field="--uplink")
