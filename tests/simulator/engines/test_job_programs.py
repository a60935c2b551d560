"""Jobs that are applications, really simulated: alone as a run of their own, together as their links let them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.engines.job_programs import JobPrograms, cluster_of, places_of
from simulator.engines.job_programs import together as program_of
from simulator.engines.jobs import run_jobs
from simulator.engines.run import run
from simulator.programs.applications import APPLICATIONS
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration
from simulator.programs.program import Barrier, Delay, Program
from simulator.programs.streams.stream import JobApplication, make_stream
from simulator.scenario_file.load import load_scenario
from simulator.scenario_file.scenario import Application
from simulator.scheduling.estimates import Estimates, JobTimes
from simulator.scheduling.policy import Policy

ENGINES = ("process", "compiled")
SECOND = 10**9
NS = 1000
"""Ticks of a run per tick of a stream."""
KINDS = {
    "cholesky": {"n": 800, "nb": 100},
    "ep": {"samples": 10**6, "volume": 50.0},
    "farm": {"units": 40, "volume": 2e7, "size": 1000},
    "fft": {"n": 2**8},
    "fft3d": {"n": 64},
    "hpl": {"n": 800, "nb": 100},
    "matmul": {"n": 500},
    "matmul_2d": {"n": 600, "nb": 50, "grid_rows": 2},
    "sort": {"n": 2**18},
    "stencil": {"n": 400, "iterations": 10},
}
PLATFORM = """
format: 1
platform:
  nodes:
    - {{name: fast, count: 2, memory: 32GiB, pes: [{{cores: 2, speeds: {{dgemm: 4 Gflop/s}}{fast}}}]}}
    - name: slow
      count: 4
      memory: 4GiB
      link: {{latency: 20us, bandwidth: 10Gbit/s}}
      pes: [{{speeds: {{dgemm: 1 Gflop/s}}{slow}}}]
  network:
    topology: star
    link: {{latency: 5us, bandwidth: 40Gbit/s}}
    contention: {contention}
    eager: 64KiB
    loopback: {{latency: 500ns, bandwidth: 8GB/s}}
