"""Matmul, stencil and farm on real ranks: where they run, what they answer, and that a wrong answer is noticed."""

import os
import socket
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import psutil
import pytest

from simulator import Configuration
from simulator.calibration import SIZED_KERNELS, Ranks, RealProgram, program_fault
from simulator.calibration.kernels import operands, stencil
from simulator.calibration.kernels.plain import PLAIN, averaged, is_right
from simulator.calibration.kernels.table import panel_kernel
from simulator.calibration.pingpong.ends import StreamChannel
from simulator.calibration.ranks.programs import PROGRAMS, Owners, Room, Seat, agree
from simulator.calibration.ranks.ranks import joined
from simulator.programs.applications import make_work
from simulator.scheduling import balance
from tests.support.processes import relatives

CPUS = sorted(os.sched_getaffinity(0))
PAIR = [CPUS[0], CPUS[-1]]
UNIT = {"volume": 2 * 2 * 32**3, "size": 3 * 32**2}
"""Two products of order 32."""
PROBLEMS = {
    "matmul": ("dgemm", {"n": 64}),
    "matmul_2d": ("dgemm", {"n": 64, "nb": 7, "grid_rows": 1}),
    "stencil": ("stencil", {"n": 700, "iterations": 9}),  # halo rows that are more than a small message
    "farm": ("dgemm", {"units": 50, "chunk": 3, **UNIT}),
}


def program(name, shares, places=None, **parameters):
    kernel, usual = PROBLEMS[name]
    return RealProgram(name, kernel, usual | parameters, tuple(shares), tuple(places or [(CPUS[0],)] * len(shares)))


@pytest.mark.slow
def test_every_program_really_runs_with_several_ranks_on_a_core():
    """Unequal units, ranks on one core and on another, more ranks than cores; ranks check their answers themselves."""
    with Ranks([CPUS[0]] * 5) as ranks:
        for name, splits in {
            "matmul": [(40, 24), (0, 64), (64,), (10, 1, 30, 3, 20)],
            "matmul_2d": [(64 * 40, 64 * 24), (64 * 64,), (64 * 10, 64, 64 * 30, 64 * 3, 64 * 20)],
            "stencil": [(699, 1), (700,), (100, 1, 300, 99, 200)],
            "farm": [(1, 1), (1,), (7, 1, 30, 3, 9)],
        }.items():
            programs = [program(name, units, [(cpu,) for cpu in (PAIR * 3)[: len(units)]]) for units in splits]
            for one in programs:
                ranks.prepare_program(one)
            for one in programs * 2:  # those prepared before are still ready
                run = ranks.run_program(one)
                assert run.makespan_s > 0
                assert len(run.compute) == len(one.units)
                assert (run.pull_s is not None) == (name == "farm")
                if name != "farm":
                    assert [usage.wall_s > 0 for usage in run.compute] == [count > 0 for count in one.units]
    assert relatives() == []


@pytest.mark.slow
def test_a_pool_hands_out_each_unit_once_however_often_ranks_meet_there():
    """Units of some microseconds; the driver counts who did what."""
    fine = {"chunk": 1, "volume": 16, "size": 12, "units": 20_000}
    many = program("farm", (1,) * 4, [(cpu,) for cpu in PAIR * 2], **fine)
    with Ranks(PAIR * 2) as ranks:
        ranks.prepare_program(many)
        for _ in range(20):
            ranks.run_program(many)


@pytest.mark.slow
def test_ranks_go_where_a_program_says_each_time_it_runs():
    with Ranks([PAIR[0]] * 2) as ranks:
        there, back = (program("matmul", (40, 24), [(one,), (other,)]) for one, other in (PAIR, PAIR[::-1]))
        for one in (there, back):
            ranks.prepare_program(one)
        children = [psutil.Process(pid) for pid in sorted(relatives())]
        for one in (back, there, program("matmul", (40, 24), [PAIR, PAIR[1:]])):
            ranks.prepare_program(one)
            ranks.run_program(one)
            assert [child.cpu_affinity() for child in children] == [sorted(set(cpus)) for cpus in one.places]


@pytest.fixture
def seats():
    """What makes the seats of a program in this process, joined as real ranks are."""
    ends = []

    def make(asked):
        channels = [{} for _ in asked.units]
        for one, other in joined(len(asked.units)):
            pair = socket.socketpair()
            ends.extend(pair)
            channels[one][other], channels[other][one] = (StreamChannel(end.fileno(), end.fileno()) for end in pair)
        return [Seat(asked, rank, own, pool.fileno()) for rank, own in enumerate(channels)]

    with tempfile.TemporaryFile() as pool:
        yield make
    for end in ends:
        end.close()


