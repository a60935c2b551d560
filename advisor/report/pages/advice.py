"""The page of an advice: which configuration, against which others, why, and how far that holds."""

from advisor import wording
from advisor.report.page import Page, Pairs, pairs
from advisor.report.pages.common import drawn, head
from advisor.report.sections import doubt, explanation, platform, provenance, ranking, strategies, timeline
from advisor.wording import Document, number


def page(document: Document) -> Page:
    """Recommended, compared, followed in time, explained."""
    sections = (strategies, timeline, doubt, explanation, ranking, platform, provenance)
    return Page(
        title=wording.asked(document),
        answer=wording.answer(document),
        sections=tuple(part.section(document) for part in sections),
        settings=drawn(document),
        key_figures=_key_figures(document),
        **head(document),
    )


def _key_figures(document: Document) -> Pairs:
    best = wording.entry_of(document, document.get("recommended"))
    reference, named = wording.reference_of(document)
    over = reference.get("gain_of_recommended") or {}
    predicted = best.get("predicted_makespan_s") or {}
    itself = best.get("name") in {reference.get("name"), reference.get("same_as")}
    gained = None if itself else number(over.get("mean"))
    return pairs(
        {
            "predicted makespan, mean": wording.with_interval(predicted) if predicted else "",
            f"predicted gain over {named}": "" if gained is None else f"{wording.with_interval(over, '')} ×",
            **_how_sure(document),
            "above what no partition can be below": _known(wording.percent(document.get("regret"), 1)),
        }
    )


def _how_sure(document: Document) -> dict[str, str]:
    """The chance to be the best one, or, where others are as good, that they are, and what may be lost."""
    tied = wording.tied_names(document)
    chance = "" if tied else _known(wording.chance(document.get("p_best"), document))
    return {
        "chance to be the best of all compared": chance,
        "tied with it, within 1 %": str(len(tied) - 1) if tied else "",
        "expected loss to the best": _known(wording.loss_text(document.get("expected_loss"))),
    }


def _known(text: str) -> str:
    return "" if text == wording.NOTHING else text
