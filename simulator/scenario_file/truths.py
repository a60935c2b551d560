"""A truth of a scenario (the same without doubt, as measuring might have left it), and what is drawn in each run.

Speeds differ by replication where engines are asked, since they are numbers of each run anyway; what has structure
(links, sharing domains, loads) is a scenario of its own for each truth. Every draw has a stream of its own, keyed by
what it is for, so that adding a PE or leaving one out shifts no other.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from simulator.base import randomness
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.base.identity import Same
from simulator.load_traces import resampled_blocks
from simulator.models.doubt import COMMON, Doubt
from simulator.models.load import AvailabilityRule, LoadTrace, availability
from simulator.models.neighbours import SharingDomain
from simulator.models.network import MessageModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.columns import Columns, ComputeSpread, FarmTable, UnitSpread
from simulator.scenario_file.scenario import Scenario, stratum_count, truth_count

Parts = tuple[tuple[str, float], ...]
"""The sources of a doubt, each with its share of the variance."""

FEW_TRUTHS = 2**10
"""Truths up to which their deviates are remembered."""
APPLICATION = "the application's model"
"""What is drawn for the model of an application; a scenario has one."""
TURNS = 60
"""Slices within which turns begin: whole rounds of one to five competitors."""
UNITS = "units of a farm"
"""What their volumes are drawn by."""
COMPUTING = "computing of call sites"
"""What it is drawn by."""
FURTHEST = 4.0
"""Standard deviations that a run is off by at most: the logarithm of a time has no heavier tail."""
SERIES = 1_000_000
"""Replications are numbered within series, of which each has truths of its own: what a search sees is one of them."""
KEPT = 256
"""Platforms of truths that are remembered: a search asks for the same ones again and again."""
FEW_SAMPLES = 2**14
"""Samples of all traces of a platform, and links, up to which they are."""
MOST_TRIES = 16
"""Resampled records of a load up to which one is sought that leaves us something."""
RULE = "rule by which loads share"
FEW_STARTS = 2**14
"""Replications up to which the starts of a clock are remembered."""
FEW_DRAWS = 2**16
"""Draws up to which each is remembered; more are made together, and as many at once."""


@dataclass(frozen=True)
class TruthKey:
    """Which draws of what is doubted: the seed, the series of replications and how many truths it has."""

    seed: int
    series: int
    truths: int

    @classmethod
    def of(cls, scenario: Scenario, series: int = 0) -> "TruthKey":
        """That of a scenario."""
        return cls(scenario.seed, series, truth_count(scenario))

    def deviates(self, source: str) -> Floats:
        """A standard normal deviate of a source for each truth, one in each of as many equal parts; (truth,)."""
        return (_remembered if self.truths <= FEW_TRUTHS else _made)(self, source)

    def deviate(self, parts: Parts) -> Floats:
        """What sources make together; (truth,)."""
        found = np.zeros(self.truths)
        for source, share in parts:
            if share > 0:
                found += np.sqrt(share) * self.deviates(source)
        return found

    def one(self, parts: Parts, number: int) -> float:
        """The same of one truth."""
        return float(sum(np.sqrt(share) * self.deviates(source)[number] for source, share in parts if share > 0))

    def generator(self, number: int, source: str) -> np.random.Generator:
        """A stream of one source in one truth, for what is more than a number."""
        return randomness.stream(self.seed, self.series, "truth", self.truths, source, number)


def _made(key: TruthKey, source: str) -> Floats:
    from scipy.special import ndtri

    stream = randomness.stream(key.seed, key.series, "truth", key.truths, source)
    places = (stream.permutation(key.truths) + stream.random(key.truths)) / key.truths
    found = np.asarray(ndtri(np.clip(places, 2.0**-54, 1 - 2.0**-53)), np.float64)
    found.setflags(write=False)
    return found


_remembered = lru_cache(maxsize=FEW_TRUTHS)(_made)


def speed_parts(band: SpeedBand, pe: str) -> Parts:
    """The sources of the doubt of a PE's speed; the PE by its draw name."""
    own = f"speed of PE {pe}"
    if not band.source:
        return ((own, 1.0),)
    common = COMMON if band.doubt is None else band.doubt.common
    return (f"speed of {band.source}", common), (own, 1 - common)


