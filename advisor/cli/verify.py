"""`apportion verify`: advice put to the test by real runs on this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import simulator
from advisor.cli.asked import next_line
from advisor.cli.declared import only_without, option
from advisor.cli.inputs import SCENARIO
from advisor.cli.options import LEVEL, Level, PrintedForm, ScenarioSeed, folder
from advisor.cli.outputs import nothing_lost, show
from advisor.cli.progress import progress_lines
from simulator import Interrupted, documents, files, units

if TYPE_CHECKING:
    from advisor.verification.check import Verified, VerifyPlan


def verify(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO_OR_ADVICE", help="A scenario file, or a folder that `advise -o` wrote.", **SCENARIO
        ),
    ],
    command: str | None = option(
        "What each rank runs instead of our matmul, stencil or farm; {rank}, {first}, {units}, {processes}."
    ),
    budget: str = option("About how long the runs may take, such as 60s.", default="60s"),
    seed: ScenarioSeed = None,
    dynamic: bool = option(
        "Run equal parts, the best static partition, and units that move while it runs.", only_without("command")
    ),
    level: Level = LEVEL,
    output: Path = folder(
        "report.html, verification.json, all runs; called again, it goes on", default=Path("out/verify")
    ),
    table_form: PrintedForm = "text",
) -> None:
    """Really run the recommended configuration and the baselines, interleaved, with the scenario's loads on.

    Matmul, stencil and farm run as we have them, anything else by --command; each process on a core of its PE.
    What was predicted and measured is kept, for `apportion lab history` and models made later.
    Exit code 1: the recommended one was more than 2 % slower than the best one measured. Example:

    apportion verify out/quickstart/scenario.yaml --budget 60s
    """
    from advisor.report.html import render_page
    from advisor.report.verification import page_with_scorecard
    from advisor.verification.applications import parse_command
    from advisor.verification.asking import check_document, plan_verification

    budget_s = units.parse_duration(budget, field="--budget")
    words = None if command is None else parse_command(command)
    simulator.require_linux()
    check_document(what)
    if not what.is_dir():
        print("looking for the best configuration first ...", file=sys.stderr)
    plan = plan_verification(what, command=words, budget_s=budget_s, seed=seed, level=level, dynamic=dynamic)
    files.make_folder(output)
    kept = output / f"runs-{plan.key.partition(':')[2][:8]}.jsonl"  # another plan's runs are not ours to remove
    with files.alone(output):
        found = _run(plan, kept)
        again = next_line("verify", "really run again", budget=budget)
        document, page = documents.to_dict(found), page_with_scorecard(found, (again,))
        with nothing_lost(document, lambda: show(document, page, {}, form=table_form)):
            files.set_aside(output, ("verification.json", "report.html"))
            files.write_json(output / "verification.json", document)
            files.write_text(output / "report.html", render_page(page))
        files.remove(kept)
    show(document, page, {"Report": str(output / "report.html")}, form=table_form)
    if not found.within_2_percent:
        raise typer.Exit(1)


def _run(plan: "VerifyPlan", kept: Path) -> "Verified":
    from advisor.verification.check import verify as check

    try:
        with progress_lines(plan.budget_s) as said:
            return check(plan, kept=kept, on_progress=lambda _, share: said("verify", share))
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted; {kept} keeps every run made, the same command goes on from there") from error
