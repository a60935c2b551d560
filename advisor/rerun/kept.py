"""What a results folder keeps so that its command can be run again: the options, and copies of all that was read."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import simulator
from advisor.jobs.own_policy import named_file
from simulator import ScenarioError, calibration, documents, files, provenance

FORMAT = 1
MANIFEST, INPUTS = "manifest.json", "inputs"
MOST_BYTES = 2**28
"""Of an input file that is kept; of a larger one only the hash is."""
LIMIT_BYTES = 2**30
_OURS = re.compile(r'\s*\{\s*"format": *\d+,\s*"kind":')  # no scenario begins so


@dataclass(frozen=True)
class Command:
    """How one command is run again.

    Numbers, switches, choices of a few words and kept files say nothing that could run, so a manifest may say them; of
    free texts it may say those that are named here, and what asks.
    """

    texts: str = ""
    """Options and arguments of free text that run, import, write and reach nothing, whatever they say."""
    asks: str = ""
    """Those, switches among them, that run, import or reach something: only with the consent that repeats them."""
    left_out: str = ""
    """Options that do not change what is found, or that write elsewhere."""
    measured: bool = False
    counted: str = ""
    """What the manifest says of a sweep that a budget allowed, which is kept in its place."""

    def refused(self, name: str, kind: object) -> bool:
        """Whether no manifest may say an option or argument of this kind."""
        allowed = {*self.texts.split(), *self.asks.split()}
        return name in {*WRITTEN, *self.left_out.split()} or (kind in {str, list[str]} and name not in allowed)


WRITTEN = ("output", "hostfile", "jobs", "timeline", "plot", "as_json")
"""Options that a rerun sets itself."""
CODE, HOSTS_FILE = "own", "hosts_file"
"""The option that names FILE.py or FILE.py:FUNCTION; and the one of which the hosts in the file are kept."""
COMMANDS: Mapping[str, Command] = {
    "simulate": Command("changes", left_out="replication configuration"),
    "whatif": Command(
        "vary buy scaling nodes", left_out="workers dask resume only budget", counted="replications runs"
    ),
    "advise": Command("vary objective budget changes method kinds memory footprint hosts"),
    "verify": Command("budget", asks="command", measured=True),
    "quickstart": Command("budget", measured=True),
    "cluster": Command(
        "kernel parameter budget", asks="command hosts slurm ssh python", left_out="update", measured=True
    ),
    "jobs run": Command(asks=CODE),
    "jobs compare": Command("policies estimates procs change sizes metric"),
    "jobs advise": Command("policy estimates change add target price"),
}
"""Commands that write a folder which can be made again; an option of free text that is not named is refused."""


def keep(command: str, given: Mapping[str, Any], defaults: Mapping[str, Any], folder: Path) -> None:
    """Keep in a results folder, and say in its manifest, what running the command again needs.

    `given`: values of the command's options and arguments by the names of its parameters.
    `defaults`: those that hold where nothing is given.
    """
    rule = COMMANDS[command]
    stated = {
        name: value
        for name, value in given.items()
        if value != defaults.get(name) and value is not None and name not in {*WRITTEN, *rule.left_out.split()}
    }
    if rule.counted and given.get("budget") is not None:
        sweep = files.read_json(folder / MANIFEST, limit_bytes=LIMIT_BYTES)["sweep"]
        stated |= {name: sweep[name] for name in rule.counted.split() if sweep[name] is not None}
    said: dict[str, Any] = {}
    inputs: dict[str, str] = {}
    missing: list[str] = []
    for name, value in stated.items():
        if name == HOSTS_FILE:
            said["hosts"] = ",".join(calibration.hosts_of_file(value))
        elif isinstance(value, Path):
            place, lost = _kept(value, name, folder, stated)
            inputs[name], said[name] = place, place
            missing += lost
        elif name == CODE:
            path, function = named_file(value)
            place, lost = _kept(path, name, folder, {})
            inputs[name], said[name] = place, f"{place}:{function}" if function else place
            missing += lost
        else:
            said[name] = list(value) if isinstance(value, tuple | list) else value
    here = simulator.this_machine()
    record = {
        "format": FORMAT,
        "command": command,
        "given": said,
        "output": str(given["output"]),
        "inputs": inputs,
        "hashes": {place: files.digest_of(folder / place) for place in _files_in(folder)},
        "missing": missing,
        "versions": provenance.versions(),
        "machine": {"host": here.host, "cpu_model": here.cpu_model, "pes": here.pe_count},
    }
    _write(command, record, folder)


def _write(command: str, record: dict[str, Any], folder: Path) -> None:
    """Add the record to the manifest of the folder, or begin one."""
    path = folder / MANIFEST
    document: Any = {"format": FORMAT, "kind": "results", "command": command}
    if path.exists():
        found = files.read_json(path, limit_bytes=LIMIT_BYTES)
        if isinstance(found, dict) and (found.get("kind") != "results" or found.get("command") == command):
            document = found
    files.write_json(path, {**document, "rerun": record})


def _files_in(folder: Path) -> list[str]:
    kept = folder / INPUTS
    return sorted(path.relative_to(folder).as_posix() for path in kept.rglob("*") if path.is_file())


def _kept(path: Path, name: str, folder: Path, stated: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Copy an input into the folder with the files that it names: where it is there, and what could not be kept."""
    root = PurePath(INPUTS) / name
    used = named_by(path, stated)
    ups = max((PurePath(one).parts.count("..") for one in used if not PurePath(one).is_absolute()), default=0)
    base = root.joinpath(*["up"] * ups)
    lost: list[str] = []
    text_of: dict[str, str] = {}
    for number, (one, where) in enumerate(used.items()):
        if PurePath(one).is_absolute():
            place = base / "files" / f"{number}-{where.name}"
            text_of[one] = place.relative_to(base).as_posix()
        else:
            place = PurePath(os.path.normpath(base / one))
        _copy(where, folder / place, lost)
    main = base / path.name
    if path.is_file():
        _copy(path, folder / main, lost)
    if text_of:
        text = files.read_text(folder / main, limit_bytes=LIMIT_BYTES)
        for whole, short in text_of.items():
            text = text.replace(whole, short)
        files.write_text(folder / main, text)
    return main.as_posix() if path.is_file() else base.as_posix(), lost


