"""Runs of allocations read from CSV, and fitted models kept as JSON."""

import numpy as np
import pytest

from simulator import files
from simulator.calibration import fit_allocation_table, load_allocation_fit, read_allocation_runs, save_allocation_fit

TABLE = """\
# a comment
N,time_s,slow.pes,slow.procs,fast.procs,fast.pes,host,slow.comm_s,rep
400,0.5,3,1,0,0,a,0.1,0
400,0.6,3,1,0,0,a,,1
800,1.25,2,2,4,1,b,nan,0
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)
    return path


def test_columns_are_found_by_name_in_any_order(table):
    runs, notes = read_allocation_runs(table)
    assert runs.kinds == ("slow", "fast")
    assert runs.size.tolist() == [400, 400, 800]
    assert runs.time_s.tolist() == [0.5, 0.6, 1.25]
    assert runs.allocations.tolist() == [[[3, 1], [0, 0]], [[3, 1], [0, 0]], [[2, 2], [1, 4]]]
    assert runs.processes.tolist() == [3, 3, 8]
    assert notes == (f"{table}: columns that were not read: host, rep",)


def test_parts_may_be_missing_and_those_of_idle_kinds_are_not_taken(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(
        "N,time_s,a.pes,a.procs,a.comp_s,b.pes,b.procs,b.comp_s\n400,1,1,1,0.75,0,0,0.5\n400,1,1,1,,1,1,0\n"
    )
    runs, _ = read_allocation_runs(path)
    np.testing.assert_array_equal(runs.comp_s, [[0.75, np.nan], [np.nan, 0.0]])
    assert np.isnan(runs.comm_s).all()


def by_formula(path, sizes=(400, 600, 800, 1200, 1600)):
    """Times of a known formula: what a fit must say again."""
    lines = ["N,time_s,fast.pes,fast.procs,slow.pes,slow.procs,note"]
    for n in sizes:
        lines += [f"{n},{1e-9 * n**3 / p + 1e-8 * n**2 * p},0,0,{p},1,x" for p in (1, 2, 4, 8)]
        lines += [f"{n},{3e-10 * n**3 + 1e-4 * m},1,{m},0,0,x" for m in (1, 2)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_fit_says_what_it_rests_on_and_comes_back_from_its_file(tmp_path):
    path = by_formula(tmp_path / "runs.csv")
    fitted = fit_allocation_table(path)
    save_allocation_fit(fitted, tmp_path / "model.json")
    again = load_allocation_fit(tmp_path / "model.json")
    assert again.to_dict() == fitted.to_dict()
    assert again.warnings[0] == f"{path}: columns that were not read: note"
    assert again.measured.sizes.tolist() == [400, 600, 800, 1200, 1600]
    assert again.measured.most.tolist() == [[1, 2], [8, 1]]
    assert (again.measured.runs, len(again.measured.allocations), again.measured.most_processes) == (30, 6, 8)
    assert again.provenance["inputs"] == {str(path): files.digest(path.read_bytes())}
    asked = np.array([[[0, 0], [4, 1]], [[1, 2], [0, 0]]])
    before, after = (fit.model.estimate(1000.0, asked) for fit in (fitted, again))
    for name in ("mean_s", "low_s", "high_s"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


def test_quality_is_of_the_runs_that_a_kind_took_part_in(tmp_path):
    path = by_formula(tmp_path / "runs.csv")
    fitted = fit_allocation_table(path)
    quality, runs = fitted.quality, read_allocation_runs(path)[0]
    assert {name: found.runs for name, found in quality.items()} == {"fast": 10, "slow": 20, "all": 30}
    errors = {"fast": [], "slow": []}
    for size, allocation, time_s in zip(runs.size, runs.allocations, runs.time_s, strict=True):
        estimate = fitted.model.estimate(float(size), allocation[np.newaxis], measured=False).mean_s[0]
        errors["fast" if allocation[0, 0] else "slow"].append(abs(estimate / time_s - 1))
    for name, own in [*errors.items(), ("all", errors["fast"] + errors["slow"])]:
        assert quality[name].mean_error == pytest.approx(np.mean(own))
        assert quality[name].largest_error == pytest.approx(max(own))


def test_phases_are_kept_with_the_runs(tmp_path):
    rows = ["N,time_s,a.pes,a.procs,a.comp_s"]
    rows += [
        f"{n},{1e-9 * n**3 / p},{p},1,{'' if n == 600 else 9e-10 * n**3 / p}" for n in (400, 600, 800) for p in (1, 2)
    ]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    fitted = fit_allocation_table(tmp_path / "runs.csv")
    save_allocation_fit(fitted, tmp_path / "model.json")
    again = load_allocation_fit(tmp_path / "model.json")
    np.testing.assert_array_equal(again.runs.comp_s, fitted.runs.comp_s)
    assert np.isnan(again.runs.comp_s).sum() == 2
    assert again.to_dict() == fitted.to_dict()


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ({"size": [400, "x"]}, "runs.size.1: 'x' is not a number"),
        ({"size": [400]}, "runs: there is not one entry for each run and kind"),
        ({"comp_s": [[None]] * 30}, "runs: there is not one entry for each run and kind"),
        ({"time_s": [0.0] * 30}, "runs: runs: row 1: time_s is 0.0; give a number above 0"),
    ],
)
def test_a_spoilt_model_is_refused(tmp_path, runs, said):
    document = fit_allocation_table(by_formula(tmp_path / "runs.csv")).to_dict()
    files.write_json(tmp_path / "model.json", document | {"runs": document["runs"] | runs})
    with pytest.raises(Exception, match=said):
        load_allocation_fit(tmp_path / "model.json")
