"""What a quickstart saw beside its answer: speeds, the load, what PEs lose to each other, real runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advisor import wording
from advisor.cluster import Answer
from advisor.cluster.answer import Ran
from advisor.report.cluster import KernelSpeeds, MeasuredLoad, SpeedPoint
from advisor.report.illustrated import Speed, Trace
from advisor.verification import Verification, bias_of, residuals
from advisor.verification.check import verified_of
from advisor.verification.pieces import Piece
from simulator import LoadTrace, Scenario, matmul, partitions
from simulator.calibration import MeasuredHost, Measurement, NeighboursModel, one_of_each_kind

KERNEL = "dgemm"
"""What the application computes with."""
MOST_OFF = 0.15
"""By which share what a load leaves may be other than assumed until that is said."""


def seen(answer: Answer, verification: Verification, pieces: Sequence[Piece], trace: LoadTrace) -> Ran:
    """What ran beside the load, every configuration in the order in which they took turns."""
    made, host = answer.recommendation, answer.measured.hosts[0]
    scenario, named = answer.scenario, {one.name: one for one in made.candidates}
    ran = tuple(named[name] for name in verification.measured_s)
    parted = residuals(scenario.with_configurations(ran), made.runs, verification)
    verified = tuple(
        verified_of(one, verification.measured_s[one.name], made.runs.of(one.name), parted.get(one.name)) for one in ran
    )
    bias = bias_of([one.error_percent for one in verified], parted)
    pes = scenario.platform.pes
    share, predicted_share = verification.share_of(len(pes) - 1), partitions.mean_share(pes[-1])
    rule = "" if pes[-1].load is None else pes[-1].load.rule
    times = Trace(tuple(trace.times_s.tolist()), tuple(trace.values.tolist()), trace.end_s)
    warnings = [f"bias: {bias.text}"] if bias else []
    if abs(share / predicted_share - 1) > MOST_OFF:
        warnings.append(f"the load left {share:.0%} of {pes[-1].name}, not the {predicted_share:.0%} that was assumed")
    return Ran(
        verification=verified,
        warnings=(*warnings, *_warnings(answer)),
        load=MeasuredLoad(pes[-1].name, rule, times, predicted_share, share),
        largest_gain=(len(pes) - 1 + share) / (len(pes) * share),
        kernels=tuple(_kernels(host, scenario)),
        notes=(*_neighbours(host, scenario), *_attained(pieces)),
    )


def _kernels(host: MeasuredHost, scenario: Scenario) -> Iterator[KernelSpeeds]:
    """One for the PE of each kind of core that was measured by itself, with every point."""
    n, names = int(scenario.application.parameters["n"]), {pe.cpu: pe.name for pe in scenario.platform.pes}
    for kind, cpu in one_of_each_kind(host.about).items():
        points = host.others.get(kind, host.speed)["points"]
        yield KernelSpeeds(KERNEL, names[cpu], tuple(_point(point, n) for point in points))


def _point(point: Mapping[str, Any], n: int) -> SpeedPoint:
    size = float(point["size_elements"])
    none, one = (matmul.problem_size(n, rows) for rows in (0, 1))
    found = Measurement.of_times(size, point["volume"], point["cpu_s"], point["wall_s"], point["cost_s"])
    cut, rows = found.cut(), round((size - none) / (one - none))
    return SpeedPoint(rows, size, Speed(cut.low, cut.mid, cut.high), found.interval_percent, found.stable)


def _warnings(answer: Answer) -> list[str]:
    """What the reader must know before believing a figure; figures mark points that are not stable."""
    host, found = answer.measured.hosts[0], list[str]()
    if len(answer.scenario.platform.pes) == 1:
        found.append("this machine has one PE for us: every partition is the same, and no gain can be shown")
    for one in (host.speed, *host.others.values()):
        found += [line for line in one["warnings"] if not line.startswith("shape: ") and ": unstable: " not in line]
    return found


def _attained(pieces: Sequence[Piece]) -> list[str]:
    """What real pieces of the application said of speeds."""
    off = [f"{one.pe} {wording.signed_percent(one.difference_percent)}" for one in pieces]
    said = f"Real pieces of the application attained more (+) or less than the band says: {', '.join(off)}."
    return [said] if off else []


def _neighbours(host: MeasuredHost, scenario: Scenario) -> list[str]:
    """What PEs were seen to lose to each other, or up to which loss none was seen."""
    if host.neighbours is None:
        why = "; ".join(host.notes) or "one PE has no neighbour"
        return [f"What PEs lose to each other was not measured: {why}."]
    model, pes = NeighboursModel.of(host.neighbours, "neighbours"), len(scenario.platform.pes)
    if not model.domains:
        beyond = ", ".join(f"{level} {100 * most:.1f} %" for level, most in model.beyond.items() if most is not None)
        return [f"No PE was seen to slow another down by more than can be measured here: {beyond}."] if beyond else []
    n = int(scenario.application.parameters["n"])
    known = KERNEL in model.kernels
    kept = model.together_share(KERNEL, matmul.problem_size(n, n // pes), pes) if known else None
    names = ", ".join(sorted({domain.kind for domain in model.domains}))
    return [
        f"PEs slow each other down ({names}): {KERNEL} on all of them keeps {wording.percent(kept, 1)} of its speed."
    ]
