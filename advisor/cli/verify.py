"""`apportion verify`: advice put to the test by real runs on this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.cli.options import LEVEL, Json, Level, print_json, print_warnings
from advisor.cli.outputs import nothing_lost
from advisor.cli.scenarios import SCENARIO

if TYPE_CHECKING:
    from advisor.verification.check import VerifyPlan


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO_OR_ADVICE", help="A scenario file, or a folder that `advise -o` wrote.", **SCENARIO
        ),
    ],
    command: Annotated[
        str | None,
        typer.Option(
            help="What each rank runs instead of our matmul, stencil or farm; {rank}, {first}, {units}, {processes}."
        ),
    ] = None,
    budget: Annotated[str, typer.Option(help="About how long the runs may take, such as 60s.")] = "60s",
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's own.")] = None,
    level: Level = LEVEL,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder for report.html, verification.json, all runs; called again, it goes on."
        ),
    ] = Path("out/verify"),
    as_json: Json = False,
) -> None:
    """Really run the recommended configuration and the baselines, interleaved, beside the scenario's loads.

    Matmul, stencil and farm run as we have them, anything else by --command; each process on a core of its PE.
    What was predicted and measured is kept, for `apportion history coverage` and for models made later.
    Exit code 1: the recommended one was more than 2 % slower than the best one measured. Example:

    apportion verify out/quickstart/scenario.yaml --budget 60s
    """
    from advisor.report.html import render_html
    from advisor.verification.applications import parse_command
    from advisor.verification.asking import check_document, plan_verification
    from simulator import files, require_linux, units

    budget_s = units.parse_duration(budget, field="--budget")
    words = None if command is None else parse_command(command)
    require_linux()
    check_document(what)
    if not what.is_dir():
        print("looking for the best configuration first ...", file=sys.stderr)
    plan = plan_verification(what, command=words, budget_s=budget_s, seed=seed, level=level)
    files.make_folder(output)
    kept = output / f"runs-{plan.key.partition(':')[2][:8]}.jsonl"  # another plan's runs are not ours to remove
    with files.alone(output):
        document = _run(plan, kept)
        with nothing_lost(document, lambda: _show(document, None, as_json=as_json)):
            files.set_aside(output, ("verification.json", "report.html"))
            files.write_json(output / "verification.json", document)
            files.write_text(output / "report.html", render_html(document))
        files.remove(kept)
    _show(document, output, as_json=as_json)
    if not document["within_2_percent"]:
        raise typer.Exit(1)


def _run(plan: "VerifyPlan", kept: Path) -> dict[str, Any]:
    from advisor.cli.progress import progress_lines
    from advisor.verification.check import verify as check
    from simulator import Interrupted

    try:
        with progress_lines(plan.budget_s) as told:
            return check(plan, kept=kept, on_progress=lambda _, share: told("verify", share))
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted; {kept} keeps every run made, the same command goes on from there") from error


def _show(document: dict[str, Any], folder: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    _tell(document)
    if folder is not None:
        print(f"written to {folder / 'verification.json'}, report to send on: {folder / 'report.html'}")


def _tell(document: dict[str, Any]) -> None:
    from advisor import wording

    widest = max(len(entry["name"]) for entry in document["configurations"]) + 4
    said = f"{'configuration':<{widest}}{'processes':>10}{'predicted':>11}{'interval':>20}{'measured':>10}{'error':>9}"
    print(f"{said}  held")
    for entry in document["configurations"]:
        found = entry["predicted_interval_s"]
        middle = "-" if found is None else f"{found[0]:.4g} to {found[1]:.4g}"
        mark = " *" if entry["name"] == document["recommended"] else ""
        holds = {None: "-", True: "yes", False: "no"}[entry["interval_holds"]]
        counts = wording.processes(entry["processes"])
        print(
            f"{entry['name'] + mark:<{widest}}{counts:>10}{entry['predicted_s']:>11.4g}{middle:>20}"
            f"{entry['measured_median_s']:>10.4g}{entry['error_percent']:>+8.1f}%  {holds}"
        )
    for line in wording.held_lines(document["intervals"], document["level"]):
        print(line)
    best, regret = document["best_measured"], document["regret"]
    print(f"* recommended: {regret:.1%} slower than the best one measured ({best}); medians in s; processes by PE")
    for entry in document["configurations"]:
        if entry["also"]:
            print(f"{entry['name']} is also {', '.join(entry['also'])}")
    held = document["pairs_in_order"]
    order = "too close to tell" if held is None else f"{held:.0%} of the pairs that differ by more than 2 %"
    print(f"predicted order held: {order}; {document['repetitions']} repetitions each")
    print_warnings(document["warnings"])
