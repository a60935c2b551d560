"""The page of a what-if: which change pays most, sliders over all points, and what it rests on; it holds no time."""

from advisor import wording
from advisor.report import whatif_words as words
from advisor.report.page import Page, Pairs
from advisor.report.sections import whatif_asked, whatif_grid, whatif_upgrades
from advisor.wording import Document, clean, counted


def page(document: Document) -> Page:
    """Asked, explored, compared."""
    sections = (
        whatif_asked.section(document),
        whatif_grid.section(document),
        whatif_upgrades.section(document),
        whatif_upgrades.sensitivity_section(document),
        whatif_upgrades.costs_section(document),
        whatif_asked.failed_section(document),
        whatif_asked.provenance_section(document),
    )
    count = sum(len(field["paths"]) for field in document["grid"]["fields"])
    points = counted(len(document["points"]), "point")
    return Page(
        title=f"{clean(document['scenario'])}: {counted(count, 'field')} varied, {points}",
        answer=clean(document["sentence"]),
        sections=tuple(part for part in sections if part is not None),
        command="whatif",
        settings=f"{wording.replications_text(document)}, seed {document['seed']}",
        key_figures=_key_figures(document),
        warnings=tuple(clean(line) for line in document["warnings"]),
    )


def _key_figures(document: Document) -> Pairs:
    found = []
    if document["pays_most"] is not None:
        most = document["points"][document["pays_most"]]
        found.append(("gain of the fastest that pays", f"{wording.times(most['gain']['mean'])} ×"))
        found.append(("chance that none is faster", wording.chance(most["chance"], document)))
        found.append(("makespan there", words.makespan(most)))
        found.append(("makespan as it is", words.makespan(document["points"][0])))
    if len(document["points"]) > 1:
        found.append((f"of {counted(len(document['points']) - 1, 'point')} pay", str(len(document["pays"]))))
    if document["failed"]:
        found.append(("failed", str(document["failed"])))
    return Pairs(tuple(found))
