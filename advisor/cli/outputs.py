"""What commands write: looked at before they begin, and what was computed kept somewhere if it fails at the end."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import simulator
from advisor.cli import asked, signs
from advisor.cli.options import PRINTED, gave_json
from advisor.cli.progress import say_compiling
from simulator import ApportionError, ScenarioError, WriteError, blocks, files

FIGURES = ("MPLBACKEND", "SOURCE_DATE_EPOCH")
"""Environment variables on which no figure of ours hangs, and over which Matplotlib fails where it cannot read them."""
WRITTEN = ("output", "hostfile", "jobs", "timeline", "plot", "store", "table", "kept")
"""Names of the parameters, of whatever command, that say where something is written."""
FOLDERS = (
    *("quickstart", "show", "convert", "simulate", "whatif", "verify", "lab reproduce", "lab load-check"),
    *("advise", "rerun", "cluster", "jobs run", "jobs compare", "jobs advise", "mpi record", "mpi import"),
)
"""Commands of which `output` is a folder, but for names that end as in `FILES`; of the others it is a file."""
FILES = {
    "cluster": (".yaml",),
    "advise": (".json", ".csv", ".dist"),
}
"""Commands that write a folder or a file -> what the name of a file ends in."""
REPLACED = ("convert", "simulate", "advise", "jobs run", "jobs compare", "jobs advise", "mpi import")
"""Commands whose folder can be written again: old results go. The others go on in it, or keep what was measured."""
UNMARKED = ("show", "whatif", "rerun")
"""Commands whose folder gets no manifest first: they refuse what they would replace, or write one themselves."""
MANIFEST, LISTED = "manifest.json", "written"
COLUMNS = 80
"""Of an answer that goes into a pipe or a file; a terminal has its own."""


if TYPE_CHECKING:
    Shown = str | blocks.Page | Sequence[blocks.Block]
    """What a terminal shows of a result."""


@contextmanager
def looked_at(name: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[None]:
    """Look at what a command is to write before anything else: whether it can be made, and has room.

    Where it writes a folder, it has that to itself, and what makes the results again is kept in it.
    """
    if signs.text() == signs.STARTING:
        signs.say(name)
    for setting in FIGURES:
        os.environ.pop(setting, None)
    _check({one: given[one] for one in WRITTEN if given.get(one) is not None}, given, name)
    if say_compiling not in simulator.on_compile:
        simulator.on_compile.append(say_compiling)
    folder = None if given.get("only") else _folder(name, given)
    if folder is None:
        yield
        return
    with alone_in(folder, name) as end:
        try:
            yield
        except typer.Exit as error:
            if error.exit_code in {0, 1}:
                end(partial(keep_made, name, given, defaults))
            raise
        end(partial(keep_made, name, given, defaults))


def _folder(name: str, given: Mapping[str, Any]) -> Path | None:
    """The folder that a command writes, if it writes one."""
    path = given.get("output")
    if name == "convert":
        from advisor.cli.convert import subject_of

        file = path is None or ("source" in given and subject_of(given["source"], path) != "from a scenario")
        return None if file else path
    single = name not in FOLDERS or (path is not None and path.suffix in FILES.get(name, ()))
    return None if single else path


@contextmanager
def alone_in(folder: Path, name: str) -> Iterator[Callable[[Callable[[], None]], None]]:
    """Have a folder of results to oneself; what comes with it ends the results well, by keeping what made them.

    The folder says by its manifest from the beginning whose it is: so it is ours after `kill -9`, too. Where nothing
    was written in it, it goes again.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        files.make_folder(folder)
        with files.alone(folder):
            before = _check_ours(folder, name)
            begun = name not in UNMARKED and not (folder / MANIFEST).exists()
            if begun:
                files.write_json(folder / MANIFEST, {"format": 1, "kind": "results", "command": name})
            try:
                with files.noted() as written:
                    yield partial(_end, folder, name, before, written)
            finally:
                if begun and [path.name for path in folder.iterdir()] == [MANIFEST]:
                    files.remove(folder / MANIFEST)
    finally:
        with suppress(OSError):  # something is in it
            for path in made:
                path.rmdir()


