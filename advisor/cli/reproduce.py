"""`apportion lab reproduce`: the papers' tables, computed again."""

import sys
from pathlib import Path

import typer

from advisor.cli.declared import argument
from advisor.cli.options import folder, gave_json, offered
from advisor.reproduce import PAPERS
from simulator import files


def reproduce(
    paper: str = argument(f"{', '.join(PAPERS)} or all.", "all", autocompletion=offered(*PAPERS, "all")),
    output: Path | None = folder("results, texts and drawings; of all the report too"),
) -> None:
    """Compute a paper's tables again, from what it printed and from recordings of ours, and compare them cell by cell.

    Example: apportion lab reproduce all -o out/papers
    """
    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"paper is {paper!r}; give one of {', '.join(PAPERS)} or all")
    if output is None:
        _answer(paper, None)
        return
    files.make_folder(output)
    with files.alone(output):
        _answer(paper, output)


def _answer(paper: str, output: Path | None) -> None:
    from advisor.reproduce.everything import module_of, reproduce_one

    if paper == "all":
        _all(output)
        return
    result = reproduce_one(paper, output)
    if not gave_json(result):
        print(module_of(paper).text(result))


def _all(output: Path | None) -> None:
    """Every paper, one after the other; exit 1 if one failed while the others were completed."""
    from advisor.reproduce.everything import PAGE, lines, module_of, reproduce_all

    def report(name: str, state: str) -> None:
        print(f"{name}: {state}", file=sys.stderr, flush=True)

    found = reproduce_all(folder=output, on_paper=report)
    if not gave_json(found.to_dict()):
        if output is None:
            texts = [module_of(one.name).text(one.result) for one in found.papers if one.result]
            print("\n\n".join(texts) + "\n")
        print("\n".join(lines(found)))
        if output is not None:
            print(f"report: {output / PAGE}")
    if any(one.error for one in found.papers):
        raise typer.Exit(1)
