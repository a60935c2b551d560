"""The paper's study on this machine: kernels at sizes that taught nothing, each method's error beside that of timing.

Errors due to the resource model alone are errors minus those of component timing, as in the paper; their sizes are
summed up as in its table 7. Costs of IntCC and ICC are fitted twice: with the kernel's own runs at other
sizes, which weigh as much as those of all other kernels together, and without any of its runs.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator import files
from simulator.calibration import read_shipped_table, read_table
from simulator.characterisation import METHODS, STUDY_KERNELS, characterise_all, make_subject
from simulator.models import error_statistics

if TYPE_CHECKING:
    from simulator.models import HardwareModel

SHIPPED = "papers/characterisation_study.csv"
COLUMNS = ("kernel", "n", "method", "predicted_s", "untaught_s", "measured_s")
MODELS = ("icc", "intcc", "hllc", "poc", "dbc")
"""Resource models, from the one that knows most to the one that knows least."""
PAPER = {"icc": 0.80, "hllc": 8.19, "poc": 45.58}
"""Mean errors due to the resource models in percent: table 7."""
BOUNDS = {"icc": 10.0, "intcc": 25.0, "hllc": 25.0}
"""Mean errors in percent that would do."""

HEADER = (
    f"  {'method':<8}{'paper':>8}{'mean':>9}{'sd':>9}{'min':>8}{'max':>9}  {'90 % of the mean':<20}"
    f"{'kernel untaught':>16}  90 % of the mean"
)

Rows = list[dict[str, Any]]


def measure(
    folder: Path, hardware: "HardwareModel", *, budget_s: float, seed: int, on_progress: Callable[[str, float], None]
) -> Path:
    """Run the study here and write its rows into the folder; their path."""
    subjects = [make_subject(name) for name in STUDY_KERNELS]
    found = characterise_all(subjects, hardware, methods=METHODS, budget_s=budget_s, seed=seed, on_progress=on_progress)
    files.write_json(folder / "study.json", found)
    lines = [",".join(COLUMNS)]
    for entry, name in ((entry, one["subject"]["name"]) for one in found for entry in one["methods"]):
        untaught = entry.get("left_out_predicted_s", entry["predicted_s"])
        values = (
            name,
            f"{entry['arguments']['n']:g}",
            entry["name"],
            *map(repr, (entry["predicted_s"], untaught, entry["measured_s"])),
        )
        lines.append(",".join(values))
    path = folder / "study.csv"
    files.write_text(path, "\n".join(lines) + "\n")
    return path


def read_rows(path: Path | None) -> Rows:
    """Rows of a study; the shipped one without a path."""
    table = read_shipped_table(SHIPPED) if path is None else read_table(path)
    numbers = {name: table.numbers(name) for name in ("n", "predicted_s", "untaught_s", "measured_s")}
    texts = {name: table.text(name) for name in ("kernel", "method")}
    return [
        {name: texts[name][i] for name in texts} | {name: float(numbers[name][i]) for name in numbers}
        for i in range(len(table.rows))
    ]


def judge(rows: Rows) -> dict[str, Any]:
    """Errors of each prediction, their statistics by method and by kernel, the order, and the finding in words."""
    timing = {(row["kernel"], row["n"]): _error(row, "predicted_s") for row in rows if row["method"] == "ct"}
    errors = [
        {
            "kernel": row["kernel"],
            "n": row["n"],
            "method": row["method"],
            "error_percent": _error(row, "predicted_s"),
            "resource_model_error_percent": _error(row, "predicted_s") - timing[row["kernel"], row["n"]],
            "untaught_resource_model_error_percent": _error(row, "untaught_s") - timing[row["kernel"], row["n"]],
        }
        for row in rows
    ]
    taught, untaught = (
        _statistics(errors, name) for name in ("resource_model_error_percent", "untaught_resource_model_error_percent")
    )
    return {
        "errors": errors,
        "component_timing": error_statistics([abs(error) for error in timing.values()]).to_dict(),
        "taught": taught,
        "untaught": untaught,
        "by_kernel": _by_kernel(errors),
        "order": _sorted(taught),
        "order_untaught": _sorted(untaught),
        "bounds": {
            name: {"percent": most, "kept": taught[name]["mean"] <= most}
            for name, most in BOUNDS.items()
            if name in taught
        },
        "finding": finding(taught, untaught),
    }


def finding(taught: Mapping[str, Any], untaught: Mapping[str, Any]) -> list[str]:
    """Which method is worth its effort here, and whether the paper's order holds."""
    said = [_order("order, kernels' own runs at other sizes among what costs are fitted to", taught)]
    said.append(_order("order, no run of the kernel that is judged", untaught))
    for name, statistics in (("with those runs", taught), ("without them", untaught)):
        order = [method for method in _sorted(statistics) if method in PAPER]
        pairs = itertools.pairwise(order)
        clear = all(statistics[a]["ci90_high"] < statistics[b]["ci90_low"] for a, b in pairs)
        same = order == list(PAPER)
        verdict = "holds" if same else f"does not hold: {', '.join(map(str.upper, order))}"
        sure = "intervals apart" if clear else "intervals of neighbours overlap"
        said.append(f"the paper's order (ICC, HLLC, POC) {verdict}, {name} ({sure})")
    least = _sorted(untaught)[0]
    best = _sorted(taught)[0]
    said.append(
        f"worth its effort: {best.upper()} where the kernel itself can be run small ({_mean(taught, best)}), "
        f"{least.upper()} where it cannot ({_mean(untaught, least)}); component timing beats both where it can be had"
    )
    said.append(
        "costs that add up know neither what overlaps nor vectors: an addition takes an eighth of a cycle in a vector "
        "loop and three in a chain, so that one cost per operation is wrong for both; on the paper's T800 nothing "
        "overlapped but two units, which its equation 7 takes off; ICC here takes off all that overlaps within a loop"
    )
    return said


