"""Tables 1 to 15 of the paper on prediction from run history (ScoPred), beside ours."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from advisor.reproduce.comparison import (
    PERCENT,
    RELATIVE_TO,
    Cell,
    Compared,
    defined,
    given,
    in_order,
    judged,
    shipped_rows,
)

CITATION = (
    "B. J. Lafreniere and A. C. Sodan: ScoPred, scalable user-directed performance prediction using complexity "
    "modeling and historical data"
)
MISPRINTS = (
    "EP class W on 6 nodes is 1.46 s in table 1 and 1.45 s in tables 3 and 4; class S on 8 nodes 0.54 s and 0.55 s.",
    (
        "Table 4 says it was fitted to classes S, W and A on 2 to 10 nodes; its points and all ratios of its intervals "
        "fit only classes S, W and B on these nodes, so that B on 8 and 10 nodes was fitted to and class A was not."
    ),
    (
        "The text says that table 3 misses its interval for 2 nodes only; 8 nodes (33.49 +/- 0.30 s against 34.86 s) "
        "miss it too."
    ),
    "Table 8's text says 2, 16, 32 and 64 nodes, the table 4, 16, 32 and 64.",
    "Class C of FT is said to be eight times class A; it is sixteen times.",
    "Table 10's percentage is that of communication in the transform's time, not in the run time as the text says.",
    "Table 11's caption says problem size; it is about numbers of processors.",
    "Table 13, N = 11000: the ratio of its intervals is 0.9045, that of its design 0.9021.",
    "The text of table 14 finds two predictions outside their intervals and six tests, the table four and seven.",
)
TITLES = {
    2: "EP, more processors",
    3: "EP, larger problems",
    4: "EP, both at once",
    6: "FT class A, more processors",
    7: "FT class B, more processors",
    8: "FT, class C from smaller ones",
    9: "FT, both at once",
    11: "FT class B in parts",
    13: "HPL, 8 x 8 from smaller grids",
    14: "HPL, larger problems",
    15: "HPL, both at once",
}
INFERRED = "T4-joint-inferred"
ROUNDED_S = 0.01
"""Half of the last digit of a time, and as much again for the rounded times that a fit starts from."""
SUM_S = 0.02
"""The same for the sum of four of them."""
LEAST_HALF_WIDTH_S = 0.03
"""Narrower intervals are printed with too few digits for a ratio to say something."""
INPUTS = "Means of three or six runs"

Document = dict[str, Any]


def tables(result: Document) -> list[Compared]:
    """All tables in the paper's order; figure 1 too."""
    predicted = {number: list(_table(number, title, result["cells"])) for number, title in TITLES.items()}
    found = [defined("figure 1", "How the predictor sits in a job scheduler")]
    for number in range(1, 16):
        found += predicted.get(number) or [_measured(number)]
        if number == 2:
            found.append(_coefficients(result["cells"]))
    return found


def _measured(number: int) -> Compared:
    gone = "on a cluster that is gone; every prediction starts from them."
    if number == 1:
        return given("table 1", "EP: run times", f"{INPUTS} {gone}")
    if number == 5:
        return given("table 5", "FT: run times", f"{INPUTS} {gone}")
    if number == 10:
        return judged(
            "table 10",
            "FT class B in parts: run times",
            "The parts were measured on a cluster that is gone; compared are sums and shares that follow from "
            "them. Totals exceed the parts by up to 0.11 s.",
            _breakdown(),
        )
    return given("table 12", "HPL: run times", f"{INPUTS} {gone}")


def _table(number: int, title: str, cells: Sequence[Document]) -> Iterator[Compared]:
    """A table of predictions; table 4 twice: fitted to what it says, and to what it must have been fitted to."""
    own = [cell for cell in cells if cell["table"] == number]
    inferred = [cell for cell in own if cell["case"] == INFERRED]
    stated = [cell for cell in own if cell["case"] != INFERRED]
    because = "Intervals themselves need the single runs, which are not printed; their ratio does not."
    as_it_says = "Fitted to classes S, W and A as it says. " if inferred else ""
    yield judged(f"table {number}", title, as_it_says + because, _cells(stated))
    if inferred:
        fitted_to = "Fitted to classes S, W and B on 2 to 10 nodes, which is what its figures imply. "
        yield judged(f"table {number}, inferred", title, fitted_to + because, _cells(inferred))