def _check_ours(folder: Path, name: str) -> list[str]:
    """Refuse a folder that holds anything but what this command goes on with or replaces; what it wrote there."""
    inside = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    if not inside or name == "show":
        return []
    manifest = _manifest(folder)
    whose = _whose(manifest)
    if whose is None:
        raise ScenarioError(f"--output: {folder} holds {inside[0]}, which is no result of ours; name a new folder")
    if whose != name and not {whose, name} <= set(REPLACED):
        raise ScenarioError(f"--output: {folder} holds results of `apportion {whose}`; name another folder")
    return [path for path in manifest.get(LISTED, ()) if isinstance(path, str)]


def _manifest(folder: Path) -> dict[str, Any]:
    """What a manifest says; nothing where there is none that can be read."""
    with suppress(ScenarioError):
        found = files.read_json(folder / MANIFEST)
        return found if isinstance(found, dict) else {}
    return {}


def _whose(manifest: Mapping[str, Any]) -> str | None:
    """The command that a manifest is of; None if it is no command that writes a folder."""
    rerun = manifest.get("rerun")
    named = (rerun.get("command") if isinstance(rerun, dict) else None, manifest.get("command"))
    by_kind = {"runs": "simulate", "sweep": "whatif"}.get(str(manifest.get("kind")))
    return next((one for one in (*named, by_kind) if one in FOLDERS), None)


def _end(folder: Path, name: str, before: list[str], written: set[Path], keep: Callable[[], None]) -> None:
    """Remove results of before that were not written again, keep what makes these again, and list what was written."""
    if name not in REPLACED:
        keep()
        return
    there = folder.resolve()
    for path in sorted(set(before) - _listed(there, written)):
        whole = (there / path).resolve()  # a manifest may come from anybody, and name what lies elsewhere
        if whole == there / path and whole.is_relative_to(there) and whole.is_file():
            files.remove(whole)
    keep()
    document = _manifest(folder) or {"format": 1, "kind": "results", "command": name}
    files.write_json(folder / MANIFEST, {**document, LISTED: sorted(_listed(there, written))})


def _listed(there: Path, written: set[Path]) -> set[str]:
    """Paths that were written in a folder, from there."""
    whole = [path.parent.resolve() / path.name for path in written]
    return {path.relative_to(there).as_posix() for path in whole if path.is_relative_to(there) and path.is_file()}


