"""A quickstart document as a two-core machine would give it, made without measuring anything."""

import copy
import math
import random
from typing import Any

GIB = 2**30
MACHINE = {
    "host": "node07",
    "system": "Linux 6.12.0-amd64",
    "cpu_model": "AMD EPYC 9354 32-Core Processor",
    "cores": [{"cpu": 0, "siblings": []}, {"cpu": 1, "siblings": []}],
    "quota_cores": None,
    "caches": [
        {"level": 1, "kind": "data", "size_bytes": 32768, "shared_by": 1},
        {"level": 1, "kind": "instruction", "size_bytes": 32768, "shared_by": 1},
        {"level": 2, "kind": "unified", "size_bytes": 2**20, "shared_by": 1},
        {"level": 3, "kind": "unified", "size_bytes": 32 * 2**20, "shared_by": 2},
    ],
    "memory_bytes": 16 * GIB,
    "memory_available_bytes": int(13.2 * GIB),
    "load_average": [0.31, 0.42, 0.4],
    "governor": None,
    "pe_count": 2,
}
DRAWN = {"replications": 200, "truths": 20, "level": 0.9, "deterministic": False}
NAMES = ("equal", "constant", "functional", "fastest-pe")


def sample_document(*, pes: int = 2) -> dict[str, Any]:
    """A fresh document; the same call gives the same one."""
    draw = random.Random(7)  # noqa: S311  (a sample, not a secret)
    machine = copy.deepcopy(MACHINE) | {"cores": [{"cpu": c, "siblings": []} for c in range(pes)], "pe_count": pes}
    return {
        "format": 1,
        "command": "quickstart",
        "seed": 7,
        "budget_s": 60.0,
        "warnings": [f"dgemm on core{pes - 1} at n = 128: the median is known to 6.1 % only; raise --budget"],
        "hosts": [],
        "lost": {},
        "network": "one host",
        "kernels": [_kernel(draw, kernel, pe, pes) for kernel in ("dgemm", "matmul") for pe in range(pes)],
        "load": {
            "pe": f"core{pes - 1}",
            "rule": "fair",
            "trace": _trace(draw),
            "predicted_share": 0.417,
            "measured_share": 0.42,
        },
        "messages": {"sizes_bytes": [8.0, 1048576.0], "times_s": [4.1e-6, 2.9e-5]},
        "application": {"name": "matmul", "kernel": "dgemm", "parameters": {"n": 4200}},
        "pes": [f"core{pe}" for pe in range(pes)],
        "baselines": [_baseline(name, pes) for name in NAMES],
        "recommended": "functional",
        **DRAWN,
        "shares": [],
        "timelines": [],
        "intervals": None,
        "line": "",
        "exports": [],
        "reused": 0,
        "verification": [_verified(draw, "equal", 2.9, 2.95), _verified(draw, "functional", 1.76, 1.777)],
        "measured_gain": 1.66,
        "largest_gain": 1.69,
        "seconds": {"measure": 21.0, "simulate": 2.0, "verify": 25.0, "total": 52.0},
        "provenance": {
            "made": "2026-03-02T10:11:12+00:00",
            "versions": {"python": "3.11.7", "apportion": "0.1.0", "numpy": "2.4.6", "simpy": "4.1.1"},
            "seed": 7,
            "inputs": {"trace": "sha256:" + "ab" * 32, "scenario": "sha256:" + "cd" * 32},
            "machine": machine,
        },
        "folder": "/home/user/out/quickstart",
    }


def one_core_document() -> dict[str, Any]:
    """What is left on a machine with one PE: nothing to compare."""
    document = sample_document(pes=1)
    whole = _baseline("equal", 1) | {"partition": [4200], "gain_of_recommended": dict.fromkeys(("mean", "low", "high"))}
    gains = {"measured_gain": None, "largest_gain": None}
    warning = "this machine has one PE for us: every partition is the same, and no gain can be shown"
    return (
        document
        | gains
        | {
            "baselines": [whole],
            "recommended": "equal",
            "verification": document["verification"][:1],
            "warnings": [warning],
        }
    )


def verified_document() -> dict[str, Any]:
    """What `verify` prints, from the sample of a quickstart."""
    sample = sample_document()
    parts = {one["name"]: one["partition"] for one in sample["baselines"]}
    entries = [
        {**entry, "predicted_interval_s": entry["predicted_range_s"], "interval_holds": True}
        | {"partition": parts[entry["name"]], "placement": [0, 1], "processes": [1, 1], "also": [], "runs_inside": None}
        | dict.fromkeys(("predicted_mean_s", "predicted_mean_interval_s", "median_sd_percent", "residual"))
        for entry in sample["verification"]
    ]
    return {
        "format": 1,
        "command": "verify",
        "application": sample["application"],
        "pes": ["core0", "core1"],
        "recommended": "functional",
        "best_measured": "functional",
        "regret": 0.0,
        "within_2_percent": True,
        "configurations": entries,
        "level": 0.9,
        "share_of_intervals_that_hold": 1.0,
        "intervals": {"cases": 2, "sittings": 1, "busy": 0, "held": None, "runs": None}
        | {"median_half_width_percent": None, "median_error_percent": None},
        "mean_absolute_error_percent": 1.2,
        "bias": None,
        "pairs_in_order": 1.0,
        "repetitions": 7,
        "repetitions_reused": 0,
        "warnings": [],
        "provenance": sample["provenance"]
        | {"machine": sample["provenance"]["machine"], "inputs": {"scenario.yaml": "sha256:" + "cd" * 32}},
    }


