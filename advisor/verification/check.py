"""Advice put to the test: the recommended configuration and the others really run here, and what was predicted."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from advisor.advise.export import ranks_of
from advisor.results import Application, Provenance, application_of
from advisor.verification.applications import LIMIT_S, CommandRuns, ProgramRuns, RealApplication
from advisor.verification.interleaved import LEAST_REPETITIONS, Loads, Verification, even_starts, run_interleaved
from advisor.verification.places import Places, places_on
from advisor.verification.residuals import Bias, Residual, bias_of, residuals
from simulator import (
    CalibrationError,
    Configuration,
    LoadTrace,
    RunSet,
    Scenario,
    ScenarioError,
    SpeedBand,
    documents,
    files,
    intervals,
    notebook,
    plots,
    randomness,
    require_linux,
    run,
    some_names,
    this_machine,
    units,
)
from simulator.calibration import (
    CommandRanks,
    Comparison,
    Competitor,
    Coverage,
    Ranks,
    RealRun,
    Usage,
    keep_comparisons,
    learnt_in,
    median_errors,
    program_fault,
    summary_of,
)

CLOSE = 0.02
"""How much slower than the best measured one the recommended configuration may be."""
NO_RANGE = (
    "no interval was predicted that a measured time could lie in: one replication has none, nor has a scenario in "
    "which nothing is drawn; several replications of a load or of a speed band have"
)
SLOWEST = 20.0
"""A run that takes so many times longer than predicted is stopped."""
LEAST_LIMIT_S = 10.0
"""No run is stopped before."""
MATTERS = 0.01
"""Share of the makespan from which on a wrong time of a pull is named."""


@dataclass(frozen=True)
class VerifyPlan:
    """What to run for real, and what was predicted."""

    scenario: Scenario
    """With the configurations to run."""
    recommended: str
    command: tuple[str, ...] | None = None
    """Words of a command line per rank; None: the application itself, as we have it."""
    budget_s: float = 60.0
    also: Mapping[str, str] = field(default_factory=dict)
    """Further name of a configuration -> its name."""
    level: float = intervals.LEVEL
    """How often the stated intervals are to hold."""

    @property
    def places(self) -> Places:
        """Where ranks run; see `check` for PEs that have no place here."""
        return places_on(this_machine(), self.scenario)[0]

    def check(self) -> None:
        """Refuse what cannot be run here, before anything is started.

        Raises ScenarioError with one line per fault.
        """
        if faults := lacks_here(self.scenario, self.command):
            raise ScenarioError(faults)

    @property
    def key(self) -> str:
        """What makes two plans the same measurement."""
        configurations = [asdict(configuration) for configuration in self.scenario.configurations]
        application = self.scenario.application
        cpus = [[pe.cpu, pe.cores] for pe in self.scenario.platform.pes]
        loads = [
            [pe.cpu, load.trace.times_s.tolist(), load.trace.values.tolist(), load.trace.end_s]
            + ([] if load.draws else [load.start_s])
            for pe in self.scenario.platform.pes
            if (load := pe.load) is not None
        ]
        asked: list[Any] = [application.name, application.kernel, dict(application.parameters), self.command, cpus]
        what = [configurations, asked, loads, self.scenario.seed]
        return files.digest(json.dumps(what, default=str).encode())


REAL = "fair", "turns"
"""Rules of loads that real competitors follow."""


def lacks_here(scenario: Scenario, command: Sequence[str] | None = None) -> list[str]:
    """What a scenario lacks for real runs on this machine; one sentence each."""
    try:
        require_linux()
    except CalibrationError as error:
        return list(error.lines)
    if scenario.application.recorded is not None:
        how = "start it as commands.txt of `advise -o` says, and record it again to compare"
        return [f"application: {scenario.application.name}: MPI programs are not run here; {how}"]
    _, faults = places_on(this_machine(), scenario)
    loaded = [(pe.name, pe.load) for pe in scenario.platform.pes if pe.load is not None]
    of_pes = {
        "a load of another rule than fair, and real competitors share fairly": [
            name for name, load in loaded if load.rule not in REAL
        ],
        "a load of parts of processes, and only whole ones can be replayed": [
            name for name, load in loaded if load.rule in REAL and not _is_whole(load.trace)
        ],
    }
    for what, names in of_pes.items():
        if names:
            who = f"PEs {some_names(names)} have" if names[1:] else f"PE {names[0]} has"
            faults.append(f"platform: {who} {what}")
    if command is None:
        application = scenario.application
        fault = program_fault(application.name, application.kernel, application.parameters, _grids(scenario))
        faults += [] if fault is None else [f"application: {fault}"]
    return faults


def _grids(scenario: Scenario) -> list[tuple[int, int]]:
    """What grids the processes of the configurations form, where the application knows grids."""
    if scenario.application.prepared is not None or scenario.application.written is not None:
        return []
    shapes = (scenario.application.work.shape(one) for one in scenario.configurations)
    return [shape for shape in shapes if shape is not None]


def _is_whole(trace: LoadTrace) -> bool:
    return bool(np.all(trace.values == np.rint(trace.values)))


Floats = NDArray[np.float64]
Range = tuple[float, float]
MaybeRange = tuple[float | None, float | None]


@dataclass(frozen=True)
class VerifiedConfiguration:
    """One configuration: what was predicted of a median of runs, and what was measured."""

    name: str
    partition: tuple[int, ...]
    placement: tuple[int, ...]
    predicted_s: float
    measured_s: tuple[float, ...]
    measured_median_s: float
    error_percent: float
    processes: tuple[int, ...] = ()
    """On each PE, those that take part; empty where that is not said."""
    also: tuple[str, ...] = ()
    """Its further names."""
    predicted_mean_s: float | None = None
    predicted_mean_interval_s: MaybeRange | None = None
    predicted_interval_s: Range | None = None
    """What should hold the measured median; None of one replication, and where nothing is drawn."""
    predicted_range_s: Range | None = None
    """The interval of one run."""
    median_sd_percent: float | None = None
    interval_holds: bool | None = None
    runs_inside: int | None = None
    """Single runs in the interval of one run."""
    residual: Residual | None = None

    @property
    def stated(self) -> str:
        """The median that was predicted, with its interval, and that was measured."""
        predicted = units.show_interval(self.predicted_s, *(self.predicted_interval_s or (None, None)))
        measured = units.show_interval(self.measured_median_s)
        return f"predicted {predicted}, measured {measured}, {self.error_percent:+.1f} %"

    @property
    def row(self) -> dict[str, object]:
        """For a table."""
        return {
            "units": self.partition,
            "predicted (s)": self.predicted_s,
            "measured (s)": self.measured_median_s,
            "off (%)": self.error_percent,
            "interval holds": self.interval_holds,
        }


def verified_of(
    configuration: Configuration, measured_s: Floats, simulated_s: Floats, residual: Residual | None
) -> VerifiedConfiguration:
    """What was measured against the median of simulated runs, no interval of which is stated."""
    predicted, measured = float(np.median(simulated_s)), float(np.median(measured_s))
    low, high = (float(end) for end in np.quantile(simulated_s, (0.05, 0.95)))
    return VerifiedConfiguration(
        name=configuration.name,
        partition=configuration.partition,
        placement=configuration.placement,
        predicted_s=predicted,
        predicted_range_s=(low, high),
        measured_s=tuple(measured_s.tolist()),
        measured_median_s=measured,
        error_percent=100 * (predicted / measured - 1),
        residual=residual,
    )


@dataclass(frozen=True)
class Verified:
    """An advice that was put to the test."""

    format: int
    command: str
    application: Application
    pes: tuple[str, ...]
    recommended: str
    best_measured: str
    regret: float
    """How much longer the recommended configuration took than the best one measured, as a share."""
    within_2_percent: bool
    configurations: tuple[VerifiedConfiguration, ...]
    level: float
    """How often the stated intervals are to hold."""
    share_of_intervals_that_hold: float | None
    intervals: Coverage
    mean_absolute_error_percent: float
    bias: Bias | None
    pairs_in_order: float | None
    """Of pairs that differ; None where none do."""
    repetitions: int
    repetitions_reused: int
    warnings: tuple[str, ...]
    provenance: Provenance

    def __repr__(self) -> str:
        off = f", predicted within {self.mean_absolute_error_percent:.1f} % in the mean"
        return (
            f"Verified(advised {self.recommended}, fastest {self.best_measured}{off}, {self.repetitions} repetitions)"
        )

    def __str__(self) -> str:
        """How far the advice was from the fastest, and what was predicted and measured of both."""
        lost = f", {100 * self.regret:.1f} % slower than the fastest, {self.best_measured}"
        first = f"{self.recommended} was advised and is the fastest of {len(self.configurations)} that really ran"
        if self.recommended != self.best_measured:
            first = f"{self.recommended} was advised{lost} of {len(self.configurations)} that really ran"
        names = dict.fromkeys((self.recommended, self.best_measured))
        shown = [one for name in names for one in self.configurations if one.name == name]
        return "\n".join([first, *(f"{one.name}: {one.stated}" for one in shown)])

    def _repr_html_(self) -> str:
        rows = [{"configuration": one.name, **one.row} for one in self.configurations]
        shown = notebook.table(rows), measured_of(self).svg()
        return notebook.page(str(self).partition("\n")[0], *shown, warnings=self.warnings)


def measured_of(verified: Verified) -> plots.Drawing:
    """What was predicted and what was measured, of the first configurations."""
    return plots.verification([plots.Checked.of(one) for one in verified.configurations[: notebook.MOST_ROWS]])


def verify(
    plan: VerifyPlan,
    *,
    kept: Path | None,
    on_progress: Callable[[Verification, float], None],
    elsewhere: RealApplication | None = None,
) -> Verified:
    """Run every configuration for real, interleaved, with the scenario's loads on, and compare with the prediction.

    What is compared is kept in the user's state file, for `apportion lab history` and for models made later.

    Raises ScenarioError if it cannot be run here, or the budget is too small; CalibrationError if a run fails.

    `kept`: file that every run is appended to; whole repetitions of the same plan found there are not run again.
    `on_progress`: see `run_interleaved`.
    `elsewhere`: what runs it on other hosts, under the loads that are there; what is compared is then not kept for
    models made on this machine.
    """
    if elsewhere is None:
        plan.check()
    runs = run(plan.scenario)
    _check_budget(plan, runs)
    done = _done(plan, kept)
    with ExitStack() as stack:
        application = elsewhere or stack.enter_context(_application(plan, runs))
        loads = Loads((), lambda _pe, _repetition: 0.0) if elsewhere else stack.enter_context(_loads(plan, runs))
        verification = run_interleaved(
            application,
            loads,
            plan.scenario.configurations,
            budget_s=plan.budget_s,
            done=done,
            on_run=_keeper(plan, kept),
            on_progress=on_progress,
        )
    found = _verified(plan, runs, verification, reused=0 if done is None else _repetitions(done))
    if elsewhere is None:
        keep_comparisons(_compared(plan, runs, verification))
    return found


def _compared(plan: VerifyPlan, runs: RunSet, verification: Verification) -> tuple[Comparison, ...]:
    return comparisons(plan.scenario, runs, verification, level=plan.level, command=plan.command)


def _check_budget(plan: VerifyPlan, runs: RunSet) -> None:
    """Each configuration is run once to warm up and three times to count."""
    each_s = sum(float(np.median(runs.of(name))) for name in runs.configurations)
    needed_s = (LEAST_REPETITIONS + 1) * each_s
    if needed_s > plan.budget_s:
        count = len(runs.configurations)
        what = f"{LEAST_REPETITIONS + 1} runs of {count} configurations of {each_s:.3g} s in all"
        raise ScenarioError(f"--budget {plan.budget_s:g}s is too short for {what}; give at least {needed_s:.3g}s")


@contextmanager
def _application(plan: VerifyPlan, runs: RunSet) -> Iterator[RealApplication]:
    places = plan.places
    homes = [places.cpus[0][0]] * places.most_ranks(plan.scenario.configurations)  # each run moves its ranks
    limit_s = max(LEAST_LIMIT_S, SLOWEST * float(runs.makespan_s.max()))
    if plan.command is None:
        with Ranks(homes) as ranks:
            yield ProgramRuns(ranks, plan.scenario.application, places, max(limit_s, LIMIT_S), plan.scenario)
    else:
        with CommandRanks(homes) as commands:
            yield CommandRuns(commands, plan.command, places, limit_s)


def load_starts(scenario: Scenario, *, window_s: float) -> Callable[[int, int], float]:
    """Where real loads start in their traces, in seconds, by loaded PE and repetition: as said or drawn.

    `window_s`: about how long a run lasts; see `even_starts`.
    """
    platform, seed = scenario.platform, scenario.seed
    loads = [
        (pe.load, platform.pes[clock].name)
        for pe, clock in zip(platform.pes, platform.load_clocks, strict=True)
        if pe.load is not None
    ]
    clocks = list(dict.fromkeys(name for _, name in loads))
    drawn = [
        even_starts(
            load.trace,
            window_s=window_s,
            number=clocks.index(name),
            generator=randomness.stream(seed, "verify", name),
        )
        for load, name in loads
    ]

    def starts_s(number: int, repetition: int) -> float:
        load, _ = loads[number]
        return drawn[number](repetition) if load.draws else load.start_s

    return starts_s


@contextmanager
def _loads(plan: VerifyPlan, runs: RunSet) -> Iterator[Loads]:
    """The scenario's loads as real competitors."""
    with ExitStack() as stack:
        competitors = [
            stack.enter_context(Competitor(cpus, pe.load.trace, apart=plan.command is not None))
            for pe, cpus in zip(plan.scenario.platform.pes, plan.places.cpus, strict=True)
            if pe.load is not None
        ]
        yield Loads(tuple(competitors), load_starts(plan.scenario, window_s=float(np.median(runs.makespan_s))))


