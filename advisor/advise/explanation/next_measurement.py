"""What to measure next: what knowing each source of doubt better is expected to save, for each second of measuring."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from advisor.advise.explanation.doubt_sources import (
    UNEXPLAINED,
    UNSTATED,
    Doubts,
    Floats,
    Share,
    Source,
    mean_error,
    truth_means,
)
from advisor.advise.explanation.sensitivity import parameters
from advisor.advise.recommendation import Recommendation
from simulator import PE, Configuration, Scenario, deviates, documents, ties
from simulator.models import COMMON

WORTH = 0.0005
"""An expected saving, as a share of the time, below which nothing is worth a measurement."""
MEASURABLE = {"sampling": 1.0, "form": 1.0, "extrapolation": 1.0, "drift": 0.5, UNSTATED: 1.0}
"""Share of a cause's variance that measuring at the sizes concerned removes: a machine goes on drifting afterwards."""
OTHER_CAUSE = 0.5
"""The same of a cause that is not listed."""
REPETITIONS = 10
"""Of a run at each size that is measured."""
POINTS = 5
"""Sizes that a speed is measured at."""
NOISE = 0.03
"""Standard deviation from run to run where a model does not say it."""
START_S = 2.0
"""Seconds before the first run of a measurement."""
LONGEST_RUN_S = 10.0
"""Seconds of one run that a calibration takes at most by default."""
SECONDS = {"link": 30.0, "neighbours": 60.0, "rule": 60.0}
"""About what the commands take that measure these."""
LOAD_S = 600.0
"""Seconds that a load is recorded for by default."""
AGAIN = 0.5
"""Share of a variance that as many samples again remove."""
MOST_LOOKED_AT = 8
"""Sources whose worth is asked for: those that explain most."""


@dataclass(frozen=True)
class Candidate:
    """A source of doubt, and what measuring it is expected to bring."""

    source: str
    what: str
    """`speed`, `link`, `load` or what else is doubted."""
    share: float
    """Of the variance of the advised makespan over truths."""
    causes: Mapping[str, float]
    """Parts of that share by cause."""
    removed: float
    """Share of the source's variance that measuring is expected to remove."""
    seconds: float
    """What measuring takes, about."""
    reduction: float
    """Expected loss that is saved, as a share of the time."""
    per_second: float = field(metadata=documents.named("reduction_per_s"))
    """Saving for each second of measuring."""
    command: str
    pes: tuple[int, ...] = field(default=(), metadata=documents.NOT_WRITTEN)


@dataclass(frozen=True)
class Explained:
    """What sources explain of a variance over truths, the one that explains most first: all adds up to 1."""

    sources: tuple[Share, ...]
    rest: float = field(metadata=documents.named(UNEXPLAINED))


@dataclass(frozen=True)
class Doubt:
    """Where the doubt of an advice comes from."""

    makespan: Explained
    gain: Explained | None


@dataclass(frozen=True)
class NextMeasurement:
    """What to measure next; nothing where no measurement is expected to save much."""

    measure: str | None
    """The source."""
    command: str | None
    seconds: float | None
    expected_loss: float | None
    """Of the advice, as a share of the time; None where no doubt is stated."""
    expected_loss_after: float | None
    """What is left of it once the source is measured."""
    doubted: bool
    """Whether anything is doubted; where no loss is stated all the same, there was one truth only."""
    ranked: tuple[Candidate, ...]
    """Most saving for each second first; then, where nothing is saved, the one that explains most."""
    unstated: tuple[str, ...]
    """Parameters of which no doubt is known: constants, and models that state none."""


