"""What a makespan waits for, in words: the sentence and the table of a critical path."""

from collections.abc import Sequence

from advisor import wording
from advisor.report.page import Table, table
from advisor.wording import Document, clean, number

LEAST_SHARE = 0.02
"""Of the makespan, below which the sentence is silent."""
MOST_NAMED = 2
"""PEs that the sentence names."""
MOST_ROWS = 12
LOST = 0.05
"""Part of a part, from which on it is said to be lost to others."""
WORDS = {
    "computing": "computing",
    "farm": "working for a farm",
    "disk": "disk",
    "asleep": "asleep",
    "barrier": "at a barrier",
}


def waits_text(parts: Sequence[Document]) -> str:
    """Which PE and which link the makespan waits for, in one sentence; nothing where nothing is known."""
    known = [part for part in parts if number(part.get("share")) is not None]
    if not known:
        return ""
    messages = [part for part in known if part.get("what") == "message"]
    others = [part for part in known if part.get("what") != "message"]
    named = others if len(others) == MOST_NAMED + 1 else others[:MOST_NAMED]
    told = [(float(part["share"]), _who(part)) for part in named]
    if messages:
        told.append((sum(float(part["share"]) for part in messages), _messages(messages)))
    told = [one for one in sorted(told, key=lambda one: -one[0]) if one[0] >= LEAST_SHARE] or told[:1]
    if len(others) > len(named):
        rest = sum(float(part["share"]) for part in others[len(named) :])
        told += [(rest, f"{len(others) - len(named)} more PEs")] if rest >= LEAST_SHARE else []
    (first, what), *more = told
    return ", ".join(
        [
            f"{wording.percent(first)} of the makespan is {what}",
            *(f"{wording.percent(share)} {who}" for share, who in more),
        ]
    )


def _who(part: Document) -> str:
    what = str(part.get("what"))
    seconds, held_up = number(part.get("seconds")) or 0.0, number(part.get("held_up_s")) or 0.0
    lost = held_up / seconds if seconds else 0.0
    why = f" ({wording.percent(lost)} of that lost to load and sharing)" if what == "computing" and lost > LOST else ""
    return f"{clean(part.get('where'))} {WORDS.get(what, clean(what))}{why}"


def _messages(messages: Sequence[Document]) -> str:
    total = sum(float(part["share"]) for part in messages)
    held_up = sum(number(part.get("held_up_s")) or 0.0 for part in messages)
    seconds = sum(number(part.get("seconds")) or 0.0 for part in messages)
    first = messages[0]
    if len(messages) == 1:
        where = f" {_over(first)}"
    elif float(first["share"]) >= 0.5 * total:
        where = f", most of it {_over(first)}"
    else:
        where = f" over {len(messages)} links, above all {clean(first.get('where'))}"
    busy = (
        f" ({wording.percent(held_up / seconds)} of that waiting for links in use)" if held_up > LOST * seconds else ""
    )
    return f"messages{where}{busy}"


def _over(part: Document) -> str:
    where = clean(part.get("where"))
    return where if where.startswith("within ") else f"over {where}"


def waits_table(parts: Sequence[Document], caption: str) -> Table:
    """The parts of the critical path, largest first."""
    rows = []
    for part in parts[:MOST_ROWS]:
        what = str(part.get("what"))
        rows.append(
            [
                f"messages {_over(part)}"
                if what == "message"
                else f"{clean(part.get('where'))} {WORDS.get(what, clean(what))}",
                wording.percent(part.get("share"), 1),
                wording.duration(part.get("seconds")),
                wording.duration(part["held_up_s"]) if number(part.get("held_up_s")) else wording.NOTHING,
                wording.digits(part.get("steps"), 1),
            ]
        )
    if len(parts) > MOST_ROWS:
        rest = parts[MOST_ROWS:]
        sums = [
            sum(number(part.get(key)) or 0.0 for part in rest) for key in ("share", "seconds", "held_up_s", "steps")
        ]
        rows.append(
            [
                f"{len(rest)} more",
                wording.percent(sums[0], 1),
                wording.duration(sums[1]),
                wording.duration(sums[2]) if sums[2] else wording.NOTHING,
                f"{sums[3]:.0f}",
            ]
        )
    return table(
        caption,
        ["what", "of the makespan", "time", "held up", "steps"],
        rows,
        note="The chain of operations that ends last, back to the start: each waited for the one before it. A "
        "message counts for the link of its route that had most to carry for its bandwidth meanwhile. Held up: longer "
        "than with the links, or the PE, to itself.",
    )
