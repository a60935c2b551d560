"""Every command and example of the README is executed and prints what the README says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import without_progress

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TEXT = README.read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)


def commands():
    for language, block in BLOCKS:
        if language == "console":
            for part in block.split("$ ")[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def test_there_is_something_to_check():
    assert [command for command, _ in commands()][:2] == ["make demo", "make test"]
    assert [language for language, _ in BLOCKS].count("python") == 1


@pytest.mark.parametrize(("command", "output"), [(c, o) for c, o in commands() if c.startswith("apportion ")])
def test_commands_print_what_is_shown(corpus, command, output):
    arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "advisor.cli", *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode, without_progress(done.stderr)) == (0, [])
    corpus.text(README, output, done.stdout)


def test_the_python_example_prints_what_is_shown(corpus):
    code = next(block for language, block in BLOCKS if language == "python")
    output = next(block for language, block in BLOCKS if language == "text")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    corpus.text(README, output, done.stdout)


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
