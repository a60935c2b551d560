"""Results as Parquet, for real: the same tables as CSV, for whoever reads Parquet. Needs pyarrow (extra [parquet])."""

import pandas as pd
import pytest

from simulator import ScenarioError, load_results
from simulator.experiments.sweep import sweep
from simulator.results.tables import kinds_of, read_table, write_table
from tests.support.result_tables import table
from tests.support.sweep_points import N, never, plan_of, thread, write

LINK = "platform.link.bandwidth"


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A sweep, one point of which fails, as CSV and as Parquet."""
    folder = tmp_path_factory.mktemp("parquet")
    plan = plan_of(write(folder), f"{N}=1200,-5,1600", f"{LINK}=1Gbit/s,10Gbit/s")
    sweep(plan, thread, folder=folder / "csv")
    sweep(plan, thread, folder=folder / "parquet", form="parquet")
    return plan, folder


def test_values_of_every_kind_come_back(tmp_path):
    frame = table()
    write_table(tmp_path / "a.parquet", [frame.iloc[:1], frame.iloc[1:]])
    again = read_table(tmp_path / "a.parquet", kinds_of(frame))
    assert again.equals(frame)
    assert again.dtypes.equals(frame.dtypes)


def test_both_forms_give_the_same_tables(both):
    _, folder = both
    csv, parquet = load_results(folder / "csv"), load_results(folder / "parquet")
    assert parquet.manifest["files"] == ["points.parquet", "runs.parquet"]
    assert parquet.manifest["columns"] == csv.manifest["columns"]
    pd.testing.assert_frame_equal(parquet.to_dataframe(), csv.to_dataframe(), check_exact=True)
    pd.testing.assert_frame_equal(
        parquet.to_dataframe(replications=True), csv.to_dataframe(replications=True), check_exact=True
    )


def test_another_reader_finds_every_parameter_and_the_seed_in_every_row(both):
    from pyarrow import parquet

    _, folder = both
    found = parquet.read_table(folder / "parquet" / "points.parquet").to_pydict()
    assert found[N] == [1600, 1200, 1200, -5, -5, 1600, 1600]
    assert found[LINK] == ["1Gbit/s", *["1Gbit/s", "10Gbit/s"] * 3]
    assert found["seed"] == [3] * 7
    assert [error is None for error in found["error"]] == [True] * 3 + [False] * 2 + [True] * 2
    runs = parquet.read_table(folder / "parquet" / "runs.parquet").to_pydict()
    assert len(runs["makespan_s"]) == 5 * 5
    assert runs[N] == [1600] * 5 + [1200] * 10 + [1600] * 10
    assert set(runs["seed"]) == {3}


def test_going_on_in_the_other_form_leaves_one(both):
    plan, folder = both
    again = folder / "again"
    good = plan_of(plan.path, f"{N}=1200")
    sweep(good, thread, folder=again, form="parquet")
    sweep(good, never, folder=again, resume=True)
    assert {path.name for path in again.glob("*.*")} == {"points.csv", "manifest.json", "scenario.yaml"}
    sweep(good, never, folder=again, resume=True, form="parquet")
    assert {path.name for path in again.glob("*.parquet")} == {"points.parquet", "runs.parquet"}
    assert not (again / "points.csv").exists()


@pytest.mark.parametrize("data", [b"", b"PAR1 is how it begins", None])
def test_a_damaged_table_is_named(both, tmp_path, data):
    _, folder = both
    whole = (folder / "parquet" / "points.parquet").read_bytes()
    (tmp_path / "points.parquet").write_bytes(whole[:-50] if data is None else data)
    with pytest.raises(ScenarioError, match=r"points.parquet: .*; give a whole Parquet file"):
        read_table(tmp_path / "points.parquet", {})
