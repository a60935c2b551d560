"""Truths of what has structure: links, sharing domains, loads and the rule by which they share."""

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
    SpeedBand,
    dump_scenario,
    load_scenario,
    run,
)
from simulator.base import randomness
from simulator.load_traces import resampled_blocks
from simulator.models.doubt import Doubt
from simulator.models.neighbours import Bandwidth, ShareTable, SharingDomain
from simulator.models.network import KnotsModel, PacketModel, PiecewiseModel
from simulator.platform.networks import Link, Network, Star
from simulator.programs.program import Compute, Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario, truth_count
from simulator.scenario_file.truths import deviates, of_replication, truth_of

DOUBT = Doubt.constant(0.2)


def sending(network, *, size=1000.0, replications=40, truths=40, **more):
    """One message from node to node."""
    pes = tuple(PE(f"pe{i}", f"n{i}", {"k": SpeedBand.constant(1.0)}) for i in range(2))
    program = Program(((Send(1, size),), (Recv(0),)), (0, 0))
    application = Application.of_program(program, kernel="k")
    one = (Configuration("c", (1, 1), (0, 1)),)
    return Scenario(Platform(pes, network), application, one, replications, truths=truths, **more)


def beside(load, *, platform=None, replications=200, truths=None):
    """A second of work on a loaded PE."""
    made = platform or Platform.uniform(
        (PE("pe", "n", {"k": SpeedBand.constant(1.0)}, load),), LinkModel.from_latency(1e-5, 1e9)
    )
    program = Program(tuple((Compute(1.0, 1.0),) for _ in made.pes), (0,) * len(made.pes))
    one = (Configuration("c", (1,) * len(made.pes), tuple(range(len(made.pes)))),)
    return Scenario(made, Application.of_program(program, kernel="k"), one, replications, truths=truths)


def model(**more):
    return replace(LinkModel(np.array([0.0, 1e3, 1e6]), np.array([1e-4, 2e-4, 1e-2])), doubt=DOUBT, **more)


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_a_message_takes_its_time_times_the_factor_of_its_truth(engine):
    made = sending(Network.uniform(model(source="link.json")))
    found, runs = deviates(made), run(made, engine=engine)
    assert list(found) == ["links link.json", "link network"]
    z = np.sqrt(0.8) * found["links link.json"] + np.sqrt(0.2) * found["link network"]
    assert np.allclose(runs.makespan_s[0], 2e-4 * np.exp(0.2 * z), rtol=1e-6)
    assert runs.truth_count == 40


@pytest.mark.parametrize("contention", ["none", "fifo", "fair"])
def test_links_that_share_a_source_are_slow_together(contention):
    links = tuple(Link(f"l{i}", 1e-4, 1e7, doubt=DOUBT, source="switch") for i in range(2))
    made = sending(Network(Star(links), contention=contention), replications=400, truths=400)
    found = deviates(made)
    each = [np.exp(0.2 * (np.sqrt(0.8) * found["links switch"] + np.sqrt(0.2) * found[f"link l{i}"])) for i in range(2)]
    expected = 1e-4 * (each[0] + each[1]) + np.maximum(*each) * 1e-4
    times = run(made, engine="compiled").makespan_s[0]
    assert np.allclose(times, expected, rtol=1e-5)
    assert np.log(times).std() == pytest.approx(0.2, rel=0.1)  # hardly any averaging over the two
    few, some = replace(made, truths=100), [7, 107, 3, 399, 207]
    whole = run(few, engine="compiled").makespan_ticks
    assert np.array_equal(run(few, engine="compiled", only=some).makespan_ticks, whole[:, some])


@pytest.mark.parametrize("engine", ["process", "compiled"])
@pytest.mark.parametrize("contention", ["none", "fifo"])
def test_truths_of_links_that_run_together_are_each_what_it_is_alone(engine, contention):
    links = tuple(
        Link.of_model(f"l{i}", replace(model(), doubt=Doubt(np.array([1.0, 1e6]), np.array([0.1, 0.4]))))
        for i in (0, 1)
    )
    made = sending(Network(Star(links), loopback=model(), contention=contention), replications=12, truths=6)
    pes = tuple(
        replace(pe, speeds={"k": SpeedBand(np.array([1.0]), *(np.array([one]) for one in (0.9, 1.0, 1.1)))})
        for pe in made.platform.pes
    )
    rows = ((Compute(1e-4, 1.0), Send(1, 3e4), Send(1, 5.0)), (Compute(1e-4, 1.0), Recv(0), Recv(0)))
    two = tuple(Configuration(f"c{place}", (1, 1), places) for place, places in enumerate([(0, 1), (1, 0), (1, 1)]))
    made = replace(made, platform=replace(made.platform, pes=pes), configurations=two)
    made = replace(made, application=Application.of_program(Program(rows, (0, 0)), kernel="k"))
    together = run(made, engine=engine).makespan_ticks
    for number in range(6):
        alone = run(truth_of(made, number), replications=1, engine="process").makespan_ticks[:, 0]
        assert np.array_equal(together[:, number], alone)
        assert np.array_equal(together[:, number + 6], alone)
    assert np.unique(together).size == 12
    for some in ([7, 2, 11, 5, 9], [0, 6, 1, 3, 8]):
        assert np.array_equal(run(made, engine=engine, only=some).makespan_ticks, together[:, some])
    silent = replace(made, application=Application.of_program(Program(((Compute(1.0, 1.0),),) * 2, (0, 0)), kernel="k"))
    assert np.all(run(silent, engine=engine).makespan_s >= 1 / 1.1)  # nothing is sent


