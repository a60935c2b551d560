"""What commands write is looked at before they begin; what was computed is not lost if writing fails at the end."""

import inspect
import itertools
import json
import os
import typing

import pytest
import typer

from advisor.cli.commands import LEAVES, root
from advisor.cli.outputs import FOLDERS, WRITTEN
from simulator import ScenarioError, files, shipped
from tests.support.command_line import ROOT, apportion, apportion_here, check_refused

TUTORIAL = ROOT / "scenarios" / "tutorial"
THREE, QUICK = TUTORIAL / "three-pes.yaml", TUTORIAL / "first-run.yaml"
READ = {
    "manifest",
    "result",
    *("scenario", "model", "runs", "plan", "cluster", "source", "trace", "file", "what", "at"),
    *("hardware", "link", "held_out", "memory", "hwloc", "speed", "topology", "before", "recording", "replay", "load"),
    "path",
    "neighbours",
    "against",
    *("slurm", "accounts", "qos"),
    "swept",
    "log",
    "platform",
    "hosts_file",
}
"""Parameters of commands that name what is read."""
HOSTS = """
format: 1
platform:
  nodes:
  - {name: one, host: HOST, pes: [{name: a, speeds: {dgemm: 1 Gunits/s}}]}
  - {name: two, host: other, pes: [{name: b, speeds: {dgemm: 1 Gunits/s}, load: {
      trace: {times_s: [0.0, 0.02], values: [0, 1], end_s: 0.05}, rule: fair}}]}
  link: {latency: 10 us, bandwidth: 1 GB/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 600}}
configurations: {equal: {partition: equal}}
"""


def commands():
    """Every command by its full name as what is called, and the parameters of it that are paths."""
    for name in LEAVES:
        command = root()
        for word in name.split():
            command = command.commands[word]
        run = command.callback.__wrapped__
        hints = typing.get_type_hints(run, include_extras=False)
        yield name, run, [name for name, hint in hints.items() if "Path" in str(hint)]


NAMED = """
format: 1
platform:
  nodes:
  - {name: one, pes: [{name: a, speeds: {dgemm: {model: speed.json}}}]}
  - {name: two, pes: [{name: b, speeds: {dgemm: 1 Gunits/s}}]}
  link: {latency: 10 us, bandwidth: 1 GB/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 600}}
configurations: {equal: {partition: equal}}
"""

COMMANDS = {name: (run, paths) for name, run, paths in commands()}
LOOKED_AT = [(name, path) for name, (_, paths) in COMMANDS.items() for path in paths if path in WRITTEN]


def test_every_path_of_every_command_is_known_as_read_or_written():
    paths = {(name, path) for name, (_, found) in COMMANDS.items() for path in found}
    reads = {(name, path) for name, path in paths if path in READ}
    assert paths == reads | set(LOOKED_AT)
    assert set(FOLDERS) <= set(COMMANDS)
    assert len(LOOKED_AT) > 30


def said_as(name, parameter):
    """What the command line calls it: OUT of convert is an argument."""
    return "OUT" if name == "convert" else f"--{parameter}"


def test_no_command_begins_if_it_cannot_write(tmp_path):
    """A file where a folder would have to be; the command itself would miss its other arguments."""
    (tmp_path / "file").touch()
    for name, parameter in LOOKED_AT:
        with pytest.raises(
            ScenarioError, match=rf"{said_as(name, parameter)}: .*below\.svg: .*file is a file, so no folder"
        ):
            COMMANDS[name][0](**{parameter: tmp_path / "file" / "below.svg"})
        assert [path.name for path in tmp_path.iterdir()] == ["file"], name


PAIRS = {
    name: [
        (output, source)
        for command, output in LOOKED_AT
        for source in paths
        if command == name and source in READ and (name, source) not in LOOKED_AT
    ]
    for name, (_, paths) in COMMANDS.items()
}
"""Of each command, an option that writes, and an option or argument that names what is read."""


