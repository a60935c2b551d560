"""What commands write: looked at before they begin, and what was computed kept somewhere if it fails at the end."""

import functools
import inspect
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

import simulator
from advisor.cli import signs
from advisor.cli.options import PRINTED, print_json
from advisor.cli.progress import say_compiling
from simulator import ApportionError, ScenarioError, WriteError, blocks, documents, files

WRITTEN = ("output", "hostfile", "jobs", "timeline", "plot", "store")
"""Names of the parameters, of whatever command, that say where something is written."""
FOLDERS = (
    *("quickstart", "scenarios", "export", "simulate", "whatif", "verify", "reproduce", "calibrate load-check"),
    *("advise", "rerun", "cluster", "jobs run", "jobs compare", "jobs advise"),
)
"""Commands of which `output` is a folder, but for `advise -o NAME.json`; of the others it is a file."""
RERUN = (
    *("simulate", "whatif", "advise", "verify", "quickstart", "cluster"),
    *("jobs run", "jobs compare", "jobs advise"),
)
"""Commands that `rerun` can run again; as `advisor.rerun.COMMANDS`, which takes long to import."""
WIDTH = 100
"""Columns of a terminal that texts are broken for."""
GROWING = ("history add", "history import", "history record")
"""Commands that write to the `history` that is named."""


def check_first(app: typer.Typer, group: str = "") -> None:
    """Have all commands look at what they are to write before anything else: whether it can be made, and has room.

    They also say when a kernel of the simulator is compiled for them.
    """
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _checked(command.callback, f"{group}{command.name}")
    for inner in app.registered_groups:
        if inner.typer_instance is not None:
            check_first(inner.typer_instance, f"{group}{inner.name} ")


def _checked(run: Callable[..., Any], name: str) -> Callable[..., Any]:
    wanted = (*WRITTEN, "history") if name in GROWING else WRITTEN
    named = [one for one in wanted if one in inspect.signature(run).parameters]

    @functools.wraps(run)
    def checked(**given: Any) -> Any:
        if signs.text() == signs.STARTING:
            signs.say(name)
        _check({one: given[one] for one in named if given.get(one) is not None}, name)
        if say_compiling not in simulator.on_compile:
            simulator.on_compile.append(say_compiling)
        if given.get("as_json") and given.get("table_form") in PRINTED:
            raise ScenarioError(f"--format {given['table_form']} has no effect with --json: leave one of them out")
        try:
            found = run(**given)
        except typer.Exit as end:
            if end.exit_code in {0, 1}:
                _keep(run, name, given)
            raise
        _keep(run, name, given)
        return found

    return checked


def _keep(run: Callable[..., Any], name: str, given: dict[str, Any]) -> None:
    """Keep in a folder of results what running the command again needs."""
    folder = given.get("output")
    if name not in RERUN or folder is None or not folder.is_dir() or given.get("only") or given.get("job_script"):
        return
    from advisor.rerun import keep

    defaults = {one.name: one.default for one in inspect.signature(run).parameters.values()}
    keep(name, given, defaults, folder)


def _check(paths: dict[str, Path], name: str) -> None:
    faults, seen = [], dict[Path, str]()
    for parameter, path in paths.items():
        if parameter == "plot":
            simulator.plots.figure_kind(path)
        folder = parameter == "output" and name in FOLDERS and not (name == "advise" and path.suffix == ".json")
        try:
            files.check_room(path, folder=folder)
        except ScenarioError as error:
            faults += [f"--{parameter}: {line}" for line in error.lines]
        if (other := seen.setdefault(path.absolute(), parameter)) != parameter:
            faults.append(f"--{parameter}: {path} is where --{other} writes too; name another file")
    if faults:
        raise ScenarioError(faults)


def check_room(path: Path | None, *, folder: bool, needed_bytes: int) -> None:
    """The same with what is to be written, once that is known."""
    if path is not None:
        try:
            files.check_room(path, folder=folder, needed_bytes=needed_bytes)
        except ScenarioError as error:
            raise ScenarioError([f"--output: {line}" for line in error.lines]) from error


def finish(
    result: Any,
    text: "Callable[[], None] | Iterable[blocks.Block]",
    *,
    as_json: bool,
    write: Callable[[], object] | None,
    said: str | None,
    width: int | None = None,
    form: str | None = None,
) -> None:
    """Write a result if that is asked for and print it, as text or as JSON; a text ends with where it was written.

    Parameters
    ----------
    text
        What a terminal shows, or what prints it.
    said
        The line that says where, if one does.
    width
        Columns of the terminal, for a text that is to be broken.
    form
        `latex` or `markdown` for tables in that form, and no line that says where.
    """
    document = result if isinstance(result, dict) else documents.to_dict(result)  # writing may add to a dictionary
    shown = text if callable(text) else tuple(text)

    def tell() -> None:
        show(document, shown, as_json=as_json, width=width, form=form)

    with nothing_lost(document, tell):
        if write is not None:
            signs.say("writing results")
            write()
    tell()
    if write is not None and said is not None and not as_json and form not in PRINTED:
        print(said)


def show(
    document: Any,
    text: "Callable[[], None] | Iterable[blocks.Block]",
    *,
    as_json: bool,
    width: int | None = None,
    form: str | None = None,
) -> None:
    """Print a result, as JSON, as text, or with tables in a form of `PRINTED`."""
    from advisor.report.printed import render_printed
    from advisor.report.text import render_blocks

    if as_json:
        print_json(document)
    elif callable(text):
        text()
    elif form in PRINTED:
        print(render_printed(text, "latex" if form == "latex" else "markdown"))
    else:
        print(render_blocks(text) if width is None else render_blocks(text, width=width))


@contextmanager
def nothing_lost(document: Any, show: Callable[[], None]) -> Iterator[None]:
    """Write results; if that fails, show them all the same, keep the document elsewhere, and say where.

    Parameters
    ----------
    document
        What `--json` prints.
    show
        Prints the result as the command does when all went well.
    """
    try:
        yield
    except ApportionError as error:
        show()
        kept = _kept_elsewhere(document)
        said = "what was computed is on standard output" + (f", and as JSON in {kept}" if kept is not None else "")
        kind = WriteError if type(error) is ApportionError else type(error)
        raise kind([*error.lines, said]) from error


def _kept_elsewhere(document: Any) -> Path | None:
    """A file among the temporary ones; None if nothing can be written there either."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="apportion-", suffix=".json", delete=False) as stream:
            json.dump(document, stream, indent=1, allow_nan=False)
            stream.write("\n")
        return Path(stream.name)
    except OSError:
        return None
