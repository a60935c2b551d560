"""Times the engines on the benchmark's scenarios, side by side on one core, and writes `out/bench.json`.

python -m tests.benchmarks.bench [--scenarios A,B] [--engines compiled,simgrid] [--samples 5] [--quick] [-o FILE]

Every sample builds the scenario in the engine and simulates it; starting up, compiling, drawing the numbers and reading
them are not counted. Samples of all engines alternate. Times are medians of wall time. Beside them stands the processor
time: equal to it on an idle machine, and steadier on a busy one.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import psutil
from rich.console import Console
from rich.table import Table

from simulator.base.errors import UnsupportedProgram
from tests.benchmarks import simgrid_cpp
from tests.benchmarks.scenarios import CASES, Case, Scenario
from tests.benchmarks.simgrid_cpp import Sample

OUT = Path(__file__).parents[2] / "out" / "bench.json"
SIMGRID = "simgrid"
SIMGRID_TI = "simgrid-ti"
SLOW_S, VERY_SLOW_S = 1.0, 5.0
"""Processor time from which samples are taken three times only, or once."""
BUSY = 1.15
"""Wall time over processor time from which the table warns."""
ROOM_PER_BYTE = 6
"""What the hungriest engine takes per byte of a scenario's arrays: trace integration in SimGrid, the file, ours."""


@dataclass(frozen=True)
class Row:
    """One engine on one scenario; ratios are the other's time over this one's, None where the other did not run.

    `ratio_to_simgrid_cpu` is the same ratio in processor time.
    """

    scenario: str
    size: str
    engine: str
    mode: str
    median_s: float
    cpu_s: float
    makespan_s: float
    samples: int
    agrees: bool
    ratio_to_simgrid: float | None = None
    ratio_to_simgrid_cpu: float | None = None
    ratio_to_simpy: float | None = None


Sampler = Callable[[], Sample]
Samplers = dict[tuple[str, str], Sampler]
"""(engine, mode) -> what takes one sample."""


def timed(run: Callable[[Scenario], float], scenario: Scenario) -> Sample:
    cpu, wall = time.process_time(), time.perf_counter()
    makespan = run(scenario)
    seconds = time.perf_counter() - wall
    return Sample(seconds, max(time.process_time() - cpu, 1e-9), float(makespan))


def samples_wanted(first_s: float, samples: int) -> int:
    if first_s > VERY_SLOW_S:
        return 1
    return min(samples, 3) if first_s > SLOW_S else samples


def take(samplers: Samplers, samples: int) -> dict[tuple[str, str], list[Sample]]:
    """Samples of all engines in turn; each as often as its first one allows."""
    taken = {key: [sampler()] for key, sampler in samplers.items()}
    wanted = {key: samples_wanted(found[0].cpu_s, samples) for key, found in taken.items()}
    for turn in range(1, samples):
        for key, sampler in samplers.items():
            if turn < wanted[key]:
                taken[key].append(sampler())
    return taken


def rows_of(case: Case, taken: dict[tuple[str, str], list[Sample]]) -> list[Row]:
    """One row per engine, in its fastest mode, with ratios to SimGrid's fastest mode and to plain SimPy."""
    rows: dict[str, Row] = {}
    for (engine, mode), samples in taken.items():
        makespans = [sample.makespan_s for sample in samples]
        row = Row(
            case.scenario,
            case.size,
            engine,
            mode,
            median(sample.seconds for sample in samples),
            median(sample.cpu_s for sample in samples),
            makespans[0],
            len(samples),
            all(case.agrees(makespan) for makespan in makespans),
        )
        if engine not in rows or row.median_s < rows[engine].median_s:
            rows[engine] = row
    best = min(
        (rows[name] for name in (SIMGRID, SIMGRID_TI) if name in rows), key=lambda row: row.median_s, default=None
    )
    simpy = rows.get("simpy")
    return [
        replace(
            row,
            ratio_to_simgrid=best and best.median_s / row.median_s,
            ratio_to_simgrid_cpu=best and best.cpu_s / row.cpu_s,
            ratio_to_simpy=simpy and simpy.median_s / row.median_s,
        )
        for row in rows.values()
    ]


@contextlib.contextmanager
def samplers_for(
    case: Case, engines: dict[str, Callable[[Scenario], float]], *, simgrid: set[str]
) -> Iterator[Samplers]:
    """What is to be timed on one case, ready to run: our engines warm, SimGrid's input written."""
    scenario = case.make()
    samplers: Samplers = {}
    smallest = next(other for other in CASES if other.scenario == case.scenario)
    warm_up = scenario if smallest is case else smallest.make()
    for name, run in engines.items():
        try:
            run(warm_up)
        except UnsupportedProgram as reason:
            print(f"{case.name}: {name} left out: {reason}", file=sys.stderr)
        else:
            samplers[name, ""] = lambda run=run: timed(run, scenario)
    with tempfile.TemporaryDirectory() as folder:
        if simgrid:
            path = Path(folder) / "arrays"
            simgrid_cpp.write_arrays(path, scenario)
            for mode in simgrid_cpp.MODES[case.scenario]:
                engine = SIMGRID_TI if mode == "TI" else SIMGRID
                if engine in simgrid:
                    samplers[engine, mode] = lambda mode=mode: simgrid_cpp.run_scenario(case.scenario, mode, path)
        yield samplers


