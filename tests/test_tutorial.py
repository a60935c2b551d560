"""The tutorials' commands are executed, in order, with the files that they show."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from simulator import files
from simulator.base.machine import this_machine

ROOT = Path(__file__).parent.parent
TUTORIAL = ROOT / "scenarios" / "tutorial"
SHOWN = {"csv": "targets.csv", "yaml": "scenario.yaml", "json": "link.json"}


def blocks(name):
    """Language and text of each block of a tutorial."""
    text = (TUTORIAL / name).read_text()
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


def follow(name, folder):
    """Write the files that a tutorial shows, run its commands; each command's output, and what it shows of it."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for language, block in blocks(name):
        if language in SHOWN:
            (folder / SHOWN[language]).write_text(block)
        if language != "console":
            continue
        for part in block.split("$ ")[1:]:
            line, _, shown = part.partition("\n")
            program, *arguments = shlex.split(line)
            assert program == "apportion"
            command = [sys.executable, "-m", "advisor.cli", *arguments]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, (line, done.stderr)
            yield done.stdout, shown


@pytest.mark.skipif(this_machine().pe_count < 2, reason="the tutorial runs two processes on two PEs")
@pytest.mark.slow
def test_the_way_from_runs_to_an_advice(tmp_path):
    told = [output for output, _ in follow("history.md", tmp_path)]
    assert len(told) == 7
    assert told[0] == "30 runs added to runs.sqlite\n"
    assert told[2].startswith("N = 1000, P = 2: ")
    assert told[4].count("communication") == 3
    advice = files.read_json(tmp_path / "advice.json")
    assert sorted(advice["partition"]) != [500, 500]
    assert set(advice["provenance"]["inputs"]) == {"scenario.yaml", "model.json"}


@pytest.mark.slow
def test_the_way_from_sizes_to_a_speed_band(corpus, tmp_path):
    for name in ("scenarios", "traces"):
        (tmp_path / name).symlink_to(ROOT / name)
    told = list(follow("speed-bands.md", tmp_path))
    assert len(told) == 5
    assert "case b: it meets the right cut" in told[0][0]
    quoted = next(block for language, block in blocks("speed-bands.md") if language == "text")
    corpus.text(
        TUTORIAL / "speed-bands.md", quoted, "".join(told[1][0].splitlines(keepends=True)[-quoted.count("\n") :])
    )
    assert (tmp_path / "dgemm.svg").stat().st_size > 1000
    assert told[2][0] == told[2][1] != ""
    bands = [files.read_json(tmp_path / name)["model"] for name in ("dgemm.json", "loaded.json")]
    idle, loaded = (min(low / high for low, high in zip(band["low"], band["high"], strict=True)) for band in bands)
    assert loaded < 0.55 < idle
    assert len(json.loads(told[4][0])["predictions"]) == 3
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.slow
def test_a_graph_under_two_templates_on_two_resource_models(corpus, tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    told = list(follow("characterisation.md", tmp_path))
    assert len(told) == 9
    assert told[0][0] == told[0][1]
    for output, shown in told[1:]:
        assert shown.count("\n") == 2
        corpus.text(TUTORIAL / "characterisation.md", shown, "".join(output.splitlines(keepends=True)[:2]))


@pytest.mark.slow
def test_an_advice_explained(corpus, tmp_path):
    for name in ("scenarios", "traces"):
        (tmp_path / name).symlink_to(ROOT / name)
    ((told, _),) = follow("explained.md", tmp_path)
    quoted = next(block for language, block in blocks("explained.md") if language == "text")
    corpus.text(TUTORIAL / "explained.md", quoted, "".join(told.splitlines(keepends=True)[-quoted.count("\n") :]))


@pytest.mark.slow
def test_the_way_from_nodes_to_a_cluster(corpus, tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    told = list(follow("from-nodes.md", tmp_path))
    assert len(told) == 4
    for output, shown in told:
        if shown:
            corpus.text(TUTORIAL / "from-nodes.md", shown, output)


def alike(told, shown):
    """The same words, and numbers within 5 %: the last digits are those of a machine's linear algebra."""
    number = re.compile(r"-?\d+(?:\.\d+)?")
    assert [number.sub("#", line).split() for line in told.splitlines()] == [
        number.sub("#", line).split() for line in shown.splitlines()
    ]
    pairs = zip(number.findall(told), number.findall(shown), strict=True)
    return all(abs(float(a) - float(b)) <= max(0.05 * abs(float(b)), 1.5) for a, b in pairs)


@pytest.mark.slow
def test_the_way_from_runs_to_processes_per_pe(tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    told = list(follow("allocation.md", tmp_path))
    assert len(told) == 3
    assert all(alike(output, shown) for output, shown in told)
    assert (tmp_path / "hosts").read_text().splitlines()[1:] == ["athlon:3", *(f"p2-{n}:1" for n in range(1, 9))]
