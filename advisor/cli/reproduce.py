"""`apportion reproduce`: the papers' tables, computed again."""

import importlib
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli.allocate import Before, Read
from advisor.cli.options import Json, Seed, folder, offered, print_json
from advisor.cli.progress import progress_lines, timed_work
from simulator import Interrupted, ScenarioError, calibration, files, units

if TYPE_CHECKING:
    from advisor.reproduce.jobs import Given


PAPERS = {
    "allocation": "advisor.reproduce.allocation",
    "apexmap": "advisor.reproduce.apexmap",
    "characterisation": "advisor.reproduce.characterisation",
    "gbbp": "advisor.reproduce.gbbp",
    "jobs": "advisor.reproduce.jobs",
    "scopred": "advisor.reproduce.scopred",
}
"""Name on the command line -> module with `reproduce() -> dict` and `text(result) -> str`."""
LEAST_BUDGET_S, MOST_BUDGET_S = 30.0, 24 * 3600.0
STUDY_SHARE = 0.4
"""Of the budget for the characterisation paper; the rest is for messages."""
PARALLEL_SHARE = 0.1
"""Of the same and beyond it, for kernels on one and two processes."""
BUDGETS = {"apexmap": "3min", "gbbp": "5min", "characterisation": "3min"}
"""Papers that really run something, and about how long by default."""


Paper = Annotated[str, typer.Argument(help=f"{', '.join(PAPERS)} or all.", autocompletion=offered(*PAPERS, "all"))]


@dataclass(frozen=True)
class Asked:
    """What results depend on."""

    recorded: bool
    budget: str | None
    cpu: int | None
    seeds: int
    seed: int
    logs: list[str] | None
    schedules: list[str] | None


Cpu = Annotated[int | None, typer.Option(min=0, help="apexmap, gbbp: processor to pin to; by default the last core.")]
Live = Annotated[bool, typer.Option("--live", help="allocation: the experiment in small, really run here.")]
Command = Annotated[
    str | None,
    typer.Option(help="With --live: an HPL with {pin}, {N} and {P}, as for `allocate run`; else our own LU."),
]
Logs = Annotated[
    list[Path] | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="jobs: KTH-SP2 or SDSC-SP2 (.swf.gz), which do not ship, or a workload of Batsim (.json). Repeatable.",
    ),
]
Schedules = Annotated[
    list[str] | None,
    typer.Option(
        "--schedule",
        metavar="easy|conservative=FILE",
        help="jobs: the workload's jobs as Batsim ran them (jobs.csv). Repeatable.",
    ),
]


def reproduce(  # noqa: PLR0913, PLR0917 - one per option
    paper: Paper = "all",
    recorded: Annotated[bool, typer.Option("--recorded", help="On shipped recordings; nothing is run.")] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            help="About how long real runs may take: gbbp 5min, apexmap 3min, characterisation 3min by default."
        ),
    ] = None,
    cpu: Cpu = None,
    output: Annotated[
        Path | None,
        folder(
            "what is measured and drawn, by default out/PAPER; of jobs cells.csv, if it is named; of all the report too"
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=10_000, help="allocation: how often the surrogate's runs are measured again.")
    ] = 100,
    live: Live = False,
    command: Command = None,
    before: Before = None,
    read: Read = None,
    log: Logs = None,
    schedule: Schedules = None,
    seed: Seed = 1,
    json_output: Json = False,
) -> None:
    """Compute a paper's tables again and compare them with what it printed; some really run for minutes.

    All is every paper; jobs, which needs logs that do not ship, is among them if one is named by --log.

    Example: apportion reproduce all --recorded -o out/papers
    """
    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"paper is {paper!r}; give one of {', '.join(PAPERS)} or all")
    if live:
        _live(paper, (command, before, read), (budget, output), seed=seed, json_output=json_output)
        return
    asked = Asked(recorded, budget, cpu, seeds, seed, list(map(str, log)) if log else None, schedule or None)
    if paper == "all":
        _all(asked, output, json_output=json_output)
        return
    result = _compute(paper, asked, Path("out") / paper if output is None else output, drawn=output is not None)
    if json_output:
        print_json(result)
        return
    print(importlib.import_module(PAPERS[paper]).text(result))


