"""How often stated intervals hold: made-up clusters are measured, advised and then run on their truth.

`python -m tests.studies.coverage_study [--clusters 500] [--seed 1] [--jobs 2] [--upset] [--out DIR]` prints a table
beside its targets; `--upset` has truths that measuring cannot tell of, in clusters where earlier predictions were
verified; `--band` asks the same of two PEs with a band of +/- 10 %. Rows are kept in DIR as they are made: the same
command goes on where it was. The clusters and how runs go are in `tests/studies/made_up_clusters.py`, which shares no
code with what is judged; what is judged is asked by its own commands.
"""

import argparse
import csv
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml

from simulator.calibration import Comparison, keep_comparisons, widened, widening
from simulator.models.doubt import Doubt
from tests.studies import coverage_band
from tests.studies import made_up_clusters as clusters
from tests.support.command_line import apportion_here

RUNS = 2_000
"""On the truth, of each candidate."""
JUDGED_TRUTHS, JUDGED_RUNS = 300, 100
SITTINGS, TURNS = 6, 10
"""Before a truth that is upset is judged: verified predictions, and real runs of each."""
LEVEL = 0.9
KERNEL = "made"


# Asking


def asked(*arguments, cwd):
    """The document that a command prints; what it says where it fails."""
    done = apportion_here(*arguments, "--json", cwd=cwd)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def write_table(path, names, *columns):
    """A CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*(np.asarray(column).tolist() for column in columns), strict=True))


def measured(cluster, folder, draws, *, learnt=1.0):
    """Tables of all that can be measured, and the models that our commands make of them.

    A table says of no machine, so that a factor that was learnt on one is put into models of tables here.
    """
    for number, kind in enumerate(cluster.kinds):
        rows = clusters.speed_rows(cluster, kind, draws)
        table, names = folder / f"speed{number}.csv", ("size_elements", "volume", "cpu_s")
        write_table(table, names, *rows)
        how = (("--accuracy", "2%", "--budget", "100h", "--verify-largest"), ("--method", "grid"))[cluster.number % 2]
        command = ("calibrate", "speed", "--replay", table, *how, "-o", folder / f"kind{number}.json")
        if apportion_here(*command, cwd=folder).returncode:  # a reader that takes no repeated runs gets their medians
            sizes = np.unique(rows[0])
            each = [np.array([np.median(column[rows[0] == size]) for size in sizes]) for column in rows[1:]]
            write_table(table, names, sizes, *each)
            asked(*command, cwd=folder)
        if learnt > 1:
            _widen(folder / f"kind{number}.json", learnt)
        if kind.load is not None:
            write_table(folder / f"load{number}.csv", ("time_s", "load"), *clusters.load_rows(cluster, kind, draws))
    write_table(folder / "link.csv", ("bytes", "one_way_s"), *clusters.link_rows(cluster, draws))
    asked("calibrate", "network", "--replay", folder / "link.csv", "-o", folder / "link.json", cwd=folder)


def _widen(path, by):
    document = json.loads(path.read_text())
    doubt = Doubt.from_dict(document["model"]["doubt"])
    document["model"]["doubt"] = widened(doubt, by).to_dict()
    path.write_text(json.dumps(document))


def sittings(cluster, folder, draws, *, replications):
    """Measure, predict and run several times, each time upset in another way; the factor learnt from it.

    What runs is equal parts of all PEs, and the first PE of each kind alone.
    """
    ran = configurations(cluster)
    for number in range(SITTINGS):
        measured(cluster, folder, draws)
        path = scenario(cluster, folder, replications=replications)
        document = yaml.safe_load(path.read_text())
        document["configurations"] = {name: {"partition": parts} for name, parts in ran.items()}
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        told = asked("simulate", path, "--seed", number, cwd=folder)["configurations"]
        truth = clusters.true_one(cluster, draws)
        seen = clusters.circumstances(cluster, truth, TURNS, draws)
        keep_comparisons([compared(cluster, truth, seen, one, ran[one["name"]], sitting=number) for one in told])
    return widening(KERNEL)


def configurations(cluster):
    """Units of each PE, by name."""
    count = len(cluster.of_kind)
    found = {"equal": np.diff(np.linspace(0, cluster.n, count + 1).round()).astype(int).tolist()}
    for kind in range(len(cluster.kinds)):
        first = cluster.of_kind.index(kind)
        found[f"kind{kind}"] = [cluster.n * (place == first) for place in range(count)]
    return found


def compared(cluster, truth, seen, told, parts, *, sitting):
    """What `simulate` told of a configuration, and what it took."""
    times = clusters.makespans(cluster, truth, (parts, range(len(parts))), seen)
    stated, error = told["makespan_s"], 1.25 * np.log(times).std(ddof=1) / np.sqrt(TURNS)
    return Comparison(
        kind="kernel", subject=KERNEL, model="", version=str(sitting), case=told["name"], level=LEVEL,
        predicted_s=stated["mean"], low_s=stated["low"], high_s=stated["high"], runs=TURNS,
        measured_median_s=float(np.median(times)), median_sd=float(error), sitting=str(sitting),
    )  # fmt: skip


def scenario(cluster, folder, *, replications):
    """The joined platform with the cluster's program and loads; its path."""
    count = len(cluster.kinds)
    models = [folder / f"kind{number}.json" for number in range(count)]
    names = ",".join(f"k{number}n[1-{kind.count}]" for number, kind in enumerate(cluster.kinds))
    path = folder / "cluster.yaml"
    joined = ",".join(map(str, [*models, folder / "link.json"]))
    path.unlink(missing_ok=True)  # of an earlier sitting: what is there is not written over
    asked("cluster", "--join", joined, "--names", names, "--kernel", KERNEL, "-o", path, cwd=folder)
    document = yaml.safe_load(path.read_text())
    parameters = {
        "ep": {"samples": cluster.n, "volume": cluster.volume},
        "matmul": {"n": cluster.n},
        "stencil": {"n": cluster.n, "iterations": cluster.iterations},
    }[cluster.program]
    document["application"] = {"name": cluster.program, "kernel": KERNEL, "parameters": parameters}
    document["configurations"] = {"equal": {"partition": "equal"}}
    document["replications"] = replications
    for number, kind in enumerate(cluster.kinds):
        if kind.load is not None:
            load = {"trace": f"load{number}.csv", "rule": "fair"}
            document["platform"]["nodes"][number]["pes"][0]["load"] = load
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