def missing_room(case: Case) -> str | None:
    """Why this case cannot run here: memory; None if it can."""
    if case.scenario != "A":
        return None
    hosts, knots = map(float, case.size.split("x"))
    needed, there = ROOM_PER_BYTE * 16 * hosts * knots, psutil.virtual_memory().available
    if needed <= there:
        return None
    return f"needs {needed / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are free"


def show(rows: list[Row], console: Console) -> None:
    table = Table(
        title="Scenarios on one core; ratios: how many times faster than SimGrid's fastest mode and plain SimPy"
    )
    for heading in ("scenario", "engine", "mode"):
        table.add_column(heading)
    for heading in ("median s", "CPU s", "samples", "x SimGrid", "x in CPU", "x SimPy", "makespan s"):
        table.add_column(heading, justify="right")
    before = ""
    for row in rows:
        name = f"{row.scenario} {row.size}".strip()
        found = (row.ratio_to_simgrid, row.ratio_to_simgrid_cpu, row.ratio_to_simpy)
        ratios = ["" if ratio is None else f"{ratio:.3g}" for ratio in found]
        times = [f"{value:.4g}" for value in (row.median_s, row.cpu_s)]
        makespan = f"{row.makespan_s:.10g}" + ("" if row.agrees else " WRONG")
        shown = "" if name == before else name
        table.add_row(shown, row.engine, row.mode, *times, str(row.samples), *ratios, makespan)
        before = name
    console.print(table)


def bench(cases: list[Case], names: list[str] | None, samples: int) -> list[Row]:
    """Rows of all cases; what is left out is said on stderr."""
    from tests.benchmarks.engines import IN_PROCESS

    simgrid = {SIMGRID, SIMGRID_TI} & set(names or [SIMGRID, SIMGRID_TI])
    if simgrid and (reason := simgrid_cpp.why_not()):
        print(f"left out. {reason}", file=sys.stderr)
        simgrid = set()
    engines = {name: run for name, run in IN_PROCESS.items() if names is None or name in names}
    rows = []
    for case in cases:
        if reason := missing_room(case):
            print(f"{case.name}: left out: {reason}", file=sys.stderr)
            continue
        print(f"{case.name} ...", file=sys.stderr)
        with samplers_for(case, engines, simgrid=simgrid) as samplers:
            rows += rows_of(case, take(samplers, samples))
    return rows


def chosen(scenarios: str | None, *, quick: bool) -> list[Case]:
    """The cases asked for; with `quick` the smallest of each scenario."""
    known = list(dict.fromkeys(case.scenario for case in CASES))
    letters = known if scenarios is None else scenarios.split(",")
    if unknown := set(letters) - set(known):
        raise SystemExit(f"error: --scenarios: {', '.join(sorted(unknown))} found, {', '.join(known)} allowed")
    cases = [case for case in CASES if case.scenario in letters]
    return [next(case for case in cases if case.scenario == letter) for letter in letters] if quick else cases


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the engines on the benchmark's scenarios.")
    parser.add_argument("--scenarios", help="letters, such as A,B,Bbar; all unless given")
    parser.add_argument("--engines", help="names, such as compiled,simpy,simgrid; all unless given")
    parser.add_argument("--samples", type=int, default=5, help="of each engine; slow ones get 3 or 1")
    parser.add_argument("--quick", action="store_true", help="the smallest size of each scenario")
    parser.add_argument("-o", "--output", type=Path, default=OUT)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    cases = chosen(options.scenarios, quick=options.quick)
    rows = bench(cases, options.engines.split(",") if options.engines else None, max(1, options.samples))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    show(rows, Console(width=None if sys.stdout.isatty() else 130))
    wall, cpu = sum(row.median_s for row in rows), sum(row.cpu_s for row in rows)
    if simgrid_cpp.version():
        print(f"SimGrid {simgrid_cpp.version()}; core {max(os.sched_getaffinity(0))}")
    if wall > BUSY * cpu:
        print(f"The machine was busy: {wall / cpu:.1f} s passed for each second of processor time.")
    if not all(row.agrees for row in rows):
        sys.exit("error: a makespan is not the known one")


if __name__ == "__main__":
    main()
