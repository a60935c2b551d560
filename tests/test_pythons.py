"""Pythons that README, pyproject.toml and the Makefile name, and that `make pythons` takes; files that tasks name."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec

import pytest

from tests.core_types import TESTS
from tests.support.command_line import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_all_files_name_the_same_pythons():
    named = [entry.rpartition(" ")[2] for entry in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", entry)]
    *first, last = named
    assert f"Linux and Python {', '.join(first)} or {last} (" in (ROOT / "README.md").read_text(encoding="utf-8")
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert oldest == named[0]
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"sys.version_info < ({oldest.replace('.', ', ')})" in made
    assert f"{oldest} or newer needed" in made
    assert f"--python-version {oldest} " in made
    assert f"found >= ({oldest.replace('.', ', ')})" in (ROOT / ".ci" / "pythons").read_text(encoding="utf-8")


def test_files_that_the_makefile_and_other_core_types_name_exist():
    """As arguments of pytest, modules of `python -m`, and files that targets read."""
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"\btests/[\w./]*\w", made)
    named += [f"{module.replace('.', '/')}.py" for module in re.findall(r"-m (tests[\w.]+)", made)]
    assert {"tests/test_readme.py", "tests/test_wheel.py", "tests/core_types.py"} <= set(named)
    assert [name for name in (*named, *TESTS) if not (ROOT / name).exists()] == []


@pytest.mark.skipif(find_spec("ensurepip") is None, reason="this Python makes no virtual environments")
def test_interpreters_that_do_not_answer_are_left_out(tmp_path):
    """One of pyenv that answers, a shim of PATH that does not, and the same Python on PATH once more."""
    name = f"python3.{sys.version_info.minor}"
    for folder, answers in (("root/versions/some/bin", True), ("shims", False), ("path", True)):
        (tmp_path / folder).mkdir(parents=True)
        text = f'exec {sys._base_executable} "$@"' if answers else "exit 127"
        (tmp_path / folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / folder / name).chmod(0o755)
    path = os.pathsep.join((str(tmp_path / "shims"), str(tmp_path / "path")))
    words = ["/bin/bash", "-c", f'PATH="{path}:/usr/bin:/bin"; hash -r; exec "$0"', str(ROOT / ".ci" / "pythons")]
    environment = os.environ | {"PYENV_ROOT": str(tmp_path / "root")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    found = done.stdout.split()
    assert len(found) == len({re.search(r"3\.\d+", one)[0] for one in found}) >= 1
    assert os.path.realpath(sys._base_executable) in map(os.path.realpath, found)
