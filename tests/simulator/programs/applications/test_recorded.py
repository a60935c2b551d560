"""A recorded program on other PEs: times by kernels, what is doubted and drawn of them, and what-ifs."""

from pathlib import Path

import numpy as np
import pytest

from simulator import load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt, Noise
from simulator.models.memory import MemoryUse
from simulator.models.neighbours import KernelUses
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Network
from simulator.platform.nodes import PE, Platform
from simulator.programs.applications.recorded import Mix, RecordedWork, fitted_weight, spread_of
from simulator.programs.configuration import Configuration
from simulator.programs.recorded.recording import Action, Described
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import draw
from tests.support.recordings import recording

FILES = Path(__file__).parents[3] / "good_inputs" / "scenarios"
FALLING = SpeedBand(np.array([10.0, 1000.0]), *(np.array([8.0, 4.0]),) * 3)


def alone(cpu_s=(3.0,), *, elements=100, runs=None):
    """One rank that only computes."""
    row = [(Action.COMPUTE, {"amount": one, "site": 0}) for one in cpu_s]
    made = recording(row, memory_bytes=np.array([8 * elements]), described=Described("./one", sites=("f+0x1",)))
    return made if runs is None else made.with_computing(np.array(runs))


def scenario(work, *pes, replications=1):
    platform = Platform(
        tuple(PE(f"pe{i}", "n", speeds) for i, speeds in enumerate(pes)),
        Network.uniform(LinkModel.from_latency(1e-5, 1e9)),
    )
    places = [Configuration(f"on{i}", (1,) * work.units, (i,) * work.units) for i in range(len(pes))]
    return Scenario(platform, Application("recorded", recorded=work), places, replications)


def makespans(made, **options):
    """Of each configuration in each replication."""
    return run(made, **options).makespan_s


def test_a_computation_takes_as_long_as_the_kernels_say():
    triad, dgemm = FALLING, SpeedBand.constant(10.0)
    here, there = (
        {"triad": triad, "dgemm": dgemm},
        {"triad": SpeedBand.constant(3.0), "dgemm": SpeedBand.constant(40.0)},
    )
    speed = float(np.interp(100, [10, 1000], [8, 4]))
    one = RecordedWork(alone(), Mix(("triad",), (triad,)))
    assert makespans(scenario(one, here, there)).ravel() == pytest.approx([3.0, 3.0 * speed / 3.0], rel=1e-9)
    both = RecordedWork(alone(), Mix(("triad", "dgemm"), (triad, dgemm), 0.7))
    wanted = 3.0 * (0.7 * speed / 3.0 + 0.3 * 10 / 40)
    assert makespans(scenario(both, here, there)).ravel() == pytest.approx([3.0, wanted], rel=1e-9)


def test_only_what_two_pes_do_not_share_is_doubted():
    sizes, doubt = np.array([1.0, 100.0]), Doubt.constant(0.1, common=0.8)
    curve = (np.array([5.0]),) * 3
    noise = Noise(np.array([0.9, 1.0, 1.1]))
    band = SpeedBand(np.ones(1), *curve, doubt=doubt, noise=noise, source="kind.json")
    other = SpeedBand(np.ones(1), *curve, doubt=Doubt.constant(0.2), source="other.json")
    mix = Mix(("k",), (band,), recorded_on="pe0")
    assert mix.band({"k": band}, sizes, pe="pe0").doubt.sd == pytest.approx([0, 0])
    assert mix.band({"k": band}, sizes, pe="pe1").doubt.sd == pytest.approx(np.sqrt(0.2 * 2) * 0.1)
    far = mix.band({"k": other}, sizes, pe="pe2")
    assert far.doubt.sd == pytest.approx(np.hypot(0.1, 0.2))
    assert far.source == "other.json"
    assert mix.band({"k": band}, sizes).noise == noise
    assert mix.band({"k": band}, sizes, quiet=True).noise is None
    wide = SpeedBand(np.ones(1), np.array([4.0]), np.array([5.0]), np.array([6.0]))
    ratio = Mix(("k",), (SpeedBand.constant(2.5),)).band({"k": wide}, sizes)
    assert (ratio.low[0], ratio.mid[0], ratio.high[0]) == pytest.approx((1.6, 2.0, 2.4))


def test_what_it_takes_of_caches_and_memory_is_that_of_its_kernels():
    slow, quick = SpeedBand.constant(1.0), SpeedBand.constant(4.0)
    mix = Mix(("triad", "dgemm"), (slow, slow), 0.5)
    uses = {
        name: KernelUses(np.ones(1), {"memory": np.array([demand])}, {"memory": np.array([0.5])})
        for name, demand in (("triad", 8.0), ("dgemm", 1.0))
    }
    found = mix.uses(uses, {"triad": slow, "dgemm": quick}, np.array([10.0])).at("memory", 10)
    assert found.demand == pytest.approx(0.8 * 8 + 0.2 * 1)
    assert found.sensitivity == pytest.approx(0.5)
    assert mix.uses({}, {"triad": slow, "dgemm": quick}, np.array([10.0])) is None
    use = Mix(("triad", "dgemm"), (FALLING, slow), 0.5).memory_use({"triad": MemoryUse(2.0, 1.0, 64.0)}, 10)
    assert use == MemoryUse(0.5 * 8 * 2, 1.0, 64.0)


