"""Chrome traces: by hand, of random programs, and of everything that is shipped, read by a checker of their own."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings

from simulator import Application, Configuration, LinkModel, Scenario, load_scenario, run, write_timeline
from simulator.base.errors import ApportionError, ScenarioError
from simulator.engines import process
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.programs.program import Compute, Delay, ReadWrite, Recv, Send
from tests.support.applications import fitted
from tests.support.platforms import flat, trace
from tests.support.programs import scenarios
from tests.support.rules import EAGER, TICK, build, simulate, star
from tests.support.timelines import as_perfetto, check, read

ROOT = Path(__file__).parents[4]
TUTORIALS = sorted((ROOT / "scenarios" / "tutorial").glob("*.yaml"))
SECOND = 1e6


def written(path, made, runs, **options):
    write_timeline(path, made, runs=runs, **options)
    return read(path.read_text())


@pytest.fixture
def shown(tmp_path):
    """Events of a program of a few rows, checked."""

    def made(rows, **options):
        events = written(tmp_path / "t.json", build(rows, **options), simulate(rows, **options))
        check(events)
        return events

    return made


def slices(events, name=None):
    found = [event for event in events if event["ph"] == "X" and name in (None, event["name"])]
    return [(event["tid"], event["ts"] / SECOND, event["dur"] / SECOND) for event in found]


def test_two_processes_by_hand(shown):
    events = shown([[Compute(5, 1), Send(1, 4)], [Compute(2, 1), Recv(0), Compute(3, 1)]])
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    first, second = sorted(names)
    assert [names[first], names[second]] == ["pe0", "pe1"]
    assert slices(events, "compute") == [(first, 0, 5), (second, 0, 2), (second, 10, 3)]
    assert slices(events, "send") == [(first, 5, 5)]
    assert slices(events, "recv") == [(second, 2, 8)]
    assert slices(events, "wait for process 0") == [(second, 2, 3)]
    assert slices(events, "message") == [(second, 5, 5)]
    (out,), (into,) = ([e for e in events if e["ph"] == kind] for kind in "sf")
    assert (out["tid"], out["ts"], into["tid"], into["ts"]) == (first, 5e6, second, 9e6)
    assert out["args"] == {"from": 0, "to": 1, "bytes": 4.0, "route": ""}
    critical = [(e["name"], e["args"]["critical_us"]) for e in events if "critical_us" in e.get("args", {})]
    assert critical == [("compute", 5e6), ("recv", 5e6), ("compute", 3e6)]
    (computed,) = (e["args"] for e in events if e["ph"] == "X" and e["ts"] == 10e6)
    assert computed == {"process": 1, "operation": 2, "volume": 3.0, "size": 1.0, "critical_us": 3e6}


def test_what_takes_no_time_is_one_slice_per_instant(shown):
    """A hundred eager sends in a row would lie in each other a hundred deep."""
    rows = [[*(Send(1, 1) for _ in range(600)), Compute(4, 1)], [Delay(9), *(Recv(0) for _ in range(600))]]
    events = shown(rows, network=EAGER)
    assert [(e["name"], e["dur"]) for e in events if e["ph"] == "X" and e["cat"] == "message"] == [
        ("600 x send", 0),
        ("600 x recv", 0),
    ]
    assert sum(event["ph"] == "s" for event in events) == 600


def test_loads_and_links_are_counters(shown):
    load = Load(trace([0, 4], [0, 1], 8), "fair", drawn=False)
    pes = [PE("pe0", "n0", {"k": flat(1)}, load), PE("pe1", "n1", {"k": flat(1)})]
    network = star([1, 1], contention="fifo")
    rows = [[Send(1, 2), ReadWrite(3)], [Recv(0), Compute(9, 1)]]
    nodes = [Node("n0", disk=Link("disk", 0.0, 1.0, shared=True))]
    events = shown(rows, pes=pes, network=network, nodes=nodes)
    counters = {}
    for event in events:
        if event["ph"] == "C":
            ((key, value),) = event["args"].items()
            counters.setdefault((event["name"], key), []).append((event["ts"] / SECOND, value))
    assert counters == {
        ("pe0", "load"): [(0, 0), (4, 1), (8, 0)],
        ("link0 up", "messages"): [(0, 1), (2, 0)],
        ("link1 down", "messages"): [(0, 1), (2, 0)],
        ("disk", "messages"): [(2, 1), (5, 0)],
    }
    (out,) = (event for event in events if event["ph"] == "s")
    assert out["args"]["route"] == "link0 up link1 down"


@pytest.mark.parametrize("contention", ["none", "fifo", "fair"])
def test_an_eager_message_is_on_its_links_until_it_is_there(shown, contention):
    """Nobody waits for it, so the log does not say when that was."""
    network = star([1, 2], contention=contention, eager_bytes=9)
    events = shown([[Send(1, 6), Compute(1, 1)], [Delay(50), Recv(0)]], network=network)
    counted = [(e["name"], e["ts"] / SECOND) for e in events if e["ph"] == "C" and e["args"] == {"messages": 0.0}]
    assert counted == [("link0 up", 6), ("link1 down", 6)]


def test_a_load_that_changes_often_is_told_by_means(shown):
    """Steps of 10 ms over 200 s, and over six thousand years."""
    times = np.arange(5000) * 0.01
    load = Load(trace(times, np.arange(5000) % 2, 50), "given", drawn=False)
    pes = [PE("pe", "n", {"k": flat(1)}, load)]
    for volume in (100, 10**11):
        events = shown([[Compute(volume, 1)]], pes=pes)
        values = [event["args"]["available"] for event in events if event["ph"] == "C"]
        assert len(values) == 1000
        assert np.allclose(values, 0.5)


@settings(max_examples=8, deadline=None)
@given(scenarios())
def test_random_programs(tmp_path_factory, drawn):
    made, draws = drawn
    try:
        runs = process.run(made, draws, tick_s=TICK, log_replications=1)
    except ApportionError:
        assume(False)
    path = tmp_path_factory.getbasetemp() / "random.json"
    events = written(path, made, runs)
    tracks = check(events)
    assert len(tracks) == sum(len(one.placement) for one in made.configurations)
    sent = sum(entry.operation in ("send", "exchange", "post_send") for log in runs.logs.values() for entry in log)
    assert sum(event["ph"] == "s" for event in events) == sent
    critical = sum(event.get("args", {}).get("critical_us", 0) for event in events)
    lasting = sum(entry.end_ticks - entry.start_ticks for log in runs.logs.values() for entry in log)
    own = [event["dur"] for event in events if event["ph"] == "X" and "operation" in event.get("args", {})]
    assert sum(own) == pytest.approx(lasting * SECOND)
    first = [key for key in runs.logs if key[1] == 0]
    assert critical == pytest.approx(sum(int(runs.makespan_ticks[key]) for key in first) * SECOND)


def test_picoseconds_nest():
    """Times that are no floats: what ends at a tick never ends after what begins there."""
    from simulator.results.timelines.chrome import durations_us, moments_us

    draws = np.random.default_rng(5)
    for last, step in ((10**6, 1), (10**9, 500), (10**12, 1), (10**13, 1000), (10**17, 1)):
        ticks = np.unique(draws.integers(0, last // step, 4000)) * step
        start, duration = moments_us(ticks[:-1], 1e-12), durations_us(ticks[:-1], ticks[1:], 1e-12)
        events = [{"ph": "X", "pid": 1, "tid": 2, "ts": a, "dur": b} for a, b in zip(start, duration, strict=True)]
        assert np.all(start + duration <= moments_us(ticks[1:], 1e-12))
        assert not any(as_perfetto(events).values())
        assert np.allclose(duration, np.diff(ticks) / 1e6, atol=max(1e-9, last / 1e6 * 1e-14))
        outer = start, duration
        half = ticks[:-1] + np.diff(ticks) // 2
        inner = durations_us(half, ticks[1:], 1e-12, within=outer)
        nested = [
            {"ph": "X", "pid": 1, "tid": 2, "ts": a, "dur": b}
            for a, b in zip(moments_us(half, 1e-12), inner, strict=True)
        ]
        assert not any(as_perfetto([one for pair in zip(events, nested, strict=True) for one in pair]).values())


def test_one_configuration_one_replication_packed(tmp_path):
    made = load_scenario(ROOT / "scenarios/tutorial/shared-pes.yaml")
    runs = run(made, replications=2, log_replications=2, engine="process")
    every = written(tmp_path / "all.json", made, runs)
    assert len(check(every)) == 3 + 6 + 3
    assert {e["args"]["name"].split(":")[0] for e in every if e["name"] == "process_name"} == set(runs.configurations)
    for _ in range(2):
        write_timeline(
            tmp_path / "t.json.gz", made, runs=runs, configurations=["uneven"], replication=1, about={"seed": 3}
        )
    text = gzip.decompress((tmp_path / "t.json.gz").read_bytes()).decode()
    assert sorted(check(read(text)).values()) == ["quad.cpu0", "quad.cpu1", "single"]
    assert json.loads(text)["otherData"] == {"seed": 3}
    with pytest.raises(
        ScenarioError, match=r"there is no configuration other; give one of one\-each, by\-speed, uneven"
    ):
        write_timeline(tmp_path / "t.json", made, runs=runs, configurations=["other"])
    with pytest.raises(ScenarioError, match="replication 5: not logged"):
        write_timeline(tmp_path / "broken.json", made, runs=runs, replication=5)
    assert not list(tmp_path.glob("*broken*"))


APPLICATIONS = {
    "cholesky": {"n": 64, "nb": 8},
    "ep": {"samples": 1000, "volume": 1e4},
    "farm": {"units": 12, "volume": 1e5, "size": 10},
    "fft": {"n": 32},
    "fft3d": {"n": 8},
    "hpl": {"n": 64, "nb": 8},
    "matmul": {"n": 32},
    "matmul_2d": {"n": 32, "nb": 8, "grid_rows": 2},
    "modelled": {"N": 400, "units": 100},
    "sort": {"n": 512},
    "stencil": {"n": 32, "iterations": 3},
}
"""The eleventh, seg, is among the tutorials."""
PLACEMENTS = ((0, 1, 2, 3), (0, 0, 1, 2), (3, 3, 3, 3), (0, 1, 1, 0))


def of_application(name, contention):
    pes = [PE(f"pe{i}", f"n{i // 2}", {"dgemm": flat(1e8 * (i + 1)), "reference": flat(1.0)}) for i in range(4)]
    pes[1] = PE("pe1", "n0", pes[1].speeds, Load(trace([0, 0.0003], [0, 1], 0.001), "fair"))
    links = tuple(Link(f"lan{i}", 1e-5, 1e8) for i in range(2))
    loopback = LinkModel.from_latency(1e-6, 1e9)
    network = Network(Star(links), loopback=loopback, contention=contention, eager_bytes=256)
    kernel, model = ("reference", fitted()) if name == "modelled" else ("dgemm", None)
    application = Application(name, kernel, APPLICATIONS[name], model)
    units = application.work.fitting((application.work.units // 4,) * 4) if name == "matmul_2d" else None
    share = units or (application.work.units - 3 * (application.work.units // 4),) + (application.work.units // 4,) * 3
    configurations = tuple(Configuration(f"c{k}", tuple(share), places) for k, places in enumerate(PLACEMENTS))
    return Scenario(Platform(tuple(pes), network), application, configurations, 1)


def same_from_both_engines(made, folder):
    texts = [
        written(folder / f"{engine}.json", made, run(made, replications=1, engine=engine, log_replications=1))
        for engine in ("process", "compiled")
    ]
    assert texts[0] == texts[1]
    assert len(check(texts[0])) == sum(len(one.placement) for one in made.configurations)


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials(path, tmp_path):
    same_from_both_engines(load_scenario(path), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", APPLICATIONS)
def test_applications(name, tmp_path):
    for contention in ("none", "fifo", "fair"):
        same_from_both_engines(of_application(name, contention), tmp_path)
