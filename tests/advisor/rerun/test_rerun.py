"""Results run again from what their folder keeps, elsewhere, and manifests from anybody."""

import json
import shutil
import subprocess

import pytest

from advisor.rerun import kept
from advisor.rerun.compared import Figure, differing_files, measured_figures
from advisor.rerun.kept import Record, read_record
from simulator import ScenarioError, files
from tests.core_types import environment as environ
from tests.core_types import why_not
from tests.support.command_line import APPORTION, ROOT, apportion_here
from tests.support.report_sample import verified_document

COMMANDS = {
    "simulate": "simulate {f}/own.yaml --replications 4 --set platform.link.latency=x2 -o {f}/out",
    "whatif": "whatif {f}/own.yaml --as-is --vary platform.link.latency=x1,x2 --replications 3 --workers 1 -o {f}/out",
    "advise": "advise {f}/own.yaml --replications 4 --runs 40 -o {f}/out",
    "jobs run": "jobs run few.swf -o {f}/out",
}
SCENARIO = """\
format: 1
extends: base/base.yaml
seed: 5
"""
BASE = """\
format: 1
platform:
  nodes:
    - name: one
      pes: [{name: a, speeds: {dgemm: 3 Gflop/s}}]
    - name: two
      pes: [{name: b, speeds: {dgemm: 1 Gflop/s}, load: {rule: fair, trace: ../load.csv, start: drawn}}]
  link: {latency: 50us, bandwidth: 1GB/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 400}}
configurations: {equal: {partition: equal}}
replications: 4
"""


JOBS = """\
; MaxProcs: 4
1 0 -1 60 2 -1 -1 2 90 -1 1 1 -1 -1 1 -1 -1 -1
2 5 -1 30 4 -1 -1 4 40 -1 1 1 -1 -1 1 -1 -1 -1
3 9 -1 20 1 -1 -1 1 30 -1 1 2 -1 -1 1 -1 -1 -1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A scenario that extends another one, which names a trace."""
    here = tmp_path_factory.mktemp("rerun")
    (here / "base").mkdir()
    (here / "own.yaml").write_text(SCENARIO)
    (here / "few.swf").write_text(JOBS)
    (here / "base" / "base.yaml").write_text(BASE)
    (here / "load.csv").write_text("time_s,load\n0,0\n0.01,1\n0.02,0.5\n0.03,0\n")
    return here


@pytest.fixture(scope="module")
def made(folder):
    """A results folder of a simulation, whose scenario is gone."""
    done = apportion_here(*COMMANDS["simulate"].format(f=folder).split())
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.fixture
def moved(made, tmp_path):
    return shutil.copytree(made, tmp_path / "moved")


