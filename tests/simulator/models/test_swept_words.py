"""What a kernel's speeds say of swept words, and speeds that scenarios take from memory models."""

import json

import numpy as np
import pytest

from advisor.cli import _run
from simulator.base.errors import ScenarioError
from simulator.calibration import swept_by_kernel
from simulator.scenario_file.load import load_scenario, resolved_text

NEAR, FAR, EDGE = 1e-9, 3e-9, 8e4
SIZES = np.array([1e3, 5e3, 1e4, 2e4, 1e5])
STATISTICS = {
    "points": 40,
    "mean_relative_error": 0.05,
    "max_relative_error": 0.2,
    "held_out_mean": None,
    "held_out_max": None,
}


def level(name, capacity, time_s):
    return {"name": name, "capacity_bytes": capacity, "latency_s": time_s, "gap_s": time_s, "shared": False}


@pytest.fixture
def memory(tmp_path):
    """Two levels, every word of a level alike."""
    model = {
        "form": "model 3",
        "levels": [level("level 1", EDGE, NEAR), level("last level", None, FAR)],
        "correction": None,
        "spread": 0.05,
        "scores": [[0.5, 0.7], [0.9, 1.6]],
        "trained": {"M_words": [1e3, 5e4], "alpha": [0.001, 1.0], "L": [1.0, 4096.0]},
        "statistics": STATISTICS,
    }
    caches = [{"level": 2, "kind": "unified", "size_bytes": 100_000, "shared_by": 4}]
    document = {
        "format": 2,
        "kind": "memory",
        "model": model,
        "comparison": [
            {"name": "L2", "reported_bytes": 1e5, "nearest_fitted_bytes": EDGE, "ratio": 0.8, "agrees": True}
        ],
        "provenance": {"machine": {"caches": caches}},
    }
    path = tmp_path / "memory.json"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def triad(tmp_path):
    """As the model says with a compute part of 2 ns: 4 ns a unit near; at 2e4 elements half of the words are far."""
    far = np.maximum(0, 1 - EDGE / (8 * SIZES))
    speeds = 1 / (2e-9 + 2 * (NEAR + far * (FAR - NEAR)))
    band = {
        "sizes": SIZES.tolist(),
        **{name: (speeds * f).tolist() for name, f in (("low", 0.9), ("mid", 1), ("high", 1.1))},
    }
    points = [
        {"size_elements": x, "speed": {"low": 0.9 * s, "mid": s, "high": 1.1 * s}}
        for x, s in zip(SIZES.tolist(), speeds.tolist(), strict=True)
    ]
    path = tmp_path / "triad.json"
    path.write_text(json.dumps({"format": 2, "kind": "speed", "kernel": "triad", "model": band, "points": points}))
    return path


