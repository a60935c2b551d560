"""Two PEs of which only a band of +/- 10 % is known: how often the stated gain holds that of a truth in the bands.

What a truth's gain is needs no simulation: each process takes its units over its speed, and the later one counts.
"""

import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml

from tests.support.command_line import apportion_here

MIDS = (20e9, 10e9)
HALF = 0.1
SAMPLES, VOLUME = 3000, 1e7
TRUTHS = 2_000
FEW, MANY = 200, 5_000
"""Replications."""


def document(replications):
    """The scenario: both PEs finish at once where the bands' middles are true."""
    pes = [
        {"name": name, "speeds": {"made": {"sizes": [1.0], **_curves(mid)}}}
        for name, mid in zip("ab", MIDS, strict=True)
    ]
    return {
        "format": 1,
        "platform": {"nodes": [{"name": "desk", "pes": pes}], "link": {"latency": "1us", "bandwidth": "10Gbit/s"}},
        "application": {"name": "ep", "kernel": "made", "parameters": {"samples": SAMPLES, "volume": VOLUME}},
        "configurations": {"equal": {"partition": "equal"}},
        "replications": replications,
    }


def _curves(mid):
    return {"low": [mid * (1 - HALF)], "mid": [mid], "high": [mid * (1 + HALF)]}


def true_gains(partition, equal, draws):
    """Of truths in the bands, each speed even between its ends; (truth,)."""
    speeds = np.array(MIDS) * draws.uniform(1 - HALF, 1 + HALF, (TRUTHS, 2))
    taken = [(np.array(one) * VOLUME / speeds).max(axis=1) for one in (equal, partition)]
    return taken[0] / taken[1]


def stated(seed, *, replications):
    """Share of truths that the advice's gain over equal holds, and its width."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "band.yaml"
        path.write_text(yaml.safe_dump(document(replications)))
        done = apportion_here("advise", path, "--seed", seed, "--json")
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = json.loads(done.stdout)
    entries = {entry["name"]: entry for entry in found["baselines"]}
    gain, equal = entries["equal"]["gain_of_recommended"], entries["equal"]["partition"]
    true = true_gains(found["partition"], equal, np.random.default_rng([seed, 5]))
    return float(np.mean((gain["low"] <= true) & (true <= gain["high"]))), gain["high"] - gain["low"]


def table(*, seeds, jobs):
    """Lines of (what, found, target, whether it is met)."""
    lines, widths = [], []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for replications in (FEW, MANY):
            ask = partial(stated, replications=replications)
            found = np.array(list(pool.map(ask, range(seeds)) if jobs > 1 else map(ask, range(seeds))))
            held, width = found.mean(axis=0)
            least = found[:, 0].min()
            widths.append(width)
            what = f"gain's interval, {replications} replications, holds"
            lines.append((what, f"{held:.1%} (least {least:.0%})", "87% to 93%", bool(0.87 <= held <= 0.93)))
    ratio = widths[1] / widths[0]
    shown = f"{widths[0]:.4f}, {widths[1]:.4f}"
    return [*lines, ("mean widths", shown, "within 10 %", bool(abs(ratio - 1) <= 0.1))]
