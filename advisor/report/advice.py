"""An advice on a page and on a terminal: which configuration, against which others, how far that holds."""

from collections.abc import Iterator
from pathlib import Path

from advisor import wording
from advisor.advise.advice import Advice
from advisor.advise.export import export_files, save_exports
from advisor.advise.recommendation import Recommendation
from advisor.advise.scheduling import FACTORS, Scheduling, sentence
from advisor.report.explanation import doubt_blocks, explanation_section, limit_sentence
from advisor.report.html import render_page
from advisor.report.illustrated import NOTHING, Illustration, illustration
from advisor.report.origin import head, provenance_section
from advisor.report.picture import answer_picture, launch_lines
from advisor.report.strategies import MOST_RANKED, first_rows, ranking_blocks, strategies_section
from advisor.report.timelines import timeline_section
from advisor.report.verdict import speeds_line, stated_cost, verdict_of
from simulator import Scenario, blocks, files, save_scenario, units


def advice_page(
    advice: Advice, drawn: Illustration = NOTHING, run: tuple[blocks.Command, ...] = (), *, top: int = MOST_RANKED
) -> blocks.Page:
    """Recommended, compared, followed in time, explained.

    `run`: what to run where nothing was written for launchers.
    `top`: how many of the ranking.
    """
    compared, stated = advice.compared, stated_cost(drawn.shares)
    loss = None if compared.drawn.deterministic else compared.expected_loss
    return blocks.Page(
        title=wording.asked(compared.application),
        answer=wording.answer(compared, stated=stated is not None),
        facts=blocks.pairs(_facts(advice, drawn)),
        rows=first_rows(compared),
        sections=_sections(advice, drawn, top),
        settings=wording.drawn_text(compared.drawn),
        picture=answer_picture(compared, drawn.shares, drawn.timelines, bad=drawn.bad),
        run=launch_lines(drawn.launches, ", in the folder of this page") or run,
        verdict=verdict_of(advice.warnings, drawn.shares, loss),
        **head(advice.command, advice.warnings, advice.provenance),
    )


def page_of_advice(
    advice: Advice,
    scenario: Scenario,
    recommendation: Recommendation,
    run: tuple[blocks.Command, ...],
    *,
    drawn: bool,
    top: int | None = None,
) -> blocks.Page:
    """The page, with all that is drawn where it is written: the advised, what runs now, the next best and equal."""
    also, chosen = recommendation.strategies.also, recommendation.configuration.name
    before = also.get(recommendation.reference, recommendation.reference)
    names = [candidate.name for candidate in recommendation.candidates]
    ranked = [names[entry.candidate] for entry in recommendation.ranking.ranked]
    rivals = [*[name for name in ranked if name != chosen][:1], *(["equal"] if "equal" in names else [])]
    compared = scenario.with_configurations(recommendation.candidates)
    shown = (chosen, before, *rivals)
    illustrated = illustration(compared, recommendation.runs, shown, before=before, launched=True, drawn=drawn)
    return advice_page(advice, illustrated, run, top=top or MOST_RANKED)


def save_advice(
    output: Path | None,
    hostfile: Path | None,
    advice: Advice,
    page: blocks.Page,
    scenario: Scenario,
    recommendation: Recommendation,
) -> None:
    """The document alone, or a folder of it, the scenario with the candidates, and the exports; MPICH's host file."""
    if output is not None and output.suffix == ".json":
        files.write_json(output, advice.to_dict())
    elif output is not None:
        save_exports(scenario, recommendation.configuration, output)
        save_scenario(scenario.with_configurations(recommendation.candidates), output / "scenario.yaml")
        files.write_json(output / "advice.json", advice.to_dict())
        files.write_text(output / "report.html", render_page(page))
    if hostfile is not None:
        files.write_text(hostfile, export_files(scenario, recommendation.configuration)["hostfile"])


def _facts(advice: Advice, drawn: Illustration) -> dict[str, str]:
    """Times, what they rest on, and cores that stay idle."""
    compared = advice.compared
    objective = {"cost": "Cost", "energy": "Energy"}.get(compared.objective, "Time")
    return {
        objective: wording.time_line(compared),
        "Rests on": "; ".join(filter(None, (speeds_line(drawn.shares), wording.rests_text(compared.drawn)))),
        "Why": limit_sentence(advice.explained),
        "Idle": "" if advice.idle_cores is None else advice.idle_cores.text,
    }


def _sections(advice: Advice, drawn: Illustration, top: int) -> tuple[blocks.Section, ...]:
    compared = advice.compared
    origin = provenance_section(advice.provenance, compared.drawn.seed, scenario_text=drawn.scenario_text)
    return (
        strategies_section(compared),
        blocks.Section("scheduling", "Static or dynamic", tuple(_scheduling(advice.scheduling))),
        timeline_section(drawn.timelines),
        blocks.Section(
            "doubt", "Where the doubt comes from", tuple(doubt_blocks(advice.explained, advice.measured_again))
        ),
        explanation_section(compared, advice.explained),
        blocks.Section("ranking", "How sure it is", tuple(ranking_blocks(compared, advice.pareto, top))),
        origin,
    )


def _scheduling(found: Scheduling | None) -> Iterator[blocks.Block]:
    """Static or dynamic: the answer, and how the gain changes with what may differ."""
    if found is None:
        return
    rows = [(axis.what, *(f"{gain:+.1%}" for gain in axis.gains), _times(axis.break_even)) for axis in found.axes]
    head = ("what is changed", *(f"x {factor:g}" for factor in FACTORS), "break-even")
    caption = "How much longer the best static partition takes than the dynamic one, where one thing is changed."
    yield blocks.Text(sentence(found))
    yield blocks.table(caption, head, rows)
    if found.rules:
        tried = [(one.name, units.show_duration(one.mean_s)) for one in found.rules]
        yield blocks.table("Predicted mean makespan of the farm under each chunk rule", ("rule", "mean"), tried)


def _times(factor: float | None) -> str:
    return wording.NOTHING if factor is None else f"x {factor:.2g}"