def _keeper(plan: VerifyPlan, kept: Path | None) -> Callable[[str, int, RealRun], None]:
    """What appends a run to the file, a line each."""
    key = plan.key
    if kept is not None and kept.exists():
        files.end_with_line(kept)

    def keep(name: str, repetition: int, real: RealRun) -> None:
        if kept is not None:
            usages = [asdict(usage) for usage in real.compute]
            line = {"key": key, "configuration": name, "repetition": repetition, "makespan_s": real.makespan_s}
            with files.open_append(kept) as stream:
                stream.write(json.dumps(line | {"usages": usages}) + "\n")

    return keep


_KEPT = {"key": str, "configuration": str, "repetition": int, "makespan_s": float}


def _done(plan: VerifyPlan, kept: Path | None) -> Verification | None:
    """Whole repetitions of the same plan that were measured before."""
    if kept is None or not kept.exists():
        return None
    key, names = plan.key, [configuration.name for configuration in plan.scenario.configurations]
    found: dict[tuple[str, int], tuple[float, tuple[Usage, ...]]] = {}
    for number, line in enumerate(files.read_text(kept).splitlines(), start=1):
        if line.endswith("}"):  # otherwise torn: the process was killed while it wrote
            said = files.parse_json(line, f"{kept}:{number}")
            with documents.in_file(f"{kept}:{number}"):
                entry = documents.read_keys(said, usages=tuple[Usage, ...], **_KEPT)
            if entry["key"] == key:
                found[entry["configuration"], entry["repetition"]] = entry["makespan_s"], entry["usages"]
    whole = 0
    while all((name, whole) in found for name in names):
        whole += 1
    if not whole:
        return None
    rows = [found[name, repetition] for repetition in range(whole) for name in names]
    times = {name: np.array([found[name, r][0] for r in range(whole)]) for name in names}
    return Verification(times, tuple(usages for _, usages in rows))


