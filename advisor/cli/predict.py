"""`apportion predict`: times or speeds of runs that nobody made yet, from a fitted model."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from advisor.cli.options import print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("predict")(predict)


def predict(
    model: Annotated[Path, typer.Argument(help="Model written by `apportion fit` or `calibrate`.")],
    at: Annotated[
        Path,
        typer.Option(
            help="CSV of targets: a column for each parameter; size_elements for a speed model, "
            "bytes and perhaps hops for a network model."
        ),
    ],
    level: Annotated[float, typer.Option(help="Probability that an interval holds, between 0 and 1.")] = 0.95,
    next_run: Annotated[
        bool, typer.Option("--next-run", help="Say which further run would narrow each prediction most, and its cost.")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print the predictions as JSON.")] = False,
) -> None:
    """Predict times with confidence and prediction intervals, in the order of the targets.

    Example: apportion predict model.json --at targets.csv --level 0.9
    """
    from simulator.calibration import load_runtime_model, model_kind, predict_table

    predictor = PREDICTORS.get(model_kind(model))
    if predictor is not None:
        predictor(model, at, as_json=json_output)
        return
    fitted = load_runtime_model(model)
    values, predictions = predict_table(fitted, at, level=level)
    entries = predictions.to_list()
    for i, entry in enumerate(entries):
        entry["at"] = {name: float(column[i]) for name, column in values.items()}
        if next_run:
            entry["next_runs"] = _next_runs(fitted, entry["at"])
    if json_output:
        import json

        document = {
            "model": str(model),
            "method": fitted.method,
            "level": level,
            "warnings": list(fitted.warnings),
            "predictions": entries,
        }
        print(json.dumps(document, indent=1, allow_nan=False))
        return
    for entry in entries:
        _tell(entry, level)


def _predict_speeds(model: Path, at: Path, *, as_json: bool) -> None:
    from simulator.calibration import load_speed_model, predict_speeds

    entries = predict_speeds(model, at)
    if as_json:
        import json

        warnings = load_speed_model(model)[1].get("warnings", [])
        document = {"model": str(model), "kind": "speed", "warnings": warnings, "predictions": entries}
        print(json.dumps(document, indent=1, allow_nan=False))
        return
    for entry in entries:
        where = ", outside the band" if entry["outside_band"] else ""
        where = where or (", above the largest point measured" if entry["beyond_points"] else "")
        print(
            f"{entry['size_elements']:.6g} elements: {entry['mean']:.4g} per second, "
            f"{entry['low']:.4g} to {entry['high']:.4g}{where}"
        )


def _predict_messages(model: Path, at: Path, *, as_json: bool) -> None:
    from simulator.calibration import load_network_model, predict_messages

    entries, document = predict_messages(model, at), load_network_model(model)[1]
    if as_json:
        print_json(
            {
                "model": str(model),
                "kind": "network",
                "chosen": document.get("chosen"),
                "level": 0.95,
                "warnings": document.get("warnings", []),
                "predictions": entries,
            }
        )
        return
    for entry in entries:
        where = f"{entry['at']['bytes']:g} B over {entry['at']['hops']:g} hops"
        outside = ", outside what was measured" if entry["extrapolation"] else ""
        print(f"{where}: {entry['mean']:.4g} s, {entry['low']:.4g} to {entry['high']:.4g} s{outside}")


PREDICTORS: dict[str, Callable[..., None]] = {"speed": _predict_speeds, "network": _predict_messages}
"""Kind of a model file -> what predicts from it; every other kind is a run-time model or refused as one."""


def _next_runs(fitted: Any, target: dict[str, float]) -> list[dict[str, Any]]:
    from simulator.models import advise_next_run

    return [
        {
            "at": run.point,
            "cost_s": run.cost_s,
            "relative_error_now": run.half_width_before,
            "relative_error_after": run.half_width_after,
        }
        for run in advise_next_run(fitted, target)
    ]


def _tell(entry: dict[str, Any], level: float) -> None:
    where = ", ".join(f"{name} = {value:g}" for name, value in entry["at"].items())
    (low, high), (least, most) = entry["confidence"], entry["prediction"]
    outside = ", outside the training range" if entry["outside_training_range"] else ""
    print(
        f"{where}: {entry['mean']:.4g} s, mean {low:.4g} to {high:.4g} s, one run {least:.4g} to {most:.4g} s "
        f"({100 * level:g} %){outside}"
    )
    if entry["observed"]:
        seen = entry["observed"]
        print(
            f"  observed there: {seen['mean']:.4g} s, {seen['low']:.4g} to {seen['high']:.4g} s in {seen['runs']} runs"
        )
    for line in entry["warnings"]:
        print(f"  warning: {line}")
    for run in entry.get("next_runs", ()):
        at = ", ".join(f"{name} = {value:g}" for name, value in run["at"].items())
        print(
            f"  measuring {at} (about {run['cost_s']:.3g} s) would bring the standard error of the mean from "
            f"{100 * run['relative_error_now']:.1f} to {100 * run['relative_error_after']:.1f} %"
        )
