"""GPUs: what moves to them and back takes its time on their links, which switches share; hosts and memory are kept."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import simulator
from simulator.base.errors import ScenarioError
from simulator.programs.columns import Kind
from simulator.scenario_file.truths import deviates, draw
from tests.support.stepwise import check_three

NODE = """
format: 1
platform:
  nodes:
    - name: n
      pes:
        - {{name: "c[0-2]", speeds: {{k: 1 Gunits/s}}}}
        - {{name: "g[0-1]", kind: gpu, host: c0, memory: {memory}, switch: {switch}, streams: {streams},
           link: {{into: {{latency: 10us, bandwidth: 10GB/s}}, out: {{latency: 20us, bandwidth: 5GB/s}}}},
           speeds: {{k: 100 Gunits/s}}}}
  network: {{topology: star, link: {{latency: 1us, bandwidth: 1GB/s}}, contention: {contention}}}
application: {{name: {name}, kernel: k, parameters: {parameters}{moves}}}
configurations: {{c: {{partition: {partition}, pes: {pes}}}}}
"""


def node(folder: Path, *, hosts: str = "c0", **said: object) -> simulator.Scenario:
    text = NODE.format(
        **{
            "memory": "1GiB",
            "switch": "s",
            "streams": 1,
            "contention": "none",
            "name": "ep",
            "parameters": "{samples: 1000000}",
            "moves": "",
            "partition": [1000000],
            "pes": "[g0]",
        }
        | said
    )
    if hosts != "c0":
        text = text.replace('name: "g[0-1]", kind: gpu, host: c0', f"name: g0, kind: gpu, host: {hosts}")
    path = folder / "node.yaml"
    path.write_text(text, encoding="utf-8")
    return simulator.load_scenario(path)


MOVED = ", moves: {into: {unit: 8 B}, out: {process: 1MB}}"


def test_gpus_are_no_cores_and_their_hosts_are_not_idle():
    shipped = simulator.load_scenario("gpus")
    inside = simulator.contents_of(shipped)
    assert (inside.pes, inside.cores, inside.kinds[0].gpus) == (10, 8, 2)
    assert "10   8      2     30 Gunits/s to 4 Tunits/s" in inside.lines()[1]
    alone = simulator.idle_cores(shipped, shipped.configurations[1])
    assert alone.text == "7 of 8 cores stay idle: node node runs 1 process on 8 cores"


def makespan_s(made: simulator.Scenario) -> float:
    return float(simulator.run(made).makespan_s[0, 0])


def test_a_share_takes_its_moves_and_its_kernel(tmp_path):
    moved = 8e6 / 10e9 + 10e-6 + 1e6 / 5e9 + 20e-6
    assert makespan_s(node(tmp_path, moves=MOVED)) == pytest.approx(moved + 1e6 / 100e9, abs=1e-11)


def test_what_the_application_knows_to_move(tmp_path):
    n = 500
    made = node(tmp_path, name="matmul", parameters=f"{{n: {n}}}", partition=[n])
    into, out = 8 * 2 * n * n, 8 * n * n
    expected = 2 * n**3 / 100e9 + into / 10e9 + 10e-6 + out / 5e9 + 20e-6
    assert makespan_s(made) == pytest.approx(expected, abs=1e-11)
    halos = 8 * n * 20 * (1 / 10e9 + 1 / 5e9) + 20 * 30e-6
    made = node(
        tmp_path,
        name="stencil",
        parameters=f"{{n: {n}, iterations: 20}}",
        partition=[n - 1, 1],
        pes="[g0, c1]",
        moves="",
    )
    columns = made.program(made.configurations[0]).assembled
    assert np.count_nonzero(columns.kind == Kind.READ_WRITE) == 40
    assert makespan_s(made) >= halos + 5 * n * (n - 1) * 20 / 100e9


@pytest.mark.parametrize(("contention", "parts"), [("none", 1), ("fifo", 2), ("fair", 2)])
def test_gpus_on_one_switch_share_its_link(tmp_path, contention, parts):
    moved = ", moves: {into: {unit: 8 B}}"
    text = {"partition": [500000, 500000], "pes": "[g0, g1]", "contention": contention, "moves": moved}
    made = two_hosts(node, tmp_path, **text)
    computing, moving = 5e5 / 100e9, 8 * 5e5 / 10e9
    latency = 10e-6 * (2 if contention == "fifo" else 1)
    assert makespan_s(made) == pytest.approx(computing + parts * moving + latency + 3e-6, rel=2e-2)
    apart = two_hosts(node, tmp_path, **text | {"switch": "null"})
    assert makespan_s(apart) == pytest.approx(computing + moving + 10e-6 + 3e-6, rel=2e-2)


@pytest.mark.parametrize("units", [1000, 100000])
def test_what_overlaps_takes_the_longer_of_both(tmp_path, units):
    said = {"parameters": f"{{samples: {units}}}", "partition": [units], "moves": MOVED, "streams": 2}
    kernel, into, out = units / 2 / 100e9, 4 * units / 10e9 + 10e-6, 5e5 / 5e9 + 20e-6
    found = makespan_s(node(tmp_path, **said))
    assert found == pytest.approx(into + max(kernel, into) + max(kernel, out) + out, abs=1e-11)


@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("contention", ["none", "fifo", "fair"])
def test_three_readings_agree_on_moves(tmp_path, contention, streams):
    said = {"streams": streams, "contention": contention, "pes": "[g0, g1, c2]", "partition": [30, 20, 7]}
    moved = ", moves: {into: {unit: 8 B}, each_into: {process: 9 B}, out: {process: 31 B}}"
    two_hosts(node, tmp_path, moves=moved, parameters="{samples: 57}", **said)
    text = (tmp_path / "node.yaml").read_text(encoding="utf-8")
    for fast, slow in (("1 Gunits", "1 units"), ("100 Gunits", "4 units"), ("10GB", "10B"), ("5GB", "3B"), ("us", "s")):
        text = text.replace(fast, slow)
    (tmp_path / "node.yaml").write_text(text.replace("1GB/s", "50B/s"), encoding="utf-8")
    made = simulator.load_scenario(tmp_path / "node.yaml")
    check_three(made, draw(made))


def two_hosts(make, folder: Path, **said: object) -> simulator.Scenario:
    """Each GPU has a host core of its own."""
    made = make(folder, **said)
    text = (folder / "node.yaml").read_text(encoding="utf-8")
    first = text[text.index('        - {name: "g[0-1]"') : text.index("  network:")]
    both = "".join(
        first.replace('"g[0-1]"', f"g{number}").replace("host: c0", f"host: c{number}") for number in range(2)
    )
    (folder / "node.yaml").write_text(text.replace(first, both), encoding="utf-8")
    del made
    return simulator.load_scenario(folder / "node.yaml")


def test_it_is_written_as_it_is_read(tmp_path):
    made = node(tmp_path, moves=MOVED)
    (tmp_path / "again.yaml").write_text(simulator.dump_scenario(made), encoding="utf-8")
    again = simulator.load_scenario(tmp_path / "again.yaml")
    assert again.platform.pes == made.platform.pes
    assert again.application == made.application
    assert makespan_s(again) == makespan_s(made)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"partition": [1, 999999], "pes": "[g0, c0]"}, "the process on GPU g0 occupies c0"),
        (
            {"memory": "1MB", "name": "matmul", "parameters": "{n: 500}", "partition": [500]},
            "GPU g0: what runs there needs",
        ),
        ({"hosts": "c7"}, "host: 'c7' is no core of its node; take c0, c1, c2"),
        ({"name": "sort", "parameters": "{n: 1000}", "partition": [1000]}, "nobody says what sort moves to GPU g0"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, said, message):
    with pytest.raises(ScenarioError, match=message):
        simulator.run(node(tmp_path, **said))


DOUBT = "doubt: {sd: [0.2], common: 0}"


def doubted(folder: Path, make=node, **said: object) -> simulator.Scenario:
    """With host links that are not known for certain."""
    make(folder, **said)
    path = folder / "node.yaml"
    text = path.read_text(encoding="utf-8").replace("bandwidth: 10GB/s}", f"bandwidth: 10GB/s, {DOUBT}}}")
    path.write_text(text.replace("bandwidth: 5GB/s}", f"bandwidth: 5GB/s, {DOUBT}}}"), encoding="utf-8")
    return simulator.load_scenario(path)


@pytest.mark.parametrize("contention", ["none", "fifo", "fair"])
def test_doubt_of_host_links_is_drawn_once_for_each_truth(tmp_path, contention):
    made = replace(doubted(tmp_path, moves=MOVED, contention=contention), replications=60)
    runs, sure = simulator.run(made), makespan_s(node(tmp_path, moves=MOVED, contention=contention))
    moved = runs.makespan_s[0] - 1e6 / 100e9
    into, out = 8e6 / 10e9 + 10e-6, 1e6 / 5e9 + 20e-6
    factors = {name: np.exp(0.2 * values) for name, values in deviates(made).items()}
    assert sorted(factors) == ["link into of n at s", "link out of n at s"]
    truth = np.arange(60) % factors["link out of n at s"].size
    expected = into * factors["link into of n at s"][truth] + out * factors["link out of n at s"][truth]
    assert moved == pytest.approx(expected, rel=1e-6)
    assert 0.1 < moved.std() / (sure - 1e6 / 100e9) < 0.25


def test_gpus_on_one_switch_have_one_truth(tmp_path):
    text = {"partition": [500000, 500000], "pes": "[g0, g1]", "moves": ", moves: {into: {unit: 8 B}}"}
    for switch, sources in (("s", {"n at s"}), ("null", {"n-g0", "n-g1"})):
        found = deviates(doubted(tmp_path, partial(two_hosts, node), **text | {"switch": switch}))
        assert len({name for name in found if name.startswith("link into of ")}) == len(sources)


@pytest.mark.parametrize("streams", [1, 2])
def test_doubt_of_the_network_leaves_moves_alone(tmp_path, streams):
    made = node(tmp_path, moves=MOVED, streams=streams)
    path = tmp_path / "node.yaml"
    text = path.read_text(encoding="utf-8").replace("bandwidth: 1GB/s}", f"bandwidth: 1GB/s, {DOUBT}}}")
    path.write_text(text, encoding="utf-8")
    found = simulator.run(replace(simulator.load_scenario(path), replications=20)).makespan_s
    assert found == pytest.approx(np.full((1, 20), makespan_s(made)), rel=1e-9)


@pytest.mark.parametrize("contention", ["none", "fair"])
def test_three_readings_agree_on_doubted_moves(tmp_path, contention):
    moved = ", moves: {into: {unit: 8 B}, each_into: {process: 9 B}, out: {process: 31 B}}"
    said = {"contention": contention, "pes": "[g0, g1, c2]", "partition": [30, 20, 7], "moves": moved}
    made = replace(doubted(tmp_path, partial(two_hosts, node), parameters="{samples: 57}", **said), replications=4)
    check_three(made, draw(made))


def test_what_a_master_has_besides_its_share_is_not_on_its_gpu(tmp_path):
    said = {"name": "matmul", "parameters": "{n: 500}", "pes": "[g0, c1]"}
    of_share = 8 * (500 * 500 + 2 * 200 * 500)
    assert makespan_s(node(tmp_path, partition=[200, 300], memory=f"{of_share}B", **said)) > 0
    with pytest.raises(ScenarioError, match="GPU g0: what runs there needs 8 B more"):
        simulator.run(node(tmp_path, partition=[200, 300], memory=f"{of_share - 8}B", **said))
