"""The speed-band paper's Table 1 on this machine: the grid, GBBP and adaptive really run, side by side.

Experimental seconds are wall seconds of everything that measuring a method's own points took. Finding the largest size
is done once and serves all methods: the paper leaves it out of its times, so `speedup_over_grid` does too, and
`speedup_with_ends` counts it whole for each.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from advisor.reproduce.builders import Compared, compare_builders
from advisor.reproduce.gbbp_score import METHODS, paper_line, paper_rows, score
from simulator import Machine, files, plots, provenance, this_machine, units
from simulator.calibration import RealPoint

KERNELS = {"naive_matmul": "matmul", "dgemm": "dgemm", "cholesky": "cholesky"}
"""The paper's name of a kernel -> ours."""
BUSY_LOAD = 0.3
"""Mean runnable processes of others from which on the machine counts as busy."""
LOST_SHARE = 0.05
"""The same for the share of the wall time that the runs had to wait."""
DOCUMENT = "gbbp.json"
EXPLAINED = (
    "time: wall seconds that a method's own points took; speedup: the grid's time over it, as the paper counts it;",
    "with b: the same with the time for finding the largest size b, shared by all, added to both; runs: the same if",
    "every point cost one single run; errors: against the median of fresh runs at sizes that no method saw;",
    "noise: how far one of those runs lies from the others at its size: no error much below it can be had",
)
HEAD = (
    f"{'':<14}{'method':<10}{'time':>9}{'speedup':>9}{'with b':>8}{'runs':>7}{'points':>8}{'mean':>9}{'max error':>11}"
)


def table(
    folder: Path, *, budget_s: float, cpu: int, seed: int, on_progress: Callable[[str, float], None]
) -> dict[str, Any]:
    """Measure, and write the document with all bands and a figure per kernel into the folder.

    Parameters
    ----------
    folder
        Finished points too are kept here, so that a run that was broken off goes on.
    budget_s
        About how many seconds it may take in all.
    cpu
        The logical processor that everything runs on.

    Returns
    -------
    dict
        `kernels` (per kernel and method, see `score`), `measured` (per kernel: ends, sweep, noise), `paper`,
        `warnings`, `provenance`.
    """
    before = this_machine()
    done = compare_builders(
        list(KERNELS.values()), folder=folder, cpu=cpu, budget_s=budget_s, seed=seed, on_progress=on_progress
    )
    by_kernel = dict(zip(KERNELS, done, strict=True))
    found = {
        "clock": "real",
        "budget_s": budget_s,
        "seed": seed,
        "cpu": cpu,
        "kernels": {kernel: _rows(compared) for kernel, compared in by_kernel.items()},
        "measured": {kernel: _measured(compared) for kernel, compared in by_kernel.items()},
        "paper": paper_rows(),
        "warnings": [*load_warnings(before), *_busy(by_kernel)],
        "provenance": provenance.provenance(seed=seed, machine=before),
    }
    _write(folder, found, by_kernel)
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """The table for the terminal, with what its columns mean."""
    text = [
        f"GBBP, Table 1 on this machine, processor {found['cpu']}, budget {units.show_duration(found['budget_s'])}",
        *EXPLAINED,
        HEAD,
    ]
    for kernel, rows in found["kernels"].items():
        part = found["measured"][kernel]
        for method, row in rows.items():
            text.append(
                f"{kernel:<14}{method:<9}{row['experimental_s']:>8.2f} s{row['speedup_over_grid']:>9.1f}"
                f"{row['speedup_with_ends']:>8.1f}{row['speedup_in_single_runs']:>7.1f}{row['points']:>8}"
                f"{row['mean_error_percent']:>7.1f} %{row['max_error_percent']:>7.1f} %"
            )
        noise = part["noise_floor"]
        text += [
            paper_line(kernel, found["paper"]),
            f"{'':<14}{len(part['held_out'])} held-out sizes, noise {_shown(noise)}",
            f"{'':<14}b = {part['largest']:.3g} elements, {part['largest_reason']}; took {part['ends_cost_s']:.2g} s",
        ]
    return [*text, *(f"warning: {line}" for line in found["warnings"])]


