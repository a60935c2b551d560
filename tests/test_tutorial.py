"""The tutorials' commands are executed, in order, with the files that they show."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from simulator import files
from simulator.machine import this_machine

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "scenarios" / "tutorial" / "history.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
SHOWN = {"csv": "targets.csv", "yaml": "scenario.yaml"}


@pytest.mark.skipif(this_machine().pe_count < 2, reason="the tutorial runs two processes on two PEs")
def test_the_way_from_runs_to_an_advice(tmp_path):
    told, environment = [], os.environ | {"PYTHONPATH": str(ROOT)}
    for language, block in BLOCKS:
        if language in SHOWN:
            (tmp_path / SHOWN[language]).write_text(block)
            continue
        for line in block.strip().splitlines():
            program, *arguments = shlex.split(line.removeprefix("$ "))
            assert program == "apportion"
            command = [sys.executable, "-m", "advisor.cli", *arguments]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, (line, done.stderr)
            told.append(done.stdout)
    assert len(told) == 7
    assert told[0] == "30 runs added to runs.sqlite\n"
    assert told[2].startswith("N = 1000, P = 2: ")
    assert told[4].count("communication") == 3
    advice = files.read_json(tmp_path / "advice.json")
    assert sorted(advice["partition"]) != [500, 500]
    assert set(advice["provenance"]["inputs"]) == {"scenario.yaml", "model.json"}
