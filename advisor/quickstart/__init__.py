"""The loop in small, on this machine: a cluster of one host, beside a load of ours; then real runs and a report."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from advisor.advise.recommendation import Recommendation
from advisor.cluster import Answer, ClusterWish, advise_cluster, this_host
from advisor.cluster.answer import Ran, result_of
from advisor.cluster.real_runs import RealPieces, cluster_runs, configuration_now
from advisor.report.cluster import ClusterResult, KernelSpeeds, MeasuredLoad, Speed, SpeedPoint, Trace, cluster_page
from advisor.report.html import render_page
from advisor.results import Provenance
from advisor.verification.check import verified_of
from advisor.verification.interleaved import Loads, Verification, even_starts, run_interleaved
from advisor.verification.residuals import bias_of, residuals
from simulator import (
    Configuration,
    Interrupted,
    Load,
    LoadTrace,
    Machine,
    Scenario,
    availability,
    documents,
    dump_scenario,
    files,
    gpus,
    matmul,
    partitions,
    randomness,
    read_trace,
    require_linux,
    some_names,
)
from simulator.calibration import (
    About,
    Competitor,
    Host,
    MeasuredCluster,
    MeasuredHost,
    Measurement,
    first_speed,
    keep_calibration,
    learnt_drift,
    measure_cluster,
    one_of_each_kind,
    widening,
)

MEASURE, PIECES, VERIFY = 0.38, 0.16, 0.42
"""Shares of the budget: measuring, short real pieces, real runs; the rest is for starting processes and simulating."""
PAIRED_REPETITIONS = 7
"""Real runs of each configuration that the application's size is chosen for."""
UNEQUAL = 1.6
"""What the equal and the advised split take together, over the equal one alone, where the load is ours."""
OVERHEAD_S = 0.4
"""Seconds of one pair of runs besides them: distributing, checking, switching the load."""
LEAST_EQUAL_S = 0.15
"""Shortest real run under the equal split, in seconds: below, starting together would show."""
COPIED_BYTES_PER_S = 2e9
"""What the first PE hands to others, carefully: what a memory copies at once is several times as much."""
MEMORY_SHARE = 0.25
"""Most of the available memory that anything here uses."""
MANY_PES = 8
"""PEs from which on the search ends so that real runs have half of their time: of fewer it takes a few seconds."""
ALIGNED = 64
"""The order of the matrices is a multiple of it, so that quickstarts of one machine can be compared."""
TRACE = "on-off-1-2.csv"
MEASUREMENTS = "measurements"
"""The folder of all that was measured, as `cluster` leaves it."""
OWN_FILES = (MEASUREMENTS, "measurements.json", "scenario.yaml", "load.csv", "result.json", "report.html")
Progress = Callable[[str, float], None]
"""Called with a stage and the share of the whole that is done."""
KERNEL = "dgemm"
"""What the application computes with."""
MOST_OFF = 0.15
"""By which share what a load leaves may be other than assumed until that is said."""


@dataclass
class Quickstart:
    """What is asked for, and how far it is."""

    folder: Path
    budget_s: float
    seed: int
    trace: LoadTrace
    on_progress: Progress
    begun: float = field(default_factory=time.monotonic)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def kept(self) -> Path:
        """Where measurements are."""
        return self.folder / MEASUREMENTS

    @property
    def spent_s(self) -> float:
        """Since it began."""
        return time.monotonic() - self.begun

    def tell(self, stage: str) -> None:
        """Say what is done now."""
        self.on_progress(stage, min(0.97, self.spent_s / self.budget_s))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        start = time.monotonic()
        self.tell(name)
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - start, 3)


def quickstart(folder: Path, *, budget_s: float, seed: int, on_progress: Progress) -> ClusterResult:
    """Run the whole loop on this machine and leave report, scenario and all measurements in a folder.

    `folder`: made if it is not there; earlier results in it are set aside.
    `budget_s`: about how long it may take, in seconds.
    `seed`: for the order of measurements and all draws.
    """
    require_linux()
    files.make_folder(folder)
    with files.alone(folder):
        files.set_aside(folder, OWN_FILES)
        state = Quickstart(folder, budget_s, seed, read_trace(files.shipped("traces", TRACE)), on_progress)
        files.make_folder(state.kept)
        try:
            with this_host() as (host, about):
                known = about[host.name]
                with Competitor(known.machine.pe_cpus[-1], state.trace) as competitor:
                    return _loop(state, host, known, competitor)
        except KeyboardInterrupt:
            kept = f"what was measured is kept in {state.kept}"
            said = kept if any(state.kept.glob("*.jsonl")) else "nothing had been measured yet"
            raise Interrupted(f"interrupted: {said}") from None