# Judging one cluster


def widths_of_judge(cluster, candidates, advised, draws):
    """Widths of 90 % intervals of one who knows every standard deviation, and the form: one run, mean, gain."""
    doubt = clusters.judged_doubt(cluster)
    truths = [clusters.true_one(cluster, draws, doubt=doubt) for _ in range(JUDGED_TRUTHS)]
    seen = clusters.circumstances(cluster, truths[0], JUDGED_RUNS, draws)
    names = [advised] + ["equal"] * ("equal" in candidates)
    times = np.array([[clusters.makespans(cluster, t, candidates[name], seen) for name in names] for t in truths])
    means = times.mean(axis=2)
    gains = means[:, -1] / means[:, 0]
    return {key: float(np.ptp(np.quantile(values, ((1 - LEVEL) / 2, (1 + LEVEL) / 2)))) for key, values in
            {"run": times[:, 0].ravel(), "mean": means[:, 0], "gain": gains}.items()}  # fmt: skip


def ends(entry, low, high):
    """Both ends, None where they are not said."""
    found = entry.get(low), entry.get(high)
    return None if None in found else found


def held(interval, value):
    """Whether it lies there, or the share that does; None without an interval."""
    return None if interval is None else float(np.mean((interval[0] <= value) & (value <= interval[1])))