def give(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def sweeps_of(document, *, near=1e-10, far=4e-10):
    """Sweeps of 0.1 ns near and 0.4 ns far, writing as long again, with one step at 8000 words."""
    words, times = [1e3, 8e3, 8001.0, 1e6], [near, near, far, far]
    document["model"]["sweeps"] = {"M_words": words, "read_s": times, "write_s": times}


def test_another_kernels_speeds_say_what_swept_words_take(triad, tmp_path, capsys):
    """Triad takes 1.5 words for an operation."""
    triad_s = np.array([3e-10, 3e-10, 12e-10, 12e-10, 12e-10])

    def measured(document, kernel, sizes, unit_s):
        document["kernel"] = kernel
        for point, size, seconds in zip(document["points"], sizes.tolist(), unit_s.tolist(), strict=True):
            point["size_elements"], point["speed"]["mid"] = size, 1 / seconds

    give(triad, lambda document: measured(document, "triad", SIZES, triad_s))
    known = swept_by_kernel(triad)
    assert known.m_words.tolist() == SIZES.tolist()
    assert known.read_s.tolist() == pytest.approx((triad_s / 1.5).tolist())
    assert known.write_s.tolist() == known.read_s.tolist()
    give(triad, lambda document: document.update(points=document["points"][:1]))
    with pytest.raises(ScenarioError, match="1 measured sizes are too few"):
        swept_by_kernel(triad)
    give(triad, lambda document: document.update(kernel="qr"))
    cells = [f"{m},{a},{run},{1e-9 * (1 + m / 1e5)}" for m in (1e3, 1e4, 1e5) for a in (0.5, 1) for run in (1, 16)]
    (tmp_path / "t.csv").write_text("\n".join(["M_words,alpha,L,time_per_word_s", *cells]) + "\n")
    assert _run(["calibrate", "memory", "--replay", str(tmp_path / "t.csv"), "--swept", str(triad)]) == 2
    assert "nothing is known of the accesses of kernel 'qr'" in capsys.readouterr().err
    measured_again = [{"size_elements": 3 * x, "speed": {"low": 1e9, "mid": 1e9, "high": 1e9}} for x in SIZES.tolist()]
    give(triad, lambda document: document.update(kernel="matmul", points=measured_again))
    made = tmp_path / "made.json"
    given = ["--replay", str(tmp_path / "t.csv"), "--swept", str(triad), "-o", str(made)]
    assert _run(["calibrate", "memory", *given]) == 0
    assert json.loads(made.read_text())["model"]["sweeps"]["M_words"] == pytest.approx(SIZES.tolist())


@pytest.fixture
def predicted(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("""format: 1
platform:
  nodes:
    - {name: a, levels: {model: memory.json}, pes: [{name: a0, speeds: {triad: {predicted: {flop_rate: 2 Gflop/s}}}}]}
  link: {latency: 10us, bandwidth: 1Gbit/s}
application: {name: stencil, kernel: triad, parameters: {n: 100, iterations: 2}}
configurations: {one: {partition: equal}}
""")
    return path


def speeds_at(scenario, sizes):
    return (1e9 / scenario.platform.pes[0].speed_of("triad").speed(np.array(sizes))).tolist()


def test_a_predicted_speed_takes_sweeps_from_the_model(memory, predicted):
    """By the levels 0.5 ns + 2 (T - 1 ns), T 1 and at most 2.5 ns; by sweeps (c^3 + m^3)^(1/3), m 0.15 and 0.6 ns."""
    before = load_scenario(predicted)
    assert speeds_at(before, [5e3, 4e5]) == pytest.approx([0.5, 3.5])
    assert "(" not in before.notes[0]
    assert not before.platform.known_nodes[0].uses
    give(memory, sweeps_of)
    now = load_scenario(predicted)
    compute = 0.5**3 - 0.15**3
    assert speeds_at(now, [5e3, 4e5]) == pytest.approx([0.5, (compute + 0.6**3) ** (1 / 3)])
    assert "(sweeps as measured by vector loops), not measured" in now.notes[0]
    assert now.notes[1].startswith("triad on a: what it loses where L2 is shared: what its memory model says")
    near_s, far_s = 0.5, (compute + 0.6**3) ** (1 / 3)
    taken = now.platform.known_nodes[0].uses["triad"].at("L2", 4e3)  # the system says that L2 is shared
    assert (taken.demand, taken.sensitivity) == (pytest.approx(8 * 4e3, rel=0.02), pytest.approx(far_s / near_s - 1))


def test_a_predicted_speed_on_a_larger_cache_moves_the_sweeps_step(memory, predicted):
    give(memory, sweeps_of)
    near, far = speeds_at(load_scenario(predicted), [5e3, 1.2e4])
    wider = load_scenario(predicted, changes=["platform.nodes.a.levels.L2.capacity=x2"])
    assert speeds_at(wider, [5e3, 1.2e4, 4e4]) == pytest.approx([near, near, far])
    assert "(sweeps as measured by vector loops)" in wider.notes[0]


@pytest.mark.usefixtures("predicted")
def test_a_measured_speed_on_a_larger_cache_moves_with_the_sweeps(memory, tmp_path):
    """Measured as sweeps say: on twice the cache what was far is near, by the factor between both."""
    give(memory, sweeps_of)
    path = tmp_path / "p.yaml"
    slow = (0.5**3 - 0.15**3 + 0.6**3) ** (1 / 3)
    bands = "sizes: [1e3, 8e3, 8.1e3, 1e5], " + ", ".join(
        f"{name}: [2e9, 2e9, {1e9 / slow:.9e}, {1e9 / slow:.9e}]" for name in ("low", "mid", "high")
    )
    path.write_text(path.read_text().replace("{predicted: {flop_rate: 2 Gflop/s}}", f"{{{bands}}}"))
    found = load_scenario(path, changes=["platform.nodes.a.levels.L2.capacity=x2"])
    assert speeds_at(found, [5e3, 1.2e4, 4e4]) == pytest.approx([0.5, 0.5, slow])
    assert found.extrapolations[0].beyond_levels == "sweeps as measured by vector loops"
    assert found.extrapolations[0].highest_factor == pytest.approx(slow / 0.5)


@pytest.mark.usefixtures("memory")
def test_a_scenario_takes_levels_from_the_model_and_sets_one_of_them(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("""format: 1
platform:
  nodes:
    - {name: a, levels: {model: memory.json, shared: [RAM]}, pes: [{name: a0, speeds: {triad: {sizes: [1e3, 1e5],
       low: [2e8, 1e8], mid: [2.5e8, 1.25e8], high: [3e8, 1.5e8]}}}]}
  link: {latency: 10us, bandwidth: 1Gbit/s}
application: {name: stencil, kernel: triad, parameters: {n: 100, iterations: 2}}
configurations: {one: {partition: equal}}
""")
    scenario = load_scenario(path)
    levels = scenario.platform.known_nodes[0].levels
    assert [(one.name, one.capacity_bytes, one.shared) for one in levels] == [("L2", EDGE, True), ("RAM", np.inf, True)]
    assert set(scenario.inputs) == {"s.yaml", "memory.json"}
    assert "capacity: 80 kB" in resolved_text(path)
    changed = load_scenario(path, changes=["platform.nodes.a.levels.L2.capacity=x2"])
    assert changed.platform.known_nodes[0].levels[0].capacity_bytes == 2 * EDGE
    assert changed.extrapolations[0].highest_factor > 1.2
    path.write_text(path.read_text().replace("[RAM]", "[L3]"))
    with pytest.raises(ScenarioError, match=r"platform.nodes.0.levels.shared: there is no level 'L3'; take L2, RAM"):
        load_scenario(path)
