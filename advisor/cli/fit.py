"""`apportion fit | predict`: a run-time model from runs and a cost formula, and what any fitted model predicts."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli import allocate
from advisor.cli.declared import Given, Only, is_given, only_with, only_without
from advisor.cli.inputs import INPUT, located
from advisor.cli.options import APP, LEVEL, VERSION, Json, Level, Plot, Seed, file
from advisor.cli.outputs import finish
from simulator import ScenarioError, calibration, files, models

if TYPE_CHECKING:
    Targets = calibration.Table | Path

_KINDS = {"runtime": "run-time", "speed": "speed", "memory": "memory", "network": "network", "neighbours": "neighbours"}


def _runs_of(given: Given) -> str | None:
    if not given["runs"].is_file():
        return None
    return "with a run history" if calibration.runs_kind(given["runs"]) == "history" else "with a CSV file"


def _model_of(given: Given) -> str | None:
    kind = _KINDS.get(calibration.model_kind(given["model"]))
    return None if kind is None else f"with a {kind} model"


def _with_intervals(given: Given) -> str | None:
    mode = _model_of(given)
    return mode if mode == "with a neighbours model" else None


def _read_times(given: Given) -> str:
    timed = is_given(given["time"]) or is_given(given["phases"])
    return "with --time or --phases" if timed else "without --time and --phases"


def _task(given: Given) -> str:
    return next((f"with --{task}" for task in ("plan", "run", "formula") if is_given(given[task])), "without --formula")


def _made(given: Given) -> str | None:
    mode = _task(given)
    return mode if mode in {"with --plan", "with --run"} else None


PLAN, RUN, FORMULA = only_with("plan"), only_with("run"), only_with("formula")
Runs = Annotated[
    Path,
    typer.Argument(
        metavar="RUNS",
        help="CSV with a header, one run per row, or a run history (SQLite); with --plan the scenario of a cluster, "
        "with --run a plan.",
        **INPUT,
    ),
]
Formula = Annotated[
    list[str] | None,
    typer.Option(
        help="Cost formula over the columns, or COLUMN=FORMULA for one part. Repeatable. Without one the rows are runs "
        "on kinds of PEs: columns N, time_s, KIND.pes, KIND.procs, perhaps KIND.comp_s, KIND.comm_s."
    ),
    Only(("without --plan and --run",), _made),
]
Response = Annotated[
    list[str] | None,
    typer.Option(help="Column of measured seconds; several are parts of a run and are summed."),
    FORMULA,
]
Method = Annotated[
    str, typer.Option(help="default, ols (plain least squares) or relative (errors in percent)."), FORMULA
]
Application = Annotated[str | None, APP, FORMULA, Only(("with a run history",), _runs_of)]
Version = Annotated[str | None, VERSION, FORMULA, Only(("with a run history",), _runs_of)]
Plan = Annotated[
    bool,
    typer.Option("--plan", help="Say which few, cheap runs of a program to make on kinds of PEs, and their cost."),
    only_without("run"),
]
Sizes = Annotated[
    str | None, typer.Option(metavar="N,N,...", help="Problem sizes that may be run, three or more."), PLAN
]
At = Annotated[
    str | None,
    typer.Option(metavar="N,N,...", help="Sizes that advice is wanted for; by default twice the largest."),
    PLAN,
]
Most = Annotated[
    str | None, typer.Option(metavar="KIND=M,...", help="Most processes on each PE, such as fast=4,slow=2."), PLAN
]
Work = Annotated[
    str, typer.Option(help="Units of volume of a run over N; with the speeds it guesses what runs cost."), PLAN
]
Kernel = Annotated[
    str | None, typer.Option(help="Kernel whose speeds are taken; by default dgemm, or the first one known."), PLAN
]
Start = Annotated[str, typer.Option(help="How long the processes of a run take to start."), PLAN]
Budget = Annotated[
    str | None,
    typer.Option(
        help="Seconds for all runs, such as 600s; by default 15 % of running everything at those sizes, or the plan's."
    ),
    Only(("with --plan", "with --run"), _task),
]
Run = Annotated[
    bool, typer.Option("--run", help="Make the runs of a plan, within its budget; called again, it goes on.")
]
Command = Annotated[
    str | None,
    typer.Option(
        help="What is run, split without a shell; {N}, {P}, {hostfile} (MPICH), {hostfile_openmpi}, {rankfile}, "
        "{cpus} and {kinds} (of the ranks), {python}, and {pin}, which puts each rank on its processor."
    ),
    RUN,
]
Time = Annotated[
    str | None,
    typer.Option(help="Regular expression with a group (time_s) over the output, or hpl; else the wall clock."),
    RUN,
]
Phases = Annotated[
    str | None,
    typer.Option(help="One with groups kind, comp_s and comm_s, or hpl: its detailed timing, where it has one."),
    RUN,
]
Before = Annotated[
    list[Path] | None,
    typer.Option(help="File with placeholders, such as HPL.dat, written into the folder before each run."),
    RUN,
]
Read = Annotated[
    str | None,
    typer.Option(help="File in the folder that the program writes its times to, not its output."),
    Only(("with --time or --phases",), _read_times, why="where the wall clock counts"),
    RUN,
]
Folder = Annotated[
    Path | None, typer.Option(help="Where the program runs; by default RUNS.work, next to the output."), RUN
]
Local = Annotated[
    bool,
    typer.Option(
        "--local", "--pin", help="Ranks on this machine's processors as CLUSTER.yaml says, with real busy loops."
    ),
    RUN,
]
Limit = Annotated[
    str | None, typer.Option(help="No run may take longer; by default 10 times what is expected, at least 20s."), RUN
]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL.json",
        help="What `fit` made of earlier runs: its predictions are compared with the runs.",
        **INPUT,
    ),
    RUN,
]
Output = Annotated[
    Path | None,
    file("MODEL.json", "the model; with --plan the plan, with --run a row per run, runs.csv by default"),
]


def fit(  # noqa: PLR0913, PLR0917 - one per option
    runs: Runs,
    formula: Formula = None,
    response: Response = None,
    method: Method = "default",
    application: Application = None,
    version: Version = None,
    plan: Plan = False,
    sizes: Sizes = None,
    at: At = None,
    most: Most = None,
    work: Work = "2/3*N**3",
    kernel: Kernel = None,
    start: Start = "0.5s",
    seed: Annotated[Seed, PLAN] = 1,
    run: Run = False,
    command: Command = None,
    time: Time = None,
    phases: Phases = None,
    before: Before = None,
    read: Read = None,
    folder: Folder = None,
    local: Local = False,
    limit: Limit = None,
    model: Model = None,
    level: Annotated[Level, only_with("model")] = LEVEL,
    budget: Budget = None,
    plot: Annotated[Plot, FORMULA] = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Fit a model to measured runs: coefficients of a cost formula, or times of processes on kinds of PEs.

    Each top-level summand of the formula gets a coefficient. For a program that nobody changes --plan says which few
    runs show how many processes to give to which PEs, --run makes them, and `advise` ranks. Examples:

    apportion fit runs.csv --formula 'N**3/P + N**2*log(P)' -o model.json

    apportion fit cluster.yaml --plan --sizes 400,800,1200 --at 2400 --budget 600s --most fast=4,slow=2 -o plan.json

    apportion fit plan.json --run --command 'mpiexec -f {hostfile} -n {P} ./xhpl' --before HPL.dat --time hpl
    """
    if plan:
        if sizes is None:
            raise ScenarioError("--plan needs --sizes, such as 400,800,1200; give them")
        wished = allocate.wishes(sizes, at, budget=budget, start=start, seed=seed)
        allocate.plan(runs, wished, most=most, work=work, kernel=kernel, output=output, as_json=as_json)
    elif run:
        if command is None:
            raise ScenarioError("--run needs --command; give the program to run")
        program = allocate.Program(command, time, phases, before or (), read, folder, local)
        limits: Any = {"budget": budget, "limit": limit, "model": model, "level": level}
        allocate.run(runs, program, **limits, output=output or Path("runs.csv"), as_json=as_json)
    elif not formula:
        allocate.fit_table(runs, output, as_json=as_json)
    else:
        fitted = calibration.fit_table(
            runs, formula, responses=response or (), method=method, application=application, version=version
        )
        _finish(fitted, output, plot, as_json=as_json)


