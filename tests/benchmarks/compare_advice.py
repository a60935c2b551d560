"""Our advice beside Optuna at equal processor time on one simulator: `python -m tests.benchmarks.compare_advice`.

Optuna's samplers choose, for each kind of PEs, how many take part, the processes on each and the units of each process;
a trial is the mean over the draws that our search has too. They start from a process per core with equal units and with
units by speed. What each returns is judged in fresh replications, common to all. Optuna is no dependency (extra
`optuna`): without it only the advice is shown.
"""

import argparse
import json
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from advisor import recommend
from advisor.advise.search import SEARCH_FIRST
from simulator import Configuration, ScenarioError, load_scenario, run
from tests.support.advice_cases import recorded as random_scenario
from tests.support.advice_oracle import divided

FRESH = 6_000_000
"""Number of the first replication that judges."""
JUDGED = 200
DRAWS = 16
WARM_S = 0.2
NOTHING = 1e9
"""Seconds of what cannot run."""
TEXT = """
format: 1
platform:
  nodes: [{nodes}]
  network:
    topology: star
    link: {{latency: 20us, bandwidth: 10Gbit/s}}
    loopback: {{latency: 1us, bandwidth: 8GB/s}}
application: {{name: {name}, kernel: k, parameters: {{{parameters}}}}}
configurations: {{equal: {{partition: equal}}}}
replications: 50
"""


def written(folder, nodes, name, parameters):
    draws = np.random.default_rng(1)
    rows = "".join(f"{60 * at},{load}\n" for at, load in enumerate(draws.integers(0, 7, 60)))
    (folder / "load.csv").write_text(f"time_s,load\n{rows}")
    listed = [
        f"{{name: n{n}, pes: [{{cores: {cores}, speeds: {{k: {speed} Gflop/s}}{load}}}]}}"
        for n, (cores, speed, load) in enumerate(nodes)
    ]
    path = folder / "scenario.yaml"
    path.write_text(TEXT.format(nodes=", ".join(listed), name=name, parameters=parameters))
    return load_scenario(path)


def scenarios(folder):
    """By name: two nodes of four cores, four of eight with a load on one, and three random ones."""
    loaded = ", load: {trace: load.csv, rule: fair}"
    two = [(4, 2, ""), (4, 1, "")]
    four = [(8, 3, ""), (8, 2, loaded), (8, 2.5, ""), (8, 1.5, "")]
    made = {
        "two nodes of 4": ("ep", "samples: 120000, volume: 1000000", two),
        "four nodes of 8": ("stencil", "n: 20000, iterations: 100", four),
    }
    found = {}
    for place, (title, (name, parameters, nodes)) in enumerate(made.items()):
        own = folder / str(place)
        own.mkdir()
        found[title] = written(own, nodes, name, parameters)
    for seed, name in ((5, "ep"), (7, "stencil"), (21, "matmul")):
        own = folder / f"random-{seed}"
        own.mkdir()
        found[f"random {seed}, {name}"] = random_scenario(seed, own, name)
    return found


def kinds_of(made):
    """PEs that are alike, told apart by speed, cores and load."""
    alike = {}
    for place, pe in enumerate(made.platform.pes):
        alike.setdefault((float(pe.speed_of("k").mid[0]), pe.cores, pe.load is None), []).append(place)
    return alike


def asked(trial, kinds):
    """For each kind: PEs, processes on each, and the weight of a process."""
    return [
        (
            trial.suggest_int(f"pes{k}", 0, len(members)) if len(members) > 1 else 1,
            trial.suggest_int(f"each{k}", 0, cores),
            trial.suggest_float(f"units{k}", 0.02, 1.0, log=True),
        )
        for k, ((_, cores, _), members) in enumerate(kinds.items())
    ]


def configured(made, kinds, chosen):
    pairs = [
        (pe, weight)
        for members, (count, each, weight) in zip(kinds.values(), chosen, strict=True)
        for pe in members[:count]
        for _ in range(each)
    ]
    if not pairs:
        return None
    placement, weights = zip(*sorted(pairs), strict=True)
    work = made.application.work
    return Configuration("tried", work.fitting(tuple(divided(work.units, weights).tolist())), placement)


def mean_s(made, configuration, *, draws, first):
    """Mean makespan; what cannot run takes nearly for ever."""
    if configuration is None:
        return NOTHING
    count = 1 if made.deterministic else draws
    try:
        found = run(made.with_configurations((configuration,)), replications=count, first_replication=first)
    except ScenarioError:
        return NOTHING
    return float(found.makespan_s.mean())


def optuna_search(made, sampler, seconds):
    """The best that a sampler finds in so much processor time, and how many trials it had."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds = kinds_of(made)
    study = optuna.create_study(sampler=sampler)
    fastest = max(speed for speed, _, _ in kinds)
    for power in (0, 1):
        start = {f"units{k}": 0.5 * (speed / fastest) ** power for k, (speed, _, _) in enumerate(kinds)}
        start |= {f"each{k}": cores for k, (_, cores, _) in enumerate(kinds)}
        start |= {f"pes{k}": len(members) for k, members in enumerate(kinds.values()) if len(members) > 1}
        study.enqueue_trial(start)
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        trial = study.ask()
        made_of = configured(made, kinds, asked(trial, kinds))
        study.tell(trial, mean_s(made, made_of, draws=min(DRAWS, made.replications), first=SEARCH_FIRST))
    return configured(made, kinds, asked(optuna.trial.FixedTrial(study.best_params), kinds)), len(study.trials)


def compared(title, made, *, seed):
    """One row per method."""
    recommend(made, confirm=0, replications=2)  # compiles
    begun = time.process_time()
    advice = recommend(made, confirm=0)
    seconds = time.process_time() - begun
    found = {"apportion": (advice.configuration, advice.evaluations)}
    if find_spec("optuna"):
        import optuna

        for sampler in (optuna.samplers.TPESampler, optuna.samplers.CmaEsSampler)[: 1 + bool(find_spec("cmaes"))]:
            optuna_search(made, sampler(seed=0, n_startup_trials=1), WARM_S)  # imports what it needs
        found["optuna TPE"] = optuna_search(made, optuna.samplers.TPESampler(seed=seed), seconds)
        if find_spec("cmaes"):
            found["optuna CMA-ES"] = optuna_search(made, optuna.samplers.CmaEsSampler(seed=seed), seconds)
    means = {method: mean_s(made, one, draws=JUDGED, first=FRESH) for method, (one, _) in found.items()}
    least = min(means.values())
    return [
        {
            "scenario": title,
            "method": method,
            "seconds": round(seconds, 2),
            "tried": tried,
            "makespan_s": means[method],
            "above the best": means[method] / least - 1,
        }
        for method, (_, tried) in found.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="of Optuna's samplers")
    parser.add_argument("--only", default="", help="scenarios whose name begins so")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    rows = []
    with TemporaryDirectory() as folder:
        for title, made in scenarios(Path(folder)).items():
            if title.startswith(options.only):
                rows += compared(title, made, seed=options.seed)
                for row in (one for one in rows if one["scenario"] == title):
                    print(
                        f"{title:18} {row['method']:14} {row['seconds']:7.1f} s CPU  {row['tried']:6} tried  "
                        f"{row['makespan_s']:10.5g} s  {row['above the best']:+.2%}",
                        flush=True,
                    )
    if options.output:
        Path(options.output).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
