"""A command run again from what its results folder keeps, and the answer: equal, or what differs."""

import contextlib
import io
import os
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import simulator
from advisor.jobs.own_policy import named_file
from advisor.rerun.compared import EQUAL, MOST_DIFFERENCES, Difference, Figure, differing_files, measured_figures
from advisor.rerun.kept import CODE, Record, read_record
from simulator import ScenarioError, blocks, calibration, files, provenance, shipped

Run = Callable[[list[str]], int]
"""Runs a command by its words; its exit code."""
FELL_SHORT = 1
STATE = "APPORTION_STATE"
"""The variable that names the folder for what was learnt of this machine."""


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


@dataclass(frozen=True)
class Words:
    """The command line that a manifest says, made once: what is shown, agreed to and run."""

    command: tuple[str, ...]
    options: tuple[str, ...]
    arguments: tuple[str, ...]
    asked: tuple[str, ...]
    """What of it may run, import or reach anything, as `--yes` repeats it: an option each, or all arguments."""

    def line(self, output: Path) -> list[str]:
        """All words, with the folder that the results go to."""
        arguments = ["--", *self.arguments] if self.arguments else []
        return [*self.command, *self.options, f"--output={output}", *arguments]


def rerun(path: Path, *, run: Run, root: Any, output: Path | None, consent: Sequence[str]) -> Rerun:
    """Run the command of a manifest again, in a folder of its own, and compare.

    `root`: the command line, as click has it: which options each command has.
    `output`: where the new results go; nowhere to stay by default.
    `consent`: what the user agrees to run: `Words.asked`.
    """
    record = read_record(path)
    words = words_of(record, root)
    _check_consent(record, words, consent)
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ScenarioError(f"--output: {output} is there already; name a new folder")
    with contextlib.ExitStack() as stack:
        spare = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apportion-rerun-")))
        target = (spare / "results" if output is None else output).absolute()
        stack.enter_context(_confined(record, target, spare))
        with contextlib.redirect_stdout(io.StringIO()):
            code = run(words.line(target))
        if code not in {0, FELL_SHORT}:
            raise ScenarioError(f"{path}: its command ended with exit code {code}; nothing is compared")
        return _compared(record, target, None if output is None else str(output))


def words_of(record: Record, root: Any) -> Words:
    """The command line of a record."""
    command = root
    for word in record.command.split():
        command = command.commands[word]
    parameters = {str(one.name): one for one in command.params}
    options: list[str] = []
    arguments: list[str] = []
    asked: list[str] = []
    for name, value in record.given.items():
        where = f"{record.manifest}: rerun: given.{name}"
        if name not in parameters:
            raise ScenarioError(f"{where}: {record.command} has no option {name!r} in this version")
        kind = parameters[name].type_descriptor.annotation
        if record.rule.refused(name, kind):
            raise ScenarioError(f"{where}: {name} is no manifest's to say; run the command yourself")
        known = value is False and parameters[name].secondary_opts
        texts = [] if known else _texts(record, name, kind, value, where)
        words = said_as(parameters[name], value, texts, joined=True)
        argument = parameters[name].param_type_name == "argument"
        (arguments if argument else options).extend(words)
        if name in record.rule.asks.split():
            asked += [shlex.join(words)] if argument else words
    return Words(tuple(record.command.split()), tuple(options), tuple(arguments), tuple(asked))


def said_as(parameter: Any, value: Any, texts: Sequence[str], *, joined: bool = False) -> list[str]:
    """The words that give a parameter a value, by its texts: `-o x`, or joined in one word, `--output=x`."""
    if parameter.param_type_name == "argument":
        return list(texts)
    if value is False:
        return list(parameter.secondary_opts[:1])
    short = [] if joined else [one for one in parameter.opts if one == "-o"]
    flag = next(iter([*short, *(one for one in parameter.opts if one.startswith("--"))]))
    if parameter.is_flag:
        return [flag] if texts else []
    return [f"{flag}={text}" for text in texts] if joined else [word for text in texts for word in (flag, text)]


