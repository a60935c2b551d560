"""The result of a quickstart as one JSON document: what `--json` prints and the report shows."""

import time
from typing import Any

import numpy as np

from advisor.advise.recommendation import Recommendation, mean_shares
from advisor.quickstart.plan import KERNEL
from advisor.quickstart.state import Quickstart, kernels_document
from advisor.report.timelines import median_replication, timelines
from advisor.verification import Bias, Verification, bias_of, residuals
from simulator import Scenario, documents, files, matmul, provenance, run

MEND = "stop other programs or raise --budget"
DOUBTFUL = 0.1
"""Speeds that may be off by a larger share mark the whole result as doubtful."""


def may_be_off(state: Quickstart, n: int) -> float:
    """By which share the application's speeds may be too low, since other programs ran while they were measured."""
    own = [m for m in state.measured if m.kernel == KERNEL and m.n == n]
    return max((m.may_be_off for m in own), default=0.0)


def _disturbed(state: Quickstart) -> list[str]:
    """A line for every PE on which other programs ran during too many samples."""
    found = []
    for name in state.names:
        taken = [m for m in state.measured if m.pe == name and m.may_be_off > 0]
        if taken:
            share = float(np.median([m.waited for m in taken]))
            off = max(m.may_be_off for m in taken)
            doubt = "doubtful: " if off > DOUBTFUL else ""
            found.append(
                f"{doubt}calibrated on a busy machine: other programs took {share:.0%} of {name}, and its speeds are "
                f"up to {100 * off:.0f} % too slow; {MEND}"
            )
    return found


def _corrected(state: Quickstart) -> list[str]:
    """A line for every PE whose speeds a real piece of the application corrected."""
    return [
        f"speeds of {KERNEL} on {piece.pe} are corrected by {100 * (piece.ratio - 1):+.1f} % after real pieces of the "
        f"application, {piece.rows} rows"
        for piece in state.pieces
        if piece.ratio != 1.0
    ]


def _warnings(state: Quickstart, share: float, predicted_share: float, *, n: int) -> list[str]:
    """What the reader must know before believing a figure."""
    found = []
    if len(state.cpus) == 1:
        found.append("this machine has one PE for us: every partition is the same, and no gain can be shown")
    found += [*_disturbed(state), *_corrected(state)]
    unstable = [m for m in state.measured if m.kernel == KERNEL and m.n == n and not m.stable]
    for name in dict.fromkeys(m.pe for m in unstable):
        own = [m for m in unstable if m.pe == name]
        worst = max(m.half_interval for m in own)
        known = f"to {100 * worst:.1f} % or better, not 3 %" if np.isfinite(worst) else "from fewer than 6 runs only"
        rows = ", ".join(str(m.rows) for m in own)
        found.append(f"{KERNEL} on {name}: on {rows} rows of {n} the median is known {known}; {MEND}")
    if abs(share / predicted_share - 1) > 0.15:
        found.append(f"the load left {share:.0%} of {state.names[-1]}, not the {predicted_share:.0%} that was assumed")
    return found


def result_document(state: Quickstart, scenario: Scenario, recommendation: Recommendation) -> dict[str, Any]:
    """Everything a reader of the result needs, as plain data; see the README for the fields."""
    if state.verification is None:
        raise ValueError("nothing has been verified")
    best = recommendation.configuration
    n = int(scenario.application.parameters["n"])
    verified, bias = _all_verified(state.verification, scenario, recommendation)
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
        "warnings": [*([f"bias: {bias.text}"] if bias else []), *_warnings(state, share, predicted_share, n=n)],
        "machine": state.machine.to_dict(),
        "kernels": kernels_document(state.measured),
        "calibration": _calibration(state, n),
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
        "timelines": documents.to_dict(
            timelines(
                scenario.with_configurations(recommendation.candidates),
                recommendation.runs,
                list(dict.fromkeys((best.name, "equal"))),
                replication=median_replication(recommendation.runs, best.name),
            )
        ),
        "verification": verified,
        "bias": documents.to_dict(bias),
        "available_share": share,
        "measured_gain": medians["equal"] / medians[best.name],
        "largest_gain": (pes - 1 + share) / (pes * share),
        "seconds": state.seconds | {"total": round(time.monotonic() - state.begun, 3)},
        "provenance": provenance.provenance(seed=state.seed, machine=state.machine, inputs=inputs),
        "report": str(report),
        "scenario": str((state.folder / "scenario.yaml").resolve()),
    }


def _calibration(state: Quickstart, n: int) -> dict[str, Any]:
    """How far the application's speeds can be trusted."""
    off = may_be_off(state, n)
    return {
        "columns": n,
        "samples": sum(len(m.samples) for m in state.measured),
        "disturbed_samples": sum(m.disturbed for m in state.measured),
        "may_be_off_percent": 100 * off,
        "doubtful": off > DOUBTFUL,
        "pieces": [piece.to_dict() for piece in state.pieces],
        "neighbours": _neighbours(state, n),
    }


def _neighbours(state: Quickstart, n: int) -> dict[str, Any]:
    """The sharing domains found, or up to which loss none was seen, and what the application's kernel keeps."""
    model = state.neighbours
    if model is None:
        return {"missing": state.no_neighbours}
    pes = len(state.cpus)
    size = matmul.problem_size(n, n // pes)
    known = KERNEL in model.kernels
    return {
        "domains": model.domains,
        "beyond_percent": {level: None if most is None else 100 * most for level, most in model.beyond.items()},
        "kernel": KERNEL,
        "share_together": model.together_share(KERNEL, size, pes) if known else None,
        "warnings": list(model.warnings),
    }


def _all_verified(
    verification: Verification, scenario: Scenario, recommendation: Recommendation
) -> tuple[list[dict[str, Any]], Bias | None]:
    """Every configuration that really ran, in the order in which they took turns, and the bias of all."""
    entries = [_verified(name, times, recommendation) for name, times in verification.measured_s.items()]
    named = {configuration.name: configuration for configuration in recommendation.candidates}
    ran = scenario.with_configurations(tuple(named[entry["name"]] for entry in entries))
    found = residuals(ran, recommendation.runs, verification)
    for entry in entries:
        one = found.get(entry["name"])
        entry["residual"] = documents.to_dict(one)
    return entries, bias_of([entry["error_percent"] for entry in entries], found)


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
