"""Splits of a problem over a GPU and 15 cores, simulated from tables of the parts, against what they really took.

`python -m tests.studies.gpu_study [--folder FOLDER]` reads `gpu_speed.csv`, `transfer.csv`, `cpu_speed.csv` and
`hybrid.csv` (columns as in the tables that the tests know), and prints for each application the median error of the
simulated splits, whether their order is kept, and what the advice's split is over the best one measured.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import simulator
from advisor import recommend
from simulator import SpeedBand, calibration

TABLES = Path(__file__).parents[3] / "shared" / "data" / "gpu"
CORES = 15
KERNELS = {"matmul": ("gemm", "dgemm"), "stencil_no_barrier": ("stencil", "stencil")}
NODE = """format: 1
platform:
  nodes:
    - name: n
      pes:
        - {{name: "c[0-15]", speeds: {{{kernel}: {{model: cpu.json}}}}}}
        - name: gpu0
          kind: gpu
          host: c15
          memory: 141GB
          link: {{into: {{model: into.json}}, out: {{model: out.json}}}}
          speeds: {{{kernel}: {{model: gpu.json}}}}
  link: {{latency: 1ns, bandwidth: 1PB/s}}
application: {{name: {application}, kernel: {kernel}, parameters: {parameters}}}
configurations: {{{configurations}}}
replications: 40
seed: 1
"""


def measured(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "hybrid.csv")
    keys = ["application", "columns", "iterations", "gpu_rows", "cpu_rows_each"]
    return table.groupby(keys)["makespan_s"].median().reset_index()


def models(folder: Path, into: Path, table_kernel: str) -> None:
    """Bands of the GPU and of a core with all at work, and links from pinned memory."""
    moved = "b_moved=1,pinned=1" if table_kernel == "gemm" else "pinned=1"
    sources = {
        "gpu.json": ("gpu_speed.csv", f"kernel={table_kernel},precision=float64,{moved}"),
        "cpu.json": ("cpu_speed.csv", f"kernel={table_kernel},precision=float64,cores_at_once={CORES}"),
    }
    for name, (table, only) in sources.items():
        source = calibration.read_replay(folder / table, only=only)
        calibration.save_speed_model(calibration.fit_speed(source), into / name)
    for name, direction in (("into.json", "h2d"), ("out.json", "d2h")):
        fitted = calibration.fit_network_table(folder / "transfer.csv", only=f"direction={direction},pinned=1")
        calibration.save_network_model(fitted, into / name)


def scenario(into: Path, application: str, columns: int, iterations: int, splits: pd.DataFrame) -> Path:
    kernel = KERNELS[application][1]
    lines = []
    for place, (gpu, each) in enumerate(zip(splits.gpu_rows, splits.cpu_rows_each, strict=True)):
        partition = [int(gpu), *([int(each)] * CORES if each else [])]
        pes = "[gpu0, 'c[0-14]']" if each else "[gpu0]"
        lines.append(f"s{place}: {{partition: {partition}, pes: {pes}}}")
    parameters = f"{{n: {columns}}}" if application == "matmul" else f"{{n: {columns}, iterations: {iterations}}}"
    text = NODE.format(
        kernel=kernel,
        application=application.removesuffix("_no_barrier"),
        parameters=parameters,
        configurations=", ".join(lines),
    )
    path = into / f"{application}-{columns}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def judged(path: Path, splits: pd.DataFrame) -> tuple[float, float, pd.DataFrame]:
    """Median error, part of the pairs of splits that differ by more than 5 % whose order is kept, and all splits."""
    runs = simulator.run(simulator.load_scenario(path))
    found = splits.assign(simulated_s=runs.makespan_s.mean(axis=1))
    errors = np.abs(found.simulated_s / found.makespan_s - 1)
    real, made = found.makespan_s.to_numpy(), found.simulated_s.to_numpy()
    apart = np.abs(np.log(real[:, None] / real[None])) > np.log(1.05)
    kept = np.sign(made[:, None] - made[None]) == np.sign(real[:, None] - real[None])
    return float(np.median(errors)), float(kept[apart].mean()), found.assign(error=errors)


def advised(path: Path, found: pd.DataFrame) -> tuple[int, float]:
    """Rows that the advice gives the GPU, and how much longer the measured split nearest to that took than the best."""
    best = recommend(simulator.load_scenario(path), seed=1).configuration
    place = [pe.name for pe in simulator.load_scenario(path).platform.pes].index("gpu0")
    rows = sum(units for units, pe in zip(best.partition, best.placement, strict=True) if pe == place)
    near = found.iloc[(found.gpu_rows - rows).abs().argmin()]
    return rows, float(near.makespan_s / found.makespan_s.min() - 1)


def slower(found: simulator.Scenario, factor: float) -> simulator.Scenario:
    """With a GPU so many times as slow."""

    def band(one: SpeedBand) -> SpeedBand:
        return replace(one, **{name: getattr(one, name) / factor for name in ("low", "mid", "high")})

    pes = [
        pe if pe.gpu is None else replace(pe, speeds={name: band(one) for name, one in pe.speeds.items()})
        for pe in found.platform.pes
    ]
    return replace(found, platform=replace(found.platform, pes=tuple(pes)))


def regret(found: simulator.Scenario) -> tuple[int, float]:
    """Rows that the advice gives the GPU, and how far it is from the best of all splits with equal cores."""
    names = [pe.name for pe in found.platform.pes]
    gpu, cores, n = names.index("gpu0"), [pe for pe, name in enumerate(names) if name[0] == "c"], found.platform.pes
    n = found.application.work.units
    splits = []
    for rows in sorted({*range(0, n + 1, n // 64), n - 15, n - 30, n - 60}):
        used = cores if rows == 0 else cores[:CORES]
        parts = simulator.partitions.even_split(n - rows, len(used))
        placed = [(gpu, rows), *zip(used, parts, strict=True)]
        placed = [(pe, units) for pe, units in placed if units]
        splits.append(simulator.Configuration(f"r{rows}", tuple(u for _, u in placed), tuple(p for p, _ in placed)))
    best = recommend(found, seed=1).configuration
    runs = simulator.run(replace(found, configurations=(replace(best, name="best"), *splits)))
    means = runs.makespan_s.mean(axis=1)
    rows = sum(units for units, pe in zip(best.partition, best.placement, strict=True) if pe == gpu)
    return rows, float(means[0] / means[1:].min() - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=TABLES)
    parser.add_argument("--no-advice", action="store_true")
    folder = parser.parse_args().folder
    table = measured(folder)
    for (application, columns, iterations), splits in table.groupby(["application", "columns", "iterations"]):
        with tempfile.TemporaryDirectory() as made:
            models(folder, Path(made), KERNELS[application][0])
            path = scenario(Path(made), application, columns, iterations, splits)
            error, kept, found = judged(path, splits)
            print(f"{application} n = {columns}: median error {error:.1%}, order kept in {kept:.0%} of pairs")
            print(found[["gpu_rows", "cpu_rows_each", "makespan_s", "simulated_s", "error"]].to_string(index=False))
            if parser.parse_args().no_advice:
                continue
            rows, over = advised(path, found)
            print(f"advised: {rows} rows on the GPU, measured {over:.1%} over the best split")
            for factor in (1, 20, 100, 500):
                rows, over = regret(slower(simulator.load_scenario(path), factor))
                print(f"GPU {factor} times slower: {rows} rows on it, {over:.1%} over the best of all splits")


if __name__ == "__main__":
    main()