def other_names(path):
    """A file by other names: another spelling, a symbolic link, a hard link."""
    (path.parent / "soft.svg").symlink_to(path)
    (path.parent / "hard.svg").hardlink_to(path)
    return path, path.parent / ".." / path.parent.name / path.name, path.parent / "soft.svg", path.parent / "hard.svg"


@pytest.mark.parametrize("name", [name for name, pairs in PAIRS.items() if pairs])
def test_an_output_is_never_an_input(tmp_path, name):
    for output, source in PAIRS[name]:
        folder = tmp_path / output / source
        folder.mkdir(parents=True)
        check_no_input(folder, name, output, source)


def check_no_input(tmp_path, name, output, source):
    path = tmp_path / "read.svg"
    path.write_text("mine")
    several = "list" in str(inspect.signature(COMMANDS[name][0]).parameters[source].annotation)
    folder = output == "output" and name in FOLDERS and name != "convert"
    for spelled in other_names(path):
        where, said = (tmp_path, "holds") if folder else (spelled, "is")
        given = [spelled] if several else spelled
        if name == "advise" and folder:
            where, said = path.rename(path.with_suffix(".json")), "is"
            given = path = where
        with pytest.raises(ScenarioError, match=rf"{said_as(name, output)}: .* {said} the input .*; name another"):
            COMMANDS[name][0](**{output: where, source: given})
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("simulate s.yaml --timeline speed.json", "--timeline: speed.json is the input"),
        ("simulate base.yaml --jobs s.yaml.swf --timeline speed.json", "--timeline: speed.json is the input"),
        ("advise s.yaml -o .", "--output: . holds the input s.yaml; name another folder"),
        ("whatif s.yaml --vary platform.nodes.0.pes.0.speeds.dgemm=speed.json -o .", "holds the input s.yaml"),
    ],
)
def test_what_an_input_names_is_not_written_either(tmp_path, words, said):
    here = tmp_path / "here"
    here.mkdir()
    table = shipped.path_of("scenarios/papers/gbbp_dgemm.csv")
    assert apportion_here("calibrate", "speed", "--replay", table, "-o", "speed.json", cwd=here).returncode == 0
    text = (TUTORIAL / "three-pes.yaml").read_text()
    (here / "s.yaml").write_text(NAMED)
    (here / "base.yaml").write_text("format: 1\nextends: s.yaml\n")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    ran = apportion_here(*words.split(), cwd=here)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), (ran.stderr, text)
    assert said in ran.stderr
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_a_figure_does_not_replace_what_is_in_the_results(tmp_path):
    apportion_here("simulate", QUICK, "-o", tmp_path / "d")
    chart = tmp_path / "d" / "timeline-0.svg"
    before = chart.read_bytes()
    ran = apportion_here("plot", tmp_path / "d", "-o", chart)
    assert (ran.returncode, "is the input" in ran.stderr, chart.read_bytes() == before) == (2, True, True)
    for _ in range(2):
        assert apportion_here("plot", tmp_path / "d", "-o", tmp_path / "d" / "figure.svg").returncode == 0


WRITERS = sorted(set(FOLDERS) - {"show"})


NOT_OURS = [None, "no JSON", "[]", '{"format": 1, "kind": "other"}', '{"command": "fit"}']


@pytest.mark.parametrize(
    ("name", "manifest"),
    [*((name, None) for name in WRITERS), *((WRITERS[0], manifest) for manifest in NOT_OURS[1:])],
)
def test_a_folder_with_files_of_others_is_no_output(tmp_path, name, manifest):
    (tmp_path / "scenario.yaml").write_text("mine")
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(ScenarioError, match=r"--output: .* which is no result of ours; name a new folder"):
        COMMANDS[name][0](output=tmp_path)
    assert (tmp_path / "scenario.yaml").read_text() == "mine"


def test_results_that_were_measured_are_not_replaced_by_another_command(tmp_path):
    for name, other in itertools.product(WRITERS, ("verify", "cluster", "quickstart", "whatif")):
        (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "kind": "results", "command": other}))
        if other != name:
            with pytest.raises(ScenarioError, match=rf"holds results of `apportion {other}`; name another folder"):
                COMMANDS[name][0](output=tmp_path)