def _link_parts(doubt: Doubt, source: str, name: str) -> Parts:
    if not source:
        return ((f"link {name}", 1.0),)
    return (f"links {source}", doubt.common), (f"link {name}", 1 - doubt.common)


def _counts_hops(model: MessageModel) -> bool:
    """Whether a route over several of its links counts their number, so that they have one model in every truth."""
    return model.knows_hops


def _parts_of(link: Link, doubt: Doubt) -> Parts:
    if link.model is not None and _counts_hops(link.model):
        return ((f"links {link.source or link.name}", 1.0),)
    return _link_parts(doubt, link.source, link.name)


def _links(network: Network) -> list[Link]:
    """The links that a truth draws: one of those that are alike by their topology."""
    found: list[Link] = []

    def note(link: Link) -> Link:
        found.append(link)
        return link

    network.with_links(note)
    return found


def _ends_of(pe: PE, draw_name: str) -> tuple[Link, ...]:
    """The links of a GPU to it and back, none of other PEs, by names of their own: those of one switch share theirs."""
    if pe.gpu is None:
        return ()
    where = f"of {pe.node} at {pe.gpu.switch}" if pe.gpu.switch else f"of {draw_name}"
    ends = ("into", pe.gpu.into), ("into" if pe.gpu.out.shared else "out", pe.gpu.out)
    return tuple(replace(link, name=f"{way} {where}") for way, link in ends)


def _domain_parts(domain: SharingDomain, doubt: Doubt) -> Parts:
    return (f"neighbours in {domain.level}", doubt.common), (f"neighbours in {domain.name}", 1 - doubt.common)


def _models(network: Network) -> Iterator[tuple[str, MessageModel]]:
    """Message times of a network that no link has."""
    if network.model is not None:
        yield "network", network.model
    if network.loopback is not None:
        yield "loopback", network.loopback


def _record(load: Load) -> LoadTrace:
    return load.recording or load.trace


def load_source(load: Load) -> str:
    """What all loads of one recording share their truth by."""
    return f"load {_record(load).content.hex()[:16]}"


def truth_of(scenario: Scenario, number: int, *, series: int = 0) -> Scenario:
    """One truth of a scenario: the same without doubt; what noise and drawn starts of loads there are stay.

    `number`: from 0 on; there are `truth_count(scenario)` of them.
    `series`: 0 for the replications of a scenario, 1 for those of a search.
    """
    if not scenario.doubtful:
        return scenario
    key, kernel = TruthKey.of(scenario, series), scenario.application.kernel
    platform = structure_of(scenario, number, series=series).platform
    pes = []
    for name, pe in zip(platform.draw_names, platform.pes, strict=True):
        band = pe.speeds.get(kernel)
        if band is not None and band.doubtful:
            truth = _band(band, key.one(speed_parts(band, name), number))
            pes.append(replace(pe, speeds={**pe.speeds, kernel: truth}))
        else:
            pes.append(pe)
    application = scenario.application
    if scenario.application_spreads[0]:
        application = replace(application, deviate=float(key.deviates(APPLICATION)[number]))
    return replace(scenario, platform=replace(platform, pes=tuple(pes)), application=application, truths=None)


def _band(band: SpeedBand, deviate: float) -> SpeedBand:
    """The speed of one truth, with the noise of the band."""
    from scipy.special import ndtr

    more = () if band.doubt is None or band.doubt.sizes.size == 1 else band.doubt.sizes
    sizes = np.union1d(band.sizes, more)
    quiet = replace(band, noise=None) if band.stated and band.doubt is not None else band
    mid = quiet.drawn(sizes, position=float(ndtr(deviate)))
    return SpeedBand(sizes, mid, mid, mid, noise=band.noise)


