"""What shells are told when they ask how a line goes on; and that it stays light."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.advise.partition.methods import METHODS
from advisor.cli.commands import root
from simulator import shipped

ROOT = Path(__file__).parents[3]
CASES = {
    "sim": ["simulate"],
    "simulate --repl": ["--replications", "--replication"],
    "simulate --engine ": ["auto", "process", "compiled"],
    "simulate th": ["three-pes"],
    "simulate tw": [],  # a file here begins so, and shells complete files themselves
    "simulate two-c": ["two-cores"],
    "simulate spac": [],
    "check scenarios/tutorial/two": ["scenarios/tutorial/two-cores.yaml"],
    "show on-": ["on-off-1-2.csv"],
    "advise spee": ["speeds.json"],
    "advise --method ": list(METHODS),
}


def complete(line, monkeypatch, capsys, *, shell="bash"):
    """What the command line answers a shell, in this process."""
    words = ["apportion", *line.split(" ")]
    monkeypatch.setenv("_APPORTION_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", " ".join(words))
    with pytest.raises(SystemExit):
        root()(words[1:], prog_name="apportion", standalone_mode=False)
    return capsys.readouterr().out.split()


@pytest.mark.parametrize("case", CASES)
def test_bash_is_offered(monkeypatch, capsys, tmp_path, case):
    for name in ("twice.yaml", "spaced name.yaml", "other.csv"):
        (tmp_path / name).touch()
    (tmp_path / "two-folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert complete(case, monkeypatch, capsys) == CASES[case]


def test_names_of_scenarios_are_offered(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = [scenario.name for scenario in shipped.scenarios()]
    for command in ("simulate", "advise", "check", "whatif", "verify"):
        assert complete(f"{command} ", monkeypatch, capsys) == names


def test_files_come_before_what_ships(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert complete("simulate thr", monkeypatch, capsys) == ["three-pes"]
    (tmp_path / "three.yaml").touch()
    assert complete("simulate thr", monkeypatch, capsys) == []
    assert complete("simulate /no/such/fold", monkeypatch, capsys) == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_answered(monkeypatch, capsys, shell):
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert "three-pes" in " ".join(complete("simulate thr", monkeypatch, capsys, shell=shell))


def test_completing_and_helping_imports_nothing_heavy(tmp_path):
    heavy = [
        "dask",
        "matplotlib",
        "numba",
        "numpy",
        "pandas",
        "scipy",
        "simpy",
        "yaml",
        *(f"advisor.cli.{name}" for name in ("advise", "jobs", "fit")),
    ]  # typer itself looks for pydantic
    code = f"""
import os, sys
from advisor.cli import _run
try:
    _run(["--help"])
    os.environ.update(_APPORTION_COMPLETE="complete_bash", COMP_WORDS="apportion\\nsimulate\\nthr", COMP_CWORD="2")
    _run(["simulate", "thr"])
except SystemExit:
    pass
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
    assert "--install-completion" in done.stdout
    assert done.stdout.split()[-1] == "three-pes"
