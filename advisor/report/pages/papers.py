"""The page of `reproduce all`: every table of the papers beside ours, and what cannot be had."""

from typing import Any

from advisor import wording
from advisor.report.page import Block, Figure, Folded, Page, Pairs, Section, Text, pairs, table
from advisor.wording import Document, clean, number

NAMES = {
    "allocation": "Process allocation for unmodified programs",
    "apexmap": "Memory access times",
    "characterisation": "Characterisation",
    "gbbp": "Speed bands",
    "jobs": "Job streams",
    "scopred": "Prediction from run history",
}
"""Short names for headings."""
DIGITS = 6


def page(document: Document) -> Page:
    """Inventory, a section per paper, what cannot be reproduced, provenance."""
    papers = document.get("papers") or ()
    return Page(
        title="The tables of the papers beside ours",
        answer=_answer(document),
        sections=(_inventory(document), *map(_section(document), papers), _impossible(document), _provenance(document)),
        command="reproduce",
        made=clean((document.get("provenance") or {}).get("made") or ""),
        settings=_settings(document),
        key_figures=_key_figures(document),
        warnings=tuple(clean(line) for line in document.get("warnings") or ()),
    )


def _answer(document: Document) -> str:
    counts = {name: count for name, count in (document.get("counts") or {}).items() if count}
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"Of {sum(counts.values())} tables and figures: {told}." if told else "No paper was computed."


def _settings(document: Document) -> str:
    settings = document.get("settings") or {}
    how = "on shipped recordings, nothing was run" if settings.get("recorded") else "with real runs on this machine"
    return f"{how}; seed {clean(document.get('seed'))}"


def _key_figures(document: Document) -> Pairs:
    cells = document.get("cells") or {}
    return pairs(
        {
            "figures of the papers looked at": clean(cells.get("printed") or ""),
            "of them computed again": clean(cells.get("compared") or ""),
            "the same within rounding": clean(cells.get("within_rounding") or ""),
        }
    )


def _inventory(document: Document) -> Section:
    rows = [
        [
            f"{clean(entry.get('name'))}, {clean(one.get('number'))}",
            clean(one.get("verdict")),
            _within(one),
            _worst(one),
            clean(one.get("title")),
        ]
        for entry in document.get("papers") or ()
        for one in entry.get("tables") or ()
    ]
    head = ["table", "verdict", "cells within rounding", "worst beyond it", "what it shows"]
    note = "Beyond rounding: in percent of the printed figure, or in points where figures are percentages."
    meaning = pairs({clean(name): clean(text) for name, text in (document.get("verdicts") or {}).items()})
    shown = table("Verdict on each", head, rows, text_columns=5, note=note)
    return Section("inventory", "All tables and figures", (shown, Folded("What the verdicts mean", (meaning,))))


def _within(one: Document) -> str:
    cells = one.get("cells") or ()
    return f"{one.get('within_rounding')} of {len(cells)}" if cells else wording.NOTHING


def _worst(one: Document) -> str:
    worst = number(one.get("worst_off_percent"))
    return wording.NOTHING if worst is None else f"{float(f'{worst:.2g}'):g} %"


def _section(document: Document) -> Any:
    drawings = document.get("drawings") or {}

    def section(entry: Document) -> Section:
        name = clean(entry.get("name"))
        blocks: list[Block] = [Text(clean(entry.get("citation")))]
        if entry.get("error"):
            blocks.append(Text(f"Failed: {clean(entry['error'])}"))
        blocks += [_table(one) for one in entry.get("tables") or ()]
        if entry.get("misprints"):
            items = tuple((f"{k}", clean(line)) for k, line in enumerate(entry["misprints"], start=1))
            blocks.append(Folded("Misprints and open points, and what we took them for", (Pairs(items),)))
        beside = [clean(path) for path in entry.get("figures") or () if entry.get("name") not in drawings]
        if beside:
            blocks.append(Text(f"Drawings beside this page: {', '.join(beside)}.", quiet=True))
        blocks += [
            Figure(svg, f"{NAMES.get(name, name)}: {clean(title)}")
            for title, svg in drawings.get(entry.get("name"), ())
        ]
        return Section(f"paper-{name}", NAMES.get(name, name), tuple(blocks))

    return section


def _table(one: Document) -> Block:
    """A table with its cells, folded under its verdict."""
    number_, title = clean(one.get("number")), clean(one.get("title"))
    summary = f"{number_[:1].upper()}{number_[1:]}, {clean(one.get('verdict'))}: {title}"
    blocks: list[Block] = [Text(clean(one.get("because")))]
    rows = [
        [
            clean(cell.get("where")),
            clean(cell.get("what")) + (f", {clean(cell['unit'])}" if cell.get("unit") else ""),
            _number(cell.get("printed")),
            _number(cell.get("ours")),
            _number(cell.get("difference"), digits=3),
            "yes" if cell.get("within_rounding") else wording.NOTHING if cell.get("ours") is None else _off(cell),
        ]
        for cell in one.get("cells") or ()
    ]
    if rows:
        head = ["where", "what", "printed", "ours", "difference", "within rounding"]
        blocks.append(table(summary, head, rows, text_columns=2, note="Otherwise how far beyond it."))
    return Folded(summary, tuple(blocks))


def _off(cell: Document) -> str:
    off = number(cell.get("off_percent"))
    unit = " points" if cell.get("unit") == "%" else " %"
    return wording.NOTHING if off is None else f"{float(f'{off:.2g}'):g}{unit}"


def _number(value: Any, *, digits: int = DIGITS) -> str:
    found = number(value)
    return wording.NOTHING if found is None else f"{found:.{digits}g}".replace("-", "−")


def _impossible(document: Document) -> Section:
    items = tuple(
        (
            f"{clean(one.get('paper'))}, {clean(one.get('number'))}",
            f"{clean(one.get('title'))}: {clean(one.get('verdict'))}. {clean(one.get('because'))}",
        )
        for one in document.get("not_reproduced") or ()
    )
    return Section("not-reproduced", "Not reproduced, and why", (Pairs(items) if items else Text("Nothing."),))


def _provenance(document: Document) -> Section:
    origin, settings = document.get("provenance") or {}, document.get("settings") or {}
    facts = {"Made": clean(origin.get("made") or ""), "Seed": clean(document.get("seed"))}
    facts |= {f"Setting {clean(name)}": clean(value) for name, value in settings.items() if value is not None}
    facts |= {f"Version of {clean(name)}": clean(value) for name, value in (origin.get("versions") or {}).items()}
    return Section("provenance", "Provenance", (Folded("Versions, settings, seed", (pairs(facts),)),))
