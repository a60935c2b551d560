"""Table and figures of the speed-band paper (GBBP), beside ours."""

from collections.abc import Iterator
from typing import Any

from advisor.reproduce.comparison import REPEATED, Cell, Compared, defined, lost

CITATION = "A. Lastovetsky, R. Reddy and R. Higgins: Building the functional performance model of a processor"
MISPRINTS = (
    "Averages of the load are divided by the length of their window in seconds; only the mean has the unit of a load.",
    (
        "The matrix of averages is printed with i = 1 .. h, j = 1 .. w and i + j < h, and its rows and columns swap; "
        "text and crosses mean i + j - 1 <= h."
    ),
    "What is to be done right of an accidental hit (step 3 c) is printed under d.",
    "The text announces figures 10 (a) to (e); there are three.",
)
METHOD = "gbbp"
PAPER_HISTORY_MIN = 240.0

Document = dict[str, Any]


def tables(result: Document) -> list[Compared]:
    """Table 1, what the text says of load functions, and the figures."""
    return [
        defined("figures 1 to 9", "Speed bands, load functions and the steps of the procedure"),
        lost(
            "figure 10",
            "Speed bands on both machines",
            "A drawing without its points; X1 (Pentium Xeon, 2 GHz) and X2 (UltraSparc IIi, 440 MHz) are gone.",
        ),
        _table_1(result["table_1"]),
        _load(result["load_study"]),
    ]


def _table_1(found: Document) -> Compared:
    here = "recorded speeds of another machine" if found["clock"] == "simulated" else "this machine"
    errors = ", ".join(
        f"{kernel.replace('_', ' ')} {rows[METHOD]['mean_error_percent']:.1f} % "
        f"({rows['grid']['mean_error_percent']:.1f} % by the grid)"
        for kernel, rows in found["kernels"].items()
    )
    because = (
        f"The machines are gone; the same procedure on {here}. The paper states no error of its bands; ours, against "
        f"sizes that no method saw, are on average: {errors}."
    )
    title = "Speedup of GBBP over 20 equal steps, and the points that it measures"
    return Compared("table 1", title, REPEATED, because, tuple(_cells(found)))


def _cells(found: Document) -> Iterator[Cell]:
    for kernel, machines in found["paper"].items():
        own = found["kernels"].get(kernel, {}).get(METHOD, {})
        for machine, row in machines.items():
            where = f"{kernel.replace('_', ' ')}, {machine}"
            yield Cell(where, "speedup", row["speedup_over_grid"], own.get("speedup_over_grid"), 0.05)
            yield Cell(where, "points", float(row["points"]), own.get("points"))


def _load(study: Document) -> Compared:
    """The history that is best by the paper, beside our hit ratios."""
    first = study["studies"][0]
    ratios = ", ".join(f"{row['history']}: {row['hit_ratio']:.0%}" for row in first["rows"])
    because = (
        "Its recorded loads are not printed. It found a history of 240 one-minute loads best with a window of 60. On "
        f"{study['trace']} with the same window the bounds hold by length of history in: {ratios}; the area between "
        "them grows along, and which is best depends on what one gives for it."
    )
    return Compared("text of section 3", "How often load bounds hold", REPEATED, because)
