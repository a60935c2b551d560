"""`apportion verify`: advice put to the test by real runs on this machine."""

import sys
from pathlib import Path

import typer

import simulator
from advisor.cli.asked import next_line
from advisor.cli.declared import argument, only_without, option
from advisor.cli.inputs import SCENARIO
from advisor.cli.options import LEVEL, Level, PrintedForm, ScenarioSeed, folder
from advisor.cli.outputs import finish
from advisor.cli.progress import goes_on, of_time, search_sign
from simulator import documents, files, units


def verify(
    what: Path = argument(
        "A scenario file, or a folder that `advise -o` wrote.", metavar="SCENARIO_OR_ADVICE", **SCENARIO
    ),
    command: str | None = option(
        "What each rank runs instead of our matmul, stencil or farm; {rank}, {first}, {units}, {processes}."
    ),
    budget: str = option("About how long the runs may take, and a search before them at most.", default="60s"),
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
    from advisor.report.verification import verification_page
    from advisor.verification.applications import parse_command
    from advisor.verification.asking import check_document, plan_verification
    from advisor.verification.check import verify as check

    budget_s = units.parse_duration(budget, field="--budget")
    words = None if command is None else parse_command(command)
    simulator.require_linux()
    check_document(what)
    if not what.is_dir():
        print("looking for the best configuration first ...", file=sys.stderr)
    plan = plan_verification(
        what, command=words, budget_s=budget_s, seed=seed, level=level, dynamic=dynamic, tell=search_sign
    )
    files.make_folder(output)
    kept = output / f"runs-{plan.key.partition(':')[2][:8]}.jsonl"  # another plan's runs are not ours to remove
    with files.alone(output):
        said = of_time(plan.budget_s)
        with goes_on(f"{kept} keeps every run made", kept):
            found = check(plan, kept=kept, on_progress=lambda _, share: said("verify", share))
        page = verification_page(found, (next_line("verify", "really run again", budget=budget),))

        def write(folder: Path) -> None:
            files.set_aside(folder, ("verification.json", "report.html"))
            files.write_json(folder / "verification.json", documents.to_dict(found))
            files.write_text(folder / "report.html", render_page(page))

        finish(found, page, output, write=write, form=table_form)
        files.remove(kept)
    if not found.within_2_percent:
        raise typer.Exit(1)
