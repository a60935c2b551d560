"""What README.md promises: every command and example of it, and of the page of all commands, prints what is shown."""

import os
import platform
import shutil
import subprocess

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
    (name, *command) for name, path in PAGES.items() for command in shown.commands(path.read_text(encoding="utf-8"))
]
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
    assert len([name for name, *_ in SHOWN if name == "README.md"]) == 2
    assert len(SHOWN) >= 9
    lines = shown.first(TEXT, "python").splitlines()
    assert 0 < len([line for line in lines if line]) <= PYTHON_LINES
    rows = [line for line in LINES if line.startswith("|") and "`apportion " in line]
    assert len(rows) == 8


@pytest.mark.parametrize(("name", "arguments", "output"), SHOWN)
def test_commands_print_what_is_shown(corpus, monkeypatch, name, arguments, output):
    monkeypatch.setattr("advisor.cli.whatif._where", lambda *_: thread)  # a worker takes seconds to start
    here = arguments[0] != "simulate"  # whose engine depends on what this process has compiled
    done = (apportion_here if here else apportion)(*arguments)
    told = [line for line in without_progress(done.stderr) if not is_aside(line)]
    assert (done.returncode, told) == (0, [])
    corpus.text(PAGES[name], output, shown.cut(done.stdout, output))


def is_aside(line):
    """Where a shipped file was taken from, what a field that was set rests on, what is compiled at first use."""
    begins = ("warning: platform.link.bandwidth: set to", "compiling the simulator's kernel ")
    return "is the one that ships with apportion" in line or line.startswith(begins)


def test_the_python_example_prints_what_is_shown(corpus, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    exec(compile(shown.first(TEXT, "python"), README, "exec"), {})  # noqa: S102 - our own page
    told = capsys.readouterr()
    assert told.err == ""
    corpus.text(README, next(block for block in texts() if block.startswith("two-to-one")), told.out)


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
    assert str(clone / "out/quickstart/report.html") in done.stdout
