"""The loop in small, on this machine: measure, model, simulate, advise, verify, report."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from advisor.recommendation import Recommendation, mean_shares, recommend
from advisor.report import render_html
from advisor.verification import Verification, verify_matmul
from simulator import (
    PE,
    Application,
    Interrupted,
    LinkModel,
    Load,
    LoadTrace,
    Machine,
    Platform,
    Scenario,
    dump_scenario,
    files,
    matmul,
    provenance,
    randomness,
    read_trace,
    require_linux,
    run,
    this_machine,
)
from simulator.calibration import Competitor, Measurement, Point, Ranks, bands, measure_link, measure_speeds

KERNEL = "dgemm"
"""What the application computes with."""
REPLICATIONS = 200
MOST_PES = 8
MEASURE, LINK, VERIFY = 0.36, 0.05, 0.45
"""Shares of the budget; what is left goes to starting, simulating and reporting."""
PAIRED_REPETITIONS = 6
"""Real runs of each configuration that the application's size is chosen for."""
MEMORY_SHARE = 0.25
"""Most of the available memory that anything here uses."""
SAMPLE_S = 0.15
"""About how long one run of a kernel may take at a large size: then it gets fewer rows."""
BUSY_SHARE = 0.9
"""Below this share of an idle PE, somebody else's load takes part in every figure."""
TRACE = "on-off-1-2.csv"
OWN_FILES = ("measurements.json", "scenario.yaml", "load.csv", "result.json", "report.html")

Progress = Callable[[str, float], None]
"""Called with a stage and the share of the whole that is done."""


@dataclass
class Quickstart:
    """What a quickstart knows so far; kept on disk as it grows, so that an interruption loses nothing."""

    folder: Path
    budget_s: float
    seed: int
    machine: Machine
    trace: LoadTrace
    on_progress: Progress
    begun: float = field(default_factory=time.monotonic)
    seconds: dict[str, float] = field(default_factory=dict)
    measured: list[Measurement] = field(default_factory=list)
    link: LinkModel | None = None
    benchmark_speeds: list[float] = field(default_factory=list)
    verification: Verification | None = None

    @property
    def cpus(self) -> list[int]:
        """The processors that serve as PEs; background load runs beside the last."""
        return [core.cpu for core in self.machine.cores[: min(MOST_PES, self.machine.pe_count)]]

    @property
    def names(self) -> list[str]:
        """Name of each PE."""
        return [f"core{cpu}" for cpu in self.cpus]

    def save(self) -> None:
        """Write everything measured so far."""
        document = {
            "format": 1,
            "kernels": kernels_document(self.measured),
            "link": None if self.link is None else self.link.to_dict(),
            "benchmark_speeds": self.benchmark_speeds,
            "verification": {name: times.tolist() for name, times in self.verification.measured_s.items()}
            if self.verification
            else {},
            "provenance": provenance.provenance(seed=self.seed, machine=self.machine),
        }
        files.write_json(self.folder / "measurements.json", document)

    def stage(self, name: str) -> "Stage":
        """Time a stage."""
        return Stage(self, name)


@dataclass
class Stage:
    """A part of the whole, timed."""

    owner: Quickstart
    name: str
    start: float = 0.0

    def __enter__(self) -> None:
        self.start = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.owner.seconds[self.name] = round(time.monotonic() - self.start, 3)


def quickstart(folder: Path, *, budget_s: float, seed: int, on_progress: Progress) -> dict[str, Any]:
    """Run the whole loop on this machine and leave report, scenario and all measurements in a folder.

    Parameters
    ----------
    folder
        Made if it is not there; earlier results in it are set aside.
    budget_s
        About how long it may take, in seconds.
    seed
        For the order of measurements and all draws.
    on_progress
        See `Progress`.

    Returns
    -------
    dict
        The document that `--json` prints and the report shows.

    Raises
    ------
    ApportionError
        If the folder cannot be written.
    Interrupted
        On Ctrl-C, naming what was kept.
    """
    require_linux()
    files.make_folder(folder)
    trace_file = files.shipped("traces", TRACE)
    trace = read_trace(trace_file)
    files.set_aside(folder, OWN_FILES)
    state = Quickstart(folder, budget_s, seed, this_machine(), trace, on_progress)
    try:
        with ExitStack() as stack:
            ranks = stack.enter_context(Ranks(state.cpus))
            competitor = stack.enter_context(Competitor(state.cpus[-1], trace))
            return _loop(state, ranks, competitor)
    except KeyboardInterrupt:
        kept = folder / "measurements.json"
        said = f"what was measured is kept in {kept}" if kept.exists() else "nothing had been measured yet"
        raise Interrupted(f"interrupted: {said}") from None


