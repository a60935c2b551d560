"""Programs on grids of processes: volumes and messages by hand, what holds for every grid, and both engines."""

import math

import numpy as np
import pytest

from simulator import Application, LinkModel, Platform, Scenario, dump_scenario, load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.programs.applications import make_work
from simulator.programs.applications.work import shapes
from simulator.programs.configuration import Configuration
from tests.simulator.programs.applications.counts import Counts
from tests.support.platforms import pe

PARAMETERS = {
    "hpl": {"n": 22, "nb": 4},
    "fft3d": {"n": 12},
    "matmul_2d": {"n": 12, "nb": 5, "grid_rows": 1},
}
GRIDS = [(1, 1), (1, 4), (2, 2), (2, 3), (3, 2), (4, 1), (6, 1), (3, 4)]
SPEED, LATENCY_S, BANDWIDTH = 1e6, 1e-4, 1e6


def on(name, grid, parameters=None):
    work = make_work(name, parameters or PARAMETERS[name])
    count = grid[0] * grid[1]
    return Configuration(f"{grid[0]} x {grid[1]}", work.fitting((1,) * count, grid), tuple(range(count)), grid)


def counted(name, grid, parameters=None):
    work = make_work(name, parameters or PARAMETERS[name])
    return Counts(work.program(on(name, grid, parameters)))


def scenario(name, *configurations, pes=12, parameters=None):
    speeds = [SPEED * (1 + index % 3) for index in range(pes)]
    platform = Platform.uniform(
        tuple(pe(f"pe{index}", speed) for index, speed in enumerate(speeds)),
        LinkModel.from_latency(LATENCY_S, BANDWIDTH),
    )
    return Scenario(platform, Application(name, "dgemm", parameters or PARAMETERS[name]), configurations, 1)


def test_shapes_are_all_divisors():
    assert shapes(12) == ((1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1))
    assert shapes(7) == ((1, 7), (7, 1))
    assert make_work("fft3d", {"n": 4}).grids(12) == ((3, 4), (4, 3))
    assert make_work("hpl", {"n": 8, "nb": 2, "phases": "all"}).grids(4) == ((1, 4),)
    assert make_work("fft", {"n": 8}).grids(4) == ()


def test_hpl_on_two_by_two_by_hand():
    """n = 4 in blocks of 2: block (i, j) belongs to the process in row i, column j.

    | step | rows left in the grid's rows | columns behind in its columns | panel column, 2 x rows each | update |
    |---|---|---|---|---|
    | 0 | 2, 2 | 0, 2 | 4 and 4 by 0, 4 and 4 by 2 | 2 x 2 x 2 x 2 = 16 by 1 and by 3 |
    | 1 | 0, 2 | 0, 0 | nothing by 1, 4 and 4 by 3 | |

    Each column of a panel takes an all-reduce of 8 (2 x 2 + 4) = 64 bytes; panels are 8 x 2 x rows.
    """
    found = counted("hpl", (2, 2), {"n": 4, "nb": 2})
    assert found.volumes == [[4, 4], [16], [4, 4], [16, 4, 4]]
    assert found.sizes == [[4, 4], [2 * (2 + 2)], [4, 4], [8, 4, 4]]
    down = {(0, 2): [64, 64, 0, 0], (1, 3): [32, 64, 64, 0]}
    across = {(0, 1): [32], (2, 3): [32], (1, 0): [0], (3, 2): [32]}
    assert found.messages == down | {(b, a): sizes for (a, b), sizes in down.items()} | across
    assert found.footprints == [8 * 2 * (2 + 2)] * 4


def test_fft3d_in_slabs_and_pencils_by_hand():
    """n = 4: two slabs exchange once, 2 x 4 x 2 points; in pencils of 2 x 2 lines each exchanges twice, 2 x 2 x 2."""
    slabs, pencils = counted("fft3d", (1, 2), {"n": 4}), counted("fft3d", (2, 2), {"n": 4})
    assert slabs.volumes == [[8 * 40] * 3] * 2
    assert slabs.messages == {(0, 1): [16 * 16], (1, 0): [16 * 16]}
    assert pencils.volumes == [[4 * 40] * 3] * 4
    assert pencils.sizes == [[4 * 4 * 4] * 3] * 4
    partners = {(0, 2), (1, 3), (0, 1), (2, 3)}
    assert pencils.messages == {pair: [16 * 8] for one, other in partners for pair in ((one, other), (other, one))}
    assert pencils.footprints == [32 * 16] * 4


