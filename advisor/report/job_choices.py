"""Ways to run a stream of jobs, compared: what each gives, how it differs from others, and which change pays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from advisor import wording
from advisor.jobs.advise import BOUND
from advisor.jobs.backtest import NEARLY_S, WITHIN, Backtest, Both
from advisor.jobs.compare import METRICS, Compared, Metric
from advisor.jobs.paired import Apart
from advisor.report.html import render_page
from advisor.report.job_answers import AlternativeFacts, Change, Comparison, DifferenceFacts, JobsAdvised, JobsCompared
from advisor.report.origin import head, provenance_section
from advisor.report.picture import lifted
from advisor.report.verdict import verdict
from advisor.results import Ends
from simulator import blocks, documents, files, plots

MOST_FIRST = 4
"""Changes that the answer stands among, the stream as it is among them."""
MOST_DRAINED = 2
"""Kinds of nodes with which the queue is said to drain."""
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


# Pages


def comparison_page(answered: JobsCompared, run: tuple[blocks.Command, ...] = ()) -> blocks.Page:
    """What is less and what is more, what each alternative gives, how it was asked."""
    found = answered.compared
    picture, rest = lifted(_differences(found))
    page = blocks.Page(
        title=f"{_title(found)}: {wording.counted(len(found.alternatives), 'alternative')} compared",
        answer=" ".join(sentences(found)) or "Nothing is compared: there is one alternative only.",
        sections=(blocks.Section("differences", "Differences", rest), _alternatives_section(found)),
        rows=_first_alternatives(found),
    )
    return _around(page, answered, found, picture, run)


def changes_page(found: JobsAdvised, run: tuple[blocks.Command, ...] = ()) -> blocks.Page:
    """Which change pays most, what each gives, how it was asked."""
    picture, rest = lifted(tuple(_changes(found)))
    test = found.backtest
    page = blocks.Page(
        title=f"{_title(found.compared)}: which change pays most",
        answer=_answer(found),
        sections=(
            blocks.Section("changes", "Which change pays most", rest),
            *_besides(found),
            *(() if test is None else (_backtest_section(test),)),
        ),
        rows=_first_changes(found),
    )
    return _around(page, found, found.compared, picture, run)


def _answer(found: JobsAdvised) -> str:
    """Whether to believe it, how many PEs a target needs, which change pays most, what an overloaded stream needs."""
    test = found.backtest
    first = [] if test is None or test.agrees else [test.sentence]
    first += [one.sentence for one in found.capacity[:1]]
    others = [f"{one.count} {one.of}" for one in found.capacity[1:]]
    first += [f"As good: {wording.listed(others)}."] if others else []
    said = found.sentence if not first else f"Simulated, {found.sentence}"
    drains = " or ".join(f"{one.fewest} {one.of}" for one in found.drains_from[:MOST_DRAINED])
    said += f"; the queue drains with {drains}" if drains else ""
    return " ".join([*first, said])


def _around(
    page: blocks.Page,
    answered: JobsCompared | JobsAdvised,
    found: Comparison,
    picture: tuple[blocks.Figure, ...],
    run: tuple[blocks.Command, ...],
) -> blocks.Page:
    """A page with what both kinds have: what was asked, what numbers rest on, what is overloaded or not simulated."""
    test = answered.backtest if isinstance(answered, JobsAdvised) else None
    crowded = (*overload_sentences(found), *(() if test is None or test.agrees else test.reasons))
    return replace(
        page,
        sections=(*page.sections, provenance_section(answered.provenance, found.seed)),
        settings=_drawn(found),
        picture=tuple((figure,) for figure in picture),
        run=run,
        facts=_facts(found, answered),
        told=_told(answered),
        verdict=verdict(crowded),
        **head(answered.command, crowded, answered.provenance),
    )


def _title(found: Comparison) -> str:
    return f"{wording.counted(found.jobs, 'job')} of {found.stream or 'a stream'}"


def _drawn(found: Comparison) -> str:
    return f"{wording.counted(found.replications, 'draw')}, seed {found.seed}"


def _facts(found: Comparison, answered: JobsCompared | JobsAdvised) -> blocks.Pairs:
    """What the numbers rest on."""
    rests = f"{_title(found)}, predicted; {_drawn(found)}, {KINDS[found.draws]}"
    judged = isinstance(answered, JobsCompared) or answered.backtest is not None or found.draws in {"loads", "streams"}
    untold = "" if judged else "tells too few waits to say whether the simulation is right for it"
    return blocks.pairs({"Rests on": rests, "Log": untold})


def _told(answered: JobsCompared | JobsAdvised) -> blocks.Pairs:
    """What the change that pays most does besides, whether the log is simulated rightly, and what Slurm is set to."""
    if isinstance(answered, JobsCompared):
        return blocks.pairs({})
    test, done = answered.backtest, answered.effects
    log = test.sentence if test is not None and test.agrees else ""
    besides = "" if done is None else done.sentence
    return blocks.pairs({"Besides": besides, "Log": log, "slurm.conf": "; ".join(answered.slurm_conf)})


def _backtest_section(test: Backtest) -> blocks.Section:
    """What the log tells beside what is simulated, by size and by week."""
    head = ("jobs of", "jobs", "mean wait, log", "simulated")
    waits = replace(test.wait_s, name="all sizes")
    groups = (waits, *test.by_size, *(replace(one, name=f"partition {one.name}") for one in test.by_partition))
    sizes, weeks = ([_waits(one) for one in rows] for rows in (groups, test.by_week))
    slow, used = test.slowdown, test.utilisation
    said = (
        f"{test.sentence} A usual week is off by a factor of {test.weekly:.3g}. Bounded slowdown: {slow.log:.3g} in "
        f"the log, {slow.simulated:.3g} simulated; utilisation: {wording.percent(used.log)} and "
        f"{wording.percent(used.simulated)}."
    )
    note = f"Factor: between waits of a job, each with {NEARLY_S:g} s more. Up to {WITHIN:g} the means agree."
    tried = blocks.table(
        "Policies", ("policy", "factor"), [(one.policy, f"{one.factor:.3g}") for one in test.tried], note=note
    )
    reasons = () if test.agrees else test.reasons
    shown: tuple[blocks.Block, ...] = (
        blocks.Text(said),
        *(blocks.Text(f"{reason[:1].upper()}{reason[1:]}.") for reason in reasons),
        blocks.table("Waits by size and partition", head, sizes),
        blocks.Folded("Waits by week, and the policies that were tried", (blocks.table("", head, weeks), tried)),
    )
    return blocks.Section("backtest", "Is the simulation right for this log", shown)


def _besides(found: JobsAdvised) -> Iterator[blocks.Section]:
    """What the change that pays most does to whom, and what slurm.conf says for it."""
    done = found.effects
    if done is None:
        return
    groups = (done.longest, *done.by_size, *done.by_queue)
    rows = [(one.name, str(one.jobs), *map(wording.duration, (one.before_s, one.after_s))) for one in groups]
    shown: list[blocks.Block] = [blocks.Text(done.sentence)]
    shown.append(blocks.table("Mean waits, simulated", ("jobs", "how many", "now", "then"), rows))
    shown += [blocks.Text("In slurm.conf: " + "; ".join(found.slurm_conf))] if found.slurm_conf else []
    yield blocks.Section("besides", f"What {found.pays_most} does besides", tuple(shown))


def _waits(one: Both) -> tuple[str, ...]:
    return one.name, str(one.jobs), wording.duration(one.log), wording.duration(one.simulated)


def _first_alternatives(found: Comparison) -> blocks.Table:
    """What each alternative gives, and by how much the first metric differs."""
    names = list(found.alternatives[0].metrics)[:2]
    apart = {one.other: one for one in found.differences if one.metric == names[0]}
    rows = [(*_values(one, names), _apart_text(apart.get(one.name))) for one in found.alternatives]
    return blocks.table("", (*_heads(names), "difference"), rows)


def _apart_text(one: DifferenceFacts | None) -> str:
    if one is None:
        return wording.NOTHING
    return f"{wording.with_interval(one.apart, METRICS[one.metric].unit)}, {VERDICTS[one.verdict]}"


def _first_changes(found: JobsAdvised) -> blocks.Table:
    """The stream as it is, and the changes that gain most."""
    whole, shown = _changes_table(found), (0, 1, 2, 4)
    now, *others = [[row[column] for column in shown] for row in whole.rows if row[4] != BOUND]
    return blocks.table("", [whole.head[column] for column in shown], [*others[: MOST_FIRST - 1], now])


def overload_sentences(found: Comparison) -> tuple[str, ...]:
    """Which alternatives are overloaded, and why."""
    return tuple(
        f"overloaded: {one.name}: {one.overloaded}; no interval is stated of it"
        for one in found.alternatives
        if one.overloaded
    )


def _value(value: float | None, name: str) -> str:
    """A value of a metric with its unit."""
    return wording.duration(value) if METRICS[name].unit == "s" else wording.digits(value, 4)


def _heads(names: Iterable[str]) -> list[str]:
    return ["alternative", *(METRICS[name].said for name in names)]


def _values(one: AlternativeFacts, names: Iterable[str]) -> list[str]:
    """An alternative with its metrics."""
    return [one.name, *(_value(one.metrics.get(name), name) for name in names)]


def _alternatives_section(found: Comparison) -> blocks.Section:
    """What each alternative gives."""
    names = list(found.alternatives[0].metrics)
    rows = [[*_values(one, names), _crowded(one)] for one in found.alternatives]
    title = [*_heads(names), "overloaded"]
    of_draws = found.draws in {"streams", "shaken", "loads"}
    note = "Means over the draws." if of_draws else "Of the stream as it is; draws tell how far off that is."
    note += "" if found.units is None else f" The log counts as {found.units:.4g} independent parts."
    note += f" The first {100 * found.warm_up:g} % of the jobs to end are left out." if found.warm_up else ""
    if all(row[-1] == "no" for row in rows):
        title, rows = title[:-1], [row[:-1] for row in rows]
    gives = blocks.table("What each gives, predicted", title, rows, note=note)
    return blocks.Section("alternatives", "Alternatives", (gives,))


def _crowded(one: AlternativeFacts) -> str:
    if one.overloaded:
        return "yes"
    return f"{100 * one.overloaded_draws:.0f} % of the draws" if one.overloaded_draws else "no"


def _differences(found: Comparison) -> tuple[blocks.Block, ...]:
    """For each metric a figure of the differences, and a table with both verdicts."""
    shown = [block for name, rows in found.by_metric().items() for block in _metric_blocks(found, name, rows)]
    if any(one.apart.low is not None for one in found.differences):
        shown.append(blocks.Text(_how_judged(found.level), quiet=True))
    return tuple(shown)


def _metric_blocks(found: Comparison, name: str, rows: Sequence[DifferenceFacts]) -> Iterator[blocks.Block]:
    metric, bases = METRICS[name], {one.base for one in rows}
    base = rows[0].base if len(bases) == 1 else None
    told = [one for one in rows if one.apart.low is not None]
    drawn = plots.differences(
        [_apart(_pair(one, base), one.apart, sure=one.verdict in {"less", "more"}) for one in told],
        axis=f"difference of the {metric.said}{f' in {metric.unit}' if metric.unit else ''}",
        title=f"Differences of the {metric.said}",
        level=found.level,
        less_is_better=metric.less_is_better,
        kind=name,
    )
    from_base = f"minus that of {base}" if base is not None else "first minus second"
    said = metric.said.capitalize()
    if drawn:
        yield blocks.Figure(drawn, f"{said} of each alternative, {from_base}.")
    cells = [[_pair(one, base), wording.with_interval(one.apart, metric.unit), VERDICTS[one.verdict]] for one in rows]
    first = "pair" if base is None else "alternative"
    why = found.untold.get(name)
    yield blocks.table(
        f"{said}, {from_base}, predicted",
        [first, "difference", "of all"],
        cells,
        note=f"No interval: {why}." if why else "",
    )


def _is_sure(one: Apart, level: float) -> bool:
    return one.holm is not None and one.holm < 1 - level


def _apart(name: str, one: Apart, *, sure: bool) -> plots.Apart:
    """What a figure takes."""
    return plots.Apart(name, one.mean, (one.low, one.high), (one.low_together, one.high_together), sure)


def _pair(one: DifferenceFacts, base: str | None) -> str:
    """The other one, or both where bases differ."""
    return f"{one.other} - {one.base}" if base is None else one.other


def _paid(one: Apart, chance: float | None, level: float) -> str:
    """Whether a gain, or a loss, is one by this chance."""
    if chance is None or one.mean is None:
        return VERDICTS["refused"]
    return "cannot be distinguished from 0" if chance >= 1 - level else "gains" if one.mean > 0 else "loses"


def _how_judged(level: float) -> str:
    percent = wording.level_text(level)
    return (
        f"Intervals hold with {percent} each, thin lines for all metrics at once (Bonferroni). Of all: what remains "
        "sure after Holm's correction for all differences of the metric."
    )


def _changes(found: JobsAdvised) -> Iterator[blocks.Block]:
    """Each change with its gain, both verdicts, the chance that it is the best, and what its price buys."""
    changes = _by_gain(found)
    if not changes:
        return
    level, metric, better = found.compared.level, METRICS[found.objective], _better(found)
    told = [one for one in changes if one.gain.low is not None]
    drawn = plots.differences(
        [_apart(_with_standing(found, one), one.gain, sure=_is_sure(one.gain, level)) for one in told],
        axis=f"{metric.said} is {better} by{f' in {metric.unit}' if metric.unit else ''}",
        title="Gain of each change",
        level=level,
        less_is_better=False,
        kind="gains",
    )
    if drawn:
        caption = f"By how much each change makes the {metric.said} {better}."
        yield blocks.Figure(drawn, caption)
    yield _changes_table(found)


def _standing(found: JobsAdvised, one: Change) -> str:
    """Whether a change pays most, or cannot be distinguished from the one that does."""
    if one.kind == BOUND:
        return BOUND
    if one.name == found.pays_most:
        return "pays most"
    return "not distinguished" if one.name in found.ties else wording.NOTHING


def _with_standing(found: JobsAdvised, one: Change) -> str:
    said = _standing(found, one)
    return one.name if said in {BOUND, wording.NOTHING} else f"{one.name}: {said}"


def _by_gain(found: JobsAdvised) -> list[Change]:
    return sorted(found.candidates, key=lambda one: -(one.gain.mean or 0.0))


def _better(found: JobsAdvised) -> str:
    return "lower" if METRICS[found.objective].less_is_better else "higher"


def _changes_table(found: JobsAdvised) -> blocks.Table:
    metric, changes, level = METRICS[found.objective], _by_gain(found), found.compared.level
    priced = any(one.price is not None for one in changes)
    rows = [[f"as it is: {found.base.name}", _value(found.base.value, found.objective), *[wording.NOTHING] * 5]]
    for one in changes:
        gain = one.gain
        rows.append(
            [
                one.name,
                _value(one.value, found.objective),
                wording.with_interval(gain, metric.unit),
                _paid(gain, gain.holm, level),
                _standing(found, one),
                *map(wording.digits, (one.price, one.gain_per_price)),
            ]
        )
    title = ["change", metric.said, f"{_better(found)} by", "of all", "standing"]
    title += ["price", "gain per price"] if priced else []
    note = f"No interval: {found.refused}." if found.refused else _changes_note(found, level)
    return blocks.table(
        "Changes, largest gain first, predicted",
        title,
        [row[: len(title)] for row in rows],
        best=found.pays_most or None,
        tag="pays most",
        note=note,
    )


def _changes_note(found: JobsAdvised, level: float) -> str:
    bound = " A bound is what nobody can have; it shows what better estimates could give at most."
    said = _how_judged(level) + (bound if any(one.kind == BOUND for one in found.candidates) else "")
    return said + (f" Not distinguished from what pays most: {', '.join(found.ties)}." if found.ties else "")


# Words of differences


def sentences(found: Comparison) -> list[str]:
    """One for each metric: what is surely less or more, what cannot be distinguished, or why no interval is stated."""
    return [_sentence(found, METRICS[name], rows) for name, rows in found.by_metric().items()]


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


def save_answer(answered: JobsCompared | JobsAdvised, found: Compared, page: blocks.Page, folder: Path) -> None:
    """What `-o` names: comparison.json or advice.json, what each draw gave in draws.csv, report.html, manifest.json."""
    name = "comparison.json" if isinstance(answered, JobsCompared) else "advice.json"
    text, document = render_page(page), documents.to_dict(answered)
    files.write_text(folder / "draws.csv", files.csv_lines(_draw_rows(found)))
    files.write_json(folder / name, document)
    files.write_text(folder / "report.html", text)
    asked = answered.compared
    said = {key: document[key] for key in ("format", "command", "sentence", "provenance") if key in document}
    said |= {"stream": asked.stream, "draws": asked.draws, "replications": asked.replications}
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
