"""The result of a quickstart as one JSON document: what `--json` prints and the report shows."""

import time
from typing import Any

import numpy as np

from advisor.advise.recommendation import Recommendation, mean_shares
from advisor.quickstart.plan import KERNEL
from advisor.quickstart.state import Quickstart, kernels_document
from advisor.report.timelines import median_replication, timelines
from simulator import Scenario, files, provenance, run

MEND = "stop other programs or raise --budget"
BUSY_SHARE = 0.9
"""Below this share of an idle PE, somebody else's load takes part in every figure."""


def _warnings(state: Quickstart, share: float, predicted_share: float) -> list[str]:
    """What the reader must know before believing a figure."""
    found = []
    if len(state.cpus) == 1:
        found.append("this machine has one PE for us: every partition is the same, and no gain can be shown")
    for name in state.names:
        samples = [m for m in state.measured if m.pe == name]
        got = sum(m.cpu_s.sum() for m in samples) / sum(m.wall_s.sum() for m in samples)
        if got < BUSY_SHARE:
            found.append(f"{name} was busy with other work, {got:.0%} of it was left to us; {MEND}")
    for kernel, name in dict.fromkeys((m.point.kernel, m.pe) for m in state.measured):
        unstable = [m for m in state.measured if (m.point.kernel, m.pe) == (kernel, name) and not m.stable]
        if unstable:
            worst = max(m.half_interval for m in unstable)
            known = (
                f"to {100 * worst:.1f} % or better, not 3 %" if np.isfinite(worst) else "from fewer than 6 runs only"
            )
            orders = ", ".join(str(m.point.n) for m in unstable)
            found.append(f"{kernel} on {name}: at n = {orders} the median is known {known}; {MEND}")
    if abs(share / predicted_share - 1) > 0.15:
        found.append(f"the load left {share:.0%} of {state.names[-1]}, not the {predicted_share:.0%} that was assumed")
    return found


def result_document(state: Quickstart, scenario: Scenario, recommendation: Recommendation) -> dict[str, Any]:
    """Everything a reader of the result needs, as plain data; see the README for the fields."""
    if state.verification is None:
        raise ValueError("nothing has been verified")
    best = recommendation.configuration
    verified = [_verified(name, times, recommendation) for name, times in state.verification.measured_s.items()]
    medians = {entry["name"]: entry["measured_median_s"] for entry in verified}
    pes, loaded = len(state.cpus), len(state.cpus) - 1
    share, predicted_share = state.verification.share_of(loaded), float(mean_shares(scenario)[loaded])
    logged = run(scenario.with_configurations((best,)), replications=1, log_replications=1)
    report = (state.folder / "report.html").resolve()
    inputs = {"trace": files.digest(files.read_bytes(state.folder / "load.csv"))}
    inputs["scenario"] = files.digest(files.read_bytes(state.folder / "scenario.yaml"))
    return {
        "format": 1,
        "command": "quickstart",
        "seed": state.seed,
        "budget_s": state.budget_s,
        "warnings": _warnings(state, share, predicted_share),
        "machine": state.machine.to_dict(),
        "kernels": kernels_document(state.measured),
        "load": {
            "pe": state.names[loaded],
            "rule": "fair",
            "trace": {
                "times_s": state.trace.times_s.tolist(),
                "values": state.trace.values.tolist(),
                "end_s": state.trace.end_s,
            },
            "predicted_share": predicted_share,
        },
        "link": scenario.platform.network.uniform_model.to_dict(),
        "application": {"name": "matmul", "kernel": KERNEL, "n": scenario.application.parameters["n"]},
        "deterministic": recommendation.runs.deterministic,
        "baselines": recommendation.to_dict(),
        "recommended": best.name,
        "timeline": logged.timeline(best.name),
        "timelines": timelines(
            scenario.with_configurations(recommendation.candidates),
            recommendation.runs,
            list(dict.fromkeys((best.name, "equal"))),
            replication=median_replication(recommendation.runs, best.name),
        ),
        "verification": verified,
        "available_share": share,
        "measured_gain": medians["equal"] / medians[best.name],
        "largest_gain": (pes - 1 + share) / (pes * share),
        "seconds": state.seconds | {"total": round(time.monotonic() - state.begun, 3)},
        "provenance": provenance.provenance(seed=state.seed, machine=state.machine, inputs=inputs),
        "report": str(report),
        "scenario": str((state.folder / "scenario.yaml").resolve()),
    }


def _verified(name: str, times: np.ndarray[Any, Any], recommendation: Recommendation) -> dict[str, Any]:
    runs = recommendation.runs.of(name)
    predicted, measured = float(np.median(runs)), float(np.median(times))
    return {
        "name": name,
        "predicted_s": predicted,
        "predicted_range_s": [float(quantile) for quantile in np.quantile(runs, (0.05, 0.95))],
        "measured_s": times.tolist(),
        "measured_median_s": measured,
        "error_percent": 100 * (predicted / measured - 1),
    }
