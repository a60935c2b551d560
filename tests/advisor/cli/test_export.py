"""`apportion convert`: the files, what is told, and what is refused, each in one line."""

import pytest

from advisor.cli import _run
from simulator import load_scenario, run

SCENARIO = """format: 1
platform:
  nodes:
    - {name: a, pes: [{name: a, speeds: {dgemm: 1Gflop/s}, load: {trace: {times_s: [0, 1], values: [0.5, 1.0], end_s: 3}, rule: given}}]}
    - {name: b, pes: [{name: b, cores: 2, speeds: {dgemm: 2Gflop/s}}]}
  network: {topology: star, contention: CONTENTION, link: {latency: 10us, bandwidth: 1Gbit/s}}
application: {name: matmul, kernel: dgemm, parameters: {n: 600}}
configurations: {equal: {partition: equal}}
replications: 3
seed: 4
"""  # noqa: E501 - one node a line


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO.replace("CONTENTION", "fair"))
    return path


def test_the_files_are_read_back_with_what_it_prints(tmp_path, scenario, capsys):
    out = tmp_path / "out"
    assert _run(["convert", str(scenario), str(out), "--replication", "2"]) == 0
    printed = capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {"platform.xml", "a.profile", "manifest.json"}
    lines = scenario.read_text().splitlines()
    platform = printed.partition("read it back with ")[2].strip()
    again = out / "again.yaml"
    again.write_text("\n".join([lines[0], platform, *lines[6:]]).replace("replications: 3", "replications: 1"))
    expected = run(load_scenario(scenario)).makespan_s[0, 2]
    assert run(load_scenario(again)).makespan_s[0, 0] == pytest.approx(expected, rel=1e-9)


def test_what_is_refused_names_file_feature_and_option(tmp_path, scenario, capsys):
    scenario.write_text(SCENARIO.replace("CONTENTION", "fifo"))
    out = tmp_path / "out"
    assert _run(["convert", str(scenario), str(out)]) == 2
    assert capsys.readouterr().err == (
        f"error: {scenario}: platform: contention fifo of the links: not in SimGrid; "
        "--approximate: messages share a link\n"
    )
    assert not out.exists()
    assert _run(["convert", str(scenario), str(out), "--approximate"]) == 0
    assert "note: contention fifo of the links: approximated" in capsys.readouterr().err
