"""The answer as a picture: who gets how much, advised against as now in time, predicted against measured."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from advisor import wording
from advisor.report.timelines import BAD, Timeline, TooLong, run_rows
from advisor.results import Compared, Strategy
from advisor.verification.check import VerifiedConfiguration
from simulator import Share, blocks, gathered_shares, plots

MOST_RUN_ROWS = 12
"""Rows of all runs in the picture; of more processes, PEs, nodes or parts of them are gathered."""
FEW_SHARES = 5
"""PEs up to which there is room below who gets how much."""
MOST_MAKESPANS = 5
Divided = Strategy | VerifiedConfiguration
"""What gives units to the processes of PEs."""
CALLED = {"as-now": "as now", "equal": "equal split", "one-per-core": "equal, one per core"}
"""What strategies that people run now are called in a picture."""


def answer_picture(
    compared: Compared,
    shares: Sequence[Share] = (),
    every: Sequence[Timeline | TooLong] = (),
    verification: Sequence[VerifiedConfiguration] = (),
    *,
    bad: Timeline | TooLong | None = None,
    advised: str = "advised",
) -> tuple[tuple[blocks.Figure, ...], ...]:
    """The figures that a page opens with, in columns.

    `bad`: a slow run of the best strategy.
    `shares`: of each PE, see `simulator.shares_of`; by default units alone, as far as the strategies tell them.
    `advised`: what the best strategy is called.
    """
    best, before = compared.best, reference(compared)
    names = ("" if before is None else called(before.name)), advised
    known = shares or plain_shares(compared.pes, before, best)
    runs = runs_figure(every, bad, compared, before, names)
    times = measured_figure(verification, best.name, advised=advised)
    if runs is None and times is None:
        times = predicted_figure(compared, before, best, names)
    pulled = wording.is_pulled(compared.application)  # so that nobody is given any
    who = None if pulled else who_figure(known, wording.unit_of(compared.application), names)
    return columns(who, runs, times, short=len(known) <= FEW_SHARES)


def predicted_figure(
    compared: Compared, before: Strategy | None, best: Strategy, names: tuple[str, str]
) -> blocks.Figure | None:
    """What both are predicted to take; none where there is one alone."""
    if before is None:
        return None
    rows = [plots.Makespan.of(name, one.predicted) for name, one in zip(names, (before, best), strict=True)]
    drawn = plots.makespans(rows, names[1], mark=names[1], level=compared.drawn.level)
    return blocks.Figure(drawn, "Predicted mean makespans; no real run has checked them.") if drawn else None


def columns(
    who: blocks.Figure | None, runs: blocks.Figure | None, measured: blocks.Figure | None, *, short: bool = True
) -> tuple[tuple[blocks.Figure, ...], ...]:
    """The figures side by side, two columns of about the same height, as far as there are any.

    `short`: whether the first figure leaves room below it.
    """
    left, right = ((who, measured), (runs,)) if short and runs is not None else ((who,), (runs, measured))
    found = (tuple(one for one in side if one is not None) for side in (left, right))
    return tuple(side for side in found if side)


def reference(compared: Compared) -> Strategy | None:
    """What is compared with: what gains are counted from, else the slowest; None where that is the best one."""
    best, (known, _) = compared.best, wording.reference_of(compared)
    if known is None:
        others = [one for one in compared.baselines if one != best]
        known = max(others, key=lambda one: one.predicted.mean, default=None)
    return None if known is None or best.name in known.names else known


def called(name: str) -> str:
    """The name of a strategy in a picture."""
    return CALLED.get(name, wording.clean(name))


def plain_shares(pes: Sequence[str], before: Divided | None, best: Divided) -> tuple[Share, ...]:
    """Units alone, of all PEs."""
    gets, had = ({} if one is None else wording.units_by_pe(one.placement, one.partition) for one in (best, before))
    return tuple(
        Share(
            name,
            "",
            None if before is None else sum(had.get(pe, ())),
            sum(gets.get(pe, ())),
            processes=sum(part > 0 for part in gets.get(pe, ())),
        )
        for pe, name in enumerate(pes)
    )


def who_figure(shares: Sequence[Share], unit: str, names: tuple[str, str]) -> blocks.Figure | None:
    """Who gets how much."""
    rows, of = gathered_shares(shares)
    drawn = plots.shares(rows, unit=unit, of=of, names=names)
    return blocks.Figure(drawn, _who_caption(shares, rows, of)) if drawn else None


def _who_caption(shares: Sequence[Share], rows: Sequence[Share], of: str) -> str:
    """What the rows are of where they are gathered, and what the numbers beneath their names are."""
    parts = []
    if len(rows) < len(shares):
        nodes = len({one.node for one in shares} - {""})
        held = f" on {wording.counted(nodes, 'node')}" if of == "node" else ""
        each = f", each {of} the mean of those it stands for; thin line: least to most" if rows[0].count > 1 else ""
        noun = "PE" if of in {"PE", "node"} else of
        parts.append(f"{wording.counted(len(shares), noun)}{held}{each}.")
    if any(one.speed is not None for one in shares):
        said = ["speed of all its cores without load"]
        said += ["load: mean of the programs that compete"] if any(one.load for one in shares) else []
        given = any(one.load is None and (one.left or 1.0) < 1 for one in shares)
        said += ["left: what other programs leave"] if given else []
        parts.append(f"Beneath a name: {'; '.join(said)}.")
    return " ".join(parts)


# Runs, one above the other


def runs_figure(
    every: Sequence[Timeline | TooLong],
    bad: Timeline | TooLong | None,
    compared: Compared,
    before: Strategy | None,
    names: tuple[str, str],
) -> blocks.Figure | None:
    """One replication as now and as advised, and a bad one as advised, on one axis of time."""
    shown = {one.configuration: one for one in every if isinstance(one, Timeline)}
    best = compared.best
    found = [
        (title, shown[key], one.predicted.mean, one is best)
        for one, title in ((before, names[0]), (best, names[1]))
        if one is not None
        for key in [next((name for name in (one.name, one.same_as or "") if name in shown), "")]
        if key
    ]
    if not found:
        return None
    (_, first, mean_s, advised), which = found[-1], ""
    if first.replications > 1:
        same, worse = ", the same draws for both" if len(found) > 1 else "", ""
        if advised and isinstance(bad, Timeline):
            found.append((f"{names[1]}, a bad run", bad, mean_s, True))
            worse = f", and a bad one, slower than {wording.percent(BAD)} of all (replication {bad.replication})"
        which = f"a typical run{same} (replication {first.replication} of {first.replications}){worse}; "
        which += "triangle: mean of all; "
    most = MOST_RUN_ROWS // len(found)
    runs = [run_rows(one, title, most=most, mean_s=mean, full=full) for title, one, mean, full in found]
    return blocks.Figure(plots.runs(runs), f"Simulated: {which}height: part of a row's processes that compute.")


# Predicted against measured


def measured_figure(
    verification: Sequence[VerifiedConfiguration], best: str, *, advised: str = "advised"
) -> blocks.Figure | None:
    """What was predicted, with its interval, and every real run; none where nothing was really run."""
    ran = [one for one in verification if one.measured_s]
    if not ran:
        return None
    ran.sort(key=lambda one: (one.name != best, one.measured_median_s or 0.0))  # the advised one stays
    shown = sorted(ran[:MOST_MAKESPANS], key=verification.index)
    drawn = plots.verification(
        [plots.Checked.of(one, f"{advised} ({one.name})" if one.name == best else called(one.name)) for one in shown],
    )
    more = f" The fastest {len(shown)} of {len(ran)}, and what was advised." if len(shown) < len(ran) else ""
    return blocks.Figure(drawn, f"Real runs on this machine against what was predicted before them.{more}")


# What to run


def launch_lines(text: str, where: str = "") -> tuple[blocks.Command, ...]:
    """The lines of `commands.txt`: what each is for stands above it. Open MPI, then Slurm, come first."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [
        blocks.Command(line, above.removeprefix("#").strip())
        for above, line in itertools.pairwise(lines)
        if above.startswith("#") and not line.startswith("#")
    ]
    order = ("Open MPI 5", "Slurm, in", "MPICH, each", "Open MPI up", "Slurm, as", "MPICH")
    places = [_place(one.label, order) for one in found]
    launched = sorted((place, number) for number, place in enumerate(places) if place < len(order))
    return tuple(replace(found[number], label=f"{found[number].label}{where}") for _, number in launched)


def _place(label: str, order: Sequence[str]) -> int:
    return next((place for place, start in enumerate(order) if label.startswith(start)), len(order))


def lifted(shown: Sequence[blocks.Block], most: int = 2) -> tuple[tuple[blocks.Figure, ...], tuple[blocks.Block, ...]]:
    """The first figures of a section, which its page opens with, and what is left of it."""
    figures = [one for one in shown if isinstance(one, blocks.Figure)][:most]
    return tuple(figures), tuple(one for one in shown if one not in figures)
