"""Table 2 of the paper on Apex-MAP's memory models, beside ours."""

from typing import Any

from advisor.reproduce.comparison import REPEATED, Cell, Compared, judged
from simulator.models import MemoryModel

CITATION = (
    "E. Strohmaier: Performance models for the average time per data access of Apex-MAP (CTWatch, November 2006 B)"
)
MISPRINTS = ("The last term of model 3 is printed (l2 + g * (L - 1)) / L2; it is (l2 + g2 * (L - 1)) / L.",)
AT = {"c": 4096.0, "M": 65536.0, "alpha": 0.5, "L": 16.0}
"""Where the formulas are compared: words, words, 1, words."""
LATENCIES, GAPS = (2e-9, 80e-9), (1e-9, 3e-9)
WORD_BYTES = 8.0

Document = dict[str, Any]


def tables(result: Document) -> list[Compared]:
    """The models' formulas, and their fits, of which the paper prints none."""
    fits = ", ".join(f"{model['name']} {100 * model['on_held_out']['mean']:.0f} %" for model in result["models"])
    where = "a shipped table" if result["recorded"] else "this machine"
    because = (
        f"The paper prints no parameter and no error of any system. Fitted to {result['cells']} cells of {where}, mean "
        f"errors on cells held out: {fits}. Chosen: {result['chosen']}."
    )
    return [
        judged(
            "table 2",
            "Four models of the time per data access",
            "The printed formulas (model 3 without its misprint) beside our model of levels, at one point.",
            _formulas(),
            tolerance=1e-6,
        ),
        Compared("text", "Fits by least squares, residuals, latencies and gaps in order", REPEATED, because),
    ]


def _formulas() -> list[Cell]:
    """Each model by its printed formula and as levels of ours, in seconds."""
    c, m, alpha, run = AT.values()
    (l1, l2), (g1, g2) = LATENCIES, GAPS
    hit = (c / m) ** alpha
    printed = {
        "model 0": g1,
        "model 1": hit * g1 + (1 - hit) * g2,
        "model 2": (l1 + g1 * (run - 1)) / run,
        "model 3": hit * (l1 + g1 * (run - 1)) / run + (1 - hit) * (l2 + g2 * (run - 1)) / run,
    }
    levels = {
        "model 0": ((), (g1,), (g1,)),
        "model 1": ((c,), GAPS, GAPS),
        "model 2": ((), (l1,), (g1,)),
        "model 3": ((c,), LATENCIES, GAPS),
    }
    return [Cell(name, "time per access", printed[name], _time_s(*levels[name]), 0.0, "s") for name in printed]


def _time_s(capacities: tuple[float, ...], latencies: tuple[float, ...], gaps: tuple[float, ...]) -> float:
    bounds: list[float | None] = [*(WORD_BYTES * words for words in capacities), None]
    levels = [
        {"name": f"level {k}", "capacity_bytes": bound, "latency_s": latency, "gap_s": gap}
        for k, (bound, latency, gap) in enumerate(zip(bounds, latencies, gaps, strict=True))
    ]
    plain: dict[str, Any] = {"form": "levels", "levels": levels, "correction": None, "spread": 0.0, "scores": []}
    plain |= {"trained": {"M_words": [1, 1], "alpha": [1, 1], "L": [1, 1]}, "statistics": {}}
    return float(MemoryModel.from_dict(plain).time_per_word_s(AT["M"], AT["alpha"], AT["L"]))
