"""Sweeps of known truth: the plan of a scenario, and makespans made up for its points."""

import numpy as np

from advisor.whatif.judging import findings_of
from simulator import documents, whatif
from simulator.experiments.sweep import Swept, make_plan, simulated
from simulator.experiments.sweep.folder import table
from tests.support.sweep_points import write

N, LINK, LATENCY = "application.parameters.n", "platform.link.bandwidth", "platform.link.latency"


def plan_of(folder, *varied, zipped=False, replications=20, text=None):
    path = write(folder)
    if text is not None:
        path.write_text(text(path.read_text()))
    points = whatif.points([whatif.read_varied(one) for one in varied], zipped=zipped)
    return make_plan(path, points, ask=simulated, replications=replications)


def swept_of(plan, makespans_s, *, names=("equal",), failed=(), rates=None, deterministic=False):
    """A sweep whose makespans are `makespans_s(point, configuration)`, (replication,) in seconds."""
    made, lost = {}, {}
    for number, point in enumerate(plan.points):
        if number in failed:
            lost[point.hash] = f"{plan.path}: {N}: 0 found, more allowed"
            continue
        ticks = {name: np.rint(1e12 * np.asarray(makespans_s(number, name))).astype(np.int64) for name in names}
        made[point.hash] = {
            "hash": point.hash,
            "configurations": [
                {"name": name, "tick_s": 1e-12, "makespan_ticks": row.tolist()} for name, row in ticks.items()
            ],
            "deterministic": deterministic,
            "warnings": [],
            **({} if rates is None else {"rates": rates(number)}),
        }
    spent = {"run_now": len(plan.points), "seconds": 1.0}
    return Swept(plan, table(plan, made, lost), made, lost, spent)


def whatif_document(swept):
    """What `apportion whatif --json` prints of it."""
    return documents.to_dict(findings_of(swept))
