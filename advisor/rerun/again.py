"""A command run again from what its results folder keeps, and the answer: equal, or what differs."""

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import simulator
from advisor.rerun.compared import EQUAL, MOST_DIFFERENCES, Difference, Figure, differing_files, measured_figures
from advisor.rerun.kept import Record, read_record
from simulator import ScenarioError, blocks, files, provenance, shipped

Run = Callable[[list[str]], int]
"""Runs a command by its words; its exit code."""
MOST_SHOWN = 12
"""Differences that a terminal shows; the document has all."""
FELL_SHORT = 1


@dataclass(frozen=True)
class Rerun:
    """A command that was run again."""

    format: int
    command: str
    reran: str
    """The command of the manifest."""
    equal: bool
    """Whether nothing differs that was simulated, and what was measured lies where it was stated or seen."""
    compared: tuple[str, ...]
    """Files that were compared."""
    differences: tuple[Difference, ...]
    """Of what was simulated, beyond the last digits of numbers."""
    last_digits: int
    """Numbers of what was simulated that are equal to a relative size of `EQUAL`, and not bit for bit."""
    measured: tuple[Figure, ...]
    versions: tuple[str, ...]
    """Those that differ, as lines."""
    machine: tuple[str, ...]
    """What differs of the machine, as lines."""
    output: str | None
    """Where the new results are, if they are kept."""


def rerun(path: Path, *, run: Run, root: Any, output: Path | None, consent: str | None) -> Rerun:
    """Run the command of a manifest again, in a folder of its own, and compare.

    Parameters
    ----------
    root
        The command line, as click has it: which options each command has.
    output
        Where the new results go; nowhere to stay by default.
    consent
        What the user agrees to run, in the words of the manifest.

    Raises
    ------
    ScenarioError
        If the manifest is none, asks for what the user has not agreed to, or cannot be run again.
    """
    record = read_record(path)
    _check_consent(record, consent)
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ScenarioError(f"--output: {output} is there already; name a new folder")
    with contextlib.ExitStack() as stack:
        spare = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apportion-rerun-")))
        target = (spare / "results" if output is None else output).absolute()
        words = _words(record, target, flags_of(root, record.command))
        code = _run_confined(record, words, target, spare, run)
        if code not in {0, FELL_SHORT}:
            raise ScenarioError(f"{path}: its command ended with exit code {code}; nothing is compared")
        return _compared(record, target, None if output is None else str(output))


def flags_of(root: Any, name: str) -> dict[str, str | None]:
    """The parameters of a command of the command line, with the option that gives each; None for an argument."""
    command = root
    for word in name.split():
        command = command.commands[word]
    return {str(one.name): next((flag for flag in one.opts if flag.startswith("--")), None) for one in command.params}


def _check_consent(record: Record, consent: str | None) -> None:
    wanted = record.consent
    if wanted and consent != wanted:
        what = f"would run or reach {wanted!r}, as its manifest says, and a manifest may come from anybody"
        raise ScenarioError(f"{record.folder}: {record.command} {what}; if you agree, add --yes {wanted!r}")
    if consent is not None and not wanted:
        raise ScenarioError("--yes has no effect: this manifest runs nothing but apportion's own code; leave it out")


def _words(record: Record, output: Path, flags: Mapping[str, str | None]) -> list[str]:
    """The command line; options that this version does not know are refused."""
    unknown = [name for name in record.given if name not in flags]
    if unknown:
        raise ScenarioError(f"{record.folder}: rerun: {record.command} has no option {unknown[0]!r} in this version")
    refused = [name for name in record.given if record.rule.refused(name)]
    if refused:
        raise ScenarioError(f"{record.folder}: rerun: {refused[0]} is no manifest's to say; run the command yourself")
    options: list[str] = []
    arguments: list[str] = []
    for name, value in record.given.items():
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str | int | float) for text in texts):
            raise ScenarioError(f"{record.folder}: rerun: {name} is neither text nor number")
        said = [_text(record, name, text) for text in texts]
        flag = flags[name]
        if flag is None:
            arguments += said
        elif value is True:
            options.append(flag)
        elif value is not False:
            options += [f"{flag}={text}" for text in said]
    return [*record.command.split(), *options, f"--output={output}", *(["--", *arguments] if arguments else [])]