def _repetitions(verification: Verification) -> int:
    return min(times.size for times in verification.measured_s.values())


def _verified(plan: VerifyPlan, runs: RunSet, verification: Verification, *, reused: int) -> Verified:
    compared, scenario = _compared(plan, runs, verification), plan.scenario
    parted = residuals(scenario, runs, verification)
    entries = tuple(
        _entry(plan, configuration, verification, one, parted.get(configuration.name))
        for configuration, one in zip(scenario.configurations, compared, strict=True)
    )
    errors = [100 * (one.expected_s / one.measured_median_s - 1) for one in compared]
    bias = bias_of(errors, parted)
    medians = {one.case: one.measured_median_s for one in compared}
    best = min(medians, key=lambda name: medians[name])
    regret = medians[plan.recommended] / medians[best] - 1
    held = summary_of(compared, level=plan.level)
    return Verified(
        format=1,
        command="verify",
        application=application_of(scenario),
        pes=tuple(pe.name for pe in scenario.platform.pes),
        recommended=plan.recommended,
        best_measured=best,
        regret=regret,
        within_2_percent=regret <= CLOSE,
        configurations=entries,
        level=plan.level,
        share_of_intervals_that_hold=None if held.held is None else held.held.share,
        intervals=held,
        mean_absolute_error_percent=float(np.mean(np.abs(errors))),
        bias=bias,
        pairs_in_order=_pairs_in_order(compared),
        repetitions=_repetitions(verification),
        repetitions_reused=reused,
        warnings=(
            *([NO_RANGE] if held.held is None else []),
            *([f"bias: {bias.text}"] if bias else []),
            *scenario.warnings,
            *_warnings(plan, verification),
        ),
        provenance=Provenance.of(scenario.seed, scenario.inputs, this_machine()),
    )


