"""How much units that move gain for real where a competitor goes from core to core, and whether that was predicted.

    python -m tests.studies.dynamic_study --application stencil --keep stencil.jsonl
    python -m tests.studies.dynamic_study --application matmul --keep matmul.jsonl
    python -m tests.studies.dynamic_study --application stencil --steady

Two cores, a stencil or a product by panels, and a competitor that changes cores at times drawn at the start of each
repetition, unknown to all rules; `--steady`: it stays on the first core. Compared, in turns and under the same draws,
are the best static partition, units that move, and, with `--equal`, equal parts. Nothing else should run on the machine
meanwhile: some 12 minutes for five repetitions of 36 to 50 seconds a run.

The clairvoyant time is that of one who knows at each moment where the competitor is and always has the best partition,
at no cost. The competitor takes every other slice of its core: half of the time both processes compute, and half of the
time the other one has the machine to itself. So its speed is the mean of that of real runs without a competitor: of two
processes with equal parts (the median of three runs), and of one process alone.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np
import yaml

from advisor.advise.recommendation import Recommendation, recommend
from advisor.verification.applications import ProgramRuns
from advisor.verification.places import places_on
from simulator import (
    Configuration,
    Load,
    LoadTrace,
    Scenario,
    join_platform,
    load_scenario,
    run,
    this_machine,
)
from simulator.calibration import Competitor, Ranks
from simulator.calibration.kernels.table import panel_kernel

STAYS = 2000
"""Of the competitor, in what the advice knows of it; a real repetition has a tenth of them, drawn then."""
PANELS = 150
"""Of a product."""
LEVEL = 0.9


def law(low_s: float, high_s: float, seed: int, stays: int) -> tuple[LoadTrace, LoadTrace]:
    """A competitor that stays between so many seconds on each of two cores in turns."""
    draws = random.Random(seed)  # noqa: S311 - any will do
    times = np.array([0.0, *accumulate(draws.uniform(low_s, high_s) for _ in range(stays))])
    on = np.arange(stays) % 2
    first, other = (LoadTrace(times[:-1], values.astype(float), float(times[-1])) for values in (1 - on, on))
    return first, other


def steady() -> tuple[LoadTrace, LoadTrace]:
    """One that stays on the first core."""
    first, other = (LoadTrace(np.array([0.0]), np.array([value]), 3600.0) for value in (1.0, 0.0))
    return first, other


def measured(folder: Path, name: str, parameters: dict[str, int], budget: str) -> Scenario:
    """This machine's speed alone, what its cores lose to each other, and messages, measured now."""
    order, kernel = parameters["n"], {"stencil": "stencil", "matmul_2d": "matmul"}[name]
    speed = ["speed", "--kernel", kernel, "--columns", str(order)]
    speed += ["--depth", str(parameters["nb"])] if name == "matmul_2d" else []
    for words in (speed, ["neighbours", "--kernel", kernel], ["network", "--between", "processes"]):
        given = "30s" if words[0] == "network" else budget  # 52 sizes, each several times
        command = [sys.executable, "-m", "advisor.cli", "calibrate", *words, "--budget", given]
        done = subprocess.run(
            [*command, "-o", str(folder / f"{words[0]}.json")], check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"calibrate {words[0]}: {done.stderr}")
    paths = [folder / f"{one}.json" for one in ("speed", "neighbours", "network")]
    document = yaml.safe_load(join_platform(paths, kernel=kernel).text)
    document["application"] = {"name": name, "kernel": kernel, "parameters": parameters}
    document["configurations"] = {"equal": {"partition": "equal"}}
    (folder / "joined.yaml").write_text(yaml.safe_dump(document))
    made = replace(load_scenario(folder / "joined.yaml"), replications=60)
    pes = made.platform.pes[:2]
    half, unit = order // 2, order if name == "matmul_2d" else 1
    equal = Configuration.one_each("equal", (half * unit, (order - half) * unit))
    return replace(made, platform=replace(made.platform, pes=pes), configurations=(equal,))