def structure_of(scenario: Scenario, number: int, *, series: int = 0) -> Scenario:
    """The scenario with the links, sharing domains and loads of one truth; its speeds keep their doubt."""
    if not scenario.structured:
        return scenario
    platform = scenario.platform
    key = TruthKey.of(scenario, series)
    size = platform.load_samples + len(platform.network.links)
    made = _structured_again if size <= FEW_SAMPLES else _structured
    return replace(scenario, platform=made(Same(platform), key, number))


def _structured(of: Same[Platform], key: TruthKey, number: int) -> Platform:
    platform = of.value
    network = _network(platform.network, key, number) if platform.network.doubtful else platform.network
    domains = tuple(
        one if one.doubt is None else one.drawn(key.one(_domain_parts(one, one.doubt), number))
        for one in platform.domains
    )
    pes = platform.pes
    if any(pe.load is not None and pe.load.doubtful for pe in pes):
        loads: dict[tuple[int, int], Load] = {}
        pes = tuple(_loaded(pe, loads, key, number) for pe in pes)
    if any(pe.gpu is not None and pe.gpu.doubtful for pe in pes):
        pes = tuple(_linked(pe, name, key, number) for name, pe in zip(platform.draw_names, pes, strict=True))
    return replace(platform, pes=pes, network=network, domains=domains)


_structured_again = lru_cache(maxsize=KEPT)(_structured)


def of_replication(scenario: Scenario, replication: int) -> Scenario:
    """The scenario with the links, sharing domains and loads that a replication has, by its number as given to `run`.

    `scenario`: with the seed and the number of truths of the run.
    """
    series, number = divmod(replication, SERIES)
    return structure_of(scenario, number % truth_count(scenario), series=series)


def _network(network: Network, key: TruthKey, number: int) -> Network:
    models: dict[int, MessageModel] = {}

    def link(one: Link) -> Link:
        if one.doubt is None:
            return one
        deviate = key.one(_parts_of(one, one.doubt), number)
        if one.model is None or not _counts_hops(one.model):
            return one.drawn(deviate)
        drawn = models.setdefault(id(one.model), one.model.drawn(deviate))
        return Link.of_model(one.name, drawn, shared=one.shared)

    def model(name: str, one: MessageModel) -> MessageModel:
        if one.doubt is None:
            return one
        return one.drawn(key.one(_link_parts(one.doubt, one.source, name), number))

    ends = {name: model(name, one) for name, one in _models(network)}
    found = network.with_links(link)
    return replace(found, model=ends.get("network"), loopback=ends.get("loopback"))


def _linked(pe: PE, draw_name: str, key: TruthKey, number: int) -> PE:
    """A GPU with the links of one truth."""
    if pe.gpu is None:
        return pe

    def drawn(end: Link) -> Link:
        if end.doubt is None:
            return end
        return end.drawn(key.one(_link_parts(end.doubt, end.source, end.name), number))

    into, out = map(drawn, _ends_of(pe, draw_name))
    return replace(pe, gpu=replace(pe.gpu, into=into, out=out))


def _loaded(pe: PE, known: dict[tuple[int, int], Load], key: TruthKey, number: int) -> PE:
    if pe.load is None or not pe.load.doubtful:
        return pe
    at = id(pe.load), pe.cores
    if at not in known:
        known[at] = _load(pe.load, pe.cores, key, number)
    return replace(pe, load=known[at])


def _leaves_some(trace: LoadTrace, rule: AvailabilityRule, cores: int) -> bool:
    """Whether a load leaves us anything at some time: what ran at the same time ended once."""
    return bool(np.any(availability(trace.values, rule, cores=cores) > 0))


