"""A program to run under allocations: its command template, the files it reads, and how its times are read."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.calibration.allocation.output import OutputReader
from simulator.calibration.allocation.placement import PlacedRank

PIN = Path(__file__).parents[1] / "bench" / "pin.py"
_PLACE = re.compile(r"\{(\w+)\}")
_FOUND_BY = {"hostfile": "hostfile", "hostfile_openmpi": "hostfile.openmpi", "rankfile": "rankfile.openmpi"}
"""Placeholder -> the file that it stands for, written into the folder of the run."""
PLACES = ("N", "P", "cpus", "kinds", "pin", "python", *_FOUND_BY)
_LARGEST_TEMPLATE_BYTES = 2**20
HostFiles = Callable[[Sequence[PlacedRank]], Mapping[str, str]]
"""The host files of ranks: name -> text."""


@dataclass(frozen=True)
class AllocatedProgram:
    """What is run, where, and what is read of it."""

    words: tuple[str, ...]
    """Of the command line, with placeholders."""
    folder: Path
    """Where it runs; files it needs are written there before each run."""
    reader: OutputReader
    templates: Mapping[str, str] = field(default_factory=dict)
    """Name of each file that is rendered before a run -> its template."""
    read: str | None = None
    """The file in the folder that times are read from; None: standard output."""
    host_files: HostFiles | None = None
    local: bool = False
    """Whether ranks are pinned to this machine's processors, beside real competitors where a kind has a load."""

    @property
    def wants_host_files(self) -> bool:
        """Whether the command line names any."""
        return any("{" + place + "}" in word for word in self.words for place in _FOUND_BY)

    def rendered(self, size: float, ranks: Sequence[PlacedRank]) -> list[str]:
        """The words of a run; a word that is `{pin}` or `{python}` becomes several.

        Raises
        ------
        ScenarioError
            If a PE has no processor where one is asked for.
        """
        values = self._values(size, ranks)
        found: list[str] = []
        for word in self.words:
            if word == "{pin}":
                found += [sys.executable, "-I", "-S", str(PIN), values["cpus"], "--"]
            else:
                found.append(_filled(word, values))
        return found

    def prepare(self, size: float, ranks: Sequence[PlacedRank]) -> None:
        """Write the files of a run, and remove what an earlier one left to be read."""
        values = self._values(size, ranks)
        for name, text in self.templates.items():
            files.write_text(self.folder / name, _filled(text, values))
        if self.host_files is not None and self.wants_host_files:
            for name, text in self.host_files(ranks).items():
                files.write_text(self.folder / name, text)
        if self.read is not None:
            files.remove(self.folder / self.read)

    def _values(self, size: float, ranks: Sequence[PlacedRank]) -> dict[str, str]:
        cpus = [rank.pe.cpu for rank in ranks]
        return {
            "N": f"{size:.0f}",
            "P": str(len(ranks)),
            "cpus": ",".join("" if cpu is None else str(cpu) for cpu in cpus),
            "kinds": ",".join(rank.kind for rank in ranks),
            "python": sys.executable,
            **{place: str((self.folder / name).resolve()) for place, name in _FOUND_BY.items()},
        }


def _filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its placeholders filled; other braces stay."""
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)


def parse_program(
    command: str, *, templates: Sequence[Path] = (), local: bool = False
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Words of a command template and the file templates, checked; there is no shell.

    A word with a slash that names a file here stays that file wherever the program runs.

    Raises
    ------
    ScenarioError
        If the command is empty or badly quoted, its program is not there, it has an unknown placeholder, nothing tells
        the program N and P, or ranks are to be pinned and nothing does that.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ScenarioError(f"--command: {error}, words with matching quotes allowed") from error
    if not words:
        raise ScenarioError("--command: an empty line found, a program allowed")
    texts = {path.name: files.read_text(path, limit_bytes=_LARGEST_TEMPLATE_BYTES) for path in templates}
    if len(texts) < len(templates):
        raise ScenarioError("--before: two files of one name found, each name once allowed")
    faults = [
        f"--command: {{{name}}} found, {', '.join(PLACES)} allowed"
        for word in words
        for name in _PLACE.findall(word)
        if name not in PLACES
    ]
    faults += ["--command: {pin} inside a word found, a word of its own allowed"] * any(
        "{pin}" in word and word != "{pin}" for word in words
    )
    said = {name for text in (*words, *texts.values()) for name in _PLACE.findall(text)}
    for name, what in (("N", "the problem size"), ("P", "the number of processes")):
        if name not in said:
            faults.append(f"--command: no {{{name}}} found, {what} in the command or in a file of --before needed")
    if local and not said & {"pin", "cpus"}:
        faults.append("--command: --local without {pin} found, {pin} before the program, or {cpus}, needed")
    if faults:
        raise ScenarioError(faults)
    _check_program(words[0])
    return tuple(_whole(word) for word in words), texts


def _whole(word: str) -> str:
    return str(Path(word).resolve()) if "/" in word and "{" not in word and Path(word).is_file() else word


def _check_program(word: str) -> None:
    import shutil

    if "{" not in word and shutil.which(word) is None:
        what = "a file that cannot be run" if os.sep in word and Path(word).exists() else "no such program"
        raise ScenarioError(f"--command: {word}: {what} found, a program on the path or by its own allowed")
