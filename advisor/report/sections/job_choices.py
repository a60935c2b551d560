"""Ways to run a stream of jobs, compared: what each gives, how it differs from others, and which change pays."""

from collections.abc import Iterable, Sequence

from advisor import wording
from advisor.report.page import Block, Figure, Section, Table, Text, pairs, table
from advisor.wording import Document, clean, number

NOTHING_COMPARED = Text("This document compares nothing.", quiet=True)
LEVEL = 0.95
MOST_SAID = 3
"""Differences of a metric that its sentence spells out; the table has all."""
VERDICTS = {
    "less": "less",
    "more": "more",
    "open": "cannot be told apart",
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
BOUND = "bound"


# Compared


def sentences(document: Document) -> list[str]:
    """One for each metric: what is surely less or more, what cannot be told apart, or why no interval is stated."""
    rows = document.get("differences") or ()
    names = dict.fromkeys(str(row.get("metric")) for row in rows)
    return [_sentence(document, name, [row for row in rows if row.get("metric") == name]) for name in names]


def overload_sentences(document: Document) -> tuple[str, ...]:
    """Which alternatives are overloaded, and why."""
    return tuple(
        f"overloaded: {clean(one.get('name'))}: {clean(one['overloaded'])}; no interval is stated of it"
        for one in document.get("alternatives") or ()
        if one.get("overloaded")
    )


def alternatives_section(document: Document) -> Section:
    """What each alternative gives."""
    found = document.get("alternatives") or ()
    if not found:
        return Section("alternatives", "Alternatives", (NOTHING_COMPARED,))
    names = list(found[0].get("metrics") or {})
    rows = [
        [clean(one.get("name")), *(_value((one.get("metrics") or {}).get(name), name) for name in names), _crowded(one)]
        for one in found
    ]
    head = ["alternative", *(metric_text(name) for name in names), "overloaded"]
    of_draws = document.get("draws") in {"streams", "shaken", "loads"}
    note = "Means over the draws." if of_draws else "Of the stream as it is; draws tell how far off that is."
    if all(row[-1] == "no" for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return Section("alternatives", "Alternatives", (table("What each gives", head, rows, note=note),))


def differences_section(document: Document) -> Section:
    """For each metric a figure of the differences, and a table with both verdicts."""
    rows = document.get("differences") or ()
    blocks: list[Block] = []
    for number_, name in enumerate(dict.fromkeys(str(row.get("metric")) for row in rows)):
        own = [row for row in rows if row.get("metric") == name]
        blocks += _metric_blocks(document, name, own, f"differences-{number_}")
    if any(number(row.get("low")) is not None for row in rows):
        blocks.append(Text(_how_judged(_level(document)), quiet=True))
    alone = Text("There is one alternative only, so nothing differs.", quiet=True)
    return Section("differences", "Differences", tuple(blocks) or (alone,))


def asked_section(document: Document) -> Section:
    """The stream, the draws, and each alternative in full."""
    count, kind = number(document.get("replications")), str(document.get("draws") or "")
    units, level, warm_up = (number(document.get(key)) for key in ("units", "level", "warm_up"))
    parts = f"{units:.4g} independent parts" if units is not None else ""
    facts = {
        "Stream": clean(document.get("stream") or ""),
        "Jobs": str(document.get("jobs") or ""),
        "Draws": ", ".join(filter(None, (f"{count:.0f}" if count else "", KINDS.get(kind, clean(kind))))),
        "The log counts as": parts,
        "Intervals hold with": "" if level is None else f"{100 * level:.4g} %",
        "Left out of averages": "" if not warm_up else f"the first {100 * warm_up:g} % of the jobs to end",
        "Seed": "" if document.get("seed") is None else str(document["seed"]),
    }
    found = document.get("alternatives") or ()
    return Section("asked", "What was asked", (pairs(facts), *(_settings(found) if found else ())))


# Advised


def changes_section(document: Document) -> Section:
    """Each change with its gain, both verdicts, the chance that it is the best, and what its price buys."""
    found = sorted(document.get("candidates") or (), key=lambda one: -(number(_gain(one).get("mean")) or 0.0))
    if not found:
        return Section("changes", "Which change pays most", (NOTHING_COMPARED,))
    from simulator import plots

    compared, objective = document.get("compared") or {}, str(document.get("objective"))
    level, better = _level(compared), "lower" if _less_is_better(objective) else "higher"
    unit = f" in {_unit(objective)}" if _unit(objective) else ""
    drawn = plots.differences_svg(
        [{**_gain(one), "name": _with_chance(one), "sure": _sure(_gain(one), level)} for one in found],
        axis=f"{metric_text(objective)} is {better} by{unit}",
        title="Gain of each change",
        level=level,
        less_is_better=False,
        name="changes",
    )
    caption = f"By how much each change makes the {metric_text(objective)} {better}, and how likely it is the best one."
    blocks: list[Block] = [Figure(drawn, caption)] if drawn else []
    blocks.append(_changes_table(document, found, level, better))
    return Section("changes", "Which change pays most", tuple(blocks))


def metric_text(name: str) -> str:
    """What a metric is called in sentences; one that is not known by its name."""
    from advisor.jobs.compare import METRICS

    return METRICS[name].said if name in METRICS else clean(name)


def value_text(value: object, name: str) -> str:
    """A value of a metric with its unit."""
    return _value(value, name)


# Words of differences


def _sentence(document: Document, name: str, rows: Sequence[Document]) -> str:
    """All differences of one metric."""
    said = metric_text(name).capitalize()
    why = (document.get("untold") or {}).get(name)
    if why:
        return f"{said}: no interval is stated, because {clean(why)}."
    parts = [_surely(name, rows, verdict) for verdict in ("less", "more")]
    parts += [
        _counted(rows, verdict, text)
        for verdict, text in (
            ("open", "cannot be told apart from"),
            ("alike", "is in every draw equal to"),
        )
    ]
    parts.append(_not_judged(document, rows))
    return f"{said}: {'; '.join(filter(None, parts))}."


def _surely(name: str, rows: Iterable[Document], verdict: str) -> str:
    found = [row for row in rows if row.get("verdict") == verdict]
    said = [
        f"{_named(row, 'other')} has surely {verdict} than {_named(row, 'base')}, by {_by(row, name)}"
        for row in found[:MOST_SAID]
    ]
    more = f"{len(found) - MOST_SAID} more have surely {verdict}" if len(found) > MOST_SAID else ""
    return "; ".join(filter(None, (*said, more)))


def _counted(rows: Iterable[Document], verdict: str, text: str) -> str:
    """Those of a verdict by base, since they tell no number."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.get("verdict") == verdict:
            found.setdefault(_named(row, "base"), []).append(_named(row, "other"))
    return "; ".join(f"{wording.listed(others)} {text} {base}" for base, others in found.items())


def _not_judged(document: Document, rows: Iterable[Document]) -> str:
    """Differences without an interval though the metric has some: of what is overloaded, or hardly ever differs."""
    crowded = {one.get("name") for one in document.get("alternatives") or () if one.get("overloaded")}
    silent = [row for row in rows if row.get("verdict") == "refused"]
    both = [row for row in silent if {row.get("base"), row.get("other")} & crowded]
    touched = crowded & {row.get(key) for row in both for key in ("base", "other")}
    rest = [f"{_named(row, 'other')} and {_named(row, 'base')}" for row in silent if row not in both]
    names = sorted(_named({"name": one}, "name") for one in touched)
    over = f"nothing is told of {wording.listed(names)}, overloaded" if names else ""
    few = f"nothing is told of {wording.listed(rest)}, which differ in too few draws" if rest else ""
    return "; ".join(filter(None, (over, few)))


def _named(entry: Document, key: str) -> str:
    """A name in a sentence; in quotation marks where a comma in it would read as the end of it."""
    name = clean(entry.get(key))
    return f"'{name}'" if "," in name else name


def _by(row: Document, name: str) -> str:
    """How much less or more, without a sign."""
    mean, *ends = (number(row.get(key)) for key in ("mean", "low", "high"))
    known = [end for end in ends if end is not None]
    if mean is not None and mean < 0:
        mean, known = -mean, [-end for end in reversed(known)]
    entry = {"mean": mean} | ({"low": known[0], "high": known[1]} if len(known) == 2 else {})
    return wording.with_interval(entry, _unit(name))


def _metric_blocks(document: Document, name: str, rows: Sequence[Document], figure: str) -> list[Block]:
    from simulator import plots

    level, bases = _level(document), {str(row.get("base")) for row in rows}
    base = clean(rows[0].get("base")) if len(bases) == 1 else None
    entries = [
        {**row, "name": _pair(row, base), "sure": row.get("verdict") in {"less", "more"}}
        for row in rows
    ]  # fmt: skip
    said, unit = metric_text(name), f" in {_unit(name)}" if _unit(name) else ""
    drawn = plots.differences_svg(
        entries,
        axis=f"difference of the {said}{unit}",
        title=f"Differences of the {said}",
        level=level,
        less_is_better=_less_is_better(name),
        name=figure,
    )
    from_base = f"minus that of {base}" if base is not None else "first minus second"
    caption = f"{said.capitalize()} of each alternative, {from_base}."
    blocks: list[Block] = [Figure(drawn, caption)] if drawn else []
    blocks.append(_differences_table(document, name, rows, f"{said.capitalize()}, {from_base}"))
    return blocks


def _differences_table(document: Document, name: str, rows: Sequence[Document], caption: str) -> Table:
    level, unit = _level(document), _unit(name)
    one_base = len({str(row.get("base")) for row in rows}) == 1
    cells = [
        [
            _pair(row, "" if one_base else None),
            wording.with_interval(row, unit),
            _alone(row, level),
            _together(row, unit),
            VERDICTS.get(str(row.get("verdict")), clean(row.get("verdict"))),
        ]
        for row in rows
    ]
    head = ["alternative" if one_base else "pair", "difference", "by itself", "interval of all together", "of all"]
    why = (document.get("untold") or {}).get(name)
    return table(caption, head, cells, note=f"No interval: {clean(why)}." if why else "")


def _how_judged(level: float) -> str:
    percent = f"{100 * level:.4g} %"
    return (
        f"Intervals hold with {percent} each; those of all together hold at once with {percent}, over all metrics "
        "(Bonferroni). By itself: what the interval of this difference says alone. Of all: what remains sure after "
        "Holm's correction for all differences of the metric, which may tell more than the interval of all together."
    )


def _pair(row: Document, base: str | None) -> str:
    """The other one, or both where bases differ."""
    both = f"{clean(row.get('other'))} - {clean(row.get('base'))}"
    return both if base is None else clean(row.get("other"))


def _alone(row: Document, level: float) -> str:
    """What a difference would be if it were the only one."""
    p, mean = number(row.get("p")), number(row.get("mean"))
    if p is None or mean is None or row.get("verdict") == "alike":
        return VERDICTS["alike" if row.get("verdict") == "alike" else "refused"]
    return VERDICTS["open" if p >= 1 - level else "less" if mean < 0 else "more"]


def _together(row: Document, unit: str) -> str:
    from simulator import units

    return units.show_range(number(row.get("low_together")), number(row.get("high_together")), unit=unit)


# Words of changes


def _changes_table(document: Document, found: Sequence[Document], level: float, better: str) -> Table:
    base, objective = document.get("base") or {}, str(document.get("objective"))
    unit, priced = _unit(objective), any(number(one.get("price")) is not None for one in found)
    said, spare = metric_text(objective), [wording.NOTHING] * (7 if priced else 5)
    rows = [[f"as it is: {clean(base.get('name'))}", _value(base.get("value"), objective), *spare]]
    for one in found:
        gain, bought = _gain(one), [one.get("price"), one.get("gain_per_price")]
        rows.append([
            clean(one.get("name")),
            _value(one.get("value"), objective),
            wording.with_interval(gain, unit),
            _paid(gain, level, "p"),
            _together(gain, unit),
            _paid(gain, level, "holm"),
            "bound" if one.get("kind") == BOUND else wording.probability(one.get("chance_best")),
            *(wording.digits(value) for value in (bought if priced else ())),
        ])  # fmt: skip
    head = ["change", said, f"{better} by", "by itself", "interval of all together", "of all", "is best"]
    head += ["price", "gain per price"] if priced else []
    best = clean(document.get("pays_most")) if document.get("pays_most") else None
    return table(
        "Changes, largest gain first", head, rows, best=best, tag="pays most", note=_changes_note(document, level)
    )


def _changes_note(document: Document, level: float) -> str:
    if document.get("refused"):
        return f"No interval: {clean(document['refused'])}."
    some = [one for one in document.get("candidates") or () if one.get("kind") == BOUND]
    bound = " A bound is what nobody can have; it shows what better estimates could give at most." if some else ""
    ties = [clean(name) for name in document.get("ties") or ()]
    tied = f" Not told apart from what pays most: {', '.join(ties)}." if ties else ""
    return f"{_how_judged(level)}{bound}{tied}"


def _with_chance(one: Document) -> str:
    if one.get("kind") == BOUND or number(one.get("chance_best")) is None:
        return clean(one.get("name"))
    return f"{clean(one.get('name'))}: best with {wording.probability(one.get('chance_best'))}"


def _sure(gain: Document, level: float) -> bool:
    holm = number(gain.get("holm"))
    return holm is not None and holm < 1 - level


def _paid(gain: Document, level: float, key: str) -> str:
    """Whether a gain, or a loss, is one by this chance."""
    p, mean = number(gain.get(key)), number(gain.get("mean"))
    if p is None or mean is None:
        return VERDICTS["refused"]
    return "cannot be told from 0" if p >= 1 - level else "gains" if mean > 0 else "loses"


def _gain(one: Document) -> Document:
    return one.get("gain") or {}


# Values


def _settings(found: Sequence[Document]) -> tuple[Block, ...]:
    """What is the same in all alternatives, and a table of what is not."""
    told = [_setting(one) for one in found]
    fields = list(dict.fromkeys(name for one in told for name in one))
    differing = [name for name in fields if len({one.get(name) for one in told}) > 1]
    same = ", ".join(f"{name} {told[0][name]}" for name in fields if name not in differing)
    blocks: list[Block] = [pairs({"The same in all": same})]
    if differing:
        rows = [
            [clean(one.get("name")), *(setting.get(name, wording.NOTHING) for name in differing)]
            for one, setting in zip(found, told, strict=True)
        ]
        blocks.append(table("What is not", ["alternative", *differing], rows, text_columns=1 + len(differing)))
    return tuple(blocks)


def _setting(one: Document) -> dict[str, str]:
    """Everything that an alternative says of itself, in words."""
    told = {clean(name).replace("_", " "): clean(word) for name, word in (one.get("policy") or {}).items()}
    told |= {"estimates": clean((one.get("estimates") or {}).get("label") or "")}
    told |= {"PEs": str(one.get("pes") or ""), "platform": clean(one.get("platform") or "")}
    return {name: word for name, word in told.items() if word}


def _crowded(one: Document) -> str:
    share = number(one.get("overloaded_draws")) or 0.0
    if one.get("overloaded"):
        return "yes"
    return f"{100 * share:.0f} % of the draws" if share else "no"


def _value(value: object, name: str) -> str:
    unit, known = _unit(name), number(value)
    if known is None:
        return wording.NOTHING
    return wording.duration(known) if unit == "s" else wording.digits(known, 4)


def _unit(name: str) -> str:
    from advisor.jobs.compare import METRICS

    return METRICS[name].unit if name in METRICS else ""


def _less_is_better(name: str) -> bool:
    from advisor.jobs.compare import METRICS

    return METRICS[name].less_is_better if name in METRICS else True


def _level(document: Document) -> float:
    return number(document.get("level")) or LEVEL
