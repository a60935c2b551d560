"""The loop in small, on this machine: measure, model, simulate, advise, verify, report."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from advisor.advise.partition import even_split
from advisor.advise.recommendation import Recommendation, recommend
from advisor.quickstart.document import result_document
from advisor.quickstart.piece import corrected, run_pieces
from advisor.quickstart.plan import KERNEL, SHORT_BUDGET_S, VERIFY, application_order, measuring_points
from advisor.quickstart.state import Progress, Quickstart
from advisor.report.html import render_page
from advisor.report.quickstart import QuickstartResult, quickstart_page
from advisor.verification import Loads, ProgramRuns, Verification, even_starts, places_on, run_interleaved
from simulator import (
    PE,
    Application,
    Configuration,
    Interrupted,
    LinkModel,
    Load,
    Node,
    Platform,
    Scenario,
    ScenarioError,
    SpeedBand,
    SpeedSurface,
    documents,
    dump_scenario,
    files,
    matmul,
    randomness,
    read_trace,
    require_linux,
    this_machine,
)
from simulator.calibration import (
    Competitor,
    Measurement,
    NeighboursModel,
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
    equal = Configuration.one_each("equal", even_split(n, len(state.cpus)))
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
        found[piece.pe, KERNEL] = corrected(found[piece.pe, KERNEL], piece.ratio)
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