def keep_made(name: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Keep in a folder of results what running the command again needs."""
    from advisor.rerun import COMMANDS, keep

    folder = given.get("output")
    if name in COMMANDS and folder is not None and folder.is_dir() and not given.get("only") and not given.get("join"):
        keep(name, given, defaults, folder)


def _check(paths: dict[str, Path], given: Mapping[str, Any], name: str) -> None:
    """Whether what is to be written can be, and is nothing that is read or written otherwise."""
    faults, seen = [], dict[Path, str]()
    for parameter, path in paths.items():
        if parameter == "plot":
            simulator.plots.figure_kind(path)
        folder = parameter == "output" and _folder(name, given) is not None
        said_as = "OUT" if name == "convert" else f"--{parameter}"
        try:
            files.check_room(path, folder=folder)
        except ScenarioError as error:
            faults += [f"{said_as}: {line}" for line in error.lines]
            continue
        if (other := seen.setdefault(path.resolve(), parameter)) != parameter:
            faults.append(f"{said_as}: {path} is where --{other} writes too; name another file")
        read = {one: value for one, value in given.items() if one not in paths}
        if path.exists() and (source := _read_there(path, read)):
            said, what = ("holds", "folder") if folder else ("is", "file")
            faults.append(f"{said_as}: {path} {said} the input {source}; name another {what}")
    if faults:
        raise ScenarioError(faults)


def _read_there(output: Path, given: Mapping[str, Any]) -> Path | None:
    """An input that stands where something is to be written: the file itself by any name, or what is in the folder."""
    for source in _inputs(given):
        with suppress(OSError, ValueError):  # no file
            whole, there = source.resolve(strict=True), output.resolve()
            if output.samefile(source) or (output.is_dir() and whole.is_relative_to(there)):
                return source
            if source.is_dir() and there.is_relative_to(whole):
                mine = _manifest(source).get(LISTED, ())
                if there.relative_to(whole).as_posix() in mine:
                    return output
    return None


def _inputs(given: Mapping[str, Any]) -> Iterator[Path]:
    """All files and folders that a command line names to be read, and the files that those name."""
    from advisor.rerun import named_by

    for value in given.values():
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, Path):
                yield one
                if one.exists():
                    yield from named_by(one, given).values()
            elif isinstance(one, str):
                yield from (Path(word) for word in re.split(r"[=,:\s]+", one) if "." in word or "/" in word)


def finish(
    result: Any,
    text: "Shown",
    output: Path | None = None,
    *,
    write: Callable[[Path], object] | None = None,
    more: Callable[[], object] | None = None,
    said: str | Mapping[str, str] | None = None,
    form: str | None = None,
) -> None:
    """Write a result if that is asked for and print it, as text or as JSON; a text ends with where it was written.

    `write`: writes it to `output`, if there is one; `more`: writes what else is asked for.
    `said`: of a page what was written where, else the line that says where; by default the report, or the model.
    `form`: `latex` or `markdown` for tables in that form, and no line that says where.
    """
    if said is None and output is not None:
        page = isinstance(text, blocks.Page)
        said = {"Report": str(output / "report.html")} if page else f"model written to {output}"
    tell = partial(show, result, text, said if isinstance(said, Mapping) else {}, form=form)
    with nothing_lost(result, tell):
        signs.say("writing results")
        if write is not None and output is not None:
            write(output)
        if more is not None:
            more()
    tell()
    if isinstance(said, str) and said and not asked.as_json():
        print(said)


def width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((COLUMNS, 24)).columns


def show(result: Any, text: "Shown", written: Mapping[str, str] | None = None, *, form: str | None = None) -> None:
    """Print a result, as JSON, as text, or with tables in a form of `PRINTED`."""
    from advisor.report.printed import render_printed
    from advisor.report.text import page_blocks, render_blocks, render_first

    if gave_json(result):
        return
    if isinstance(text, str):
        print(text, end="")
    elif not isinstance(text, blocks.Page):
        print(render_blocks(text))
    elif form in PRINTED:
        print(render_printed(page_blocks(text), "latex" if form == "latex" else "markdown"))
    elif asked.full():
        print(render_blocks([*page_blocks(text), blocks.pairs(written or {})], width=width()))
    else:
        print(render_first(text, written or {}, width=width()))


@contextmanager
def nothing_lost(result: Any, show: Callable[[], None]) -> Iterator[None]:
    """Write results; if that fails, show them all the same, keep elsewhere what `--json` prints, and say where.

    `show`: prints the result as the command does when all went well.
    """
    try:
        yield
    except ApportionError as error:
        show()
        kept = _kept_elsewhere(result)
        said = "what was computed is on standard output" + (f", and as JSON in {kept}" if kept is not None else "")
        kind = WriteError if type(error) is ApportionError else type(error)
        raise kind([*error.lines, said]) from error


def _kept_elsewhere(result: object) -> Path | None:
    """A file among the temporary ones; None if nothing can be written there either."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="apportion-", suffix=".json", delete=False) as stream:
            json.dump(asked.document_of(result), stream, indent=1, allow_nan=False)
            stream.write("\n")
        return Path(stream.name)
    except OSError:
        return None
