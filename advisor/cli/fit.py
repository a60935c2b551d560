"""`apportion fit`: a model from runs: of a cost formula, or of processes on kinds of PEs, planned and made here."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import simulator
from advisor.cli.declared import Given, Only, argument, is_given, only_with, only_without, option
from advisor.cli.inputs import INPUT
from advisor.cli.models import allocation_blocks, lines, plan_blocks
from advisor.cli.options import APP, LEVEL, VERSION, Level, Seed, above_0, file, named_values, whole_numbers
from advisor.cli.outputs import finish, show
from advisor.cli.progress import goes_on, of_time
from simulator import CalibrationError, ScenarioError, blocks, calibration, documents, files, units

MOST_PROCESSES = 64
"""On one PE."""
SHOWN = 3
"""Runs left out that are named; --json has all."""


def _runs_of(given: Given) -> str | None:
    if not given["runs"].is_file():
        return None
    return "with a run history" if calibration.runs_kind(given["runs"]) == "history" else "with a CSV file"


def _task(given: Given) -> str:
    return next((f"with --{task}" for task in ("plan", "run", "formula") if is_given(given[task])), "without --formula")


def _making(given: Given) -> str | None:
    mode = _task(given)
    return mode if mode in {"with --plan", "with --run"} else None


PLAN, RUN, FORMULA = only_with("plan"), only_with("run"), only_with("formula")


@dataclass(frozen=True)
class Formulas:
    """A cost formula over the columns of a table or a history."""

    formula: list[str] | None = option(
        "Cost formula over the columns, or COLUMN=FORMULA for one part. Repeatable. Without one the rows are "
        "runs on kinds of PEs: columns N, time_s, KIND.pes, KIND.procs, perhaps KIND.comp_s, KIND.comm_s.",
        Only(("without --plan and --run",), _making),
    )
    response: list[str] | None = option(
        "Column of measured seconds; several are parts of a run and are summed.", FORMULA
    )
    method: str = option(
        "default, ols (plain least squares) or relative (errors in percent).", FORMULA, default="default"
    )
    application: Annotated[str | None, APP, FORMULA] = None
    version: Annotated[str | None, VERSION, FORMULA, Only(("with a run history",), _runs_of)] = None


@dataclass(frozen=True)
class Planned:
    """Which runs of a program are worth making."""

    plan: bool = option(
        "Say which few, cheap runs of a program to make on kinds of PEs, and their cost.", only_without("run")
    )
    sizes: str | None = option("Problem sizes that may be run, three or more.", PLAN, metavar="N,N,...")
    at: str | None = option("Sizes that advice is wanted for; by default twice the largest.", PLAN, metavar="N,N,...")
    most: str | None = option("Most processes on each PE, such as fast=4,slow=2.", PLAN, metavar="KIND=M,...")
    work: str = option(
        "Units of volume of a run over N; with the speeds it guesses what runs cost.", PLAN, default="2/3*N**3"
    )
    kernel: str | None = option("Kernel whose speeds are taken; by default dgemm, or the first one known.", PLAN)
    start: str = option("How long the processes of a run take to start.", PLAN, default="0.5s")
    seed: Annotated[Seed, PLAN] = 1


@dataclass(frozen=True)
class Made:
    """What is run by a plan, and how its times are read."""

    run: bool = option("Make the runs of a plan, within its budget; called again, it goes on.")
    command: str | None = option(
        "What is run, split without a shell; {N}, {P}, {hostfile} (MPICH), {hostfile_openmpi}, {rankfile}, "
        "{cpus} and {kinds} (of the ranks), {python}, and {pin}, which puts each rank on its processor.",
        RUN,
    )
    time: str | None = option(
        "Regular expression with a group (time_s) over the output, or hpl; else the wall clock.", RUN
    )
    phases: str | None = option(
        "One with groups kind, comp_s and comm_s, or hpl: its detailed timing, where it has one.", RUN
    )
    before: list[Path] | None = option(
        "File with placeholders, such as HPL.dat, written into the folder before each run.", RUN
    )
    local: bool = option(
        "Ranks on this machine's processors as CLUSTER.yaml says, with real busy loops.",
        RUN,
        names=("--local", "--pin"),
    )
    limit: str | None = option("No run may take longer; by default 10 times what is expected, at least 20s.", RUN)
    model: Path | None = option(
        "What `fit` made of earlier runs: its predictions are compared with the runs.",
        RUN,
        metavar="MODEL.json",
        **INPUT,
    )
    level: Annotated[Level, only_with("model")] = LEVEL


def fit(
    formulas: Formulas,
    planned: Planned,
    made: Made,
    runs: Path = argument(
        "CSV with a header, one run per row, or a run history (SQLite); with --plan the scenario of a cluster, "
        "with --run a plan.",
        metavar="RUNS",
        **INPUT,
    ),
    budget: str | None = option(
        "Seconds for all runs, such as 600s; by default 15 % of running everything at those sizes, or the plan's.",
        Only(("with --plan", "with --run"), _task),
    ),
    output: Path | None = file(
        "MODEL.json", "the model; with --plan the plan, with --run a row per run, runs.csv by default"
    ),
) -> None:
    """Fit a model to measured runs: coefficients of a cost formula, or times of processes on kinds of PEs.

    Each top-level summand of the formula gets a coefficient. For a program that nobody changes --plan says which few
    runs show how many processes to give to which PEs, --run makes them, and `advise` ranks. Examples:

    apportion fit runs.csv --formula 'N**3/P + N**2*log(P)' -o model.json

    apportion fit cluster.yaml --plan --sizes 400,800,1200 --at 2400 --budget 600s --most fast=4,slow=2 -o plan.json

    apportion fit plan.json --run --command 'mpiexec -f {hostfile} -n {P} ./xhpl' --before HPL.dat --time hpl
    """
    if planned.plan:
        _plan(runs, planned, budget, output)
    elif made.run:
        _run(runs, made, budget, output or Path("runs.csv"))
    elif not formulas.formula:
        fitted = calibration.fit_allocation_table(runs)
        write = partial(calibration.save_allocation_fit, fitted)
        finish(fitted.to_dict(), allocation_blocks(fitted, runs), output, write=write)
    else:
        named: Any = {name: getattr(formulas, name) for name in ("method", "application", "version")}
        by_formula = calibration.fit_table(runs, formulas.formula, responses=formulas.response or (), **named)
        _finish(by_formula, output)


def _finish(fitted: "calibration.RuntimeFit", output: Path | None) -> None:
    from advisor.report.models import fit_page

    formulas = {part.response: part.formula.text for part in fitted.model.parts}
    written = {} if output is None else {"Model": str(output)}
    page = fit_page(fitted.diagnostics, formulas, fitted.model.warnings)
    write = partial(calibration.save_runtime_fit, fitted)
    finish(fitted.to_dict(), page, output, write=write, said=written)


def _plan(cluster: Path, planned: Planned, budget: str | None, output: Path | None) -> None:
    """Propose construction runs with their cost: few, cheap ones that show what a model has to know."""
    from advisor.advise.process_counts.construction import Wishes, plan_construction

    if planned.sizes is None:
        raise ScenarioError("--plan needs --sizes, such as 400,800,1200; give them")
    sizes = _sizes(planned.sizes, "--sizes")
    wished = Wishes(
        sizes,
        (2 * max(sizes),) if planned.at is None else _sizes(planned.at, "--at"),
        None if budget is None else units.parse_duration(budget, field="--budget"),
        units.parse_duration(planned.start, field="--start"),
        planned.seed,
    )
    kinds = planned.most.split(",") if planned.most else ()
    most = named_values(
        kinds, "--most", f"KIND=M with M from 1 to {MOST_PROCESSES}", partial(above_0, most=MOST_PROCESSES)
    )
    asked: Any = {"most": most, "work": planned.work, "kernel": planned.kernel}
    made = plan_construction(simulator.load_platform(cluster), wished, **asked)
    document = made.to_dict()
    said = f"plan written to {output}; next: apportion fit {output} --run --command ... -o runs.csv"
    write, shown = partial(files.write_json, document=document), plan_blocks(made)
    finish(document, shown, output, write=write, said=said if output is not None else "")


def _sizes(text: str, field: str) -> tuple[float, ...]:
    found = whole_numbers(text, field)
    if len({*found}) < len(found):
        raise ScenarioError(f"{field}: {text!r} names a size twice; name each once")
    return tuple(sorted(map(float, found)))


def _run(plan: Path, asked: Made, budget: str | None, output: Path) -> None:
    """Make the runs of a plan, shuffled, within its budget; each finished run is on disk at once."""
    from advisor import wording
    from advisor.verification.allocations import AllocationPredictions

    if asked.command is None:
        raise ScenarioError("--run needs --command; give the program to run")
    made = calibration.read_plan(plan)
    simulator.require_linux()
    work = output.with_name(f"{output.stem}.work")  # where the program runs
    limits = calibration.Limits(
        made.budget_s if budget is None else units.parse_duration(budget, field="--budget"),
        None if asked.limit is None else units.parse_duration(asked.limit, field="--limit"),
    )
    chosen = _chosen(asked, asked.command, work, made)
    predicted = None if asked.model is None else AllocationPredictions(asked.model, [kind.name for kind in made.kinds])
    files.make_folder(work)
    files.make_folder(output.parent)
    with goes_on(f"{output} keeps every run made"), files.alone(output):
        progress = of_time(limits.budget_s)
        table = _table(made, chosen, output)
        before_now = len(table.done)
        found = calibration.make_runs(
            made, chosen, table, limits=limits, on_run=lambda label, _, share: progress(label, min(share, 1.0))
        )
    compared = () if predicted is None else predicted.compare(table.done[before_now:], level=asked.level)
    calibration.keep_comparisons(compared)
    summary = calibration.summary_of(compared, level=asked.level) if compared else None
    judged = {} if summary is None else {"level": asked.level, "intervals": documents.to_dict(summary)}
    held = [] if summary is None else wording.held_lines(summary, asked.level)
    spent = {"spent_s": found.spent_s, "budget_s": made.budget_s, "dropped": found.dropped, "failures": found.failures}
    runs = {"output": str(output), "runs_made": found.made, "runs_kept": found.kept, "kinds": made.kinds_option}
    show(runs | spent | judged, [_told(made, found, output, held)])
    if found.failures:
        raise CalibrationError([*found.failures, f"{found.kept} runs kept in {output}"])


def _table(
    made: "calibration.ConstructionPlan", chosen: "calibration.AllocatedProgram", output: Path
) -> "calibration.RunTable":
    """The rows that are kept, those of earlier calls first; says what of them was damaged."""
    kinds, time = [documents.to_dict(kind) for kind in made.kinds], chosen.reader.time
    about = {  # what must be the same for runs to stand in one table
        "kinds": [{name: kind[name] for name in ("name", "pes", "competitors")} for kind in kinds],
        "command": list(chosen.words),
        "time": None if time is None else time.pattern,
        "files": dict(chosen.templates),
        "local": chosen.local,
    }
    names, phases = [kind.name for kind in made.kinds], chosen.reader.tells_phases
    machine = simulator.this_machine().to_dict()
    table = calibration.RunTable(output, names, phases=phases, about=about, machine=machine)
    for line in table.warnings:
        print(f"warning: {line}", file=sys.stderr)
    return table


def _chosen(
    asked: Made, command: str, folder: Path, made: "calibration.ConstructionPlan"
) -> "calibration.AllocatedProgram":
    """The program; where it asks for host files, all hosts of the plan can stand in them."""
    from advisor.advise.export.layout import ADVICE, check_hosts

    local = asked.local
    reader = calibration.make_reader(asked.time, asked.phases)
    words, templates = calibration.parse_program(command, templates=asked.before or (), local=local)
    chosen = calibration.AllocatedProgram(words, folder, reader, templates, _host_files, local=local)
    if chosen.wants_host_files:
        check_hosts((pe.host for kind in made.kinds for pe in kind.pes), "platform: node", advice=ADVICE)
    return chosen


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


def _told(
    made: "calibration.ConstructionPlan", found: "calibration.Campaign", output: Path, held: list[str]
) -> blocks.Block:
    """What was run, and what to do with it."""
    said = [f"{found.made} runs made, {found.kept} kept in {output}, {found.spent_s:.3g} s in all"]
    if found.dropped:
        more = f" and {len(found.dropped) - SHOWN} more" if len(found.dropped) > SHOWN else ""
        said.append(f"warning: the budget is used up, left out: {'; '.join(found.dropped[:SHOWN])}{more}")
    said += held
    if not found.failures:
        said.append(f"next: apportion fit {output} -o model.json")
        said.append(f"then: apportion advise model.json --kinds {made.kinds_option} --size {made.at[-1]:g}")
    return lines(*said)
