"""The explanation of an advice as plain text: why, switch points, sensitivity, and what to measure next."""

from advisor import wording
from advisor.report.doubt_text import NEXT_HEAD, SHARE_HEAD, next_lines, next_rows, share_rows
from advisor.report.text import table, wrapped
from advisor.wording import Document, clean, number, percent
from simulator import units

MOST_LIMITS = 4
MOST_PARAMETERS = 8
LEAST_SHARE = 0.05
"""Of the critical path or of replications, below which a PE is not said to limit."""
LEAST_GAIN = 1.005
"""Ratio below which two strategies are as good as equal."""
LEAST_WAIT = 0.005
"""Part of the makespan below which nobody is said to wait."""


def render_explanation(document: Document, *, width: int = 100) -> str:
    """Write the fields that an explained advice has for a terminal; nothing where there are none.

    Parameters
    ----------
    document
        An advice with the fields of `Explanation.to_dict`.
    width
        Columns of the terminal.
    """
    if "explanation" not in document:
        return ""
    blocks = [
        _why(document),
        _others(document),
        _switches(document),
        _sensitivity(document),
        _doubt(document),
        _next(document),
        _better(document),
        _spent(document),
    ]
    lines = [line for block in blocks if block for line in [*wrapped(block, width=max(40, width)), ""]]
    return "\n".join(lines).rstrip()


def _why(document: Document) -> list[str]:
    why = document.get("why")
    if not why:
        return []
    limits = [one for one in why["limits"] if max(one["path_share"], one["computes_last"]) >= LEAST_SHARE]
    lines = ["Why"]
    for place, one in enumerate(limits[:MOST_LIMITS]):
        how = f"{clean(one['pe'])} {'limits' if place == 0 else 'next'}: its computing is {percent(one['path_share'])}"
        over = "the one replication" if document["explanation"].get("replications") == 1 else "replications"
        last = f"it computes last in {percent(one['computes_last'])} of {over}"
        lines.append(f"  {how} of the critical path; {last}")
    spent = f"{percent(why['computing'])} of their time computing, {percent(why['waiting'])} in messages and waiting"
    lines.append(f"  PEs in use: {spent}, {percent(why['idle'])} done early")
    predicted = wording.entry_of(document, document.get("recommended")).get("predicted_makespan_s") or {}
    least = LEAST_WAIT * (number(predicted.get("mean")) or 0.0)
    waits = [one for one in why["waits"] if one["seconds"] >= least]
    lines += [
        f"  {clean(one['pe'])} waits {wording.duration(one['seconds'])} for {clean(one['waits_for'])}"
        for one in waits[:MOST_LIMITS]
    ]
    lines += [f"  {line}" for line in sharing_lines(why)]
    rows = [
        [
            "the best problem size" if one["of"] == "problem size" else f"no {one['of']}",
            change_text(one["share"], one, less=True),
            change_text(-one["divided_anew"]),
        ]
        for one in why["costs"]
    ]
    return [*lines, *table(["makespan with", "as advised", "redivided"], rows)]


def sharing_lines(why: Document) -> list[str]:
    """The sharing domains that bind, one line each."""
    lines = []
    for one in (why.get("sharing") or ())[:MOST_LIMITS]:
        names = [clean(name) for name in one["pes"]]
        pes = f"PE {names[0]}" if len(names) == 1 else f"PEs {names[0]} to {names[-1]}"
        more = f", and {wording.counted(one['alike'], 'more such domain')}" if one["alike"] else ""
        unit = {"memory": "B/s", "cache": "B"}.get(one["kind"])
        if unit is None:
            asked = f"{one['asked']:.3g} compute at once"
        else:
            asked = f"asked for {_amount(one['asked'], unit)} of {_amount(one['capacity'], unit)}"
        lines.append(f"{clean(one['domain'])} ({pes}{more}): {asked}: each keeps {percent(one['kept'])}")
    return lines


def _amount(value: float, unit: str) -> str:
    return units.show_rate(value, unit) if unit == "B/s" else units.show_size(value)


def _others(document: Document) -> list[str]:
    others = (document.get("why") or {}).get("others") or ()
    rows = [
        [
            f"{one['change']} {clean(one['pe'])}",
            wording.seconds(one["makespan_s"], {"mean": one["makespan_s"]}),
            change_text(one["longer"], one),
        ]
        for one in others
    ]
    header = ["change", f"{objective_text(document)} (s)", "longer"]
    return (
        ["What one change of this advice makes of it, the units divided for it", *table(header, rows)] if rows else []
    )


