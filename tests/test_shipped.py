"""What ships is found by name from any folder, a file on disk always wins, and the command line says what it took."""

import json

import pytest

import simulator as sim
from advisor.cli import _run
from simulator import shipped


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "two-cores",
        "tutorial/two-cores.yaml",
        "scenarios/tutorial/two-cores.yaml",
    ],
)
def test_a_scenario_has_several_names(name):
    assert shipped.locate(name).parts[-3:] == ("scenarios", "tutorial", "two-cores.yaml")


def test_traces_tables_graphs_and_models_have_names_too():
    assert shipped.locate("traces/on-off-1-2.csv").parts[-2:] == ("traces", "on-off-1-2.csv")
    assert shipped.locate("papers/gbbp_dgemm").name == "gbbp_dgemm.csv"
    assert shipped.locate("matmul.seg").name == shipped.locate("matmul").name == "matmul.seg.yaml"
    assert shipped.locate("speeds").name == "speeds.json"


@pytest.mark.parametrize("name", ["/two-cores", "../two-cores.yaml", "nothing-like-it", "", "a\0b", "x" * 5000])
def test_other_names_stay_as_they_are(name):
    assert str(shipped.locate(name)) == (name or ".")


def test_a_file_here_wins(empty_folder):
    (empty_folder / "two-cores").write_text("format: 1\n")
    assert str(shipped.locate("two-cores")) == "two-cores"
    with pytest.raises(sim.ScenarioError, match=r"^two-cores"):
        sim.load_scenario("two-cores")


def test_the_nearest_name_is_told():
    with pytest.raises(sim.ScenarioError, match=r"three-pe: no such file or directory; nearest .*: three-pes$"):
        sim.load_scenario("three-pe")


def test_a_name_of_several_files_is_refused(monkeypatch):
    monkeypatch.setattr(shipped, "names", lambda: ("scenarios/papers/one.yaml", "scenarios/tutorial/one.yaml"))
    with pytest.raises(
        sim.ScenarioError,
        match="one: there is no such file here, and several of that name are "
        r"shipped; take scenarios/papers/one\.yaml, scenarios/tutorial/one\.yaml",
    ):
        shipped.locate("one")
    assert shipped.locate("tutorial/one").name == "one.yaml"


def test_a_file_that_a_scenario_names_is_never_taken_from_what_ships(empty_folder):
    """Else a missing trace beside a scenario of the user's would silently be another one."""
    text = shipped.locate("three-pes").read_text().replace("../../traces/", "")
    (empty_folder / "traces").mkdir()
    (empty_folder / "traces" / "mine.yaml").write_text(text)
    with pytest.raises(sim.ApportionError, match=r"on-off-1-2\.csv: no such file"):
        sim.load_scenario("traces/mine.yaml")


def test_every_shipped_scenario_is_listed_by_a_name_that_leads_to_it(capsys, monkeypatch):
    listed = shipped.scenarios()
    assert {"two-cores", "three-pes", "cluster"} <= {scenario.name for scenario in listed}
    for scenario in listed:
        assert shipped.locate(scenario.name) == scenario.path
        assert scenario.title
        assert "$schema" not in scenario.title
    monkeypatch.setenv("COLUMNS", "60")
    assert _run(["show"]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 60
    assert [line.split()[0] for line in told.splitlines()] == [scenario.name for scenario in listed]
    assert _run(["show", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["scenarios"]) == len(listed)


def test_shipped_files_are_copied_with_what_they_name(empty_folder, capsys):
    assert _run(["show", "-o", "mine"]) == 0
    assert (empty_folder / "mine/scenarios/scenario.schema.json").is_file()
    assert sim.load_scenario("mine/scenarios/tutorial/three-pes.yaml").replications == 200
    assert _run(["show", "-o", "mine"]) == 2
    assert "is there already; name a folder without the shipped files" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "two-cores"],
        ["check", "matmul.seg"],
        ["simulate", "two-cores", "--replications", "2"],
        ["advise", "scenarios/tutorial/speeds.json", "--units", "100"],
        ["show", "on-off-1-2"],
        ["fit", "hpl-runs", "--formula", "N**3/(P*Q)", "--response", "time_s"],
    ],
    ids=" ".join,
)
def test_commands_take_names_and_say_once_what_they_took(arguments, capsys):
    assert _run(arguments) == 0
    told = capsys.readouterr()
    assert told.out
    assert told.err.count("is the one that ships with apportion: /") == 1