application: {{name: matmul, kernel: dgemm, parameters: {{n: 1000}}}}
configurations: {{equal: {{partition: equal}}}}
replications: 3
"""
LOADS = {
    "fast": ", load: {trace: {times_s: [0, 0.07, 0.11], values: [0, 1, 0.3], end_s: 0.2}, rule: fair}",
    "slow": ", load: {trace: {times_s: [0, 0.05], values: [0, 0.8], end_s: 0.13}, rule: fair}",
}


@pytest.fixture
def scenario(tmp_path):
    def made(contention="fair", loads=("fast", "slow"), text=PLATFORM):
        load = {name: told if name in loads else "" for name, told in LOADS.items()}
        (tmp_path / "scenario.yaml").write_text(text.format(contention=contention, **load))
        return load_scenario(tmp_path / "scenario.yaml")

    return made


def test_all_applications_that_need_no_file_are_here():
    assert set(KINDS) == set(APPLICATIONS) - {"modelled", "recorded"}


def stream_of(jobs, kinds=KINDS):
    """Jobs as (application, submission in seconds, processes)."""
    names = sorted({name for name, _, _ in jobs})
    return make_stream(
        "applications",
        submit_s=[submit for _, submit, _ in jobs],
        processors=[processes for _, _, processes in jobs],
        limit_s=[1000.0] * len(jobs),
        application=np.array([names.index(name) for name, _, _ in jobs]),
        applications=tuple(JobApplication(name, kinds[name]) for name in names),
    )


def together(scenario, stream, engine="process", *, replication=0, programs=JobPrograms, **policy):
    cluster = cluster_of(scenario)
    sizes = np.arange(1, cluster.count + 1)
    planned = np.full((sizes.size, cluster.classes.size), 50.0)
    rows = len(stream.applications)
    return run_jobs(
        stream,
        cluster,
        Policy(processors="named", **policy),
        Estimates(),
        times=JobTimes(stream.application, (sizes,) * rows, (planned,) * rows),
        programs=programs(scenario, stream, replication, engine),
    )


def alone(scenario, name, places, engine="process", *, replication=0, kinds=KINDS):
    """Nanoseconds, rounded up, of a run with equal parts on these places."""
    made = Application(name, "dgemm", kinds[name])
    parts = [made.work.units // len(places)] * len(places)
    parts = [part + (process < made.work.units % len(places)) for process, part in enumerate(parts)]
    placement = tuple(places_of(scenario.platform)[places].tolist())
    asked = replace(scenario, application=made, configurations=(Configuration("lone", tuple(parts), placement),))
    found = run(asked, replications=1, first_replication=replication, engine=engine)
    assert found.tick_s == 1e-12
    return -(-int(found.finish_ticks[0][0].max()) // NS)


# One job


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("contention", ["none", "fair", "fifo"])
def test_a_job_alone_is_a_run_of_its_own(contention, engine, scenario):
    here = scenario(contention)
    for name in KINDS:
        for processes, replication in ((2, 0), (8, 2)):
            runs = together(here, stream_of([(name, 0.0, processes)]), engine, replication=replication)
            told = alone(here, name, runs.pes_of(0), engine, replication=replication)
            assert runs.finish_ticks.tolist() == [told], (name, processes)
            assert runs.engine == engine


@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_that_starts_later_meets_the_load_of_then(engine, scenario):
    """As a run whose traces start later by as much."""
    here = scenario("fair")
    lengths = set()
    for begin in (0.0, 0.03, 0.07, 0.1, 0.19, 1.01):
        runs = together(starting_at(here, 0.02), stream_of([("matmul", begin, 8)]), engine)
        told = alone(starting_at(here, 0.02 + begin), "matmul", runs.pes_of(0), engine)
        assert abs(int(runs.finish_ticks[0] - runs.start_ticks[0]) - told) <= 1
        lengths.add(told)
    assert len(lengths) > 3


def starting_at(scenario, start_s):
    """All loads begin at one time of their traces."""
    pes = tuple(replace(pe, load=replace(pe.load, drawn=False, start_s=start_s)) for pe in scenario.platform.pes)
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


def test_parts_are_those_that_an_application_can_use(scenario):
    """A transform on 7 processes has lines in columns of its grid, no equal ones."""
    runs = together(scenario("none"), stream_of([("fft3d", 0.0, 7)]))
    assert runs.run_s[0] > 0


def test_a_job_that_cannot_run_is_named(scenario):
    with pytest.raises(ScenarioError, match=r"job 1: .*needs a multiple of grid_rows = 2"):
        together(scenario("none"), stream_of([("matmul_2d", 0.0, 3)]))


# Several jobs on links of their own


# Two jobs on one link

TREE = """
format: 1
platform:
  nodes:
    - {{name: a1, pes: [{{speeds: {{dgemm: 1 Gflop/s}}{fast}}}]}}
    - {{name: b1, pes: [{{speeds: {{dgemm: 1 Gflop/s}}{slow}}}]}}
    - {{name: a2, pes: [{{speeds: {{dgemm: 1 Gflop/s}}}}]}}
    - {{name: b2, pes: [{{speeds: {{dgemm: 1 Gflop/s}}}}]}}
  network:
    topology: tree
    link: {{latency: 1us, bandwidth: 100Gbit/s}}
    uplink: {{latency: 1us, bandwidth: 8Gbit/s}}
    switches: [{{name: front, nodes: "a[1-2]"}}, {{name: back, nodes: "b[1-2]"}}]
    contention: {contention}
