"""Ways to run a stream of jobs, compared: what each gives, how it differs from others, and which change pays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from advisor import wording
from advisor.jobs.advise import BOUND, JobAdvice
from advisor.jobs.compare import LEVEL, METRICS, Compared, Metric
from advisor.report.html import render_page
from advisor.report.origin import head, provenance_section
from advisor.report.picture import lifted
from advisor.report.verdict import verdict
from advisor.results import Ends, Provenance
from simulator import blocks, documents, files, plots, units

NOTHING_COMPARED = blocks.Text("This document compares nothing.", quiet=True)
NO_ORIGIN = Provenance("", {}, None, {}, None)
"""Of a comparison that is part of an advice."""
MOST_FIRST = 4
"""Changes that the answer stands among, the stream as it is among them."""
MOST_SAID = 3
"""Differences of a metric that its sentence spells out; the table has all."""
VERDICTS = {
    "less": "less",
    "more": "more",
    "open": "cannot be distinguished",
    "alike": "equal in every draw",
    "refused": "no interval",
}
KINDS = {
    "weeks": "resampled weeks of the log",
    "users": "resampled users of the log",
    "shaken": "submissions shaken within a minute",
    "loads": "loads of the platform drawn again",
    "streams": "streams of the generator",
    "none": "none: the stream as it is",
}


@dataclass(frozen=True)
class Planned:
    """What was planned with, and what it is called."""

    source: str
    correction: str
    label: str


@dataclass(frozen=True)
class AlternativeFacts:
    """One way to run a stream, and what it gives."""

    name: str
    policy: Mapping[str, Any]
    estimates: Planned
    pes: int | None
    platform: str | None
    overloaded: str | None
    overloaded_draws: float | None
    metrics: Mapping[str, float | None]

    @property
    def setting(self) -> dict[str, str]:
        """Everything that it says of itself, in words."""
        said = {name.replace("_", " "): str(word) for name, word in self.policy.items()}
        said |= {"estimates": self.estimates.label, "PEs": str(self.pes or ""), "platform": self.platform or ""}
        return {name: word for name, word in said.items() if word}


@dataclass(frozen=True)
class Apart:
    """A difference, alone and together with others."""

    mean: float | None
    low: float | None
    high: float | None
    low_together: float | None
    high_together: float | None
    p: float | None
    holm: float | None

    def together(self, unit: str) -> str:
        """The interval of all together."""
        return units.show_range(self.low_together, self.high_together, unit=unit)

    def paid(self, chance: float | None, level: float) -> str:
        """Whether a gain, or a loss, is one by this chance."""
        if chance is None or self.mean is None:
            return VERDICTS["refused"]
        return "cannot be distinguished from 0" if chance >= 1 - level else "gains" if self.mean > 0 else "loses"


@dataclass(frozen=True)
class DifferenceFacts:
    """How one alternative differs from another: `other` minus `base`."""

    metric: str
    base: str
    other: str
    verdict: str
    apart: Apart = field(metadata=documents.FLAT)

    def pair(self, base: str | None) -> str:
        """The other one, or both where bases differ."""
        return f"{self.other} - {self.base}" if base is None else self.other

    def alone(self, level: float) -> str:
        """What it would be if it were the only one."""
        p, mean = self.apart.p, self.apart.mean
        if p is None or mean is None or self.verdict == "alike":
            return VERDICTS["alike" if self.verdict == "alike" else "refused"]
        return VERDICTS["open" if p >= 1 - level else "less" if mean < 0 else "more"]


@dataclass(frozen=True)
class Comparison:
    """What `apportion jobs compare` answers."""

    command: str = field(metadata=documents.SPARE)
    stream: str
    jobs: int | None
    draws: str
    replications: int | None
    units: float | None
    level: float | None
    warm_up: float | None
    seed: int | None
    refused: str | None
    untold: Mapping[str, str | None]
    """By metric: why no interval is stated; empty where one is."""
    alternatives: tuple[AlternativeFacts, ...]
    differences: tuple[DifferenceFacts, ...]
    warnings: tuple[str, ...] = ()
    provenance: Provenance = NO_ORIGIN

    @property
    def held(self) -> float:
        """How often intervals hold."""
        return self.level or LEVEL

    @property
    def title(self) -> str:
        """How many jobs of which stream."""
        return f"{wording.counted(self.jobs, 'job')} of {self.stream or 'a stream'}"

    @property
    def drawn(self) -> str:
        """How many draws, by which seed."""
        parts = [] if self.replications is None else [wording.counted(self.replications, "draw")]
        return ", ".join([*parts, *([] if self.seed is None else [f"seed {self.seed}"])])

    def by_metric(self) -> dict[str, list[DifferenceFacts]]:
        """The differences of each metric."""
        found: dict[str, list[DifferenceFacts]] = {}
        for one in self.differences:
            found.setdefault(one.metric, []).append(one)
        return found


@dataclass(frozen=True)
class Base:
    """What changes are counted from."""

    name: str
    value: float | None
    overloaded: str | None


@dataclass(frozen=True)
class Change:
    """A change, and what it gains."""

    name: str
    kind: str
    value: float | None
    gain: Apart
    share: float | None
    chance_best: float | None
    price: float | None
    gain_per_price: float | None
    overloaded: str | None


@dataclass(frozen=True)
class Changes:
    """What `apportion jobs` answers."""

    command: str
    sentence: str
    refused: str | None
    objective: str
    base: Base
    candidates: tuple[Change, ...]
    pays_most: str | None
    ties: tuple[str, ...]
    pays_most_per_price: str | None
    ties_per_price: tuple[str, ...]
    compared: Comparison
    provenance: Provenance
    warnings: tuple[str, ...] = ()


# Pages


def comparison_page(found: Comparison, run: tuple[blocks.Command, ...] = ()) -> blocks.Page:
    """What is less and what is more, what each alternative gives, how it was asked."""
    count = len(found.alternatives)
    picture, rest = lifted(_differences(found))
    values = {
        f"{metric_of(name).said} of {one.name}": _value(value, name)
        for one in found.alternatives[:1]
        for name, value in one.metrics.items()
    }
    return blocks.Page(
        title=f"{found.title}: {wording.counted(count, 'alternative')} compared",
        answer=" ".join(sentences(found)) or "Nothing is compared: there is one alternative only.",
        sections=(
            blocks.Section("differences", "Differences", rest),
            _alternatives_section(found),
            _asked_section(found),
            provenance_section(found.provenance, found.seed),
        ),
        settings=found.drawn,
        picture=tuple((figure,) for figure in picture),
        run=run,
        facts=_facts(found),
        rows=_first_alternatives(found),
        verdict=verdict((*found.warnings, *overload_sentences(found))),
        key_figures=blocks.pairs({name: text for name, text in values.items() if text != wording.NOTHING}),
        **head(found.command, (*found.warnings, *overload_sentences(found)), found.provenance),
    )


def changes_page(found: Changes, run: tuple[blocks.Command, ...] = ()) -> blocks.Page:
    """Which change pays most, what each gives, how it was asked."""
    compared, objective = found.compared, found.objective
    most = next((one for one in found.candidates if one.name == found.pays_most), None)
    picture, rest = lifted(tuple(_changes(found)))
    figures = {
        f"{metric_of(objective).said} as it is": _value(found.base.value, objective),
        "with the change that pays most": _value(None if most is None else most.value, objective),
        "chance that it is the best one": wording.probability(None if most is None else most.chance_best),
        "not distinguished from it": str(len(found.ties) or wording.NOTHING),
    }
    return blocks.Page(
        title=f"{compared.title}: which change pays most",
        answer=found.sentence or "Nothing was compared.",
        sections=(
            blocks.Section("changes", "Which change pays most", rest or (NOTHING_COMPARED,)),
            _asked_section(compared),
            provenance_section(found.provenance, compared.seed),
        ),
        settings=compared.drawn,
        picture=tuple((figure,) for figure in picture),
        run=run,
        facts=_facts(compared),
        rows=_first_changes(found),
        verdict=verdict((*found.warnings, *overload_sentences(compared))),
        key_figures=blocks.pairs({name: text for name, text in figures.items() if text != wording.NOTHING}),
        **head(found.command, (*found.warnings, *overload_sentences(compared)), found.provenance),
    )


def _facts(found: Comparison) -> blocks.Pairs:
    """What the numbers rest on."""
    kind = KINDS.get(found.draws, found.draws)
    drawn = ", ".join(filter(None, (found.drawn, kind)))
    return blocks.pairs({"Rests on": f"{found.title}, simulated; {drawn}"})


def _first_alternatives(found: Comparison) -> blocks.Table | None:
    """What each alternative gives, and by how much the first metric differs."""
    names = list(found.alternatives[0].metrics)[:2] if found.alternatives else []
    if not names:
        return None
    apart = {one.other: one for one in found.differences if one.metric == names[0]}
    rows = [
        (one.name, *(_value(one.metrics.get(name), name) for name in names), _apart_text(apart.get(one.name)))
        for one in found.alternatives
    ]
    return blocks.table("", ("alternative", *(metric_of(name).said for name in names), "difference"), rows)


def _apart_text(one: DifferenceFacts | None) -> str:
    if one is None:
        return wording.NOTHING
    return f"{wording.with_interval(one.apart, metric_of(one.metric).unit)}, {VERDICTS.get(one.verdict, one.verdict)}"


def _first_changes(found: Changes) -> blocks.Table:
    """The stream as it is, and the changes that gain most."""
    objective, unit = found.objective, metric_of(found.objective).unit
    ranked = sorted(found.candidates, key=lambda one: -(one.gain.mean or 0.0))
    rows = [
        (
            one.name,
            _value(one.value, objective),
            wording.with_interval(one.gain, unit),
            wording.probability(one.chance_best),
        )
        for one in ranked
        if one.kind != BOUND
    ]
    now = (f"as it is: {found.base.name}", _value(found.base.value, objective), wording.NOTHING, wording.NOTHING)
    head = ("change", metric_of(objective).said, "lower by", "is best")
    return blocks.table("", head, [*rows[: MOST_FIRST - 1], now])


def overload_sentences(found: Comparison) -> tuple[str, ...]:
    """Which alternatives are overloaded, and why."""
    return tuple(
        f"overloaded: {one.name}: {one.overloaded}; no interval is stated of it"
        for one in found.alternatives
        if one.overloaded
    )


def metric_of(name: str) -> Metric:
    """A metric; one that is not known is called by its name."""
    return METRICS.get(name, Metric(name, "", wording.clean(name), ""))


def _value(value: float | None, name: str) -> str:
    """A value of a metric with its unit."""
    return wording.duration(value) if metric_of(name).unit == "s" else wording.digits(value, 4)


def _alternatives_section(found: Comparison) -> blocks.Section:
    """What each alternative gives."""
    if not found.alternatives:
        return blocks.Section("alternatives", "Alternatives", (NOTHING_COMPARED,))
    names = list(found.alternatives[0].metrics)
    rows = [
        [one.name, *(_value(one.metrics.get(name), name) for name in names), _crowded(one)]
        for one in found.alternatives
    ]
    title = ["alternative", *(metric_of(name).said for name in names), "overloaded"]
    of_draws = found.draws in {"streams", "shaken", "loads"}
    note = "Means over the draws." if of_draws else "Of the stream as it is; draws tell how far off that is."
    if all(row[-1] == "no" for row in rows):
        title, rows = title[:-1], [row[:-1] for row in rows]
    return blocks.Section("alternatives", "Alternatives", (blocks.table("What each gives", title, rows, note=note),))


def _crowded(one: AlternativeFacts) -> str:
    if one.overloaded:
        return "yes"
    return f"{100 * one.overloaded_draws:.0f} % of the draws" if one.overloaded_draws else "no"


def _differences(found: Comparison) -> tuple[blocks.Block, ...]:
    """For each metric a figure of the differences, and a table with both verdicts."""
    shown = [block for name, rows in found.by_metric().items() for block in _metric_blocks(found, name, rows)]
    if any(one.apart.low is not None for one in found.differences):
        shown.append(blocks.Text(_how_judged(found.held), quiet=True))
    alone = blocks.Text("There is one alternative only, so nothing differs.", quiet=True)
    return tuple(shown) or (alone,)


def _metric_blocks(found: Comparison, name: str, rows: Sequence[DifferenceFacts]) -> Iterator[blocks.Block]:
    metric, bases = metric_of(name), {one.base for one in rows}
    base = rows[0].base if len(bases) == 1 else None
    drawn = plots.differences(
        [{**vars(one.apart), "name": one.pair(base), "sure": one.verdict in {"less", "more"}} for one in rows],
        axis=f"difference of the {metric.said}{f' in {metric.unit}' if metric.unit else ''}",
        title=f"Differences of the {metric.said}",
        level=found.held,
        less_is_better=metric.less_is_better,
        kind=name,
    )
    from_base = f"minus that of {base}" if base is not None else "first minus second"
    said = metric.said.capitalize()
    if drawn:
        yield blocks.Figure(drawn, f"{said} of each alternative, {from_base}.")
    cells = [
        [
            one.pair(base),
            wording.with_interval(one.apart, metric.unit),
            one.alone(found.held),
            one.apart.together(metric.unit),
            VERDICTS.get(one.verdict, one.verdict),
        ]
        for one in rows
    ]
    first = "pair" if base is None else "alternative"
    why = found.untold.get(name)
    title = [first, "difference", "by itself", "interval of all together", "of all"]
    yield blocks.table(f"{said}, {from_base}", title, cells, note=f"No interval: {why}." if why else "")


def _how_judged(level: float) -> str:
    percent = wording.level_text(level)
    return (
        f"Intervals hold with {percent} each; those of all together hold at once with {percent}, over all metrics "
        "(Bonferroni). By itself: what the interval of this difference says alone. Of all: what remains sure after "
        "Holm's correction for all differences of the metric, which may tell more than the interval of all together."
    )


def _asked_section(found: Comparison) -> blocks.Section:
    """The stream, the draws, and each alternative in full."""
    count, kind = found.replications, KINDS.get(found.draws, found.draws)
    facts = {
        "Stream": found.stream,
        "Jobs": str(found.jobs or ""),
        "Draws": ", ".join(filter(None, (f"{count:.0f}" if count else "", kind))),
        "The log counts as": "" if found.units is None else f"{found.units:.4g} independent parts",
        "Intervals hold with": "" if found.level is None else wording.level_text(found.level),
        "Left out of averages": f"the first {100 * found.warm_up:g} % of the jobs to end" if found.warm_up else "",
        "Seed": "" if found.seed is None else str(found.seed),
    }
    return blocks.Section("asked", "What was asked", (blocks.pairs(facts), *_settings(found.alternatives)))


def _settings(alternatives: Sequence[AlternativeFacts]) -> Iterator[blocks.Block]:
    """What is the same in all alternatives, and a table of what is not."""
    said = [one.setting for one in alternatives]
    if not said:
        return
    fields = list(dict.fromkeys(name for one in said for name in one))
    differing = [name for name in fields if len({one.get(name) for one in said}) > 1]
    same = ", ".join(f"{name} {said[0][name]}" for name in fields if name not in differing)
    yield blocks.pairs({"The same in all": same})
    if differing:
        rows = [
            [one.name, *(setting.get(name, wording.NOTHING) for name in differing)]
            for one, setting in zip(alternatives, said, strict=True)
        ]
        yield blocks.table("What is not", ["alternative", *differing], rows, text_columns=1 + len(differing))


def _changes(found: Changes) -> Iterator[blocks.Block]:
    """Each change with its gain, both verdicts, the chance that it is the best, and what its price buys."""
    changes = sorted(found.candidates, key=lambda one: -(one.gain.mean or 0.0))
    if not changes:
        return
    level, metric = found.compared.held, metric_of(found.objective)
    better = "lower" if metric.less_is_better else "higher"
    drawn = plots.differences(
        [
            {
                **vars(one.gain),
                "name": _with_chance(one),
                "sure": one.gain.holm is not None and one.gain.holm < 1 - level,
            }
            for one in changes
        ],
        axis=f"{metric.said} is {better} by{f' in {metric.unit}' if metric.unit else ''}",
        title="Gain of each change",
        level=level,
        less_is_better=False,
        kind="gains",
    )
    if drawn:
        caption = f"By how much each change makes the {metric.said} {better}, and how likely it is the best one."
        yield blocks.Figure(drawn, caption)
    yield _changes_table(found, changes, level, better)


def _with_chance(one: Change) -> str:
    if one.kind == BOUND or one.chance_best is None:
        return one.name
    return f"{one.name}: best with {wording.probability(one.chance_best)}"


def _changes_table(found: Changes, changes: Sequence[Change], level: float, better: str) -> blocks.Table:
    metric, priced = metric_of(found.objective), any(one.price is not None for one in changes)
    rows = [[f"as it is: {found.base.name}", _value(found.base.value, found.objective), *[wording.NOTHING] * 7]]
    for one in changes:
        gain = one.gain
        rows.append(
            [
                one.name,
                _value(one.value, found.objective),
                wording.with_interval(gain, metric.unit),
                gain.paid(gain.p, level),
                gain.together(metric.unit),
                gain.paid(gain.holm, level),
                "bound" if one.kind == BOUND else wording.probability(one.chance_best),
                *map(wording.digits, (one.price, one.gain_per_price)),
            ]
        )
    title = ["change", metric.said, f"{better} by", "by itself", "interval of all together", "of all", "is best"]
    title += ["price", "gain per price"] if priced else []
    note = f"No interval: {found.refused}." if found.refused else _changes_note(found, level)
    return blocks.table(
        "Changes, largest gain first",
        title,
        [row[: len(title)] for row in rows],
        best=found.pays_most or None,
        tag="pays most",
        note=note,
    )


def _changes_note(found: Changes, level: float) -> str:
    bound = " A bound is what nobody can have; it shows what better estimates could give at most."
    said = _how_judged(level) + (bound if any(one.kind == BOUND for one in found.candidates) else "")
    return said + (f" Not distinguished from what pays most: {', '.join(found.ties)}." if found.ties else "")


# Words of differences


def sentences(found: Comparison) -> list[str]:
    """One for each metric: what is surely less or more, what cannot be distinguished, or why no interval is stated."""
    return [_sentence(found, metric_of(name), rows) for name, rows in found.by_metric().items()]


def _sentence(found: Comparison, metric: Metric, rows: Sequence[DifferenceFacts]) -> str:
    said = metric.said.capitalize()
    if why := found.untold.get(metric.name):
        return f"{said}: no interval is stated, because {why}."
    parts = (
        _surely(metric, rows, "less"),
        _surely(metric, rows, "more"),
        _counted(rows, "open", "cannot be distinguished from"),
        _counted(rows, "alike", "is in every draw equal to"),
        _not_judged(found, rows),
    )
    return f"{said}: {'; '.join(filter(None, parts))}."


def _surely(metric: Metric, rows: Iterable[DifferenceFacts], verdict: str) -> str:
    found = [one for one in rows if one.verdict == verdict]
    said = [
        f"{_quoted(one.other)} has surely {verdict} than {_quoted(one.base)}, by {_by(one.apart, metric.unit)}"
        for one in found[:MOST_SAID]
    ]
    more = f"{len(found) - MOST_SAID} more have surely {verdict}" if len(found) > MOST_SAID else ""
    return "; ".join(filter(None, (*said, more)))


def _counted(rows: Iterable[DifferenceFacts], verdict: str, text: str) -> str:
    """Those of a verdict by base, since they have no number."""
    found: dict[str, list[str]] = {}
    for one in rows:
        if one.verdict == verdict:
            found.setdefault(_quoted(one.base), []).append(_quoted(one.other))
    return "; ".join(f"{wording.listed(others)} {text} {base}" for base, others in found.items())


def _not_judged(found: Comparison, rows: Iterable[DifferenceFacts]) -> str:
    """Differences without an interval though the metric has some: of what is overloaded, or hardly ever differs."""
    crowded = {one.name for one in found.alternatives if one.overloaded}
    silent = [one for one in rows if one.verdict == "refused"]
    both = [one for one in silent if {one.base, one.other} & crowded]
    touched = sorted(_quoted(name) for name in crowded & {name for one in both for name in (one.base, one.other)})
    rest = [f"{_quoted(one.other)} and {_quoted(one.base)}" for one in silent if one not in both]
    over = f"nothing is stated of {wording.listed(touched)}, overloaded" if touched else ""
    few = f"nothing is stated of {wording.listed(rest)}, which differ in too few draws" if rest else ""
    return "; ".join(filter(None, (over, few)))


def _quoted(name: str) -> str:
    """A name in a sentence; in quotation marks where a comma in it would read as the end of it."""
    return f"'{name}'" if "," in name else name


def _by(one: Apart, unit: str) -> str:
    """How much less or more, without a sign."""
    if one.mean is None or one.mean >= 0:
        return wording.with_interval(one, unit)
    low, high = (None if end is None else -end for end in (one.high, one.low))
    return wording.with_interval(Ends(-one.mean, low, high), unit)


# Folders


def save_comparison(found: Compared, page: blocks.Page, document: Mapping[str, Any], folder: Path) -> None:
    """What `jobs compare -o` names: comparison.json, draws.csv, report.html and manifest.json."""
    _save(found, page, document, folder, name="comparison.json", about=document)


def save_advice(found: JobAdvice, page: blocks.Page, document: Mapping[str, Any], folder: Path) -> None:
    """What `jobs advise -o` names: advice.json, draws.csv, report.html and manifest.json."""
    _save(found.compared, page, document, folder, name="advice.json", about=document["compared"])


def _save(
    found: Compared,
    page: blocks.Page,
    document: Mapping[str, Any],
    folder: Path,
    *,
    name: str,
    about: Mapping[str, Any],
) -> None:
    """The document under a name, what each draw gave, the page, and which of them is which."""
    text = render_page(page)
    files.write_text(folder / "draws.csv", files.csv_lines(_draw_rows(found)))
    files.write_json(folder / name, document)
    files.write_text(folder / "report.html", text)
    said = {key: document[key] for key in ("format", "command", "sentence", "provenance") if key in document}
    said |= {key: about[key] for key in ("stream", "draws", "replications")}
    files.write_json(folder / "manifest.json", said | {"files": [name, "draws.csv", "report.html"]})


def _draw_rows(found: Compared) -> list[tuple[object, ...]]:
    """A row for each draw, alternative and metric, under a header."""
    return [
        ("draw", "alternative", "metric", "value"),
        *(
            (draw, one.name, metric.name, repr(float(found.values[draw, place, number])))
            for draw in range(found.values.shape[0])
            for place, one in enumerate(found.alternatives)
            for number, metric in enumerate(found.metrics)
        ),
    ]