def _load(load: Load, cores: int, key: TruthKey, number: int) -> Load:
    """A load whose trace is a block bootstrap of its record, and whose rule is drawn where nothing says it."""
    rule, trace = load.rule, load.trace
    if not load.rule_known:
        idle = key.deviates(RULE)[number] > 0 and _leaves_some(trace, "idle", cores)
        rule = "idle" if idle else "fair"
    if load.recorded and load.draws:
        generator = key.generator(number, load_source(load))
        drawn = (resampled_blocks(trace, generator) for _ in range(MOST_TRIES))
        trace = next((one for one in drawn if _leaves_some(one, rule, cores)), trace)
    return replace(load, trace=trace, rule=rule, recorded=False, rule_known=True, recording=_record(load))


def deviates(scenario: Scenario, truths: int | None = None, *, series: int = 0) -> Mapping[str, Floats]:
    """Standard normal deviates of all that is doubted, by source: what each truth differs from the others by.

    A kind of PE (those of one model file or of one entry of the scenario) is a source, and so is each PE for what it
    does not share with its kind; so are links and sharing domains. A load is named by the first PE that has it; its
    deviate is the mean load of each truth, scaled.

    `truths`: how many; `truth_count(scenario)` by default. Each array is (truths,).
    `series`: 0 for replications of a scenario, 1 for those of a search.
    """
    scenario = scenario if truths is None else replace(scenario, truths=truths)
    key, kernel, platform = TruthKey.of(scenario, series), scenario.application.kernel, scenario.platform
    parts: list[Parts] = [((APPLICATION, 1.0),)] if scenario.application_spreads[0] else []
    loads: dict[str, tuple[str, Load, int]] = {}
    for name, pe in zip(platform.draw_names, platform.pes, strict=True):
        band = pe.speeds.get(kernel)
        if band is not None and band.doubtful:
            parts.append(speed_parts(band, name))
        if pe.load is not None and pe.load.doubtful:
            loads.setdefault(load_source(pe.load), (pe.name, pe.load, pe.cores))
        parts += [_link_parts(end.doubt, end.source, end.name) for end in _ends_of(pe, name) if end.doubt is not None]
    parts += [_parts_of(link, link.doubt) for link in _links(platform.network) if link.doubt is not None]
    parts += [_link_parts(model.doubt, model.source, name) for name, model in _models(platform.network) if model.doubt]
    parts += [_domain_parts(domain, domain.doubt) for domain in platform.domains if domain.doubt is not None]
    names = dict.fromkeys(name for part in parts for name, share in part if share > 0)
    found = {name: key.deviates(name) for name in names}
    for pe_name, load, cores in loads.values():
        if load.recorded and load.draws:
            means = np.array([_load(load, cores, key, number).trace.mean() for number in range(key.truths)])
            spread = float(means.std())
            found[f"load of PE {pe_name}"] = (means - means.mean()) / spread if spread > 0 else means * 0.0
        if not load.rule_known:
            found[RULE] = key.deviates(RULE)
    return found