def _loop(state: Quickstart, host: Host, about: About, competitor: Competitor) -> ClusterResult:
    with state.stage("measure"):
        speed = first_speed(host, about, KERNEL)
        wish = wish_of(about.machine, budget_s=state.budget_s, seed=state.seed, speed=speed, trace=state.trace)
        measured = _measured(state, wish, host, about, competitor)
    with state.stage("simulate"):
        pieces = RealPieces(wish, {host.name: about}, [host], state.kept)

        def check(*asked: Any) -> tuple[Scenario, list[str]]:
            with state.stage("short real pieces"):
                return pieces.correct(*asked)

        loaded = partial(with_competitor, trace=state.trace)
        many = about.machine.pe_count > MANY_PES
        ends_s = state.begun + (1 - VERIFY / 2) * state.budget_s if many else None
        answer = advise_cluster(wish, measured, state.kept, check=check, loaded=loaded, ends_s=ends_s)
        scenario = answer.scenario.with_configurations(answer.recommendation.candidates)
        last = scenario.platform.pes[-1]
        traces = {last.name: "load.csv"} if last.load is not None and last.load.rule == "fair" else {}
        files.write_bytes(state.folder / "load.csv", files.read_bytes(files.shipped("traces", TRACE)))
        files.write_text(state.folder / "scenario.yaml", dump_scenario(scenario, traces=traces))
    with state.stage("verify"):
        verification = _verified(state, answer, host, about, competitor)
    return _written(state, replace(answer, scenario=scenario), verification)


def _written(state: Quickstart, answer: Answer, verification: Verification) -> ClusterResult:
    """The result and its page."""
    state.on_progress("report", 0.97)
    inputs = {name: files.digest_of(state.folder / name) for name in ("load.csv", "scenario.yaml")}
    machine = answer.measured.hosts[0].about.machine
    result = result_of(
        *(answer, state.folder.resolve(), seen(answer, verification, state.trace)),
        budget_s=state.budget_s,
        seconds=state.seconds | {"total": round(state.spent_s, 3)},
        line="",
        exports=(),
        provenance=Provenance.of(answer.scenario.seed, inputs, machine),
    )
    files.write_json(state.folder / "result.json", documents.to_dict(result))
    files.write_text(state.folder / "report.html", render_page(cluster_page(result)))
    return result


def _measured(
    state: Quickstart, wish: ClusterWish, host: Host, about: About, competitor: Competitor
) -> MeasuredCluster:
    """Measure this machine as a host of a cluster; its doubt learnt from earlier quickstarts here."""
    subject = {"model": "speed", "kernel": KERNEL, "quickstart": True, "columns": wish.application.parameters["n"]}
    plan = replace(wish.plan, drift=learnt_drift(subject).sd, learnt=widening(KERNEL))
    generator = randomness.stream(state.seed, "messages")
    measured = measure_cluster(
        [host],
        {host.name: about},
        plan,
        folder=state.kept,
        lost={},
        on_progress=lambda _, stage, __: state.tell(f"measure {stage}"),
        # messages as the application meets them: with the load on, at any place of its trace
        beside=lambda: competitor.replay(generator.random() * state.trace.end_s),
    )
    points = sorted(measured.hosts[0].speed["points"], key=lambda point: float(point["size_elements"]))
    speeds = {point["size_elements"]: point["speed"]["mid"] for point in points}
    keep_calibration(subject, list(speeds), list(speeds.values()))
    return measured