def judged(cluster, document, seed):
    """A row: what was stated of the advised configuration, and what is true of it."""
    entries = {entry["name"]: entry for entry in document["baselines"] if entry["same_as"] is None}
    candidates = {name: _configuration(entry) for name, entry in entries.items()}
    advised = document["recommended"]
    same = {entry["name"]: entry["same_as"] or entry["name"] for entry in document["baselines"]}
    advised, equal = same[advised], same.get("equal")
    draws = np.random.default_rng([seed, cluster.number, 3])
    truth = clusters.true_one(cluster, draws)
    seen = clusters.circumstances(cluster, truth, RUNS, draws)
    times = {name: clusters.makespans(cluster, truth, one, seen) for name, one in candidates.items()}
    means = {name: float(values.mean()) for name, values in times.items()}
    best = min(means.values())
    stated, top = entries[advised]["predicted_makespan_s"], _top(document, advised)
    run = ends(stated, "run_low", "run_high") or ends(stated, "p05", "p95")
    mean = ends(stated, "low", "high")
    row = {
        "cluster": cluster.number, "program": cluster.program, "pes": len(cluster.of_kind), "upset": cluster.upset,
        "loaded": any(kind.load for kind in cluster.kinds), "candidates": len(candidates), "advised": advised,
        "predicted_s": stated["mean"], "true_s": means[advised], "error": stated["mean"] / means[advised] - 1,
        "run_held": held(run, times[advised]), "mean_held": held(mean, means[advised]),
        "p_best": document.get("p_best"), "was_best": float(means[advised] <= best * (1 + 1e-9)),
        "stated_loss": top.get("expected_loss"), "true_loss": means[advised] / best - 1,
        "run": run, "mean": mean, "gain": None, "gain_held": None, "true_gain": None,
    }  # fmt: skip
    judge_draws = np.random.default_rng([seed, cluster.number, 4])
    named = candidates | ({} if equal is None else {"equal": candidates[equal]})
    row["judge"] = widths_of_judge(cluster, named, advised, judge_draws)
    if equal is not None and candidates[equal] != candidates[advised]:
        row["gain"] = ends(entries[equal]["gain_of_recommended"], "low", "high")
        row["true_gain"] = means[equal] / means[advised]
        row["gain_held"] = held(row["gain"], row["true_gain"])
    others = [
        held(ends(entry["gain_of_recommended"], "low", "high"), means[name] / means[advised])
        for name, entry in entries.items() if candidates[name] != candidates[advised]
    ]  # fmt: skip
    row["gains_held"] = None if None in others or not others else float(np.mean(others))
    return row


def _configuration(entry):
    return tuple(entry["partition"]), tuple(entry["placement"])


def _top(document, advised):
    return next(row for row in document["ranking"] if row["name"] == advised)


def one_row(number, *, seed, upset, replications):
    """Made, measured, advised, run: the row of one cluster, or what stopped it."""
    begun, factor = time.monotonic(), 1.0
    cluster = clusters.made(number, seed=seed, upset=upset)
    with TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["APPORTION_STATE"] = str(folder / "state")
        try:
            earlier = np.random.default_rng([seed, number, 5])
            factor = sittings(cluster, folder, earlier, replications=replications) if upset else 1.0
            measured(cluster, folder, np.random.default_rng([seed, number, 2]), learnt=factor)
            path = scenario(cluster, folder, replications=replications)
            document = asked("advise", path, "--seed", number, cwd=folder)
            row = judged(cluster, document, seed)
        except RuntimeError as error:
            row = {"cluster": number, "program": cluster.program, "failed": str(error)}
    return row | {"learnt": factor, "seconds": round(time.monotonic() - begun, 2)}


# All of them


def rows(count, *, seed, jobs, out, upset, replications):
    """Rows of all clusters, those that were made before first; each is on disk at once."""
    path = out / f"clusters-{seed}{'-upset' if upset else ''}-{replications}.jsonl"
    known = {row["cluster"]: row for row in _read(path)}
    left = [number for number in range(count) if number not in known]
    make = partial(one_row, seed=seed, upset=upset, replications=replications)
    out.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file, ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for row in pool.map(make, left) if jobs > 1 else map(make, left):
            known[row["cluster"]] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"\r{len(known)} of {count} clusters", end="", file=sys.stderr)
    print(file=sys.stderr)
    return [known[number] for number in range(count)]


