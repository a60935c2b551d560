"""The loop in small, on this machine: measure, model, simulate, advise, verify, report."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from advisor.advise.recommendation import Recommendation, mean_shares, recommend
from advisor.quickstart.state import Progress, Quickstart, kernels_document, run_pieces
from advisor.report.html import render_page
from advisor.report.quickstart import QuickstartResult, quickstart_page
from advisor.report.timelines import median_replication, timelines
from advisor.verification import (
    Bias,
    Loads,
    ProgramRuns,
    Verification,
    bias_of,
    even_starts,
    places_on,
    residuals,
    run_interleaved,
)
from simulator import (
    PE,
    Application,
    Configuration,
    Interrupted,
    LinkModel,
    Load,
    LoadTrace,
    Machine,
    Node,
    Platform,
    Scenario,
    ScenarioError,
    SpeedBand,
    SpeedSurface,
    availability,
    documents,
    dump_scenario,
    files,
    matmul,
    partitions,
    provenance,
    randomness,
    read_trace,
    require_linux,
    run,
    shares_of,
    this_machine,
)
from simulator.calibration import (
    Competitor,
    Measurement,
    NeighboursModel,
    Point,
    Ranks,
    keep_calibration,
    learnt_drift,
    measure_link,
    measure_neighbours,
    measure_speeds,
    measured_bands,
    widening,
)

REPLICATIONS = 200
MEASURE, SPEEDS, LINK = 0.42, 0.29, 0.05
"""Shares of the budget, apart from real runs: all measuring but of messages, of it speeds, and messages."""
NEIGHBOURS, LEAST_NEIGHBOURS_S = 0.1, 6.0
"""Share of the budget for what PEs lose to each other, and the seconds that it takes at least."""
TRACE = "on-off-1-2.csv"
OWN_FILES = ("measurements.json", "scenario.yaml", "load.csv", "result.json", "report.html")


def quickstart(folder: Path, *, budget_s: float, seed: int, on_progress: Progress) -> dict[str, Any]:
    """Run the whole loop on this machine and leave report, scenario and all measurements in a folder.

    Raises ApportionError if the folder cannot be written; Interrupted on Ctrl-C, naming what was kept.

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
    """
    require_linux()
    files.make_folder(folder)
    with files.alone(folder):
        return _begun(folder, budget_s=budget_s, seed=seed, on_progress=on_progress)


def _begun(folder: Path, *, budget_s: float, seed: int, on_progress: Progress) -> dict[str, Any]:
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
        _check_by_a_piece(state, ranks, n)
        _keep_speeds(state, n)
    with state.stage("simulate"):
        state.on_progress("simulate", MEASURE + LINK)
        scenario = _scenario(state, n)
        recommendation = recommend(scenario, benchmark_speeds=state.benchmark_speeds)
        scenario = scenario.with_configurations(recommendation.candidates)
        files.write_bytes(state.folder / "load.csv", files.read_bytes(files.shipped("traces", TRACE)))
        traces = {pe.name: "load.csv" for pe in scenario.platform.pes if pe.load is not None}
        files.write_text(state.folder / "scenario.yaml", dump_scenario(scenario, traces=traces))
    with state.stage("verify"):
        _verify(state, scenario, recommendation, (ranks, competitor))
    state.on_progress("report", 0.97)
    document = result_document(state, scenario, recommendation)
    files.write_json(state.folder / "result.json", document)
    files.write_text(
        Path(document["report"]), render_page(quickstart_page(documents.from_dict(QuickstartResult, document)))
    )
    return document


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
    n = application_order(
        state.machine, len(state.cpus), budget_s=state.budget_s, speed=speeds[KERNEL], trace=state.trace
    )
    points = measuring_points(state.machine, len(state.cpus), n, speeds=speeds, budget_s=state.budget_s)
    budget_s = SPEEDS * state.budget_s - (time.monotonic() - state.begun)
    measure_speeds(ranks, state.names, points, budget_s=budget_s, generator=generator, on_progress=keep)
    state.on_progress("measure neighbours", MEASURE)
    state.neighbours, state.no_neighbours = measure_domains(state.cpus, budget_s=state.budget_s, seed=state.seed)
    state.on_progress("measure messages", MEASURE)
    # messages and the small benchmark as one meets them: with the load on, at any place of its trace
    if len(state.cpus) > 1:
        rounds = max(3, min(15, int(state.budget_s * LINK / 0.25)))
        state.link = measure_link(
            ranks,
            rounds=rounds,
            generator=generator,
            around=lambda: competitor.replay(generator.random() * state.trace.end_s),
        )
    else:
        state.link = LinkModel.from_latency(1e-6, 1e9)  # one process: no message is ever sent
    with competitor.replay(0.0):
        state.benchmark_speeds = _small_benchmark(ranks, len(state.cpus))
    state.save()
    return n


def _small_benchmark(ranks: Ranks, pes: int) -> list[float]:
    """What a hurried user would measure: one short run on each PE, in wall seconds."""
    n = 256
    ranks.prepare(KERNEL, n, n)
    seconds = [ranks.measure(KERNEL, n, n, inner=1, ranks=[rank])[0].wall_s for rank in range(pes)]
    ranks.forget()
    return [matmul.volume(n, n) / wall_s for wall_s in seconds]


def _check_by_a_piece(state: Quickstart, ranks: Ranks, n: int) -> None:
    """Compare measured speeds with what the application itself attains, and keep the comparison."""
    scenario, found = _scenario(state, n), measured_bands(state.measured, columns={KERNEL: n})
    bands = {name: found[name, KERNEL] for name in state.names}  # of all PEs at work, as in the piece
    runs = ProgramRuns(ranks, scenario.application, places_on(state.machine, scenario)[0])
    equal = Configuration.one_each("equal", partitions.even_split(n, len(state.cpus)))
    state.pieces = run_pieces(runs, equal, bands, state.names)
    state.save()


def _subject(kernel: str, n: int) -> dict[str, Any]:
    """What speeds are compared by with those of earlier quickstarts on this machine."""
    return {"model": "speed", "kernel": kernel, "quickstart": True, "columns": n if kernel == KERNEL else None}


def _keep_speeds(state: Quickstart, n: int) -> None:
    """Keep the speeds of the first PE, so that later calibrations learn from them how far this machine drifts."""
    for kernel in (KERNEL, "matmul"):
        own = [m for m in state.measured if m.kernel == kernel and m.pe == state.names[0]]
        speeds = {m.size: m.cut().mid for m in sorted(own, key=lambda m: m.size)}
        if speeds:
            keep_calibration(_subject(kernel, n), list(speeds), list(speeds.values()))


def _scenario(state: Quickstart, n: int) -> Scenario:
    """The models as a platform of unequal PEs, and the application on it; speeds as real pieces correct them."""
    drifts = {kernel: learnt_drift(_subject(kernel, n)).sd for kernel in (KERNEL, "matmul")}
    learnt = {kernel: widening(kernel) for kernel in drifts}
    found = measured_bands(state.measured, columns={KERNEL: n}, drifts=drifts, learnt=learnt)
    for piece in state.pieces:
        found[piece.pe, KERNEL] = found[piece.pe, KERNEL].scaled(piece.ratio)
    for key, band in found.items():  # all PEs were at work; what that costs is in the domains
        found[key] = without_neighbours(band, state.neighbours, key[1], len(state.cpus))
    for name in state.names:
        found[name, KERNEL] = SpeedSurface((float(n),), (found[name, KERNEL],)).at(n)
    kernels = dict.fromkeys(measurement.kernel for measurement in state.measured)
    node = state.machine.host or "this machine"
    pes = tuple(
        PE(
            name,
            node,
            {kernel: found[name, kernel] for kernel in kernels},
            Load(state.trace, "fair") if cpu == state.cpus[-1] else None,
            cpu,
        )
        for name, cpu in zip(state.names, state.cpus, strict=True)
    )
    if state.link is None:
        raise ValueError("the link has not been measured")
    application = Application("matmul", KERNEL, {"n": n})
    platform = Platform.uniform(pes, state.link)
    if state.neighbours is not None and state.neighbours.sharing:
        uses = {kernel: uses for kernel, uses in state.neighbours.kernels.items() if kernel in kernels}
        sharing = tuple(replace(one, name=f"{one.name} of {node}") for one in state.neighbours.sharing)
        platform = Platform(pes, platform.network, (Node(node, uses=uses),), sharing)
    return Scenario(platform, application, (), REPLICATIONS, state.seed)


def _verify(
    state: Quickstart, scenario: Scenario, recommendation: Recommendation, running: tuple[Ranks, Competitor]
) -> None:
    def keep(verification: Verification, share: float) -> None:
        state.verification = verification
        state.save()
        state.on_progress("verify", MEASURE + LINK + 0.05 + VERIFY * min(1.0, share))

    ranks, competitor = running
    equal = next(candidate for candidate in recommendation.candidates if candidate.name == "equal")
    configurations = list(dict.fromkeys((equal, recommendation.configuration)))
    left_s = state.budget_s * 0.97 - (time.monotonic() - state.begun)
    state.on_progress("verify", MEASURE + LINK + 0.05)
    start_s = even_starts(
        state.trace,
        window_s=float(np.median(recommendation.runs.makespan_s)),
        number=0,
        generator=randomness.stream(state.seed, "verify"),
    )
    state.verification = run_interleaved(
        ProgramRuns(ranks, scenario.application, places_on(state.machine, scenario)[0]),
        Loads((competitor,), lambda _, repetition: start_s(repetition)),
        configurations,
        budget_s=max(left_s, VERIFY * state.budget_s / 2),
        on_progress=keep,
    )


# What the PEs of this machine lose to each other


def measure_domains(cpus: Sequence[int], *, budget_s: float, seed: int) -> tuple[NeighboursModel | None, str]:
    """What dgemm and streams lose to each other; or None, and why it is not known.

    Parameters
    ----------
    cpus
        Of the PEs.
    budget_s
        Of the whole quickstart, in seconds.
    """
    if len(cpus) < 2:
        return None, "one PE has no neighbour"
    if budget_s < SHORT_BUDGET_S:
        return None, f"a budget of {SHORT_BUDGET_S:g} s or more measures neighbours"
    try:
        return measure_neighbours(
            cpus, max(LEAST_NEIGHBOURS_S, NEIGHBOURS * budget_s), kernels=(KERNEL,), seed=seed
        ), ""
    except ScenarioError as fault:  # too little time on a slow machine: the rest of the loop needs none of it
        return None, str(fault)


def without_neighbours(band: SpeedBand, model: NeighboursModel | None, kernel: str, pes: int) -> SpeedBand:
    """The band of a PE alone, from one that was measured with a kernel at work on so many PEs at once."""
    if model is None or not model.sharing or kernel not in model.kernels:
        return band
    kept = np.array([model.together_share(kernel, float(size), pes) for size in band.sizes])
    return replace(band, low=band.low / kept, mid=band.mid / kept, high=band.high / kept)


# Which sizes a quickstart measures and runs, so that it fits its budget, the caches and the memory.


KERNEL = "dgemm"
"""What the application computes with."""
VERIFY = 0.45
"""Share of the budget for real runs of the application."""
PAIRED_REPETITIONS = 6
"""Real runs of each configuration that the application's size is chosen for."""
MEMORY_SHARE = 0.25
"""Most of the available memory that anything here uses."""
SAMPLE_S = 0.08
"""About how long one run of a kernel may take at a general size: then it gets fewer rows."""
ALIKE = 1.15
"""Panels whose rows are not so many times apart are measured once."""
SHORT_BUDGET_S = 30.0
"""Below it, fewer general sizes are measured."""
PANEL_SHARE = 0.013
"""Share of the budget that one run of the application's own panels may take: longer ones get fewer rows."""


