"""Manifests from anybody: nothing that a folder names is run, imported or reached unless `--yes` repeats it."""

import itertools
import json
import py_compile
import shlex
import sys
from pathlib import Path
from typing import Literal, get_origin

import pytest

from advisor.cli.commands import root
from advisor.rerun import COMMANDS, keep, rerun
from advisor.rerun.again import words_of
from advisor.rerun.kept import WRITTEN, read_record
from simulator import ScenarioError, calibration, files
from tests.support.command_line import apportion_here

JOBS = "; MaxProcs: 8\n" + "".join(
    f"{number} {10 * number} 0 100 2 -1 -1 2 200 -1 1 1 1 1 1 -1 -1 -1\n" for number in range(1, 9)
)
SCENARIO = """\
format: 1
platform:
  nodes: [{name: one, pes: [{name: a, speeds: {dgemm: 3 Gflop/s}}, {name: b, speeds: {dgemm: 1 Gflop/s}}]}]
  link: {latency: 50us, bandwidth: 1GB/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 400}}
configurations: {equal: {partition: equal}}
replications: 2
"""
READS = {
    **dict.fromkeys(("simulate", "whatif", "advise"), ("scenario", "s.yaml")),
    "verify": ("what", "s.yaml"),
    **dict.fromkeys(("jobs run", "jobs compare", "jobs advise"), ("log", "jobs.swf")),
}
"""Command -> the argument that it cannot do without, and the file for it."""
RUNS = {
    "whatif": ("dask",),
    "advise": ("measure_next", "command", "hostfile"),
    "verify": ("command",),
    "cluster": ("command", "hosts", "hosts_file", "slurm", "ssh", "python"),
    "jobs run": ("own", "jobs"),
}
"""Command -> what of it runs, imports, reaches or writes something, by what users know of it."""


UNSAID = {"advise": ("measure_next", "command"), "cluster": ("join", "names", "uplink", "max_age")}
"""Command -> what no manifest may say: it measures, or names files that are not kept."""


def parameters(name):
    command = root()
    for word in name.split():
        command = command.commands[word]
    return {one.name: one.type_descriptor.annotation for one in command.params}


def program(folder):
    """A program and a Python file that leave a mark if they are run."""
    (folder / "inputs").mkdir(exist_ok=True)
    mark = folder / "mark"
    (folder / "inputs" / "p.py").write_text(f"open({str(mark)!r}, 'w').close()\n\ndef decide(seen):\n    return []\n")
    path = folder / "inputs" / "p.sh"
    path.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(mark))}\n")
    path.chmod(0o755)
    return mark, path


def write(folder, command, given, inputs, *, hashes=None):
    """A manifest, with what the command cannot do without."""
    name, file = READS.get(command, (None, None))
    if name is not None:
        (folder / "inputs" / file).write_text(JOBS if file == "jobs.swf" else SCENARIO)
        given, inputs = {name: f"inputs/{file}", **given}, {name: f"inputs/{file}", **inputs}
    there = sorted(path for path in (folder / "inputs").rglob("*") if path.is_file())
    kept = {path.relative_to(folder).as_posix(): files.digest_of(path) for path in there}
    record = {"format": 1, "command": command, "given": given, "output": "out", "inputs": inputs}
    record |= {"hashes": kept if hashes is None else hashes, "missing": [], "versions": {}, "machine": {}}
    document = {"format": 1, "kind": "results", "command": command, "rerun": record}
    (folder / "manifest.json").write_text(json.dumps(document))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_can_say_every_option_that_its_command_has(command):
    """But those that a rerun sets itself, or that change nothing of what is found; those that measure, and files."""
    rule = COMMANDS[command]
    own = {*WRITTEN, *rule.left_out.split(), *UNSAID.get(command, ())}
    assert [name for name, kind in parameters(command).items() if name not in own and rule.refused(name, kind)] == []


