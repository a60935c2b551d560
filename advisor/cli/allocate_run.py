"""`apportion allocate run`: construction runs made for real through a command template."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli.options import LEVEL, Json, Level, print_json
from advisor.cli.progress import progress_lines
from advisor.cli.scenarios import INPUT
from simulator import CalibrationError, Interrupted, ScenarioError, calibration, documents, files, units

if TYPE_CHECKING:
    from advisor.verification.allocations import AllocationPredictions


SHOWN = 3
"""Runs left out that are named; --json has all."""


Command = Annotated[
    str | None,
    typer.Option(
        help="What is run, split without a shell; {N}, {P}, {hostfile} (MPICH), {hostfile_openmpi}, {rankfile}, "
        "{cpus} and {kinds} (of the ranks), {python}, and {pin}, which puts each rank on its processor."
    ),
]
Program = Annotated[str | None, typer.Option(help="lu: our own LU factorisation over MPI, in the place of --command.")]
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
    str | None, typer.Option(help="File in the folder that the program writes its times to, not its output.")
]
Folder = Annotated[Path | None, typer.Option(help="Where the program runs; by default RUNS.work, next to the output.")]
Local = Annotated[
    bool,
    typer.Option(
        "--local", "--pin", help="Ranks on this machine's processors as CLUSTER.yaml says, with real busy loops."
    ),
]
Wait = Annotated[str, typer.Option(help="With --program lu: how ranks wait, yield or poll.")]
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
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="RUNS.csv", help="A row per run; called again, it goes on.")
]


def run(  # noqa: PLR0913, PLR0917 - one per option
    plan: Annotated[Path, typer.Argument(metavar="PLAN.json", help="What `apportion allocate plan -o` wrote.")],
    command: Command = None,
    program: Program = None,
    time: Time = None,
    phases: Phases = None,
    before: Before = None,
    read: Read = None,
    folder: Folder = None,
    local: Local = False,
    wait: Wait = "yield",
    budget: Annotated[str | None, typer.Option(help="In the place of the plan's.")] = None,
    limit: Limit = None,
    model: Model = None,
    level: Level = LEVEL,
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
    chosen = _program((command, program, wait), (time, phases), before or (), read=read, folder=work, local=local)
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
        _print(made, found, document)
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
    for line in table.damage:
        print(f"warning: {line}", file=sys.stderr)
    return table


def _program(
    what: tuple[str | None, str | None, str],
    reading: tuple[str | None, str | None],
    before: Sequence[Path],
    *,
    read: str | None,
    folder: Path,
    local: bool,
) -> "calibration.AllocatedProgram":
    command, own, wait = what
    if (command is None) == (own is None):
        raise ScenarioError("give either --command or --program")
    if own not in {None, "lu"}:
        raise ScenarioError(f"--program: {own!r} is not known; give lu")
    if read is not None and (Path(read).name != read or read in {"", ".", ".."}):
        raise ScenarioError(f"--read: {read!r} is no name of a file in the folder; give one without folders")
    reader = calibration.make_reader(*(("lu", "lu") if own else reading))
    if own:
        return calibration.AllocatedProgram(
            calibration.lu_command(wait, local=local), folder, reader, host_files=_host_files, local=local
        )
    words, templates = calibration.parse_program(command or "", templates=before, local=local)
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
        "kinds": [{name: kind.to_dict()[name] for name in ("name", "pes", "competitors")} for kind in made.kinds],
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
    return {"level": level, "intervals": calibration.summary_of(compared, level=level)} if compared else {}


def _print(made: "calibration.ConstructionPlan", found: "calibration.Campaign", document: dict[str, Any]) -> None:
    from advisor import wording
    from advisor.results import Coverage

    output = document["output"]
    print(f"{found.made} runs made, {found.kept} kept in {output}, {found.spent_s:.3g} s in all")
    if found.dropped:
        more = f" and {len(found.dropped) - SHOWN} more" if len(found.dropped) > SHOWN else ""
        left_out = f"{'; '.join(found.dropped[:SHOWN])}{more}"
        print(f"warning: the budget is used up, left out: {left_out}", file=sys.stderr)
    for line in wording.held_lines(
        documents.from_dict(Coverage, document.get("intervals")), document.get("level", LEVEL)
    ):
        print(line)
    if found.failures:
        return
    size = f"{made.at[-1]:g}"
    print(f"next: apportion allocate fit {output} --model pooled -o model.json")
    print(f"then: apportion allocate advise model.json --kinds {made.kinds_option} --size {size}")