def _loop(state: Quickstart, ranks: Ranks, competitor: Competitor) -> dict[str, Any]:
    with state.stage("measure"):
        n = _measure(state, ranks, competitor)
    with state.stage("simulate"):
        state.on_progress("simulate", MEASURE + LINK)
        scenario = _scenario(state, n)
        recommendation = recommend(scenario, benchmark_speeds=state.benchmark_speeds)
        scenario = scenario.with_configurations(recommendation.candidates)
        files.write_bytes(state.folder / "load.csv", files.read_bytes(files.shipped("traces", TRACE)))
        traces = {pe.name: "load.csv" for pe in scenario.platform.pes if pe.load is not None}
        files.write_text(state.folder / "scenario.yaml", dump_scenario(scenario, traces=traces))
    with state.stage("verify"):
        _verify(state, ranks, competitor, recommendation)
    state.on_progress("report", 0.97)
    return _document(state, scenario, recommendation)


def _measure(state: Quickstart, ranks: Ranks, competitor: Competitor) -> int:
    """Measure speeds and messages; returns the order of the application's matrices."""

    def keep(measured: list[Measurement], share: float) -> None:
        state.measured = measured
        state.save()
        state.on_progress("measure speeds", MEASURE * min(1.0, share))

    state.on_progress("measure speeds", 0.0)
    generator = randomness.stream(state.seed, "order of measurements")
    speeds = {}
    for kernel in (KERNEL, "matmul"):
        ranks.prepare(kernel, 256, 256)
        seconds = [usage.wall_s for _ in range(3) for usage in ranks.measure(kernel, 256, 256, inner=4)]
        speeds[kernel] = 4 * matmul.volume(256, 256) / float(np.median(seconds))
    n = application_order(state, speeds[KERNEL])
    points = measuring_points(state.machine, len(state.cpus), n, speeds)
    budget_s = MEASURE * state.budget_s - (time.monotonic() - state.begun)
    measure_speeds(ranks, state.names, points, budget_s=budget_s, generator=generator, on_progress=keep)
    state.on_progress("measure messages", MEASURE)
    with competitor.replay(0.0):  # messages and the small benchmark as one meets them: with the load on
        if len(state.cpus) > 1:
            rounds = max(3, min(9, int(state.budget_s * LINK / 0.35)))
            state.link = measure_link(ranks, rounds=rounds, generator=generator)
        else:
            state.link = LinkModel.from_latency(1e-6, 1e9)  # one process: no message is ever sent
        state.benchmark_speeds = _small_benchmark(ranks, len(state.cpus))
    state.save()
    return n