def next_measurement(scenario: Scenario, made: Recommendation) -> tuple[Doubt | None, NextMeasurement]:
    """Where the doubt of an advice comes from, None where there is none, and what to measure next.

    What candidates take in each truth is regressed on what the truths differ by, and what knowing it saves is asked. No
    further run is simulated: the truths of the recommendation are used.

    `scenario`: what the recommendation is for.
    """
    runs = made.runs
    sources = [] if runs.truths is None else sources_of(scenario, made)
    unstated = _unstated(scenario, made.configuration, sources)
    if runs.truths is None or not sources or np.unique(runs.truths).size < 2:
        return None, _next((), unstated, None, doubted=bool(sources))
    doubts = _doubts(made, sources)
    looked = {one.source: one for one in doubts.makespan}
    most = sorted(range(len(sources)), key=lambda place: -looked[sources[place].name].share)[:MOST_LOOKED_AT]
    found = [_candidate(scenario, made, doubts, place, looked[sources[place].name]) for place in most]
    order = ties.in_order(
        [-one.per_second if one.reduction >= WORTH else 0.0 for one in found],
        [-one.share * one.removed for one in found],
    )
    known = made.ranking.best.expected_loss
    stated = doubts.loss(seed=runs.seed) if known is None else known
    loss = max([stated, *(one.reduction for one in found)])
    gain = None if doubts.gain is None else _explained(doubts.gain)
    return Doubt(_explained(doubts.makespan), gain), _next([found[place] for place in order], unstated, loss)


def _next(
    ranked: Sequence[Candidate], unstated: tuple[str, ...], loss: float | None, *, doubted: bool = True
) -> NextMeasurement:
    """The first of some sources, if measuring it is worth anything."""
    best = ranked[0] if ranked and ranked[0].reduction >= WORTH else None
    return NextMeasurement(
        measure=None if best is None else best.source,
        command=None if best is None else best.command,
        seconds=None if best is None else best.seconds,
        expected_loss=loss,
        expected_loss_after=None if best is None else max(0.0, (loss or 0.0) - best.reduction),
        doubted=doubted,
        ranked=tuple(ranked),
        unstated=unstated,
    )


def sources_of(scenario: Scenario, made: Recommendation) -> list[Source]:
    """What the truths of a recommendation differ by, one source for each model file or entry of the scenario.

    What PEs, links or sharing domains of a source have in common is its first part, what each of them has for itself a
    further one; of PEs that no candidate uses nothing is asked.
    """
    runs = made.runs
    if runs.truths is None:
        return []
    drawn = deviates(replace(scenario, seed=runs.seed), runs.truth_count)
    numbers, used = np.unique(runs.truths), {pe for one in made.candidates for pe in one.placement}
    members: dict[str, list[_Member]] = {}
    known: set[str] = set()
    for member in (*_speeds(scenario), *_others(scenario)):
        known.update((member.shared, member.own))
        if member.source.what != "speed" or used.intersection(member.source.pes):
            members.setdefault(member.source.name, []).append(member)
    found = [_joined(several, drawn, numbers) for several in members.values()]
    loaded = {f"load of PE {pe.name}": place for place, pe in enumerate(scenario.platform.pes)}
    for name, alone in drawn.items():
        if name not in known:
            pes = (loaded[name],) if name in loaded else ()
            found.append(Source(name.replace(" of PE ", " of "), alone[numbers, np.newaxis], {}, name.split()[0], pes))
    return found


_NONE = np.zeros((0, 0))


@dataclass(frozen=True)
class _Member:
    """A PE, link or sharing domain that is doubted."""

    source: Source
    """With others it is one; its deviates are still to come."""
    shared: str
    """What the deviate is called that it has in common with others of its source."""
    own: str
    """What its own one is called."""
    common: float
    """Share of the variance that is in common."""


def _joined(members: Sequence[_Member], drawn: Mapping[str, Floats], numbers: NDArray[np.int64]) -> Source:
    """One source: what its members have in common and each by itself; of a single member one deviate is all of it."""
    names = dict.fromkeys(name for one in members for name in (one.shared, one.own) if name in drawn)
    parts = [drawn[name][numbers] for name in names]
    if len(members) == 1 and len(parts) == 2:
        common = members[0].common
        parts = [math.sqrt(common) * parts[0] + math.sqrt(1 - common) * parts[1]]
    pes = dict.fromkeys(pe for one in members for pe in one.source.pes)
    return replace(members[0].source, deviates=np.array(parts).T, pes=tuple(pes))


