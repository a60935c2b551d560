"""Truths: what measuring left unknown is drawn once for many replications, the same for all that share it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import norm

from simulator import PE, Configuration, LinkModel, Platform, SpeedBand, load_scenario, run
from simulator.models.doubt import Doubt, Noise
from simulator.programs.program import Compute, Program
from simulator.scenario_file.scenario import Application, Scenario, truth_count
from simulator.scenario_file.truths import SERIES, deviates, draw, truth_of

LINK = LinkModel.from_latency(1e-5, 1e9)
ALIKE = """
format: 1
platform:
  nodes:
    - name: "n[01-{count}]"
      pes: [{{name: "{{node}}", speeds: {{k: {{sizes: [1], low: [0.9], mid: [1.0], high: [1.1]}}}}}}]
  link: {{latency: 1ns, bandwidth: 1TB/s}}
application: {{name: ep, kernel: k, parameters: {{samples: {count}}}}}
configurations: {{equal: {{partition: equal}}}}
replications: {replications}
seed: 3
"""


def alike(folder, count, replications=2000, **more):
    """PEs of one kind whose speeds are known to +-10 %, a unit of work for each."""
    path = folder / "s.yaml"
    path.write_text(ALIKE.format(count=count, replications=replications))
    return replace(load_scenario(path), **more)


def computing(bands, *, replications=200, **more):
    """A unit of work on a PE of each band."""
    pes = tuple(PE(f"pe{i}", f"n{i}", {"k": band}) for i, band in enumerate(bands))
    program = Program(tuple((Compute(1.0, 1.0),) for _ in pes), (0,) * len(pes))
    configurations = (Configuration("c", (1,) * len(pes), tuple(range(len(pes)))),)
    application = Application.of_program(program, kernel="k")
    return Scenario(Platform.uniform(pes, LINK), application, configurations, replications, **more)


def band(width=0.1, **more):
    return SpeedBand(np.array([1.0]), *(np.array([x]) for x in (1 - width, 1.0, 1 + width)), **more)


def slowest_of(count, common):
    """Mean of the longest of `count` times 1 / speed, speeds even in +-10 % by deviates with a common part."""
    shared, own = np.meshgrid(np.linspace(-8, 8, 801), np.linspace(-8, 8, 1601), indexing="ij")
    density = count * norm.pdf(own) * norm.sf(own) ** (count - 1)  # of the least of so many normal deviates
    times = 1 / (0.9 + 0.2 * norm.cdf(np.sqrt(common) * shared + np.sqrt(1 - common) * own))
    return integrate.trapezoid(
        integrate.trapezoid(density * times, own[0], axis=1) * norm.pdf(shared[:, 0]), shared[:, 0]
    )


def test_a_maximum_over_many_pes_of_a_kind_is_neither_that_of_independent_ones_nor_that_of_one(tmp_path):
    runs = run(alike(tmp_path, 64), engine="compiled")
    expected = slowest_of(64, 0.8)
    assert slowest_of(64, 0.0) == pytest.approx(1.107, abs=1e-3)  # what drawing again for each said
    assert runs.makespan_s.mean() == pytest.approx(expected, rel=2e-3)
    assert 1.03 < expected < 1.08
    one = run(alike(tmp_path, 1), engine="compiled").makespan_s
    assert one.mean() == pytest.approx(5 * np.log(1.1 / 0.9), rel=1e-3)  # stratified: hardly any Monte Carlo error
    assert np.quantile(runs.makespan_s, 0.95) - np.quantile(runs.makespan_s, 0.05) > 0.1


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_runs_of_one_truth_are_alike_where_nothing_is_noisy(engine):
    runs = run(computing([band(), band()], truths=20), engine=engine)
    assert (runs.truth_count, runs.truths.tolist()) == (20, [r % 20 for r in range(200)])
    times = runs.makespan_ticks[0].reshape(10, 20)
    assert np.all(times == times[0])
    assert np.unique(times[0]).size == 20


def test_noise_differs_from_run_to_run_around_its_truth():
    made = computing([band(doubt=Doubt.constant(0.1), noise=Noise.normal(0.02))], replications=20_000)
    runs = run(made, engine="compiled")
    assert runs.truth_count == 2000  # a tenth
    logs = np.log(runs.makespan_s[0].reshape(10, 2000))
    assert logs.std(axis=0, ddof=1).mean() == pytest.approx(0.02 * 0.973, rel=0.02)  # 0.973: mean sd of ten
    assert logs.mean(axis=0).std() == pytest.approx(0.1, rel=0.02)


def test_how_many_truths():
    assert truth_count(computing([SpeedBand.constant(1.0)])) == 1
    assert truth_count(computing([band()])) == 200  # nothing is noisy: each replication is one
    assert truth_count(computing([band()], truths=7)) == 7
    noisy = band(doubt=Doubt.constant(0.1), noise=Noise.normal(0.02))
    assert [truth_count(computing([noisy], replications=r)) for r in (3, 20, 5000)] == [3, 4, 500]
    assert run(computing([SpeedBand.constant(1.0)])).truths is None


def test_truths_of_a_source_lie_one_in_each_of_as_many_equal_parts():
    found = deviates(computing([band(), band(source="kind")]), 50)
    assert list(found) == ["speed of PE pe0", "speed of kind", "speed of PE pe1"]
    for values in found.values():
        assert sorted(np.floor(norm.cdf(values) * 50).astype(int).tolist()) == list(range(50))
    assert abs(np.corrcoef(list(found.values()))[np.triu_indices(3, 1)]).max() < 0.5


def test_positions_are_those_of_the_deviates():
    made = computing([band(source="kind"), band(source="kind")], truths=40)
    found, positions = deviates(made), draw(made).band_positions
    for pe in range(2):
        deviate = np.sqrt(0.8) * found["speed of kind"] + np.sqrt(0.2) * found[f"speed of PE pe{pe}"]
        assert np.allclose(positions[:40, pe], norm.cdf(deviate))
    assert np.array_equal(positions[:40], positions[40:80])


def test_adding_a_pe_shifts_no_other_draw():
    few, many = computing([band(), band(source="b")]), computing([band(), band(source="b"), band(source="b"), band()])
    assert np.array_equal(draw(few).band_positions, draw(many).band_positions[:, :2])


def test_fewer_runs_are_some_of_all_and_one_is_found_again_by_its_number():
    made = computing([band(), band()], truths=30)
    whole = run(made, engine="process").makespan_ticks
    assert np.array_equal(run(made, engine="process", replications=40).makespan_ticks, whole[:, :40])
    one = run(made, engine="process", replications=1, first_replication=137)
    assert (one.makespan_ticks[0, 0], one.truths.tolist(), one.truth_count) == (whole[0, 137], [17], 30)
    noisy = replace(computing([band(doubt=Doubt.constant(0.1), noise=Noise.normal(0.02))]), replications=200)
    again = run(noisy, engine="process", replications=3, first_replication=50).makespan_ticks
    assert np.array_equal(again, run(noisy, engine="process").makespan_ticks[:, 50:53])


def test_what_a_search_sees_are_other_truths():
    made = computing([band()], truths=10)
    search = run(made, replications=10, first_replication=SERIES, engine="process")
    assert search.truths.tolist() == list(range(10))
    assert not np.any(search.makespan_ticks == run(made, replications=10, engine="process").makespan_ticks)


def test_a_truth_is_a_scenario_without_doubt(tmp_path):
    made = alike(tmp_path, 3, replications=40, truths=40)
    runs = run(made, engine="process")
    for number in (0, 7, 39):
        truth = truth_of(made, number)
        assert not truth.doubtful
        assert truth.deterministic
        assert run(truth, engine="process", replications=1).makespan_s[0, 0] == pytest.approx(
            runs.makespan_s[0, number]
        )


def test_pes_of_one_entry_share_and_entries_do_not(tmp_path):
    positions = draw(alike(tmp_path, 20)).band_positions
    related = np.corrcoef(norm.ppf(positions).T)[np.triu_indices(20, 1)]
    assert related.mean() == pytest.approx(0.8, abs=0.02)
    other = np.corrcoef(draw(computing([band(source="a"), band(source="b")], replications=2000)).band_positions.T)
    assert abs(other[0, 1]) < 0.08


def test_more_truths_than_memory_holds_are_refused_with_what_they_need(monkeypatch):
    monkeypatch.setattr("simulator.base.machine.memory_available_bytes", lambda: 2**20)
    monkeypatch.setattr("simulator.base.machine.SMALL_BYTES", 0)
    made = computing([band()], replications=1_000_000, truths=900_000)
    with pytest.raises(Exception, match=r"1000000 replications of 900000 truths .* needs about .* of memory"):
        made.check_memory_needed()