application: {{name: matmul, kernel: dgemm, parameters: {{n: 1000}}}}
configurations: {{equal: {{partition: equal}}}}
"""
WIRE = SECOND // 10
"""Nanoseconds that 100 MB take on the uplink of 1 GB/s, alone."""
EXCHANGED = {"ep": {"samples": 2, "result_bytes": 10**8}}
"""After a nanosecond both processes send the other so much."""


def exchanges(here, engine, *submits):
    return together(here, stream_of([("ep", submit, 2) for submit in submits], EXCHANGED), engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("late", [0, WIRE // 4, WIRE // 2, WIRE - 1000, 2 * WIRE])
def test_two_jobs_share_a_fair_link_while_both_send(late, engine, scenario):
    """Both at half the bandwidth while both send: the first one loses what they overlap, the second one as much."""
    here = scenario("fair", loads=(), text=TREE)
    lone = alone(here, "ep", [0, 1], engine, kinds=EXCHANGED)
    assert lone == pytest.approx(WIRE, rel=1e-3)
    runs = exchanges(here, engine, 0.0, late / SECOND)
    overlap = max(0, WIRE - late)
    assert (runs.finish_ticks - runs.start_ticks).tolist() == pytest.approx([lone + overlap] * 2, abs=8000)
    assert runs.start_ticks.tolist() == [0, late]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("late", [0, WIRE // 4, WIRE // 2, 2 * WIRE])
def test_two_jobs_send_one_after_the_other_on_a_fifo_link(late, engine, scenario):
    here = scenario("fifo", loads=(), text=TREE)
    lone = alone(here, "ep", [0, 1], engine, kinds=EXCHANGED)
    runs = exchanges(here, engine, 0.0, late / SECOND)
    overlap = max(0, WIRE - late)
    assert (runs.finish_ticks - runs.start_ticks).tolist() == pytest.approx([lone, lone + overlap], abs=8000)


@pytest.mark.parametrize("engine", ENGINES)
def test_jobs_meet_in_a_chain(engine, scenario):
    """Each of four jobs shares the link for a while with the one before, as that one was slowed by its own one before.

    In units of a transfer alone: the second starts at 0.5 and ends at 2.25, the first one at 1.5; the third one has
    sent 0.25 by then and 0.5 when the fourth one starts at 2.5: both have half the link until the third one ends.
    """
    here = scenario("fair", loads=(), text=TREE)
    submits = np.array([0, 0.5, 1.75, 2.5]) * WIRE
    runs = exchanges(here, engine, *(submits / SECOND))
    assert runs.start_ticks.tolist() == submits.tolist()
    assert runs.finish_ticks.tolist() == pytest.approx([ends * WIRE for ends in (1.5, 2.25, 3.5, 4)], abs=20_000)
    assert pes_of(runs) == [[0, 1], [2, 3], [0, 1], [2, 3]]


def pes_of(runs):
    return [runs.pes_of(job).tolist() for job in range(len(runs.stream))]


@pytest.mark.parametrize("engine", ENGINES)
def test_jobs_one_after_the_other_share_neither_places_nor_memory(engine, scenario):
    """Each of the three fills the memory of its node alone."""
    kinds = {"matmul": {"n": 500}}
    text = PLATFORM.replace("4GiB", "9MB").replace("32GiB", "9MB")
    here = scenario("fair", loads=(), text=text)
    runs = together(here, stream_of([("matmul", 0.0, 8)] * 3, kinds), engine)
    assert runs.start_ticks[1:].tolist() == runs.finish_ticks[:-1].tolist()
    assert len({int(ticks) for ticks in runs.finish_ticks - runs.start_ticks}) == 1
    assert runs.finish_ticks[0] == alone(here, "matmul", runs.pes_of(0), engine, kinds=kinds)


@pytest.mark.parametrize("engine", ENGINES)
def test_barriers_are_those_of_a_job(engine, scenario):
    """Two programs of two processes, the second one a quarter of a second later."""
    parts = [assemble(Program(rows, (0, 0))) for rows in (meeting(1.0, 0.5), meeting(3.0, 0.125))]
    columns = program_of(parts, [0.0, 0.25])
    program = Program(((),) * 4, (0,) * 4, assembled=columns)
    here = scenario("none", loads=())
    asked = replace(
        here,
        application=Application.of_program(program, kernel="dgemm"),
        configurations=(Configuration("both", (1,) * 4, (2, 3, 4, 5)),),
    )
    found = run(asked, replications=1, engine=engine)
    assert (found.finish_ticks[0][0] * found.tick_s).tolist() == pytest.approx([1.0, 1.5, 3.25, 3.375])


def meeting(before_s, after_s):
    return (Delay(before_s), Barrier()), (Barrier(), Delay(after_s))


# PEs of several cores


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_takes_more_from_two_jobs_on_a_pe_of_two_cores(engine, scenario):
    """Beside a load of 1, one process has a core of two for itself, and two have two thirds each."""
    text = PLATFORM.replace(
        "[{{cores: 2,", "[{{cores: 2, load: {{trace: {{times_s: [0], values: [1], end_s: 1}}, rule: fair}},"
    )
    here = scenario("none", loads=(), text=text)
    kinds = {"ep": {"samples": 1, "volume": 4e9}}
    runs = together(here, stream_of([("ep", 0.0, 1)], kinds), engine)
    assert runs.run_s.tolist() == [1.0]
    runs = together(here, stream_of([("ep", 0.0, 1), ("ep", 0.5, 1)], kinds), engine)
    assert runs.run_s == pytest.approx([1.25, 1.25], abs=2e-9)


# Many jobs


@dataclass(frozen=True, eq=False)
class Meeting(JobPrograms):
    """Simulates together what cannot meet."""

    meet = True


def drawn_stream(draw, count=8):
    names = draw.choice(list(KINDS), count)
    submits = np.sort(draw.uniform(0, 0.15, count)).round(3)
    return stream_of([*zip(names.tolist(), submits.tolist(), draw.choice([2, 4], count).tolist(), strict=True)])


def check_engines(seeds, scenario):
    waited = 0
    for seed in seeds:
        draw = np.random.default_rng((seed, 4))
        here = scenario(("none", "fair", "fifo")[seed % 3], loads=("fast", "slow")[: seed % 4])
        stream = drawn_stream(draw)
        policy = {
            "backfill": str(draw.choice(["none", "easy", "conservative", "replanned"])),
            "placement": str(draw.choice(["lowest", "fastest", "min-min", "earliest-finish"])),
        }
        one, other = (together(here, stream, engine, replication=1, **policy) for engine in ENGINES)
        assert one.start_ticks.tolist() == other.start_ticks.tolist(), seed
        assert one.finish_ticks.tolist() == other.finish_ticks.tolist(), seed
        waited += np.count_nonzero(one.wait_s > 0)
    assert waited > len(seeds)


def test_engines_agree_on_streams_of_all_applications(scenario):
    check_engines(range(12), scenario)


@pytest.mark.slow
def test_engines_agree_on_many_streams_of_all_applications(scenario):
    check_engines(range(12, 50), scenario)


@pytest.mark.parametrize("engine", ENGINES)
def test_jobs_that_cannot_meet_are_the_same_simulated_together(engine, scenario):
    here = scenario("none", loads=("slow",))
    assert not JobPrograms(here, drawn_stream(np.random.default_rng(1))).meet
    for seed in range(8):
        stream = drawn_stream(np.random.default_rng((seed, 5)))
        one, other = (together(here, stream, engine, programs=programs) for programs in (JobPrograms, Meeting))
        assert one.finish_ticks.tolist() == other.finish_ticks.tolist(), seed


class Wavering:
    """Ends of jobs as three starts in a row move one away and back."""

    engine = done_by = "process"

    def ends(self, started, ended):
        found = {0: (0, 10, 12, 10)[len(started)], 1: 20, 2: 22}
        return {one.job: found[one.job] * SECOND for one in started if one.job not in ended}


def test_an_end_may_move_away_and_back():
    stream = make_stream("s", submit_s=[0, 1, 2], processors=[1] * 3, limit_s=[30] * 3)
    times = JobTimes(np.arange(3), (np.array([1]),) * 3, (np.array([[9.0]]),) * 3)
    runs = run_jobs(stream, 3, Policy(processors="named"), times=times, programs=Wavering())
    assert runs.finish_s.tolist() == [10.0, 20.0, 22.0]


def test_durations_and_counted_pes_are_refused(scenario):
    here = scenario("none")
    stream = make_stream("s", submit_s=[0], processors=[1], run_s=[5], limit_s=[6])
    with pytest.raises(ScenarioError, match="stream s: job 1 is a duration"):
        JobPrograms(here, stream)
    stream = stream_of([("ep", 0.0, 2)])
    times = JobTimes(stream.application, (np.array([2]),), (np.full((1, 1), 5.0),))
    with pytest.raises(ScenarioError, match="programs run on PEs by number; take processors named"):
        run_jobs(stream, 8, Policy(), times=times, programs=JobPrograms(here, stream))
