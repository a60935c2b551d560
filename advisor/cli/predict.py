"""`apportion predict`: what any fitted model says of what nobody measured."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.cli.declared import Given, Only, option
from advisor.cli.inputs import INPUT, located
from advisor.cli.options import LEVEL, Level
from advisor.cli.outputs import finish
from simulator import ScenarioError, calibration, files, models

if TYPE_CHECKING:
    Targets = calibration.Table | Path

_KINDS = {"runtime": "run-time", "speed": "speed", "memory": "memory", "network": "network", "neighbours": "neighbours"}


def _model_of(given: Given) -> str | None:
    kind = _KINDS.get(calibration.model_kind(given["model"]))
    return None if kind is None else f"with a {kind} model"


def _with_intervals(given: Given) -> str | None:
    mode = _model_of(given)
    return mode if mode == "with a neighbours model" else None


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
    next_run: bool = option(
        "Say which further run would narrow each prediction most, and its cost.",
        Only(("with a run-time model",), _model_of),
    ),
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
    finish({"model": str(model)} | document, page)


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
    found = calibration.load_speed_model(model)
    known = {"level": level} if found.band.stated else {}
    return {"kind": "speed", **known, "warnings": list(found.warnings), "predictions": entries}


def _predict_memory(model: Path, at: "Targets", level: float, _next_run: bool) -> dict[str, Any]:
    entries = calibration.predict_memory(model, at, level=level)
    warnings = list(calibration.load_memory_model(model).warnings)
    return {"kind": "memory", "level": level, "warnings": warnings, "predictions": entries}


def _predict_messages(model: Path, at: "Targets", level: float, _next_run: bool) -> dict[str, Any]:
    entries, found = calibration.predict_messages(model, at, level=level), calibration.load_network_model(model)
    warnings = list(found.warnings)
    return {"kind": "network", "chosen": found.chosen, "level": level, "warnings": warnings, "predictions": entries}


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