def _finish(fitted: "calibration.RuntimeFit", output: Path | None, plot: Path | None, *, as_json: bool) -> None:
    from advisor.report.models import fit_page

    def write() -> None:
        if output is not None:
            calibration.save_runtime_fit(fitted, output)
        if plot is not None:
            simulator.plots.runtime_fit(fitted.model, fitted.runs).save(plot)

    formulas = {part.response: part.formula.text for part in fitted.model.parts}
    written = {} if output is None else {"Model": str(output)}
    page = fit_page(fitted.diagnostics, formulas, fitted.model.warnings)
    finish(fitted.to_dict(), page, as_json=as_json, write=write, said=written)


def predict(
    model: Annotated[Path, typer.Argument(help="Model written by `apportion fit` or `calibrate`.", **INPUT)],
    at: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE,...|TARGETS.csv",
            help="Where: the parameters' values, such as N=12000,P=8 (repeatable), or a CSV with a column for each; "
            "size_elements for speed, M_words,alpha,L for memory, bytes and perhaps hops for network; "
            "subject,size_elements,beside for neighbours.",
            autocompletion=INPUT["autocompletion"],
        ),
    ],
    level: Annotated[
        Level,
        Only(("with a run-time, speed, memory or network model",), _with_intervals, why="which predicts ratios alone"),
    ] = LEVEL,
    next_run: Annotated[
        bool,
        typer.Option("--next-run", help="Say which further run would narrow each prediction most, and its cost."),
        Only(("with a run-time model",), _model_of),
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict times with confidence and prediction intervals, in the order of the targets.

    Example: apportion predict model.json --at N=12000,P=8 --level 0.95
    """
    from advisor.report.models import prediction_page

    kind, targets = calibration.model_kind(model), _targets(at)
    if kind not in _PREDICTORS:
        hint = "; ask `apportion advise`" if kind == "process_count" else ""
        raise ScenarioError(f"{model}: kind is {kind!r}; give one of {', '.join(map(repr, _PREDICTORS))}{hint}")
    with files.understood(model, "apportion fit` or `apportion calibrate"):
        document = _PREDICTORS[kind](model, targets, level, next_run)
        page = prediction_page(model, kind, document)
    finish({"model": str(model)} | document, page, as_json=as_json, write=None, said=None)


def _targets(at: list[str]) -> "Targets":
    """One file of targets, or those that are written out."""
    if len(at) == 1 and ("=" not in at[0] or Path(at[0]).exists()):
        return located(Path(at[0]))
    return calibration.parse_points(at, place="--at")


def _predict_times(model: Path, at: "Targets", level: float, next_run: bool) -> dict[str, Any]:
    fitted = calibration.load_runtime_model(model)
    values, predictions = calibration.predict_table(fitted, at, level=level)
    entries = predictions.to_list()
    for i, entry in enumerate(entries):
        entry["at"] = {name: float(column[i]) for name, column in values.items()}
        if next_run:
            entry["next_runs"] = _next_runs(fitted, entry["at"])
    return {
        "method": fitted.method,
        "level": level,
        "warnings": list(fitted.warnings),
        "predictions": entries,
    }


def _predict_speeds(model: Path, at: "Targets", level: float, _next_run: bool) -> dict[str, Any]:
    entries = calibration.predict_speeds(model, at, level=level)
    band, whole = calibration.load_speed_model(model)
    known = {"level": level} if band.stated else {}
    return {"kind": "speed", **known, "warnings": whole.get("warnings", []), "predictions": entries}


def _predict_memory(model: Path, at: "Targets", level: float, _next_run: bool) -> dict[str, Any]:
    entries = calibration.predict_memory(model, at, level=level)
    warnings = calibration.load_memory_model(model)[1].get("warnings", [])
    return {"kind": "memory", "level": level, "warnings": warnings, "predictions": entries}


def _predict_messages(model: Path, at: "Targets", level: float, _next_run: bool) -> dict[str, Any]:
    entries, whole = calibration.predict_messages(model, at, level=level), calibration.load_network_model(model)[1]
    return {
        "kind": "network",
        "chosen": whole["chosen"],
        "level": level,
        "warnings": whole.get("warnings", []),
        "predictions": entries,
    }


def _predict_neighbours(model: Path, at: "Targets", _level: float, _next_run: bool) -> dict[str, Any]:
    entries = calibration.predict_neighbours(model, at)
    return {
        "kind": "neighbours",
        "warnings": list(calibration.read_neighbours(model).warnings),
        "predictions": entries,
    }


_PREDICTORS: dict[str, Callable[[Path, "Targets", float, bool], dict[str, Any]]] = {
    "runtime": _predict_times,
    "speed": _predict_speeds,
    "memory": _predict_memory,
    "network": _predict_messages,
    "neighbours": _predict_neighbours,
}
"""Kind of model -> what makes its document from model, targets, level and whether to advise runs."""


def _next_runs(fitted: Any, target: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {
            "at": run.point,
            "cost_s": run.cost_s,
            "relative_error_now": run.half_width_before,
            "relative_error_after": run.half_width_after,
        }
        for run in models.advise_next_run(fitted, target)
    ]
