"""Every application's volume, messages and footprint on small cases counted by hand, and laws that hold for all."""

import pytest

from simulator.base.errors import ScenarioError
from simulator.programs.applications import APPLICATIONS, build_program, make_work
from simulator.programs.configuration import Configuration
from tests.simulator.programs.applications.counts import Counts
from tests.support.applications import FITTING
from tests.support.collectives import run


def counted(name, parameters, *partition):
    return Counts(build_program(name, parameters, Configuration.one_each("c", partition)))


def test_every_application_that_counts_its_costs_is_tried():
    assert set(FITTING) == set(APPLICATIONS) - {"modelled", "recorded"}


# Counts made by hand


def test_hpl_by_hand():
    """n = 6 in blocks of 2: blocks 0 and 2 belong to process 0, block 1 to process 1.

    | step | rows left | panel factored | broadcast | columns behind: 0, 1 | updates: 2 x 2 x rows x columns |
    |---|---|---|---|---|---|
    | 0 | 6 | by 0: 6 x 4 = 24 | 8 x 6 x 2 = 96 from 0 | 2, 2 | 48, 48 |
    | 1 | 4 | by 1: 16 | 64 from 1 | 2, 0 | 32, - |
    | 2 | 2 | by 0: 8 | 32 from 0 | 0, 0 | - |
    """
    found = counted("hpl", {"n": 6, "nb": 2}, 1, 1)
    assert found.volumes == [[24, 48, 32, 8], [48, 16]]
    assert found.sizes == [[12, 6 * 4, 4 * 4, 4], [6 * 4, 8]]
    assert found.messages == {(0, 1): [96, 32], (1, 0): [64]}
    assert found.footprints == [8 * 6 * (4 + 2), 8 * 6 * (2 + 2)]


def test_blocks_are_dealt_in_cycles():
    """3 and 1 per cycle: shares 1/3, 2/3, 1 and 1; so 0, 0, 0, 1. With 2 and 1: 1/2, 1 and 1: 0, 0, 1."""
    matrix = make_work("hpl", {"n": 9, "nb": 1}).matrix
    for partition, owners in {
        (3, 1): [0, 0, 0, 1, 0, 0, 0, 1, 0],
        (2, 1): [0, 0, 1, 0, 0, 1, 0, 0, 1],
        (1, 2, 2): [1, 2, 0, 1, 2, 1, 2, 0, 1],
        (1, 0, 1): [0, 2, 0, 2, 0, 2, 0, 2, 0],
        (4, 5): [1, 0, 1, 0, 1, 0, 1, 0, 1],
    }.items():
        assert matrix.owners(Configuration.one_each("c", partition)).tolist() == owners


def test_cholesky_by_hand():
    """n = 3 in blocks of 1: 0, 1, 0 own them. A factor of order 1 is one square root, a row below it one division.

    Step 0: 0 does 1 + 2 = 3 and sends 3 words. Behind it block 1 (one row below: 2 + 2 x 1) and block 2 (2).
    Step 1: 1 does 1 + 1 = 2 and sends 2 words; behind it block 2 (2). Step 2: 0 does 1.
    """
    found = counted("cholesky", {"n": 3, "nb": 1}, 1, 1)
    assert found.volumes == [[3, 2, 2, 1], [4, 2]]
    assert found.sizes == [[3, 3 + 1, 2 + 1, 1], [3 + 2, 2]]
    assert found.messages == {(0, 1): [24], (1, 0): [16]}
    assert found.footprints == [8 * 3 * 3, 8 * 3 * 2]