def refused(folder):
    done = apportion_here("rerun", folder)
    assert (done.returncode, done.stdout) == (2, ""), (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(("command", "name"), [(one, name) for one, names in RUNS.items() for name in names])
def test_nothing_is_run_or_imported_whatever_is_given_and_wherever_it_stands(tmp_path, command, name):
    mark, path = program(tmp_path)
    line = f"{path} {{units}}"
    falsy = ("", 0, None, {})
    places = ("inputs/p.py", "inputs/p.py:decide", "inputs/p.sh {units}")
    given = (*falsy, True, line, [line], {"a": line}, *places, "inputs/./p.py", "/etc/passwd")
    other = {"hosts": "here", "parameter": ["units=9"]} if command == "cluster" else {}
    kept = (*falsy, *places, [places[0]], line)
    pairs = [*itertools.product(given, ("ABSENT", places[0])), *itertools.product(("ABSENT", line), kept)]
    for value, place in pairs:
        mine = {} if value == "ABSENT" else {name: value}
        write(tmp_path, command, {**other, **mine}, {} if place == "ABSENT" else {name: place})
        refused(tmp_path)
        assert not mark.exists(), (value, place)


ILL_TYPED = ("", 0, {"a": 1}, [0], [None], None, 1.5, "x", True, ["x"])


@pytest.mark.parametrize("command", COMMANDS)
def test_values_of_another_type_are_refused_by_name_and_nothing_is_begun(tmp_path, command):
    def fits(kind, value):
        if kind in {int, float}:
            return isinstance(value, int | float) and not isinstance(value, bool)
        if kind is bool:
            return value is True
        if kind == list[str]:
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        return isinstance(value, str) and bool(value) and kind is not Path  # which has to be kept

    (tmp_path / "inputs").mkdir()
    tried = 0
    for (name, kind), value in itertools.product(parameters(command).items(), ILL_TYPED):
        if fits(kind, value):
            continue
        write(tmp_path, command, {name: value}, {})
        with pytest.raises(ScenarioError, match=rf"^\S+manifest\.json: rerun: given\.{name}\b") as error:
            words_of(read_record(tmp_path), root())
        assert len(error.value.lines) == 1
        tried += 1
    assert tried > 20


@pytest.mark.parametrize("command", COMMANDS)
def test_free_text_is_refused_unless_it_is_declared_as_harmless_or_as_something_to_agree_to(tmp_path, command):
    (tmp_path / "inputs").mkdir()
    rule = COMMANDS[command]
    assert set(f"{rule.texts} {rule.asks} {rule.left_out}".split()) <= parameters(command).keys()
    for name, kind in parameters(command).items():
        if kind in {str, list[str]} and name not in f"{rule.texts} {rule.asks}".split():
            write(tmp_path, command, {name: "x"}, {})
            assert f"given.{name}: {name} is no manifest's to say" in refused(tmp_path)
        choice = kind in {int, float, bool, str, list[str], Path} or get_origin(kind) is Literal
        assert choice, f"{name}: decide whether a manifest may say values of {kind}"


def test_what_runs_or_reaches_something_is_among_what_asks_or_is_refused(tmp_path):
    (tmp_path / "inputs").mkdir()
    for command, names in RUNS.items():
        for name in names:
            rule, kind = COMMANDS[command], parameters(command)[name]
            assert name in rule.asks.split() or rule.refused(name, kind) or kind is Path, (command, name)


def recorded(folder, *consent):
    """The words that are run with a consent."""
    lines = []

    def run(words):
        lines.append(words)
        return 2

    with pytest.raises(ScenarioError, match="exit code 2"):
        rerun(folder, run=run, root=root(), output=None, consent=consent)
    return lines[0]


def test_an_honest_cluster_with_a_command_runs_with_the_consent_that_is_shown(tmp_path):
    (tmp_path / "hosts.txt").write_text("one slots=4\n# none\ntwo\n")
    given = {"command": ["./app.sh", "a b", "{units}"], "parameter": ["units=9"]}
    keep("cluster", {**given, "hosts_file": tmp_path / "hosts.txt", "output": tmp_path}, {}, tmp_path)
    _, first, _, second = shlex.split(refused(tmp_path).partition("if you agree, add ")[2])
    assert (first, second) == ("./app.sh 'a b' '{units}'", "--hosts=one,two")
    *words, output, dashes, program_, word, place = recorded(tmp_path, second, first)
    assert words == ["cluster", "--parameter=units=9", "--hosts=one,two"]
    assert (dashes, program_, word, place) == ("--", "./app.sh", "a b", "{units}")
    assert output.startswith("--output=")


@pytest.mark.parametrize("consent", [[], ["--command=y"]])
def test_only_the_consent_that_is_shown_will_do(tmp_path, consent):
    (tmp_path / "inputs").mkdir()
    write(tmp_path, "verify", {"command": "x {units}"}, {})
    options = [word for one in consent for word in ("--yes", one)]
    done = apportion_here("rerun", tmp_path, *options)
    assert done.returncode == 2
    assert "may come from anybody; if you agree, add --yes '--command=x {units}'\n" in done.stderr
    assert "--command=x {units}" in recorded(tmp_path, "--command=x {units}")


@pytest.mark.parametrize("line", ["x {units}" + " y" * 2000, "x {units}\nrm", "x {units} \u202e"])
def test_what_cannot_be_shown_whole_is_not_run(tmp_path, line):
    (tmp_path / "inputs").mkdir()
    write(tmp_path, "verify", {"command": line}, {})
    assert "would run what is too long, or has letters that cannot be shown; run the command" in refused(tmp_path)


def test_a_policy_runs_with_consent_and_what_lies_in_a_cache_beside_it_does_not(tmp_path):
    (tmp_path / "jobs.swf").write_text(JOBS)
    policy = tmp_path / "own.py"
    policy.write_text(
        "def decide(seen):\n    return [job for job in seen.waiting if job.processors <= seen.free][:1]\n"
    )
    out = tmp_path / "out"
    done = apportion_here("jobs", "run", tmp_path / "jobs.swf", "--policy", f"{policy}:decide", "-o", out)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "__pycache__").exists()
    kept = out / "inputs" / "own" / "own.py"
    consent = f"--policy={kept}:decide"
    assert f"if you agree, add --yes {consent}\n" in refused(out)
    assert apportion_here("rerun", out, "--yes", consent).returncode == 0

    mark, _ = program(tmp_path)
    kept.write_text((tmp_path / "inputs" / "p.py").read_text())
    stat = kept.stat()
    compiled = Path(py_compile.compile(str(kept), doraise=True))
    kept.write_text("def decide(seen):\n    return []\n".ljust(stat.st_size - 1) + "\n")
    assert kept.stat().st_size == stat.st_size
    data = bytearray(compiled.read_bytes())
    data[8:12] = int(kept.stat().st_mtime).to_bytes(4, "little")
    compiled.write_bytes(data)  # as if it were of the text that is there now
    assert sys.implementation.cache_tag in compiled.name
    apportion_here("jobs", "run", tmp_path / "jobs.swf", "--policy", kept)
    assert not mark.exists()


