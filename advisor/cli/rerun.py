"""`apportion rerun`: the command of a results folder run again, and whether the results are equal."""

from functools import partial
from pathlib import Path
from typing import Any

import typer

from advisor.cli.declared import argument, option
from advisor.cli.inputs import INPUT
from advisor.cli.options import folder
from advisor.cli.outputs import show


def rerun(
    ctx: typer.Context,
    manifest: Path = argument("A results folder, or the manifest.json in it.", metavar="MANIFEST", **INPUT),
    output: Path | None = folder("the new results; it has to be new"),
    consent: list[str] | None = option(
        "Agree to run what the manifest names, word by word. Repeatable.", names=("--yes",), metavar="WORDS"
    ),
) -> None:
    """Run the command of a results folder again from what the folder keeps, and say what is equal and what differs.

    Equal means bit for bit where it was simulated, or to 1e-9 of each number on another processor, and within what was
    stated or seen where it was measured. Nothing outside the folder is read, and nothing written but in -o. Exit code
    1: something differs. Example:

    apportion rerun out/advice
    """
    from advisor.rerun import rerun as made_again
    from advisor.rerun import rerun_page
    from simulator import documents

    root: Any = ctx.find_root().command
    call = partial(root, prog_name="apportion", standalone_mode=False)

    def run(words: list[str]) -> int:
        return int(call(words) or 0)

    found = made_again(manifest, run=run, root=root, output=output, consent=consent or ())
    show(documents.to_dict(found), rerun_page(found))
    if not found.equal:
        raise typer.Exit(1)
