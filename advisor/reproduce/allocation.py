"""The allocation paper (Kishimoto and Ichikawa): its tables' arithmetic, its runs, its choices on a surrogate cluster.

Tables 4, 7 and 9 print the configuration that each construction set (Basic, NL, NS) chose, its estimated and measured
time and the best measured one. The original cluster is gone: `allocation_study` repeats the experiment on a surrogate
fitted to the printed points, by the paper's model and by ours.
"""

from collections.abc import Sequence
from typing import Any

from advisor.reproduce import allocation_study, allocation_surrogate
from simulator import files
from simulator.calibration import read_shipped_table

TITLE = "Process allocation for unmodified programs (Kishimoto and Ichikawa)"
SEEDS = 100
RECORDED = "papers/allocation_study.json"
TABLES = {"4": "Basic", "7": "NL", "9": "NS"}
"""Table of choices -> construction set."""
PRINTED_RUNS = {"Basic": 486, "NL": 120, "NS": 120}
PRINTED_COST_S = {"Basic": 22869.3, "NL": 12335.4, "NS": 571.7}
"""The sums of Tables 3 and 6; the text gives 12235 s for NL."""
PRINTED_CANDIDATES = 62

Rows = list[dict[str, str]]


def reproduce(
    seeds: int = SEEDS, *, methods: Sequence[str] = allocation_study.METHODS, recorded: bool = False
) -> dict[str, Any]:
    """Compute the tables again, and the experiment on the surrogate.

    Parameters
    ----------
    seeds
        How often the surrogate's construction runs are measured anew, each with noise of its own.
    methods
        Of `allocation_study.METHODS`.
    recorded
        Take the study of the surrogate from the shipped recording, which is of `SEEDS` seeds and all methods.

    Returns
    -------
    dict
        `tables`: each printed choice with its errors as printed and computed again; `orderings`: configurations
        measured at the same size, fastest first; `construction`: runs and measuring time of each set, printed and ours;
        `candidates`; `surrogate`: the entries of `allocation_study.study`.
    """
    rows = [row for number in TABLES for row in _rows(f"kishimoto_table{number}")]
    return {
        "paper": "allocation",
        "title": TITLE,
        "tables": [_choice(row) for row in rows],
        "orderings": _orderings(_rows("kishimoto_measured_points"), rows),
        "construction": [_construction(name) for name in PRINTED_RUNS],
        "candidates": {
            "paper": PRINTED_CANDIDATES,
            "found": len(allocation_surrogate.candidates(allocation_surrogate.cluster())),
        },
        "seeds": SEEDS if recorded else seeds,
        "recorded": recorded,
        "surrogate": recorded_study() if recorded else allocation_study.study(seeds=seeds, methods=methods),
    }


def recorded_study() -> list[dict[str, Any]]:
    """Entries of `allocation_study.study`, as they once came out for `SEEDS` seeds, which takes minutes."""
    return list(files.read_json(files.shipped("scenarios", RECORDED))["surrogate"])


def text(result: dict[str, Any]) -> str:
    """The tables, then regret and cost on the surrogate."""
    lines = [result["title"], "", *_table_lines(result["tables"]), "", *_ordering_lines(result["orderings"]), ""]
    lines += _construction_lines(result["construction"])
    found, paper = result["candidates"]["found"], result["candidates"]["paper"]
    lines.append(f"configurations to choose from: {found} (paper {paper})")
    return "\n".join([*lines, "", *allocation_study.lines(result["surrogate"], seeds=result["seeds"])])


def _choice(row: dict[str, str]) -> dict[str, Any]:
    """One printed choice, with its errors computed from the printed times."""
    estimated, own, best = (
        float(row[name]) for name in ("estimated_time_s", "measured_time_of_estimated_s", "best_time_s")
    )
    errors = {"estimate": estimated / best - 1, "regret": own / best - 1}
    printed = {"estimate": float(row["estimation_error"]), "regret": float(row["regret"])}
    return {
        "table": int(row["table"]),
        "set": TABLES[row["table"]],
        "size": int(row["n"]),
        "chosen": _configuration(row, "est_"),
        "best": _configuration(row, "best_"),
        "estimated_s": estimated,
        "measured_s": own,
        "best_s": best,
        "paper": printed,
        "computed": errors,
        "agrees": all(
            _could_be(row[name], row["best_time_s"], row[error])
            for name, error in (
                ("estimated_time_s", "estimation_error"),
                ("measured_time_of_estimated_s", "regret"),
            )
        ),
    }


