"""`apportion fit` and `advise` of runs as their users meet them, on the tutorial's runs."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from advisor.cli import _run

ROOT = Path(__file__).parents[3]
RUNS = ROOT / "scenarios" / "tutorial" / "allocation-runs.csv"
KINDS = "fast:1:6,slow:8:1"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("allocate") / "model.json"
    assert _run(["fit", str(RUNS), "-o", str(path)]) == 0
    return path


@pytest.fixture
def apportion(capsys):
    def run(*arguments):
        capsys.readouterr()
        assert _run([*map(str, arguments)]) == 0
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    return run


def test_advise_answers_with_the_promised_fields(apportion, model):
    found = json.loads(apportion("advise", model, "--kinds", KINDS, "--size", 6400, "--json"))
    assert found["best"]["slow"] == {"pes": 8, "procs": 1}
    assert found["best"]["fast"]["procs"] in {2, 3, 4}
    assert found["estimate_s"]["low"] < found["estimate_s"]["mean"] < found["estimate_s"]["high"]
    assert found["estimate_s"]["mean"] == pytest.approx(125.3, rel=0.15)  # what the table was drawn from takes so long
    assert len(found["ranking"]) == found["configurations"] == 62
    assert found["ranking"][0]["configuration"] == found["best"]
    means_s = [entry["estimate_s"]["mean"] for entry in found["ranking"][1:]]
    assert all(second >= first * (1 - 1e-9) for first, second in pairwise(means_s))
    assert sum(entry["p_best"] for entry in found["ranking"]) == pytest.approx(1)
    assert set(found["regret"]) == {"expected", "risk", "p_best"}
    assert [one["name"] for one in found["baselines"]] == ["one-per-pe", "fastest-kind", "fastest-pe", "speed-ratio"]
    assert found["command"] == "advise"
    assert any("the largest measured, 1600" in line for line in found["warnings"])
    assert set(found["provenance"]["inputs"]) == {str(model)}


def test_host_files_are_written_and_their_commands_printed(apportion, model, tmp_path):
    path = tmp_path / "hosts"
    told = apportion(
        *["advise", model, "--kinds", "fast:1:1,slow:8:1", "--size", 9600, "--hostfile", path],
        *["--hosts", "fast=big,slow=node[1-8]"],
    )
    assert path.read_text().splitlines()[1:] == ["big:1", *(f"node{number}:1" for number in range(1, 9))]
    for end in (".openmpi", ".rankfile", ".slurm"):
        assert (tmp_path / f"hosts{end}").exists()
    assert f"mpiexec -f {path} -n 9 PROGRAM" in told
    again = ["advise", model, "--kinds", "fast:1:1,slow:8:1", "--size", 9600, "--hostfile", path, "--json"]
    document = json.loads(apportion(*again, "--hosts", "fast=big,slow=node[1-8]"))
    assert document["hostfiles"] == [
        str(path),
        *(f"{path}{end}" for end in (".mpich", ".openmpi", ".rankfile", ".slurm")),
    ]
    assert document["commands"] in told


def test_what_is_advised_is_kept_shown_and_found_again(apportion, tmp_path):
    asked = ("advise", RUNS, "--kinds", "fast:1:4,slow:4:2", "--size", "6400")
    sentence = apportion(*asked, "-o", tmp_path / "out").splitlines()[0]
    document = json.loads((tmp_path / "out" / "advice.json").read_text())
    assert apportion("show", tmp_path / "out").startswith(sentence)
    assert "equal where simulated, bit for bit: 2 files" in apportion("rerun", tmp_path / "out")
    apportion(*asked, "-o", tmp_path / "alone.json")
    assert json.loads((tmp_path / "alone.json").read_text())["ranking"] == document["ranking"]


def test_a_document_with_many_faults_is_refused_in_a_hundred_lines(apportion, capsys, tmp_path):
    apportion("advise", RUNS, "--kinds", KINDS, "--size", "6400", "-o", tmp_path)
    document = json.loads((tmp_path / "advice.json").read_text())
    del document["estimate_s"]
    (tmp_path / "advice.json").write_text(json.dumps(document))
    capsys.readouterr()
    assert _run(["show", str(tmp_path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 101
    assert lines[-1].endswith("more faults like these")
