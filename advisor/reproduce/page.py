"""The page of `reproduce all`: every table of the papers and ours, and what cannot be had."""

from collections.abc import Iterator, Mapping, Sequence

from advisor import wording
from advisor.reproduce.comparison import VERDICTS, Compared, Paper, Reproduced
from simulator import blocks

NAMES = {
    "allocation": "Process allocation for unmodified programs",
    "apexmap": "Memory access times",
    "characterisation": "Characterisation",
    "gbbp": "Speed bands",
    "scopred": "Prediction from run history",
}
"""Short names for headings."""
DIGITS = 6


Drawings = Mapping[str, Sequence[tuple[str, str]]]
"""By paper: titles and figures as SVG."""


def papers_page(found: Reproduced, drawings: Drawings) -> blocks.Page:
    """Inventory, a section per paper, what cannot be reproduced, provenance."""
    counts = {name: count for name, count in found.counts.items() if count}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    papers = (
        blocks.Section(f"paper-{one.name}", NAMES.get(one.name, one.name), tuple(_paper(one, drawings)))
        for one in found.papers
    )
    return blocks.Page(
        title="The tables of the papers and ours",
        answer=f"Of {sum(counts.values())} tables and figures: {said}." if said else "No paper was computed.",
        sections=(_inventory(found), *papers, _impossible(found), _provenance(found)),
        command="reproduce",
        made=found.provenance.made,
        settings="on shipped recordings, nothing was run",
        key_figures=blocks.pairs(
            {
                "figures of the papers looked at": str(len(found.cells)),
                "of them computed again": str(found.compared),
                "the same within rounding": str(found.within_rounding),
            }
        ),
        warnings=found.warnings,
    )


def _inventory(found: Reproduced) -> blocks.Section:
    rows = [
        [
            f"{name}, {one.number}",
            one.verdict,
            f"{one.within_rounding} of {len(one.cells)}" if one.cells else wording.NOTHING,
            _short(one.worst_off_percent, " %"),
            one.title,
        ]
        for name, one in found.tables
    ]
    head = ["table", "verdict", "cells within rounding", "worst beyond it", "what it shows"]
    note = "Beyond rounding: in percent of the printed figure, or in points where figures are percentages."
    shown = blocks.table("Verdict on each", head, rows, text_columns=5, note=note)
    meant = blocks.Folded("What the verdicts mean", (blocks.pairs(VERDICTS),))
    return blocks.Section("inventory", "All tables and figures", (shown, meant))


def _paper(paper: Paper, drawings: Drawings) -> Iterator[blocks.Block]:
    yield blocks.Text(paper.citation)
    if paper.error:
        yield blocks.Text(f"Failed: {paper.error}")
    for one in paper.tables:
        yield _table(one)
    if paper.misprints:
        items = tuple((str(number), line) for number, line in enumerate(paper.misprints, start=1))
        yield blocks.Folded("Misprints and open points, and what we took them for", (blocks.Pairs(items),))
    if paper.figures and paper.name not in drawings:
        yield blocks.Text(f"Drawings in the folder of this page: {', '.join(paper.figures)}.", quiet=True)
    for title, svg in drawings.get(paper.name, ()):
        yield blocks.Figure(svg, f"{NAMES.get(paper.name, paper.name)}: {title}")


def _table(one: Compared) -> blocks.Block:
    """A table with its cells, folded under its verdict."""
    summary = f"{one.number[:1].upper()}{one.number[1:]}, {one.verdict}: {one.title}"
    rows = [
        [
            cell.where,
            cell.what + (f", {cell.unit}" if cell.unit else ""),
            _number(cell.printed),
            _number(cell.ours),
            _number(None if cell.ours is None else cell.ours - cell.printed, digits=3),
            "yes" if cell.off == 0 else _short(cell.off, " points" if cell.unit == "%" else " %"),
        ]
        for cell in one.cells
    ]
    head = ["where", "what", "printed", "ours", "difference", "within rounding"]
    shown = blocks.table(summary, head, rows, text_columns=2, note="Otherwise how far beyond it.")
    return blocks.Folded(summary, (blocks.Text(one.because), *([shown] if rows else [])))


def _short(value: float | None, unit: str) -> str:
    return wording.NOTHING if value is None else f"{float(f'{value:.2g}'):g}{unit}"


def _number(value: float | None, *, digits: int = DIGITS) -> str:
    return wording.NOTHING if value is None else f"{value:.{digits}g}".replace("-", "−")


def _impossible(found: Reproduced) -> blocks.Section:
    items = tuple(
        (f"{name}, {one.number}", f"{one.title}: {one.verdict}. {one.because}") for name, one in found.not_reproduced
    )
    return blocks.Section(
        "not-reproduced", "Not reproduced, and why", (blocks.Pairs(items) if items else blocks.Text("Nothing."),)
    )


def _provenance(found: Reproduced) -> blocks.Section:
    facts = {"Made": found.provenance.made} | {
        f"Version of {name}": value for name, value in found.provenance.versions.items()
    }
    return blocks.Section("provenance", "Provenance", (blocks.Folded("Versions", (blocks.pairs(facts),)),))
