"""Calibration files to join, made by our own builders from replayed tables."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from simulator.base.provenance import versions
from simulator.calibration import save_speed_model
from simulator.calibration.bands import CutRule, build, read_recorded_sizes
from simulator.calibration.bench.measurement import Workload
from simulator.models.memory import MemoryLevel
from simulator.models.memory.model import FitStatistics, MemoryModel

MACHINE = {
    "host": "n01",
    "system": "Linux 6.1",
    "cpu_model": "Some CPU",
    "cores": [{"cpu": 0, "siblings": [2]}, {"cpu": 1, "siblings": [3]}],
    "caches": [
        {"level": 1, "kind": "data", "size_bytes": 32768, "shared_by": 2},
        {"level": 1, "kind": "instruction", "size_bytes": 32768, "shared_by": 2},
        {"level": 3, "kind": "unified", "size_bytes": 8 * 2**20, "shared_by": 4},
    ],
    "memory_bytes": 16 * 2**30,
    "memory_available_bytes": 15 * 2**30,
    "swap_bytes": 2**30,
    "load_average": [0.1, 0.1, 0.1],
    "quota_cores": None,
    "governor": None,
    "pe_count": 2,
}
TOPOLOGY = {
    "source": "this machine",
    "host": "n",
    "cpu_model": None,
    "cores": [{"cpu": 0, "siblings": []}],
    "caches": [],
    "packages": [],
    "numa": [],
    "memory_bytes": None,
}


def provenance(*, days=1.0, machine=MACHINE, **changed):
    made = datetime.now(UTC) - timedelta(days=days)
    told = versions() | {"apportion": "0.1.0"} | changed
    return {
        "made": made.isoformat(timespec="seconds"),
        "versions": told,
        "seed": None,
        "inputs": {},
        "machine": machine,
    }


def speed_model(path, *, speed=1e9, kernel="dgemm", band=0.05, largest=4e6, made=None):
    """A speed that rises out of start-up costs and falls where caches end, from a table of its times."""
    sizes = np.geomspace(2e3, largest, 40).round()
    volume = sizes**1.5
    speeds = speed * (sizes / (sizes + 5e3)) / (1 + 0.3 / (1 + (1e6 / sizes) ** 2))
    rows = [f"{size:.0f},{v:.17g},{v / s:.17g}" for size, v, s in zip(sizes, volume, speeds, strict=True)]
    table = path.with_suffix(".csv")
    table.write_text("size_elements,volume,cpu_s\n" + "\n".join(rows) + "\n")
    built = build(read_recorded_sizes(table), method="gbbp", rule=CutRule(band=band))
    subject = {} if kernel is None else {"kernel": kernel, "cpu": 0}
    save_speed_model(replace(built, subject=Workload.from_dict(subject), provenance=made or provenance()), path)
    return path


def host(name, **changed):
    return provenance(machine=MACHINE | {"host": name} | changed)


def link(path, **more):
    sizes = [0.0, 1024.0, 2.0**20]
    path.write_text(
        json.dumps({"sizes_bytes": sizes, "times_s": [2e-5, 3e-5, 9e-3], "provenance": provenance()} | more)
    )
    return path


def memory_model(path, *, latency=1e-7):
    """As `calibrate memory` writes it, what may be left out left out."""
    levels = (
        MemoryLevel("level 1", 30_000.4, 1e-9, 2e-10),
        MemoryLevel("level 2", 7e6, 1e-8, 1e-9),
        MemoryLevel("level 3", math.inf, latency, 3e-9),
    )
    trained = ((64.0, 1e9), (0.01, 1.0), (1.0, 512.0))
    statistics = FitStatistics(40, 0.05, 0.2, None, None)
    model = MemoryModel("3 levels", levels, None, 0.1, ((0.9, 1.6),), trained, statistics)
    document = {"format": 2, "kind": "memory", "model": model.to_dict(), "provenance": provenance()}
    path.write_text(json.dumps(document))
    return path
