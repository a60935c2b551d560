"""`apportion allocate plan | run | fit | advise`: how many processes to run on which PEs, by real runs."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli.declared import Given, Only, is_given, only_with
from advisor.cli.options import LEVEL, Json, Level, Seed, file, print_json, print_warnings
from advisor.cli.outputs import finish
from advisor.cli.progress import progress_lines
from advisor.cli.scenarios import INPUT, SCENARIO
from simulator import CalibrationError, Interrupted, ScenarioError, calibration, documents, files, units

if TYPE_CHECKING:
    from advisor.advise.process_counts import ProcessCountAdvice
    from advisor.verification.allocations import AllocationPredictions


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
    output: Annotated[Path | None, file("MODEL.json", "the model")] = None,
    as_json: Json = False,
) -> None:
    """Fit a model to real runs of a program on kinds of PEs; repeated rows are repetitions.

    Example: apportion allocate fit scenarios/tutorial/allocation-runs.csv -o model.json
    """
    fitted = calibration.fit_allocation_table(runs)
    document = fitted.to_dict()
    write = None if output is None else partial(calibration.save_allocation_fit, fitted, output)
    finish(document, lambda: _print_fit(fitted, runs), as_json=as_json, write=write, said=f"model written to {output}")


def advise(  # noqa: PLR0913, PLR0917 - one per option
    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="A model that `apportion allocate fit` wrote.")],
    kinds: Annotated[str, typer.Option(metavar="NAME:PES:MOST,...", help=KINDS_HELP)],
    size: Annotated[float, typer.Option(metavar="N", help="The problem size to run.")],
    level: Level = LEVEL,
    memory: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=SIZE", help="Memory that the processes of one PE may use. Repeatable."),
        only_with("footprint"),
    ] = None,
    footprint: Annotated[
        str | None,
        typer.Option(metavar="FORMULA", help="Bytes of one process, by N and P (processes in all): '8*N**2/P'."),
        only_with("memory"),
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, metavar="K", help="Show the K best configurations.")] = None,
    hostfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write host files: FILE for MPICH, FILE.openmpi, .rankfile, .slurm."),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=HOSTS", help="For the host files: fast=node1,slow=node[2-4]. Repeatable."),
        only_with("hostfile"),
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
    """What memory allows."""
    from advisor.advise.process_counts import Limits, parse_memory

    if memory is None or footprint is None:
        return None
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
    print(f"{'':<16}{'runs':>6}{'mean error':>12}{'largest':>10}{'within 90 % interval':>24}")
    for name, found in fitted.quality.items():
        print(
            f"{name:<16}{found['runs']:>6}{100 * found['mean_error']:>10.1f} %{100 * found['largest_error']:>8.1f} %"
            f"{100 * found['inside']:>22.0f} %"
        )
    print_warnings(fitted.warnings)


# `apportion allocate plan`: which few runs to make so that the best processes per PE can be found.


MOST_SIZE = 10**9


def plan(  # noqa: PLR0913, PLR0917 - one per option
    cluster: Annotated[
        Path, typer.Argument(metavar="CLUSTER.yaml", help="A scenario, or a file of its platform.", **SCENARIO)
    ],
    sizes: Annotated[str, typer.Option(metavar="N,N,...", help="Problem sizes that may be run, three or more.")],
    at: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Sizes that advice is wanted for; by default twice the largest."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Seconds for all runs, such as 600s; by default 15 % of running everything at those sizes."),
    ] = None,
    most: Annotated[
        str | None, typer.Option(metavar="KIND=M,...", help="Most processes on each PE, such as fast=4,slow=2.")
    ] = None,
    work: Annotated[
        str, typer.Option(help="Units of volume of a run over N; with the speeds it guesses what runs cost.")
    ] = "2/3*N**3",
    kernel: Annotated[
        str | None, typer.Option(help="Kernel whose speeds are taken; by default dgemm, or the first one known.")
    ] = None,
    start: Annotated[str, typer.Option(help="How long the processes of a run take to start.")] = "0.5s",
    seed: Seed = 1,
    output: Annotated[Path | None, file("PLAN.json", "the plan")] = None,
    json_output: Json = False,
) -> None:
    """Propose construction runs with their cost: few, cheap ones that show what a model has to know.

    Alike PEs of the file are a kind, named after what their names have in common. Each kind runs alone, with every
    number of processes per PE, on several PEs, and together with the others; then whatever makes estimates at the sizes
    asked about surer per second. Example:

    apportion allocate plan cluster.yaml --sizes 400,800,1200 --at 2400 --budget 600s --most fast=4,slow=2 -o plan.json
    """
    from advisor.advise.process_counts.construction import Wishes, plan_construction

    asked = _sizes(sizes, "--sizes")
    wishes = Wishes(
        asked,
        (2 * max(asked),) if at is None else _sizes(at, "--at"),
        None if budget is None else units.parse_duration(budget, field="--budget"),
        units.parse_duration(start, field="--start"),
        seed,
    )
    made = plan_construction(simulator.load_platform(cluster), wishes, most=_most(most), work=work, kernel=kernel)
    document = made.to_dict()
    write = None if output is None else partial(files.write_json, output, document)
    finish(
        document,
        lambda: _print(made),
        as_json=json_output,
        write=write,
        said=f"plan written to {output}; next: apportion allocate run {output} --command ... -o runs.csv",
    )


def _sizes(text: str, field: str) -> tuple[float, ...]:
    cells = [cell.strip() for cell in text.split(",")]
    wrong = [cell for cell in cells if not (cell.isascii() and cell.isdigit() and 0 < int(cell[:12]) <= MOST_SIZE)]
    if wrong:
        raise ScenarioError(f"{field}: {wrong[0]!r} is no size; give whole numbers from 1 to {MOST_SIZE}")
    if len({int(cell) for cell in cells}) < len(cells):
        raise ScenarioError(f"{field}: {text!r} names a size twice; name each once")
    return tuple(sorted(map(float, cells)))


def _most(text: str | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for cell in text.split(",") if text else ():
        name, mark, count = (part.strip() for part in cell.partition("="))
        if not (mark and name and count.isascii() and count.isdigit() and 1 <= int(count) <= 64) or name in found:
            raise ScenarioError(f"--most: {cell!r} does not fit; give KIND=M with M from 1 to 64, each kind once")
        found[name] = int(count)
    return found


def _print(made: "calibration.ConstructionPlan") -> None:
    for kind in made.kinds:
        speed = "speed not known" if kind.speed is None else units.show_rate(kind.speed, "units/s")
        load = f", {kind.competitors:g} competitors" if kind.competitors else ""
        print(f"kind {kind.name}: {len(kind.pes)} PEs, up to {kind.most} processes on each, {speed}{load}")
    inside = [run for run in made.runs if not run.reserve]
    print(f"{'run':<44}{'times':>6}{'seconds':>10}  why")
    for run in inside:
        print(f"{made.label(*run.key):<44}{run.repetitions:>6}{run.expected_s:>10.3g}  {run.why}")
    count = sum(run.repetitions for run in inside)
    print(f"{count} runs, about {made.expected_s:.3g} s of the budget of {made.budget_s:.3g} s; ", end="")
    sizes = ", ".join(f"{size:g}" for size in made.at)
    print(f"every configuration at N {sizes} would take about {made.full_s:.3g} s ", end="")
    print(f"({made.expected_s / made.full_s:.1%})")
    if reserve := sum(run.repetitions for run in made.runs if run.reserve):
        print(f"{reserve} more runs are listed in case these cost less than guessed")
    print_warnings(made.notes)


# `apportion allocate run`: construction runs made for real through a command template.


SHOWN = 3
"""Runs left out that are named; --json has all."""


def _read_times(given: Given) -> str:
    timed = is_given(given["time"]) or is_given(given["phases"])
    return "with --time or --phases" if timed else "without --time and --phases"


Command = Annotated[
    str,
    typer.Option(
        help="What is run, split without a shell; {N}, {P}, {hostfile} (MPICH), {hostfile_openmpi}, {rankfile}, "
        "{cpus} and {kinds} (of the ranks), {python}, and {pin}, which puts each rank on its processor."
    ),
]
Time = Annotated[
    str | None,
    typer.Option(help="Regular expression with a group (time_s) over the output, or hpl; else the wall clock."),
]
Phases = Annotated[
    str | None,
    typer.Option(help="One with groups kind, comp_s and comm_s, or hpl: its detailed timing, where it has one."),
]
Before = Annotated[
    list[Path] | None,
    typer.Option(help="File with placeholders, such as HPL.dat, written into the folder before each run."),
]
Read = Annotated[
    str | None,
    typer.Option(help="File in the folder that the program writes its times to, not its output."),
    Only(("with --time or --phases",), _read_times, why="where the wall clock counts"),
]
Folder = Annotated[Path | None, typer.Option(help="Where the program runs; by default RUNS.work, next to the output.")]
Local = Annotated[
    bool,
    typer.Option(
        "--local", "--pin", help="Ranks on this machine's processors as CLUSTER.yaml says, with real busy loops."
    ),
]
Limit = Annotated[
    str | None, typer.Option(help="No run may take longer; by default 10 times what is expected, at least 20s.")
]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL.json",
        help="What `allocate fit` wrote before: its predictions are compared with the runs.",
        **INPUT,
    ),
]
Output = Annotated[Path, file("RUNS.csv", "a row per run; called again, it goes on")]


def run(  # noqa: PLR0913, PLR0917 - one per option
    plan: Annotated[Path, typer.Argument(metavar="PLAN.json", help="What `apportion allocate plan -o` wrote.")],
    command: Command,
    time: Time = None,
    phases: Phases = None,
    before: Before = None,
    read: Read = None,
    folder: Folder = None,
    local: Local = False,
    budget: Annotated[str | None, typer.Option(help="In the place of the plan's.")] = None,
    limit: Limit = None,
    model: Model = None,
    level: Annotated[Level, only_with("model")] = LEVEL,
    output: Output = Path("runs.csv"),
    json_output: Json = False,
) -> None:
    """Make the runs of a plan, shuffled, within its budget; each finished run is on disk at once.

    Costs are corrected by what is measured, and what the budget does not pay for is left out. A run that fails, hangs
    or reports no time is named, and exit code 1 follows; the others are kept. With a model, what it predicted and the
    runs made now are compared, and kept for `apportion history coverage`. Example:

    apportion allocate run plan.json --command 'mpiexec -f {hostfile} -n {P} ./xhpl' --before HPL.dat --time hpl
    """
    from advisor.verification.allocations import AllocationPredictions

    made = calibration.read_plan(plan)
    simulator.require_linux()
    work = output.with_name(f"{output.stem}.work") if folder is None else folder
    limits = calibration.Limits(
        made.budget_s if budget is None else units.parse_duration(budget, field="--budget"),
        None if limit is None else units.parse_duration(limit, field="--limit"),
    )
    chosen = _program(command, (time, phases), before or (), read=read, folder=work, local=local)
    _check_hosts(made, chosen)
    predicted = None if model is None else AllocationPredictions(model, [kind.name for kind in made.kinds])
    files.make_folder(work)
    files.make_folder(output.parent)
    try:
        with files.alone(output), progress_lines(limits.budget_s) as on_progress:
            table = _table(made, chosen, output)
            before_now = len(table.done)
            found = calibration.make_runs(
                made, chosen, table, limits=limits, on_run=lambda label, _, share: on_progress(label, min(share, 1.0))
            )
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted; {output} keeps every run made, the same command goes on from there") from error
    document = _document(made, found, output) | _judged(predicted, table, before_now, level)
    if json_output:
        print_json(document)
    else:
        _print_runs(made, found, document)
    if found.failures:
        raise CalibrationError([*found.failures, f"{found.kept} runs kept in {output}"])


def _table(
    made: "calibration.ConstructionPlan", chosen: "calibration.AllocatedProgram", output: Path
) -> "calibration.RunTable":
    """The rows that are kept, those of earlier calls first; says what of them was damaged."""
    table = calibration.RunTable(
        output,
        [kind.name for kind in made.kinds],
        phases=chosen.reader.tells_phases,
        about=_about(made, chosen),
        machine=simulator.this_machine().to_dict(),
    )
    for line in table.warnings:
        print(f"warning: {line}", file=sys.stderr)
    return table


def _program(
    command: str,
    reading: tuple[str | None, str | None],
    before: Sequence[Path],
    *,
    read: str | None,
    folder: Path,
    local: bool,
) -> "calibration.AllocatedProgram":
    if read is not None and (Path(read).name != read or read in {"", ".", ".."}):
        raise ScenarioError(f"--read: {read!r} is no name of a file in the folder; give one without folders")
    reader = calibration.make_reader(*reading)
    words, templates = calibration.parse_program(command, templates=before, local=local)
    return calibration.AllocatedProgram(words, folder, reader, templates, read, _host_files, local=local)


def _check_hosts(made: "calibration.ConstructionPlan", chosen: "calibration.AllocatedProgram") -> None:
    """Whether all hosts of a plan can stand in host files, where the command asks for any."""
    from advisor.advise.export.layout import ADVICE, check_hosts

    if chosen.wants_host_files:
        check_hosts((pe.host for kind in made.kinds for pe in kind.pes), "platform: node", advice=ADVICE)


def _host_files(ranks: "Sequence[calibration.PlacedRank]") -> dict[str, str]:
    """As launchers read them; host names that they do not take are refused."""
    from advisor.advise.export.hosts import mpich_hostfile, openmpi_hostfile, openmpi_rankfile
    from advisor.advise.export.layout import ADVICE, Layout, Rank, check_hosts

    check_hosts((rank.pe.host for rank in ranks), "platform: node", advice=ADVICE)
    places = tuple(Rank(rank.pe.host, rank.pe.name, rank.pe.cpu, number, 1) for number, rank in enumerate(ranks))
    layout = Layout("program", places)
    return {
        "hostfile": mpich_hostfile(layout),
        "hostfile.openmpi": openmpi_hostfile(layout),
        "rankfile.openmpi": openmpi_rankfile(layout),
    }


def _about(made: "calibration.ConstructionPlan", chosen: "calibration.AllocatedProgram") -> dict[str, Any]:
    """What must be the same for runs to stand in one table."""
    time = chosen.reader.time
    return {
        "kinds": [
            {name: documents.to_dict(kind)[name] for name in ("name", "pes", "competitors")} for kind in made.kinds
        ],
        "command": list(chosen.words),
        "time": None if time is None else time.pattern,
        "files": dict(chosen.templates),
        "local": chosen.local,
    }


def _document(made: "calibration.ConstructionPlan", found: "calibration.Campaign", output: Path) -> dict[str, Any]:
    return {
        "command": "allocate run",
        "output": str(output),
        "runs_made": found.made,
        "runs_kept": found.kept,
        "spent_s": found.spent_s,
        "budget_s": made.budget_s,
        "dropped": found.dropped,
        "failures": found.failures,
        "kinds": made.kinds_option,
    }


def _judged(
    predicted: "AllocationPredictions | None", table: "calibration.RunTable", before_now: int, level: float
) -> dict[str, Any]:
    """How often the model's intervals held, where one was named; each comparison is kept."""
    compared = () if predicted is None else predicted.compare(table.done[before_now:], level=level)
    calibration.keep_comparisons(compared)
    summary = calibration.summary_of(compared, level=level)
    return {"level": level, "intervals": documents.to_dict(summary)} if compared else {}


def _print_runs(made: "calibration.ConstructionPlan", found: "calibration.Campaign", document: dict[str, Any]) -> None:
    from advisor import wording
    from simulator.calibration import Coverage

    output = document["output"]
    print(f"{found.made} runs made, {found.kept} kept in {output}, {found.spent_s:.3g} s in all")
    if found.dropped:
        more = f" and {len(found.dropped) - SHOWN} more" if len(found.dropped) > SHOWN else ""
        left_out = f"{'; '.join(found.dropped[:SHOWN])}{more}"
        print(f"warning: the budget is used up, left out: {left_out}", file=sys.stderr)
    if intervals := document.get("intervals"):
        print(*wording.held_lines(documents.read(Coverage, intervals), document["level"]), sep="\n")
    if found.failures:
        return
    size = f"{made.at[-1]:g}"
    print(f"next: apportion allocate fit {output} -o model.json")
    print(f"then: apportion allocate advise model.json --kinds {made.kinds_option} --size {size}")
