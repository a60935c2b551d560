"""ScoPred's tables: `ols` meets every cell, `default` meets the bars, and neither is helped by hand."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from advisor.report.papers import NOT_REPRODUCED, REPRODUCED
from advisor.reproduce import scopred
from simulator.calibration import read_shipped_table
from simulator.models import fit, make_runs
from tests.support.scopred_splits import study_splits

FIXTURES = Path(__file__).with_name("scopred_fixtures.csv")


@pytest.fixture(scope="module")
def result():
    return scopred.reproduce()


@pytest.fixture(scope="module")
def splits():
    return {row["family"]: row for row in study_splits()}


def rows(name):
    table = read_shipped_table(f"papers/{name}.csv")
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]


def test_ols_meets_every_cell_of_the_paper(result):
    cells = [cell for cell in result.cells if cell.case != "T4-joint"]  # as printed, it is not reproducible
    assert len(cells) == 92
    for cell in cells:
        paper_s = cell.said["paper"].time_s
        tolerance = max(0.01, 0.01 * paper_s) + 1e-9
        if cell.response == "total" and cell.case.startswith("T11"):
            tolerance = 0.02  # the paper adds four rounded numbers
        assert cell.said["ols"].time_s == pytest.approx(paper_s, abs=tolerance), cell.name


def test_ols_interval_half_widths_meet_the_fixtures():
    with FIXTURES.open(encoding="utf-8") as stream:
        fixtures = list(csv.DictReader(stream))
    training, targets = rows("scopred_training"), rows("scopred_targets")
    cases = defaultdict(list)
    for fixture in fixtures:
        cases[fixture["case"], fixture["response"]].append(fixture)
    assert len(cases) == 38
    for (case, response), expected in cases.items():
        own = [row for row in training if (row["case"], row["response"]) == (case, response)]
        delta, names = float(expected[0]["delta_s"]), [n for n in ("N", "P", "Q") if own[0][n]]
        wide = [(row, sign) for row in own for _ in range(int(row["runs"]) // 3) for sign in (-1, 0, 1)]
        values = {name: [float(row[name]) for row, _ in wide] for name in names}
        runs = make_runs(values, [float(row["time_s"]) + sign * delta for row, sign in wide])
        wanted = [row for row in targets if (row["case"], row["response"]) == (case, response)]
        found = fit({"t": own[0]["formula"]}, {"t": runs}, method="ols").predict(
            {name: [float(row[name]) for row in wanted] for name in names}, level=0.95
        )
        tolerance = 0.04 if case == "T13-N=11000" else 0.015
        for i, row in enumerate(expected):
            for interval, half in (
                (found.confidence_s, "confidence_half_s"),
                (found.prediction_s, "prediction_half_s"),
            ):
                assert np.ptp(interval[i]) / 2 == pytest.approx(float(row[half]), abs=tolerance), (case, i, half)


def test_default_beats_the_paper_by_the_bars(result):
    by_table = {table.name: table.errors["default"] for table in result.tables}
    overall = result.overall.errors
    assert overall["paper"].mean_percent == pytest.approx(13.8, abs=0.1)
    assert overall["default"].mean_percent <= 5.0
    assert overall["default"].worst_percent <= 22
    assert by_table["table 13"].mean_percent <= 8
    assert by_table["table 13"].worst_percent <= 15
    assert by_table["table 9"].mean_percent <= 5
    assert by_table["table 9"].worst_percent <= 10
    both = [by_table["table 6"], by_table["table 7"]]
    assert np.mean([table.mean_percent for table in both]) <= 12
    assert max(table.worst_percent for table in both) <= 22


def test_default_intervals_tell_the_truth(result):
    overall, errors = result.overall, result.overall.errors
    assert result.level == 0.9
    assert 0.88 * overall.count <= errors["default"].inside <= 0.93 * overall.count
    assert errors["default"].median_half_width_percent <= 12.6
    assert errors["paper"].inside < 0.7 * overall.count


@pytest.mark.slow
def test_default_holds_on_splits_and_truths_seen_during_development(splits):
    measured = [row["default"] for family, row in splits.items() if family[:3] in ("EP,", "FT,", "HPL")]
    assert len(measured) == 12
    assert np.mean([row["mean_percent"] for row in measured]) <= 5
    assert max(row["worst_percent"] for row in measured) <= 25
    assert min(row["inside_percent"] for row in measured) >= 85
    assert np.mean([row["inside_percent"] for row in measured]) >= 90
    exact = {"exactly N/P": 3, "Amdahl, 1 % serial": 10, "Amdahl, 5 % serial": 5, "P^-0.9": 5, "P^-1.1": 5}
    for family, bound in exact.items():
        assert splits[family]["default"]["mean_percent"] <= bound
        assert splits[family]["default"]["inside_percent"] >= 92
    assert splits["missing 0.4 log2 P"]["default"]["inside_percent"] >= 88


def test_one_bad_run_of_three_costs_at_most_one_and_a_half_points():
    def mean_error(spoil):
        errors = defaultdict(list)
        training, targets = rows("scopred_training"), rows("scopred_targets")
        for case in dict.fromkeys(
            row["case"] for row in targets if not row["case"].startswith(("T4-joint-inf", "T11"))
        ):
            own = [row for row in training if row["case"] == case]
            names = [n for n in ("N", "P", "Q") if own[0][n]]
            wide = [row for row in own for _ in range(3)]
            times = np.array([float(row["time_s"]) for row in wide])
            times[3 * (len(own) // 2)] *= spoil
            runs = make_runs({n: [float(row[n]) for row in wide] for n in names}, times)
            wanted = [row for row in targets if row["case"] == case]
            found = fit({"t": own[0]["formula"]}, {"t": runs}).predict(
                {n: [float(r[n]) for r in wanted] for n in names}
            )
            truth = np.array([float(row["observed_s"]) for row in wanted])
            errors[own[0]["table"]] += list(np.abs(found.mean_s / truth - 1) * 100)
        return np.mean([np.mean(table) for table in errors.values()])

    assert abs(mean_error(10.0) - mean_error(1.0)) <= 1.5


def test_every_table_has_a_verdict_that_its_cells_bear_out(result):
    found = {table.number: table for table in scopred.inventory(result)}
    assert len(found) == 18
    assert {number for number, table in found.items() if table.verdict == NOT_REPRODUCED} == {"table 4", "table 10"}
    for number in (2, 3, "4, inferred", 6, 7, 8, 9, 11, 13, 14, 15):
        table = found[f"table {number}"]
        assert table.verdict == REPRODUCED
        assert {cell.what for cell in table.cells} >= {"predicted time", "deviation"}
        assert max(cell.off_percent for cell in table.cells) < 0.2
    # The ratio of the intervals depends on the design alone; table 13 at N = 11000 is the misprint among them, and at
    # 14000 it is 0.02 % beyond rounding.
    off = [
        (table.number, cell.where.partition(",")[0])
        for table in found.values()
        for cell in table.cells
        if cell.what.startswith("confidence") and cell.off_percent and table.verdict == REPRODUCED
    ]
    assert off == [("table 13", "T13-N=11000"), ("table 13", "T13-N=14000")]


def test_the_coefficients_of_table_2_are_the_papers(result):
    cells = next(table for table in scopred.inventory(result) if table.number == "text of table 2").cells
    assert [cell.ours for cell in cells] == pytest.approx([3996971.35, 0.025, 3906469.72, 0.085], rel=1e-3, abs=0.01)