@pytest.mark.parametrize(("n", "grid"), [(n, grid) for n in (7, 12) for grid in GRIDS if max(grid) <= n])
def test_the_transform_exchanges_what_changes_hands(n, grid):
    """All operations are 15 n**3 log2 n; in an exchange a point stays where both its places are in the same part."""
    found = counted("fft3d", grid, {"n": n})
    parts = [[n // count + (place < n % count) for place in range(count)] for count in grid]
    stays = [sum(part**2 for part in each) / n**2 for each in parts]
    assert found.volume.sum() == pytest.approx(15 * n**3 * math.log2(n), rel=1e-12)
    assert sum(found.sent) == pytest.approx(16 * n**3 * sum(1 - share for share in stays), rel=1e-12)


@pytest.mark.parametrize(("n", "nb"), [(1, 1), (7, 1), (22, 4), (24, 4), (5, 9), (30, 7)])
def test_hpl_does_the_same_operations_on_every_grid(n, nb):
    parameters = {"n": n, "nb": nb}
    found = [counted("hpl", grid, parameters).volume.sum() for grid in GRIDS]
    assert found == pytest.approx([make_work("hpl", parameters).volume] * len(GRIDS), rel=1e-12)


@pytest.mark.parametrize("grid", [(2, 2), (2, 3), (4, 1), (4, 4)])
def test_hpl_sends_what_its_steps_say(grid):
    """Rows a power of two: an all-reduce is log2 R messages of each process, a ring a message to each other column."""
    n, nb, (rows, columns) = 26, 4, grid
    expected = 0.0
    for k in range(-(-n // nb)):
        w, m = min(nb, n - k * nb), n - k * nb
        rounds = math.log2(rows)
        pivots = w * 8 * (2 * w + 4) * rows * rounds
        expected += pivots + 8 * m * w * (columns - 1) + 8 * w * (m - w) * rows * rounds
    assert sum(counted("hpl", grid, {"n": n, "nb": nb}).sent) == expected


@pytest.mark.parametrize("name", PARAMETERS)
def test_one_row_is_what_it_is_without_a_grid(name):
    work = make_work(name, PARAMETERS[name])
    with_grid = on(name, (1, 3))
    without = Configuration("c", with_grid.partition, with_grid.placement)
    assert work.program(with_grid) == work.program(without)


@pytest.mark.parametrize("name", PARAMETERS)
def test_both_engines_agree_to_the_tick_on_every_grid(name):
    made = scenario(name, *(on(name, grid) for grid in GRIDS))
    one, other = (run(made, engine=engine) for engine in ("process", "compiled"))
    for first, second in zip(one.finish_ticks, other.finish_ticks, strict=True):
        np.testing.assert_array_equal(first, second)


def test_equal_partitions_on_unlike_grids_are_unlike_programs():
    """What is kept of a program is kept by its grid too."""
    one, other = (Configuration(str(grid), (1,) * 4, (0, 1, 2, 3), grid) for grid in ((1, 4), (2, 2)))
    both = run(scenario("hpl", one, other)).makespan_s[:, 0]
    alone = [run(scenario("hpl", configuration)).makespan_s[0, 0] for configuration in (one, other)]
    assert both.tolist() == alone
    assert alone[0] != alone[1]


FAULTS = [
    ("hpl", (1, 1, 1, 1), (2, 3), "grid: 2 x 3 is not the number of processes, 4"),
    ("fft", (3, 3, 3, 3), (2, 2), "fft has no grid of processes: leave the grid out"),
    ("hpl", (2, 1, 1, 0), (2, 2), "a grid of several rows has equal shares"),
    ("fft3d", (9, 9, 9, 9), (2, 2), r"36 lines together, but n\*\*2 = 144; add 108"),
    ("fft3d", (6,) * 24, (1, 24), "fft3d can use 2 x 12, 3 x 8, 4 x 6, 6 x 4, 8 x 3, 12 x 2"),
]


@pytest.mark.parametrize(("name", "partition", "grid", "message"), FAULTS)
def test_grids_that_do_not_fit_are_refused(name, partition, grid, message):
    parameters = PARAMETERS.get(name, {"n": 12})
    with pytest.raises(ScenarioError, match=message):
        run_one(name, partition, grid, parameters)


def run_one(name, partition, grid, parameters):
    configuration = Configuration("c", partition, tuple(range(len(partition))), grid)
    run(scenario(name, configuration, pes=24, parameters=parameters))


def test_files_say_grids_and_equal_parts_fit_them(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "format: 1\nplatform: {nodes: [{name: 'n[1-6]', pes: [{speeds: {dgemm: 1Gflop/s}}]}],"
        " network: {topology: star, link: {latency: 1us, bandwidth: 1GB/s}}}\n"
        "application: {name: fft3d, kernel: dgemm, parameters: {n: 8}}\n"
        "configurations:\n  slabs: {partition: equal, grid: [1, 6]}\n  pencils: {partition: equal, grid: [2, 3]}\n"
    )
    made = load_scenario(path)
    assert [one.grid for one in made.configurations] == [(1, 6), (2, 3)]
    assert [one.partition for one in made.configurations] == [(16, 16, 8, 8, 8, 8), (12, 12, 8, 12, 12, 8)]
    again = tmp_path / "again.yaml"
    again.write_text(dump_scenario(made, traces={}))
    assert load_scenario(again).configurations == made.configurations
