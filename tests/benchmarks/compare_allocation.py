"""Our search beside Optuna and Nevergrad on the simulator: `python -m tests.benchmarks.compare_allocation`.

Each method gets the same budget of simulated runs; what it returns is simulated again in fresh replications. Regret is
against the best of all that anyone found, a long search of ours included. The two libraries are no dependencies: where
one is not installed, it is left out. They minimise replication 0, the same draws for each trial, which suits them.
"""

import argparse
import json
import sys
import time
import warnings
from importlib.util import find_spec
from statistics import median

import numpy as np

from advisor.advise.allocate import local_search
from advisor.advise.candidates import plain_candidates
from advisor.advise.problem import Problem
from advisor.advise.simulated import kinds_of, model_of, simulated_runs
from simulator import randomness
from tests.support import allocation_cases

FRESH = 1_000_000
"""Number of the first replication that results are judged in."""


def optuna_search(problem, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

    def value(trial):
        pairs = [
            (trial.suggest_int(f"pes{k}", 0, kind.count), trial.suggest_int(f"each{k}", 1, kind.most))
            for k, kind in enumerate(problem.kinds)
        ]
        return measured(problem, pairs)

    study.optimize(value, n_trials=problem.budget)
    best = study.best_params
    return canonical([(best[f"pes{k}"], best[f"each{k}"]) for k in range(len(problem.kinds))])


def nevergrad_search(problem, seed):
    import nevergrad

    scalars = {}
    for k, kind in enumerate(problem.kinds):
        start = kind.count // 2
        scalars[f"pes{k}"] = nevergrad.p.Scalar(init=start, lower=0, upper=kind.count).set_integer_casting()
        if kind.most > 1:
            scalars[f"each{k}"] = nevergrad.p.Scalar(init=1, lower=1, upper=kind.most).set_integer_casting()
    space = nevergrad.p.Dict(**scalars)
    space.random_state.seed(seed)
    optimizer = nevergrad.optimizers.NGOpt(parametrization=space, budget=problem.budget)
    best = (np.inf, None)
    for _ in range(problem.budget):
        asked = optimizer.ask()
        pairs = [(asked.value[f"pes{k}"], asked.value.get(f"each{k}", 1)) for k in range(len(problem.kinds))]
        value = measured(problem, pairs)
        optimizer.tell(asked, value)
        best = min(best, (value, pairs), key=lambda entry: entry[0])
    return canonical(best[1])


def canonical(pairs):
    return np.array([(pes, each) if pes else (0, 0) for pes, each in pairs], dtype=np.int64)


def measured(problem, pairs):
    allocation = canonical(pairs)
    return float(problem.runs(allocation[np.newaxis], np.arange(1))[0, 0]) if allocation.any() else 1e9


def noisy(runs, variation, seed):
    """Makespans with noise of their own on top, which no two runs share."""
    generator = randomness.stream(seed, "own noise")

    def perturbed(allocations, replications):
        found = runs(allocations, replications)
        return found * np.maximum(0.1, 1 + variation * generator.standard_normal(found.shape))

    return perturbed


def compare(name, *, seed, budget, long, judged, variation, each):
    scenario = allocation_cases.scenario(name, each=each, seed=seed)
    kinds = kinds_of(scenario)
    runs = simulated_runs(scenario, kinds)
    model, spent = model_of(scenario, kinds)
    used = noisy(runs, variation, seed) if variation else runs
    methods = {"ours": lambda: local_search(Problem(kinds, used, model, budget=budget - spent)).allocation}
    for library, search in {"optuna": optuna_search, "nevergrad": nevergrad_search}.items():
        if find_spec(library):
            methods[library] = lambda search=search: search(Problem(kinds, used, model, budget=budget), seed)
    found, seconds = {}, {}
    for method, search in methods.items():
        begun = time.perf_counter()
        found[method] = search()
        seconds[method] = time.perf_counter() - begun
    found["all PEs"] = plain_candidates(Problem(kinds, runs))[0]
    if long:
        found["ours, long"] = local_search(Problem(kinds, runs, model, budget=long)).allocation
    fresh = np.arange(FRESH, FRESH + judged)
    means = {method: float(runs(chosen[np.newaxis], fresh).mean()) for method, chosen in found.items()}
    least = min(means.values())
    return [
        {
            "scenario": name,
            "seed": seed,
            "method": method,
            "makespan_s": mean,
            "regret": mean / least - 1,
            "search_s": seconds.get(method),
            "pes": found[method][:, 0].tolist(),
        }
        for method, mean in means.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenarios", default="hpl,farm,matmul")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--long", type=int, default=1000, help="budget of the long search, 0 for none")
    parser.add_argument("--judged", type=int, default=40, help="fresh replications")
    parser.add_argument("--noise", type=float, default=0.0, help="further noise of each run, as 0.05")
    parser.add_argument("--each", type=int, default=100, help="PEs of each of the 10 kinds")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in options.scenarios.split(","):
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            rows += compare(
                name,
                seed=seed,
                budget=options.budget,
                long=options.long,
                judged=options.judged,
                variation=options.noise,
                each=options.each,
            )
            for row in rows[-5:]:
                print(json.dumps(row), file=sys.stderr, flush=True)
        for method in dict.fromkeys(row["method"] for row in rows):
            regrets = [row["regret"] for row in rows if (row["scenario"], row["method"]) == (name, method)]
            print(f"{name:8} {method:12} median {median(regrets):7.2%}  worst {max(regrets):7.2%}", flush=True)
    if options.output:
        with open(options.output, "w") as file:  # noqa: PTH123 - a script
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
