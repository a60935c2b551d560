"""`apportion reproduce`: the papers' tables, computed again."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import Json, folder, offered, print_json
from advisor.reproduce import PAPERS
from simulator import files

Paper = Annotated[str, typer.Argument(help=f"{', '.join(PAPERS)} or all.", autocompletion=offered(*PAPERS, "all"))]
Recorded = Annotated[bool, typer.Option("--recorded", hidden=True, help="What is always done, for older scripts.")]


def reproduce(
    paper: Paper = "all",
    output: Annotated[Path | None, folder("results, texts and drawings; of all the report too")] = None,
    recorded: Recorded = False,  # noqa: ARG001
    json_output: Json = False,
) -> None:
    """Compute a paper's tables again, from what it printed and from recordings of ours, and compare them cell by cell.

    Example: apportion reproduce all -o out/papers
    """
    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"paper is {paper!r}; give one of {', '.join(PAPERS)} or all")
    if output is None:
        _answer(paper, None, json_output=json_output)
        return
    files.make_folder(output)
    with files.alone(output):
        _answer(paper, output, json_output=json_output)


def _answer(paper: str, output: Path | None, *, json_output: bool) -> None:
    from advisor.reproduce.everything import module_of, reproduce_one

    if paper == "all":
        _all(output, json_output=json_output)
        return
    result = reproduce_one(paper, output)
    if json_output:
        print_json(result)
    else:
        print(module_of(paper).text(result))


def _all(output: Path | None, *, json_output: bool) -> None:
    """Every paper, one after the other; exit 1 if one failed while the others were completed."""
    from advisor.reproduce.everything import PAGE, lines, module_of, reproduce_all

    def report(name: str, state: str) -> None:
        print(f"{name}: {state}", file=sys.stderr, flush=True)

    found = reproduce_all(folder=output, on_paper=report)
    if json_output:
        print_json(found.to_dict())
    else:
        if output is None:
            texts = [module_of(one.name).text(one.result) for one in found.papers if one.result]
            print("\n\n".join(texts) + "\n")
        print("\n".join(lines(found)))
        if output is not None:
            print(f"report: {output / PAGE}")
    if any(one.error for one in found.papers):
        raise typer.Exit(1)
