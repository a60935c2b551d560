"""The study of real MPI programs sums up what it wrote, and simulates the places that it runs on."""

import csv

import pytest

from simulator.programs.recorded.recording import Action
from tests.studies import mpi_study
from tests.support.recordings import recording


def test_errors_coverage_and_regret_are_those_of_the_table(tmp_path, capsys):
    rows = [
        ("cores", "two", "p", "core0 core0", 1.0, "0.9/1.0/1.3", 0.95, 1.1, 1.2),
        ("cores", "two", "p", "core0 core1", 0.8, "0.8/0.8/0.8", 0.9, 1.2, 1.3),
        ("cores", "two", "p", "core1 core1", float("nan"), "nan", 0.9, 0.1, 1.3),
    ]
    with (tmp_path / "cores-two.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([mpi_study.COLUMNS, *rows])
    mpi_study.report(tmp_path)
    said = capsys.readouterr().out
    assert said == (
        "cores two p: 2 placements, 0.800 to 1.000 s: median error 30.0%, worst 50.0%, bias +30.0%;"
        " 90 % hold 17%; regret 25.0%\n"
    )


def test_placements_are_simulated_under_loads(tmp_path):
    computes = [(Action.COMPUTE, {"amount": 1.0})]
    recording(computes, computes).save(tmp_path)
    load = {"trace": {"times_s": [0], "values": [1], "end_s": 1}, "rule": "fair"}
    alike = {"speeds": {"triad": "1 units/s"}}
    nodes = [{"name": "m", "pes": [{"name": "core0", **alike}, {"name": "core1", **alike, "load": load}]}]
    network = {"topology": "star", "link": {"latency": "1us", "bandwidth": "1GB/s"}}
    places = [("core0", "core0"), ("core0", "core1"), ("core1", "core1")]
    found = mpi_study.simulated(nodes, network, "sleeping", tmp_path, places)
    assert found[:, 0] == pytest.approx([2.0, 2.0, 3.0])