@pytest.mark.parametrize(("n", "nb"), [(1, 1), (7, 1), (22, 4), (24, 4), (5, 9), (30, 7)])
@pytest.mark.parametrize("partition", [(1,), (1, 0), (2, 3, 1)])
def test_cholesky_does_what_the_unblocked_algorithm_does(n, nb, partition):
    """n square roots, and in column j, n - j rows of one division and j - 1 products and sums."""
    if sum(partition) > -(-n // nb):
        return
    operations = sum(1 + 2 * j + sum(1 + 2 * j for _ in range(j + 1, n)) for j in range(n))
    found = counted("cholesky", {"n": n, "nb": nb}, *partition)
    assert found.volume.sum() == pytest.approx(operations, rel=1e-12)
    assert make_work("cholesky", {"n": n, "nb": nb}).volume == pytest.approx(operations, rel=1e-12)


def test_matmul_2d_by_hand():
    """n = 4 on 2 x 2 processes, 3 + 1 rows and 2 + 2 columns; panels of at most 2 end at 2 (columns), 3 (rows) and 4.

    | panel | width | columns of A of grid column | rows of B of grid row |
    |---|---|---|---|
    | 0..2 | 2 | 0 | 0 |
    | 2..3 | 1 | 1 | 0 |
    | 3..4 | 1 | 1 | 1 |
    """
    found = counted("matmul_2d", {"n": 4, "nb": 2, "grid_rows": 2}, 6, 6, 2, 2)
    assert found.volumes == [[24, 12, 12], [24, 12, 12], [8, 4, 4], [8, 4, 4]]
    assert found.volume.sum() == 2 * 4**3
    assert found.sizes[0] == [6 + 5 * 2, 6 + 5, 6 + 5]
    assert found.sizes[3] == [2 + 3 * 2, 2 + 3, 2 + 3]
    assert found.messages == {
        (0, 1): [8 * 3 * 2],  # A along the first row of the grid, then back
        (1, 0): [8 * 3, 8 * 3],
        (2, 3): [8 * 2],
        (3, 2): [8, 8],
        (0, 2): [8 * 2 * 2, 8 * 2],  # B down the columns, then up
        (1, 3): [8 * 2 * 2, 8 * 2],
        (2, 0): [8 * 2],
        (3, 1): [8 * 2],
    }
    assert found.footprints == [8 * (18 + 10), 8 * (18 + 10), 8 * (6 + 6), 8 * (6 + 6)]


def test_fft_by_hand():
    """n = 4, 3 + 1 rows: a row is 5 x 4 x 2 operations, twice; 16 x 3 x 1 bytes each way."""
    found = counted("fft", {"n": 4}, 3, 1)
    assert found.volumes == [[120, 120], [40, 40]]
    assert found.sizes == [[48, 48], [16, 16]]
    assert found.messages == {(0, 1): [48], (1, 0): [48]}
    assert found.footprints == [32 * 4 * 3, 32 * 4]


def test_ep_by_hand():
    """10 samples of 6; an all-reduce of 12 words between two."""
    found = counted("ep", {"samples": 10, "volume": 6}, 7, 3)
    assert found.volumes == [[42], [18]]
    assert found.sizes == [[7], [3]]
    assert found.messages == {(0, 1): [96], (1, 0): [96]}
    assert found.footprints == [96, 96]


def test_stencil_by_hand():
    """n = 5, strips of 2, 1 and 2 rows, two iterations: 25 operations a row, 40 bytes a halo row."""
    found = counted("stencil", {"n": 5, "iterations": 2}, 2, 1, 2)
    assert found.volumes == [[50, 50], [25, 25], [50, 50]]
    assert found.sizes == [[30, 30], [20, 20], [30, 30]]
    assert found.messages == {pair: [40, 40] for pair in [(0, 1), (1, 2), (2, 1), (1, 0)]}
    assert found.footprints == [240, 160, 240]


def test_stencil_passes_over_processes_without_rows():
    found = counted("stencil", {"n": 5, "iterations": 1}, 2, 0, 3)
    assert found.messages == {(0, 2): [40], (2, 0): [40]}
    assert found.footprints[1] == 0


def test_sort_by_hand():
    """8 keys as 4, 1, 2, 1: sorting takes 4 x 2, 1, 2 x 1 and 1; 1 sends to 0, 3 to 2, then 2 to 0."""
    found = counted("sort", {"n": 8}, 4, 1, 2, 1)
    assert found.volumes == [[8, 5, 8], [1], [2, 3], [1]]
    assert found.sizes == [[8, 10, 16], [2], [4, 6], [2]]
    assert found.messages == {(1, 0): [8], (3, 2): [8], (2, 0): [24]}
    assert found.footprints == [128, 16, 48, 16]


@pytest.mark.parametrize("processes", range(1, 18))
def test_sort_brings_all_keys_to_the_first_process(processes):
    keys = [3 + p for p in range(processes)]
    held = [8.0 * count for count in keys]
    for message in run(counted("sort", {"n": sum(keys)}, *keys).columns):
        assert message.size_bytes == held[message.source]
        held[message.destination] += held[message.source]
        held[message.source] = 0
    assert held[0] == 8 * sum(keys)


def test_farm_by_hand():
    found = counted("farm", {"units": 5, "volume": 3, "size": 7, "chunk": 2, "pull": "1ms"}, 1, 0, 1).columns
    (table,) = found.farm_tables
    assert table.volumes.tolist() == [3.0] * 5
    assert (table.size, table.chunk, table.pull_s, table.processes) == (7, 2, 0.001, (0, 2))
    assert found.footprints_bytes.tolist() == [56, 0, 56]


# Laws of all


@pytest.mark.parametrize("name", FITTING)
def test_every_message_is_received_without_deadlock(name):
    parameters, partitions = FITTING[name]
    for partition in partitions:
        found = counted(name, parameters, *partition)
        assert len(run(found.columns)) == len(found.sent)


@pytest.mark.parametrize("name", FITTING)
def test_one_process_sends_nothing_and_a_process_without_units_does_nothing(name):
    parameters, partitions = FITTING[name]
    alone = counted(name, parameters, *partitions[1])
    assert not alone.sent
    assert alone.columns.first[1:].tolist() == [alone.columns.first[-1]] * 3
    for partition in partitions:
        found = counted(name, parameters, *partition)
        if name != "matmul":  # its process 0 is the master
            idle = [process for process, units in enumerate(partition) if not units]
            assert all(found.footprints[process] == 0 for process in idle)
            assert all(found.columns.first[process] == found.columns.first[process + 1] for process in idle)


@pytest.mark.parametrize("name", sorted(set(FITTING) - {"farm", "sort"}))
def test_the_volume_does_not_depend_on_who_computes_and_the_estimate_adds_up_to_it(name):
    parameters, partitions = FITTING[name]
    work = make_work(name, parameters)
    for partition in partitions:
        assert counted(name, parameters, *partition).volume.sum() == pytest.approx(work.compute(3)(work.units).volume)


@pytest.mark.parametrize("name", FITTING)
def test_estimates_grow_with_the_units(name):
    parameters, _ = FITTING[name]
    work = make_work(name, parameters)
    volumes = [work.compute(2)(units).volume for units in range(1, work.units + 1)]
    messages_bytes = [sum(work.messages_bytes(units)) for units in range(1, work.units + 1)]
    assert volumes == sorted(volumes)
    assert messages_bytes == sorted(messages_bytes)


@pytest.mark.parametrize("name", FITTING)
def test_any_partition_is_made_fitting(name):
    parameters, _ = FITTING[name]
    work = make_work(name, parameters)
    for partition in [(work.units, 0, 0), (work.units - 1, 1, 0), (1, 2, work.units - 3)]:
        fitted = work.fitting(partition)
        assert sum(fitted) == work.units
        work.program(Configuration.one_each("c", fitted))


# Bad input

FAULTS = [
    (
        "hpl",
        {"n": 8, "nb": 2, "broadcast": "star"},
        (1, 1),
        "application: parameters: broadcast: it is 'star'; give one of ring, modified_ring, two_rings, binomial",
    ),
    (
        "hpl",
        {"n": 8, "nb": 2},
        (3, 2),
        "configuration c: partition: these are 5 blocks; give column blocks per cycle, 1 to 4 in all, such as 1 for",
    ),
    (
        "matmul_2d",
        {"n": 4, "nb": 2, "grid_rows": 3},
        (8, 8),
        "2 processes, but needs a multiple of grid_rows = 3",
    ),
    ("matmul_2d", {"n": 4, "nb": 2, "grid_rows": 2}, (6, 6), r"12 elements of C together, but n\*\*2 = 16; add 4"),
    (
        "matmul_2d",
        {"n": 4, "nb": 2, "grid_rows": 2},
        (6, 2, 2, 6),
        "configuration c: partition: process 0 has 6 elements of C; give rows of its grid row x columns of its grid",
    ),
    ("fft", {"n": 4}, (3, 2), "5 rows together, but n = 4; take 1 away"),
]


@pytest.mark.parametrize(("name", "parameters", "partition", "message"), FAULTS)
def test_what_does_not_fit_is_refused(name, parameters, partition, message):
    with pytest.raises(ScenarioError, match=message):
        build_program(name, parameters, Configuration.one_each("c", partition))


def test_every_fault_is_told_at_once():
    with pytest.raises(ScenarioError) as caught:
        make_work("hpl", {"n": 0, "grid": 3})
    assert len(caught.value.lines) == 3
