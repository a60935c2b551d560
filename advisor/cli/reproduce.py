"""`apportion lab reproduce`: the papers' tables, computed again."""

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import typer

from advisor.cli.declared import argument
from advisor.cli.options import folder, offered
from advisor.cli.outputs import finish
from advisor.reproduce import PAPERS
from simulator import files


def reproduce(
    paper: str = argument(f"{', '.join(PAPERS)} or all.", "all", autocompletion=offered(*PAPERS, "all")),
    output: Path | None = folder("the report, results and drawings"),
) -> None:
    """Compute a paper's tables again, from what it printed and from recordings of ours, and compare them cell by cell.

    Example: apportion lab reproduce all -o out/papers
    """
    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"paper is {paper!r}; give one of {', '.join(PAPERS)} or all")
    from advisor.reproduce.everything import page_of, reproduce_all, write_all

    def report(name: str, state: str) -> None:
        print(f"{name}: {state}", file=sys.stderr, flush=True)

    papers = PAPERS if paper == "all" else (paper,)
    if output is not None:
        files.make_folder(output)
    with nullcontext() if output is None else files.alone(output):
        found = reproduce_all(papers, folder=output, on_paper=report)
        finish(found.to_dict(), page_of(found), output, write=partial(write_all, found))
    if any(one.error for one in found.papers):
        raise typer.Exit(1)
