"""Where the doubt of an advice comes from and what to measure next, in words: one sentence, and the rows of tables."""

from collections.abc import Sequence

from advisor import wording
from advisor.wording import Document, clean, number

REST = "interactions and noise"
"""What no source explains alone."""
UNSTATED = "as stated"
"""The cause of a doubt that its model or entry does not divide."""
NOT_DOUBTED = "none of the models states a doubt"
MOST_SOURCES = 8
SHARE_HEAD = ("source", "of the makespan", "of the gain", "because of")
NEXT_HEAD = ("measure", "for", "expected loss after", "saved in a second")


def doubt_sentence(document: Document) -> str:
    """Where most of the doubt comes from and what measuring would bring; empty where nothing is doubted."""
    found = (document.get("doubt") or {}).get("makespan") or {}
    asked = document.get("measure_next") or {}
    if not found.get("sources"):
        return ""
    most = found["sources"][0]
    parts = _causes(most)
    told = f"{_whole(most['share'])} % of what is not known comes from {clean(most['source'])}"
    told += f" ({parts})" if parts else ""
    if asked.get("measure") is None:
        return f"{told}; no measurement is expected to save much"
    again = "it" if asked["measure"] == most["source"] else clean(asked["measure"])
    before, after = losses(asked["expected_loss"], asked["expected_loss_after"])
    saved = f"is expected to reduce the expected loss from {before} to {after}"
    return f"{told}; measuring {again} again for {wording.duration(asked['seconds'])} {saved}"


def losses(before: object, after: object) -> tuple[str, str]:
    """Two expected losses with as many decimals as they need to differ."""
    told = [(wording.percent(before, decimals), wording.percent(after, decimals)) for decimals in (1, 2)]
    return next((pair for pair in told if pair[0] != pair[1]), told[-1])


def share_rows(document: Document) -> list[list[str]]:
    """Each source with its share of the variance of makespan and gain, and its causes; columns add up to 100."""
    found = document.get("doubt") or {}
    makespan = found.get("makespan")
    if not makespan:
        return []
    gain = found.get("gain")
    shown, kept = makespan["sources"][:MOST_SOURCES], [one["source"] for one in makespan["sources"][:MOST_SOURCES]]
    mine = _column(makespan, kept)
    other = [""] * len(mine) if gain is None else _column(gain, kept)
    names = [*(clean(name) for name in kept), REST if len(kept) == len(makespan["sources"]) else f"others, {REST}"]
    causes = [*(_causes(one) for one in shown), ""]
    return [list(row) for row in zip(names, mine, other, causes, strict=True)]


def next_rows(document: Document) -> list[list[str]]:
    """What measurements are expected to bring, the best first."""
    asked = document.get("measure_next") or {}
    rows = []
    for one in (asked.get("ranked") or ())[:MOST_SOURCES]:
        before = number(asked.get("expected_loss")) or 0.0
        after = max(0.0, before - one["reduction"])
        rows.append(
            [
                clean(one["source"]),
                wording.duration(one["seconds"]),
                wording.percent(after, 2),
                wording.percent(one["reduction_per_s"], 3),
            ]
        )
    return rows


def next_lines(document: Document) -> list[str]:
    """What to measure next, by which command, and of what no doubt is known."""
    asked = document.get("measure_next") or {}
    if not asked:
        return []
    unstated = ", ".join(map(clean, asked.get("unstated") or ()))
    more = [f"No doubt is stated of: {unstated}"] if unstated else []
    if asked.get("measure") is None:
        return [f"Measure next: nothing; {_why_nothing(asked)}", *more]
    before, after = losses(asked["expected_loss"], asked["expected_loss_after"])
    told = f"Measure next: {clean(asked['measure'])}, for {wording.duration(asked['seconds'])}"
    return [f"{told}; expected loss {before} now, {after} then", clean(asked["command"]), *more]


def _why_nothing(asked: Document) -> str:
    if asked.get("ranked"):
        return "no measurement is expected to save much"
    return "one truth tells nothing of doubt; ask for more replications" if asked.get("doubted") else NOT_DOUBTED


def again_lines(document: Document) -> list[str]:
    """What was measured again, and the advice before and after."""
    found = document.get("measured_again")
    if not found:
        return []
    lines = [
        f"Measured again: {clean(one['source'])} for {wording.duration(one['seconds'])}; the new model is "
        f"{clean(one['model'])}"
        for one in found["measured"]
    ]
    for when in ("before", "after"):
        one = found[when]
        takes = one.get("predicted_makespan_s") or {}
        interval = wording.with_interval(takes)
        loss = wording.percent(one.get("expected_loss"), 2) if one.get("expected_loss") is not None else "not known"
        units = wording.partition_text(one.get("partition"), most=4)
        lines.append(f"  {when:<7}{clean(one['recommended'])}: {units}; {interval}; expected loss {loss}")
    changes = [change for one in found["measured"] for change in one["changes"]]
    return [*lines, "  in the scenario: " + ", ".join(map(clean, changes))]


def _column(found: Document, names: Sequence[str]) -> list[str]:
    """Shares of some sources and of the rest in whole percent that add up to 100."""
    shares = {one["source"]: float(one["share"]) for one in found["sources"]}
    some = [shares.get(name, 0.0) for name in names]
    return [f"{value} %" for value in whole_percents([*some, max(0.0, 1 - sum(some))])]


def whole_percents(shares: Sequence[float]) -> list[int]:
    """Shares that add up to 1 as whole percents that add up to 100: the largest remainders are rounded up."""
    floors = [int(100 * share) for share in shares]
    order = sorted(range(len(shares)), key=lambda place: floors[place] - 100 * shares[place])
    for place in order[: 100 - sum(floors)]:
        floors[place] += 1
    return floors


def _causes(one: Document) -> str:
    parts = sorted(one["causes"].items(), key=lambda item: -item[1])
    return ", ".join(
        f"{clean(cause)} {_whole(share)}" for cause, share in parts if cause != UNSTATED and share >= 0.005
    )


def _whole(share: float) -> str:
    return f"{100 * share:.0f}"
