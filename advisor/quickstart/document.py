"""The result of a quickstart as one JSON document: what `--json` prints and the report shows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from advisor.advise.recommendation import Recommendation
from advisor.cluster import Answer
from advisor.cluster.real_runs import configuration_now
from advisor.report.timelines import median_replication, timelines
from advisor.verification import Bias, Verification, bias_of, residuals
from advisor.verification.pieces import Piece
from simulator import LoadTrace, Scenario, documents, files, matmul, partitions, provenance, run, shares_of
from simulator.calibration import MeasuredHost, Measurement, NeighboursModel, one_of_each_kind

KERNEL = "dgemm"
"""What the application computes with."""
MOST_OFF = 0.15
"""By which share what a load leaves may be other than assumed until that is said."""


def result_document(
    answer: Answer, verification: Verification, pieces: Sequence[Piece], *, trace: LoadTrace, folder: Path
) -> dict[str, Any]:
    """Everything a reader of the result needs, but what it took; see the README for the fields.

    `answer`: its scenario has the candidates.
    """
    scenario, made, host = answer.scenario, answer.recommendation, answer.measured.hosts[0]
    best, equal, machine = made.configuration, configuration_now(made), host.about.machine
    verified, bias = _all_verified(verification, scenario, made)
    medians = {entry["name"]: entry["measured_median_s"] for entry in verified}
    pes = len(scenario.platform.pes)
    share, predicted_share = verification.share_of(pes - 1), partitions.mean_share(scenario.platform.pes[pes - 1])
    logged = run(scenario.with_configurations((best,)), replications=1, log_replications=1)
    inputs = {"trace": files.digest(files.read_bytes(folder / "load.csv"))}
    inputs["scenario"] = files.digest(files.read_bytes(folder / "scenario.yaml"))
    load = {"pe": scenario.platform.pes[-1].name, "rule": _rule(scenario), "predicted_share": predicted_share}
    times = {"times_s": trace.times_s.tolist(), "values": trace.values.tolist(), "end_s": trace.end_s}
    said = [*([f"bias: {bias.text}"] if bias else []), *_warnings(answer, share, predicted_share)]
    shown = list(dict.fromkeys((best.name, equal.name)))
    kept = {"replication": median_replication(made.runs, best.name)}
    return {
        "format": 1,
        "command": "quickstart",
        "seed": scenario.seed,
        "warnings": said,
        "machine": machine.to_dict(),
        "kernels": kernels_document(host, scenario),
        "calibration": {"pieces": [piece.to_dict() for piece in pieces], "neighbours": _neighbours(host, scenario)},
        "load": load | {"trace": times},
        "link": scenario.platform.network.uniform_model.to_dict(),
        "application": {"name": "matmul", "kernel": KERNEL, "n": scenario.application.parameters["n"]},
        "deterministic": made.runs.deterministic,
        "baselines": documents.to_dict(made.compared.baselines),
        "expected_loss": made.expected_loss,
        "shares": documents.to_dict(shares_of(scenario, equal, best)),
        "recommended": best.name,
        "timeline": logged.timeline(best.name),
        "timelines": documents.to_dict(timelines(scenario, made.runs, shown, **kept)),
        "verification": verified,
        "bias": documents.to_dict(bias),
        "available_share": share,
        "measured_gain": medians[equal.name] / medians[best.name],
        "largest_gain": (pes - 1 + share) / (pes * share),
        "provenance": provenance.provenance(seed=scenario.seed, machine=machine, inputs=inputs),
        "report": str((folder / "report.html").resolve()),
        "scenario": str((folder / "scenario.yaml").resolve()),
    }


def _rule(scenario: Scenario) -> str | None:
    load = scenario.platform.pes[-1].load
    return None if load is None else load.rule


def kernels_document(host: MeasuredHost, scenario: Scenario) -> list[dict[str, Any]]:
    """One entry for the PE of each kind of core that was measured by itself, with every point and all its samples."""
    n, names = int(scenario.application.parameters["n"]), {pe.cpu: pe.name for pe in scenario.platform.pes}
    found = []
    for kind, cpu in one_of_each_kind(host.about).items():
        points = host.others.get(kind, host.speed)["points"]
        found.append({"name": KERNEL, "pe": names[cpu], "points": [_point(point, n) for point in points]})
    return found


def _point(point: Mapping[str, Any], n: int) -> dict[str, Any]:
    size = float(point["size_elements"])
    none, one = (matmul.problem_size(n, rows) for rows in (0, 1))
    found = Measurement.of_times(size, point["volume"], point["cpu_s"], point["wall_s"], point["cost_s"])
    cut = found.cut()
    return {
        "n": n,
        "rows": round((size - none) / (one - none)),
        "size_elements": size,
        "volume": found.volume,
        "repetitions": len(found.samples),
        "speed": {"low": cut.low, "mid": cut.mid, "high": cut.high},
        "interval_percent": found.interval_percent,
        "stable": found.stable,
        "cpu_s": [sample.cpu_s for sample in found.samples],
        "wall_s": [sample.wall_s for sample in found.samples],
    }


def _warnings(answer: Answer, share: float, predicted_share: float) -> list[str]:
    """What the reader must know before believing a figure; tables mark points that are not stable."""
    pes, host, found = answer.scenario.platform.pes, answer.measured.hosts[0], list[str]()
    if len(pes) == 1:
        found.append("this machine has one PE for us: every partition is the same, and no gain can be shown")
    for one in (host.speed, *host.others.values()):
        found += [line for line in one["warnings"] if not line.startswith("shape: ") and ": unstable: " not in line]
    found += answer.warnings
    if abs(share / predicted_share - 1) > MOST_OFF:
        found.append(f"the load left {share:.0%} of {pes[-1].name}, not the {predicted_share:.0%} that was assumed")
    return list(dict.fromkeys(found))


def _neighbours(host: MeasuredHost, scenario: Scenario) -> dict[str, Any]:
    """The sharing domains found, or up to which loss none was seen, and what the application's kernel keeps."""
    if host.neighbours is None:
        return {"missing": "; ".join(host.notes) or "one PE has no neighbour"}
    model, pes = NeighboursModel.from_dict(host.neighbours), len(scenario.platform.pes)
    n = int(scenario.application.parameters["n"])
    size = matmul.problem_size(n, n // pes)
    return {
        "domains": model.domains,
        "beyond_percent": {level: None if most is None else 100 * most for level, most in model.beyond.items()},
        "kernel": KERNEL,
        "share_together": model.together_share(KERNEL, size, pes) if KERNEL in model.kernels else None,
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
