"""Campaigns on real processes: who runs beside whom and for how long, what is planned, kept and refused."""

import os
import shlex
import sys
import time

import pytest

from simulator import ScenarioError, this_machine
from simulator.base.machine import CacheUnit, Core, MemoryUnit, Topology
from simulator.calibration.bench.journal import points_kept
from simulator.calibration.bench.usage import Usage
from simulator.calibration.neighbours import campaign
from simulator.calibration.neighbours.plan import (
    CellPlan,
    Item,
    Plan,
    check_cores,
    command_name,
    make_cells,
    make_items,
    proposals,
)
from simulator.calibration.neighbours.processes import Processes
from simulator.calibration.speed.subjects import command_subject

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:2]
TWO = pytest.mark.skipif(len(CPUS) < 2, reason="one core only may be used here")
SMALL = [
    Item("integration", 2 * 10**5, 2e5, 8, 1.2e6, "computes"),
    Item("triad", 10**5, 3e5, 2400000, 2e5, "memory"),
    Item("triad", 10**4, 3e4, 240000, 2e4, "cached"),
]


def topology(count, **more):
    cores = tuple(Core(cpu, ()) for cpu in range(count))
    everyone = (tuple(range(count)),)
    return Topology(
        "a file", None, None, cores, **{"caches": (), "packages": everyone, "numa": ()} | more, memory_bytes=1
    )


def test_one_core_is_refused():
    with pytest.raises(ScenarioError, match="only one core may be used here, and two have to meet"):
        check_cores(topology(1))
    check_cores(topology(2))


def test_what_a_machine_tells_becomes_proposals():
    caches = (
        CacheUnit(1, "instruction", 2**15, (0, 1)),
        CacheUnit(2, "unified", 2**20, (0,)),
        CacheUnit(3, "unified", 2**25, (0, 1)),
        CacheUnit(3, "unified", 2**25, (2, 3)),
    )
    numa = (MemoryUnit(0, 1, (0, 1)), MemoryUnit(1, 1, (2, 3)))
    found = proposals(topology(4, caches=caches, numa=numa))
    assert [(one.kind, one.level, one.pes) for one in found] == [
        ("cache", "L3", (0, 1)),
        ("cache", "L3", (2, 3)),
        ("memory", "memory", (0, 1)),
        ("memory", "memory", (2, 3)),
        ("clock", "clock", (0, 1, 2, 3)),
    ]


@pytest.mark.parametrize("cores", [2, 3, 16])
def test_cells_meet_every_probe_and_all_cores_at_once(cores):
    items, _ = make_items(this_machine(), pe_count=cores, kernels=("dgemm", "sort"), commands=())
    cells = make_cells(items, cores)
    met = {tuple(items[number].role for number in cell.items) for cell in cells}
    assert {("kernel", "memory"), ("memory", "kernel"), ("kernel", "cached"), ("cached", "memory")} <= met
    assert ("computes",) * cores in met
    assert ("memory",) * cores in met
    assert all(len(set(cell.pes)) == len(cell.items) <= cores for cell in cells)
    assert len({(cell.items, cell.pes) for cell in cells}) == len(cells)


def test_operands_together_stay_below_their_share_of_memory():
    machine = this_machine()
    for cores in (2, 64):
        items, _ = make_items(machine, pe_count=cores, kernels=("dgemm", "sort", "fft"), commands=())
        assert 2 * sum(item.bytes for item in items) < machine.memory_available_bytes
        assert cores * max(item.bytes for item in items) < 0.25 * machine.memory_available_bytes


def test_names_of_commands_are_words_of_a_table():
    subject = command_subject("cat /dev/null {n}", size="n", volume="n")
    assert command_name(subject) == "cat--dev-null"


@TWO
def test_a_neighbour_is_there_from_begin_to_end():
    """What it says it did fills the time that it was asked for, on its own processor."""
    with Processes(CPUS, SMALL, (), memory_bytes=2**30) as processes:
        processes.prepare(1, 0, 1)
        begin = time.perf_counter()
        with processes.running([(1, 1)]) as used:
            own = processes.sample(1, 0, 200)
        whole = time.perf_counter() - begin
    assert used[0].wall_s >= own.wall_s
    assert used[0].wall_s > 0.6 * whole
    assert own.cpu_s / 200 / 3 < processes.run_s[1] < 3 * own.cpu_s / 200


def test_what_others_took_is_recognised():
    assert campaign._disturbance(Usage(0.99, 1.0)) == 0
    assert campaign._disturbance(Usage(0.8, 1.0)) == pytest.approx(0.25)
    sleeps = Usage(0.1, 1.0, 5, 2)
    assert campaign._disturbance(sleeps, sleeps=True) == 0
    assert campaign._disturbance(Usage(0.5, 1.0, 0, 400), sleeps=True) > 0


