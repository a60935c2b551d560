"""A what-if as text: the answer in one sentence, the points or a matrix of them, and what single changes do."""

from collections.abc import Mapping
from typing import Any

from advisor import wording
from advisor.report import whatif_words as words
from advisor.report.text import table
from advisor.wording import clean, counted
from simulator import units

MOST_ROWS = 40
"""Points in the table; of more, the base, those that gain most, and the slowest."""
TOP = 20
"""Points in the table of more."""
MOST_COLUMNS = 10
MOST_REASONS = 5

Document = Mapping[str, Any]


def render_whatif(document: Document) -> str:
    """The sentence, the table of points against the base, what fields do, what failed, and the warnings."""
    blocks = [
        [document["sentence"]],
        _matrix(document),
        _points(document),
        _effects(document),
        _fronts(document),
        _failed(document),
        [_spent(document), *(f"warning: {line}" for line in document["warnings"])],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _matrix(document: Document) -> list[str]:
    """Two fields that are not too many to print."""
    found = words.matrix(document)
    if found is None or not 2 <= len(found[0]) - 1 <= MOST_COLUMNS or not 2 <= len(found[1]) <= MOST_ROWS:
        return []
    head, rows, unit = found
    down, across = (clean(field["name"]) for field in document["grid"]["fields"])
    return [f"Mean makespan in {unit}: {down} down, {across} across", *table(head, rows)]


def _points(document: Document) -> list[str]:
    """Every point, or the base, those that gain most and the slowest."""
    points = document["points"]
    answered = [entry for entry in points if entry["best"] is not None and (entry["differs"] or not entry["point"])]
    if not answered:
        return []
    shown, left = answered, ""
    ranked = words.by_gain(document)
    if len(answered) > MOST_ROWS:
        shown = [entry for entry in (points[0], *ranked[:TOP], ranked[-1]) if entry["best"] is not None]
        left = f"  the base, the {TOP} that gain most and the slowest of {len(answered)}; all with --json or -o DIR"
    rows = [
        [
            words.named(document, entry),
            _configuration(entry),
            words.makespan(entry),
            words.difference(entry["difference_s"]) if entry["point"] else "the base",
            words.gain(entry["gain"]),
            words.chance(document, entry),
        ]
        for entry in shown
    ]
    head = ["point", "configuration", "makespan", "against the base", "times as fast", "fastest"]
    told = wording.interval_line(document)
    notes = [*([f"  {told}"] if told else []), "  fastest: chance that no other point is faster; a tie is within 1 %"]
    return [*table(head, rows, left=2), *([left] if left else []), *notes]


def _configuration(entry: Document) -> str:
    advice = entry["advice"]
    if advice is None:
        return clean(entry["best"])
    shares = [f"{clean(pe)} {part}" for pe, part in zip(advice["pes"], advice["partition"], strict=True)]
    busy = sum(part > 0 for part in advice["partition"])
    told = ", ".join(shares) if len(shares) <= 4 else f"{busy} processes"
    return f"{clean(advice['recommended'])}: {told}"


def _effects(document: Document) -> list[str]:
    """Where more gains nothing, percent of makespan per percent, and the changes together that differ most."""
    lines = []
    if document["diminishing"]:
        lines += table(words.DIMINISHING, [words.diminishing(found) for found in document["diminishing"]], left=5)
    if document["elasticity"]:
        told = ", ".join(
            f"{clean(one['field'])} {words.percents(one['here'])} ({clean(one['here']['from'])} to "
            f"{clean(one['here']['to'])})"
            for one in document["elasticity"]
        )
        lines.append(f"% of makespan per % more: {told}")
    most = next((one for one in document["interactions"] if one["point"] == document["pays_most"]), None)
    if most is not None:
        lines.append(f"Together: {words.interaction_text(document, most)}")
    return lines


def _fronts(document: Document) -> list[str]:
    """Points that none beats in both makespan and cost."""
    lines = []
    for front in document["fronts"]:
        of, points = front["of"], [document["points"][number] for number in front["points"]]
        lines.append(f"None beats these in both makespan and {of} ({front['unit']} of a run, all PEs of the platform):")
        rows = [
            [words.named(document, entry), words.makespan(entry), wording.digits(entry[of]["run"], 4)]
            for entry in points
        ]
        lines += table(["point", "makespan", of], rows[:TOP])
    return lines


def _failed(document: Document) -> list[str]:
    """Reasons, with how many points each has."""
    found = words.failures(document)
    lines = [
        f"failed: {why} ({words.named(document, entries[0])}"
        + (f" and {len(entries) - 1} more)" if len(entries) > 1 else ")")
        for why, entries in found[:MOST_REASONS]
    ]
    rest = sum(len(entries) for _, entries in found[MOST_REASONS:])
    return lines + ([f"failed for other reasons: {counted(rest, 'point')}"] if rest else [])


def _spent(document: Document) -> str:
    spent, count = document["spent"], len(document["points"])
    ran = "" if spent["run_now"] == count else f", {count - spent['run_now']} of them finished earlier"
    replications = counted(document["replications"], "paired replication")
    known = "; deterministic: nothing is drawn" if document.get("deterministic") else ""
    line = f"{count} points{ran}; {replications} each, seed {document['seed']}{known}"
    if spent.get("median_asked_s"):
        times = [units.show_duration(spent[name]) for name in ("median_asked_s", "median_beside_s")]
        line += f"; per point {times[0]} of simulation and {times[1]} beside it (medians)"
    return line