def _copy(source: Path, target: Path, lost: list[str]) -> None:
    if source.stat().st_size > MOST_BYTES:
        lost.append(f"{source.name}: {source.stat().st_size} bytes are more than is kept of an input")
    elif source.resolve() != target.resolve():
        files.write_bytes(target, files.read_bytes(source, limit_bytes=MOST_BYTES), synced=False)


def named_by(path: Path, stated: Mapping[str, Any]) -> dict[str, Path]:
    """The files that an input names, by their names; those of a folder of advice by their own."""
    if path.is_dir():
        return {name: path / name for name in ("advice.json", "scenario.yaml") if (path / name).is_file()}
    named = dict(_in_options(path, stated))
    if path.suffix.lower() not in {".yaml", ".yml", ".json", ".toml"}:
        return named
    try:
        if _OURS.match(files.read_text(path, limit_bytes=LIMIT_BYTES)):
            return named  # a model or a plan; to read it as a scenario would take long
        template = simulator.read_template(path)
    except ScenarioError:
        return named  # whatever the command read
    with contextlib.suppress(ScenarioError):  # a base whose values only a change makes right; its names are known
        template.scenario(tuple(stated.get("changes") or ()), oversized=True)
    return {name: where for name, where in template.site.named.used.items() if where != path} | named


def _in_options(path: Path, stated: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Files that a `--set` or `--vary` names, from the folder of the scenario."""
    for value in stated.values():
        for text in value if isinstance(value, list | tuple) else (value,):
            for word in re.split(r"[=,]", text) if isinstance(text, str) else ():
                if word and len(word) < 200 and (path.parent / word).is_file():
                    yield word, path.parent / word


@dataclass(frozen=True)
class Record:
    """What a manifest says of how its results were made."""

    folder: Path
    manifest: Path
    command: str
    given: Mapping[str, Any]
    output: str
    inputs: Mapping[str, str]
    hashes: Mapping[str, str]
    missing: tuple[str, ...]
    versions: Mapping[str, Any]
    machine: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.command not in COMMANDS:
            raise ScenarioError(f"command: {self.command!r} is no command that can be rerun ({', '.join(COMMANDS)})")
        if not self.output:
            raise ScenarioError("output: it is empty; run the command again")

    @property
    def rule(self) -> Command:
        """How its command is run again."""
        return COMMANDS[self.command]


def read_record(path: Path) -> Record:
    """The record of a results folder or its manifest."""
    folder = path if path.is_dir() else path.parent
    manifest = path / MANIFEST if path.is_dir() else path
    with files.confined(folder):
        document = files.read_json(manifest, limit_bytes=LIMIT_BYTES)
        record = document.get("rerun") if isinstance(document, dict) else None
        if not isinstance(record, dict):
            raise ScenarioError(
                f"{manifest}: it does not say how its results were made; name the manifest.json of a results folder "
                "that this version wrote"
            )
        place = f"{manifest}: rerun"
        files.check_format(record, FORMAT, place, str(record.get("command")))
        with documents.in_file(place):
            said = {name: value for name, value in record.items() if name != "format"}
            found = documents.read(Record, said, folder=folder, manifest=manifest)
        if found.missing:
            raise ScenarioError([f"{manifest}: an input was not kept: {line}" for line in found.missing])
        _check_inputs(found)
    return found


def _check_inputs(record: Record) -> None:
    """Whether inputs are as they were kept, all of them, inside the folder, and what is given names them."""
    folder, manifest = record.folder, record.manifest
    given, inputs, hashes = record.given, record.inputs, record.hashes
    faults = []
    for place in [*inputs.values(), *hashes]:
        parts = PurePath(str(place)).parts
        if not parts or parts[0] != INPUTS or ".." in parts:
            faults.append(f"{manifest}: rerun: {place!r} lies outside {INPUTS}; a rerun reads kept inputs only")
    for name, place in inputs.items():
        said = given.get(name)
        path, _ = named_file(said) if name == CODE and isinstance(said, str) else (said, "")
        if str(path) != place:
            faults.append(f"{manifest}: rerun: given.{name} is {said!r:.80}, and inputs.{name} is {place!r:.80}")
    faults += [f"{folder / place}: {manifest} has no hash of it" for place in _files_in(folder) if place not in hashes]
    if faults:
        raise ScenarioError(faults)
    for place, wanted in hashes.items():
        if files.digest_of(folder / place) != wanted:
            faults.append(f"{folder / place}: it is not as it was when these results were made; restore it")
    if faults:
        raise ScenarioError(faults)
