"""How far the answer of one command is from real runs, on hosts whose speeds and links are drawn.

    python -m tests.studies.hosts_study --runs 12 --seed 1 --keep study.jsonl

Each run has four hosts with quotas and links of its own, and ends with what was predicted and measured of the advice
and of equal parts. Nothing else should run on the machine meanwhile; about 90 s a run.
"""

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.hosts.world import Spec, missing, world

NAMES = ("alpha", "beta", "gamma", "delta")
RATES = ("300mbit", "600mbit", "1gbit")


def drawn(seed: int) -> list[Spec]:
    """Two hosts on each of two processors, which they do not use up."""
    draws = random.Random(seed)  # noqa: S311 - any will do
    specs = []
    for cpu, names in (("0", NAMES[::2]), ("1", NAMES[1::2])):
        whole, share = draws.uniform(0.75, 0.9), draws.uniform(0.25, 0.75)
        specs += [Spec(names[0], cpu, whole * share), Spec(names[1], cpu, whole * (1 - share))]
    return [Spec(one.name, one.cpus, round(one.quota, 3), draws.choice(RATES)) for one in specs]


def one_run(seed: int, order: int, budget: str, kernel: str) -> dict[str, object]:
    """What one command found."""
    specs = drawn(seed)
    with tempfile.TemporaryDirectory() as name, world(Path(name) / "world", specs) as made:
        begun, out = time.monotonic(), Path(name) / "out"
        words = ["--hosts", made.names, "--ssh", made.ssh, "--python", sys.executable, "--verify", "--budget", budget]
        words += ["--kernel", kernel, "--parameter", f"n={order}", "--seed", str(seed), "-o", str(out)]
        subprocess.run([sys.executable, "-m", "advisor.cli", "cluster", *words], check=True, capture_output=True)
        found = json.loads((out / "cluster.json").read_text())
        wall_s = time.monotonic() - begun
        ran = out / "pieces.json"
        pieces = json.loads(ran.read_text()) if ran.exists() else None
    by_name = {one["name"]: one for one in found["verified"]["configurations"]}
    advised, now = by_name[found["recommended"]["name"]], by_name[found["now"]["name"]]
    kept = ("predicted_s", "measured_median_s", "predicted_interval_s", "error_percent", "interval_holds", "partition")
    return {
        "seed": seed,
        "kernel": kernel,
        "specs": [[one.name, one.quota, one.rate] for one in specs],
        "left": [one["available"] for one in found["hosts"]],
        "wall_s": wall_s,
        "gain": now["measured_median_s"] / advised["measured_median_s"],
        "predicted_gain": [found["gain"], found["gain_low"], found["gain_high"]],
        "advised": {name: advised[name] for name in kept},
        "now": {name: now[name] for name in kept},
        "warnings": found["warnings"],
        "pieces": pieces,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", nargs="+", default=["dgemm", "stencil"], help="taken in turns, a run each")
    parser.add_argument("--order", type=int, default=2000, help="of the matrices")
    parser.add_argument("--budget", default="100s")
    parser.add_argument("--keep", type=Path, help="where each run is kept at once, a line each")
    asked = parser.parse_args()
    if why := missing():
        sys.exit(why)
    rows = []
    for number, kernel in zip(range(asked.runs), itertools.cycle(asked.kernels), strict=False):
        rows.append(one_run(1000 * asked.seed + number, asked.order, asked.budget, kernel))
        if asked.keep is not None:
            with asked.keep.open("a") as stream:
                stream.write(json.dumps(rows[-1]) + "\n")
        advised, now = rows[-1]["advised"], rows[-1]["now"]
        print(
            f"{number + 1}: {kernel}: advised {advised['error_percent']:+.1f} % {advised['interval_holds']}, "
            f"equal {now['error_percent']:+.1f} % {now['interval_holds']}, {rows[-1]['gain']:.2f} times as fast, "
            f"{rows[-1]['wall_s']:.0f} s",
            flush=True,
        )
    errors = sorted(abs(row["advised"]["error_percent"]) for row in rows)
    held = sum(bool(row["advised"]["interval_holds"]) for row in rows)
    both = held + sum(bool(row["now"]["interval_holds"]) for row in rows)
    gains = sorted(row["gain"] for row in rows)
    middle = len(rows) // 2
    print(f"median error of the advised makespan: {errors[middle]:.1f} %")
    print(f"intervals that hold: {held} of {len(rows)} of the advised, with equal parts {both} of {2 * len(rows)}")
    print(f"measured gain over equal parts: {gains[0]:.2f}, {gains[middle]:.2f} (median), {gains[-1]:.2f}")
    print(f"longest run: {max(row['wall_s'] for row in rows):.0f} s")


if __name__ == "__main__":
    main()
