"""`apportion cluster`: all hosts measured at once, advice for them and the line to run it; or joined from files."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import simulator
from advisor.cli.declared import Only, argument, only_with, only_without, option
from advisor.cli.inputs import INPUT, located
from advisor.cli.options import LEVEL, Level, Seed, above_0, folder, gave_json, named_values
from advisor.cli.outputs import finish
from advisor.cli.progress import goes_on, stages
from simulator import ScenarioError, calibration, documents, files, units

if TYPE_CHECKING:
    from advisor.cluster import ClusterWish
    from advisor.cluster.answer import Asked

SCENARIO_SUFFIX = ".yaml"
"""Of an output that is a file, not a folder."""
VERIFY = 0.35
"""Share of the budget for real runs, where they are asked for."""
MEASURED = only_without("join", why="where nothing is measured")
OWN = Only(("without a command",), lambda given: "with a command" if given["command"] else "without a command")


@dataclass(frozen=True)
class Measured:
    """What is measured on which hosts, and for how long."""

    command: list[str] | None = argument(
        "What each process runs, in the place of --kernel.", None, metavar="[-- COMMAND {units}]"
    )
    hosts: str | None = option("Hosts as ssh knows them; n[01-08] is eight.", MEASURED, metavar="A,B,C")
    hosts_file: Path | None = option("Hosts, one a line, such as an MPI host file.", MEASURED, metavar="FILE", **INPUT)
    slurm: bool = option("The nodes of the allocation that this runs in.", MEASURED)
    parameter: list[str] | None = option(
        "Of the application, such as n=4000; with a command units=N, all that there is to do.",
        MEASURED,
        metavar="NAME=N",
    )
    budget: str = option("What measuring, and verifying with --verify, may take in all.", MEASURED, default="5min")
    verify: bool = option("Also really run the advice and the configuration of now.", MEASURED)
    update: bool = option("Measure again what the advice doubts most; keep the rest.", MEASURED)
    ssh: str = option(
        "What reaches a host, such as 'ssh -F config'.", only_without("slurm"), default="ssh", metavar="COMMAND"
    )
    python: str | None = option(
        "Python 3.11 or newer with NumPy there; looked for by default.", MEASURED, metavar="PATH"
    )
    seed: Seed = 0
    level: Level = LEVEL


@dataclass(frozen=True)
class Joined:
    """Files of single nodes and links in the place of measuring."""

    join: list[str] | None = option(
        "Measure nothing: join these. A speed model or node file (calibrate machine) is a node; a memory "
        "model is of the node before it. Repeatable.",
        metavar="NODE.json,LINK.json,...",
    )
    names: str | None = option(
        "Such as 'fast[01-08],slow[01-32]': one per node in order, or if there are more nodes, one per kind.",
        only_with("join"),
        metavar="PATTERNS",
    )
    topology: Path | None = option(
        "Slurm's topology.conf or topology.yaml: the switches that nodes hang on.", only_with("join"), metavar="FILE"
    )
    uplink: str | None = option(
        "Of a switch's link upwards: 1us,400Gbit/s.", only_with("topology"), metavar="LATENCY,BANDWIDTH"
    )
    max_age: str = option("Warn of calibrations older than this.", only_with("join"), default="30d")


def cluster(
    measured: Measured,
    joined: Joined,
    kernel: str | None = option(
        "dgemm (by default) or matmul (a matrix product), or stencil; with --join that of models that name none.",
        OWN,
    ),
    output: Path = folder(
        "everything; called again on it, measuring goes on; with --join also NAME.yaml", default=Path("out/cluster")
    ),
) -> None:
    """Measure all hosts of a cluster at once, and say who should get how much: one command, one line to run.

    Over ssh with your own configuration, or srun inside an allocation, where only Python 3.11 with NumPy is needed;
    what is sent is removed at the end, hosts that fail are named and left out. With --join from files. Examples:

    apportion cluster --hosts fast1,fast2,slow[1-4] --verify

    apportion cluster --join n01.json,n02.json,link.json --names 'fast[01-08],slow[01-32]' -o out/joined
    """
    if joined.join is not None:
        _join(joined, joined.join, kernel, output)
        return
    from advisor.cluster.answer import Asked

    if output.suffix == SCENARIO_SUFFIX:
        raise ScenarioError(f"--output: {output} is no name of a folder; name one")
    budget_s = units.parse_duration(measured.budget, field="--budget")
    wish = _wish(measured, kernel or "dgemm", budget_s)
    verify_s = VERIFY * budget_s if measured.verify else None
    _measure(Asked(wish, *_reached(measured), measured.python, output, verify_s, update=measured.update))


def _measure(asked: "Asked") -> None:
    """Measure, answer and write; exit 1 where real runs were asked for and there are none."""
    from advisor.cluster.answer import answer_cluster
    from advisor.report.cluster import cluster_page
    from advisor.report.html import render_page

    output = asked.folder
    files.make_folder(output)
    with goes_on(f"{output} keeps what was measured"), files.alone(output):
        result = answer_cluster(asked, on_progress=stages())
        page, document = cluster_page(result), documents.to_dict(result)
        files.write_text(output / "report.html", render_page(page))
        written = {"Report": str(output / "report.html"), "Scenario": str(output / "scenario.yaml")}
        finish(document, page, more=lambda: files.write_json(output / "cluster.json", document), said=written)
        if asked.verify_s is not None and not result.verification:
            raise typer.Exit(1)


def _wish(measured: Measured, kernel: str, budget_s: float) -> "ClusterWish":
    from advisor.cluster import ClusterWish
    from advisor.verification.applications import check_command

    give = "NAME=N with a whole number above 0, such as n=4000"
    found = named_values(measured.parameter or (), "--parameter", give, above_0)
    words = tuple(measured.command or ())
    if words:
        check_command(words)
    measuring_s = (1 - VERIFY) * budget_s if measured.verify else budget_s
    wish = ClusterWish(kernel, words, found, measuring_s, measured.seed, measured.level)
    _ = wish.application.work  # what it lacks is said now
    wish.plan.check()
    return wish


def _reached(measured: Measured) -> "tuple[list[str], calibration.Words]":
    import shlex

    given = [measured.hosts is not None, measured.hosts_file is not None, measured.slurm]
    if sum(given) != 1:
        raise ScenarioError("give one of --hosts, --hosts-file and --slurm")
    if measured.slurm:
        cores = calibration.allocated_hosts()
        return list(cores), calibration.over_srun(cores)
    try:
        words = shlex.split(measured.ssh)
    except ValueError as error:
        raise ScenarioError(f"--ssh is {measured.ssh!r}: {str(error).lower()}") from error
    if not words:
        raise ScenarioError("--ssh is empty; give a command such as ssh")
    if measured.hosts_file is not None:
        return calibration.hosts_of_file(measured.hosts_file), calibration.over_ssh(words)
    return calibration.listed_hosts(measured.hosts or ""), calibration.over_ssh(words)


def _join(asked: Joined, join: list[str], kernel: str | None, output: Path) -> None:
    """Calibrations of single nodes and a link as a scenario that loads, with an application to edit."""
    path = output if output.suffix == SCENARIO_SUFFIX else output / "scenario.yaml"
    if path.exists():
        raise ScenarioError(f"--output: {path} is there already; name a new one")
    inputs = [located(Path(name)) for text in join for name in text.split(",")]
    days = units.parse_duration(asked.max_age, field="--max-age") / 86400
    ends = None if asked.uplink is None else _uplink(asked.uplink)
    about: Any = {"names": asked.names, "kernel": kernel, "topology": asked.topology, "uplink": ends}
    joined = simulator.join_platform(inputs, most_days=days, **about)
    files.write_text(path, joined.text)
    simulator.load_scenario(path)  # what is wrong with it is reported now
    if gave_json(joined.to_dict() | {"output": str(path)}):
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