def test_a_quicker_recording_pe_is_quicker_than_when_it_recorded():
    path = FILES / "application_recorded.yaml"
    before = load_scenario(path).application.recorded
    change = "platform.nodes.slow[1-2].pes.0.speeds.triad=2 Gflop/s"
    after = load_scenario(path, changes=[change])
    assert np.array_equal(after.application.recorded.mix.reference[0].mid, before.mix.reference[0].mid)
    speed = after.platform.pes[0].speeds["recorded"].mid
    assert speed == pytest.approx(2e9 / np.interp(before.sizes, [1e4, 1e7], [1e9, 5e8]))


def test_the_weight_follows_from_a_second_recording():
    triad, dgemm = (
        (SpeedBand.constant(1.0), SpeedBand.constant(2.0)),
        (SpeedBand.constant(1.0), SpeedBand.constant(10.0)),
    )
    first = alone((3.0, 1.0))
    for weight in (0.0, 0.3, 1.0):
        second = alone(tuple(cpu * (weight / 2 + (1 - weight) / 10) for cpu in (3.0, 1.0)))
        found = fitted_weight((first, second), (triad[0], dgemm[0]), (triad[1], dgemm[1]))
        assert found == pytest.approx(weight)
    with pytest.raises(ScenarioError, match="its calls are others"):
        fitted_weight((first, alone()), (triad[0], dgemm[0]), (triad[1], dgemm[1]))


def planted(runs, blocks, *, shared, own, each, ranks=3):
    """Recordings whose runs, call sites and blocks differ by so much."""
    rng = np.random.default_rng(7)
    row = [(Action.COMPUTE, {"amount": 1e-3, "site": block % 2}) for block in range(blocks)]
    made = recording(*[row] * ranks, described=Described("./p", sites=("f", "g")))
    count = made.computed_s.shape[1]
    group = 2 * np.repeat(np.arange(ranks), blocks) + np.tile(np.arange(blocks) % 2, ranks)
    effects = shared * rng.standard_normal((runs, 1)) + (own * rng.standard_normal((runs, 2 * ranks)))[:, group]
    return made.with_computing(1e-3 * np.exp(effects + each * rng.standard_normal((runs, count))))


def test_the_spread_of_recordings_is_found():
    found = spread_of(planted(200, 40, shared=0.05, own=0.02, each=0.1))
    assert found.shared_sd == pytest.approx(0.05, rel=0.2)
    assert np.sqrt(np.mean(found.own_sd**2)) == pytest.approx(0.02, rel=0.3)
    assert np.std(np.log(found.pool)) == pytest.approx(0.1, rel=0.1)
    assert found.pool.mean() == pytest.approx(1.0)
    assert spread_of(alone()) is None
    assert spread_of(alone((1.0, 2.0), runs=[[1.0, 2.0]] * 3)) is None


def test_few_blocks_of_one_length_say_nothing_of_a_block():
    found = spread_of(alone((1.0, 1.0, 50.0), runs=[[1.0, 1.1, 40.0], [1.2, 1.0, 50.0], [0.9, 1.3, 60.0]]))
    assert np.all(found.pool == 1.0)
    assert found.own_sd[0] == pytest.approx(0.0, abs=1e-9)  # the only group of a run is all of the run
    assert found.shared_sd > 0.1


def test_replications_draw_what_recordings_show_by_their_numbers():
    work = RecordedWork(planted(6, 60, shared=0.05, own=0.02, each=0.1), Mix(("k",), (SpeedBand.constant(1.0),)))
    made = scenario(work, {"k": SpeedBand.constant(1.0)}, replications=400)
    assert work.draws
    assert made.noisy
    spread, seed = work.spread, made.seed
    whole = draw(made).computing(seed, spread)
    assert np.array_equal(draw(made, first=100).computing(seed, spread)[:50], whole[100:150])
    assert np.log(whole.mean(axis=1)).std() == pytest.approx(spread.shared_sd, rel=0.6)
    together = np.log(whole[:, :2].mean(axis=1)) - np.log(whole.mean(axis=1))
    assert together.std() > 0.05
    times = makespans(made)[0]
    assert np.median(times) == pytest.approx(3 * 60e-3, rel=0.05)
    assert 0.02 < np.log(times).std() < 0.12


def test_engines_draw_alike():
    made = load_scenario(FILES / "application_recorded.yaml")
    found = [makespans(made, engine=engine, seed=3, replications=30) for engine in ("process", "compiled")]
    assert np.array_equal(*found)
    assert len(np.unique(found[0][0])) == 30
    assert not np.array_equal(found[0], makespans(made, engine="process", seed=4, replications=30))


def test_algorithms_can_be_changed_and_sites_are_named():
    made = load_scenario(FILES / "application_recorded.yaml")
    other = made.with_parameters({**made.application.parameters, "allreduce": "ring", "barrier": "instant"})
    assert other.application.work.expansion.action.size != made.application.work.expansion.action.size
    assert np.any(makespans(other, replications=3) != makespans(made, replications=3))
    work = made.application.work
    assert [work.site_of(1, index).split("+")[0] for index in range(4)] == ["sweep", "sweep", "main", "main"]
    assert work.fitting((2, 2, 0, 0)) == (1, 1, 1, 1)
    assert work.fitting((2, 2)) == (2, 2)
    with pytest.raises(ScenarioError, match="needs a recording"):
        Application("recorded", "k", {})


def test_a_whatif_without_as_now_counts_from_the_first_configuration(apportion, tmp_path):
    text = (FILES / "application_recorded.yaml").read_text().replace("as-now:", "spread:")
    path = tmp_path / "scenario.yaml"
    path.write_text(text.replace("files/ring", str(FILES / "files" / "ring")))
    code, out, err = apportion("whatif", path, "--as-is", "--vary", "application.parameters.allreduce=usual,ring")
    assert (code, "allreduce=ring" in out) == (0, True), err
