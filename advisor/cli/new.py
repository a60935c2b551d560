"""`apportion new`: a scenario to begin with."""

import sys
from pathlib import Path
from typing import Annotated, Any

import simulator
from advisor.cli.declared import only_with, option
from advisor.cli.options import Overwrite, file, named_values, offered
from advisor.cli.outputs import finish
from simulator import ScenarioError, files


def new(
    nodes: list[str] | None = option(
        "Kinds of nodes, the speed of one core: 'fast[1-2]: 8 cores 3 Gflop/s, slow[1-2]: 8 cores 1.5 Gflop/s'. "
        "Repeatable. Or those of `scontrol show node`, `sinfo -N -l` or `lscpu -J` in a file: 'nodes.txt: 3 Gflop/s'.",
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
    """Write a commented scenario of your cluster to begin with; what is not said is an example, to be edited.

    Example: apportion new --nodes 'fast[1-2]: 8 cores 3 Gflop/s, slow[1-2]: 8 cores 1.5 Gflop/s' -o cluster.yaml
    """
    if output is not None and output.exists() and not overwrite:
        raise ScenarioError(f"--output: {output} is there already; name another file, or add --overwrite")
    nodes = None if nodes is None else [kind for text in nodes for kind in _kinds(text)]
    named = {"nodes": nodes, "network": network, "application": application, "kernel": kernel, "busy": busy}
    stated: Any = {name: value for name, value in named.items() if value is not None}
    parameters = named_values(parameter or (), "--parameter", "NAME=VALUE, such as n=8000", str)
    begun = simulator.begun.begin_scenario(**stated, parameters=parameters)
    document = {
        "output": None if output is None else str(output),
        "nodes": begun.nodes,
        "cores": begun.cores,
        "application": begun.application,
        "text": begun.text,
    }
    about = f"{begun.application} on {begun.nodes} nodes with {begun.cores} cores"
    said = "" if output is None else f"{output}: {about}; next: apportion advise {output}"
    shown = begun.text if output is None else ""
    finish(document, shown, output, write=lambda path: files.write_text(path, begun.text), said=said)


def _kinds(text: str) -> list[str]:
    """Kinds as they are written, or those of the nodes in a file, with the speed that is written behind its name."""
    from simulator.platform.foreign import nodes_in

    name, _, speed = text.rpartition(":")
    if Path(text).is_file():
        wanted = f"write that of a core behind it, such as '{text}: 3 Gflop/s'"
        raise ScenarioError(f"--nodes: {text} says no speeds; {wanted}")
    if not name or not Path(name).is_file():
        return [text]
    kinds, notes = nodes_in(Path(name), speed.strip())
    for note in notes:
        print(f"warning: {name}: {note}", file=sys.stderr)
    return kinds
