"""The explanation of an advice: why, what it is sensitive to, where its doubt comes from."""

from collections import Counter
from collections.abc import Iterator, Sequence

from advisor import wording
from advisor.advise.explanation import Effort, Explanation, Reasons
from advisor.advise.explanation.doubt_sources import UNEXPLAINED as REST
from advisor.advise.explanation.doubt_sources import UNSTATED, Share
from advisor.advise.measured_again import MeasuredAgain
from advisor.results import Compared
from advisor.wording import percent
from simulator import blocks, units

MOST_LIMITS = 4
"""Sharing domains that are named."""
LEAST_WAIT = 0.005
"""Part of the makespan below which nobody is said to wait; on a page, of the path below which nobody limits."""
MOST_SOURCES = 8
MESSAGES_LIMIT = 0.5
"""Part of the critical path from which on messages limit a recorded program."""


# Pages


def explanation_section(compared: Compared, found: Explanation) -> blocks.Section:
    """The explanation in words, tables and a figure."""
    effort, parts = found.effort, tuple[Iterator[blocks.Block], ...]()
    if effort is not None:
        parts = (_why(compared, found), _sensitivity(found, effort), _spent(compared, effort))
    return blocks.Section("explanation", "Why, and how far it holds", tuple(block for part in parts for block in part))


def _why(compared: Compared, found: Explanation) -> Iterator[blocks.Block]:
    why = found.why
    if why is None:
        return
    limits = [
        [one.pe, percent(one.path_share), percent(one.computes_last)]
        for one in why.limits
        if max(one.path_share, one.computes_last) >= LEAST_WAIT
    ]
    note = (
        f"PEs in use spend {percent(why.computing)} of their time computing, {percent(why.waiting)} in messages and "
        f"waiting, {percent(why.idle)} done early."
    )
    limiting = blocks.table(
        "PEs that limit, over replications", ["PE", "of the critical path", "computes last in"], limits[:12], note=note
    )
    waits = [[f"{who} for {other}", wording.duration(seconds)] for who, other, seconds in _waits(compared, why)]
    others = [
        [f"{one.change} {one.pe}", wording.duration(one.makespan_s), change_text(one.longer, (one.low, one.high))]
        for one in why.others
    ]
    tables = [
        blocks.table("Change of the makespan with", ["with", "as advised", "redivided"], _cost_rows(why)),
        blocks.table("One change of this advice, the units divided for it", ["change", "makespan", "longer"], others),
        blocks.table("Who waits for whom to be ready, longest first", ["a process of", "mean"], waits[:6]),
    ]
    if why.told is not None:
        calls = [[one.site, percent(one.share)] for one in why.told.calls]
        talks = [
            [f"{one.ranks[0]} and {one.ranks[1]}", units.show_size(one.sent_bytes), one.site, " and ".join(one.nodes)]
            for one in why.told.talks
        ]
        tables += [
            blocks.table("Where a rank spends time in calls, of the makespan", ["call", "mean"], calls),
            blocks.table("Ranks that send each other most", ["ranks", "sent", "most of it in", "on"], talks),
        ]
    shown = tuple(one for one in tables if one.rows)
    yield blocks.SideBySide(limiting, shown) if shown else limiting
    if bound := sharing_lines(why):
        yield blocks.Text("Sharing domains that bind: " + "; ".join(bound) + ".")


def _waits(compared: Compared, why: Reasons) -> list[tuple[str, str, float]]:
    """Who waits for whom and how long one process does so: what processes of a PE wait in all would read as one's."""
    best = compared.best
    running = Counter(compared.pes[pe] for pe, part in zip(best.placement, best.partition, strict=True) if part)
    said = {pe: f"each of {count} processes on {pe}" if count > 1 else pe for pe, count in running.items()}
    return [(said.get(one.pe, one.pe), one.waits_for, one.seconds / max(1, running[one.pe])) for one in why.waits]


def _cost_rows(why: Reasons) -> list[list[str]]:
    return [
        [
            "the best problem size" if one.of == "problem size" else f"no {one.of}",
            change_text(one.share, (one.low, one.high), less=True),
            change_text(-one.divided_anew),
        ]
        for one in why.costs
    ]