def _speeds(scenario: Scenario) -> Iterator[_Member]:
    kernel, names = scenario.application.kernel, scenario.platform.draw_names
    for index, pe in enumerate(scenario.platform.pes):
        band = pe.speeds.get(kernel)
        if band is None or not band.doubtful:
            continue
        name = band.source if band.source in scenario.inputs else f"speed of {band.source or pe.name}"
        causes, common = ({}, COMMON) if band.doubt is None else (band.doubt.sources, band.doubt.common)
        source = Source(name, _NONE, causes, "speed", (index,))
        yield _Member(source, f"speed of {band.source}", f"speed of PE {names[index]}", common)


def _others(scenario: Scenario) -> Iterator[_Member]:
    """Links and sharing domains."""
    network = scenario.platform.network
    links = [(one.name, one.source, one.doubt) for one in network.links]
    models = (("network", network.model), ("loopback", network.loopback))
    links += [(name, one.source, one.doubt) for name, one in models if one is not None]
    for name, file, doubt in links:
        if doubt is not None:
            source = Source(file or f"link {name}", _NONE, doubt.sources, "link")
            yield _Member(source, f"links {file}", f"link {name}", doubt.common)
    for domain in scenario.platform.domains:
        if domain.doubt is not None:
            shared, own = f"neighbours in {domain.level}", f"neighbours in {domain.name}"
            source = Source(shared, _NONE, domain.doubt.sources, "neighbours", domain.pes)
            yield _Member(source, shared, own, domain.doubt.common)


def _doubts(made: Recommendation, sources: Sequence[Source]) -> Doubts:
    """What each candidate takes by truth, in what shall be least."""
    runs = made.runs
    means = truth_means(runs.makespan_s, np.asarray(runs.truths))
    names = list(runs.configurations)
    rates = {one.name: rate for one, rate in zip(made.candidates, made.rates, strict=True)}
    rows = means * np.array([rates[name] for name in names])[:, np.newaxis]
    chosen = names.index(made.configuration.name)
    reference = names.index(made.strategies.also.get(made.reference, made.reference))
    mine, other = (runs.makespan_s[row] * rates[names[row]] for row in (chosen, reference))
    truths = np.asarray(runs.truths)
    gain = rows[reference].mean() / rows[chosen].mean()
    apart = gain * (other / rows[reference].mean() - mine / rows[chosen].mean())
    errors = mean_error(mine, truths), mean_error(apart, truths)
    return Doubts(tuple(sources), rows, chosen, reference, errors)


def _candidate(scenario: Scenario, made: Recommendation, doubts: Doubts, place: int, share: Share) -> Candidate:
    source = doubts.sources[place]
    removed, seconds = _measured(scenario, made.configuration, source)
    worth = doubts.worth({place: removed}, seed=made.runs.seed) if removed > 0 else 0.0
    return Candidate(
        source=source.name,
        what=source.what,
        share=share.share,
        causes=share.causes,
        removed=removed,
        seconds=seconds,
        reduction=worth,
        per_second=worth / seconds,
        command=_command(scenario, source),
        pes=source.pes,
    )


