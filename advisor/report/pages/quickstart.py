"""The page of a quickstart: the whole loop on one machine."""

from advisor import wording
from advisor.report.page import Page, Pairs
from advisor.report.pages.common import head
from advisor.report.sections import load, machine, provenance, speeds, strategies, timeline, verification
from advisor.wording import Document, clean, number


def page(document: Document) -> Page:
    """Measured, modelled, simulated, advised, verified."""
    sections = (machine, speeds, load, timeline, strategies, verification, provenance)
    return Page(
        title=wording.asked(document),
        answer=wording.answer(document),
        sections=tuple(part.section(document) for part in sections),
        host=clean((document.get("machine") or {}).get("host") or "this machine"),
        settings=wording.settings(document),
        key_figures=_key_figures(document),
        **head(document),
    )


def _key_figures(document: Document) -> Pairs:
    """The few numbers that a reader looks for first."""
    errors = [
        abs(error)
        for entry in document.get("verification") or ()
        if (error := number(entry.get("error_percent"))) is not None
    ]
    figures = {
        "measured gain over the equal split": number(document.get("measured_gain")),
        "most that is possible here": number(document.get("largest_gain")),
    }
    found = [(name, f"{wording.times(value)} ×") for name, value in figures.items() if value is not None]
    if number(document.get("available_share")) is not None:
        where = clean((document.get("load") or {}).get("pe") or "the loaded PE")
        found.append((f"of {where} left to us, measured", wording.percent(document["available_share"])))
    return Pairs((*found, *([("largest error of a prediction", f"{max(errors):.1f} %")] if errors else [])))