def _texts(record: Record, name: str, kind: object, value: Any, where: str) -> list[str]:
    """A value as texts of a command line; that of an input is where its copy is."""
    fits, wanted = _TYPES.get(kind, (_is_text, "a text"))
    if not fits(value):
        raise ScenarioError(f"{where} is {value!r:.80}; only {wanted} can stand there")
    place = record.inputs.get(name)
    if place is None and (kind is Path or name == CODE):
        raise ScenarioError(f"{where} is {value!r:.80}, a file that the folder does not keep; run the command yourself")
    if place is not None:
        _, function = named_file(value) if name == CODE else (place, "")
        return [f"{record.folder.absolute() / place}{f':{function}' if function else ''}"]
    return [str(text) for text in value] if isinstance(value, list) else [str(value)]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[object, tuple[Callable[[Any], bool], str]] = {
    bool: (lambda value: value is True, "true"),
    int: (_is_number, "a number"),
    float: (_is_number, "a number"),
    list[str]: (lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value), "texts"),
}
"""What a parameter takes -> which values of a manifest are that, and what they are called; all else is a text."""


def _check_consent(record: Record, words: Words, consent: Sequence[str]) -> None:
    """Whether the user agrees to run exactly what the manifest says."""
    if sorted(consent) == sorted(words.asked):
        return
    if not words.asked:
        raise ScenarioError("--yes has no effect: this manifest runs nothing but apportion's own code; leave it out")
    what = "would run or reach what its manifest says, and a manifest may come from anybody; if you agree, add"
    line = f"{record.folder}: {record.command} {what} {' '.join(f'--yes {shlex.quote(word)}' for word in words.asked)}"
    error = ScenarioError(line)
    if error.lines != (line,):
        cannot = "would run what is too long, or has letters that cannot be shown; run the command yourself"
        raise ScenarioError(f"{record.manifest}: {record.command} {cannot}")
    raise error


@contextlib.contextmanager
def _own_places(spare: Path) -> Iterator[None]:
    """Temporary files, and a copy of what was learnt of this machine, in a folder of ours."""
    # a scenario from anybody predicts what it likes: what is learnt from that must not count for other scenarios
    learnt, before = calibration.state_file(), (tempfile.tempdir, os.environ.get(STATE))
    if learnt is not None and learnt.is_file():
        files.write_bytes(spare / "state" / learnt.name, files.read_bytes(learnt))
    tempfile.tempdir, os.environ[STATE] = str(spare), str(spare / "state")
    try:
        yield
    finally:
        tempfile.tempdir = before[0]
        os.environ.pop(STATE)
        if before[1] is not None:
            os.environ[STATE] = before[1]


@contextlib.contextmanager
def _confined(record: Record, target: Path, spare: Path) -> Iterator[None]:
    """Read the results folder, the new results, and what belongs to this installation only."""
    own = [Path(str(package.__path__[0])) for package in (simulator,)]
    data = [shipped.path_of(f"{kind}/") for kind in shipped.KINDS]
    cache = files.user_cache()
    places = (record.folder, target, spare, *own, own[0].parent / "advisor", *data, *([] if cache is None else [cache]))
    with _own_places(spare), files.confined(*places):
        yield


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


def rerun_page(found: Rerun) -> blocks.Page:
    """Equal or not, and what differs."""
    around = [*(f"version: {line}" for line in found.versions), *(f"machine: {line}" for line in found.machine)]
    differing = blocks.table(
        "What differs",
        ("place", "before", "now", "ratio"),
        [(*map(blocks.plain, (one.place, one.before, one.after)), _ratio(one.ratio)) for one in found.differences],
    )
    measured = blocks.table(
        "Measured",
        ("figure", "before", "now", "ratio", "stated or seen", "within"),
        [
            (
                blocks.plain(one.name),
                f"{one.before:.4g}",
                f"{one.after:.4g}",
                _ratio(one.ratio),
                f"{one.low:.4g} to {one.high:.4g}",
                "yes" if one.within else "no",
            )
            for one in sorted(found.measured, key=lambda one: one.within)
        ],
    )
    return blocks.Page(
        title=found.reran,
        answer=_verdict(found),
        sections=(blocks.Section("differences", "What differs", (differing, measured)),),
        command="rerun",
        facts=blocks.pairs({"Around": "; ".join(map(blocks.plain, around)) or "versions and machine: the same"}),
        rows=differing if found.differences else measured,
    )


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