@pytest.mark.parametrize(
    ("name", "before", "after", "counts"),
    [
        ("a.json", '{"x": 0.1}', '{"x": 0.10000000000000002}', [False]),
        ("a.json", '{"x": 0.1}', '{"x": 0.100001}', [True]),
        ("a.json", '{"n": 5, "k": 0.5}', '{"n": 6, "k": 0.5000000000000001}', [True, False]),
        ("a.json", '{"x": 0.0}', '{"x": 1e-300}', [True]),
        ("a.json", '{"said": "takes 1.25 s"}', '{"said": "takes 1.2500000000001 s"}', [False]),
        ("a.json", '{"yes": true}', '{"yes": false}', [True]),
        ("a.csv", "x,y\n1.5,a\n", "x,y\n1.5000000000000002,a\n", [False]),
        ("a.csv", "x,y\n1.5,a\n", "x,y\n1.5,b\n", [True]),
        ("a.svg", '<path d="M1.5 2.5"/>', '<path d="M1.5000000000000002 2.5"/>', [False]),
        ("a.svg", '<path d="M1.5 2.5"/>', '<path d="M1.5 2.6"/>', [True]),
        ("a.yaml", "units: [5, 6]\n", "units: [6, 5]\n", [True]),
        ("a.json", '{"by": [{"screened_by": "process"}]}', '{"by": [{"screened_by": "compiled"}]}', []),
    ],
)
def test_the_last_digits_of_numbers_are_no_difference(tmp_path, name, before, after, counts):
    for folder, text in (("old", before), ("new", after)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    record = Record(tmp_path / "old", tmp_path / "old" / "manifest.json", "simulate", {}, "old", {}, {}, (), {}, {})
    _, found = differing_files(record, tmp_path / "new")
    assert [one.counts for one in found] == counts


def test_a_model_or_a_plan_is_not_read_as_a_scenario_too(tmp_path, monkeypatch):
    """Megabytes of it took seconds."""
    monkeypatch.setattr(kept.simulator, "read_template", None)
    path = tmp_path / "m.json"
    path.write_text('{\n "format": 2,\n "kind": "speed"\n}')
    assert kept.named_by(path, {}) == {}


@pytest.mark.slow
@pytest.mark.parametrize("core", ["Nehalem", "Prescott"])
def test_another_processor_comes_to_equal_results(tmp_path, core):
    """Speeds by the memory model, and where doubt comes from, are sums and linear algebra."""
    if reason := why_not(core):
        pytest.skip(reason)
    made = apportion_here("advise", "memory", "--explain", "--replications", 60, "-o", tmp_path / "d")
    assert made.returncode == 0, made.stderr
    command = [*APPORTION, "rerun", tmp_path / "d"]
    environment = environ(core) | {"PYTHONPATH": str(ROOT)}
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout
    assert again.stdout.startswith("advise: equal where simulated, ")


def test_what_differs_in_the_last_digits_is_said(moved):
    """As if another processor had made it."""
    text = (moved / "runs.csv").read_text()
    number = text.splitlines()[1].rpartition(",")[2]
    (moved / "runs.csv").write_text(text.replace(number, repr(float(number) * (1 + 1e-12)), 1))
    done = rerun(moved)
    assert done.returncode == 0, done.stdout
    said = " ".join(done.stdout.split())
    assert "equal where simulated, to 1e-09 of each number (1 end in other digits, as on another processor)" in said


def rerun(*arguments):
    return apportion_here("rerun", *arguments)


def change(results, **entries):
    path = results / "manifest.json"
    document = json.loads(path.read_text())
    document["rerun"] |= entries
    path.write_text(json.dumps(document))


def test_a_folder_is_run_again_elsewhere_bit_for_bit(moved):
    done = rerun(moved)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("simulate: equal where simulated, bit for bit: ")
    assert "runs.csv" in done.stdout
    kept = {path.relative_to(moved).as_posix() for path in (moved / "inputs").rglob("*") if path.is_file()}
    assert kept == {f"inputs/scenario/{name}" for name in ("own.yaml", "base/base.yaml", "load.csv")}


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("whatif", "advise")), "jobs run"]
)
def test_other_simulating_commands_too(folder, tmp_path, name):
    words = COMMANDS[name].format(f=folder).replace(f"-o {folder}/out", f"-o {tmp_path}/out").split()
    done = apportion_here(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    again = rerun(tmp_path / "out" / "manifest.json", "--json")
    document = json.loads(again.stdout)
    assert (document["reran"], document["equal"], document["differences"]) == (name, True, [])


def test_what_differs_is_named_with_its_ratio(moved):
    path = moved / "runs.csv"
    lines = path.read_text().splitlines()
    *cells, last = lines[1].split(",")
    path.write_text("\n".join([lines[0], ",".join([*cells, str(2 * float(last))]), *lines[2:]]) + "\n")
    done = rerun(moved, "--json")
    assert done.returncode == 1
    (only,) = json.loads(done.stdout)["differences"]
    assert (only["place"], only["ratio"]) == ("runs.csv: row 1, makespan_s", pytest.approx(0.5))


def test_versions_and_machine_that_differ_are_said(moved):
    change(moved, versions={"numpy": "1.0\x1b[2J"}, machine={"host": "elsewhere"})
    done = rerun(moved, "--full")
    assert done.returncode == 0
    assert "version: numpy 1.0 [2J then, " in done.stdout
    assert "machine: host elsewhere then, " in done.stdout


def test_new_results_are_kept_where_asked_and_nowhere_else(moved, tmp_path):
    assert rerun(moved, "-o", tmp_path / "new").returncode == 0
    assert (tmp_path / "new" / "runs.csv").read_bytes() == (moved / "runs.csv").read_bytes()
    assert rerun(moved, "-o", tmp_path / "new").returncode == 2


# Manifests from anybody


def test_an_input_that_was_changed_is_refused(moved):
    (moved / "inputs" / "scenario" / "own.yaml").write_text(SCENARIO.replace("5", "6"))
    done = rerun(moved)
    assert done.returncode == 2
    assert "it is not as it was when these results were made" in done.stderr


def test_nothing_outside_the_folder_is_read(moved, tmp_path):
    (tmp_path / "secret.csv").write_text("time_s,load\n0,1\n1,0\n")
    kept = moved / "inputs" / "scenario" / "base" / "base.yaml"
    kept.write_text(BASE.replace("../load.csv", str(tmp_path / "secret.csv")))
    hashes = json.loads((moved / "manifest.json").read_text())["rerun"]["hashes"]
    change(moved, hashes=hashes | {"inputs/scenario/base/base.yaml": files.digest_of(kept)})
    done = rerun(moved)
    assert done.returncode == 2
    assert "secret.csv: this lies outside the results folder" in done.stderr


def test_a_link_out_of_the_folder_leads_nowhere(moved, tmp_path):
    (tmp_path / "secret.csv").write_text("time_s,load\n0,1\n1,0\n")
    kept = moved / "inputs" / "scenario" / "load.csv"
    kept.unlink()
    kept.symlink_to(tmp_path / "secret.csv")
    done = rerun(moved)
    assert done.returncode == 2
    assert "this lies outside the results folder" in done.stderr


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"command": "history add"}, "is no command that can be rerun"),
        ({"given": {"output": "elsewhere"}, "inputs": {}}, "given.output: output is no manifest's to say"),
        ({"given": {"nonsense": 1}, "inputs": {}}, "has no option 'nonsense'"),
        ({"given": {"scenario": {"a": 1}}, "inputs": {}}, "given.scenario is {'a': 1}; only a text can stand there"),
        ({"given": {"scenario": "x"}}, "given.scenario is 'x', and inputs.scenario is 'inputs/scenario/own.yaml'"),
        ({"given": {"scenario": "/etc/passwd"}, "inputs": {}}, "a file that the folder does not keep"),
        ({"hashes": {}}, "has no hash of it"),
        ({"inputs": {"scenario": "inputs/../../x"}}, "lies outside inputs"),
        ({"missing": ["big.csv: too large"]}, "an input was not kept"),
    ],
)
def test_bad_records_get_one_line_each(moved, entries, said):
    change(moved, **entries)
    done = rerun(moved)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_no_manifest_is_said(tmp_path):
    assert rerun(tmp_path).returncode == 2
    (tmp_path / "manifest.json").write_text('{"format": 1}')
    done = rerun(tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "does not say how its results were made" in done.stderr


def test_measured_figures_hold_within_what_was_stated_or_seen(moved, tmp_path):
    def written(folder, median):
        folder.mkdir(exist_ok=True)
        took = {"measured_median_s": median, "measured_s": [1.0, 1.1], "predicted_range_s": [0.8, 1.05]}
        document = verified_document()
        entries = [document["configurations"][0] | {"name": "equal"} | took]
        files.write_json(folder / "verification.json", document | {"configurations": entries})

    place = {"what": "inputs/scenario/own.yaml"}
    change(moved, command="verify", given=place, inputs=place)
    written(moved, 1.05)
    for number, (median, within) in enumerate(((0.85, True), (1.2, False))):
        written(tmp_path / str(number), median)
        (found,) = measured_figures(read_record(moved), tmp_path / str(number))
        name = "measured median of equal, s"
        assert found == Figure(name, 1.05, median, median / 1.05, 0.8, 1.1, within)


def test_reading_is_confined_while_asked_and_free_again(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("in/a", "b"):
        (tmp_path / name).write_text("x")
    with files.confined(tmp_path / "in"):
        assert files.read_text(tmp_path / "in" / "a") == "x"
        with pytest.raises(ScenarioError, match="outside the results folder"):
            files.read_text(tmp_path / "in" / ".." / "b")
    assert files.read_text(tmp_path / "b") == "x"