def _sensitivity(found: Explanation, effort: Effort) -> Iterator[blocks.Block]:
    if not found.sensitivity:
        return
    least = effort.search_regret
    note = "Regret: what this advice takes longer than the best found for the changed value. " + (
        f"Of the unchanged scenario on these draws: {percent(least, 2)}." if least else ""
    )
    rows = [
        [one.parameter, *(change_text(effect.makespan) for effect in one.effects), percent(one.regret, 2)]
        for one in found.sensitivity
    ]
    changes = [change_text(effect.change, decimals=0) for effect in found.sensitivity[0].effects]
    head = ["parameter", *changes, "regret"]
    yield blocks.table("Sensitivity: change of the makespan", head, rows, note=note)


def _spent(compared: Compared, effort: Effort) -> Iterator[blocks.Block]:
    runs = f"{effort.simulated_runs} simulated runs of {wording.counted(effort.replications, 'replication')} each"
    said = f"Explained by {runs}; by {objective_text(compared.objective)} makespans."
    if effort.adopted_instead_of:
        taken = f"takes {percent(effort.adopted_gain, 2)} longer"
        said += f" This advice was found while explaining; the search's own, {effort.adopted_instead_of}, {taken}."
    said += f" Left out: {', '.join(effort.left_out)}." if effort.left_out else ""
    yield blocks.Text(said, quiet=True)


def doubt_blocks(found: Explanation, again: MeasuredAgain | None = None) -> Iterator[blocks.Block]:
    """Shares by source, and what measuring each is expected to bring."""
    if lines := again_lines(again):
        yield blocks.Listing("\n".join(lines))
    if found.doubt is None:
        return
    if said := doubt_sentence(found):
        yield blocks.Text(f"{said}.")
    note = "Shares of the variance over truths; what sources do only together, and noise, is no source's."
    head = ("source", "of the makespan", "of the gain", "because of")
    yield blocks.table("What is not known, by source", head, share_rows(found), note=note)
    if rows := next_rows(found):
        note = "Expected loss: what the advice takes longer than the best of each truth, in the mean."
        head = ("measure", "for", "expected loss after", "saved in a second")
        yield blocks.table("What measuring again would bring", head, rows, note=note)
    if lines := next_lines(found):
        yield blocks.Text("; ".join(lines) + ".", quiet=True)


# In words


def limit_sentence(found: Explanation) -> str:
    """Which PE limits most; nothing where no explanation was asked for."""
    if found.why is None or not found.why.limits:
        return ""
    if found.why.told is not None and found.why.told.talks and found.why.path_messages > MESSAGES_LIMIT:
        talk, where = found.why.told.talks[0], " and ".join(found.why.told.talks[0].nodes)
        sent = f"ranks {talk.ranks[0]} and {talk.ranks[1]} send each other {units.show_size(talk.sent_bytes)}"
        return f"{sent}, most in {talk.site}, and are on {where}; more with --full"
    one = found.why.limits[0]
    return f"{one.pe} limits: its computing is {percent(one.path_share)} of the critical path; more with --full"


def sharing_lines(why: Reasons) -> list[str]:
    """The sharing domains that bind, one line each."""
    lines = []
    for one in why.sharing[:MOST_LIMITS]:
        pes = f"PE {one.pes[0]}" if len(one.pes) == 1 else f"PEs {one.pes[0]} to {one.pes[-1]}"
        more = f", and {wording.counted(one.alike, 'more such domain')}" if one.alike else ""
        if one.kind in {"memory", "cache"} and one.capacity is not None:
            show = units.show_size if one.kind == "cache" else lambda value: units.show_rate(value, "B/s")
            asked = f"asked for {show(one.asked)} of {show(one.capacity)}"
        else:
            asked = f"{one.asked:.3g} compute at once"
        lines.append(f"{one.domain} ({pes}{more}): {asked}: each keeps {percent(one.kept)}")
    return lines


# Doubt in words


def doubt_sentence(found: Explanation) -> str:
    """Where most of the doubt comes from; empty where nothing is doubted."""
    if found.doubt is None or not found.doubt.makespan.sources:
        return ""
    most = found.doubt.makespan.sources[0]
    parts = _causes(most)
    return f"{_whole(most.share)} % of what is not known comes from {most.source}" + (f" ({parts})" if parts else "")


def losses(before: float | None, after: float | None) -> tuple[str, str]:
    """Two expected losses with as many decimals as they need to differ."""
    said = [(percent(before, decimals), percent(after, decimals)) for decimals in (1, 2)]
    return next((pair for pair in said if pair[0] != pair[1]), said[-1])