def test_no_two_commands_write_one_folder(tmp_path):
    for name in WRITERS:
        with files.locked(tmp_path) as mine:
            assert mine
            with pytest.raises(ScenarioError, match=BUSY):
                COMMANDS[name][0](output=tmp_path)
        assert list(tmp_path.iterdir()) == [], name


def test_a_command_that_fails_leaves_no_folder(tmp_path):
    given = {"output": tmp_path / "new" / "er", "scenario": "none", "what": None, "log": None, "budget": "no"}
    for name in WRITERS:
        with pytest.raises((TypeError, AttributeError, ScenarioError, typer.BadParameter)):
            COMMANDS[name][0](**given)
        assert list(tmp_path.iterdir()) == [], name


@pytest.mark.slow
def test_old_results_go_when_a_folder_is_written_again(tmp_path):
    folder = tmp_path / "d"

    def ran(*words):
        done = apportion_here(*words, "--replications", 2, "-o", folder)
        assert done.returncode == 0, done.stderr
        return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}

    first = ran("simulate", THREE)
    (folder / "notes.txt").write_text("mine")
    second = ran("simulate", QUICK)
    fresh = {name for name in first if name.startswith("timeline")} - second
    assert fresh, "the first scenario has more configurations"
    assert "three-pes.yaml" not in {name.rpartition("/")[2] for name in second}
    assert "notes.txt" in second
    again = apportion_here("rerun", folder)
    assert "notes.txt" in again.stdout  # a file of the user's, and nothing else differs
    (folder / "notes.txt").unlink()
    again = apportion_here("rerun", folder)
    assert (again.returncode, "equal where simulated" in again.stdout) == (0, True), again.stdout
    third = ran("advise", QUICK)
    assert not {"runs.csv", "processes.csv"} & third


def test_a_manifest_from_anybody_removes_nothing_outside_its_folder(tmp_path):
    folder = tmp_path / "d"
    assert apportion_here("simulate", QUICK, "-o", folder).returncode == 0
    outside, linked = tmp_path / "outside.txt", tmp_path / "linked"
    outside.write_text("mine")
    linked.mkdir()
    (linked / "inside.txt").write_text("mine")
    (folder / "link").symlink_to(linked)
    (folder / "soft.txt").symlink_to(outside)
    document = json.loads((folder / "manifest.json").read_text())
    document["written"] = ["../outside.txt", str(outside), "link/inside.txt", "soft.txt", "", ".", 3, None]
    (folder / "manifest.json").write_text(json.dumps(document))
    ran = apportion_here("simulate", QUICK, "-o", folder)
    assert ran.returncode == 0, ran.stderr
    assert [outside.read_text(), (linked / "inside.txt").read_text()] == ["mine", "mine"]


