"""Timelines as a table and as a Paje trace: the log again, and what Paje's own reader makes of it if installed."""

import csv
import shutil
import subprocess
from pathlib import Path

import pytest

from simulator import load_scenario, run, write_timeline
from simulator.base.errors import ScenarioError
from simulator.platform.nodes import PE
from simulator.programs.program import Compute, Recv, Send
from tests.support.platforms import flat
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


def test_what_waits_and_what_is_computed(tmp_path):
    rows = [[Compute(5, 2), Send(1, 4)], [Compute(2, 1), Recv(0)]]
    write_timeline(tmp_path / "t.csv", build(rows), runs=simulate(rows))
    first, sent, _, received = csv.DictReader((tmp_path / "t.csv").read_text().splitlines())
    assert (first["volume"], first["size"], first["waiting_time"], first["to"]) == ("5.0", "2.0", "0.0", "")
    assert (sent["to"], sent["bytes"], sent["critical_time"]) == ("1", "4.0", "5.0")
    assert (received["waiting_time"], received["execution_time"], received["from"]) == ("3.0", "8.0", "0")


def test_a_paje_trace_ascends_and_names_cannot_break_it(tmp_path):
    pes = [PE('a "b"\n%EventDef', "n", {"k": flat(1)})]
    rows = [[Compute(2, 1), Send(1, 1)], [Recv(0), Compute(3, 1)]]
    write_timeline(tmp_path / "t.paje", build(rows, pes=pes), runs=simulate(rows, pes=pes))
    lines = (tmp_path / "t.paje").read_text().splitlines()
    body = lines[len(lines) - lines[::-1].index("%EndEventDef") :]
    assert not any(line.startswith("%") for line in body)
    assert "5 0 pe0 PE n0 \"a 'b' %EventDef\"" in body
    times = [float(line.split()[1]) for line in body if line.split()[0] in {"7", "8", "9", "10"}]
    assert times == sorted(times)
    assert [line for line in body if line.startswith(("9 ", "10 "))] == [
        "9 2.000000000000 MESSAGE run M p0 m0",
        "10 4.000000000000 MESSAGE run M p1 m0",
    ]


def test_a_paje_trace_is_of_one_configuration(done, tmp_path):
    with pytest.raises(ScenarioError, match="a Paje trace holds one configuration, and there are 3; choose one"):
        write_timeline(tmp_path / "t.paje", done[0], runs=done[1])
    with pytest.raises(
        ScenarioError,
        match="the ending says no format; give a name that ends in "
        r"\.json or \.json\.gz or \.csv or \.csv\.gz or \.paje",
    ):
        write_timeline(tmp_path / "t.otf2", done[0], runs=done[1])


if shutil.which("pj_dump"):

    def test_paje_s_reader_sees_every_operation(done, tmp_path):
        made, runs = done
        write_timeline(tmp_path / "t.paje", made, runs=runs, configurations=["uneven"])
        command = ["pj_dump", str(tmp_path / "t.paje")]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
        states = [line.split(", ") for line in told if line.startswith("State") and not line.endswith("idle")]
        log = runs.logs[runs.configurations.index("uneven"), 0]
        assert sorted((one[1], one[-1]) for one in states) == sorted((f"process {e.process}", e.operation) for e in log)
        lasting = sum(e.end_ticks - e.start_ticks for e in log) * runs.tick_s
        assert sum(float(one[5]) for one in states) == pytest.approx(lasting, abs=1e-5)
        assert sum(line.startswith("Link") for line in told) == sum(e.operation == "send" for e in log)