def run_all(parts):
    for part in parts:
        part.ready()
    with ThreadPoolExecutor(len(parts)) as threads:
        list(threads.map(lambda part: part.run(), parts))


@pytest.mark.parametrize("units", [(20,), (1, 19), (5, 1, 14), (2, 3, 4, 11)])
def test_strips_are_what_plain_numpy_finds(seats, units):
    made = program("stencil", units, n=20, iterations=7)
    parts = [PROGRAMS["stencil"].part(seat, Room()) for seat in seats(made)]
    run_all(parts)
    expected = stencil.start(20, 20)
    for _ in range(7):
        expected = averaged(expected)
    assert np.allclose(np.concatenate([part.rows for part in parts]), expected, rtol=1e-13)
    assert np.allclose(stencil.start(20, 20, steps=7), expected, rtol=1e-13)  # the closed form that each rank looks at
    for part in parts:
        part.check()


def draw_times(monkeypatch, seed):
    """Times that ranks say they took, drawn by rank and call, whichever thread comes first."""
    calls, decide = Counter(), Owners._decide

    def drawn(owners, balancer, _, arrays):
        rank, (first, end) = owners._seat.rank, owners.own
        calls[rank] += 1
        each_s = np.random.default_rng([seed, rank, calls[rank]]).uniform(0.1, 1.0)
        decide(owners, balancer, (end - first) * each_s, arrays)

    monkeypatch.setattr(Owners, "_decide", drawn)


@pytest.mark.parametrize("units", [(10, 10), (1, 19), (5, 1, 14), (16, 2, 1, 1), (1, 1, 2, 16)])
@pytest.mark.parametrize("seed", [0, 1])
def test_strips_whose_rows_move_are_what_plain_numpy_finds(seats, monkeypatch, units, seed):
    """Whatever times ranks see: as many rows may move across as many ranks as there are."""
    state = balance.begin(units, rule=balance.Rule("every"))
    made = replace(program("stencil", units, n=20, iterations=9), balance=balance.save(state), every=2)
    draw_times(monkeypatch, seed)
    parts = [PROGRAMS["stencil"].part(seat, Room()) for seat in seats(made)]
    for _ in range(2):  # a second run begins as the first one
        run_all(parts)
        expected = stencil.start(20, 20, steps=9)
        assert np.allclose(np.concatenate([part.rows for part in parts]), expected, rtol=1e-13)
        reports = [part.check() for part in parts]
    assert reports[0]["moves"] == reports[-1]["moves"] >= 1


def test_a_stencil_that_does_not_hear_of_its_neighbour_is_noticed(seats, monkeypatch):
    monkeypatch.setattr("simulator.calibration.ranks.programs._exchange", lambda *_: None)
    parts = [PROGRAMS["stencil"].part(seat, Room()) for seat in seats(program("stencil", (12, 8), n=20, iterations=1))]
    run_all(parts)
    with pytest.raises(ValueError, match="row 11 of the stencil is wrong after 1 iterations"):
        parts[0].check()
    with pytest.raises(ValueError, match="row 12 of the stencil is wrong"):
        parts[1].check()


@pytest.mark.parametrize("units", [(24,), (10, 14), (0, 9, 15)])
def test_the_product_is_what_plain_numpy_finds(seats, units):
    parts = [PROGRAMS["matmul"].part(seat, Room()) for seat in seats(program("matmul", units, n=24))]
    run_all(parts)
    expected = np.einsum("ik,kj->ij", operands.left(24, 24), operands.right(24))
    assert np.allclose(parts[0]._c, expected, rtol=1e-12)
    parts[0].check()
    parts[0]._c[12] += 1
    with pytest.raises(ValueError, match="row 12 of the product is wrong"):
        parts[0].check()


@pytest.mark.parametrize("kernel", ["dgemm", "matmul"])
@pytest.mark.parametrize("nb", [1, 5, 24, 30])
@pytest.mark.parametrize("rows", [(24,), (10, 14), (1, 8, 15)])
def test_the_product_by_panels_is_what_plain_numpy_finds(seats, rows, nb, kernel):
    asked = program("matmul_2d", [24 * one for one in rows], n=24, nb=nb, grid_rows=len(rows))
    parts = [PROGRAMS["matmul_2d"].part(seat, Room()) for seat in seats(replace(asked, kernel=kernel))]
    for _ in range(2):
        run_all(parts)
        expected = np.einsum("ik,kj->ij", operands.left(24, 24), operands.right(24))
        assert np.allclose(np.concatenate([part.rows for part in parts]), expected, rtol=1e-12)
        for part in parts:
            part.check()
    parts[0].rows[0] += 1
    with pytest.raises(ValueError, match="row 0 of the product is wrong"):
        parts[0].check()


