"""`apportion new`: a scenario to begin with, from flags, or from questions on a terminal."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli import signs
from advisor.cli.asked import as_json
from advisor.cli.declared import only_with, option
from advisor.cli.options import Overwrite, file, named_values, offered
from advisor.cli.outputs import finish
from simulator import ScenarioError, files


def new(
    nodes: list[str] | None = option(
        "Kinds of nodes, the speed of one core: 'fast[1-2]: 8 cores 3 Gflop/s, slow[1-2]: 8 cores 1.5 Gflop/s'. "
        "Repeatable.",
        metavar="'NAMES: CORES cores SPEED [MEMORY]'",
    ),
    network: str | None = option(
        "1GbE, 10GbE (by default), 25GbE, 100GbE, EDR, HDR, NDR, or such as 30us,10Gbit/s.",
        metavar="NAME|LATENCY,BANDWIDTH",
        autocompletion=offered("1GbE", "10GbE", "25GbE", "100GbE", "EDR", "HDR", "NDR"),
    ),
    application: str | None = option(
        "stencil (by default), matmul, cholesky, fft, fft3d, sort, hpl, ep or farm.",
        metavar="NAME",
        autocompletion=offered("stencil", "matmul", "cholesky", "fft", "fft3d", "sort", "hpl", "ep", "farm"),
    ),
    parameter: list[str] | None = option("Of the application, such as n=8000. Repeatable.", metavar="NAME=VALUE"),
    kernel: str | None = option("Whose speeds are stated; by default the application's usual one."),
    busy: list[str] | None = option(
        "When others use a node each day, one competitor for each core or N: 'slow1 13:00-18:00'. Repeatable.",
        metavar="'NODE FROM-TO [N]'",
    ),
    output: Path | None = file("SCENARIO.yaml", "the scenario; on standard output if not given"),
    overwrite: Annotated[Overwrite, only_with("output", why="where no file is written")] = False,
) -> None:
    """Write a commented scenario of your cluster to begin with; without --nodes, a terminal is asked for what is open.

    Example: apportion new --nodes 'fast[1-2]: 8 cores 3 Gflop/s, slow[1-2]: 8 cores 1.5 Gflop/s' -o cluster.yaml
    """
    given: dict[str, Any] = {"network": network, "application": application, "kernel": kernel}
    given |= {
        "nodes": nodes,
        "busy": busy,
        "parameters": named_values(parameter or (), "--parameter", "NAME=VALUE, such as n=8000", str),
    }
    asked = not nodes and not as_json() and sys.stdin.isatty() and sys.stderr.isatty()
    if asked:
        with signs.silent():
            output = _ask(given, output)
    if output is not None and output.exists() and not overwrite:
        raise ScenarioError(f"--output: {output} is there already; name another file, or add --overwrite")
    begun = simulator.begun.begin_scenario(**{name: value for name, value in given.items() if value is not None})
    document: dict[str, Any] = {"output": None if output is None else str(output)}
    document |= {"nodes": begun.nodes, "cores": begun.cores, "application": begun.application, "text": begun.text}
    about = f"{begun.application} on {begun.nodes} nodes with {begun.cores} cores"
    said = "" if output is None else f"{output}: {about}; next: apportion advise {output}"
    shown = begun.text if output is None else ""
    finish(document, shown, output, write=lambda path: files.write_text(path, begun.text), said=said)


def _ask(given: dict[str, Any], output: Path | None) -> Path:
    """What is open, each with a default; an answer that cannot be understood is asked for again."""

    def checked(name: str, question: str, default: str, read: Callable[[str], Any]) -> None:
        while given.get(name) is None:
            answer = typer.prompt(question, default=default, err=True, show_default=bool(default))
            try:
                simulator.begun.begin_scenario(
                    **{name: read(answer)} | ({"nodes": given["nodes"]} if name == "busy" else {})
                )
                given[name] = read(answer)
            except ScenarioError as error:
                print("\n".join(error.lines), file=sys.stderr)

    checked("nodes", "Nodes (NAMES: CORES cores SPEED, ...)", simulator.begun.NODES, lambda text: [text])
    checked("network", "Network", simulator.begun.NETWORK, str)
    checked("application", "Application", simulator.begun.APPLICATION, str)
    checked("busy", "When others use a node (NODE FROM-TO; nothing: never)", "", lambda text: [text] if text else [])
    return output or Path(typer.prompt("File to write", default="cluster.yaml", err=True))