def lines(found: Mapping[str, Any], *, recorded: bool) -> list[str]:
    """The study beside the paper's table 7."""
    where = "shipped recording, two-core virtual machine" if recorded else "this machine"
    out = [f"the same study on {where}: {_counted(found['errors'])}"]
    off = found["component_timing"]["mean"]
    out += [
        "  size of the error due to the resource model alone, in percent, at sizes that taught nothing",
        f"  (component timing itself is off by {off:.1f} on average)",
        HEADER,
    ]
    for method in MODELS:
        if method not in found["taught"]:
            continue
        one, other = found["taught"][method], found["untaught"][method]
        paper = f"{PAPER[method]:.1f}" if method in PAPER else "-"
        shown = "".join(
            f"{one[name]:>{width}.1f}"
            for name, width in (("mean", 9), ("standard_deviation", 9), ("min", 8), ("max", 9))
        )
        interval, apart = (f"{s['ci90_low']:.1f} to {s['ci90_high']:.1f}" for s in (one, other))
        out.append(f"  {method:<8}{paper:>8}{shown}  {interval:<20}{other['mean']:>16.1f}  {apart}")
    for name, bound in found["bounds"].items():
        out.append(f"  {name}: at most {bound['percent']:g} % asked for: {'kept' if bound['kept'] else 'missed'}")
    out.append(f"  {'mean by kernel':<16}" + "".join(f"{method:>9}" for method in MODELS))
    for kernel, means in found["by_kernel"].items():
        out.append(f"  {kernel:<16}" + "".join(f"{means.get(method, float('nan')):>9.1f}" for method in MODELS))
    return [*out, "finding:", *(f"  {line}" for line in found["finding"])]


def _statistics(errors: Rows, name: str) -> dict[str, dict[str, Any]]:
    return {
        method: error_statistics([abs(row[name]) for row in errors if row["method"] == method]).to_dict()
        for method in MODELS
        if any(row["method"] == method for row in errors)
    }


def _by_kernel(errors: Rows) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for kernel in dict.fromkeys(row["kernel"] for row in errors):
        mine = [row for row in errors if row["kernel"] == kernel and row["method"] != "ct"]
        found[kernel] = {
            method: error_statistics(
                [abs(row["resource_model_error_percent"]) for row in mine if row["method"] == method]
            ).mean
            for method in dict.fromkeys(row["method"] for row in mine)
        }
    return found


def _order(what: str, statistics: Mapping[str, Any]) -> str:
    return f"{what}: " + ", ".join(f"{name.upper()} {_mean(statistics, name)}" for name in _sorted(statistics))


def _mean(statistics: Mapping[str, Any], name: str) -> str:
    one = statistics[name]
    return f"{one['mean']:.1f} % ({one['ci90_low']:.1f} to {one['ci90_high']:.1f})"


def _sorted(statistics: Mapping[str, Any]) -> list[str]:
    return sorted(statistics, key=lambda name: float(statistics[name]["mean"]))


def _counted(errors: Sequence[Mapping[str, Any]]) -> str:
    kernels = list(dict.fromkeys(row["kernel"] for row in errors))
    points = {(row["kernel"], row["n"]) for row in errors}
    return f"{', '.join(kernels)}, {len(points)} points"


def _error(row: Mapping[str, Any], name: str) -> float:
    """Signed, in percent."""
    return float(100 * (row[name] - row["measured_s"]) / row["measured_s"])
