"""Strategies compared on the same draws, the ranking of candidates and Pareto fronts: tables of pages and terminals."""

from collections.abc import Iterator

from advisor import wording
from advisor.advise.pareto import Front
from advisor.results import Compared, Strategy
from simulator import blocks, plots

MOST_RANKED = 10
BY_SPEED = ("per-core-by-speed", "by-loaded-speed", "constant")
"""Strategies that divide by the speed of cores, the first one that there is."""
LAUNCHED = "block", "cyclic", "by-speed"
"""Where launchers start ranks."""


def strategies_section(
    compared: Compared, *, heading: str = "Strategies compared", noun: str = "strategy", tag: str = "recommended"
) -> blocks.Section:
    """Makespans with intervals, as a figure and a table.

    `noun`, `tag`: what each is, and what the one named `recommended` is called.
    """
    entries = wording.strategies(compared)
    shown = [plots.Makespan.of(one.name, one.predicted) for _, one in entries]
    drawn = plots.makespans(shown, compared.recommended, mark=tag, level=compared.drawn.level, kind="strategies")
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
    partition, takes = wording.divided_text(compared, one), wording.with_interval(one.predicted)
    gain, faster = _gains(compared, one)
    if compared.drawn.deterministic:
        return [partition, takes, gain if gain == wording.NOTHING else wording.times(one.gain.mean)]
    return [partition, takes, wording.of_runs(one.predicted), gain, faster]


def _gains(compared: Compared, one: Strategy) -> tuple[str, str]:
    """What the recommended strategy gains on one, and how often it is faster."""
    if one.name == compared.recommended:
        return wording.NOTHING, wording.NOTHING
    return wording.with_interval(one.gain, ""), wording.frequency(one.probability, compared.drawn)


def first_rows(compared: Compared) -> blocks.Table | None:
    """The advised strategy, the one of now, the second best and the one by speed, as far as there are such."""
    best, (now, named) = compared.best, wording.reference_of(compared)
    ranked = [known for one in compared.ranking if (known := compared.named(one.name)) is not None and known != best]
    by_speed = next((known for name in BY_SPEED if (known := compared.named(name)) is not None), None)
    wanted = [("advised", best), ("as now" if named == "it runs now" else "", now)]
    wanted += [("second best", ranked[0] if ranked else None), ("by speed", by_speed)]
    if wording.is_placed(compared.application):
        wanted[2:] = [("", compared.named(name)) for name in LAUNCHED]
    found: dict[str, tuple[str, Strategy]] = {}
    for said, one in wanted:
        if one is not None and (key := one.same_as or one.name) not in found:
            found[key] = (f"{said}: {one.name}" if said and said != one.name else one.name), one
    if len(found) < 2:
        return None
    unit = wording.objective_unit(compared.objective)
    rows = [
        (
            label,
            wording.divided_text(compared, one, most=3),
            wording.with_interval(wording.judged(compared, one), unit),
            _gains(compared, one)[0],
        )
        for label, one in found.values()
    ]
    head = ["strategy", wording.unit_of(compared.application), f"{compared.objective or 'mean'}, predicted", "gain"]
    return blocks.table("", head, rows, text_columns=2)


def ranking_blocks(compared: Compared, fronts: tuple[Front, ...], most: int) -> Iterator[blocks.Block]:
    """How much was simulated, ties, the best candidates and Pareto fronts."""
    if said := wording.confirmed_text(compared):
        yield blocks.Text(f"{said}.")
    if said := wording.tie_text(compared):
        yield blocks.Text(f"The best are close: {said}")
    if len(compared.ranking) > 1:
        yield _ranking_table(compared, most)
    for front in fronts:
        yield _front_table(compared, front)


def _ranking_table(compared: Compared, most: int) -> blocks.Table:
    """The best candidates, and what choosing them is expected to lose to the best of those compared."""
    tied, unit, count = wording.tied_names(compared), wording.objective_unit(compared.objective), len(compared.ranking)
    rows = []
    for one in compared.ranking[:most]:
        loss = f"{wording.loss_text(one.expected_loss)}{' (tie)' if one.name in tied else ''}"
        rows.append([one.name, wording.with_interval(one, unit), loss, wording.percent(one.regret, 1)])
    caption = f"The best {most} of {count}" if count > most else "All candidates, best first"
    note = (
        "Expected loss: what it is expected to have more than the best of those compared; within 1 % is a tie. "
        f"Above bound: over what no candidate can be below. {wording.interval_sentence(compared.drawn)}".rstrip()
    )
    head = ["candidate", f"{compared.objective or 'mean'}, predicted", "expected loss", "above bound"]
    return blocks.table(caption, head, rows, best=compared.recommended, note=note)


def _front_table(compared: Compared, front: Front) -> blocks.Table:
    """A Pareto front, fastest first."""
    rows = [
        [
            point.name,
            wording.divided_text(compared, point, most=3),
            wording.digits(point.objective_s, 4),
            wording.digits(point.cost if front.of == "cost" else point.energy, 4),
        ]
        for point in front.points
    ]
    caption = f"Pareto front of makespan and {front.of}, over {front.considered} configurations"
    head = [
        "configuration",
        wording.unit_of(compared.application),
        "predicted makespan in s",
        f"{front.of} ({front.unit})",
    ]
    return blocks.table(caption, head, rows, text_columns=2, note=front.scope)
