"""Folders that calls from Python write as the command line does, so that `apportion rerun` makes them again."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from simulator import Scenario, save_scenario, shipped


@contextmanager
def kept_in(folder: str | Path | None, command: str, what: Any, /, **given: Any) -> Iterator[tuple[Path | None, Any]]:
    """The folder, to oneself while it is written, and the scenario; then what makes both again is kept.

    Raises ScenarioError if the folder holds anything else.

    `what`: the scenario, which is kept as a file, or its file.
    `given`: options of the command by the names of its parameters.
    """
    if folder is None:
        yield None, what
        return
    from advisor.cli.commands import root
    from advisor.cli.outputs import alone_in, keep_made

    place = Path(folder)
    named = "what" if command == "verify" else "scenario"
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "scenario.yaml"
        if isinstance(what, Scenario):
            save_scenario(what, path)
        else:
            path = shipped.locate(Path(what))
        with alone_in(place, command) as end:
            yield place, path
            said = {name: value for name, value in given.items() if value is not None}
            defaults = {one.name: one.default for one in root().commands[command].params}
            end(partial(keep_made, command, {named: path, "output": place, **said}, defaults))
