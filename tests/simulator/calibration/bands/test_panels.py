"""Tables of kernels by rows and columns, and of copies by direction, become models; `only` says which rows count."""

import pytest

from simulator.base.errors import ScenarioError
from simulator.calibration import fit_network_table, fit_speed, links_in, read_replay
from simulator.programs.applications.matmul import problem_size, volume

HEAD = "kernel,precision,rows,columns,repetition,h2d_s,kernel_s\n"


def table(folder, rows, head=HEAD):
    path = folder / "t.csv"
    path.write_text(head + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def runs(columns, sizes=(16, 64, 256), precision="float64"):
    """A kernel that takes 1 ms to start and 10 us a row."""
    return [f"gemm,{precision},{rows},{columns},1,9,{1e-3 + 1e-5 * rows}" for rows in sizes]


def test_each_number_of_columns_has_a_band_whose_times_are_lines_over_the_rows(tmp_path):
    found = fit_speed(table(tmp_path, [*runs(128), *runs(512)])).model
    assert found.columns == (128.0, 512.0)
    for columns in (128, 512):
        for rows in (1, 4, 16, 32, 100, 256):
            seconds = volume(columns, rows) / float(found.at(columns).speed(problem_size(columns, rows)))
            assert seconds == pytest.approx(1e-3 + 1e-5 * rows, rel=0.05), (columns, rows)


def test_one_subject_is_chosen(tmp_path):
    path = table(tmp_path, [*runs(128), *runs(128, precision="float32")])
    with pytest.raises(ScenarioError, match="choose one: --only precision=float64"):
        read_replay(path)
    assert read_replay(path, only="precision=float32").subject.columns == 128
    for only, message in (
        ("speed=1", "has no column 'speed'"),
        ("precision=half", "precision is never 'half'"),
        ("precision", "is no NAME=VALUE"),
    ):
        with pytest.raises(ScenarioError, match=message):
            read_replay(path, only=only)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("gemm,float64,0,128,1,9,0.1", "rows and columns are whole numbers"),
        ("gemm,float64,32,128,1,9,-1", "give a number above 0"),
        ("gemm,float64,32,128,1,9,x", "is no finite number"),
    ],
)
def test_wrong_rows_are_refused(tmp_path, row, message):
    with pytest.raises(ScenarioError, match=message):
        read_replay(table(tmp_path, [*runs(128), row]))


def test_directions_are_links_of_their_own(tmp_path):
    rows = [
        f"{way},{pinned},{size},{1e-5 + size / (rate * pinned + 1e9)}"
        for way, rate in (("h2d", 9e9), ("d2h", 4e9))
        for pinned in (0, 1)
        for size in (1, 1000, 10**5, 10**6, 10**7, 10**8)
    ]
    path = table(tmp_path, rows, head="direction,pinned,bytes,time_s\n")
    links = links_in(path)
    assert set(links) == {"h2d-pageable", "h2d-pinned", "d2h-pageable", "d2h-pinned"}
    with pytest.raises(ScenarioError, match="it has 4 links; choose one"):
        fit_network_table(path)
    for name, rate in (("h2d-pinned", 1e10), ("d2h-pinned", 5e9), ("d2h-pageable", 1e9)):
        time_s = float(fit_network_table(path, only=links[name]).model.time_s(5e7))
        assert time_s == pytest.approx(1e-5 + 5e7 / rate, rel=0.05), name
