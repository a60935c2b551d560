"""Bad scenarios, graphs, changes, streams, speeds, plans and runs: each says in a file what must be answered."""

import csv
import os
import shlex
from pathlib import Path

import pytest

from advisor.cli import _run
from simulator import ScenarioError, read_stream
from tests.support.corpus import BESIDE, cases, marked, parts

FOLDER = Path(__file__).parent / "bad_inputs"
SCENARIOS, SEGS, CHANGES, STREAMS = (cases(FOLDER / name) for name in ("scenarios", "segs", "changes", "streams"))
PARTITIONS, ALLOCATIONS = (cases(FOLDER / name) for name in ("partition", "allocation"))
PLANS, RUNS = (cases(FOLDER / name) for name in ("allocate_plan", "allocate_run"))
NODES = cases(FOLDER / "nodes")
LEAST = ((SCENARIOS, 172), (SEGS, 18), (CHANGES, 15), (STREAMS, 75), (PARTITIONS, 33), (ALLOCATIONS, 80), (PLANS, 20),
         (RUNS, 20), (NODES, 14))  # fmt: skip
PLATFORM = (FOLDER / "allocate_plan" / "platform.yaml").read_text()


def test_there_are_cases():
    assert all(len(found) >= least for found, least in LEAST)
    assert all(marked(path, "set") for path in CHANGES)
    beside = {f"{path.name}{BESIDE}" for path in STREAMS}
    assert beside == {path.name for path in (FOLDER / "streams").glob(f"*{BESIDE}")}


@pytest.mark.parametrize("path", [*SCENARIOS, *SEGS], ids=lambda path: path.stem)
def test_a_bad_file_gets_its_lines(refused, path):
    refused(path, ["check", path], FILE=path, FOLDER=path.parent)


def test_bad_scenarios_are_not_resolved(refused):
    for path in SCENARIOS[::30]:
        refused(path, ["check", "--resolved", path], FILE=path, FOLDER=path.parent)


@pytest.mark.parametrize("path", CHANGES, ids=lambda path: path.stem)
def test_a_bad_change_gets_its_lines(apportion, refused, path):
    """Lines `# set:` are what is given."""
    given = [part for text in marked(path, "set") for part in ("--set", text)]
    for command in ("check", "simulate") if path in CHANGES[::6] else ("check",):
        refused(path, [command, path, *given], FILE=path)
    assert apportion("check", path)[0] == 0  # the file itself is right


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_a_bad_stream_gets_its_lines(corpus, path):
    """Read as the file beside it says (`clean:`, `procs:`)."""
    (cleaning,), (procs,) = marked(path, "clean") or ["strong"], marked(path, "procs") or [None]
    with pytest.raises(ScenarioError) as told:
        read_stream(path, cleaning=cleaning, machine_processors=None if procs is None else int(procs))
    corpus.compare(path, [f"error: {line}" for line in told.value.lines], {"FILE": path})
    assert 1 <= len(told.value.lines) <= 20
    assert all("found," not in line for line in told.value.lines if path.suffix == ".swf")


@pytest.mark.parametrize("path", NODES, ids=lambda path: path.name)
def test_bad_nodes_get_their_lines(refused, tmp_path, path):
    """Read as what the jobs of a log run on."""
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 8\n1 0 0 60 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n")
    refused(path, ["jobs", "run", log, "--platform", path], FILE=path, FOLDER=path.parent)


def test_what_is_no_file_is_one_line(apportion, tmp_path):
    for path, line in ((tmp_path / "none.swf", "no such file or directory"), (tmp_path, "is a directory")):
        with pytest.raises(ScenarioError) as told:
            read_stream(path)
        assert list(told.value.lines) == [f"{path}: {line}"]
    path = tmp_path / "none.seg.yaml"
    assert apportion("check", path) == (2, "", f"error: {path}: no such file or directory\n")


@pytest.mark.parametrize("path", PARTITIONS, ids=lambda path: path.stem)
def test_a_bad_partition_gets_its_lines(refused, tmp_path, path):
    """The body is the speeds file."""
    options, body = parts(path)
    speeds = tmp_path / "speeds.json"
    speeds.write_text(body)
    refused(path, ["advise", speeds, *options.split(), "--json"], FILE=speeds, FOLDER=tmp_path)


def test_a_speeds_file_that_is_not_there(apportion):
    code, _, err = apportion("advise", "no-such.json", "--units", "5")
    assert (code, err) == (2, "error: no-such.json: no such file or directory\n")


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_bad_plan_gets_its_lines(refused, tmp_path, path):
    """The body is the platform; without one it is the good one."""
    options, body = parts(path)
    file = tmp_path / "cluster.yaml"
    file.write_text(body or PLATFORM)
    refused(path, ["fit", "--plan", file, *shlex.split(options), "--json"], FILE=file)


@pytest.fixture(scope="module")
def good_plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    (folder / "cluster.yaml").write_text(PLATFORM)
    plan = folder / "plan.json"
    arguments = ["--sizes", "100,200,300", "--budget", "60s", "-o", str(plan)]
    assert _run(["fit", "--plan", str(folder / "cluster.yaml"), *arguments]) == 0
    return plan.read_text()


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_bad_run_gets_its_lines(refused, tmp_path, path, good_plan, monkeypatch):
    """The body is one change of the plan's text, `before => after`, the plan itself, or, after `RUNS`, a table."""
    options, body = parts(path)
    plan, runs, work = tmp_path / "plan.json", tmp_path / "runs.csv", tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "input.txt").write_text("N is {N}")
    if body.startswith("RUNS\n"):
        runs.write_text(body.removeprefix("RUNS\n"))
    before, is_change, after = body.removesuffix("\n").partition(" => ")
    if is_change:
        assert before in good_plan
    plan.write_text(
        good_plan.replace(before, after, 1) if is_change else body if body and not runs.exists() else good_plan
    )
    cpus = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
    arguments = ["fit", "--run", plan, *shlex.split(options), "-o", runs, "--json"]
    refused(path, arguments, PLAN=plan, RUNS=runs, CPUS=cpus)


@pytest.fixture(scope="session")
def allocation_model(tmp_path_factory):
    """A model of two kinds, fitted to times of a formula."""
    folder = tmp_path_factory.mktemp("allocation")
    with (folder / "runs.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(("N", "time_s", "fast.pes", "fast.procs", "slow.pes", "slow.procs"))
        for size in (400, 800, 1200, 1600):
            for pes in (1, 2, 4, 8):
                rows.writerow((size, 1e-9 * size**3 / pes + 1e-8 * size**2 * pes, 0, 0, pes, 1))
            for each in (1, 2):
                rows.writerow((size, 3e-10 * size**3 * each, 1, each, 0, 0))
    assert _run(["fit", str(folder / "runs.csv"), "-o", str(folder / "m.json")]) == 0
    return folder / "m.json"


@pytest.mark.parametrize("path", ALLOCATIONS, ids=lambda path: path.stem)
def test_a_bad_allocation_gets_its_lines(refused, tmp_path, allocation_model, path):
    """The body is the file; FILE, MODEL and FOLDER stand for paths in the options too."""
    options, body = parts(path)
    names = {"FILE": tmp_path / "given", "MODEL": allocation_model, "FOLDER": tmp_path}
    names["FILE"].write_text(body)
    for name, place in names.items():
        options = options.replace(name, str(place))
    refused(path, [*options.split(), "--json"], **names)
    assert not (tmp_path / "hosts").exists()