def _cells(cells: Iterable[Document]) -> Iterator[Cell]:
    """Point, deviation, and ratio of the half-widths of confidence and prediction interval, of each prediction."""
    for cell in cells:
        at = ", ".join(f"{name} = {value}" for name, value in cell["at"].items())
        where = f"{cell['name']}, {at}"
        ours, observed = cell["ols_s"], cell["observed_s"]
        rounded = SUM_S if cell["response"] == "total" and cell["case"].startswith("T11") else ROUNDED_S
        yield Cell(where, "predicted time", cell["paper_s"], ours, rounded, "s")
        if cell["paper_error_percent"] is not None:
            error = 100 * (ours / observed - 1)
            slack = 0.005 + 100 * (rounded + 0.005 * ours / observed) / observed
            yield Cell(where, "deviation", cell["paper_error_percent"], error, slack, PERCENT)
        ratio = _ratio(where, cell)
        if ratio is not None:
            yield ratio


def _ratio(where: str, cell: Document) -> Cell | None:
    interval = cell["paper_prediction_s"]
    confidence = cell["paper_confidence_half_s"]
    if interval is None or confidence is None or cell["response"] != "total" or cell["case"].startswith("T11"):
        return None  # the sum over parts adds up intervals of parts
    prediction = (interval[1] - interval[0]) / 2
    if prediction < LEAST_HALF_WIDTH_S:
        return None
    printed = confidence / prediction
    low, high = (confidence - 0.005) / (prediction + 0.005), (confidence + 0.005) / (prediction - 0.005)
    own = [cell[f"ols_{name}_s"] for name in ("confidence", "prediction")]
    ours = (own[0][1] - own[0][0]) / (own[1][1] - own[1][0])
    return Cell(where, "confidence / prediction interval", printed, ours, max(printed - low, high - printed))


def _coefficients(cells: Sequence[Document]) -> Compared:
    """T = N / (k P) + B0 through two of our predictions for each class."""
    found = []
    for case, k, b0 in (("T2-A", 3996971.35, 0.025), ("T2-B", 3906469.72, 0.085)):
        first, last = (cell for cell in cells if cell["case"] == case and cell["at"]["P"] in {12, 16})
        n = first["at"]["N"]
        slope = (first["ols_s"] - last["ols_s"]) / (n / first["at"]["P"] - n / last["at"]["P"])
        found.append(Cell(case, "pairs per second", k, 1 / slope))
        found.append(Cell(case, "B0", b0, first["ols_s"] - slope * n / first["at"]["P"], ROUNDED_S, "s"))
    return judged("text of table 2", "EP: coefficients of the models", "Fitted to the printed means.", found)


def _breakdown() -> Iterator[Cell]:
    """Sum of the parts beside the total, and communication's share of the transform."""
    rows = shipped_rows("papers/scopred_ft_breakdown.csv")
    for nodes in in_order(row["nodes"] for row in rows):
        own = {row["component"]: float(row["value"]) for row in rows if row["nodes"] == nodes}
        parts = [own[name] for name in ("setup", "evolve", "fft_cpu", "fft_comm")]
        yield Cell(f"{nodes} nodes", "sum of the parts", own["total"], sum(parts), 0.5 * ROUNDED_S * 5, "s")
        whole = own["fft_cpu"] + own["fft_comm"] + RELATIVE_TO
        share = own["fft_comm"] / whole
        slack = 0.005 + 100 * 0.005 * (1 - share + share) / whole
        yield Cell(
            f"{nodes} nodes", "communication in the transform", own["fft_comm_percent"], 100 * share, slack, PERCENT
        )
