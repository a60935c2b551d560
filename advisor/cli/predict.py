"""`apportion predict`: what any fitted model says of what nobody measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from advisor.cli.declared import REQUIRED, Only, argument, option
from advisor.cli.inputs import INPUT, located
from advisor.cli.options import LEVEL, Level
from advisor.cli.outputs import finish
from simulator import ScenarioError, calibration, files

if TYPE_CHECKING:
    Targets = calibration.Table | Path

_KINDS = ("runtime", "speed", "memory", "network", "neighbours")
OF_TIMES = Only(
    ("with a run-time, speed, memory or network model",),
    lambda given: "with a neighbours model" if calibration.model_kind(given["model"]) == "neighbours" else None,
    why="which predicts ratios alone",
)


def predict(
    model: Path = argument("Model written by `apportion fit` or `calibrate`.", **INPUT),
    at: list[str] = option(
        "Where: the parameters' values, such as N=12000,P=8 (repeatable), or a CSV with a column for each; "
        "size_elements for speed, M_words,alpha,L for memory, bytes and perhaps hops for network; "
        "subject,size_elements,beside for neighbours.",
        default=REQUIRED,
        metavar="NAME=VALUE,...|TARGETS.csv",
        autocompletion=INPUT["autocompletion"],
    ),
    level: Annotated[Level, OF_TIMES] = LEVEL,
) -> None:
    """Predict times with confidence and prediction intervals, in the order of the targets.

    Example: apportion predict model.json --at N=12000,P=8 --level 0.95
    """
    from advisor.report.models import prediction_page

    kind, targets = calibration.model_kind(model), _targets(at)
    if kind not in _KINDS:
        hint = "; ask `apportion advise`" if kind == "process_count" else ""
        raise ScenarioError(f"{model}: kind is {kind!r}; give one of {', '.join(map(repr, _KINDS))}{hint}")
    with files.understood(model, "apportion fit` or `apportion calibrate"):
        runs = kind == "runtime"
        document = _times(model, targets, level) if runs else _others(kind, model, targets, level)
        page = prediction_page(model, kind, document)
    finish({"model": str(model)} | document, page)


def _targets(at: list[str]) -> "Targets":
    """One file of targets, or those that are written out."""
    if len(at) == 1 and ("=" not in at[0] or Path(at[0]).exists()):
        return located(Path(at[0]))
    return calibration.parse_points(at, place="--at")


def _times(model: Path, at: "Targets", level: float) -> dict[str, Any]:
    """What a model of run times says of each target, and which further run would tell most."""
    fitted = calibration.load_runtime_model(model)
    values, predictions = calibration.predict_table(fitted, at, level=level)
    entries = predictions.to_list()
    for i, entry in enumerate(entries):
        entry["at"] = {name: float(column[i]) for name, column in values.items()}
    return {"method": fitted.method, "level": level, "warnings": list(fitted.warnings), "predictions": entries}


def _others(kind: str, model: Path, at: "Targets", level: float) -> dict[str, Any]:
    """What a model of another kind says of each target."""
    found: Any
    known: dict[str, Any] = {"kind": kind, "level": level}
    if kind == "speed":
        found, entries = calibration.load_speed_model(model), calibration.predict_speeds(model, at, level=level)
        known = known if found.band.stated else {"kind": kind}
    elif kind == "memory":
        found, entries = calibration.load_memory_model(model), calibration.predict_memory(model, at, level=level)
    elif kind == "network":
        found, entries = calibration.load_network_model(model), calibration.predict_messages(model, at, level=level)
        known["chosen"] = found.chosen
    else:
        found, entries = calibration.read_neighbours(model), calibration.predict_neighbours(model, at)
        known = {"kind": kind}
    return known | {"warnings": list(found.warnings), "predictions": entries}