def share_rows(found: Explanation) -> list[list[str]]:
    """Each source with its share of the variance of makespan and gain, and its causes; columns add up to 100."""
    if found.doubt is None:
        return []
    every, gain = found.doubt.makespan.sources, found.doubt.gain
    kept = every[:MOST_SOURCES]
    names = [*(one.source for one in kept), REST if len(kept) == len(every) else f"others, {REST}"]
    mine = _column(every, names[:-1])
    other = [""] * len(names) if gain is None else _column(gain.sources, names[:-1])
    return [list(row) for row in zip(names, mine, other, [*map(_causes, kept), ""], strict=True)]


def next_rows(found: Explanation) -> list[list[str]]:
    """What measurements are expected to bring, the best first."""
    asked = found.measure_next
    return [
        [
            one.source,
            wording.duration(one.seconds),
            percent(max(0.0, (asked.expected_loss or 0.0) - one.reduction), 2),
            percent(one.per_second, 3),
        ]
        for one in asked.ranked[:MOST_SOURCES]
    ]


def next_lines(found: Explanation) -> list[str]:
    """What to measure next, by which command, and of what no doubt is known."""
    asked = found.measure_next
    more = [f"No doubt is stated of: {', '.join(asked.unstated)}"] if asked.unstated else []
    if asked.measure is None:
        few = (
            "one truth tells nothing of doubt; ask for more replications"
            if asked.doubted
            else "none of the models states a doubt"
        )
        return [f"Measure next: nothing; {'no measurement is expected to save much' if asked.ranked else few}", *more]
    before, after = losses(asked.expected_loss, asked.expected_loss_after)
    said = f"Measure next: {asked.measure}, for {wording.duration(asked.seconds)}"
    return [f"{said}; expected loss {before} now, {after} then", asked.command or "", *more]


def again_lines(again: MeasuredAgain | None) -> list[str]:
    """What was measured again, and the advice before and after."""
    if again is None:
        return []
    lines = [
        f"Measured again: {one.source} for {wording.duration(one.seconds)}; the new model is {one.model}"
        for one in again.measured
    ]
    for when, one in (("before", again.before), ("after", again.after)):
        interval, loss = wording.with_interval(one.predicted), percent(one.expected_loss, 2)
        loss = "not known" if one.expected_loss is None else loss
        parts = wording.partition_text(one.partition, most=4)
        lines.append(f"  {when:<7}{one.recommended}: {parts}; {interval}; expected loss {loss}")
    changes = [change for one in again.measured for change in one.changes]
    return [*lines, f"  in the scenario: {', '.join(changes)}"]


def _column(sources: Sequence[Share], names: Sequence[str]) -> list[str]:
    """Shares of some sources and of the rest in whole percent that add up to 100."""
    shares = {one.source: one.share for one in sources}
    some = [shares.get(name, 0.0) for name in names]
    return [f"{value} %" for value in whole_percents([*some, max(0.0, 1 - sum(some))])]


def whole_percents(shares: Sequence[float]) -> list[int]:
    """Shares that add up to 1 as whole percents that add up to 100: the largest remainders are rounded up."""
    floors = [int(100 * share) for share in shares]
    order = sorted(range(len(shares)), key=lambda place: floors[place] - 100 * shares[place])
    for place in order[: 100 - sum(floors)]:
        floors[place] += 1
    return floors


def _causes(one: Share) -> str:
    parts = sorted(one.causes.items(), key=lambda item: -item[1])
    return ", ".join(f"{cause} {_whole(share)}" for cause, share in parts if cause != UNSTATED and share >= 0.005)


def _whole(share: float) -> str:
    return f"{100 * share:.0f}"


# Changes in words


def objective_text(objective: str) -> str:
    """What makespans are compared by, in words."""
    return {"p95": "95 % quantile", "worst": "largest"}.get(objective, "mean")


def change_text(
    share: float, ends: tuple[float | None, float | None] = (None, None), *, less: bool = False, decimals: int = 1
) -> str:
    """A change as a percentage with its sign, and with its interval, if it has one.

    `less`: whether share and interval say how much less it is.
    """
    low, high = ends
    if low is None or high is None or round(low, decimals + 2) == round(high, decimals + 2):
        text, zero = f"{-100 * share if less else 100 * share:+.{decimals}f}", f"{0:.{decimals}f}"
        return f"{zero if text[1:] == zero else text} %"
    said = (-share, -high, -low) if less else (share, low, high)
    return units.show_interval(*said, unit="%", signed=True)
