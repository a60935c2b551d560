"""The pages of job streams: one policy, several ways compared on the same draws, and which change pays most."""

from typing import Any

from advisor import wording
from advisor.report.page import Page, pairs
from advisor.report.pages.common import head
from advisor.report.sections import job_choices, jobs, provenance
from advisor.wording import Document, clean, number


def page(document: Document) -> Page:
    """Averages, over time, by class, how it was asked."""
    sections = (
        jobs.averages_section(document),
        jobs.over_time_section(document),
        jobs.classes_section(document),
        jobs.asked_section(document),
        provenance.section(document),
    )
    found = document.get("averages") or {}
    figures = {
        "mean wait": wording.duration(found.get("wait_s")),
        "mean bounded slowdown": wording.digits(found.get("bounded_slowdown"), 4),
        "utilisation": wording.percent(found.get("utilisation"), 1),
        "wait of 95 % is below": wording.duration(found.get("wait_p95_s")),
    }
    stream = document.get("stream") or {}
    return Page(
        title=f"{wording.counted(stream.get('jobs'), 'job')} of {clean(stream.get('name') or 'a stream')}",
        answer=_answer(document),
        sections=sections,
        settings=f"engine {clean(document.get('engine') or wording.NOTHING)}",
        key_figures=pairs({name: text for name, text in figures.items() if text != wording.NOTHING}),
        **head(document),
    )


def _answer(document: Document) -> str:
    found = document.get("averages")
    if not found:
        return "Nothing was simulated."
    marked = ", but the stream is overloaded and the averages measure its length" if document.get("overloaded") else ""
    waits, slow = wording.duration(found.get("wait_s")), wording.digits(found.get("bounded_slowdown"), 4)
    policy = clean((document.get("policy") or {}).get("name"))
    return f"Under {policy} a job waits {waits} in the mean, and its bounded slowdown is {slow}{marked}."


def comparison(document: Document) -> Page:
    """What is less and what is more, what each alternative gives, how it was asked."""
    sections = (
        job_choices.differences_section(document),
        job_choices.alternatives_section(document),
        job_choices.asked_section(document),
        provenance.section(document),
    )
    found = document.get("alternatives") or ()
    base = (found[0].get("metrics") or {}) if found else {}
    first = clean(found[0].get("name")) if found else ""
    values = {f"{job_choices.metric_text(name)} of {first}": job_choices.value_text(base[name], name) for name in base}
    said = " ".join(job_choices.sentences(document))
    return Page(
        title=f"{_stream(document)}: {wording.counted(len(found), 'alternative')} compared",
        answer=said or "Nothing is compared: there is one alternative only.",
        sections=sections,
        settings=_draws(document),
        key_figures=pairs({name: text for name, text in values.items() if text != wording.NOTHING}),
        **_warned(document, document),
    )


def advice(document: Document) -> Page:
    """Which change pays most, what each gives, how it was asked."""
    compared = document.get("compared") or {}
    sections = (
        job_choices.changes_section(document),
        job_choices.asked_section(compared),
        provenance.section({"seed": compared.get("seed"), **document}),
    )
    base, objective = document.get("base") or {}, str(document.get("objective") or "")
    found = [one for one in document.get("candidates") or () if one.get("name") == document.get("pays_most")]
    most: Document = found[0] if found else {}
    figures = {
        f"{job_choices.metric_text(objective)} as it is": job_choices.value_text(base.get("value"), objective),
        "with the change that pays most": job_choices.value_text(most.get("value"), objective),
        "chance that it is the best one": wording.probability(most.get("chance_best")),
        "not told apart from it": str(len(document.get("ties") or ()) or wording.NOTHING),
    }
    return Page(
        title=f"{_stream(compared)}: which change pays most",
        answer=clean(document.get("sentence") or "Nothing was compared."),
        sections=sections,
        settings=_draws(compared),
        key_figures=pairs({name: text for name, text in figures.items() if text != wording.NOTHING}),
        **_warned(document, compared),
    )


def _stream(document: Document) -> str:
    return f"{wording.counted(document.get('jobs'), 'job')} of {clean(document.get('stream') or 'a stream')}"


def _draws(document: Document) -> str:
    count = number(document.get("replications"))
    parts = [] if count is None else [f"{count:.0f} draw{'' if count == 1 else 's'}"]
    return ", ".join([*parts, *([] if document.get("seed") is None else [f"seed {document['seed']}"])])


def _warned(document: Document, compared: Document) -> dict[str, Any]:
    """Command, date and warnings; what is overloaded is one."""
    found = head(document)
    return found | {"warnings": (*found["warnings"], *job_choices.overload_sentences(compared))}