def _read(path):
    """Whole lines of a file of rows."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


# The table


def share(found, key):
    """Mean over rows that say it, its standard error, and how many do."""
    values = np.array([row[key] for row in found if row[key] is not None], dtype=float)
    if not values.size:
        return float("nan"), float("nan"), 0
    return float(values.mean()), float(values.std() / np.sqrt(values.size)), values.size


def width_ratio(found, key):
    """Median of stated width over that of the judge."""
    pairs = [(np.ptp(row[key]), row["judge"][key]) for row in found if row[key] is not None and row["judge"][key] > 0]
    return float(np.median([stated / judge for stated, judge in pairs])) if pairs else float("nan")


def thirds(found):
    """Stated chance and share that was best, in the rows of the least, middle and largest chance."""
    said = sorted((row for row in found if row["p_best"] is not None), key=lambda row: row["p_best"])
    parts = [part for part in np.array_split(np.arange(len(said)), 3) if part.size]
    return [
        tuple(float(np.mean([said[place][key] for place in part])) for key in ("p_best", "was_best")) for part in parts
    ]


def table(found, *, upset):
    """Lines of (what, found, target, whether it is met); None where nothing was stated."""
    least, most = (0.85, 1.0) if upset else (0.86, 0.94)
    lines = []
    for key, name in (("run", "one run"), ("mean", "mean makespan"), ("gain", "gain over equal")):
        mean, error, count = share(found, f"{key}_held")
        met = least <= mean <= most if count else None
        target = f"{least:.0%} or more" if upset else f"{least:.0%} to {most:.0%}"
        lines.append((f"90 % interval, {name}, holds", f"{mean:.1%} +/- {error:.1%} ({count})", target, met))
    mean, error, count = share(found, "gains_held")
    lines.append(("  of gains over every other", f"{mean:.1%} +/- {error:.1%} ({count})", "", None))
    for key, name in (("run", "one run"), ("mean", "mean makespan"), ("gain", "gain over equal")):
        ratio = width_ratio(found, key)
        target, met = ("", None) if upset else ("1.5 at most", ratio <= 1.5)
        lines.append((f"median width over the judge's, {name}", f"{ratio:.2f}", target, met))
    lines += [
        (what, value, *((target, met) if not upset else ("", None))) for what, value, target, met in _chances(found)
    ]
    stated, true = share(found, "stated_loss"), share(found, "true_loss")
    ratio = stated[0] / true[0] if true[0] else float("nan")
    met = 1 / 1.5 <= ratio <= 1.5 if stated[2] and not upset else None
    lines.append(("expected loss stated, true", f"{stated[0]:.2%}, {true[0]:.2%}", "within a factor 1.5", met))
    bias, error, _ = share(found, "error")
    lines.append(("predicted over true mean, minus 1", f"{bias:+.2%} +/- {error:.2%}", "", None))
    return lines


def _chances(found):
    parts = thirds(found)
    stated, best = share(found, "p_best")[0], share(found, "was_best")[0]
    yield "P(best) stated, was best", f"{stated:.1%}, {best:.1%}", "within 6 points", abs(stated - best) <= 0.06
    for name, (said, was) in zip(("least", "middle", "largest"), parts, strict=False):
        yield f"  {name} third", f"{said:.1%}, {was:.1%}", "within 12 points", abs(said - was) <= 0.12


def show(lines):
    """Print them; whether all are met."""
    for what, value, target, met in lines:
        verdict = "" if met is None else "met" if met else "MISSED"
        print(f"{what:<44} {value:<28} {target:<20} {verdict}".rstrip())
    return all(met is not False for *_, met in lines)


def main(arguments=None):
    """The study; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--upset", action="store_true", help="steps, drift, other loads; verified 6 times before")
    parser.add_argument("--band", action="store_true", help="two PEs with a band of +/- 10 %%")
    parser.add_argument("--seeds", type=int, default=200, help="of --band")
    parser.add_argument("--out", type=Path, default=Path("out/coverage"))
    given = parser.parse_args(arguments)
    if given.band:
        return 0 if show(coverage_band.table(seeds=given.seeds, jobs=given.jobs)) else 1
    found = rows(
        given.clusters, seed=given.seed, jobs=given.jobs, out=given.out, upset=given.upset,
        replications=given.replications,
    )  # fmt: skip
    failed = [row for row in found if "failed" in row]
    for row in failed[:5]:
        print(f"cluster {row['cluster']}: {row['failed']}")
    print(f"{len(found)} clusters, {len(failed)} failed, seed {given.seed}, {given.replications} replications")
    good = show(table([row for row in found if "failed" not in row], upset=given.upset))
    return 0 if good and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
