"""The second table 6 of the characterisation paper, simulated: its kernels on 2 to 128 transputers, by each method.

The paper prints node times by each method and the errors that they cause, but neither the times of messages nor the
parameters of its templates; those are ours and stand in the two scenarios. The sort's local part, whose time is not
printed, is chosen so that the flops' error on two processors comes out; every other cell is foretold.
"""

from typing import Any

from simulator import files, load_scenario, run
from simulator.calibration import read_shipped_table

SCENARIOS = {"matmul": "papers/warwick-matmul.yaml", "sorting": "papers/warwick-sort.yaml"}
METHODS = ("ICC", "HLLC", "POC")
TIMED = "ct"
GRID_ROWS = {2: 1, 4: 2, 8: 2, 16: 4, 32: 4, 64: 8, 128: 8}
"""Processors of the paper -> rows of the grid that the matrix product runs on."""
CHOSEN = ("sorting", 2, "POC")
"""The one cell that a parameter was chosen for."""

Rows = list[dict[str, Any]]


def errors(processors: tuple[int, ...] = tuple(GRID_ROWS)) -> Rows:
    """Errors due to the resource models: one row per kernel, number of processors and method.

    Returns
    -------
    list of dict
        `kernel`, `processors`, `method`, `makespan_s`, `timed_s` (by component timing), `error_percent` (size of the
        difference in makespan from component timing's) and `printed_percent`.
    """
    told = _printed()
    rows = []
    for kernel in SCENARIOS:
        for count in processors:
            timed_s = makespan_s(kernel, count, TIMED)
            for method in METHODS:
                own_s = makespan_s(kernel, count, method.lower())
                rows.append(
                    {"kernel": kernel, "processors": count, "method": method, "makespan_s": own_s, "timed_s": timed_s}
                    | {"error_percent": 100 * abs(own_s / timed_s - 1), "printed_percent": told[kernel, count, method]}
                )
    return rows


def changes(kernel: str, processors: int, method: str) -> list[str]:
    """What `--set` changes in the kernel's scenario."""
    found = [f"platform.nodes.parsytec.pes.0.count={processors}"]
    if kernel == "matmul":
        rows = GRID_ROWS[processors]
        found += [f"application.grid_rows={rows}", f"application.parameters.R={rows}"]
        return [*found, f"application.steps.step.graph=product_{method}"]
    return [*found, f"application.steps.merge.graph=merge_{method}"]


def makespan_s(kernel: str, processors: int, method: str) -> float:
    """Of the kernel's scenario on so many transputers, with the node times of a method."""
    path = files.shipped("scenarios", SCENARIOS[kernel])
    return float(run(load_scenario(path, changes=changes(kernel, processors, method))).makespan_s[0, 0])


def lines(rows: Rows) -> list[str]:
    """The errors as text, (printed) beside them."""
    found = ["errors due to the resource models (second table 6), simulated from the node times, (printed), in percent"]
    found.append(f"  {'kernel':<10}{'processors':>11}" + "".join(f"{method:>16}" for method in METHODS))
    for kernel, count in dict.fromkeys((row["kernel"], row["processors"]) for row in rows):
        own = [row for row in rows if (row["kernel"], row["processors"]) == (kernel, count)]
        shown = "".join(f"{row['error_percent']:8.1f} ({row['printed_percent']:.1f})".rjust(16) for row in own)
        found.append(f"  {kernel:<10}{count:>11}{shown}")
    off = [abs(row["error_percent"] - row["printed_percent"]) for row in rows]
    found.append(f"  {sum(off) / len(off):.1f} points off on average, {max(off):.1f} at most; messages are ours")
    return found


def _printed() -> dict[tuple[str, int, str], float]:
    table = read_shipped_table("papers/warwick_errors.csv")
    keys = zip(table.text("kernel"), map(int, table.text("processors")), table.text("method"), strict=True)
    return dict(zip(keys, map(float, table.numbers("error_percent")), strict=True))