def _could_be(seconds: str, best: str, error: str) -> bool:
    """Whether times that round to the printed ones have an error that rounds to the printed one."""
    (low, high), (best_low, best_high), (error_low, error_high) = map(_before_rounding, (seconds, best, error))
    slack = 1e-9
    return low / best_high - 1 <= error_high + slack and high / best_low - 1 >= error_low - slack


def _before_rounding(text: str) -> tuple[float, float]:
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return float(text) - half, float(text) + half


def _orderings(points: Rows, choices: Rows) -> list[dict[str, Any]]:
    """Measured configurations by size, fastest first, and whether the fastest is the one that the tables call best."""
    found = []
    for size in sorted({int(point["n"]) for point in points}):
        own = sorted(
            (float(point["measured_time_s"]), _configuration(point)) for point in points if point["n"] == str(size)
        )
        best = {tuple(_configuration(row, "best_")) for row in choices if row["n"] == str(size)}
        found.append(
            {
                "size": size,
                "configurations": [configuration for _, configuration in own],
                "measured_s": [seconds for seconds, _ in own],
                "agrees": best == {tuple(own[0][1])},
            }
        )
    return found


def _construction(name: str) -> dict[str, Any]:
    """Runs and measuring time of a construction set: the sums of the printed tables at its sizes."""
    sizes, _ = allocation_surrogate.construction(allocation_surrogate.cluster(), name)
    rows = _rows("kishimoto_table3" if name == "Basic" else "kishimoto_table6")
    wanted = {str(size) for size in allocation_surrogate.SIZES[name]}
    own = [float(row["measurement_time_s"]) for row in rows if row["row"] == "size" and row["n"] in wanted]
    return {
        "set": name,
        "runs": len(sizes),
        "paper_runs": PRINTED_RUNS[name],
        "cost_s": sum(own),
        "paper_cost_s": PRINTED_COST_S[name],
    }


def _configuration(row: dict[str, str], prefix: str = "") -> list[int]:
    return [int(row[f"{prefix}{name}"]) for name in ("p1", "m1", "p2", "m2")]


def _table_lines(choices: list[dict[str, Any]]) -> list[str]:
    lines = [
        "errors against the best measured time, printed and from the printed times (P1,M1,P2,M2)",
        f"{'table':14}{'N':>6}{'chosen':>10}{'best':>10}{'estimate':>10}{'printed':>9}{'regret':>9}{'printed':>9}",
    ]
    for row in choices:
        where = f"{row['table']} {row['set']}"
        chosen, best = (",".join(map(str, row[name])) for name in ("chosen", "best"))
        errors = "".join(
            f"{row['computed'][name]:>{width}.3f}{row['paper'][name]:>9.3f}"
            for name, width in (("estimate", 10), ("regret", 9))
        )
        lines.append(f"{where:14}{row['size']:>6}{chosen:>10}{best:>10}{errors}{'' if row['agrees'] else '  differs'}")
    return lines


def _ordering_lines(orderings: list[dict[str, Any]]) -> list[str]:
    lines = ["measured, fastest first"]
    for row in orderings:
        shown = " < ".join(
            f"{','.join(map(str, configuration))}: {seconds:g} s"
            for configuration, seconds in zip(row["configurations"], row["measured_s"], strict=True)
        )
        lines.append(f"{row['size']:>6}  {shown}{'' if row['agrees'] else '  (the tables name another best)'}")
    return lines


def _construction_lines(rows: list[dict[str, Any]]) -> list[str]:
    head = f"{'construction':14}{'runs':>6}{'paper':>7}{'measured s':>12}{'paper':>10}"
    return [
        head,
        *(
            f"{row['set']:14}{row['runs']:>6}{row['paper_runs']:>7}{row['cost_s']:>12.1f}{row['paper_cost_s']:>10.1f}"
            for row in rows
        ),
    ]


def _rows(name: str) -> Rows:
    table = read_shipped_table(f"papers/{name}.csv")
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]