@TWO
@pytest.mark.slow
def test_a_campaign_is_kept_and_gone_on_with(tmp_path):
    wishes = campaign.NeighboursWishes(CPUS, kernels=())
    store = tmp_path / "visits"

    def measure(passes):
        return campaign.measure_neighbour_visits(
            wishes,
            budget_s=60,
            store=store,
            items=(list(SMALL), []),
            make_plan=lambda items, count: make_cells(items, count)[:3],
            most_passes=passes,
        )

    first = measure(1)
    kept = store.read_text()
    again = measure(2)
    assert store.read_text().startswith(kept)
    assert (first.reused, again.reused) == (0, len(first.plan.cells))
    assert again.plan == first.plan
    assert points_kept(store) == 2 * len(first.plan.cells)
    model = campaign.fit_neighbour_visits(again)
    assert model.pe_count == 2
    other = campaign.NeighboursWishes(CPUS, kernels=(), seed=1)
    with pytest.raises(ScenarioError, match="holds visits of"):
        campaign.measure_neighbour_visits(other, budget_s=60, store=store, items=(list(SMALL), []))


@TWO
@pytest.mark.slow
def test_the_wall_clock_counts_for_commands_that_sleep():
    code = "[__import__('time').sleep(1e-3) for _ in range(99)]"
    subject = command_subject(f"{sys.executable} -I -S -c {shlex.quote(code)} {{n}}", size="n", volume="n")
    items = [*SMALL, Item("own", 8, 8.0, 64, 8.0, "kernel", 0)]
    wishes = campaign.NeighboursWishes(CPUS, kernels=(), commands=(subject,))
    found = campaign.measure_neighbour_visits(
        wishes,
        budget_s=60,
        items=(items, []),
        make_plan=lambda _items, _count: [CellPlan((3, 1), (0, 1), 0)],
        most_passes=1,
    )
    assert found.plan.items[3].sleeps
    assert len(found.visits) == 1


@TWO
def test_a_budget_that_cannot_do_is_refused_at_once():
    wishes = campaign.NeighboursWishes(CPUS, kernels=())
    with pytest.raises(ScenarioError, match="--budget: 2 s is too short for processes to start; give 5 s or more"):
        campaign.measure_neighbour_visits(wishes, budget_s=2)


def summed(*disturbed):
    """A campaign whose visits to its one cell were disturbed so much."""
    wishes = campaign.NeighboursWishes((0, 1), kernels=())
    visits = campaign.Visits(None, campaign.Visit, name="neighbours", subject={}, machine=None)
    plan = Plan(tuple(SMALL), (CellPlan((1, 1), (0, 1), 0),))
    visits.keep_plan(plan)
    for number, lost in enumerate(disturbed):
        visits.keep(campaign.Visit(number, 0, 0.1, (0, 1), 1.0, 1.0 + lost, lost, 1))
    return campaign._summed(visits, plan, wishes)


def test_visits_that_others_disturbed_are_left_out_and_counted():
    found = summed(*[0.0] * 9, 0.5)
    assert [one.together_s for one in found.visits] == [1.0] * 9
    assert (found.made, found.disturbed, found.is_busy) == (10, 1, False)
    assert found.warnings == ("1 of 10 visits disturbed by other programs, 1 of them left out",)


def test_pes_that_are_slow_together_are_said_to_share_a_core():
    """Six PEs, of which the second and the fifth are slow in some visits, and the third in others."""
    cell, pes = CellPlan((1,) * 6, tuple(range(6)), 0), (0, 1, 2, 3, 4, 5)
    visits = campaign.Visits(None, campaign.Visit, name="neighbours", subject={}, machine=None)
    plan = Plan(tuple(SMALL), (cell,))
    visits.keep_plan(plan)
    for number in range(12):
        slow = (1, 4) if 3 <= number < 8 else (2,) if number == 9 else ()
        each_s = tuple(1.5 if pe in slow else 1.0 + 0.01 * pe for pe in pes)
        visits.keep(campaign.Visit(number, 0, 0.1, pes, 1.0, each_s[0], 0.0, 1, 10.0 * number, each_s))
    wishes = campaign.NeighboursWishes((2, 3, 4, 5, 8, 9), kernels=())
    (line,) = campaign._summed(visits, plan, wishes).warnings
    assert line.startswith("PEs cpu3 and cpu8 (5) seem to share a core: in so many of 12 runs at once")
    few = campaign.NeighboursWishes((2, 3, 4, 5, 8, 9, 10), kernels=())  # not all PEs were at work
    assert campaign._summed(visits, plan, few).warnings == ()


def test_a_busy_machine_is_said_and_marked():
    found = summed(1.0, 1.0)
    assert len(found.visits) == 2
    assert found.is_busy
    assert found.warnings[0].startswith("a busy machine: ")
    assert found.warnings[-1].startswith("1 of 1 cells rest on disturbed visits alone, in which others had about 50%")