def cluster_document() -> dict[str, Any]:
    """What `cluster` writes of two hosts that are alike."""
    host = {"kind": 0, "cpu_model": "x", "pes": 2, "memory_bytes": 2**33, "available": 1.0, "units_per_s": 5.0}
    hosts = [
        host | {"name": name, "units": units, "units_now": 5, "processes": 2}
        for name, units in (("alpha", 7), ("beta", 3))
    ]
    gains = {"measured_gain": None, "largest_gain": None}
    return (
        sample_document()
        | gains
        | {
            "command": "cluster",
            "hosts": hosts,
            "network": "one switch",
            "messages": None,
            "kernels": [],
            "load": None,
            "verification": [],
            "line": "mpirun -n 4 ./app",
            "folder": "out",
            "exports": ["hostfile"],
            "warnings": [],
        }
    )


def _kernel(draw: random.Random, kernel: str, pe: int, pes: int) -> dict[str, Any]:
    points = []
    for n in (64, 128, 256, 512, 1024, 2048, 3288, 4200):
        rows = min(n, 1200)
        size = n * n + 2 * rows * n
        top = 62e9 * (1 - math.exp(-n / 90)) if kernel == "dgemm" else 3.4e9 / (1 + (size / 3e6) ** 0.7) + 6e8
        speed = top * draw.uniform(0.97, 1.03) * 0.98**pe
        shaky = kernel == "dgemm" and pe == pes - 1 and n == 128
        [draw.uniform(0.99, 1.05) for _ in range(9)]
        points.append(
            {
                "rows": rows,
                "size_elements": size,
                "speed": {"low": 0.95 * speed, "mid": speed, "high": 1.02 * speed},
                "interval_percent": 6.1 if shaky else round(draw.uniform(0.4, 2.8), 2),
                "stable": not shaky,
            }
        )
    return {"name": kernel, "pe": f"core{pe}", "points": points}


def _trace(draw: random.Random) -> dict[str, Any]:
    """One competitor always, a second one on and off: 120 s in samples of 0.05 s."""
    values, value = [], 1.0
    for _ in range(2400):
        value = 3.0 - value if draw.random() < 0.2 else value
        values.append(value)
    return {"times_s": [index * 0.05 for index in range(2400)], "values": values, "end_s": 120.0}


def _baseline(name: str, pes: int) -> dict[str, Any]:
    mean = {"equal": 2.902, "constant": 1.911, "functional": 1.762, "fastest-pe": 2.489}[name]
    share = {"equal": 1 / pes, "constant": 0.48 / pes, "functional": 0.59 / pes, "fastest-pe": 0.0}[name]
    last = round(4200 * share)
    rest = 0 if name == "fastest-pe" else (4200 - last) // max(1, pes - 1)
    best = name == "functional"
    gain = mean / 1.762
    return {
        "name": name,
        "same_as": None,
        "partition": [4200 - rest * (pes - 2) - last, *[rest] * (pes - 2), last] if pes > 1 else [4200],
        "placement": list(range(pes)),
        "objective_s": None,
        "predicted_makespan_s": {
            "mean": mean,
            "low": mean * 0.993,
            "high": mean * 1.007,
            "median": mean * 0.999,
            "run_low": mean * 0.93,
            "run_high": mean * 1.08,
        },
        "gain_of_recommended": {
            "mean": gain,
            "low": gain * (1 if best else 0.98),
            "high": gain * (1 if best else 1.02),
        },
        "probability_recommended_faster": 0.5 if best else {"equal": 1.0, "constant": 0.93, "fastest-pe": 0.995}[name],
    }


def _verified(draw: random.Random, name: str, predicted: float, measured: float) -> dict[str, Any]:
    runs = [measured * (1 + offset) for offset in (-0.031, -0.012, -0.004, 0.0, 0.006, 0.017, 0.052)]
    draw.shuffle(runs)
    return {
        "name": name,
        "partition": [2100, 2100],
        "placement": [0, 1],
        "predicted_s": predicted,
        "predicted_range_s": [predicted * 0.93, predicted * 1.08],
        "measured_s": runs,
        "measured_median_s": measured,
        "error_percent": 100 * (predicted / measured - 1),
    }
