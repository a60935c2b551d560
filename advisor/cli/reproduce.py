"""`apportion reproduce`: the papers' tables, computed again."""

from typing import Annotated

import typer

PAPERS = {
    "gbbp": "advisor.reproduce.gbbp",
    "scopred": "advisor.reproduce.scopred",
}
"""Name on the command line -> module with `reproduce() -> dict` and `text(result) -> str`."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"{', '.join(PAPERS)} or all.")] = "all",
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compute a paper's tables again and set them beside what it printed.

    Example: apportion reproduce scopred
    """
    import importlib

    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"paper: {paper!r} found, {', '.join(PAPERS)} or all allowed")
    chosen = list(PAPERS) if paper == "all" else [paper]
    modules = {name: importlib.import_module(PAPERS[name]) for name in chosen}
    results = {name: module.reproduce() for name, module in modules.items()}
    if json_output:
        import json

        print(json.dumps(results if paper == "all" else results[paper], indent=1, allow_nan=False))
        return
    print("\n\n".join(modules[name].text(result) for name, result in results.items()))
