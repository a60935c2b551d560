"""Every command and example of the README is executed and prints what the README says."""

import subprocess
import sys

import pytest

from tests.support import shown
from tests.support.command_line import ROOT, apportion, apportion_here
from tests.support.processes import without_progress

README = ROOT / "README.md"
TEXT = README.read_text()


def test_there_is_something_to_check():
    assert [words for words, _ in shown.lines_shown(shown.first(TEXT, "console"))] == [
        ["make", "demo"],
        ["make", "test"],
    ]
    assert [language for language, _ in shown.blocks(TEXT)].count("python") == 1


@pytest.mark.parametrize(("arguments", "output"), list(shown.commands(TEXT)))
def test_commands_print_what_is_shown(corpus, arguments, output):
    here = arguments[0] != "simulate"  # whose engine depends on what this process has compiled
    done = (apportion_here if here else apportion)(*arguments)
    assert (done.returncode, without_progress(done.stderr)) == (0, [])
    corpus.text(README, output, done.stdout)


def test_the_python_example_prints_what_is_shown(corpus):
    command = [sys.executable, "-c", shown.first(TEXT, "python")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    corpus.text(README, shown.first(TEXT, "text"), done.stdout)


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_two_commands_are_targets(target):
    """`make test` is what runs this; `make demo` runs for real in the slow tests."""
    done = subprocess.run(["make", "-n", target], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert {"demo": "apportion quickstart", "test": "pytest"}[target] in done.stdout


@pytest.mark.slow
def test_make_demo_from_a_fresh_clone(tmp_path):
    """A stranger's first two minutes: clone, one command, the table and the path of the report."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    done = subprocess.run(["make", "demo"], capture_output=True, text=True, check=False, cwd=clone)
    assert done.returncode == 0, done.stderr
    assert "equal" in done.stdout
    assert str(clone / "out/quickstart/report.html") in done.stdout
