"""Starts of loads: one in each of as many parts as there are replications, and the same ones for whoever asks."""

from dataclasses import replace

import numpy as np
import pytest

from simulator import (
    PE,
    Configuration,
    LinkModel,
    Load,
    LoadTrace,
    Platform,
    Repartition,
    ScenarioError,
    SpeedBand,
    export_simgrid,
    load_scenario,
    run,
    write_timeline,
)
from simulator.base import intervals
from simulator.engines.waited_for import waited_for
from simulator.experiments.sweep import keeping, run_or_recall
from simulator.models.doubt import Doubt
from simulator.models.load import Capacity
from simulator.programs.program import Compute, Program
from simulator.results.comparison import compare
from simulator.results.timelines.counters import load_profiles
from simulator.scenario_file.scenario import Application, Scenario, truth_count
from simulator.scenario_file.truths import SERIES, draw
from tests.support import platforms

LINK = LinkModel.from_latency(1e-5, 1e9)
ENGINES = ("process", "compiled")
END_S = 1000.0


def loaded(on, work_s, *, pes=1, value=4.0, replications=200):
    """Work on idle PEs but for a load that is there for a share of the time, each with a clock of its own."""
    trace = LoadTrace(np.array([0.0, END_S * on]), np.array([value, 0.0]), END_S)
    speeds = {"k": SpeedBand.constant(1.0)}
    each = tuple(PE(f"pe{i}", f"n{i}", speeds, Load(trace, "fair")) for i in range(pes))
    program = Program(((Compute(work_s, 1.0),),) * pes, (0,) * pes)
    configurations = (Configuration("c", (1,) * pes, tuple(range(pes))),)
    application = Application.of_program(program, kernel="k")
    return Scenario(Platform.uniform(each, LINK), application, configurations, replications)


def places(scenario, **first):
    """Where loads start, as shares of the trace; (replication, PE)."""
    return draw(scenario, **first).load_starts_s / END_S


def doubted(scenario, truths):
    """The same of a load that is a record, so that truths of it are drawn."""
    pes = tuple(replace(pe, load=replace(pe.load, recorded=True)) for pe in scenario.platform.pes)
    return replace(scenario, platform=replace(scenario.platform, pes=pes), truths=truths)


@pytest.mark.parametrize("replications", [1, 7, 200])
@pytest.mark.parametrize("truths", [None, 3])
def test_all_replications_start_one_in_each_part(replications, truths):
    made = loaded(0.1, 1.0, pes=2, replications=replications)
    made = made if truths is None else doubted(made, truths)
    for first in (0, replications, SERIES, SERIES + 3 * replications):
        for starts in places(made, first=first).T:
            assert sorted(np.floor(starts * replications).astype(int).tolist()) == list(range(replications))


def test_each_start_is_even_over_the_trace():
    made, seeds = loaded(0.1, 1.0, replications=7), 500
    starts = np.array([places(replace(made, seed=seed))[:, 0] for seed in range(seeds)])
    assert np.abs(starts.mean(axis=0) - 0.5).max() < 4 / np.sqrt(12 * seeds)
    for place in range(7):
        counts = np.histogram(starts[:, place], bins=4, range=(0, 1))[0]
        assert np.abs(counts / seeds - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / seeds)


def test_clocks_start_independently():
    made, seeds = loaded(0.1, 1.0, pes=2, replications=20), 500
    both = np.array([places(replace(made, seed=seed)) - 0.5 for seed in range(seeds)])
    assert abs(np.mean(both[:, :, 0] * both[:, :, 1]) * 12) < 4 / np.sqrt(20 * seeds)
    whole = both.mean(axis=1)
    assert abs(np.corrcoef(whole.T)[0, 1]) < 4 / np.sqrt(seeds)


def test_series_and_rounds_start_elsewhere():
    made = loaded(0.1, 1.0)
    orders = [np.argsort(places(made, first=first)[:, 0]).tolist() for first in (0, 200, SERIES, 2 * SERIES)]
    assert len(set(map(tuple, orders))) == 4
    across = places(replace(made, replications=30, strata=200), first=185)
    assert np.array_equal(across[:15], places(made)[185:])
    assert np.array_equal(across[15:], places(made, first=200)[:15])
    over = places(replace(made, replications=2, strata=200), first=SERIES - 1)
    assert np.array_equal(over[1:], places(made, first=SERIES)[:1])


def test_the_number_of_the_call_counts_if_it_is_larger():
    made = loaded(0.1, 1.0, replications=20)
    assert [run(made, replications=count).strata for count in (None, 5, 20, 50)] == [20, 20, 20, 50]
    assert run(replace(made, strata=10), replications=50).strata == 10
    whole = run(made, replications=50, engine="process").makespan_ticks
    assert np.array_equal(whole, run(replace(made, replications=50), engine="process").makespan_ticks)


