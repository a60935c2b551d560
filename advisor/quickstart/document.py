"""The result of a quickstart: what `--json` prints and the report shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.recommendation import Recommendation
from advisor.cluster import Answer
from advisor.cluster.real_runs import configuration_now
from advisor.report.illustrated import Speed, Trace
from advisor.report.origin import MessageTimes
from advisor.report.quickstart import (
    Calibration,
    KernelSpeeds,
    MeasuredLoad,
    NeighbourFacts,
    PieceFacts,
    QuickstartResult,
    SpeedPoint,
)
from advisor.report.timelines import replication_near, timelines
from advisor.results import Provenance
from advisor.verification import Bias, Verification, bias_of, residuals
from advisor.verification.check import VerifiedConfiguration, verified_of
from advisor.verification.pieces import Piece
from simulator import LoadTrace, Scenario, files, matmul, partitions, shares_of
from simulator.calibration import MeasuredHost, Measurement, NeighboursModel, one_of_each_kind

KERNEL = "dgemm"
"""What the application computes with."""
Floats = NDArray[np.float64]
MOST_OFF = 0.15
"""By which share what a load leaves may be other than assumed until that is said."""


def result_of(
    answer: Answer,
    verification: Verification,
    pieces: Sequence[Piece],
    *,
    trace: LoadTrace,
    folder: Path,
    budget_s: float,
    seconds: Mapping[str, float],
) -> QuickstartResult:
    """Everything a reader of the result needs; the scenario of the answer has the candidates."""
    scenario, made, host = answer.scenario, answer.recommendation, answer.measured.hosts[0]
    best, equal, machine = made.configuration, configuration_now(made), host.about.machine
    verified, bias = _all_verified(verification, scenario, made)
    medians = {one.name: one.measured_median_s for one in verified}
    pes = scenario.platform.pes
    share, predicted_share = verification.share_of(len(pes) - 1), partitions.mean_share(pes[-1])
    inputs = {"trace": "load.csv", "scenario": "scenario.yaml"}
    digests = {name: files.digest(files.read_bytes(folder / file)) for name, file in inputs.items()}
    rule = "" if pes[-1].load is None else pes[-1].load.rule
    times = Trace(tuple(trace.times_s.tolist()), tuple(trace.values.tolist()), trace.end_s)
    shown = list(dict.fromkeys((best.name, equal.name)))
    replication = replication_near(made.runs, best.name)
    return QuickstartResult(
        format=1,
        command="quickstart",
        budget_s=budget_s,
        warnings=(*([f"bias: {bias.text}"] if bias else []), *_warnings(answer, share, predicted_share)),
        machine=machine,
        kernels=tuple(_kernels(host, scenario)),
        calibration=Calibration(tuple(map(PieceFacts.of, pieces)), _neighbours(host, scenario)),
        load=MeasuredLoad(pes[-1].name, rule, times, predicted_share),
        messages=MessageTimes.of(scenario.platform.network.uniform_model),
        compared=replace(
            made.compared,
            measured_gain=medians[equal.name] / medians[best.name],
            largest_gain=(len(pes) - 1 + share) / (len(pes) * share),
        ),
        shares=shares_of(scenario, equal, best),
        timelines=timelines(scenario, made.runs, shown, replication=replication),
        verification=verified,
        bias=bias,
        available_share=share,
        seconds=seconds,
        provenance=Provenance.of(scenario.seed, digests, machine),
        report=str((folder / "report.html").resolve()),
        scenario=str((folder / "scenario.yaml").resolve()),
    )


def _kernels(host: MeasuredHost, scenario: Scenario) -> Iterator[KernelSpeeds]:
    """One for the PE of each kind of core that was measured by itself, with every point and all its samples."""
    n, names = int(scenario.application.parameters["n"]), {pe.cpu: pe.name for pe in scenario.platform.pes}
    for kind, cpu in one_of_each_kind(host.about).items():
        points = host.others.get(kind, host.speed)["points"]
        yield KernelSpeeds(KERNEL, names[cpu], tuple(_point(point, n) for point in points))


def _point(point: Mapping[str, Any], n: int) -> SpeedPoint:
    size = float(point["size_elements"])
    none, one = (matmul.problem_size(n, rows) for rows in (0, 1))
    found = Measurement.of_times(size, point["volume"], point["cpu_s"], point["wall_s"], point["cost_s"])
    cut = found.cut()
    return SpeedPoint(
        n=n,
        rows=round((size - none) / (one - none)),
        size_elements=size,
        volume=found.volume,
        repetitions=len(found.samples),
        speed=Speed(cut.low, cut.mid, cut.high),
        interval_percent=found.interval_percent,
        stable=found.stable,
        cpu_s=tuple(sample.cpu_s for sample in found.samples),
        wall_s=tuple(sample.wall_s for sample in found.samples),
    )


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


def _neighbours(host: MeasuredHost, scenario: Scenario) -> NeighbourFacts:
    """The sharing domains found, or up to which loss none was seen, and what the application's kernel keeps."""
    if host.neighbours is None:
        return NeighbourFacts(missing="; ".join(host.notes) or "one PE has no neighbour")
    model, pes = NeighboursModel.from_dict(host.neighbours), len(scenario.platform.pes)
    n = int(scenario.application.parameters["n"])
    size = matmul.problem_size(n, n // pes)
    return NeighbourFacts(
        domains=tuple(sorted({domain["kind"] for domain in model.domains})),
        beyond_percent={level: None if most is None else 100 * most for level, most in model.beyond.items()},
        kernel=KERNEL,
        share_together=model.together_share(KERNEL, size, pes) if KERNEL in model.kernels else None,
    )


def _all_verified(
    verification: Verification, scenario: Scenario, made: Recommendation
) -> tuple[tuple[VerifiedConfiguration, ...], Bias | None]:
    """Every configuration that really ran, in the order in which they took turns, and the bias of all."""
    named = {configuration.name: configuration for configuration in made.candidates}
    ran = tuple(named[name] for name in verification.measured_s)
    parted = residuals(scenario.with_configurations(ran), made.runs, verification)
    entries = tuple(
        verified_of(one, verification.measured_s[one.name], made.runs.of(one.name), parted.get(one.name)) for one in ran
    )
    return entries, bias_of([one.error_percent for one in entries], parted)