@pytest.mark.parametrize(
    ("path", "folder", "said"),
    [
        ("file", True, "a folder is needed and a file stands there"),
        ("folder", False, "a file is needed and a folder is there"),
        ("pipe", False, "a device or pipe is there"),
        ("x" * 250, False, "the name is too long"),
        ("/proc/here", True, "nothing can be written there"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, path, folder, said):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ScenarioError, match=said):
        files.check_room(tmp_path / path, folder=folder)


@pytest.mark.parametrize("host", ["'two words'", "other"])
@pytest.mark.parametrize("option", ["-o", "--hostfile"])
def test_hosts_are_looked_at_before_the_search(tmp_path, host, option):
    path = tmp_path / "scenario.yaml"
    path.write_text(HOSTS.replace("HOST", host))
    ran = apportion_here("advise", path, "--replications", 10**7, option, tmp_path / "out")  # would take an hour
    check_refused(ran, "host")
    assert not (tmp_path / "out").exists()


def test_check_knows_what_advise_refuses_to_write(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text(HOSTS.replace("HOST", "other"))
    written = apportion_here("advise", path, "-o", tmp_path / "out")
    checked = apportion_here("check", path)
    assert f"not for advise -o: {written.stderr.removeprefix('error: ').strip()}" in " ".join(checked.stdout.split())
    assert "advise -o" in json.loads(apportion_here("check", path, "--json").stdout)["ready"]
    path.write_text(HOSTS.replace("HOST", "third"))
    assert "advise -o" not in apportion_here("check", path).stdout


TO_WRITE = {
    "simulate": ["simulate", THREE, "--replications", "5"],
    "advise": ["advise", THREE, "--replications", "5"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), [("simulate", []), ("advise", ["--json"])])
def test_a_result_that_cannot_be_written_is_told_and_kept(tmp_path, monkeypatch, name, form):
    """Results of ours, but a folder stands where the page is to go, which no look at the outside can see."""
    command, page = TO_WRITE[name], tmp_path / "out" / "report.html"
    assert apportion_here(*command, "-o", tmp_path / "out").returncode == 0
    page.unlink()
    page.mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    ran = apportion(*command, *form, "-o", tmp_path / "out")
    assert ran.returncode == 1
    assert "report.html: is a directory" in ran.stderr
    (kept,) = (tmp_path / "elsewhere").glob("apportion-*.json")
    assert f"what was computed is on standard output, and as JSON in {kept}" in ran.stderr
    document = json.loads(kept.read_text())
    assert document["command"] == name
    if form:
        assert json.loads(ran.stdout) == document
    else:
        assert len(ran.stdout) > 300


DOCUMENTS = {
    "whatif.json": ('{"format": 1, "command": "whatif"}', "this is a result of 'whatif'"),
    "alone.json": ('{"format": 1, "command": "advise"}', "this is an advice without its scenario"),
}
ADVICES = {
    "a list": ("[]", "this is a JSON list"),
    "of another command": ('{"format": 1, "command": "simulate"}', "this is a result of 'simulate'"),
}


def refused(what, said, output):
    check_refused(apportion_here("verify", what, "-o", output), said)
    assert not output.exists()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_verify_refuses_other_documents_in_one_sentence(tmp_path, name):
    text, said = DOCUMENTS[name]
    (tmp_path / name).write_text(text)
    refused(tmp_path / name, said, tmp_path / "out")


@pytest.mark.parametrize("name", ADVICES)
def test_verify_refuses_folders_of_other_documents(tmp_path, name):
    text, said = ADVICES[name]
    (tmp_path / "advice.json").write_text(text)
    (tmp_path / "scenario.yaml").write_text(THREE.read_text())
    refused(tmp_path, said, tmp_path / "out")
    (tmp_path / "advice.json").unlink()
    refused(tmp_path, f"{tmp_path / 'scenario.yaml'} there can be", tmp_path / "out")


BUSY = "another run is writing there; wait until it has ended, or name another place"


def busy_calibration(folder):
    command = ["calibrate", "speed", "--kernel", "triad", "--max-size", "6000", "--method", "gbbp"]
    return [*command, "-o", folder / "m.json"], folder / "m.json.partial"


def busy_recording(folder):
    return ["calibrate", "load", "-o", folder / "load.csv", "--duration", "60s", "--append"], folder / "load.csv"


def busy_runs(folder):
    ran = apportion_here(
        *["fit", "--plan", TUTORIAL / "two-cores.yaml", "--sizes", "400,800,1200", "--budget", "60s"],
        *["-o", folder / "plan.json"],
    )
    assert ran.returncode == 0, ran.stderr
    command = ["fit", "--run", folder / "plan.json", "--command", "echo {N} {P}", "--time", "hpl"]
    return [*command, "-o", folder / "runs.csv"], folder / "runs.csv"


@pytest.mark.parametrize("busy", [busy_calibration, busy_recording, busy_runs])
def test_the_second_at_one_place_is_refused(tmp_path, busy):
    command, place = busy(tmp_path)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    place.with_name(f".{place.name}.lock").touch()  # what a killed one leaves
    with files.locked(place) as mine:
        assert mine
        ran = apportion_here(*command)
    assert ran.returncode == 2
    assert f"error: {place}: {BUSY}" in ran.stderr
    assert set(before) >= {path.name for path in tmp_path.rglob("*")} - {"runs.work"}