def test_times_of_all_forms_are_multiplied_without_a_step_back():
    sizes = np.array([1.0, 1e3, 1e6, 1e7])
    falling = Doubt(np.array([1.0, 1e6]), np.array([0.5, 0.0]))
    knots = KnotsModel(np.array([1.0]), (np.array([1.0, 1e6]),), (np.array([1e-4, 1e-2]),), doubt=DOUBT)
    for one in (model(), PacketModel(1e-4, 1500.0, 1e-5, doubt=DOUBT), knots):
        assert one.drawn(0.0).doubt is None
        assert np.allclose(one.drawn(1.5).time_s(sizes[:3]), one.time_s(sizes[:3]) * np.exp(0.3), rtol=1e-9)
    late = replace(model(), doubt=falling).drawn(2.0)
    assert late.time_s(1e6) == pytest.approx(1e-2)
    assert late.time_s(1.0) == pytest.approx(model().time_s(1.0) * np.exp(1.0))
    assert np.all(np.diff(late.time_s(np.logspace(0, 7, 200))) >= 0)


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_what_neighbours_cost_is_doubted_and_a_lone_computation_is_not(engine):
    pes = tuple(PE(f"pe{i}", "n", {"k": SpeedBand.constant(1.0)}) for i in range(2))
    domain = SharingDomain("clock", "clock of n", "clock", (0, 1), ShareTable((1.0, 0.5)), DOUBT)
    platform = Platform(pes, Network.uniform(LinkModel.from_latency(1e-5, 1e9)), (), (domain,))
    made = replace(beside(None, platform=platform), truths=50, replications=50)
    alone = Configuration("alone", (1, 1), (0, 0))
    runs = run(made.with_configurations((*made.configurations, alone)), engine=engine)
    found = deviates(made)
    z = np.sqrt(0.8) * found["neighbours in clock"] + np.sqrt(0.2) * found["neighbours in clock of n"]
    assert np.allclose(runs.makespan_s[0], 1 + np.exp(0.2 * z), rtol=1e-6)  # a loss of one second, times the factor
    assert np.allclose(runs.makespan_s[1], 2.0)


def test_laws_of_bandwidth_lose_what_their_truth_says():
    domain = SharingDomain(
        "memory", "m", "memory", (0, 1), Bandwidth(1e9), Doubt(np.array([0.1, 1.0]), np.array([0.0, 0.4]))
    )
    kept = np.array([1.0, 1 / 1.1, 0.5])
    assert np.allclose(1 / domain.drawn(1.0).truly(kept) - 1, [0, 0.1, np.exp(0.4)])
    assert np.array_equal(domain.truly(kept), kept)


def record(values=(0.0, 1.0, 0.0, 2.0, 0.0), step=1.0):
    return LoadTrace(np.arange(len(values)) * step, np.array(values), len(values) * step)


def test_a_resampled_record_is_ten_blocks_of_it():
    trace = LoadTrace(np.array([0.0, 1.0, 2.5, 7.0]), np.array([0.0, 3.0, 1.0, 2.0]), 10.0)
    stream = randomness.stream(1, "x")
    starts = randomness.stream(1, "x").random(10) * 10
    found = resampled_blocks(trace, stream)
    assert found.end_s == 10.0
    for t in np.arange(0.005, 10, 0.01):
        block = int(t)
        at = (starts[block] + t - block) % 10
        expected = trace.values[np.searchsorted(trace.times_s, at, side="right") - 1]
        assert found.values[np.searchsorted(found.times_s, t, side="right") - 1] == expected


def recorded(**more):
    return Load(record([0.0, 1.0, 0.0, 3.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0]), "fair", recorded=True, **more)


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_each_truth_has_a_load_of_its_own_and_starts_differ_within(engine):
    made = beside(recorded())
    runs = run(made, engine=engine)
    assert runs.truth_count == 20
    number = 7
    alone = run(replace(truth_of(replace(made, truths=20), number)), engine="process")
    assert np.array_equal(runs.makespan_ticks[0, number::20], alone.makespan_ticks[0, number::20])
    assert np.unique(runs.makespan_ticks[0, number::20]).size > 1
    assert not truth_of(made, number).doubtful
    traces = {truth_of(made, n).platform.pes[0].load.trace.content for n in range(20)}
    assert len(traces) == 20