def _measured(scenario: Scenario, chosen: Configuration, source: Source) -> tuple[float, float]:
    """Share of a source's variance that measuring it removes, and about the seconds that it takes."""
    removable = sum(share * MEASURABLE.get(cause, OTHER_CAUSE) for cause, share in source.shares.items())
    if source.what == "load" and source.pes:
        load = scenario.platform.pes[source.pes[0]].load
        return AGAIN, LOAD_S if load is None else float(load.trace.end_s)
    if source.what != "speed":
        return removable, SECONDS.get(source.what, LOAD_S)
    band = scenario.platform.pes[source.pes[0]].speed_of(scenario.application.kernel)
    size, volume = _computed(scenario, chosen, source.pes)
    cut = band.cut(size)
    known = (cut.high / cut.low - 1) / 2 if band.doubt is None and cut.low > 0 else 1.0
    doubted = removable * (known**2 if band.doubt is None else float(band.doubt.at(size)) ** 2)
    noise = (NOISE if band.noise is None else band.noise.sd) ** 2 / REPETITIONS
    rounds = scenario.application.work.rounds(len(chosen.partition))
    run_s = min(LONGEST_RUN_S, float(band.time(size, volume)) / max(1, rounds))
    seconds = START_S + POINTS * REPETITIONS * run_s
    return (removable * doubted / (doubted + noise) if doubted > 0 else 0.0), seconds


def _computed(scenario: Scenario, chosen: Configuration, pes: Sequence[int]) -> tuple[float, float]:
    """Problem size and volume of the most that a process of some PEs computes; of an equal share if they have none."""
    mine = [units for pe, units in zip(chosen.placement, chosen.partition, strict=True) if pe in pes and units]
    taking_part = max(1, sum(units > 0 for units in chosen.partition))
    units = max(mine) if mine else -(-scenario.application.work.units // taking_part)
    compute = scenario.application.work.compute(taking_part)(units)
    return float(compute.size), float(compute.volume)


def _unstated(scenario: Scenario, chosen: Configuration, sources: Sequence[Source]) -> tuple[str, ...]:
    """Parameters that no source is the doubt of."""
    pes = {pe for source in sources for pe in source.pes}
    kinds = {source.what for source in sources}
    found = []
    for name, what, own, _ in parameters(scenario, chosen):
        known = bool(pes.intersection(own)) if what == "speed" else _KINDS.get(what, what) in kinds
        found += [] if known else [name]
    return tuple(found)


_KINDS = {"latency": "link", "bandwidth": "link", "capacity": "neighbours"}
"""What parameters of another name are the doubt of."""


def command_for(scenario: Scenario, pe: PE, model: str = "") -> str:
    """The command that measures a PE's speed, its model's file named after the one that it has now."""
    kernel = scenario.application.kernel
    if scenario.application.prepared is not None:  # its speeds follow from the costs of operations
        return f"apportion lab resource -o {_file(pe.name)}-resource.json"
    pinned = "" if pe.cpu is None else f" --cpu {pe.cpu}"
    name = next_name(PurePath(model).name) if model.endswith(".json") else f"{_file(pe.name)}-{kernel}.json"
    return f"apportion calibrate speed --kernel {kernel}{pinned} --accuracy 2% -o {name}"


def next_name(name: str, number: int = 2) -> str:
    """`fast-2.json` after `fast.json`: what is measured again lies next to what was measured."""
    path = PurePath(name)
    return f"{path.stem}-{number}{path.suffix}"


def _command(scenario: Scenario, source: Source) -> str:
    """The command that measures a source, where it is."""
    if source.what == "speed":
        return command_for(scenario, scenario.platform.pes[source.pes[0]], source.name)
    file = next_name(PurePath(source.name).name) if source.name.endswith(".json") else f"{_file(source.name)}.json"
    if source.what == "link":
        return f"apportion cluster --hosts THIS,OTHER -o {PurePath(file).stem}"
    if source.what == "neighbours":
        return f"apportion calibrate neighbours -o {file}"
    if source.what == "rule":
        return "apportion lab load-check"
    return f"apportion calibrate load -o {_file(source.name)}.csv --per-core"


def _explained(shares: Sequence[Share]) -> Explained:
    """Sources with what none of them explains."""
    return Explained(tuple(shares), max(0.0, 1.0 - math.fsum(one.share for one in shares)))


def _file(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-_." else "-" for character in name)