@dataclass(frozen=True)
class Draws:
    """What differs between replications; axes are (replication, PE)."""

    load_starts_s: Floats
    """Where in its trace each PE's load starts. PEs of one clock start together."""
    band_positions: Floats
    """Where in the doubt of its speed each PE's truth lies, from 0 (slow) to 1; alike for all runs of a truth."""
    noise_positions: Floats | None = None
    """Where in the noise of its speed each PE runs, from 0 (quick) to 1; None: 0.5 everywhere."""
    truths: Ints | None = None
    """Number of the truth of each replication, (replication,); None where nothing is doubted."""
    series: Ints | None = None
    """The series that each replication belongs to, as `truths`."""
    application_deviates: Floats | None = None
    """Standard normal deviate of the doubt of the application's own model, (replication,); None: 0 everywhere."""
    application_positions: Floats | None = None
    """Where in the application's own noise each run lies, from 0 to 1, (replication,); None: 0.5 everywhere."""
    numbers: Ints | None = None
    """Number of each replication, by which the volumes of a farm's units are drawn; (replication,)."""
    quota_places: Floats | None = None
    """How much of the period of its quota each PE has behind it at tick 0, from 0 to 1; None: 0 everywhere."""

    def of(self, replications: slice | Ints) -> "Draws":
        """Of some of the replications."""
        return replace(self, **{name: part[replications] for name, part in vars(self).items() if part is not None})

    def factors(self, program: Columns) -> Floats | None:
        """What the times of a program's computations and delays are multiplied with, (replication,); None: nothing."""
        found = None
        if program.doubt is not None and self.application_deviates is not None:
            found = program.doubt.factor(1.0, self.application_deviates)
        if program.noise is not None and self.application_positions is not None:
            noise = program.noise.at(self.application_positions)
            found = noise if found is None else found * noise
        return found

    def computing(self, seed: int, spread: ComputeSpread | None) -> Floats | None:
        """What volumes of a program's computations are multiplied with, (replication, computation); None: nothing."""
        if spread is None:
            return None
        if self.numbers is None:
            raise ScenarioError(
                "recorded: its computing is drawn, and the draws do not number the replications; set numbers"
            )
        found = np.empty((self.numbers.size, spread.site.size))
        for row, number in enumerate(self.numbers.tolist()):
            found[row] = _draw_computing(spread, randomness.stream(seed, number, COMPUTING))
        return found

    def unit_factors(self, seed: int, table: FarmTable) -> Floats | None:
        """What the volumes of a farm's units are multiplied with, (replication, unit); None: nothing."""
        if table.spread is None:
            return None
        if self.numbers is None:
            raise ScenarioError("farm: its units are drawn, and the draws do not number the replications; set numbers")
        found = np.empty((self.numbers.size, table.volumes.size))
        for row, number in enumerate(self.numbers.tolist()):
            _draw_units(table.spread, randomness.stream(seed, number, UNITS, table.number), found[row])
        return found

    def speeds(self, band: SpeedBand, pe: int, sizes: Floats) -> Floats:
        """Speeds of a PE with this band at problem sizes (S,) in each run; (replication, S)."""
        noise = 0.5 if self.noise_positions is None else self.noise_positions[:, pe, np.newaxis]
        return band.drawn(sizes, position=self.band_positions[:, pe, np.newaxis], noise=noise)


def _draw_computing(spread: ComputeSpread, generator: np.random.Generator) -> Floats:
    """What one run multiplies each computation with."""
    deviates = np.clip(generator.standard_t(spread.degrees, 1 + spread.own_sd.size), -FURTHEST, FURTHEST)
    together = np.exp(spread.shared_sd * deviates[0] + spread.own_sd * deviates[1:])
    counts = np.diff(spread.pool_first)[spread.site]
    places = spread.pool_first[spread.site] + (counts * generator.random(spread.site.size)).astype(np.int64)
    return np.asarray(together[spread.group] * spread.pool[places])


def _draw_units(spread: UnitSpread, generator: np.random.Generator, into: Floats) -> None:
    """Independent draws of mean 1."""
    cv, size = spread.cv, into.size
    if spread.distribution == "exponential":
        into[:] = generator.standard_exponential(size)
    elif spread.distribution == "gamma":
        into[:] = generator.standard_gamma(cv**-2, size) * cv**2
    elif spread.distribution == "uniform":
        into[:] = 1 + np.sqrt(3) * cv * (2 * generator.random(size) - 1)
    else:
        variance = np.log1p(cv**2)
        into[:] = np.exp(np.sqrt(variance) * generator.standard_normal(size) - variance / 2)


