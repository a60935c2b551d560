"""Tables of results: kinds of columns, and CSV that gives them back as they were; `test_parquet` has the other form."""

import numpy as np
import pytest

from simulator import ScenarioError, load_results, load_scenario, run, save_runs
from simulator.results.tables import check_form, framed, kind_of, kinds_of, read_table, run_frames, write_table
from tests.support.command_line import ROOT
from tests.support.result_tables import VALUES, table


def test_kinds():
    said = ["int64", "Int64", "float64", "bool", "boolean", "str", "str", "str", "str"]
    assert [kind_of(values) for values in VALUES.values()] == said
    assert kind_of([None, None]) == "str"


def test_csv_gives_back_what_was_written(tmp_path):
    frame = table()
    write_table(tmp_path / "a.csv", [frame.iloc[:1], frame.iloc[1:]])
    again = read_table(tmp_path / "a.csv", kinds_of(frame))
    assert again.equals(frame)
    assert again.dtypes.equals(frame.dtypes)
    assert again["mixed"].tolist()[:2] == ["1600", "oops"]
    assert again["with none"][2] == 2**53 + 1


def test_floats_come_back_to_the_bit(tmp_path):
    numbers = np.random.default_rng(1).random(1000) * 10.0 ** np.random.default_rng(2).integers(-300, 300, 1000)
    frame = framed({"x": numbers}, {"x": "float64"})
    write_table(tmp_path / "a.csv", [frame])
    assert np.array_equal(read_table(tmp_path / "a.csv", kinds_of(frame))["x"], numbers)


def test_runs_come_in_pieces(monkeypatch):
    monkeypatch.setattr("simulator.results.tables.AT_ONCE", 2)
    entries = [({"point": number, "seed": 7}, np.arange(number + 1.0)) for number in range(5)]
    pieces = list(run_frames(entries, {"point": "int64", "seed": "int64"}))
    assert [len(piece) for piece in pieces] == [3, 7, 5]
    assert list(pieces[1]) == ["point", "replication", "seed", "makespan_s"]
    assert pieces[1]["replication"].tolist() == [0, 1, 2, 0, 1, 2, 3]
    assert pieces[1]["point"].tolist() == [2, 2, 2, 3, 3, 3, 3]
    assert pieces[1]["makespan_s"].tolist() == [0, 1, 2, 0, 1, 2, 3]


def test_parquet_without_pyarrow_is_refused_before_anything_runs(apportion, monkeypatch, tmp_path):
    monkeypatch.setattr("simulator.results.tables.find_spec", lambda _: None)
    said = "--format parquet: pyarrow is not installed: pip install 'apportion[parquet]'"
    with pytest.raises(ScenarioError, match="pyarrow is not installed"):
        check_form("parquet")
    check_form("csv")
    path = ROOT / "scenarios" / "tutorial" / "three-pes.yaml"
    for command in (["simulate", path], ["whatif", path, "--as-is", "--vary", "platform.link.bandwidth=/2"]):
        code, out, errors = apportion(*command, "-o", tmp_path / "out", "--format", "parquet")
        assert (code, out, errors) == (2, "", f"error: {said}\n")
    assert not (tmp_path / "out").exists()
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(ScenarioError, match=r"a.parquet: pyarrow is not installed"):
        read_table(tmp_path / "a.parquet", {})


def test_runs_of_simulate_have_every_parameter_and_the_seed(tmp_path):
    scenario = load_scenario(
        ROOT / "scenarios" / "tutorial" / "three-pes.yaml", changes=["application.parameters.n=1200"]
    )
    runs = run(scenario, replications=3)
    save_runs(runs, tmp_path, manifest={}, parameters={"application.parameters.n": 1200, "a.b": ["x", 1]})
    (tmp_path / "runs.parquet").write_bytes(b"of an earlier run")
    save_runs(runs, tmp_path, manifest={}, parameters={"application.parameters.n": 1200, "a.b": ["x", 1]})
    assert not (tmp_path / "runs.parquet").exists()
    frame = load_results(tmp_path).to_dataframe()
    assert list(frame) == ["application.parameters.n", "a.b", "configuration", "replication", "seed", "makespan_s"]
    assert set(frame["application.parameters.n"]) == {1200}
    assert set(frame["a.b"]) == {'["x", 1]'}
    assert np.array_equal(frame["makespan_s"], runs.makespan_s.ravel())
