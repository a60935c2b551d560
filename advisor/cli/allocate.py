"""`apportion allocate`: how many processes to run on which PEs, by a model fitted to real runs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.cli.options import Json, offered, print_warnings
from advisor.cli.outputs import finish
from advisor.cli.scenarios import INPUT
from simulator import ScenarioError, calibration, files

if TYPE_CHECKING:
    from advisor.advise.process_counts import ProcessCountAdvice

KINDS_HELP = "Kinds that may be used: NAME:PES:MOST (how many PEs, most processes on one), separated by commas."


def fit(
    runs: Annotated[
        Path,
        typer.Argument(
            metavar="RUNS.csv",
            help="Columns N, time_s and per kind KIND.pes, KIND.procs, perhaps KIND.comp_s, KIND.comm_s.",
            **INPUT,
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="pooled|paper",
            help="The model's form; paper is Kishimoto's and Ichikawa's.",
            autocompletion=offered("pooled", "paper"),
        ),
    ] = "pooled",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the model (JSON).")] = None,
    as_json: Json = False,
) -> None:
    """Fit a model to real runs of a program on kinds of PEs; repeated rows are repetitions.

    Example: apportion allocate fit scenarios/tutorial/allocation-runs.csv -o model.json
    """
    fitted = calibration.fit_allocation_table(runs, method=model)
    document = fitted.to_dict()
    write = None if output is None else partial(calibration.save_allocation_fit, fitted, output)
    finish(document, lambda: _print_fit(fitted, runs), as_json=as_json, write=write, said=f"model written to {output}")


def advise(  # noqa: PLR0913, PLR0917 - one per option
    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="A model that `apportion allocate fit` wrote.")],
    kinds: Annotated[str, typer.Option(metavar="NAME:PES:MOST,...", help=KINDS_HELP)],
    size: Annotated[float, typer.Option(metavar="N", help="The problem size to run.")],
    level: Annotated[float, typer.Option(help="Probability that an interval holds, between 0 and 1.")] = 0.9,
    memory: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=SIZE", help="Memory that the processes of one PE may use. Repeatable."),
    ] = None,
    footprint: Annotated[
        str | None,
        typer.Option(metavar="FORMULA", help="Bytes of one process, by N and P (processes in all): '8*N**2/P'."),
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, metavar="K", help="Show the K best configurations.")] = None,
    hostfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write host files: FILE for MPICH, FILE.openmpi, .rankfile, .slurm."),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=HOSTS", help="For the host files: fast=node1,slow=node[2-4]. Repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank every configuration at a problem size and say which to run, with interval, regret and switch points.

    Example: apportion allocate advise model.json --kinds fast:1:4,slow:3:2 --size 6400
    """
    from advisor.advise.process_counts import advise_allocation, check_kinds, parse_hosts, parse_kinds, render_choice

    named = parse_kinds(kinds)
    on_hosts = None if hosts is None else parse_hosts(hosts, named)
    if hostfile is not None:
        check_kinds(named, on_hosts)
    limits, fitted = _limits(memory, footprint, named), calibration.load_allocation_fit(model)
    inputs = {str(model): files.digest(files.read_bytes(model))}
    with files.understood(model, "apportion allocate fit"):
        advice = advise_allocation(fitted, named, size, level=level, limits=limits, top=top, inputs=inputs)
        document = advice.to_dict()
    write = None if hostfile is None else lambda: document.update(_write_hosts(advice, hostfile, on_hosts))
    shown = {} if top is None else {"top": top}
    finish(document, lambda: print(render_choice(document, **shown)), as_json=as_json, write=write, said=None)
    if hostfile is not None and not as_json:
        print(f"\nhost files written: {', '.join(document['hostfiles'])}\n{document['commands']}", end="")


def _limits(memory: list[str] | None, footprint: str | None, kinds: dict[str, tuple[int, int]]) -> Any:
    """What memory allows; both options or none."""
    from advisor.advise.process_counts import Limits, parse_memory

    if memory is None and footprint is None:
        return None
    if memory is None or footprint is None:
        given, missing = ("--memory", "--footprint") if footprint is None else ("--footprint", "--memory")
        raise ScenarioError(f"{given} has no effect without {missing}; give both or neither")
    return Limits(parse_memory(memory, kinds), footprint)


def _write_hosts(advice: "ProcessCountAdvice", hostfile: Path, hosts: dict[str, list[str]] | None) -> dict[str, Any]:
    """Write the host files; their names, and the commands that use them."""
    from advisor.advise.process_counts import host_commands, host_files, layout_of_advice

    layout = layout_of_advice(advice, hosts)
    texts = host_files(layout, str(hostfile))
    for name, text in texts.items():
        files.write_text(Path(name), text)
    return {"hostfiles": list(texts), "commands": host_commands(layout, str(hostfile))}


def _print_fit(fitted: "calibration.AllocationFit", runs: Path) -> None:
    measured = fitted.measured
    sizes = ", ".join(f"{size:g}" for size in measured.sizes)
    most = [f"{kind} up to {pes}x{each}" for kind, (pes, each) in zip(measured.kinds, measured.most, strict=True)]
    print(f"{runs}: {measured.runs} runs of {len(measured.allocations)} configurations at sizes {sizes}")
    print(f"kinds (PEs x processes on each): {', '.join(most)}; at most {measured.most_processes} processes in all")
    print(f"model: {fitted.method}")
    print(f"{'':<16}{'runs':>6}{'mean error':>12}{'largest':>10}{'within 90 % interval':>24}")
    for name, found in fitted.quality.items():
        print(
            f"{name:<16}{found['runs']:>6}{100 * found['mean_error']:>10.1f} %{100 * found['largest_error']:>8.1f} %"
            f"{100 * found['inside']:>22.0f} %"
        )
    print_warnings(fitted.warnings)