def noise_floor(samples: Sequence[Sequence[float]]) -> dict[str, float]:
    """How far a single run's speed lies from the median of the other runs at its size, in percent, mean and greatest.

    Sizes with one sample only tell nothing and are left out.
    """
    off = [
        100 * abs(float(np.median(np.delete(row, k))) / row[k] - 1)
        for row in samples
        if len(row) > 1
        for k in range(len(row))
    ]
    return {"mean_percent": float(np.mean(off)), "max_percent": float(np.max(off))} if off else {}


def load_warnings(machine: Machine) -> list[str]:
    """A line where others use the machine, as it was looked at."""
    load = machine.load_average[0]
    if load <= BUSY_LOAD:
        return []
    return [f"busy machine: load average {load:.2f} on {len(machine.cores)} cores before the run, best run when idle"]


def _shown(noise: dict[str, float]) -> str:
    if not noise:
        return "unknown: one run each"
    return f"{noise['mean_percent']:.1f} % on average, {noise['max_percent']:.1f} % at most"


def _rows(compared: Compared) -> dict[str, dict[str, Any]]:
    rows = score(compared.built, compared.held_out_sizes, compared.held_out_speeds)
    once = {method: sum(point.ideal_s for point in compared.built[method].points) for method in METHODS}
    ends_s, grid_s = compared.ends.cost_s, rows["grid"]["experimental_s"]
    for method, row in rows.items():
        row["speedup_with_ends"] = (grid_s + ends_s) / (row["experimental_s"] + ends_s)
        row["single_runs_s"] = once[method]
        row["speedup_in_single_runs"] = once["grid"] / once[method]
        row["expected_error"] = compared.built[method].expected_error
    return rows


def _measured(compared: Compared) -> dict[str, Any]:
    cpu_s = [[sample.cpu_s for sample in point.samples] for point in compared.held_out]
    sweep = [
        {"size_elements": point.size, "volume": point.volume, "cpu_s": row, "speed": point.measured().speed}
        for point, row in zip(compared.held_out, cpu_s, strict=True)
    ]
    return {
        "smallest": compared.smallest,
        "largest": compared.largest,
        "largest_reason": compared.ends.largest_reason,
        "largest_is_memory_limit": compared.ends.largest_is_memory_limit,
        "ends_cost_s": compared.ends.cost_s,
        "noise_floor": noise_floor(cpu_s),
        "held_out": sweep,
        "held_out_dropped": compared.dropped,
    }


def _busy(by_kernel: dict[str, Compared]) -> list[str]:
    """One line per kernel whose runs had to wait or were often interrupted."""
    found = []
    for kernel, compared in by_kernel.items():
        points: list[RealPoint] = [*compared.held_out, *(p for own in compared.points.values() for p in own)]
        cpu_s, wall_s = (
            sum(point.inner * getattr(sample, name) for point in points for sample in point.samples)
            for name in ("cpu_s", "wall_s")
        )
        switches = sum(sample.involuntary_switches for point in points for sample in point.samples)
        if (lost := 1 - cpu_s / wall_s) > LOST_SHARE:
            found.append(
                f"busy machine: the runs of {kernel} waited {lost:.0%} of their time, {switches} involuntary switches "
                f"in {cpu_s:.3g} CPU seconds: times and speedups are those of a shared processor"
            )
    return found


def _write(folder: Path, found: dict[str, Any], by_kernel: dict[str, Compared]) -> None:
    """The document with all bands and points, and a figure per kernel."""
    bands = {
        kernel: {method: built.to_dict() for method, built in compared.built.items()}
        for kernel, compared in by_kernel.items()
    }
    files.write_json(folder / DOCUMENT, {"format": 1, "kind": "gbbp comparison", **found, "bands": bands})
    for kernel, compared in by_kernel.items():
        drawn = {
            f"{method}: {row['points']} points, {row['experimental_s']:.3g} s, mean error "
            f"{row['mean_error_percent']:.1f} %": (compared.built[method].band, bands[kernel][method]["points"])
            for method, row in found["kernels"][kernel].items()
        }
        plots.plot_builders(
            drawn,
            folder / f"{kernel}.png",
            title=f"{kernel} on {found['provenance']['machine']['cpu_model']}",
            held_out=(compared.held_out_sizes, compared.held_out_speeds),
        )
