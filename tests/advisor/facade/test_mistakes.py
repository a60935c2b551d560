"""Typical mistakes, in Python and in a scenario: each is one sentence that says where, what, and what to do."""

import apportion as ap
import pytest

LINK = ap.Link("10 GbE", "30us", "10 Gbit/s")
NODES = ap.nodes("fast[1-2]", cores=8, speeds={"stencil": "3 Gflop/s"})
CLUSTER = ap.star(NODES, link=LINK)
STENCIL = ap.Application("stencil", parameters={"n": 8000, "iterations": 200})


def too_little(_scenario):
    return [1, 2]


IN_PYTHON = {
    "unit": (
        lambda: ap.nodes("a", speeds={"stencil": "3 Gflops"}),
        "nodes a: speed of stencil: '3 Gflops' is no speed; write one such as 2.5Gflop/s; did you mean Gflop/s?",
    ),
    "negative-speed": (
        lambda: ap.nodes("a", speeds={"stencil": -3e9}),
        "nodes a: speed of stencil: it is -3e+09; give more than 0",
    ),
    "parameter": (
        lambda: ap.Application("stencil", parameters={"n": 8000, "iterations": 1, "iteration": 1}),
        "application: parameters: iteration is unknown; take n, iterations; did you mean iterations?",
    ),
    "rule": (
        lambda: ap.busy("13:00", "18:00", rule="fiar"),
        "busy: rule: it is 'fiar'; give one of fair, idle; did you mean fair?",
    ),
    "time": (
        lambda: ap.busy(13, 18),
        "busy: first: it is 13; give a time of day, such as '13:00'",
    ),
    "strategy": (
        lambda: ap.Scenario(CLUSTER, STENCIL, {"as-now": "one-per-cor"}),
        (
            "configuration as-now: partition: it is 'one-per-cor'; give one of equal, one-per-core; "
            "did you mean one-per-core?"
        ),
    ),
    "sum": (
        lambda: ap.simulate(ap.Scenario(CLUSTER, STENCIL, {"mine": [4000, 3000]})),
        "configuration mine: partition: its parts are 7000 rows together, but n = 8000; add 1000",
    ),
    "count": (
        lambda: ap.Scenario(CLUSTER, STENCIL, {"mine": [4000, 3000, 1000]}),
        (
            "configuration mine: partition: it has 3 parts for 2 PEs with 16 cores; give one for each PE or one for "
            "each core"
        ),
    ),
    "processes": (
        lambda: ap.Configuration("mine", [4000, 4000], [0]),
        "configuration mine: placement: it is [0] for 2 processes; give one PE per process",
    ),
    "parts-of-units": (
        lambda: ap.Configuration("mine", [4000.5, 3999.5]),
        "configuration mine: partition: it is 4000.5; give a whole number",
    ),
    "link": (
        lambda: ap.star(NODES),
        "star: nodes fast1, fast2 have no link; give one: link=Link('10 GbE', '30us', '10 Gbit/s')",
    ),
    "link-as-text": (
        lambda: ap.star(NODES, link="10 Gbit/s"),
        "star: link: it is '10 Gbit/s'; give a Link, such as Link('10 GbE', '30us', '10 Gbit/s')",
    ),
    "path": (
        lambda: ap.load("mine.yaml"),
        "mine.yaml: no such file; give a scenario's file, or the name of one that ships: two-cores",
    ),
    "name": (
        lambda: ap.advise("two-coers"),
        "two-coers: no such file or directory; nearest of what ships with apportion: two-cores",
    ),
    "dict": (
        lambda: ap.simulate({"platform": {}}),
        (
            "a scenario is asked for, and this is a dict; give a file, a shipped name such as 'two-cores', or a "
            "Scenario(platform, application)"
        ),
    ),
    "order": (
        lambda: ap.Scenario(STENCIL, CLUSTER),
        (
            "scenario: platform: it is an Application; give a Platform, such as "
            "star(nodes('fast[1-4]', speeds={'dgemm': '3 Gflop/s'}), link=...)"
        ),
    ),
    "nothing-to-simulate": (
        lambda: ap.simulate(ap.Scenario(CLUSTER, STENCIL)),
        (
            "simulate: the scenario has no configurations; give some, such as "
            "Scenario(platform, application, {'as-now': 'one-per-core'}), or ask advise"
        ),
    ),
    "engine": (
        lambda: ap.simulate("two-cores", engine="compild"),
        "simulate: engine: it is 'compild'; give one of auto, process, compiled; did you mean compiled?",
    ),
    "short-budget": (
        lambda: ap.measure(budget="3s"),
        "measure: budget: '3s' is too short to measure speeds and messages; give 20s or more",
    ),
    "level": (
        lambda: ap.advise("two-cores", level=90),
        "advise: level: it is 90; give a share below 1, such as 0.9 or '90%'",
    ),
    "own-strategy-without-name": (
        lambda: ap.advise("two-cores", strategies=[lambda _: [2000, 504]]),
        (
            "advise: strategies: one is a function without a name; give functions of a scenario that return units, "
            "such as [by_peak]"
        ),
    ),
    "own-strategy-of-too-little": (
        lambda: ap.advise("two-cores", strategies=[too_little]),
        "configuration too_little: partition: its parts are 3 rows together, but n = 2504; add 2501",
    ),
    "costs": (
        lambda: ap.Application.of_costs(lambda units: units),
        "application: units: a function of costs does not say how many units; give units=1000",
    ),
    "negative-cost": (
        lambda: ap.Application.of_costs([1.0, -2.0]),
        (
            "application: costs: cost 1 is -2; give a number of at least 0 for each unit, or a function of how many a "
            "process has"
        ),
    ),
    "values": (
        lambda: ap.what_if("three-pes", {"platform.link.bandwidth": 2}),
        "what_if: vary: platform.link.bandwidth: it is 2; give a list of values, such as ['x1', 'x2']",
    ),
    "workers": (
        lambda: ap.map(ap.simulate, ["two-cores"], workers=-1),
        "map: workers: it is -1; give a whole number of at least 0",
    ),
    "workers-of-points": (
        lambda: ap.what_if("three-pes", {"platform.link.bandwidth": ["x2"]}, workers=-1),
        "what_if: workers: it is -1; give a whole number of at least 0",
    ),
    "load": (
        lambda: ap.PE("core0", "desk", {"dgemm": 1e9}, load="load.csv"),
        (
            "platform: PE core0: load: it is 'load.csv'; give a Load, such as busy('13:00', '18:00') or "
            "Load(read_trace('load.csv'), 'fair')"
        ),
    ),
}


@pytest.mark.parametrize("mistake", IN_PYTHON)
def test_a_mistake_in_python_is_one_sentence_with_the_way_out(mistake):
    wrong, said = IN_PYTHON[mistake]
    with pytest.raises(ap.ApportionError) as caught:
        wrong()
    assert list(caught.value.lines) == [said]
    assert caught.value._render_traceback_() == [f"ScenarioError: {said}"]  # all that IPython shows


SCENARIO = """\
format: 1
platform:
  nodes:
    - name: fast[1-2]
      pes: [{cores: 8, speeds: {stencil: 3 Gflop/s}}]
    - name: slow
      pes: [{cores: 8, speeds: {stencil: 1.8 Gflop/s}}]
      load: {trace: {times_s: [0, 1], values: [0, 1], end_s: 2}, rule: fair}
  network: {topology: star, link: {latency: 30us, bandwidth: 10Gbit/s}, contention: fair}
application: {name: stencil, kernel: stencil, parameters: {n: 8000, iterations: 200}}
configurations:
  as-now: {partition: [4000, 3000, 1000]}
"""
