"""A stream of jobs under one policy: averages, busy PEs and queue over time, classes of jobs, and what was asked."""

from typing import Any

from advisor import wording
from advisor.report.page import Block, Figure, Section, Table, Text, pairs, table
from advisor.wording import Document, clean, number

NOTHING_RUN = Text("This document has no averages: nothing was simulated.", quiet=True)
MEASURES = (
    ("wait", "wait_s", "s"),
    ("turnaround", "turnaround_s", "s"),
    ("slowdown", "slowdown", ""),
    ("bounded slowdown (10 s)", "bounded_slowdown", ""),
    ("bounded slowdown per processor", "per_processor_slowdown", ""),
    ("area-weighted slowdown", "area_weighted_slowdown", ""),
)
TAILS = (("p95", "95 % are below"), ("p99", "99 % are below"), ("max", "most"))


def averages_section(document: Document) -> Section:
    """Means, tails and the machine's share."""
    found = document.get("averages")
    if not found:
        return Section("averages", "Averages", (NOTHING_RUN,))
    rows = [[name, _value(found.get(key), unit), *_tails(found, key)] for name, key, unit in MEASURES]
    blocks: list[Block] = [Text(f"Overloaded: {clean(document['overloaded'])}.")] if document.get("overloaded") else []
    blocks += [
        table("Averages over the jobs", ["measure", "mean", *(text for _, text in TAILS)], rows, note=_dropped(found)),
        pairs(_machine(document, found)),
    ]
    return Section(
        "averages", "Averages", (*blocks, *_figure(document, "waits", "Which share of the jobs waits longer."))
    )


def over_time_section(document: Document) -> Section:
    """Busy PEs, the queue, and who had which PE."""
    blocks = _figure(document, "busy", "PEs that jobs have (dotted: all there are), and jobs that wait.")
    blocks += _figure(document, "pes", "Which job had which PEs.")
    return Section("over-time", "Over time", tuple(blocks) or (Text("No figure was drawn.", quiet=True),))


def classes_section(document: Document) -> Section:
    """Who waits most."""
    blocks: list[Block] = []
    for kind, what in (("processors", "processors"), ("run", "run time")):
        entries = (document.get("classes") or {}).get(kind) or ()
        if entries:
            blocks.append(_classes(entries, what))
            blocks += _figure(document, f"classes-{kind}", f"Bounded slowdown by {what}.")
    return Section("classes", "Classes of jobs", tuple(blocks) or (NOTHING_RUN,))


def asked_section(document: Document) -> Section:
    """The stream, what was changed in it, and the policy."""
    stream, policy = document.get("stream") or {}, document.get("policy") or {}
    facts = {
        "Stream": clean(stream.get("name") or ""),
        "Jobs": str(stream.get("jobs", "")),
        "PEs": str(document.get("pes") or ""),
        "Policy": clean(policy.get("variant") or policy.get("name") or ""),
        "Estimates": clean((document.get("estimates") or {}).get("label") or ""),
        "Offered load": wording.digits(document.get("offered_load")),
    }
    setting = document.get("setting") or {}
    if setting.get("platform"):
        facts["Platform"] = clean(setting["platform"])
        facts["Run times"] = f"{clean(setting.get('times') or '')}, draw {setting.get('draw')} of the loads"
    notes = tuple(Text(clean(note)) for note in stream.get("notes") or ())
    return Section("asked", "What was asked", (pairs(facts), *notes))


def _value(value: object, unit: str) -> str:
    known = number(value)
    return wording.NOTHING if known is None else f"{known:.6g}{f' {unit}' if unit else ''}"


def _tails(found: Document, key: str) -> list[str]:
    unit = " s" if key.endswith("_s") else ""
    stem = key.removesuffix("_s")
    keys = [f"{stem}_{part}{'_s' if unit else ''}" for part, _ in TAILS]
    return [_value(found.get(key), unit.strip()) for key in keys]


def _dropped(found: Document) -> str:
    share = wording.percent(found.get("warm_up"), 1)
    told = f"of {found.get('jobs')} jobs; the first {found.get('dropped')} to end ({share}) are the warm-up, left out"
    return told if found.get("dropped") else f"of all {found.get('jobs')} jobs; no warm-up is left out"


def _machine(document: Document, found: Document) -> dict[str, str]:
    told = {
        "Utilisation": wording.percent(found.get("utilisation"), 2),
        "From the end of the warm-up to the last submission": wording.percent(found.get("steady_utilisation"), 2),
        "First submission to last end": wording.duration(found.get("makespan_s")),
        "Ended by their limit": wording.percent(found.get("killed"), 2),
    }
    late = document.get("delayed")
    if late:
        told["Delayed by later jobs"] = delayed_text(late)
    return told


def delayed_text(late: Any) -> str:
    """How many of the sampled jobs later ones delayed, with the interval of the share."""
    ends = f"{100 * late['low']:.3g} to {100 * late['high']:.3g} % with {100 * late['level']:.4g} %"
    return (
        f"{late['delayed']} of {late['sampled']} sampled ({ends}), by {late['mean_delay_s']:.6g} s in the mean of all"
    )


def _classes(entries: Any, what: str) -> Table:
    rows = [
        [clean(one.get("label")), str(one.get("jobs"))]
        + [_value(one.get(key), unit) for key, unit in (("wait_s", "s"), ("bounded_slowdown", ""))]
        + [_value(one.get("bounded_slowdown_p95"), "")]
        for one in entries
    ]
    head = [what, "jobs", "mean wait", "mean bounded slowdown", "95 % are below"]
    return table(f"By {what}", head, rows)


def _figure(document: Document, name: str, caption: str) -> list[Block]:
    drawn = (document.get("figures") or {}).get(name)
    return [Figure(drawn, caption)] if drawn else []