def _all(asked: Asked, output: Path | None, *, json_output: bool) -> None:
    """Every paper, one after the other; exit 1 if one failed while the others were completed."""
    from advisor.reproduce.everything import PAGE, Paper, lines, reproduce_all

    at = Path("out") if output is None else output
    names = [name for name in PAPERS if name != "jobs" or asked.logs is not None]
    papers = [Paper(name, partial(_compute, name, asked, at / name, drawn=output is not None)) for name in names]
    settings = asdict(asked)
    if asked.budget is not None:
        _budget_s(asked.budget)  # a bad one is bad input, not five papers that fail
    if asked.logs is not None:
        settings["inputs"] = _given(asked).inputs  # the same

    def report(name: str, state: str) -> None:
        print(f"{name}: {state}", file=sys.stderr, flush=True)

    document = reproduce_all(papers, settings=settings, folder=output, on_paper=report)
    if json_output:
        print_json(document)
    else:
        if output is None:
            texts = [
                importlib.import_module(PAPERS[entry["name"]]).text(entry["result"])
                for entry in document["papers"]
                if entry["result"]
            ]
            print("\n\n".join(texts) + "\n")
        print("\n".join(lines(document)))
        if output is not None:
            print(f"report: {output / PAGE}")
    if any(entry["state"] != "done" for entry in document["papers"]):
        raise typer.Exit(1)


def _compute(name: str, asked: Asked, folder: Path, *, drawn: bool) -> dict[str, Any]:
    """A paper's result; what is measured and drawn for it goes into the folder, from one process at a time."""
    if name == "jobs":
        from advisor.reproduce import jobs

        return jobs.reproduce(_given(asked), folder if drawn else None)
    if name not in BUDGETS or (asked.recorded and not drawn):
        return _computed(name, asked, folder, drawn=drawn)

    files.make_folder(folder)
    with files.alone(folder):
        return _computed(name, asked, folder, drawn=drawn)


def _computed(name: str, asked: Asked, folder: Path, *, drawn: bool) -> dict[str, Any]:
    module = importlib.import_module(PAPERS[name])
    if name == "scopred":
        return dict(module.reproduce())
    if name == "allocation":
        return dict(module.reproduce(asked.seeds, recorded=asked.recorded))
    if asked.recorded:
        given: dict[str, Any] = {"simulate": True} if name == "characterisation" else {}
        if drawn:
            given["figures" if name == "characterisation" else "folder"] = folder
        return dict(module.reproduce(**given))
    budget_s = _budget_s(asked.budget or BUDGETS[name])
    if name == "gbbp":
        return dict(module.reproduce(_run_gbbp(folder, budget_s=budget_s, cpu=asked.cpu, seed=asked.seed)))
    if name == "apexmap":
        return dict(module.reproduce(_run_apexmap(folder, budget_s=budget_s, cpu=asked.cpu, seed=asked.seed), folder))
    measured = _run_characterisation(folder, budget_s=budget_s, seed=asked.seed)
    return dict(module.reproduce(*measured, simulate=True))


def _given(asked: Asked) -> "Given":
    """The logs that were named."""
    from advisor.reproduce import jobs

    return jobs.read(asked.logs or (), asked.schedules or ())


def _budget_s(text: str) -> float:

    seconds = units.parse_duration(text, field="--budget")
    if not LEAST_BUDGET_S <= seconds <= MOST_BUDGET_S:
        raise ScenarioError(f"--budget is {text!r}; give {LEAST_BUDGET_S:g}s to {MOST_BUDGET_S / 3600:g}h")
    return seconds