def application_order(state: Quickstart, speed: float) -> int:
    """The order n for which real runs of all repetitions fit the budget and the memory."""
    pes, share = len(state.cpus), float(np.mean(1 / (1 + state.trace.values)))
    overhead_s = 0.4  # of one pair of runs: distributing, checking, switching the load
    equal_s = max(0.15, (VERIFY * state.budget_s / (PAIRED_REPETITIONS + 1) - overhead_s) / 1.6)
    in_time = (equal_s * pes * speed * share / 2) ** (1 / 3)
    matrices = 3 + 2 + 3 * (pes + 2)  # A, B and C; room for the check; B and parts of A and C in every rank
    in_memory = (MEMORY_SHARE * state.machine.memory_available_bytes / 8 / matrices) ** 0.5
    return max(64 * pes, int(min(in_time, in_memory)) // 8 * 8)


def measuring_points(machine: Machine, pes: int, n: int, speeds: dict[str, float]) -> list[Point]:
    """Sizes of both kernels, from cache-resident to well past the last-level cache, and the application's own shape.

    Parameters
    ----------
    machine, pes
        For the caches and the memory, and how many PEs measure at once.
    n
        Order of the application's matrices.
    speeds
        A first idea of each kernel's speed; large sizes get as few rows as fit the time for one run.
    """
    past_cache = (2.5 * max(machine.last_level_cache_bytes, 2**25) / 8) ** 0.5
    in_memory = (MEMORY_SHARE * machine.memory_available_bytes / 8 / 4 / pes) ** 0.5
    largest = int(min(past_cache, in_memory)) // 8 * 8
    points = []
    for kernel, slowdown in ((KERNEL, 1.0), ("matmul", 4.0)):  # the textbook loops slow down past the caches
        orders = {64, 128, 256, 512, 1024, largest} | ({n} if kernel == KERNEL else set())
        for order in sorted(order for order in orders if order <= max(largest, n)):
            rows = int(SAMPLE_S * speeds[kernel] / slowdown / (2 * order * order))
            points.append(Point(kernel, order, max(8, min(order, rows))))
    return points


def _small_benchmark(ranks: Ranks, pes: int) -> list[float]:
    """What a hurried user would measure: one short run on each PE, in wall seconds."""
    n = 256
    ranks.prepare(KERNEL, n, n)
    seconds = [ranks.measure(KERNEL, n, n, inner=1, ranks=[rank])[0].wall_s for rank in range(pes)]
    ranks.forget()
    return [matmul.volume(n, n) / wall_s for wall_s in seconds]


def _scenario(state: Quickstart, n: int) -> Scenario:
    """The models as a platform of unequal PEs, and the application on it."""
    found = bands(state.measured)
    kernels = dict.fromkeys(measurement.point.kernel for measurement in state.measured)
    pes = tuple(
        PE(
            name,
            state.machine.host or "this machine",
            {kernel: found[name, kernel] for kernel in kernels},
            Load(state.trace, "fair") if cpu == state.cpus[-1] else None,
            cpu,
        )
        for name, cpu in zip(state.names, state.cpus, strict=True)
    )
    if state.link is None:
        raise ValueError("the link has not been measured")
    application = Application("matmul", KERNEL, {"n": n})
    return Scenario(Platform(pes, state.link), application, (), REPLICATIONS, state.seed)


def _verify(state: Quickstart, ranks: Ranks, competitor: Competitor, recommendation: Recommendation) -> None:
    def keep(verification: Verification, share: float) -> None:
        state.verification = verification
        state.save()
        state.on_progress("verify", MEASURE + LINK + 0.05 + VERIFY * min(1.0, share))

    equal = next(candidate for candidate in recommendation.candidates if candidate.name == "equal")
    configurations = list(dict.fromkeys((equal, recommendation.configuration)))
    left_s = state.budget_s * 0.97 - (time.monotonic() - state.begun)
    state.on_progress("verify", MEASURE + LINK + 0.05)
    state.verification = verify_matmul(
        ranks,
        competitor,
        KERNEL,
        configurations,
        budget_s=max(left_s, VERIFY * state.budget_s / 2),
        load_starts_s=lambda r: randomness.stream(state.seed, "verify", r).random() * state.trace.end_s,
        on_progress=keep,
    )


def kernels_document(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One entry per kernel and PE, with every point and all its samples."""
    keys = dict.fromkeys((m.point.kernel, m.pe) for m in measured)
    return [
        {
            "name": kernel,
            "pe": pe,
            "points": [m.to_dict() for m in measured if (m.point.kernel, m.pe) == (kernel, pe)],
        }
        for kernel, pe in keys
    ]


def _warnings(state: Quickstart, share: float, predicted_share: float) -> list[str]:
    """What the reader must know before believing a figure."""
    found = []
    if len(state.cpus) == 1:
        found.append("this machine has one PE for us: every partition is the same, and no gain can be shown")
    for name in state.names:
        samples = [m for m in state.measured if m.pe == name]
        got = sum(m.cpu_s.sum() for m in samples) / sum(m.wall_s.sum() for m in samples)
        if got < BUSY_SHARE:
            found.append(
                f"{name} was busy with other work: only {got:.0%} of it was left; stop other programs and repeat"
            )
    for m in state.measured:
        if not m.stable:
            known = (
                f"to {100 * m.half_interval:.1f} % only" if np.isfinite(m.half_interval) else "from too few runs only"
            )
            size = f"{m.point.kernel} on {m.pe} at n = {m.point.n}"
            found.append(f"{size}: the median is known {known}; stop other programs or raise --budget")
    if abs(share / predicted_share - 1) > 0.15:
        found.append(f"the load left {share:.0%} of {state.names[-1]}, not the {predicted_share:.0%} that was assumed")
    return found


def _document(state: Quickstart, scenario: Scenario, recommendation: Recommendation) -> dict[str, Any]:
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
    state.seconds["total"] = round(time.monotonic() - state.begun, 3)
    document = {
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
        "link": scenario.platform.link.to_dict(),
        "application": {"name": "matmul", "kernel": KERNEL, "n": scenario.application.parameters["n"]},
        "baselines": recommendation.to_dict(),
        "recommended": best.name,
        "timeline": [
            {
                "process": entry.process,
                "pe": entry.pe,
                "operation": entry.operation,
                "start_s": entry.start_ticks * logged.tick_s,
                "end_s": entry.end_ticks * logged.tick_s,
            }
            for entry in logged.logs[0, 0]
        ],
        "verification": verified,
        "available_share": share,
        "measured_gain": medians["equal"] / medians[best.name],
        "largest_gain": (pes - 1 + share) / (pes * share),
        "seconds": state.seconds,
        "provenance": provenance.provenance(seed=state.seed, machine=state.machine, inputs=inputs),
        "report": str(report),
        "scenario": str((state.folder / "scenario.yaml").resolve()),
    }
    files.write_text(report, render_html(document))
    files.write_json(state.folder / "result.json", document)
    return document


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