def draw(scenario: Scenario, *, first: int = 0, placed_only: bool = False) -> Draws:
    """The draws of all replications of a scenario, numbered from `first` on.

    The same seed, number and counts of truths and strata give the same bits, whatever the other PEs and replications
    are; only PEs of a node that have the same recording share a draw (`Platform.load_clocks`). Replication r of a
    series has truth `r % truth_count(scenario)`, and its loads start in one of `stratum_count(scenario)` equal parts.

    `placed_only`: leave out PEs without a process in any configuration: on a large platform most of them may be such.
    """
    pes, kernel = scenario.platform.pes, scenario.application.kernel
    asked = _placed(scenario) if placed_only else range(len(pes))
    shape = (scenario.replications, len(pes))
    starts, positions, noise = np.zeros(shape), np.full(shape, 0.5), None
    doubtful, noisy, loaded = [], [], []  # streams are keyed: leaving out draws that decide nothing shifts no other
    for index in asked:
        pe = pes[index]
        uses = pe.drawn(kernel)
        if "speed" in uses:
            band = pe.speeds[kernel]
            doubtful += [index] if band.doubtful else []
            noisy += [index] if band.noise is not None else []
        if pe.load is not None and "load" in uses:
            loaded.append((index, pe.load.trace.end_s))
        elif pe.load is not None:
            starts[:, index] = pe.load.start_s
    truths = series = None
    if scenario.doubtful:
        series, numbers = np.divmod(first + np.arange(scenario.replications), SERIES)
        truths = numbers % truth_count(scenario)
        _place(scenario, doubtful, series, truths, positions)
    if noisy:
        noise = np.full(shape, 0.5)
        for index, drawn in _drawn(scenario, noisy, first):
            noise[:, index] = drawn
    clocks, of_clock = scenario.platform.load_clocks, dict[int, list[tuple[int, float]]]()
    for index, end_s in loaded:
        of_clock.setdefault(clocks[index], []).append((index, end_s))
    for clock in of_clock:
        drawn = _starts(scenario, first, scenario.platform.draw_names[clock])
        for index, end_s in of_clock[clock]:
            starts[:, index] = drawn * end_s
    _begin_turns(scenario, first, asked, starts)
    more = _of_application(scenario, first, truths, series)
    numbered = first + np.arange(scenario.replications)
    return Draws(starts, positions, noise, truths, series, *more, numbered, _quota_places(scenario, first))


def _begin_turns(scenario: Scenario, first: int, pes: Iterable[int], starts: Floats) -> None:
    """Have loads that take turns start further in their traces, so that turns of PEs are not in step."""
    for index in pes:
        pe = scenario.platform.pes[index]
        if pe.load is not None and pe.takes_turns:
            left_s = np.inf if pe.load.trace.after_end == "cycle" else pe.load.trace.end_s - starts[:, index]
            drawn = _starts(scenario, first, f"turns of {scenario.platform.draw_names[index]}")
            starts[:, index] += drawn * np.minimum(TURNS * pe.slice_s, left_s)


def _quota_places(scenario: Scenario, first: int) -> Floats | None:
    """See `Draws`: one draw for each control group, by the name of its first PE."""
    platform = scenario.platform
    if not platform.quotas:
        return None
    found = np.zeros((scenario.replications, len(platform.pes)))
    for _, pes in platform.quotas:
        found[:, pes] = _starts(scenario, first, f"quota of {platform.draw_names[pes[0]]}")[:, np.newaxis]
    return found


def draw_one(scenario: Scenario, replication: int) -> Draws:
    """The draws of one replication of a scenario, by its number as given to `run`, as the run of all has them."""
    one = replace(scenario, replications=1, truths=truth_count(scenario), strata=stratum_count(scenario))
    return draw(one, first=replication)


def _of_application(
    scenario: Scenario, first: int, truths: Ints | None, of_series: Ints | None
) -> tuple[Floats | None, Floats | None]:
    """Deviates of the doubt of the application's model, and positions in its noise; see `Draws`."""
    doubtful, noisy = scenario.application_spreads
    deviates = positions = None
    if doubtful and truths is not None and of_series is not None:
        deviates = np.empty(truths.size)
        for series in np.unique(of_series).tolist():
            rows = np.flatnonzero(of_series == series)
            drawn = TruthKey.of(scenario, series).deviates(APPLICATION)
            deviates[rows] = drawn[truths[rows]]
    if noisy:
        numbers = range(first, first + scenario.replications)
        if len(numbers) <= FEW_DRAWS:
            positions = np.array([_uniform(scenario.seed, number, APPLICATION, "noise") for number in numbers])
        else:
            positions = randomness.firsts(scenario.seed, [(number, APPLICATION, "noise") for number in numbers])
    return deviates, positions