def test_pes_of_one_clock_stay_together_in_every_truth():
    load = recorded()
    pes = tuple(PE(f"pe{i}", "n", {"k": SpeedBand.constant(1.0)}, replace(load)) for i in range(3))
    made = beside(None, platform=Platform.uniform(pes, LinkModel.from_latency(1e-5, 1e9)), replications=40)
    finish = run(made, engine="compiled").finish_ticks[0]
    assert np.all(finish == finish[:, :1])


def test_what_is_no_record_or_is_not_drawn_has_no_doubt():
    for load in (replace(recorded(), recorded=False), recorded(drawn=False), None):
        assert not beside(load).doubtful
    constant = Load(LoadTrace(np.array([0.0]), np.array([1.0]), 10.0), "fair", recorded=True)
    assert not beside(constant).doubtful


def test_a_rule_that_nothing_says_is_fair_in_half_of_the_truths():
    load = Load(record([0.5, 0.5]), "fair", rule_known=False)
    made = beside(load, truths=40, replications=40)
    rules = [truth_of(made, n).platform.pes[0].load.rule for n in range(40)]
    assert (rules.count("fair"), rules.count("idle")) == (20, 20)  # stratified
    expected = {"fair": 1 / 0.75, "idle": 2.0}
    assert run(made, engine="process").makespan_s[0] == pytest.approx([expected[rule] for rule in rules])


def test_no_truth_stalls_where_the_record_does_not():
    full = beside(Load(record([1.0, 1.0]), "fair", rule_known=False), truths=20)
    assert {truth_of(full, n).platform.pes[0].load.rule for n in range(20)} == {"fair"}  # idle would end nothing
    seldom = Load(record([1.0] * 39 + [0.0]), "idle", recorded=True)
    least = [truth_of(beside(seldom, truths=60), n).platform.pes[0].load.trace.values.min() for n in range(60)]
    assert least == [0.0] * 60


FILE = """
format: 1
platform:
  nodes:
    - name: n
      pes: [{{name: pe, speeds: {{k: 1 units/s}}, load: {load}}}]
  link: {link}
application: {{name: ep, kernel: k, parameters: {{samples: 16}}}}
configurations: {{equal: {{partition: equal}}}}
replications: 40
"""
LINK = "{latency: 1us, bandwidth: 1GB/s}"


def loaded(folder, load, link=LINK):
    (folder / "load.csv").write_text("time_s,load\n0,0\n1,1\n2,0\n3,2\n4,0\n")
    (folder / "s.yaml").write_text(FILE.format(load=load, link=link))
    return load_scenario(folder / "s.yaml")


def test_files_say_which_loads_are_records(tmp_path):
    assert loaded(tmp_path, "{trace: load.csv, rule: fair}").doubtful
    assert not loaded(tmp_path, "{trace: load.csv, rule: fair, start: zero}").doubtful
    assert not loaded(tmp_path, "{trace: load.csv, rule: fair, recorded: false}").doubtful
    written = "{trace: {times_s: [0, 1, 2], values: [0, 1, 0], end_s: 3}, rule: fair%s}"
    assert not loaded(tmp_path, written % "").doubtful
    assert loaded(tmp_path, written % ", recorded: true").doubtful
    unsaid = loaded(tmp_path, "{trace: load.csv}")
    assert not unsaid.platform.pes[0].load.rule_known
    assert loaded(tmp_path, "{trace: load.csv, rule: idle}").platform.pes[0].load.rule_known


def test_the_written_out_form_has_the_same_truths(tmp_path):
    made = loaded(tmp_path, "{trace: load.csv}", "{latency: 1us, bandwidth: 1GB/s, doubt: {sd: [0.1]}}")
    (tmp_path / "again.yaml").write_text(dump_scenario(made))
    again = load_scenario(tmp_path / "again.yaml")
    assert truth_count(again) == 4
    assert again.platform.network.model.source == made.platform.network.model.source == "platform.link"
    first, second = deviates(made), deviates(again)
    assert list(first) == list(second)
    for name, values in first.items():
        assert np.array_equal(values, second[name])
    assert np.array_equal(run(made).makespan_ticks, run(again).makespan_ticks)


def test_a_replication_has_the_structure_of_its_truth():
    made = beside(recorded(), truths=6)
    first, search = (
        [truth_of(made, number, series=series).platform.pes[0].load.trace.content for number in range(6)]
        for series in (0, 1)
    )
    assert len({*first, *search}) == 12
    for number, expected in ((1, first[1]), (13, first[1]), (1_000_003, search[3])):
        assert of_replication(made, number).platform.pes[0].load.trace.content == expected


def test_links_of_one_model_that_counts_hops_stay_one():
    """Two links of it are two hops, not twice one."""
    model = PiecewiseModel(
        np.zeros(0), np.array([1e-4]), np.array([1e-8]), np.array([1e-5]), np.array([0.0]), doubt=DOUBT
    )
    links = tuple(Link.of_model(f"l{i}", model) for i in range(2))
    made = sending(Network(Star(links)))
    z = deviates(made)["links l0"]
    assert np.allclose(run(made, engine="process").makespan_s[0], (1.2e-4) * np.exp(0.2 * z), rtol=1e-6)
