"""`apportion fit | predict`: a run-time model from runs and a cost formula, and what any fitted model predicts."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli.options import LEVEL, Json, Level, Plot, file, print_json
from advisor.cli.outputs import nothing_lost
from advisor.cli.scenarios import INPUT, located
from simulator import ScenarioError, calibration, files, models

if TYPE_CHECKING:
    Targets = calibration.Table | Path


def fit(  # noqa: PLR0913, PLR0917 - one per option
    runs: Annotated[
        Path, typer.Argument(help="CSV with a header, one run per row, or a run history (SQLite).", **INPUT)
    ],
    formula: Annotated[
        list[str], typer.Option(help="Cost formula over the columns, or COLUMN=FORMULA for one part; may be repeated.")
    ],
    output: Annotated[Path | None, file("MODEL.json", "the model")] = None,
    response: Annotated[
        list[str] | None, typer.Option(help="Column of measured seconds; several are parts of a run and are summed.")
    ] = None,
    method: Annotated[str, typer.Option(help="default, ols (plain least squares) or relative (errors in percent).")] = (
        "default"
    ),
    application: Annotated[str | None, typer.Option("--app", help="Application, where RUNS is a run history.")] = None,
    version: Annotated[
        str | None, typer.Option(help="Version of the application, where RUNS is a run history.")
    ] = None,
    plot: Plot = None,
    json_output: Json = False,
) -> None:
    """Fit a run-time model: the coefficients of a cost formula, from measured runs.

    Each top-level summand of the formula gets a coefficient. Example:

    apportion fit runs.csv --formula 'N**3/P + N**2*log(P)' -o model.json
    """
    fitted = calibration.fit_table(
        runs, formula, responses=response or (), method=method, application=application, version=version
    )
    document = fitted.to_dict()

    def tell() -> None:
        if json_output:
            print_json(document)
        else:
            _tell(fitted)

    with nothing_lost(document, tell):
        if output is not None:
            calibration.save_runtime_fit(fitted, output)
        if plot is not None:
            simulator.plots.runtime_fit(fitted.model, fitted.runs).save(plot)
    tell()
    if output is not None and not json_output:
        print(f"model written to {output}")


def _tell(fitted: Any) -> None:
    for response, found in fitted.diagnostics.items():
        formula = next(part.formula.text for part in fitted.model.parts if part.response == response)
        print(f"{response} = {formula}   ({fitted.model.method}, {found['runs']} runs at {found['points']} points)")
        if found.get("r2") is not None:
            print(f"  R^2 {found['r2']:.6f}, adjusted {found['r2_adjusted']:.6f}")
            print(f"  F test: {found['f']:.4g}, p {found['f_p']:.2g}")
            print(f"  rank {found['rank']} of {found['coefficients']}, condition {found['condition']:.3g}")
        for name, value in found.get("terms", {}).items():
            print(f"  coefficient of {name}: {value:.6g}")
        if found.get("forward_error") is not None:
            print(f"  forward validation: {100 * found['forward_error']:.1f} % error on held-out larger runs")
        for structure in found.get("structures", [])[:3]:
            print(f"  weight {structure['weight']:.2f}: {structure['structure']}")
        for judged in found["assumptions"]:
            print(f"  {judged['assumption']}: {judged['verdict']}")
        for outlier in found["outliers"]:
            factor = f"{outlier['factor']:.2f} times the expected"
            print(f"  outlier {outlier['run']}: {outlier['time_s']:.4g} s, {factor}")
    for line in fitted.model.warnings:
        print(f"warning: {line}")


# `apportion predict`: what nobody measured yet, from a fitted model of any kind.


Predicted = tuple[dict[str, Any], Iterable[str]]
"""What `--json` prints, and the lines for people."""


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
    level: Level = LEVEL,
    next_run: Annotated[
        bool, typer.Option("--next-run", help="Say which further run would narrow each prediction most, and its cost.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Predict times with confidence and prediction intervals, in the order of the targets.

    Example: apportion predict model.json --at N=12000,P=8 --level 0.95
    """
    kind, targets = calibration.model_kind(model), _targets(at)
    if kind not in _PREDICTORS:
        hint = "; ask `apportion allocate advise`" if kind == "process_count" else ""
        raise ScenarioError(f"{model}: kind is {kind!r}; give one of {', '.join(map(repr, _PREDICTORS))}{hint}")
    with files.understood(model, "apportion fit` or `apportion calibrate"):
        document, lines = _PREDICTORS[kind](model, targets, level, next_run)
        if json_output:
            print_json({"model": str(model)} | document)
            return
        text = "\n".join(lines)
    print(text)


def _targets(at: list[str]) -> "Targets":
    """One file of targets, or those that are written out."""
    if len(at) == 1 and ("=" not in at[0] or Path(at[0]).exists()):
        return located(Path(at[0]))
    return calibration.parse_points(at, place="--at")


def _predict_times(model: Path, at: "Targets", level: float, next_run: bool) -> Predicted:
    fitted = calibration.load_runtime_model(model)
    values, predictions = calibration.predict_table(fitted, at, level=level)
    entries = predictions.to_list()
    for i, entry in enumerate(entries):
        entry["at"] = {name: float(column[i]) for name, column in values.items()}
        if next_run:
            entry["next_runs"] = _next_runs(fitted, entry["at"])
    document = {
        "method": fitted.method,
        "level": level,
        "warnings": list(fitted.warnings),
        "predictions": entries,
    }
    return document, (line for entry in entries for line in _time_lines(entry, level))


