"""`apportion fit`: a run-time model from runs and a cost formula."""

from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.options import print_json
from advisor.cli.outputs import nothing_lost
from advisor.cli.scenarios import INPUT
from simulator import calibration


def fit(  # noqa: PLR0913, PLR0917 - one per option
    runs: Annotated[
        Path, typer.Argument(help="CSV with a header, one run per row, or a run history (SQLite).", **INPUT)
    ],
    formula: Annotated[
        list[str], typer.Option(help="Cost formula over the columns, or COLUMN=FORMULA for one part; may be repeated.")
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the model (JSON).")] = None,
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
    plot: Annotated[
        Path | None, typer.Option(help="Plot predictions against observations, and residuals (PNG, SVG).")
    ] = (None),
    json_output: Annotated[bool, typer.Option("--json", help="Print the model and its diagnostics as JSON.")] = False,
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
            simulator.plots.plot_runtime_fit(fitted.model, fitted.runs, plot)
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
