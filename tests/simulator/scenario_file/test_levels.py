"""PEs that change their level: as noise where a level outlasts the run, as a trace where it does not."""

from dataclasses import replace

import numpy as np
import pytest

import simulator as sim
from advisor.advise.kinds import _pe_key
from simulator.models.doubt import Noise
from simulator.models.levels import Levels
from simulator.models.neighbours import ShareTable, SharingDomain
from simulator.models.speed import SpeedBand
from simulator.results.platform_export import export_simgrid
from simulator.scenario_file.levels import with_level_traces

FACTORS = (0.8, 1.0, 1.0, 1.6)
LINK = sim.Link("none", "1ns", "1000 Gbit/s")


def band(lasts_s, factors=FACTORS):
    levels = Levels(np.array([1.0]), np.array([factors]), lasts_s)
    return SpeedBand(np.ones(1), *[np.full(1, 1e9)] * 3, noise=Noise(np.array(factors), levels))


def scenario(lasts_s, *, seconds=1.0, pes=4, load=None):
    """Equal parts of so many seconds at the middle speed."""
    made = band(lasts_s)
    many = [sim.PE(f"core{pe}", "host", {"made": made}, load=load) for pe in range(pes)]
    parts = {"samples": 1000 * pes, "volume": seconds * 1e6, "result_bytes": 0}
    return sim.Scenario(sim.uniform(many, link=LINK), sim.Application("ep", "made", parts), {"equal": "equal"}, 100)


def test_a_level_that_outlasts_the_run_is_drawn_for_the_run():
    known, unknown = sim.run(scenario(1e4)), sim.run(scenario(None))
    assert known.makespan_ticks.tolist() == unknown.makespan_ticks.tolist()
    assert sim.run(scenario(None, pes=60)).makespan_s.max() == pytest.approx(1.6, rel=1e-5)
    assert with_level_traces(scenario(1e4)).platform.pes[0].load is None


def test_a_long_run_takes_the_mean_of_all_levels():
    made = sim.run(scenario(0.001, pes=2)).makespan_s
    assert made == pytest.approx(np.full(made.shape, 1 / np.mean(1 / np.array(FACTORS))), rel=0.03)


def test_the_slowest_of_many_gets_nearer_to_the_mean_as_runs_grow_longer():
    medians = [float(np.median(sim.run(scenario(5.0, seconds=s, pes=16)).makespan_s)) / s for s in (0.1, 20.0, 200.0)]
    assert medians[0] == pytest.approx(1.6, rel=0.02)
    assert medians[0] - 0.1 > medians[1] > medians[2] + 0.05 > 1.09


def test_stays_and_runs_both_so_many_times_as_long_take_as_many_times():
    one, other = (sim.run(scenario(2.0 * by, seconds=by)).makespan_s for by in (1.0, 8.0))
    assert other == pytest.approx(8.0 * one, rel=1e-5)


def test_both_engines_do_the_same():
    made = scenario(0.5)
    found = [sim.run(made, engine=engine).makespan_ticks.tolist() for engine in ("process", "compiled")]
    assert found[0] == found[1]


def test_a_further_pe_shifts_no_draw_of_others():
    few, more = (sim.run(scenario(0.5, pes=count)).busy_ticks[0] for count in (3, 4))
    assert few.tolist() == more[:, :3].tolist()


def test_pes_start_in_levels_of_their_own():
    busy = sim.run(scenario(0.15, seconds=0.01)).busy_ticks[0]
    assert abs(np.corrcoef(busy[:, 0], busy[:, 1])[0, 1]) < 0.4


def test_a_pe_with_a_load_of_its_own_keeps_the_noise():
    load = sim.Load(sim.LoadTrace(np.zeros(1), np.zeros(1), 10.0), "fair")
    assert with_level_traces(scenario(0.001, load=load)).platform.pes[0].load is load
    assert sim.run(scenario(0.001, load=load, pes=30)).makespan_s.max() == pytest.approx(1.6, rel=1e-5)


def test_the_level_of_an_idle_pe_takes_nothing_from_neighbours():
    made = scenario(0.5).with_configurations((sim.Configuration("first", (4000,), (0,)),))
    clock = SharingDomain("clock", "clock", "clock", tuple(range(4)), ShareTable((1.0, 0.5)))
    shared = replace(made, platform=replace(made.platform, domains=(clock,)))
    assert sim.run(shared).makespan_ticks.tolist() == sim.run(made).makespan_ticks.tolist()


def test_simgrid_gets_levels_as_profiles_where_runs_have_traces():
    changing, lasting = (export_simgrid(scenario(lasts_s)).files for lasts_s in (0.5, 1e4))
    assert len(changing) == len(lasting) + 4
    assert not any("profile" in text for text in lasting.values())


def test_pes_of_unlike_levels_are_of_unlike_kinds():
    many = np.tile(np.linspace(0.8, 1.6, 50), (30, 1))
    sizes, bands = np.geomspace(1.0, 1e6, 30), []
    for middle in (1.2, 1.21):
        factors = many.copy()
        factors[15, 25] = middle
        levels = Levels(sizes, np.sort(factors, axis=1))
        bands.append(SpeedBand(np.ones(1), *[np.full(1, 1e9)] * 3, noise=Noise(np.ones(1), levels)))
    keys = [_pe_key(sim.PE("one", "host", {"made": one}), "made") for one in bands]
    assert keys[0] != keys[1]


def test_levels_are_written_into_a_scenario_and_read_again(tmp_path):
    made = scenario(0.5)
    path = tmp_path / "scenario.yaml"
    path.write_text(sim.dump_scenario(made))
    again = sim.load_scenario(path)
    assert again.platform.pes[0].speeds["made"].noise.levels.factors.tolist() == [list(FACTORS)]
    assert again.platform.pes[0].speeds["made"].noise.levels.lasts_s == 0.5
    assert sim.run(again).makespan_ticks.tolist() == sim.run(made).makespan_ticks.tolist()


def test_levels_of_unlike_length_are_refused_with_their_place(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text(sim.dump_scenario(scenario(0.5)).replace("lasts_s: 0.5", "lasts_s: -1"))
    with pytest.raises(sim.ScenarioError, match="lasts_s"):
        sim.load_scenario(path)
