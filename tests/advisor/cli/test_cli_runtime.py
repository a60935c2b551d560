"""`apportion fit`, `predict`, `history` and `reproduce` as their users meet them."""

import json
from pathlib import Path

import pytest

from tests.support import corpus

ROOT = Path(__file__).parents[3]
BAD = corpus.cases(ROOT / "tests" / "bad_inputs" / "runs")
HPL = "N**3/(3*P*Q) + N**2*(3*P+Q)/(2*P*Q) + N*log(P) + N*P"


@pytest.fixture
def hpl(tmp_path):
    """Runs of the paper's table 12 on at most 7 x 7 processes, each three times."""
    source = (ROOT / "scenarios" / "papers" / "scopred_observations.csv").read_text().splitlines()
    rows = [line.split(",") for line in source if line.split(",")[1] == "HPL" and line.split(",")[3] != "8"]
    path = tmp_path / "runs.csv"
    path.write_text("N,P,Q,time_s\n" + "".join(f"{r[2]},{r[3]},{r[4]},{r[5]}\n" for r in rows for _ in range(3)))
    (tmp_path / "targets.csv").write_text("Q,N,P\n8,14000,8\n8,8000,8\n2,8000,2\n")
    return path


@pytest.mark.parametrize(("method", "tolerance"), [("ols", 0.25), ("default", 0.05)])
def test_fit_and_predict_in_the_order_of_the_targets(apportion, hpl, tmp_path, method, tolerance):
    model, targets = tmp_path / "m.json", tmp_path / "targets.csv"
    code, out, err = apportion("fit", hpl, "--formula", HPL, "--response", "time_s", "--method", method, "-o", model)
    assert (code, err) == (0, "")
    assert "R^2" in out
    code, out, err = apportion("predict", model, "--at", targets, "--json")
    assert (code, err) == (0, "")
    first, second, third = json.loads(out)["predictions"]
    assert first["mean"] == pytest.approx(43.87, rel=tolerance)
    assert second["mean"] == pytest.approx(8.63, rel=tolerance)
    assert (first["outside_training_range"], third["outside_training_range"]) == (True, False)
    assert third["observed"]["mean"] == pytest.approx(174.07)
    for entry in (first, second, third):
        assert entry["run_low"] <= entry["low"] <= entry["mean"] <= entry["high"] <= entry["run_high"]
    code, out, _ = apportion("predict", model, "--at", targets, "--level", "0.5", "--full")
    assert code == 0
    assert "observed 2.90 min" in out


def test_one_formula_per_part(apportion, tmp_path):
    rows = [(n, p) for n in (100, 200, 400, 800) for p in (1, 2, 4, 8)]
    table = "N,P,a_s,b_s\n" + "".join(f"{n},{p},{n / p:.3f},{0.01 * n * p:.3f}\n" for n, p in rows)
    (tmp_path / "r.csv").write_text(table)
    (tmp_path / "t.csv").write_text("N,P\n1600,8\n")
    model = tmp_path / "m.json"
    parts = ["--formula", "a_s=N/P", "--formula", "b_s=N*P"]
    assert apportion("fit", tmp_path / "r.csv", *parts, "-o", model)[0] == 0
    entry = json.loads(apportion("predict", model, "--at", tmp_path / "t.csv", "--json")[1])["predictions"][0]
    assert entry["parts"] == {"a_s": pytest.approx(200, rel=0.01), "b_s": pytest.approx(128, rel=0.01)}
    assert entry["mean"] == pytest.approx(sum(entry["parts"].values()))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_runs_get_their_lines(refused, tmp_path, path):
    refused(path, ["fit", path, "--formula", "N/P + N*P", "-o", tmp_path / "m.json"], FILE=path)
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--formula", "__import__('os')"], "character"),
        (["--formula", "N", "--formula", "P"], "formula: 2 name no column, and one may; write COLUMN=FORMULA"),
        (["--formula", "N", "--response", "x"], "there is no column x; the columns are N, P, Q, time_s"),
        (["--formula", "log(N-8000)"], "it is -inf at N = 8000"),
    ],
)
def test_bad_options_are_refused_in_one_line(apportion, hpl, arguments, message):
    code, out, err = apportion("fit", hpl, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_history_goes_in_and_a_model_comes_out(apportion, tmp_path):
    history, model = tmp_path / "h.sqlite", tmp_path / "m.json"
    rows = [f"x,{n},{p},{n / p + 1:.2f}" for n in (100, 200, 400, 800) for p in (1, 2, 4)]
    (tmp_path / "runs.csv").write_text("\n".join(["application,N,P,total_s", *rows, "y,1,1,1"]) + "\n")
    assert apportion("convert", tmp_path / "runs.csv", history)[0] == 0
    listed = json.loads(apportion("show", history, "--json")[1])
    assert len(listed["runs"]) == 13
    assert listed["runs"][0]["times_s"] == {"total": 101.0}
    code, _, err = apportion("fit", history, "--formula", "N/P", "-o", model)
    assert code == 2
    assert "holds runs of x, y; name the application that is meant" in err
    assert apportion("fit", history, "--app", "x", "--formula", "N/P", "-o", model)[0] == 0
    (tmp_path / "t.csv").write_text("N,P\n1600,8\n")
    found = json.loads(apportion("predict", model, "--at", tmp_path / "t.csv", "--json")[1])["predictions"][0]
    assert found["mean"] == pytest.approx(201, rel=0.03)
    text = tmp_path / "runs"  # a file, whatever its name ends in
    assert apportion("convert", history, text, "--app", "x", "--to", "extrap-json")[0] == 0
    assert json.loads(text.read_text())["parameters"] == ["N", "P"]


def test_a_command_is_recorded_over_a_grid(apportion, tmp_path):
    history = tmp_path / "h.sqlite"
    record = ["lab", "history", "--grid", "N=64,P=1", "--repetitions", "2", "--history", history, "--json"]
    code, out, _ = apportion(*record, "--command", "true {N} {P}", "--version", "mine")
    assert (code, json.loads(out)["added"]) == (0, 2)
    runs = json.loads(apportion("show", history, "--json")[1])["runs"]
    assert [(run["application"], run["version"]) for run in runs] == [("true", "mine")] * 2
    code, out, err = apportion(*record)
    assert (code, out, err) == (2, "", "error: --grid needs --command: give the command line to run\n")


def test_targets_may_be_written_out(apportion, hpl, tmp_path):
    """The same as a CSV file with the same values; several, and what is wrong with them."""
    model, targets = tmp_path / "m.json", tmp_path / "targets.csv"
    apportion("fit", hpl, "--formula", HPL, "-o", model)
    targets.write_text("N,P,Q\n12000,8,8\n6000,4,2\n", encoding="utf-8")
    of_file = json.loads(apportion("predict", model, "--at", targets, "--json")[1])["predictions"]
    words = ["--at", "N=12000,P=8,Q=8", "--at", "Q=2; N=6000; P=4"]
    assert json.loads(apportion("predict", model, *words, "--json")[1])["predictions"] == of_file
    for wrong, said in {
        "N=12000,P": "--at: 'P' is no NAME=VALUE, such as N=12000",
        "N=1,N=2": "--at: 'N=2' is there twice; leave one out",
        "N=12000,P=8": "--at: there is no column 'Q'; add it to N, P",
    }.items():
        code, out, err = apportion("predict", model, "--at", wrong)
        assert (code, out) == (2, "")
        assert said in err
    assert "names other columns" in apportion("predict", model, "--at", "N=1,P=1,Q=1", "--at", "N=1")[2]