def test_runs_that_are_kept_say_how_starts_were_drawn(tmp_path):
    made = loaded(0.1, 1.0, replications=20)
    for _ in range(2):
        with keeping(tmp_path / "kept.jsonl", "search"):
            runs = run_or_recall(made, replications=5)
        assert runs.strata == 20
        assert np.array_equal(runs.makespan_ticks, run(made).makespan_ticks[:, :5])


def test_what_is_compared_with_runs_draws_as_they_did():
    made = loaded(0.3, 1.0, replications=50)
    few = run(made, replications=10)
    (same,) = compare(few, made).differences
    assert np.array_equal(same.first_s, same.second_s)
    with pytest.raises(ScenarioError, match=r"draws differ \(10 of 50 replications of seed 0 and 10 rep"):
        compare(few, run(replace(made, replications=10)))


STENCIL = """
format: 1
platform:
  nodes:
    - {name: a, pes: [{speeds: {k: 1 Gflop/s}}], load: {trace: {times_s: [0, 3.3, 5], values: [0, 2, 1], end_s: 9}%s}}
    - {name: b, pes: [{speeds: {k: 2 Gflop/s}}], load: {trace: {times_s: [0, 2], values: [3, 0], end_s: 7.1}%s}}
    - {name: c, pes: [{speeds: {k: 2 Gflop/s}}]}
  link: {latency: 10us, bandwidth: 1GB/s}
application: {name: stencil, kernel: k, parameters: {n: 300, iterations: 6}}
configurations: {equal: {partition: equal}, other: {partition: [150, 100, 50]}}
replications: 12
seed: 5
"""


def stencil(folder, *, doubt):
    """A stencil on PEs with loads, slow enough that where these start shows."""
    path = folder / "s.yaml"
    path.write_text(STENCIL % ((", rule: fair, recorded: true",) * 2 if doubt else (", rule: fair",) * 2))
    made = load_scenario(path)
    pes = tuple(replace(pe, speeds={"k": SpeedBand.constant(1e5 * (1 + place))})
                for place, pe in enumerate(made.platform.pes))  # fmt: skip
    return replace(made, platform=replace(made.platform, pes=pes), truths=4 if doubt else None)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("doubt", [False, True])
def test_one_replication_alone_is_its_row_of_the_whole_run(tmp_path, engine, doubt):
    made = stencil(tmp_path, doubt=doubt)
    moving = replace(made.configurations[0], name="moving", repartition=Repartition("gain", 2))
    made = made.with_configurations((*made.configurations, moving))
    whole = run(made, engine=engine, log_replications=8)
    assert (truth_count(made) > 1) == doubt
    assert np.unique(whole.makespan_ticks[0]).size == 12
    for replication in (0, 3, 7):
        how = {"replications": 1, "first_replication": replication, "engine": engine, "log_replications": 1}
        for asked in (made, whole.drawn(replace(made, replications=1, seed=0, truths=None))):
            alone = run(asked, **how)
            assert (alone.seed, alone.strata, alone.truth_count) == (whole.seed, 12, whole.truth_count)
            assert np.array_equal(alone.makespan_ticks[:, 0], whole.makespan_ticks[:, replication])
            assert alone.partitions["moving"][0] == whole.partitions["moving"][replication]
            assert all(alone.logs[row, 0] == whole.logs[row, replication] for row in range(3))
            assert waited_for(asked, alone, 0, 0, first_replication=replication) == waited_for(
                made, whole, 0, replication
            )


@pytest.mark.parametrize("ending", ["t.json", "t.csv"])
def test_a_timeline_of_one_replication_is_that_of_the_whole_run(tmp_path, ending):
    made = stencil(tmp_path, doubt=True)
    whole = run(made, engine="process", log_replications=6)
    alone = run(made, engine="process", replications=1, first_replication=5, log_replications=1)
    one, other = tmp_path / f"one-{ending}", tmp_path / f"other-{ending}"
    write_timeline(one, made, runs=whole, configurations=["equal"], replication=5)
    bare = replace(made, replications=1, seed=0)
    write_timeline(other, bare, runs=alone, configurations=["equal"], first_replication=5)
    assert one.read_text() == other.read_text()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("on", "work_s", "pes"), [(0.05, 1.0, 1), (0.05, 10.0, 1), (0.05, 5.0, 4),
                                                   (0.01, 1.0, 1), (0.01, 10.0, 1), (0.01, 5.0, 4)])  # fmt: skip
