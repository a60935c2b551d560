"""`apportion cluster`: all hosts measured at once, advice for them, the files and the line to run it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import simulator
from advisor.cli.declared import Given, Only, only_without
from advisor.cli.options import LEVEL, Json, Level, Seed, folder
from advisor.cli.outputs import finish
from advisor.cli.progress import host_lines
from advisor.cli.scenarios import INPUT
from simulator import Interrupted, ScenarioError, calibration, documents, files, units

if TYPE_CHECKING:
    from advisor.cluster import ClusterWish

Parameter = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        metavar="NAME=N",
        help="Of the application, such as n=4000; with a command units=N, all that there is to do.",
    ),
]


def _commanded(given: Given) -> str:
    return "with a command" if given["command"] else "without a command"


Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND {units}]", help="What each process runs, in the place of --kernel."),
]
Hosts = Annotated[str | None, typer.Option(metavar="A,B,C", help="Hosts as ssh knows them; n[01-08] is eight.")]
HostsFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Hosts, one a line, such as an MPI host file.", **INPUT)
]
Slurm = Annotated[bool, typer.Option("--slurm", help="The nodes of the allocation that this runs in.")]
Kernel = Annotated[
    str, typer.Option(help="dgemm or matmul (a matrix product), or stencil."), Only(("without a command",), _commanded)
]
Budget = Annotated[str, typer.Option(help="What measuring, and verifying with --verify, may take in all.")]
Verify = Annotated[bool, typer.Option("--verify", help="Also really run the advice and the configuration of now.")]
Update = Annotated[bool, typer.Option("--update", help="Measure again what the advice doubts most; keep the rest.")]
Ssh = Annotated[
    str, typer.Option(metavar="COMMAND", help="What reaches a host, such as 'ssh -F config'."), only_without("slurm")
]
Python = Annotated[
    str | None, typer.Option(metavar="PATH", help="Python 3.11 or newer with NumPy there; looked for by default.")
]
Output = Annotated[Path, folder("everything; called again on it, measuring goes on")]


def cluster(  # noqa: PLR0913, PLR0917 - one per option
    command: Command = None,
    hosts: Hosts = None,
    hosts_file: HostsFile = None,
    slurm: Slurm = False,
    kernel: Kernel = "dgemm",
    parameter: Parameter = None,
    budget: Budget = "5min",
    verify: Verify = False,
    update: Update = False,
    ssh: Ssh = "ssh",
    python: Python = None,
    seed: Seed = 0,
    level: Level = LEVEL,
    output: Output = Path("out/cluster"),
    as_json: Json = False,
) -> None:
    """Measure all hosts of a cluster at once, and say who should get how much: one command, one line to run.

    Over ssh with your own configuration, or srun inside an allocation. Nothing has to be installed there but Python
    3.11 with NumPy; what is sent is removed at the end. Hosts that fail are named and left out. Example:

    apportion cluster --hosts fast1,fast2,slow[1-4] --verify
    """
    from advisor.cluster.answer import Asked, answer_cluster
    from advisor.report.cluster import cluster_page
    from advisor.report.html import render_page

    budget_s = units.parse_duration(budget, field="--budget")
    wish = _wish(command, kernel, parameter, budget_s=budget_s, seed=seed, level=level, verify=verify)
    names, words = _reached(hosts, hosts_file, ssh, slurm=slurm)
    asked = Asked(wish, names, words, python, output, verify_s=VERIFY * budget_s if verify else None, update=update)
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
            if verify and result.verified is None:
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
