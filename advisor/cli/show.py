"""`apportion show`: what a speed model says, as text and as a picture."""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import print_answers, print_warnings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(show)


def show(
    model: Annotated[Path, typer.Argument(help="Speed model written by `apportion calibrate speed`.")],
    plot: Annotated[Path | None, typer.Option(help="Draw band, points and held-out points (PNG, SVG, PDF).")] = None,
    held_out: Annotated[
        Path | None, typer.Option(metavar="SIZES.csv", help="Held-out points size_elements,volume,cpu_s to compare.")
    ] = None,
) -> None:
    """Show a speed model: its points, its band, and what was assumed.

    Example: apportion show model.json --plot model.svg
    """
    from simulator import units
    from simulator.calibration import load_speed_model
    from simulator.calibration.bands import read_recorded_sizes

    band, document = load_speed_model(model)
    points = sorted(document.get("points", ()), key=lambda point: float(point["size_elements"]))
    spent = units.show_duration(float(document.get("experimental_s", 0)))
    print(f"{model}: speed by {document.get('method', '?')}, {len(points)} points in {spent} of runs")
    print(f"{'elements':>14}{'low':>12}{'mean':>12}{'high':>12}   volume per second")
    for point in points:
        speed = point["speed"]
        print(f"{point['size_elements']:>14.6g}{speed['low']:>12.4g}{speed['mid']:>12.4g}{speed['high']:>12.4g}")
    if document.get("largest_reason"):
        print(document["largest_reason"])
    for line in document.get("assumptions", ()):
        print(f"assumed: {line}")
    print_answers((check["assumption"], check["holds"]) for check in document.get("shape", ()))
    print_warnings(document.get("warnings", ()))
    truth = None if held_out is None else read_recorded_sizes(held_out)
    if truth is not None:
        error = abs(band.speed(truth.sizes) / truth.speeds(truth.sizes) - 1)
        print(f"held out: {truth.sizes.size} sizes, error {error.mean():.1%} on average, {error.max():.1%} at most")
    if plot is not None:
        from simulator.plots import plot_speed_model

        plot_speed_model(
            band, points, plot, held_out=None if truth is None else (truth.sizes, truth.speeds(truth.sizes))
        )
        print(f"picture written to {plot}")
