"""What-ifs: the values of a field, the points of a grid, and paths that lead nowhere."""

import pytest

from simulator import ScenarioError, read_template, whatif
from tests.support.command_line import ROOT

TWO_CORES = ROOT / "scenarios" / "tutorial" / "two-cores.yaml"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=1,2,x3", ("1", "2", "x3")),
        ("a.b=0..3", ("0", "1", "2", "3")),
        ("a.b=0..8..4", ("0", "4", "8")),
        ("a.b=0.1..0.3..0.1", ("0.1", "0.2", "0.3")),
        ("a.b=1,4..5,9", ("1", "4", "5", "9")),
        ("a.b=[1, 2],[3, 4]", ("[1, 2]", "[3, 4]")),
        ("a.b={latency: 1us, bandwidth: 1Gbit/s},'x,y'", ("{latency: 1us, bandwidth: 1Gbit/s}", "'x,y'")),
        ("a.b=../../traces/on-off-1-2.csv", ("../../traces/on-off-1-2.csv",)),
    ],
)
def test_values(text, values):
    assert whatif.read_varied(text) == whatif.Varied("a.b", values)


@pytest.mark.parametrize(
    ("texts", "zipped", "message"),
    [
        (["a.b"], False, "--vary is 'a.b'; give PATH=v1,v2,... such as platform.link.bandwidth=x1,x2"),
        (["a="], False, "--vary a: '' has an empty value; part the values by single commas"),
        (["a=8..0"], False, "--vary a: '8..0' holds no value; give a range that ascends"),
        (["a=0..9999999"], False, "--vary a: these are 10000000 values; give at most 100000"),
        (["a=0..9999", "b=0..9999"], False, "--vary: these are 100000000 points; give at most 100000"),
        (["a=1", "a=2"], False, "--vary a is given twice; give each path once"),
        (["a=1,2,1"], False, "--vary: the point a=1 stands twice; give each point once"),
        (["a=1,2", "b=1,2,3"], True, "--zip: there are 2 of a, 3 of b; give equally many values of each"),
        (["seed=1,2"], False, "--vary seed: found, all points share it, as differences are of paired draws: --seed"),
    ],
)
def test_bad_values(texts, zipped, message):
    with pytest.raises(ScenarioError) as error:
        whatif.points([whatif.read_varied(text) for text in texts], zipped=zipped)
    assert error.value.lines == (message,)


def test_points_of_a_grid_and_side_by_side():
    varied = [whatif.read_varied("a=1,2"), whatif.read_varied("b=3,4")]
    assert whatif.points(varied) == (("a=1", "b=3"), ("a=1", "b=4"), ("a=2", "b=3"), ("a=2", "b=4"))
    assert whatif.points(varied, zipped=True) == (("a=1", "b=3"), ("a=2", "b=4"))


@pytest.mark.parametrize(
    ("change", "nearest"),
    [
        ("platform.nodes.two-core.memory=1GiB", "platform.nodes.two-cores.memory"),
        ("platform.nodes.two-cores.memroy=1GiB", "platform.nodes.two-cores.memory"),
        ("platform.lnik.sizes_bytes=[1]", "platform.link.sizes_bytes"),
        ("aplication.parameters.n=5", "application.parameters.n"),
        ("platform.links.lan.bandwidth=1Gbit/s", "platform.link.bandwidth"),
        ("platform.qqq=5", None),
    ],
)
def test_a_path_that_does_not_exist_names_the_nearest(change, nearest):
    with pytest.raises(ScenarioError) as error:
        whatif.check_paths(read_template(TWO_CORES), [("application.parameters.n=3",), (change,)])
    (line,) = error.value.lines
    assert line.startswith(f"--vary {change.partition('=')[0]}: ")
    assert line.endswith(f"; nearest: {nearest}") is (nearest is not None)
    assert ("nearest" in line) is (nearest is not None)


def test_values_that_break_the_scenario_are_no_wrong_paths():
    whatif.check_paths(read_template(TWO_CORES), [("application.parameters.n=-3",), ("platform.nodes.0.memory=1",)])


def test_paths_are_looked_for_where_configurations_do_not_count(monkeypatch):
    """With `--advise` what memory holds of a scenario's own configurations is nobody's question."""
    template, asked = read_template(TWO_CORES), []
    monkeypatch.setattr(type(template), "scenario", lambda _, changes, *, oversized: asked.append((changes, oversized)))
    whatif.check_paths(template, [("application.parameters.n=3",)], oversized=True)
    assert asked == [(["application.parameters.n=3"], True)]