def _predict_speeds(model: Path, at: "Targets", level: float, _next_run: bool) -> Predicted:
    entries = calibration.predict_speeds(model, at, level=level)
    band, whole = calibration.load_speed_model(model)
    known = {"level": level} if band.stated else {}
    document = {"kind": "speed", **known, "warnings": whole.get("warnings", []), "predictions": entries}
    return document, (_speed_line(entry, level) for entry in entries)


def _predict_memory(model: Path, at: "Targets", level: float, _next_run: bool) -> Predicted:
    entries = calibration.predict_memory(model, at, level=level)
    warnings = calibration.load_memory_model(model)[1].get("warnings", [])
    document = {"kind": "memory", "level": level, "warnings": warnings, "predictions": entries}
    return document, (_memory_line(entry, level) for entry in entries)


def _predict_messages(model: Path, at: "Targets", level: float, _next_run: bool) -> Predicted:
    entries, whole = calibration.predict_messages(model, at, level=level), calibration.load_network_model(model)[1]
    document = {
        "kind": "network",
        "chosen": whole["chosen"],
        "level": level,
        "warnings": whole.get("warnings", []),
        "predictions": entries,
    }
    return document, (_message_line(entry, level) for entry in entries)


def _predict_neighbours(model: Path, at: "Targets", _level: float, _next_run: bool) -> Predicted:
    entries = calibration.predict_neighbours(model, at)
    document = {
        "kind": "neighbours",
        "warnings": list(calibration.read_neighbours(model).warnings),
        "predictions": entries,
    }
    return document, map(_neighbours_line, entries)


_PREDICTORS: dict[str, Callable[[Path, "Targets", float, bool], Predicted]] = {
    "runtime": _predict_times,
    "speed": _predict_speeds,
    "memory": _predict_memory,
    "network": _predict_messages,
    "neighbours": _predict_neighbours,
}
"""Kind of model -> what makes its document and its lines from model, targets, level and whether to advise runs."""


def _speed_line(entry: dict[str, Any], level: float) -> str:
    where = ", outside the band" if entry["outside_band"] else ""
    where = where or (", above the largest point measured" if entry["beyond_points"] else "")
    truth = ""
    if "truth_low" in entry:
        truth = f" in one run, {entry['truth_low']:.4g} to {entry['truth_high']:.4g} in the mean ({100 * level:g} %)"
    return (
        f"{entry['size_elements']:.6g} elements: {entry['mean']:.4g} per second, "
        f"{entry['low']:.4g} to {entry['high']:.4g}{truth}{where}"
    )


def _memory_line(entry: dict[str, Any], level: float) -> str:
    where = ", ".join(f"{name} = {value:g}" for name, value in entry["at"].items())
    outside = ", outside the training range" if entry["outside_training_range"] else ""
    interval = f"{entry['low']:.4g} to {entry['high']:.4g} s ({100 * level:g} %)"
    return f"{where}: {entry['mean']:.4g} s per word, {interval}{outside}"


def _message_line(entry: dict[str, Any], level: float) -> str:
    where = f"{entry['at']['bytes']:g} B over {entry['at']['hops']:g} hops"
    outside = ", outside what was measured" if entry["extrapolation"] else ""
    return f"{where}: {entry['mean']:.4g} s, {entry['low']:.4g} to {entry['high']:.4g} s ({100 * level:g} %){outside}"


def _neighbours_line(entry: dict[str, Any]) -> str:
    outside = ", outside the sizes measured" if entry["outside_sizes"] else ""
    others = " ".join(entry["beside"]) or "nobody"
    name = f"{entry['subject']}:{entry['size_elements']:.6g}"
    return f"{name} together with {others}: {entry['ratio']:.4g} times as long as alone{outside}"


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


def _time_lines(entry: dict[str, Any], level: float) -> Iterator[str]:
    where = ", ".join(f"{name} = {value:g}" for name, value in entry["at"].items())
    low, high, least, most = (entry[name] for name in ("low", "high", "run_low", "run_high"))
    outside = ", outside the training range" if entry["outside_training_range"] else ""
    yield (
        f"{where}: {entry['mean']:.4g} s, mean {low:.4g} to {high:.4g} s, one run {least:.4g} to {most:.4g} s "
        f"({100 * level:g} %){outside}"
    )
    if entry["observed"]:
        seen = entry["observed"]
        yield (
            f"  observed there: {seen['mean']:.4g} s, {seen['low']:.4g} to {seen['high']:.4g} s in {seen['runs']} runs"
        )
    for line in entry["warnings"]:
        yield (f"  warning: {line}")
    for run in entry.get("next_runs", ()):
        at = ", ".join(f"{name} = {value:g}" for name, value in run["at"].items())
        yield (
            f"  measuring {at} (about {run['cost_s']:.3g} s) would bring the standard error of the mean from "
            f"{100 * run['relative_error_now']:.1f} to {100 * run['relative_error_after']:.1f} %"
        )