def application_order(machine: Machine, pes: int, *, budget_s: float, speed: float, trace: LoadTrace) -> int:
    """The order n of the matrices for which real runs of all repetitions fit the budget and the memory.

    Parameters
    ----------
    machine, pes
        For the memory, and how many PEs take part.
    budget_s
        Of the whole quickstart, in seconds.
    speed
        A first idea of the kernel's, in operations per second.
    trace
        Load on the last PE.
    """
    share = float(np.mean(availability(trace.values, "fair")))
    overhead_s = 0.4  # of one pair of runs: distributing, checking, switching the load
    equal_s = max(0.15, (VERIFY * budget_s / (PAIRED_REPETITIONS + 1) - overhead_s) / 1.6)
    in_time = (equal_s * pes * speed * share / 2) ** (1 / 3)
    matrices = 3 + 2 + 3 * (pes + 2)  # A, B and C; room for the check; B and parts of A and C in every rank
    in_memory = (MEMORY_SHARE * machine.memory_available_bytes / 8 / matrices) ** 0.5
    return max(64 * pes, int(min(in_time, in_memory)) // 8 * 8)


def measuring_points(machine: Machine, pes: int, n: int, *, speeds: dict[str, float], budget_s: float) -> list[Point]:
    """The application's own panels, and general sizes of both kernels from cache-resident to past the last-level cache.

    Parameters
    ----------
    machine, pes
        For the caches and the memory, and how many PEs measure at once.
    n
        Order of the application's matrices.
    speeds
        By kernel, a first idea of its speed; large sizes get as few rows as fit the time for one run.
    budget_s
        Of the whole quickstart, in seconds; a short one measures fewer sizes.
    """
    past_cache = (2.5 * max(machine.last_level_cache_bytes, 2**25) / 8) ** 0.5
    in_memory = (MEMORY_SHARE * machine.memory_available_bytes / 8 / 4 / pes) ** 0.5
    largest = int(min(past_cache, in_memory)) // 8 * 8
    points = [Point(KERNEL, n, rows) for rows in panel_rows(n, pes, speed=speeds[KERNEL], budget_s=budget_s)]
    for kernel, slowdown in ((KERNEL, 1.0), ("matmul", 4.0)):  # the textbook loops slow down past the caches
        inner = {64, 1024} if budget_s < SHORT_BUDGET_S else {64, 256, 1024}
        for order in sorted(order for order in inner | {largest} if order <= max(largest, n)):
            rows = int(SAMPLE_S * speeds[kernel] / slowdown / (2 * order * order))
            if kernel != KERNEL or order != n:
                points.append(Point(kernel, order, max(8, min(order, rows))))
    return points


def panel_rows(n: int, pes: int, *, speed: float, budget_s: float) -> list[int]:
    """Rows of the application's panels that are measured: what equal and advised splits use, and what is about them.

    Parameters
    ----------
    n, pes
        Order of the matrices, and how many PEs take part.
    speed
        A first idea of the kernel's, in operations per second.
    budget_s
        Of the whole quickstart, in seconds: no panel takes more than `PANEL_SHARE` of it.
    """
    wanted = (n / (8 * pes), n / (2 * pes), n / pes, n / pes**0.5, n)
    most = max(8, int(PANEL_SHARE * budget_s * speed / (2 * n * n)))
    found = sorted({max(1, min(int(rows), most, n)) for rows in wanted})
    return [rows for rows, more in zip(found, [*found[1:], found[-1] * 9], strict=True) if more > ALIKE * rows]


# The result of a quickstart as one JSON document: what `--json` prints and the report shows.


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
    equal = next(one for one in recommendation.candidates if one.name == "equal")
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
        "baselines": documents.to_dict(recommendation.compared.baselines),
        "expected_loss": recommendation.expected_loss,
        "shares": documents.to_dict(shares_of(scenario, equal, best)),
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