def _text(record: Record, name: str, value: object) -> str:
    """A value as on a command line; that of an input is its copy."""
    text = str(value)
    place = record.inputs.get(name)
    return text if place is None else str(record.folder.absolute() / place) + text.removeprefix(place)


@contextlib.contextmanager
def _own_temporary(folder: Path) -> Iterator[None]:
    """Temporary files in a folder of ours, so that reading can be confined to it."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _run_confined(record: Record, words: list[str], target: Path, spare: Path, run: Run) -> int:
    """Run it; it reads the results folder, its own output, and what belongs to this installation."""
    own = [Path(str(package.__path__[0])) for package in (simulator,)]
    data = [shipped.path_of(f"{kind}/") for kind in shipped.KINDS]
    known = [folder for folder in (files.user_cache(), files.user_state()) if folder is not None]
    places = (record.folder, target, spare, *own, own[0].parent / "advisor", *data, *known)
    said = io.StringIO()
    with files.confined(*places), _own_temporary(spare), contextlib.redirect_stdout(said):
        return run(words)


def _compared(record: Record, target: Path, kept: str | None) -> Rerun:
    names, unlike_places = differing_files(record, target)
    found = tuple(one for one in unlike_places if one.counts)
    last_digits = len(unlike_places) - len(found)
    figures = measured_figures(record, target) if record.rule.measured else ()
    now, here = provenance.versions(), simulator.this_machine()
    was, machine = dict(record.versions), dict(record.machine)
    versions = [f"{name} {was.get(name)} then, {text} now" for name, text in now.items() if was.get(name) != text]
    about = {"host": here.host, "cpu_model": here.cpu_model, "pes": here.pe_count}
    unlike = [
        f"{name.replace('_', ' ')} {machine.get(name)} then, {value} now"
        for name, value in about.items()
        if machine.get(name) != value
    ]
    equal = not found and all(one.within for one in figures)
    listed = found[:MOST_DIFFERENCES]
    around = (tuple(versions), tuple(unlike), kept)
    return Rerun(1, "rerun", record.command, equal, names, listed, last_digits, figures, *around)


def rerun_text(found: Rerun) -> "Iterator[blocks.Block]":
    """What a terminal shows."""
    yield blocks.Text(_verdict(found))
    if found.differences:
        rows = [(one.place, one.before, one.after, _ratio(one.ratio)) for one in found.differences[:MOST_SHOWN]]
        more = len(found.differences) - MOST_SHOWN
        note = f"and {more} more, all with --json" if more > 0 else ""
        yield blocks.table("what differs", ("place", "before", "now", "ratio"), rows, note=note)
    if found.measured:
        figures = [
            (one.name, f"{one.before:.4g}", f"{one.after:.4g}", _ratio(one.ratio), _range(one), _yes(within=one.within))
            for one in found.measured
        ]
        yield blocks.table("measured", ("figure", "before", "now", "ratio", "stated or seen", "within"), figures)
    lines = [*(f"version: {line}" for line in found.versions), *(f"machine: {line}" for line in found.machine)]
    yield blocks.Listing("\n".join(lines or ["versions and machine: the same"]))


def _verdict(found: Rerun) -> str:
    files_ = f"{len(found.compared)} file{'' if len(found.compared) == 1 else 's'} ({', '.join(found.compared)})"
    if found.differences:
        return f"{found.reran}: {len(found.differences)} places differ in {files_}"
    how = "bit for bit"
    if found.last_digits:
        how = f"to {EQUAL:g} of each number ({found.last_digits} end in other digits, as on another processor)"
    simulated = f"equal where simulated, {how}: {files_}" if found.compared else "measured again"
    if not found.measured:
        return f"{found.reran}: {simulated}"
    outside = sum(not one.within for one in found.measured)
    said = f"{outside} of {len(found.measured)} measured figures lie" if outside else "all measured figures lie"
    where = "outside what was stated or seen" if outside else "within what was stated or seen"
    return f"{found.reran}: {simulated}; {said} {where}"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.4g}"


def _range(one: Figure) -> str:
    return f"{one.low:.4g} to {one.high:.4g}"


def _yes(*, within: bool) -> str:
    return "yes" if within else "no"