def test_intervals_of_rare_loads_hold_and_are_no_wider_than_those_of_independent_starts(on, work_s, pes):
    made = loaded(on, work_s, pes=pes)
    trace = made.platform.pes[0].load.trace
    begins_s = (np.arange(400_000) + 0.5) / 400
    takes_s = np.sort(Capacity.of(trace, "fair").finish(begins_s, work_s) - begins_s)
    weights = np.diff((np.arange(takes_s.size + 1) / takes_s.size) ** pes)
    mean_s = float(takes_s @ weights)
    sd_s = float(np.sqrt((takes_s - mean_s) ** 2 @ weights))
    held, squares = 0, 0.0
    for seed in range(200):
        found = intervals.of_mean(run(made, seed=seed, engine="compiled").makespan_s, None)
        held += found.low[0] - 1e-9 <= mean_s <= found.high[0] + 1e-9
        squares += float(found.high[0] - found.low[0]) ** 2
    assert held >= 0.88 * 200
    # in the mean of squares: independent starts often missed the load, and then said an interval without width
    assert np.sqrt(squares / 200) <= 1.02 * 2 * 1.6525 * sd_s / np.sqrt(200)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("doubt", [0.05, 0.15, 0.5])
def test_intervals_hold_where_a_load_varies_more_than_truths_do(doubt):
    trace = LoadTrace(np.array([0.0, 285.0]), np.array([4.0, 0.0]), END_S)
    band = SpeedBand(*(np.array([x]) for x in (1.0, 1.0, 1.0, 1.0)), doubt=Doubt.constant(doubt))
    made = loaded(0.285, 1.0)
    pes = (replace(made.platform.pes[0], speeds={"k": band}),)
    made, held = replace(made, platform=Platform.uniform(pes, LINK), truths=20), 0
    capacity, begins_s, draws = Capacity.of(trace, "fair"), np.arange(2000) / 2 + 0.25, np.random.default_rng(5)
    for seed in range(300):
        runs = run(made, seed=seed, engine="compiled")
        work_s = float(Doubt.constant(doubt).factor(1.0, draws.standard_normal()))
        mean_s = float(np.mean(capacity.finish(begins_s, work_s) - begins_s))
        found = intervals.of_mean(runs.makespan_s, runs.truths)
        held += found.low[0] <= mean_s <= found.high[0]
    assert held >= 0.86 * 300


@pytest.mark.parametrize("engine", ENGINES)
def test_some_replications_alone_are_rows_of_all(engine):
    made = loaded(0.2, 50.0, pes=2, replications=20)
    whole = run(made, engine=engine).makespan_ticks
    assert np.array_equal(run(made, engine=engine, only=[7, 2, 13]).makespan_ticks, whole[:, [7, 2, 13]])


@pytest.mark.parametrize(
    ("values", "replications", "wanted"),
    [
        ([0, 1], 59, ("load of a: it is there 5 % of the time, which 59 replications hardly meet; take 60",)),
        ([0, 1], 60, ()),
        ([0, 0], 2, ()),
        ([0.5, 1], 10, ()),
    ],
)
def test_a_load_that_replications_hardly_meet_is_said_with_how_many_would_do(values, replications, wanted):
    """There for the last 5 of 100 s."""
    load = LoadTrace(np.array([0.0, 95.0]), np.array(values, dtype=float), 100.0)
    made = platforms.scenario([platforms.pe("a", 1e9, load)], 200, (200,), replications=replications)
    assert made.warnings == wanted


def fixed(scenario, replication):
    """The scenario whose loads start where one replication has them."""
    starts_s = draw(scenario).load_starts_s[replication].tolist()
    pes = tuple(
        pe if pe.load is None else replace(pe, load=replace(pe.load, drawn=False, start_s=start_s))
        for pe, start_s in zip(scenario.platform.pes, starts_s, strict=True)
    )
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


def test_pictures_and_exports_of_a_replication_have_the_loads_of_its_run(tmp_path):
    made = stencil(tmp_path, doubt=False)
    for replication in (0, 5, 11):
        there, alone = fixed(made, replication), run(made, replications=1, first_replication=replication)
        assert run(there).makespan_ticks[0, 0] == run(made).makespan_ticks[0, replication]
        asked = alone.drawn(replace(made, replications=1))
        for one in (made, asked):
            profiles = [
                load_profiles(scenario, replication=replication, end_s=20.0, most=200) for scenario in (one, there)
            ]
            assert all(
                np.array_equal(*pair)
                for pair in zip(*(both[made.platform.pes[0].name] for both in profiles), strict=True)
            )
            files = [export_simgrid(scenario, replication=replication).files for scenario in (one, there)]
            assert {name: text for name, text in files[0].items() if name != "platform.xml"} == {
                name: text for name, text in files[1].items() if name != "platform.xml"
            }