def _entry(
    plan: VerifyPlan,
    configuration: Configuration,
    verification: Verification,
    compared: Comparison,
    residual: Residual | None,
) -> VerifiedConfiguration:
    ends, low, high = compared.interval_s, compared.run_low_s, compared.run_high_s
    of_mean = compared.low_s, compared.high_s
    return VerifiedConfiguration(
        name=configuration.name,
        partition=configuration.partition,
        placement=configuration.placement,
        processes=tuple(_processes(plan, configuration)),
        also=tuple(name for name, same in plan.also.items() if same == configuration.name),
        predicted_s=compared.expected_s,
        predicted_mean_s=compared.predicted_s,
        predicted_mean_interval_s=None if ends is None else of_mean,
        predicted_interval_s=None if ends is None else ends,
        predicted_range_s=None if low is None or high is None else (low, high),
        measured_s=tuple(verification.measured_s[configuration.name].tolist()),
        measured_median_s=compared.measured_median_s,
        median_sd_percent=100 * compared.median_sd,
        error_percent=100 * (compared.expected_s / compared.measured_median_s - 1),
        interval_holds=compared.holds(),
        runs_inside=compared.runs_inside,
        residual=residual,
    )


def _processes(plan: VerifyPlan, configuration: Configuration) -> list[int]:
    """Processes on each PE that take part."""
    busy = Counter(rank.pe for rank in ranks_of(plan.scenario, configuration).ranks)
    return [busy[pe.name] for pe in plan.scenario.platform.pes]