def _run_characterisation(output: Path, *, budget_s: float, seed: int) -> list[Any]:
    """The study of the methods, message times, then parallel kernels by real processes; progress on standard error."""
    from advisor.cli.characterise import hardware_here
    from advisor.reproduce import characterisation_study, parallel_study

    files.make_folder(output)
    model = hardware_here(seed=seed)
    with progress_lines(STUDY_SHARE * budget_s) as on_progress:
        study = characterisation_study.measure(
            output, model, budget_s=STUDY_SHARE * budget_s, seed=seed, on_progress=on_progress
        )
    parallel_s = PARALLEL_SHARE * budget_s
    budget_s *= 1 - STUDY_SHARE

    with timed_work(budget_s, f"messages, tables and figures in {output}") as on_progress:
        tables, warnings = characterisation_study.measure_messages(
            output, budget_s=budget_s, seed=seed, on_progress=on_progress
        )
    plan = parallel_study.Plan.of(parallel_study.KERNELS, link=characterisation_study.link_model(output, tables))
    with progress_lines(parallel_s) as on_progress:
        parallel = parallel_study.study(plan, model, budget_s=parallel_s, seed=seed, on_progress=on_progress)
    return [tables, warnings, output, study, parallel]


def _run_apexmap(output: Path, *, budget_s: float, cpu: int | None, seed: int) -> "calibration.MeasuredMemory":
    """Times per word on one PE, with progress on standard error."""
    from advisor.reproduce import apexmap

    machine = simulator.this_machine()
    with timed_work(budget_s, f"runs, kept in {output}") as on_progress:
        return apexmap.measure(
            output,
            budget_s=budget_s,
            cpu=machine.cores[-1].cpu if cpu is None else cpu,
            seed=seed,
            on_progress=on_progress,
        )


def _run_gbbp(output: Path, *, budget_s: float, cpu: int | None, seed: int) -> dict[str, Any]:
    """Table 1 by real runs, with progress on standard error."""
    from advisor.reproduce import gbbp_live

    machine = simulator.this_machine()
    for line in gbbp_live.load_warnings(machine):
        print(f"warning: {line}", file=sys.stderr)
    with timed_work(budget_s, f"runs, points in {output}") as on_progress:
        return gbbp_live.table(
            output,
            budget_s=budget_s,
            cpu=machine.cores[-1].cpu if cpu is None else cpu,
            seed=seed,
            on_progress=on_progress,
        )


# `apportion reproduce allocation --live`: the allocation paper's experiment in small, on this machine.


LIVE_BUDGET = "20min"
LEAST_LIVE_S = 30.0


def _live(
    paper: str,
    program: tuple[str | None, Sequence[Path] | None, str | None],
    how: tuple[str | None, Path | None],
    *,
    seed: int,
    json_output: bool,
) -> None:
    """Run the experiment and show it; every run is kept in the folder, and it goes on there.

    Parameters
    ----------
    program
        Command template, the files written before each run, and the file that times are read from.
    how
        Budget and folder.
    """
    from advisor.reproduce import allocation_live

    if paper != "allocation":
        raise ScenarioError(f"--live goes with allocation, not with {paper}")
    simulator.require_linux()
    budget_s = units.parse_duration(how[0] or LIVE_BUDGET, field="--budget")
    if budget_s < LEAST_LIVE_S:
        raise ScenarioError(f"--budget: {how[0]!r} is too little for the experiment; allow {LEAST_LIVE_S:g}s or more")
    folder = how[1] or Path("out") / "allocation"
    command, before, read = program
    chosen = allocation_live.LiveProgram(command, tuple(before or ()), read)
    try:
        with timed_work(budget_s, f"runs, kept in {folder}") as on_progress:
            found = allocation_live.live(folder, budget_s=budget_s, seed=seed, program=chosen, on_progress=on_progress)
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted; {folder} keeps every run made, the same command goes on from there") from error
    if json_output:
        print_json(found)
    else:
        print(allocation_live.text(found))
