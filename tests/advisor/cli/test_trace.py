"""Load traces as a user meets them: documents, files, exit codes, one line per error."""

import json

import pytest

from tests.support.command_line import apportion as apportion_alone
from tests.support.command_line import apportion_here as apportion


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{k},{(k * 7 % 10) / 10}\n" for k in range(300))
    (tmp_path / "t.csv").write_text("time_s,load\n" + rows)
    return tmp_path


@pytest.mark.slow
def test_study_and_show_draw_and_print(folder):
    done = apportion("lab", "trace", "--study", "t.csv", "--window", "20", "--history", "40,1min", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("%") == 4
    done = apportion("show", "t.csv", cwd=folder)
    assert "mean 0.45, least 0, greatest 0.9" in done.stdout
    document = json.loads(apportion("show", "t.csv", "--json", cwd=folder).stdout)
    assert (document["column"], document["rows"], document["duration_s"]) == ("load", 300, 300.0)


@pytest.mark.real
def test_record_writes_rows_and_one_document(folder):
    done = apportion(
        "calibrate", "load", "-o", "r.csv", "--interval", "100ms", "--duration", "500ms", "--json", cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] == 5
    again = apportion("calibrate", "load", "-o", "r.csv", "--interval", "100ms", "--duration", "500ms", cwd=folder)
    assert again.returncode == 2
    assert again.stderr.splitlines()[-1].startswith("error: r.csv: this file is there; --append continues")


BAD_INPUT = {
    "lab trace t.csv --window 0": "--window is '0'; give at least one sample",
    "lab trace odd.csv --window 5": "odd.csv: steps between samples are 1 s to 2 s; resample the trace with --resample",
    "lab trace free.csv --window 5": "free.csv: the column is 'available'; name a column of loads",
    "lab generate x -o g.csv": "generate: kind is 'x'; give one of constant, on-off, bootstrap",
    "convert t.csv i.csv --from csv": "t.csv: measures: nothing stated; a table does not tell what it measures, "
    "so it must be stated",
}


@pytest.mark.parametrize(("arguments", "error"), BAD_INPUT.items(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_exit_2(apportion, monkeypatch, folder, arguments, error):
    (folder / "free.csv").write_text("time_s,available\n0,1\n1,1\n")
    (folder / "odd.csv").write_text("time_s,load\n0,1\n1,1\n3,1\n")
    monkeypatch.chdir(folder)
    assert apportion(*arguments.split()) == (2, "", f"error: {error}\n")


def test_a_torn_line_is_a_warning_of_one_line(folder):
    (folder / "torn.csv").write_text("time_s,load\n0,1\n1,1\n2,")
    done = apportion_alone("show", "torn.csv", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "warning: torn.csv:4: a torn last line left out\n")
    assert json.loads(done.stdout)["rows"] == 2


def test_a_study_of_one_window_says_so(tmp_path):
    path = tmp_path / "load.csv"
    path.write_text("time_s,load\n" + "".join(f"{second},{second % 3}\n" for second in range(60)))
    few = apportion("lab", "trace", "--study", path, "--window", "4", "--history", "55").stdout
    assert "warning: the forecasts look at one window only" in few
    assert "warning" not in apportion("lab", "trace", "--study", path, "--window", "4", "--history", "20").stdout


DAY = "time_s,load\n0,0\n46800,8\n64800,0\n"
LOADED = """
format: 1
platform:
  nodes:
    - {name: a, pes: [{speeds: {k: 10 Gflop/s}}]}
    - {name: b, load: {trace: day.csv, rule: fair}, pes: [{name: "b[1-2]", speeds: {k: 10 Gflop/s}}]}
  link: {latency: 30us, bandwidth: 10Gbit/s}
application: {name: ep, kernel: k, parameters: {samples: 3000000}}
configurations: {equal: {partition: equal}}
replications: 5
"""


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_the_end_in_use_is_said_where_nothing_says_it(tmp_path, command):
    (tmp_path / "s.yaml").write_text(LOADED)
    (tmp_path / "day.csv").write_text(DAY)
    done = apportion(command, "s.yaml", *(["--full"] if command != "check" else []), cwd=tmp_path)
    said = " ".join((done.stdout + done.stderr).split())  # lines are wrapped
    assert done.returncode == 0, done.stderr
    assert "load of b1 and 1 more PE: the trace does not say its end" in said
    assert "it is taken to last 82800 s (23 h)" in said
    (tmp_path / "day.csv").write_text(f"# end: 86400\n{DAY}")
    done = apportion(command, "s.yaml", cwd=tmp_path)
    assert (done.returncode, "does not say its end" in done.stdout + done.stderr) == (0, False)
