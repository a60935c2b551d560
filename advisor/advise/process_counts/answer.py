"""What an advice on process counts answers, as data, and how it is said: a sentence, tables, a page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from advisor import wording
from advisor.advise.process_counts.search import Counts
from advisor.results import Provenance
from simulator import documents, notebook, plots

TOP = 10
"""Configurations that a table shows if nothing else is asked for."""
SHOWN = 0.005
"""Gains below it are none: they would be printed as 0 %."""
BASELINES = {
    "one-per-pe": "one process on every PE",
    "fastest-kind": "one on each PE of the fastest kind",
    "fastest-pe": "one on the fastest PE",
    "speed-ratio": "processes in proportion to speed",
}
"""What the names mean."""


@dataclass(frozen=True)
class Regret:
    """How much slower a configuration may be than the best of the shortlist, over the model's members."""

    expected: float
    """Mean, as a share."""
    risk: float
    """95 % quantile, as a share."""
    p_best: float
    """Chance that no other is faster."""


@dataclass(frozen=True)
class Baseline:
    """A naive configuration to compare the advised one with."""

    name: str
    configuration: Counts
    estimate_s: Mapping[str, float] | None
    """`mean`, `low`, `high`; None where memory does not hold it or the model does not know it."""
    times_longer: Mapping[str, float] | None
    """Times as long as the advised one: by the estimates, and the interval over the model's members, paired."""


FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """A configuration of the ranking."""

    configuration: Counts
    processes: int
    estimate_s: Mapping[str, float]
    p_best: float
    """Chance to be the best, of the first hundred."""
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ProcessCountAdvice:
    """Which configuration to run, and by how much it is better than others."""

    format: int = FORMAT
    command: str = "advise"
    size: float
    level: float
    """Probability of the intervals."""
    kinds: Mapping[str, Mapping[str, int]]
    """What may be used, `pes` and the `most` processes on one; a kind of the model that is not named is not used."""
    configuration: Counts = field(metadata=documents.named("best"))
    """The advised one, of all kinds of the model."""
    processes: int
    estimate_s: Mapping[str, float]
    """Of the advised one: `mean`, `low`, `high`."""
    regret: Regret
    """Of the advised one."""
    searched: int = field(metadata=documents.named("configurations"))
    """How many configurations there are."""
    ranking: tuple[Entry, ...]
    """By estimate, the advised one first."""
    baselines: tuple[Baseline, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    provenance: Provenance
    hostfiles: tuple[str, ...] | None = field(default=None, metadata=documents.SPARE)
    commands: str = field(default="", metadata=documents.SPARE)
    """How these are used."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return documents.by_field(self)

    def _repr_html_(self) -> str:
        return page(self)


def configuration_text(configuration: Counts) -> str:
    """`fast 1x2 + slow 3x1`: PEs times processes on each, of the kinds that take part."""
    used = {name: part for name, part in configuration.items() if part["pes"]}
    return " + ".join(f"{wording.clean(name)} {part['pes']}x{part['procs']}" for name, part in used.items())


def sentence(advice: ProcessCountAdvice) -> str:
    """What to do, how long it takes, and what that gains over one process on every PE."""
    parts = []
    for name, part in advice.configuration.items():
        if part["pes"]:
            there = advice.kinds[name]["pes"]
            several = f"each of {part['pes']} " if part["pes"] > 1 else "one " if there > 1 else ""
            parts.append((part["procs"], f"{several}{wording.clean(name)}"))
    first, *rest = parts
    what = f"{first[0]} process{'es' if first[0] > 1 else ''} on {first[1]}"
    more = [f"{each} on {where}" for each, where in rest]
    what = " and ".join([", ".join([what, *more[:-1]]), *more[-1:]])
    found = advice.estimate_s
    known = len({wording.duration(found[end]) for end in ("low", "mean", "high")}) == 1
    return f"Run {what}: {wording.duration(found['mean'])}{'' if known else f' ({_interval(found)})'}{_gained(advice)}"


def _interval(estimate_s: Mapping[str, float]) -> str:
    return f"{wording.duration(estimate_s['low'])} to {wording.duration(estimate_s['high'])}"


def _gained(advice: ProcessCountAdvice) -> str:
    plain = next((one for one in advice.baselines if one.name == "one-per-pe"), None)
    if plain is None:
        return ""
    meaning = BASELINES["one-per-pe"]
    if plain.configuration == advice.configuration:
        return f", which is {meaning}"
    if plain.times_longer is None:
        return f"; {meaning} cannot be estimated or does not fit"
    saved = 1 - 1 / plain.times_longer["mean"]
    if abs(saved) < SHOWN:
        return f", as long as {meaning}"
    return f", {100 * abs(saved):.0f} % {'less' if saved >= 0 else 'more'} than {meaning}"


def render_choice(advice: ProcessCountAdvice, *, top: int = TOP) -> str:
    """The whole advice for a terminal: sentence, ranking, baselines, notes and warnings."""
    return "\n".join(_lines(advice, top))


def _lines(advice: ProcessCountAdvice, top: int) -> Iterator[str]:
    yield sentence(advice)
    yield ""
    ranking = advice.ranking[:top]
    every = [*(one.configuration for one in ranking), *(one.configuration for one in advice.baselines)]
    width = max(map(len, map(configuration_text, every)))
    interval = f"{100 * advice.level:g} % interval"
    yield f"{'configuration':<{width}}{'P':>7}{'estimate':>12}   {interval:<26}{'best':>6}"
    for entry in ranking:
        found = entry.estimate_s
        yield (
            f"{configuration_text(entry.configuration):<{width}}{entry.processes:>7}"
            f"{wording.duration(found['mean']):>12}   {_interval(found):<26}{wording.probability(entry.p_best):>6}"
        )
    if advice.searched > len(ranking):
        yield f"... of {advice.searched:,} configurations".replace(",", " ")
    yield ""
    yield from _baseline_lines(advice, width)
    regret = advice.regret
    yield (
        f"regret: {100 * regret.expected:.1f} % expected, {100 * regret.risk:.1f} % in the worst case of 20; "
        f"a chance of {wording.probability(regret.p_best)} to be the best"
    )
    yield from (f"note: {line}" for line in advice.notes)
    yield from (f"warning: {line}" for line in advice.warnings)


def _baseline_lines(advice: ProcessCountAdvice, width: int) -> Iterator[str]:
    same: dict[str, list[Baseline]] = {}
    for entry in advice.baselines:
        same.setdefault(configuration_text(entry.configuration), []).append(entry)
    for text, entries in same.items():
        found, longer = entries[0].estimate_s, entries[0].times_longer
        seconds = f"{'-':>12}   not estimated, or memory does not hold it"
        if found is not None and longer is not None:
            seconds = f"{wording.duration(found['mean']):>12}   {longer['mean']:.2f} times as long"
        names = "; ".join(BASELINES.get(entry.name, entry.name) for entry in entries)
        yield f"{text:<{width}}{'':>7}{seconds}: {names}"
    yield ""


def _picture(advice: ProcessCountAdvice) -> str:
    """What is advised and the baselines, by their estimates."""
    every = [("advised", advice.estimate_s), *((one.name, one.estimate_s) for one in advice.baselines)]
    rows = [plots.Makespan(name, took["mean"], (took["low"], took["high"])) for name, took in every if took is not None]
    return plots.makespans(rows, "advised", mark="advised").svg()


def page(advice: ProcessCountAdvice) -> str:
    """The advice for a notebook."""
    rows = [
        {
            "configuration": configuration_text(entry.configuration),
            "P": entry.processes,
            "estimate (s)": entry.estimate_s["mean"],
            "low (s)": entry.estimate_s["low"],
            "high (s)": entry.estimate_s["high"],
        }
        for entry in advice.ranking[:TOP]
    ]
    table = notebook.table(rows, count=len(advice.ranking))
    return notebook.page(sentence(advice), _picture(advice), table, warnings=advice.warnings)