def sized(scenario: Scenario, seconds: float) -> Scenario:
    """A stencil with so many iterations that the clairvoyant one takes some seconds."""
    once = 1.5 / 2 * seconds / float(run(scenario, replications=1).makespan_s[0, 0])
    application, parameters = scenario.application, dict(scenario.application.parameters)
    parameters["iterations"] = max(20, round(parameters["iterations"] * once))
    return replace(scenario, application=replace(application, parameters=parameters))


def product_for(seconds: float) -> dict[str, int]:
    """Parameters of a product that takes a clairvoyant one about so many seconds, by the speed of a panel."""
    order = 4000
    prepared = panel_kernel("matmul", order, order // PANELS).prepare(order // 8)
    prepared.run()
    begun = time.process_time()
    prepared.run()
    rate = 2.0 * order * (order // PANELS) * (order // 8) / (time.process_time() - begun)
    order = max(PANELS, round((1.5 * rate * seconds / 2) ** (1 / 3) / 100) * 100)
    return {"n": order, "nb": max(1, order // PANELS), "grid_rows": 2}


def loaded(scenario: Scenario, first: LoadTrace, other: LoadTrace) -> Scenario:
    """With one competitor on the first two PEs."""
    cpus = [core.cpu for core in this_machine().cores]
    pes = tuple(
        replace(pe, cpu=cpu, load=Load(trace, "fair", recording=first) if trace.values.any() else None)
        for pe, cpu, trace in zip(scenario.platform.pes, cpus, (first, other), strict=False)
    )
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


@dataclass(frozen=True)
class Study:
    """What is run, and what was predicted of it."""

    scenario: Scenario
    made: Recommendation
    chosen: dict[str, Configuration]
    """By name: the best static one first."""

    @property
    def static(self) -> str:
        return next(iter(self.chosen))

    @property
    def dynamic(self) -> str:
        return self.made.scheduling.dynamic

    @property
    def runs_s(self) -> dict[str, np.ndarray]:
        return {name: self.made.runs.of(name) for name in self.chosen}

    def predicted(self) -> dict[str, list[float]]:
        """Mean and ends of what 90 % of runs take, and likewise of the gain, each run paired with the other's."""
        found = self.runs_s | {"gain": self.runs_s[self.static] / self.runs_s[self.dynamic]}
        ends = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
        return {key: [float(v.mean()), *map(float, np.quantile(v, ends, method="hazen"))] for key, v in found.items()}


def chosen_of(made: Recommendation, *, equal: bool) -> dict[str, Configuration]:
    """The configurations to run."""
    names = dict.fromkeys((made.scheduling.static, made.scheduling.dynamic, *(["equal"] if equal else [])))
    return {one.name: one for name in names for one in made.candidates if one.name == name}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--application", choices=("stencil", "matmul"), default="stencil")
    parser.add_argument("--steady", action="store_true", help="the competitor stays on the first core")
    parser.add_argument("--equal", action="store_true", help="run equal parts, too")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=36.0, help="that a clairvoyant run takes, about")
    parser.add_argument("--stays", type=float, nargs=2, default=(4.0, 20.0), help="seconds on a core, least and most")
    parser.add_argument("--budget", default="20s", help="of measuring speeds, and neighbours")
    parser.add_argument("--keep", type=Path, help="where each repetition is kept at once, a line each")
    asked = parser.parse_args()
    begun = time.monotonic()
    study = prepared(asked)
    print(f"after {time.monotonic() - begun:.0f} s: advised {study.made.configuration.name}", flush=True)
    print(study.made.scheduling.rule, study.chosen, study.predicted(), sep="\n", flush=True)
    rows = []
    for row in real_rows(study, asked):
        rows.append(row)
        print(f"{len(rows)}: {row}", flush=True)
        if asked.keep is not None:
            with asked.keep.open("a") as stream:
                kept = {"application": asked.application, "steady": asked.steady, "row": row}
                stream.write(json.dumps(kept | {"predicted": study.predicted()}) + "\n")
    tell(study, rows)
    print(f"{time.monotonic() - begun:.0f} s in all")


def prepared(asked: argparse.Namespace) -> Study:
    """Measured, sized, loaded and advised."""
    if asked.application == "stencil":
        name, parameters = "stencil", {"n": 3000, "iterations": 1000}
    else:
        name, parameters = "matmul_2d", product_for(asked.seconds)
    with tempfile.TemporaryDirectory() as folder:
        scenario = measured(Path(folder), name, parameters, asked.budget)
    scenario = sized(scenario, asked.seconds) if name == "stencil" else scenario
    traces = steady() if asked.steady else law(*asked.stays, asked.seed, STAYS)
    scenario = loaded(scenario, *traces)
    print(f"{name}: {dict(scenario.application.parameters)}", flush=True)
    made = recommend(scenario, vary=("partition", "scheduling"))
    return Study(scenario, made, chosen_of(made, equal=asked.equal))


def real_rows(study: Study, asked: argparse.Namespace) -> Iterator[dict[str, float]]:
    """Makespans of each repetition, all under the same draws, and the clairvoyant one's."""
    places, faults = places_on(this_machine(), study.scenario)
    if faults:
        raise SystemExit("\n".join(faults))
    with Ranks([places.cpus[0][0]] * 2) as ranks:
        runs = ProgramRuns(ranks, study.scenario.application, places, 600.0, study.scenario)
        equal = study.scenario.configurations[0]
        one_process = Configuration("one", (sum(equal.partition),), (0,))
        for one in dict.fromkeys((one_process, equal, *study.chosen.values())):
            ranks.prepare_program(runs._program(one))
        lone_s, alone = runs.run(one_process).makespan_s, [runs.run(equal).makespan_s]
        print(f"without a competitor: one process {lone_s:.2f} s, equal parts {alone[0]:.2f} s", flush=True)
        for number in range(asked.runs):
            with ExitStack() as stack:
                drawn, start_s = steady(), 0.0
                if not asked.steady:  # unknown to all before
                    drawn = law(*asked.stays, random.SystemRandom().randrange(2**31), STAYS // 10)
                    start_s = random.SystemRandom().uniform(0.0, drawn[0].end_s / 2)
                on = [
                    stack.enter_context(Competitor(*one))
                    for one in zip(places.cpus, drawn, strict=True)
                    if one[1].values.any()
                ]
                beside = partial(replayed, on, start_s)
                row = {name: runs.run(one, beside).makespan_s for name, one in study.chosen.items()}
            if number in (asked.runs // 2, asked.runs - 1):
                alone.append(runs.run(equal).makespan_s)
            alone_s = statistics.median(alone)
            yield row | {"alone": alone_s, "clairvoyant": 2 / (1 / alone_s + 1 / lone_s)}


@contextmanager
def replayed(competitors: list[Competitor], start_s: float) -> Iterator[None]:
    """All on while the block runs."""
    with ExitStack() as stack:
        for one in competitors:
            stack.enter_context(one.replay(start_s))
        yield


def tell(study: Study, rows: list[dict[str, float]]) -> None:
    """Medians, ratios, and how many intervals held."""
    found, predicted = study.made.scheduling, study.predicted()
    dynamic = [row[study.dynamic] for row in rows]
    best = [min(row[name] for name in study.chosen if name != study.dynamic) for row in rows]
    ratios = [one / other for one, other in zip(best, dynamic, strict=True)]
    print(f"the better static one takes {shown(ratios)} times as long as the dynamic one")
    behind = [one / rows[-1]["clairvoyant"] - 1 for one in dynamic]
    print(f"the dynamic one is behind the clairvoyant one by {shown(behind)}")
    gains = [row[study.static] / row[study.dynamic] for row in rows]
    print(f"gain over the advised static one: {shown(gains)}; {said(predicted['gain'], gains)}")
    print(f"mean gain predicted {found.gain:.3f} ({found.gain_low} to {found.gain_high})")
    for name in study.chosen:
        times = [row[name] for row in rows]
        print(f"{name}: measured {shown(times)} s; {said(predicted[name], times)}")


def said(predicted: list[float], measured: list[float]) -> str:
    """What was predicted, and how often that held."""
    mean, low, high = predicted
    inside = sum(low <= value <= high for value in measured)
    return f"predicted {mean:.3f}, {low:.3f} to {high:.3f} for 90 % of runs: holds in {inside} of {len(measured)}"


def shown(values: list[float]) -> str:
    """The median, and all in order."""
    return f"{statistics.median(values):.3f} ({', '.join(f'{value:.3f}' for value in sorted(values))})"


if __name__ == "__main__":
    main()