def test_an_input_without_a_hash_is_refused(tmp_path):
    program(tmp_path)
    write(tmp_path, "jobs run", {"own": "inputs/p.py"}, {"own": "inputs/p.py"}, hashes={})
    assert "inputs/p.py: " in refused(tmp_path)


def test_a_result_that_is_a_link_out_of_the_folder_is_not_read(tmp_path):
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    folder = tmp_path / "results"
    (folder / "inputs").mkdir(parents=True)
    write(folder, "simulate", {}, {})
    (folder / "runs.csv").symlink_to(tmp_path / "secret.csv")
    assert "runs.csv: this lies outside the results folder" in refused(folder)


def test_what_is_learnt_in_a_rerun_does_not_count_elsewhere(tmp_path, monkeypatch):
    state = tmp_path / "state"
    monkeypatch.setenv("APPORTION_STATE", str(state))
    calibration.keep_calibration({"kernel": "before"}, [1.0], [1.0])
    before = calibration.state_file().read_bytes()
    (tmp_path / "inputs").mkdir()
    write(tmp_path, "quickstart", {}, {})
    seen = []

    def run(_words):
        seen.append(calibration.state_file().read_bytes())
        calibration.keep_calibration({"kernel": "during"}, [1.0], [1.0])
        seen.append(calibration.state_file().read_bytes())
        return 2

    with pytest.raises(ScenarioError, match="exit code 2"):
        rerun(tmp_path, run=run, root=root(), output=None, consent=())
    assert seen[0] == before != seen[1]
    assert calibration.state_file().read_bytes() == before
