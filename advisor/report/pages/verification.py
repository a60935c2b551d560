"""The page of a verification: what was predicted against what real runs took."""

from advisor import wording
from advisor.report.page import Page, Pairs, pairs
from advisor.report.pages.common import head
from advisor.report.sections import machine, provenance, verification
from advisor.wording import Document, clean, number


def page(document: Document) -> Page:
    """Predicted, really run, judged."""
    seen = {**document, "verification": document.get("configurations") or ()}
    origin = document.get("provenance") or {}
    seen["machine"] = document.get("machine") or origin.get("machine") or {}
    sections = (verification, machine, provenance)
    counted = wording.counted(document.get("repetitions"), "repetition")
    return Page(
        title=f"{wording.asked(document)}, really run" if document.get("application") else "Advice really run",
        answer=_answer(document),
        sections=tuple(part.section(seen) for part in sections),
        host=clean(seen["machine"].get("host") or ""),
        settings=f"{counted} each" if number(document.get("repetitions")) is not None else "",
        key_figures=_key_figures(document),
        **head(document),
    )


def _answer(document: Document) -> str:
    recommended, best = clean(document.get("recommended")), clean(document.get("best_measured"))
    regret = number(document.get("regret"))
    if regret is None:
        return "Nothing was run."
    if recommended == best:
        return f"The advice held: {recommended} was the fastest of all that were really run."
    near = "The advice nearly held" if document.get("within_2_percent") else "The advice did not hold"
    return f"{near}: {recommended} took {wording.percent(regret, 1)} longer than {best}, the fastest one measured."


def _key_figures(document: Document) -> Pairs:
    values = {
        "longer than the best one measured": wording.percent(document.get("regret"), 1),
        "mean error of a prediction": wording.digits(document.get("mean_absolute_error_percent"), 2) + " %",
        f"of {wording.level_text(document)} intervals hold the measured median": wording.percent(
            document.get("share_of_intervals_that_hold")
        ),
        "of pairs in the predicted order": wording.percent(document.get("pairs_in_order")),
    }
    return pairs({name: text for name, text in values.items() if not text.startswith(wording.NOTHING)})