def _verified(state: Quickstart, answer: Answer, host: Host, about: About, competitor: Competitor) -> Verification:
    """The equal split and the advised one really run in turns beside the load."""

    def keep(verification: Verification, _share: float) -> None:
        times = {name: found.tolist() for name, found in verification.measured_s.items()}
        files.write_json(state.kept / "runs.json", times)
        state.tell("verify")

    made = answer.recommendation
    start_s = even_starts(
        state.trace,
        window_s=float(np.median(made.runs.makespan_s)),
        number=0,
        generator=randomness.stream(state.seed, "verify"),
    )
    budget_s = max(0.97 * state.budget_s - state.spent_s, VERIFY / 2 * state.budget_s)
    with cluster_runs(answer.scenario, {host.name: about}, (), [host], budget_s=budget_s) as runs:
        loads = Loads((competitor,), lambda _, repetition: start_s(repetition))
        return run_interleaved(runs, loads, compared(made), budget_s=budget_s, on_progress=keep)


def compared(made: Recommendation) -> list[Configuration]:
    """The configurations that really run: equal units, and what is advised."""
    return list(dict.fromkeys((configuration_now(made), made.configuration)))


def wish_of(machine: Machine, *, budget_s: float, seed: int, speed: float, trace: LoadTrace) -> ClusterWish:
    """What is measured and advised, so that it fits the budget of a whole quickstart.

    `speed`: a first idea of the kernel's on one PE, in operations per second.
    `trace`: load on the last PE.
    """
    order = application_order(machine, budget_s=budget_s, speed=speed, trace=trace)
    share = MEASURE + PIECES
    wish = ClusterWish(KERNEL, parameters={"n": order}, budget_s=share * budget_s, seed=seed, pieces=PIECES / share)
    return replace(wish, advice=0.0)  # the search has seconds beside this budget


def application_order(machine: Machine, *, budget_s: float, speed: float, trace: LoadTrace) -> int:
    """The order n of the matrices for which real runs of all repetitions fit the budget and the memory."""
    pes, left = machine.pe_count, float(np.mean(availability(trace.values, "fair")))
    equal_s = max(LEAST_EQUAL_S, (VERIFY * budget_s / (PAIRED_REPETITIONS + 1) - OVERHEAD_S) / UNEQUAL)
    matrices = 3 + 2 + 3 * (pes + 2)  # A, B and C; room for the check; B and parts of A and C in every rank
    in_memory = (MEMORY_SHARE * machine.memory_available_bytes / 8 / matrices) ** 0.5
    order = int(min((equal_s * pes * speed * left / 2) ** (1 / 3), in_memory)) // ALIGNED * ALIGNED
    while order > ALIGNED * pes and _equal_s(order, pes, speed * left) > equal_s:
        order -= ALIGNED
    return max(ALIGNED * pes, order)


def _equal_s(order: int, pes: int, speed: float) -> float:
    """About what a run under the equal split takes: its computation, and B, which each other PE gets."""
    return 2 * order**3 / (pes * speed) + 8 * order**2 * (pes - 1) / COPIED_BYTES_PER_S


def with_competitor(scenario: Scenario, trace: LoadTrace) -> Scenario:
    """The scenario with the competitor's load on the last PE: on top of what others leave of it, if they take some."""
    *before, last = scenario.platform.pes
    load = Load(trace, "fair")
    if last.load is not None:
        load = Load(left_beside(last.load.trace, trace), "given", recorded=True)
    platform = replace(scenario.platform, pes=(*before, replace(last, load=load)))
    return replace(scenario, platform=platform)


def left_beside(left: LoadTrace, trace: LoadTrace) -> LoadTrace:
    """What is left of a PE, times what a load leaves of that, over the time of the load's trace."""
    turns = np.arange(ceil(trace.end_s / left.end_s)) * left.end_s
    times = np.union1d(trace.times_s, np.add.outer(turns, left.times_s).ravel())
    times = times[times < trace.end_s]
    others = left.values[np.searchsorted(left.times_s, times % left.end_s, side="right") - 1]
    ours = trace.values[np.searchsorted(trace.times_s, times, side="right") - 1]
    return LoadTrace(times, others * availability(ours, "fair"), trace.end_s)


def seen(answer: Answer, verification: Verification, trace: LoadTrace) -> Ran:
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
    if names := [f"gpu{gpu.number}" for gpu in gpus()]:
        found.append(
            f"{some_names(names)}: only cores are measured here; `apportion calibrate machine` says how GPUs become PEs"
        )
    for one in (host.speed, *host.others.values()):
        found += [line for line in one["warnings"] if not line.startswith("shape: ") and ": unstable: " not in line]
    return found