def _pairs_in_order(compared: Sequence[Comparison]) -> float | None:
    """Of the pairs whose measured medians differ by more than `CLOSE`: how many were predicted in that order."""
    right = [
        (one.expected_s < other.expected_s) == (one.measured_median_s < other.measured_median_s)
        for place, one in enumerate(compared)
        for other in compared[:place]
        if abs(one.measured_median_s / other.measured_median_s - 1) > CLOSE
    ]
    return sum(right) / len(right) if right else None


def _warnings(plan: VerifyPlan, verification: Verification) -> list[str]:
    """PEs that other programs took a part of, and a pull that is not what the scenario says."""
    lines, parameters = [], plan.scenario.application.parameters
    for number, pe in enumerate(plan.scenario.platform.pes):
        own = plan.command is None and pe.load is None and pe.quota is None
        if own and (share := verification.share_of(number)) < 0.9:
            lines.append(f"PE {pe.name}: {share:.0%} of it was left to us: other programs run here")
    if verification.pulls_s:
        really_s = float(np.median(verification.pulls_s))
        said_s = units.parse_duration(str(parameters.get("pull", "0s")), field="pull")
        pulls = -(-int(parameters["units"]) // int(parameters.get("chunk", 1)))
        least_s = min(float(np.median(times)) for times in verification.measured_s.values())
        if abs(really_s - said_s) * pulls > MATTERS * least_s:
            there, said = units.show_duration(really_s), units.show_duration(said_s)
            lines.append(f"application: a pull takes {there} here, and the scenario says {said}; say `pull: {there}`")
    return lines


# Predictions and what real runs took, as they are judged and kept: see `history.comparisons`


def comparisons(
    scenario: Scenario, runs: RunSet, verification: Verification, *, level: float, command: Sequence[str] | None
) -> tuple[Comparison, ...]:
    """One comparison per configuration, in the order of the scenario.

    `level`: how often the stated intervals are to hold.
    `command`: what ranks ran, in the place of our own application.
    """
    described = {entry["name"]: entry for entry in runs.summary(level=level)}
    names = [configuration.name for configuration in scenario.configurations]
    errors = median_errors([verification.measured_s[name] for name in names])
    bands, left = _bands(scenario), _left(scenario, verification) if command is None else None
    found = []
    for configuration, error in zip(scenario.configurations, errors, strict=True):
        said, measured_s = described[configuration.name], verification.measured_s[configuration.name]
        low, high, run_low, run_high = _ends(said, runs)
        inside = None
        if run_low is not None and run_high is not None:
            inside = int(np.sum((measured_s >= run_low) & (measured_s <= run_high)))
        found.append(
            Comparison(
                kind=_kind(scenario, command),
                subject=scenario.application.kernel,
                model=", ".join(_files(scenario, bands)),
                version=_version(scenario, bands),
                case=configuration.name,
                level=level,
                predicted_s=said["mean"],
                low_s=low,
                high_s=high,
                runs=int(measured_s.size),
                measured_median_s=float(np.median(measured_s)),
                median_sd=error,
                median_ratio=median_ratio(runs.of(configuration.name), runs.truths),
                run_low_s=run_low,
                run_high_s=run_high,
                runs_inside=inside,
                learnt=max((learnt_in(band.doubt) for band in bands), default=1.0),
                pes=len(_computing(configuration)),
                size=float(max(configuration.partition)),
                left=left,
            )
        )
    return tuple(found)


def median_ratio(samples: Floats, truths: NDArray[np.int64] | None) -> float:
    """What the median of runs is over their mean, by the noise of the replications of each truth."""
    if truths is None:
        return float(np.median(samples) / np.mean(samples))
    counts = np.bincount(truths)
    means = np.bincount(truths, weights=samples) / np.maximum(counts, 1)
    return float(np.median(samples / means[truths]))


def _ends(said: dict[str, float | None], runs: RunSet) -> tuple[float | None, ...]:
    """The intervals of the mean and of one run; None where they have no width, since nothing is drawn."""
    found: list[float | None] = []
    for names in (("low", "high"), ("run_low", "run_high")):
        low, high = (said[name] for name in names)
        wide = low is not None and high is not None and low < high and not runs.deterministic
        found += [max(low or 0.0, 0.0), high] if wide else [None, None]
    return tuple(found)


def _kind(scenario: Scenario, command: Sequence[str] | None) -> Literal["kernel", "command", "regression"]:
    if scenario.application.model is not None:
        return "regression"
    return "kernel" if command is None else "command"


def _bands(scenario: Scenario) -> list[SpeedBand]:
    """The speeds of all PEs at the application's kernel, each once."""
    kernel = scenario.application.kernel
    bands = [pe.speeds[kernel] for pe in scenario.platform.pes if kernel in pe.speeds]
    return list({id(band): band for band in bands}.values())


def _files(scenario: Scenario, bands: Sequence[SpeedBand]) -> list[str]:
    """Names of the models' files, without folders."""
    sources = dict.fromkeys(band.source for band in bands if band.source in scenario.inputs)
    return [Path(source).name for source in sources]


def _version(scenario: Scenario, bands: Sequence[SpeedBand]) -> str:
    """Hash of the speeds, or the regression, that were predicted with: the same where they are written out."""
    model = scenario.application.model
    said = sorted(json.dumps(band.to_dict(), sort_keys=True, default=str) for band in bands)
    return files.digest(json.dumps([said, None if model is None else model.to_dict()], default=str).encode())


def _computing(configuration: Configuration) -> set[int]:
    pairs = zip(configuration.placement, configuration.partition, strict=True)
    return {pe for pe, units in pairs if units}


def _left(scenario: Scenario, verification: Verification) -> float | None:
    """Least share of a PE without load that was left to us."""
    if not verification.usages:
        return None
    pes = [number for number, pe in enumerate(scenario.platform.pes) if pe.load is None]
    return min((min(1.0, verification.share_of(number)) for number in pes), default=None)
