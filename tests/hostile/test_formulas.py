"""Names that a spreadsheet would take for formulas: no CSV file of ours says them so, and our readers get them back."""

import csv
import json

import pytest

from simulator import load_results
from tests.support.command_line import apportion_here

NAMES = ("=1+1", "@sum", "-x", "+y")
SCENARIO = {
    "format": 1,
    "platform": {
        "nodes": [{"name": name, "pes": [{"speeds": {"k": "1 Gflop/s"}}]} for name in NAMES],
        "link": {"latency": "10us", "bandwidth": "1Gbit/s"},
    },
    "application": {"name": "matmul", "kernel": "k", "parameters": {"n": 60}},
    "configurations": {name: {"partition": "equal"} for name in NAMES},
    "replications": 2,
}
HISTORY = ["--app", "=1+1", "--machine", "@sum", "--version", "-x", "--param", "+N=4", "--time", "total=3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that commands write of such names as CSV."""
    folder = tmp_path_factory.mktemp("formulas")
    (folder / "names.json").write_text(json.dumps(SCENARIO))
    speeds = [{"name": name, "sizes": [1, 100], "speeds": [5, 4]} for name in NAMES]
    (folder / "speeds.json").write_text(json.dumps(speeds))
    for words in (
        ["simulate", "names.json", "-o", "runs", "--timeline", "timeline.csv", "--jobs", "jobs.csv"],
        ["partition", "--speeds", "speeds.json", "--units", "10", "-o", "partition.csv"],
        ["history", "add", *HISTORY, "--history", "h.sqlite"],
        ["history", "export", "--history", "h.sqlite", "-o", "history.csv"],
        ["trace", "generate", "constant", "--set", "load=1", "--duration", "5s", "-o", "a,=1+1.csv"],
        ["trace", "import", "a,=1+1.csv", "--from", "csv", "--measures", "load", "-o", "trace.csv"],
    ):
        done = apportion_here(*words, cwd=folder)
        assert not done.returncode, (words, done.stderr)
    return folder


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_no_cell_is_a_formula(folder):
    said = set()
    written = sorted(folder.rglob("*.csv"))
    assert len(written) >= 6
    for path in written:
        with path.open(newline="") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert [cell for cell in cells if cell[:1] in tuple("=+-@\t\r") and not is_number(cell)] == [], path
        said |= {(path.name, cell) for cell in cells if cell in {f"'{name}" for name in NAMES}}
    named = {name for name, _ in said}
    assert named == {"runs.csv", "timeline.csv", "jobs.csv", "partition.csv", "history.csv", "processes.csv"}


def test_our_readers_give_the_names_back(folder):
    frame = load_results(folder / "runs").to_dataframe()
    assert set(frame["configuration"]) == set(NAMES)
    done = apportion_here("history", "import", "history.csv", "--history", "again.sqlite", cwd=folder)
    assert not done.returncode, done.stderr
    listed = [
        json.loads(apportion_here("history", "list", "--json", "--history", name, cwd=folder).stdout)["runs"]
        for name in ("h.sqlite", "again.sqlite")
    ]
    assert listed[0] == listed[1]
    assert listed[0][0]["application"] == "=1+1"