def _switches(document: Document) -> list[str]:
    lines = []
    for found in document.get("switch_points") or ():
        name = clean(found["parameter"]) or clean(found["of"])
        name = "load times" if found["of"] == "load" else name
        span = f"{value_text(found['low'])} to {value_text(found['high'])}"
        for point in found["points"]:
            below, above = point["below"], point["above"]
            lines.append(
                f"  {name} {value_text(point['value'])}: from here on {clean(above['strategy'])}{gain_text(above)}, "
                f"below it {clean(below['strategy'])}{gain_text(below)}"
            )
        if not found["points"] and found["strategy"]:
            lines.append(f"  {name} {span}: {clean(found['strategy'])} stays best")
        if found["note"]:
            lines.append(f"  {name} {span if found['strategy'] else ''}".rstrip() + f": {clean(found['note'])}")
    return ["Switch points", *lines] if lines else []


def _sensitivity(document: Document) -> list[str]:
    found = list(document.get("sensitivity") or ())
    rows = [
        [
            clean(one["parameter"]),
            *(change_text(effect["makespan"]) for effect in one["effects"]),
            percent(one["regret"], 2),
        ]
        for one in found[:MOST_PARAMETERS]
    ]
    if not rows:
        return []
    header = ["parameter", *(change_text(effect["change"], decimals=0) for effect in found[0]["effects"]), "regret"]
    title = (
        "Sensitivity: change of the makespan of this advice, and what it regrets against advice for the changed value"
    )
    least = number(document["explanation"].get("search_regret"))
    notes = [f"  regret of the unchanged scenario on these draws: {percent(least, 2)}"] if least else []
    return [title, *table(header, rows), *notes]


def _doubt(document: Document) -> list[str]:
    rows = share_rows(document)
    return ["What is not known, by source", *table(list(SHARE_HEAD), rows, left=1)] if rows else []


def _next(document: Document) -> list[str]:
    told, *more = next_lines(document) or [""]
    rows = next_rows(document)
    listed = table(list(NEXT_HEAD), rows, left=1) if len(rows) > 1 else []
    return [told, *(f"  {line}" for line in more), *listed] if told else []


def _spent(document: Document) -> list[str]:
    spent = document["explanation"]
    runs = f"{spent['simulated_runs']} simulated runs of at most {spent['most_runs']}"
    lines = [f"Explained by {runs}, {wording.counted(spent['replications'], 'replication')} each; by mean makespans"]
    return lines + ([f"Left out: {', '.join(map(clean, spent['left_out']))}"] if spent["left_out"] else [])


def _better(document: Document) -> list[str]:
    name, gained = (document["explanation"].get(key) for key in ("adopted_instead_of", "adopted_gain"))
    if name is None:
        return []
    return [
        f"This advice was found while explaining; the search's own, {clean(name)}, takes {percent(gained, 2)} longer"
    ]


def objective_text(document: Document) -> str:
    """What makespans are compared by, in words."""
    return {"p95": "95 % quantile", "worst": "largest"}.get(str(document.get("objective")), "mean")


def change_text(share: object, entry: Document | None = None, *, less: bool = False, decimals: int = 1) -> str:
    """A change as a percentage with its sign, and with the interval of an entry, `low` and `high`, if it has one.

    Parameters
    ----------
    less
        Whether share and interval say how much less it is.
    """
    found = number(share)
    if found is None:
        return wording.NOTHING
    low, high = (number((entry or {}).get(key)) for key in ("low", "high"))
    if low is None or high is None or round(low, decimals + 2) == round(high, decimals + 2):
        text, zero = f"{-100 * found if less else 100 * found:+.{decimals}f}", f"{0:.{decimals}f}"
        return f"{zero if text[1:] == zero else text} %"
    ends = (-found, -high, -low) if less else (found, low, high)
    return units.show_interval(*ends, unit="%", signed=True)


def gain_text(side: Document) -> str:
    """How much faster one side of a switch point is at the end of its range, in brackets; nothing if hardly."""
    ratio = number(side["gain"])
    if ratio is None or ratio < LEAST_GAIN:
        return ""
    return f" ({wording.times(ratio)} times faster at {value_text(side['at'])})"


def value_text(value: object) -> str:
    """A value of a parameter, short."""
    found = number(value)
    return wording.NOTHING if found is None else f"{found:.0f}" if found % 1 == 0 else f"{found:.3g}"
