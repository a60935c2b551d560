"""What README.md promises: every command and example of it, and of the page of all commands, prints what is shown."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import shown
from tests.support.command_line import ROOT, apportion, apportion_here
from tests.support.processes import without_progress
from tests.support.sweep_points import thread

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
LINES = TEXT.splitlines()
PAGES = {name: ROOT / name for name in ("README.md", "scenarios/tutorial/commands.md")}
SHOWN = [
    pytest.param(name, told, marks=[pytest.mark.slow] if told[0][0][0] == "whatif" else [], id=" ".join(told[0][0][:2]))
    for name, path in PAGES.items()
    for language, block in shown.blocks(path.read_text(encoding="utf-8"))
    if language == "console" and (told := list(shown.commands(f"```console\n{block}```")))
]
"""Page and commands of each block; a what-if takes a quarter of a minute."""
LEAST_BYTES, MOST_BYTES = 5_000, 7_000
FIRST_LETTERS, FIRST_LINES = 600, 25
PYTHON_LINES = 8


def test_it_is_two_screens_and_says_first_what_for_and_for_whom():
    assert LEAST_BYTES <= len(TEXT.encode()) <= MOST_BYTES
    start = TEXT[:FIRST_LETTERS]
    assert "Who should get how much of the work on unequal machines, and how sure are we?" in start
    assert "For engineers and researchers" in start
    assert "PE: a core or a GPU" in start


def test_the_first_command_and_its_result_are_in_the_first_lines():
    words, output = next(shown.lines_shown(shown.first(TEXT, "console")))
    assert words == ["make", "demo"]
    assert set(output.splitlines()) <= set(LINES[:FIRST_LINES])
    assert output.startswith("Give ")


def test_there_is_something_to_check():
    assert len([case for case in SHOWN if case.values[0] == "README.md"]) == 2
    assert len(SHOWN) >= 4
    lines = shown.first(TEXT, "python").splitlines()
    assert 0 < len([line for line in lines if line]) <= PYTHON_LINES
    rows = [line for line in LINES if line.startswith("|") and "`apportion " in line]
    assert len(rows) == 8


@pytest.mark.parametrize(("name", "commands"), SHOWN)
def test_commands_print_what_is_shown(corpus, monkeypatch, name, commands):
    monkeypatch.setattr("advisor.cli.whatif._where", lambda *_: thread)  # a worker takes seconds to start
    for arguments, output in commands:
        here = arguments[0] != "simulate"  # whose engine depends on what this process has compiled
        done = (apportion_here if here else apportion)(*arguments)
        told = [line for line in without_progress(done.stderr) if not is_aside(line)]
        assert (done.returncode, told) == (0, [])
        corpus.text(PAGES[name], output, shown.cut(done.stdout, output))


def is_aside(line):
    """Where a shipped file was taken from, what a field that was set rests on, what is compiled at first use."""
    begins = ("warning: platform.link.bandwidth: set to", "compiling the simulator, ")
    return "is the one that ships with apportion" in line or line.startswith(begins)


def test_the_python_example_prints_what_is_shown(corpus, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    exec(compile(shown.first(TEXT, "python"), README, "exec"), {})  # noqa: S102 - our own page
    told = capsys.readouterr()
    assert told.err == ""
    corpus.text(README, next(block for block in texts() if block.startswith("two-to-one")), told.out)


def test_three_lines_read_what_a_process_gets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out/cluster").mkdir(parents=True)
    (tmp_path / "out/cluster/partition.csv").write_text("rank,host,pe,first,units\n0,a,x,0,3\n1,b,y,3,2\n")
    known = {"Path": Path, "matrix": [0, 1, 2, 3, 4], "rank": 1}
    exec(compile(shown.first(TEXT, "py"), README, "exec"), known)  # noqa: S102 - our own page
    assert known["mine"] == [3, 4]


def texts():
    return [block for language, block in shown.blocks(TEXT) if language == "text"]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_targets_of_make_are_there(target):
    """`make test` is what runs this; `make demo` runs for real in `make verify`."""
    assert f"make {target}" in TEXT
    done = subprocess.run(["make", "-n", target], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert {"demo": "apportion quickstart", "test": "pytest"}[target] in done.stdout


@pytest.mark.real
def test_make_demo_from_a_fresh_clone(tmp_path):
    """A stranger's first two minutes: clone, one command, the table and the path of the report.

    What others made is installed already, as `make test` on a fresh clone shows that it can be.
    """
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    if (ROOT / ".venv/.locked").exists():
        shutil.copytree(ROOT / ".venv", clone / ".venv", symlinks=True, copy_function=os.link)
        (clone / ".venv/.ok").unlink(missing_ok=True)
    alone = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL"}}
    done = subprocess.run(["make", "demo"], capture_output=True, text=True, check=False, cwd=clone, env=alone)
    assert done.returncode == 0, done.stderr
    _, output = next(shown.lines_shown(shown.first(TEXT, "console")))
    sentence = shown.form(output.partition(" (measured")[0])
    assert shown.form(done.stdout.replace(f"{platform.node()}-core", "vm-core"))[: len(sentence)] == sentence
    (path,) = re.findall(r"^Report +(\S+)$", done.stdout, re.MULTILINE)
    assert (clone / path).is_file(), "named from where one stands"
