"""How long the slowest of many cores takes: simulated from half of the repetitions, judged on the other half.

`python -m tests.studies.core_states_study [--table cpu_speed.csv]` reads runs of all cores at once (columns as in the
README of `shared/data/gpu`), makes a speed model of some repetitions of each kernel and number of columns, simulates
equal parts on as many PEs, and compares with the slowest core of each other repetition. `--sizes` leaves every third
size out of the model and judges those. It shares no code with what is judged.
"""

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml

import simulator as sim
from simulator import calibration

TABLE = Path(__file__).parents[3] / "shared" / "data" / "gpu" / "cpu_speed.csv"
ERROR, HELD, LEVEL = 0.05, 0.85, 0.9
KERNEL = "made"


def runs_at_once(path):
    """Of each kernel, precision, columns and number of cores at once: (rows, repetition) -> seconds of each core.

    What was run at one number of rows only is left out.
    """
    found = defaultdict(lambda: defaultdict(dict))
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            group = row["kernel"], row["precision"], int(row["columns"]), int(row["cores_at_once"])
            run = int(row["rows"]), int(row["repetition"])
            found[group][run][int(row["core"])] = float(row["time_s"])
    return {group: runs for group, runs in found.items() if group[3] > 1 and len({rows for rows, _ in runs}) > 1}


def volume(kernel, columns):
    """Operations of a row of a panel."""
    return 2.0 * columns * columns if kernel == "gemm" else float(columns)


def calibrated(runs, per_row, folder):
    """The speed model that our calibration makes of a table of runs at once, with rows for sizes."""
    path = folder / "runs.csv"
    lines = ["size_elements,volume,cpu_s,pe"]
    for (rows, _), times in sorted(runs.items()):
        lines += [f"{rows},{rows * per_row!r},{time_s!r},cpu{core}" for core, time_s in sorted(times.items())]
    path.write_text("\n".join(lines) + "\n")
    calibration.save_speed_model(calibration.fit_speed(calibration.read_replay(path)), folder / "model.json")


def stated(folder, cores, rows, per_row):
    """What is said of the makespan of equal parts."""
    pes = [{"name": "{node}-core", "count": cores, "speeds": {KERNEL: {"model": "model.json"}}}]
    document = {
        "format": 1,
        "platform": {"nodes": [{"name": "host", "pes": pes}], "link": {"latency": "1ns", "bandwidth": "1000Gbit/s"}},
        "application": {
            "name": "ep",
            "kernel": KERNEL,
            "parameters": {"samples": rows * cores, "volume": per_row, "result_bytes": 0},
        },
        "configurations": {"equal": {"partition": "equal"}},
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return sim.run(sim.load_scenario(path)).described("equal", level=LEVEL)


def judged(path, *, sizes=False):
    """Rows (group, rows, predicted median over true less 1, whether the interval of a run held it)."""
    found = []
    for group, runs in runs_at_once(path).items():
        per_row = volume(group[0], group[2])
        for known, held_out in halves(runs, sizes=sizes):
            with TemporaryDirectory() as folder:
                found += [(group, *row) for row in of_half(known, held_out, per_row, folder)]
    return found


def of_half(known, held_out, per_row, folder):
    """Rows of one kernel and number of columns, of one half."""
    folder, told = Path(folder), {}
    calibrated(known, per_row, folder)
    for (rows, _), times in held_out.items():
        if rows not in told:
            told[rows] = stated(folder, len(times), rows, per_row)
        row, true = told[rows], max(times.values())
        yield rows, row["median"] / true - 1, row["run_low"] <= true <= row["run_high"]


def halves(runs, *, sizes):
    """Both ways to know every other repetition; or all repetitions, of two sizes in three."""
    if not sizes:
        first = sorted({repetition for _, repetition in runs})[::2]
        one = {run: times for run, times in runs.items() if run[1] in first}
        other = {run: times for run, times in runs.items() if run[1] not in first}
        return [(one, other), (other, one)]
    every = sorted({rows for rows, _ in runs})
    out = every[1:-1:3]
    return [({run: t for run, t in runs.items() if run[0] not in out}, {r: t for r, t in runs.items() if r[0] in out})]


def main(arguments=None):
    """The study; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--sizes", action="store_true", help="judge sizes that were not measured")
    given = parser.parse_args(arguments)
    found = judged(given.table, sizes=given.sizes)
    for group in sorted({row[0] for row in found}):
        show(" ".join(map(str, group)), [row for row in found if row[0] == group])
    error, held = show("all", found)
    return 0 if error <= ERROR and held >= HELD else 1


def show(name, found):
    """Print median error, bias and how often intervals held; the first and the last."""
    errors = np.array([row[2] for row in found])
    error, held = float(np.median(np.abs(errors))), float(np.mean([row[3] for row in found]))
    print(f"{name:<24} {len(found):>4} makespans: error {error:6.1%}, bias {np.median(errors):+6.1%}, held {held:4.0%}")
    return error, held


if __name__ == "__main__":
    sys.exit(main())