@pytest.mark.parametrize("rows", [(10, 10), (1, 19), (5, 1, 14), (1, 1, 2, 16)])
@pytest.mark.parametrize("seed", [0, 1])
def test_panels_whose_rows_move_are_what_plain_numpy_finds(seats, monkeypatch, rows, seed):
    """Rows of B that pass to another rank are broadcast from there."""
    state = balance.begin(rows, rule=balance.Rule("every"))
    asked = program("matmul_2d", [20 * one for one in rows], n=20, nb=3, grid_rows=len(rows))
    draw_times(monkeypatch, seed)
    made = replace(asked, balance=balance.save(state), every=2)
    parts = [PROGRAMS["matmul_2d"].part(seat, Room()) for seat in seats(made)]
    for _ in range(2):
        run_all(parts)
        expected = np.einsum("ik,kj->ij", operands.left(20, 20), operands.right(20))
        assert np.allclose(np.concatenate([part.rows for part in parts]), expected, rtol=1e-12)
        reports = [part.check() for part in parts]
    assert reports[0]["moves"] == reports[-1]["moves"] >= 1


@pytest.mark.parametrize("n", [1, 12, 13, 40])
def test_a_row_of_the_product_needs_the_distinct_rows_of_b_alone(n):
    expected = operands.left(n, n) @ operands.right(n)
    assert np.allclose([operands.product_row(n, row) for row in range(n)], expected, rtol=1e-12)


@pytest.mark.parametrize("chunk", [1, 3, 50, 80])
def test_a_farm_does_each_unit_once_and_each_rank_pulls_until_nothing_is_left(seats, chunk):
    asked = program("farm", (1, 1, 1), chunk=chunk)
    parts = [PROGRAMS["farm"].part(seat, Room()) for seat in seats(asked)]
    for _ in range(2):
        run_all(parts)
        told = [part.check() for part in parts]
        assert sum(one["pulls"] for one in told) == -(-50 // chunk) + 3  # as the simulated farm
        assert sum(one["units"] for one in told) == 50
        assert agree(asked, told) is None
    told[0] = told[0] | {"units": told[0]["units"] - 1}
    assert agree(asked, told) == "the farm has 50 units, of which the ranks did 49"


def test_a_kernel_that_answers_wrongly_is_no_unit(seats, monkeypatch):
    monkeypatch.setitem(PLAIN, "dgemm", lambda n: np.zeros((n, n)))
    with pytest.raises(ValueError, match="kernel dgemm: what it answers for n = 32 is wrong"):
        PROGRAMS["farm"].part(seats(program("farm", (1,)))[0], Room())


@pytest.mark.parametrize("name", PLAIN)
def test_kernels_answer_what_plain_numpy_finds_again_and_again(name):
    n = SIZED_KERNELS[name].n_of(500)
    prepared = SIZED_KERNELS[name].prepare(n)
    assert prepared.reset is None
    for _ in range(2):
        assert is_right(name, n, prepared.run())
    assert not is_right(name, n, prepared.run() + 1e-3)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (("stencil", "dgemm", {}), "stencil really runs with the kernel stencil, not with 'dgemm'"),
        (("matmul", "fft", {}), "matmul really runs with the kernels dgemm, matmul, not with 'fft'"),
        (
            ("farm", "dgemm", UNIT | {"size": 3000}),
            "size 3000 and .* the nearest run is n = 32: `size: 3072`, `volume: 65536`",
        ),
        (("ep", "dgemm", {}), "ep has no real program here; matmul, matmul_2d, stencil and farm have"),
        (("matmul_2d", "dgemm", {"broadcast": "binomial"}), "really broadcasts in a ring, not by binomial"),
        (("matmul_2d", "dgemm", {}, [(2, 1), (1, 2)]), "on one column of processes, not on 2; give grid_rows"),
    ],
)
def test_what_cannot_really_run_is_said_with_what_can(asked, found):
    import re

    assert re.search(found, program_fault(*asked))
    assert program_fault("farm", "dgemm", UNIT) is None


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_measured_kernel_counts_as_the_simulated_computation(name):
    """Volume and problem size of one process with all units are those of a run of the kernel."""
    kernel, parameters = PROBLEMS[name]
    work = make_work(name, {"pull": "1us", **parameters} if name == "farm" else parameters, None)
    compute = work.compute(1)(work.units)
    runs = {"matmul": 1, "stencil": parameters.get("iterations"), "farm": 2 * parameters.get("units", 0)}
    measured, count = SIZED_KERNELS[kernel], runs.get(name)
    if name == "matmul_2d":
        measured, count = panel_kernel(kernel, 64, 7), 64 / 7
    n = measured.n_of(compute.size)
    assert compute.size == measured.size(n)
    assert compute.volume == pytest.approx(count * measured.volume(n))
    assert work.program(Configuration("c", (work.units,), (0,))).operations