def _placed(scenario: Scenario) -> list[int]:
    """PEs that have a process in some configuration, and those whose loads such processes feel."""
    placed = {pe for configuration in scenario.configurations for pe in configuration.placement}
    for domain in scenario.platform.domains:
        if not placed.isdisjoint(domain.pes):
            placed.update(domain.pes)
    return sorted(placed)


def _place(scenario: Scenario, pes: list[int], of_series: Ints, truths: Ints, positions: Floats) -> None:
    """Write where the truths of some PEs lie into `positions` (replication, PE)."""
    from scipy.special import ndtr

    kernel, names = scenario.application.kernel, scenario.platform.draw_names
    for series in np.unique(of_series).tolist():
        rows = np.flatnonzero(of_series == series)
        key = TruthKey.of(scenario, series)
        for index in pes:
            parts = speed_parts(scenario.platform.pes[index].speeds[kernel], names[index])
            positions[rows, index] = ndtr(key.deviate(parts))[truths[rows]]


@dataclass(frozen=True)
class StartKey:
    """Which starts of loads: the seed, the series, how many replications share the trace, and the clock."""

    seed: int
    series: int
    turn: int
    """Which round of the series: each has so many replications."""
    strata: int
    clock: str
    """Draw name of the PE that draws for all of its clock."""

    def places(self) -> Floats:
        """Where in its trace, from 0 to 1, the load of each replication starts; (replication,)."""
        return (_places_again if self.strata <= FEW_STARTS else _places)(self)


def _places(key: StartKey) -> Floats:
    """One start in each of as many equal parts of the trace as there are replications."""
    stream = randomness.stream(key.seed, key.series, "load", key.strata, key.clock, key.turn)
    found: Floats = (stream.permutation(key.strata) + stream.random(key.strata)) / key.strata
    found = np.minimum(found, 1 - 2.0**-53)
    found.setflags(write=False)
    return found


_places_again = lru_cache(maxsize=FEW_TRUTHS)(_places)


def _starts(scenario: Scenario, first: int, clock: str) -> Floats:
    """Where in its trace, from 0 to 1, the load of a clock starts; (replication,)."""
    series, number = np.divmod(first + np.arange(scenario.replications), SERIES)
    turn, place = np.divmod(number, stratum_count(scenario))
    found = np.empty(scenario.replications)
    for index, which in np.unique(np.stack((series, turn), axis=1), axis=0).tolist():
        rows = (series == index) & (turn == which)
        key = StartKey(scenario.seed, index, which, stratum_count(scenario), clock)
        found[rows] = key.places()[place[rows]]
    return found


def _drawn(scenario: Scenario, pes: list[int], first: int) -> Iterator[tuple[int, Floats]]:
    """Each of some PEs with where in the noise of its speed it runs, from 0 to 1; (replication,)."""
    seed, names, use = scenario.seed, scenario.platform.draw_names, "speed"
    numbers = range(first, first + scenario.replications)
    if len(pes) * len(numbers) <= FEW_DRAWS:
        for pe in pes:
            yield pe, np.array([_uniform(seed, number, names[pe], use) for number in numbers])
        return
    at_once = max(1, FEW_DRAWS // len(numbers))
    for start in range(0, len(pes), at_once):
        some = pes[start : start + at_once]
        drawn = randomness.firsts(seed, [(number, names[pe], use) for pe in some for number in numbers])
        yield from zip(some, drawn.reshape(len(some), -1), strict=True)


@lru_cache(maxsize=FEW_DRAWS)
def _uniform(seed: int, replication: int, name: str, use: str) -> float:
    """One draw, remembered: a search simulates the same replications many times, and this depends on its key only."""
    return float(randomness.stream(seed, replication, name, use).random())
