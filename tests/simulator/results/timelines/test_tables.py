"""Timelines as a table: the log again."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from simulator import load_scenario, run, write_timeline
from simulator.base.errors import ScenarioError
from simulator.programs.program import Compute, Recv, Send
from tests.support.rules import build, simulate

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def done():
    made = load_scenario(ROOT / "scenarios/tutorial/shared-pes.yaml")
    return made, run(made, replications=2, log_replications=1, engine="process")


def test_a_row_per_operation(done, tmp_path):
    made, runs = done
    write_timeline(tmp_path / "t.csv", made, runs=runs)
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    logged = [(runs.configurations[k], entry) for (k, _), log in sorted(runs.logs.items()) for entry in log]
    assert len(rows) == len(logged)
    for row, (configuration, entry) in zip(rows, logged, strict=True):
        assert (row["configuration"], row["kind"], row["pe"]) == (configuration, entry.operation, entry.pe)
        assert (int(row["process"]), int(row["operation"])) == (entry.process, entry.index)
        times = [float(row[name]) for name in ("starting_time", "finish_time", "execution_time")]
        start, end = entry.start_ticks * runs.tick_s, entry.end_ticks * runs.tick_s
        assert times == pytest.approx([start, end, end - start])
    sent = {(row["configuration"], row["process"], row["to"]): row["bytes"] for row in rows if row["kind"] == "send"}
    for row in rows:
        if row["kind"] == "recv":
            assert sent[row["configuration"], row["from"], row["process"]] == row["received_bytes"]
    for name in runs.configurations:
        path = sum(float(row["critical_time"]) for row in rows if row["configuration"] == name)
        assert path == pytest.approx(runs.of(name)[0])


def test_the_end_of_a_name_says_the_format(done, tmp_path):
    made, runs = done
    write_timeline(tmp_path / "t.csv.json.gz", made, runs=runs)
    assert "traceEvents" in json.loads(gzip.decompress((tmp_path / "t.csv.json.gz").read_bytes()))


def test_what_waits_and_what_is_computed(tmp_path):
    rows = [[Compute(5, 2), Send(1, 4)], [Compute(2, 1), Recv(0)]]
    write_timeline(tmp_path / "t.csv", build(rows), runs=simulate(rows))
    first, sent, _, received = csv.DictReader((tmp_path / "t.csv").read_text().splitlines())
    assert (first["volume"], first["size"], first["waiting_time"], first["to"]) == ("5.0", "2.0", "0.0", "")
    assert (sent["to"], sent["bytes"], sent["critical_time"]) == ("1", "4.0", "5.0")
    assert (received["waiting_time"], received["execution_time"], received["from"]) == ("3.0", "8.0", "0")


def test_a_name_that_says_no_format_is_refused(done, tmp_path):
    with pytest.raises(ScenarioError, match=r"give a name that ends in \.json or \.json\.gz or \.csv or \.csv\.gz"):
        write_timeline(tmp_path / "t.otf2", done[0], runs=done[1])
