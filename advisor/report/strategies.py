"""Strategies compared on the same draws, the ranking of candidates and Pareto fronts: tables of pages and terminals."""

import textwrap

from advisor import wording
from advisor.advise.pareto import Front
from advisor.results import Compared, Strategy
from simulator import blocks, documents, plots

MOST_RANKED = 10
TOP = 3
"""Of a ranking on a terminal, if nothing else is asked for."""
NAME_WIDTH = 24
"""Of the names of a strategy on a terminal; further names are on lines of their own."""


def strategies_section(
    compared: Compared, *, heading: str = "Strategies compared", noun: str = "strategy", tag: str = "recommended"
) -> blocks.Section:
    """Makespans with intervals, as a figure and a table.

    Parameters
    ----------
    noun, tag
        What each is, and what the one named `recommended` is called.
    """
    entries = wording.strategies(compared)
    shown = [documents.to_dict(one) for _, one in entries]
    drawn = plots.makespans(shown, compared.recommended or None, mark=tag, level=compared.drawn.held, kind="strategies")
    if not drawn:
        return blocks.Section("baselines", heading, (blocks.Text("Nothing was simulated."),))
    several = f"Simulated makespan of each {noun} under the same draws. Less is better."
    figure = blocks.Figure(drawn, several if len(entries) > 1 else "Simulated makespan.")
    return blocks.Section("baselines", heading, (blocks.SideBySide(figure, (_strategies_table(compared, noun, tag),)),))


def _strategies_table(compared: Compared, noun: str, tag: str) -> blocks.Table:
    """Columns that would say nothing are left out: gains of one alone, spreads where nothing is drawn."""
    entries, drawn = wording.strategies(compared), compared.drawn
    same, several, better = drawn.deterministic, len(entries) > 1, wording.better_text(compared.objective)
    notes = [] if same else [wording.interval_sentence(drawn), f"{wording.runs_text(drawn)}: where one run lies."]
    notes += [f"Gain: how many times {better} the {tag} one is."] if several else []
    if several and not same:
        notes.append(f"{better.capitalize()} in: replications in which the {tag} one is {better}.")
    times = ["makespan"] if same else ["mean", wording.runs_text(drawn)]
    gains = [] if not several else ["gain"] if same else ["gain", f"{better} in"]
    head = [noun, wording.unit_of(compared.application), *times, *gains]
    best = next((label for label, one in entries if one.name == compared.recommended), None)
    return blocks.table(
        "Predicted makespan",
        head,
        [[label, *_cells(compared, one)][: len(head)] for label, one in entries],
        text_columns=2,
        best=best if tag else None,
        tag=tag,
        note=" ".join(filter(None, notes)),
    )


def _cells(compared: Compared, one: Strategy) -> list[str]:
    partition, takes = wording.partition_text(one.partition), wording.with_interval(one.predicted)
    gain, faster = _gains(compared, one)
    if compared.drawn.deterministic:
        return [partition, takes, gain if gain == wording.NOTHING else wording.times(one.gain.mean)]
    return [partition, takes, wording.of_runs(one.predicted), gain, faster]


def _gains(compared: Compared, one: Strategy) -> tuple[str, str]:
    """What the recommended strategy gains on one, and how often it is faster."""
    if one.name == compared.recommended:
        return wording.NOTHING, wording.NOTHING
    return wording.with_interval(one.gain, ""), wording.frequency(one.probability, compared.drawn)


def strategies_text(compared: Compared) -> blocks.Table:
    """The same for a terminal, by the objective."""
    rows, unit = [], wording.objective_unit(compared.objective)
    for label, one in wording.strategies(compared):
        mark = " *" if one.name == compared.recommended else ""
        name, *further = textwrap.wrap(wording.clean(label), NAME_WIDTH, break_long_words=False, break_on_hyphens=False)
        takes = wording.with_interval(wording.judged(compared, one), unit)
        rows.append([name + mark, wording.partition_text(one.partition, most=3), takes, *_gains(compared, one)])
        rows += [[f"  {more}", "", "", "", ""] for more in further]
    what, better = wording.objective_text(compared.objective), wording.better_text(compared.objective)
    head = ["strategy", wording.unit_of(compared.application), compared.objective or "mean", "gain", f"{better} in"]
    return blocks.table(
        f"Predicted {what}; gain of the recommended strategy (*) over each; how often it is {better}",
        head,
        rows,
        text_columns=2,
        note=wording.interval_line(compared.drawn),
    )


def ranking_section(compared: Compared, fronts: tuple[Front, ...]) -> blocks.Section:
    """How much was simulated, ties, the best candidates and Pareto fronts."""
    shown: list[blocks.Block] = [blocks.Text(f"{said}.")] if (said := wording.confirmed_text(compared)) else []
    if said := wording.tie_text(compared):
        shown.append(blocks.Text(f"{said[0].upper()}{said[1:]}"))
    count = len(compared.ranking)
    if count > 1:
        caption = f"The best {MOST_RANKED} of {count}" if count > MOST_RANKED else "All candidates, best first"
        note = (
            "Expected loss: what it is expected to have more than the best of those compared; within 1 % is a tie. "
            f"Above bound: over what no candidate can be below. {wording.interval_sentence(compared.drawn)}".rstrip()
        )
        shown.append(ranking_table(compared, MOST_RANKED, caption, first="candidate", note=note))
    for front in fronts:
        caption = f"Pareto front of makespan and {front.of}, over {front.considered} configurations"
        shown.append(_front_table(compared, front, caption, "makespan in s", note=front.scope))
    return blocks.Section("ranking", "How sure it is", tuple(shown) or (blocks.Text("Nothing was ranked."),))


def ranking_table(compared: Compared, most: int, caption: str, *, first: str, note: str = "") -> blocks.Table:
    """The best candidates, and what choosing them is expected to lose to the best of those compared."""
    tied, unit = wording.tied_names(compared), wording.objective_unit(compared.objective)
    rows = [
        [
            one.name,
            wording.with_interval(one, unit),
            wording.expected_text(one, tied),
            wording.percent(one.regret, 1),
        ]
        for one in compared.ranking[:most]
    ]
    head = [first, compared.objective or "mean", "expected loss", "above bound"]
    return blocks.table(caption, head, rows, best=compared.recommended, note=note)


def ranking_text(compared: Compared, fronts: tuple[Front, ...], top: int) -> list[blocks.Table]:
    """Ranking and fronts for a terminal; nothing where there is one candidate."""
    found, count = [], min(top, len(compared.ranking))
    if count > 1:
        timed = wording.objective_unit(compared.objective) == "s"
        loss = "what each is expected to take longer than" if timed else "how far each is expected to be from"
        caption = f"The best {count}: {loss} the best of those compared; how far above a lower bound"
        found.append(ranking_table(compared, top, caption, first="best by it"))
    for front in fronts:
        of = f"Pareto front of makespan and {front.of}, over {front.considered} configurations: {front.scope}"
        found.append(_front_table(compared, front, of, f"{compared.objective} (s)"))
    return found


def _front_table(compared: Compared, front: Front, caption: str, value: str, *, note: str = "") -> blocks.Table:
    """A Pareto front, fastest first."""
    rows = [
        [
            point.name,
            wording.partition_text(point.partition, most=3),
            wording.digits(point.objective_s, 4),
            wording.digits(point.cost if front.of == "cost" else point.energy, 4),
        ]
        for point in front.points
    ]
    head = ["configuration", wording.unit_of(compared.application), value, f"{front.of} ({front.unit})"]
    return blocks.table(caption, head, rows, text_columns=2, note=note)
