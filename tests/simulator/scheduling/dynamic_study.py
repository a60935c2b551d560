"""How much units that move gain for real where a competitor goes from core to core, and whether that was predicted.

    python -m tests.simulator.scheduling.dynamic_study --runs 5 --seed 1 --keep runs.jsonl

Two cores, a stencil, and a competitor that changes cores at times drawn at the start of each run, unknown to all rules.
Compared are equal parts, the best static partition, units that move, and a clairvoyant rule that is told where the
competitor is. Nothing else should run on the machine meanwhile.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np

from advisor.advise.recommendation import recommend
from advisor.verification.applications import ProgramRuns
from advisor.verification.places import places_on
from simulator import (
    Application,
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


def law(low_s: float, high_s: float, seed: int, stays: int = 2000) -> tuple[LoadTrace, LoadTrace]:
    """A competitor that stays between so many seconds on each of two cores."""
    draws = random.Random(seed)  # noqa: S311 - any will do
    times = np.array([0.0, *accumulate(draws.uniform(low_s, high_s) for _ in range(stays))])
    on = np.arange(stays) % 2
    return tuple(LoadTrace(times[:-1], values.astype(float), float(times[-1])) for values in (on, 1 - on))


def measured(folder: Path, order: int, iterations: int, budget: str) -> Scenario:
    """This machine's speed alone, what its cores lose to each other, and messages, measured now."""
    speed = ["speed", "--kernel", "stencil", "--columns", str(order), "--max-size", str(2 * order * (order + 2))]
    for words in (speed, ["neighbours", "--kernel", "stencil"], ["network", "--between", "processes"]):
        command = [sys.executable, "-m", "advisor.cli", "calibrate", *words, "--budget", budget]
        subprocess.run([*command, "-o", str(folder / f"{words[0]}.json")], check=True, capture_output=True)
    paths = [folder / f"{name}.json" for name in ("speed", "neighbours", "network")]
    (folder / "joined.yaml").write_text(join_platform(paths, kernel="stencil").text)
    application = Application("stencil", "stencil", {"n": order, "iterations": iterations})
    made = replace(load_scenario(folder / "joined.yaml"), application=application, replications=40)
    pes = made.platform.pes[:2]
    equal = Configuration.one_each("equal", (order // 2, order - order // 2))
    return replace(made, platform=replace(made.platform, pes=pes), configurations=(equal,))


def loaded(scenario: Scenario, first: LoadTrace, other: LoadTrace) -> Scenario:
    """With one competitor on the first two PEs in turns."""
    cpus = [core.cpu for core in this_machine().cores]
    pes = tuple(
        replace(pe, cpu=cpu, load=Load(trace, "fair", recording=first))
        for pe, cpu, trace in zip(scenario.platform.pes, cpus, (first, other), strict=False)
    )
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--order", type=int, default=3000)
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--stays", type=float, nargs=2, default=(4.0, 20.0), help="seconds on a core, least and most")
    parser.add_argument("--budget", default="30s", help="of each calibration")
    parser.add_argument("--keep", type=Path, help="where each run is kept at once, a line each")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scenario = measured(Path(name), asked.order, asked.iterations, asked.budget)
    scenario = loaded(scenario, *law(*asked.stays, asked.seed))
    made = recommend(scenario, vary=("partition", "scheduling"))
    names = dict.fromkeys(("equal", made.scheduling.static, made.scheduling.dynamic))
    chosen = {one.name: one for one in made.candidates if one.name in names}
    print(f"advised: {made.configuration.name}; {made.scheduling.rule}", flush=True)
    predicted = {one: made.described(one) for one in chosen}
    for name, said in predicted.items():
        print(f"{name}: predicted {said['mean']:.1f} s", flush=True)
    places, _ = places_on(this_machine(), scenario)
    rows = []
    with ExitStack() as stack:
        ranks = stack.enter_context(Ranks([places.cpus[0][0]] * 2))
        runs = ProgramRuns(ranks, scenario.application, places, 600.0, scenario)
        runs.prepare(list(chosen.values()))
        for number in range(asked.runs):
            drawn = law(*asked.stays, random.SystemRandom().randrange(2**31), 200)  # unknown to all before
            with ExitStack() as beside:
                both = [beside.enter_context(Competitor(*one)) for one in zip(places.cpus, drawn, strict=True)]
                row = {name: runs.run(one, partial(replayed, both)).makespan_s for name, one in chosen.items()}
            row["clairvoyant"] = clairvoyant_s(scenario)
            rows.append(row)
            print(f"{number + 1}: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in row.items()), flush=True)
            if asked.keep is not None:
                with asked.keep.open("a") as stream:
                    stream.write(json.dumps({"row": row, "predicted": predicted, "rule": made.scheduling.rule}) + "\n")
    tell(rows, made, predicted)


@contextmanager
def replayed(competitors: list[Competitor]) -> Iterator[None]:
    """All on while the block runs."""
    with ExitStack() as stack:
        for one in competitors:
            stack.enter_context(one.replay(0.0))
        yield


def clairvoyant_s(scenario: Scenario) -> float:
    """Seconds of one who always has the best partition, at no cost: simulated alone, and three half cores for four."""
    alone = tuple(replace(pe, load=None) for pe in scenario.platform.pes)
    free = run(replace(scenario, platform=replace(scenario.platform, pes=alone)), replications=1).makespan_s[0, 0]
    return float(free) * 2 / 1.5


def tell(rows, made, predicted) -> None:
    """Ratios and intervals."""
    found, static, dynamic = made.scheduling, made.scheduling.static, made.scheduling.dynamic
    ratios = sorted(min(row["equal"], row[static]) / row[dynamic] for row in rows)
    print(f"dynamic against the better static one: {statistics.median(ratios):.2f} times as fast ({ratios})")
    behind = [row[dynamic] / row["clairvoyant"] - 1 for row in rows]
    print(f"behind the clairvoyant one: {statistics.median(behind):.1%}")
    gains = sorted(row[static] / row[dynamic] for row in rows)
    print(f"gain over the static one advised: {statistics.median(gains):.2f} measured ({gains})")
    print(f"predicted {found.gain:.2f}, its mean {found.gain_low:.2f} to {found.gain_high:.2f}")
    for name, said in predicted.items():
        inside = sum(said["run_low"] <= row[name] <= said["run_high"] for row in rows)
        median = statistics.median(row[name] for row in rows)
        span = f"{said['run_low']:.1f} to {said['run_high']:.1f} for 90 % of runs"
        print(
            f"{name}: predicted {said['mean']:.1f} s ({span}), measured {median:.1f} s; inside {inside} of {len(rows)}"
        )


if __name__ == "__main__":
    main()
