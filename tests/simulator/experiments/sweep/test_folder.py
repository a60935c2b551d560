"""Results folders of sweeps: damaged files, other processes, full disks, folders that go away."""

import errno
import json
import os
from contextlib import contextmanager

import pytest

from simulator import ApportionError, ScenarioError, files, load_results
from simulator.base.errors import SweepError
from simulator.experiments.sweep import sweep
from simulator.results.files import sealed
from tests.support.sweep_points import N, never, plan_of, thread, write


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    plan = plan_of(write(folder), f"{N}=1200,1600,1700")
    return plan, sweep(plan, thread, folder=folder / "out"), folder / "out"


@pytest.fixture
def copy(swept, tmp_path):
    """The finished folder once more, to be harmed."""
    plan, _, whole = swept
    for path in whole.rglob("*.*"):
        target = tmp_path / "out" / path.relative_to(whole)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    return plan, tmp_path / "out", contents(whole)


def contents(folder):
    """Everything but the manifest, which holds times."""
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {path.relative_to(folder): path.read_bytes() for path in found}


def of_another(path, plan):
    path.write_bytes((path.parent / f"{plan.points[2].hash}.json").read_bytes())


def sealed_too_much(path, _plan):
    document = json.loads(path.read_text())
    del document["seal"]
    path.write_text(sealed(document | {"nonesuch": 1}))


DAMAGES = {
    "empty": lambda path, _: path.write_text(""),
    "truncated": lambda path, _: path.write_bytes(path.read_bytes()[:-20]),
    "another digit": lambda path, _: path.write_text(
        path.read_text().replace('"makespan_ticks":[', '"makespan_ticks":[1')
    ),
    "no text": lambda path, _: path.write_bytes(b"\xff\xfe"),
    "another point": of_another,
    "an unknown key, sealed": sealed_too_much,
    "missing": lambda path, _: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_point_is_named_by_readers_and_run_again(copy, damage):
    plan, folder, whole = copy
    path = folder / "points" / f"{plan.points[1].hash}.json"
    damage(path, plan)
    with pytest.raises(ScenarioError, match=path.name):
        load_results(folder).to_dataframe(replications=True)
    assert sweep(plan, thread, folder=folder, resume=True).spent["run_now"] == 1
    assert contents(folder) == whole


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "manifest.json:1:1: this is no JSON"),
        (
            '{"format": 1, "kind": "sweep", "files": [], "columns": {}, "sweep": 3}',
            "manifest.json: sweep: 3 is no object; write keys with values",
        ),
        ('{"format": 9, "kind": "sweep"}', "manifest.json: format 9 is newer than this version reads"),
    ],
)
def test_a_damaged_manifest_is_refused(copy, text, message):
    plan, folder, _ = copy
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ScenarioError, match=message):
        sweep(plan, never, folder=folder, resume=True)
    with pytest.raises(ScenarioError, match=message):
        load_results(folder)


@pytest.mark.parametrize("text", ["", "a,b\n1\n1,2,3\n", "point,hash\nx,y\n"])
def test_a_damaged_table_is_named_and_written_again(copy, text):
    plan, folder, whole = copy
    (folder / "points.csv").write_text(text)
    with pytest.raises(
        ScenarioError,
        match="; give the table as it was written",
    ):
        load_results(folder).to_dataframe()
    sweep(plan, never, folder=folder, resume=True)
    assert contents(folder) == whole


def test_what_a_killed_process_left_is_cleared_away(copy):
    plan, folder, whole = copy
    for name in ("points/.a.json.x1", ".manifest.json.x2", ".points.csv.x3"):
        (folder / name).write_text("half")
    (folder / "notes.txt").write_text("the user's own")
    sweep(plan, never, folder=folder, resume=True)
    assert contents(folder) == whole | {(folder / "notes.txt").relative_to(folder): b"the user's own"}


def test_two_processes_at_one_folder(copy):
    plan, folder, _ = copy
    with files.locked(folder) as mine:
        assert mine
        with pytest.raises(ScenarioError, match=f"{folder}: another run is writing there"):
            sweep(plan, never, folder=folder, resume=True)
    sweep(plan, never, folder=folder, resume=True)


def test_a_file_where_the_folder_should_be(swept, tmp_path):
    plan, _, _ = swept
    (tmp_path / "out").write_text("")
    with pytest.raises(ApportionError, match="out: this is a file; name a folder"):
        sweep(plan, never, folder=tmp_path / "out")


def fill(monkeypatch, name):
    """The system's answer that a disk is full, put in its place."""
    before = files.open_whole

    @contextmanager
    def full(path, **options):
        if path.name == name:
            raise ApportionError(f"{path}: {os.strerror(errno.ENOSPC).lower()}")
        with before(path, **options) as stream:
            yield stream

    monkeypatch.setattr(files, "open_whole", full)


@pytest.mark.parametrize(("place", "count"), [(2, 2), (None, 4)])
def test_a_full_disk_loses_nothing_that_is_finished(swept, tmp_path, monkeypatch, place, count):
    plan, _, whole = swept
    folder = tmp_path / "out"
    name = "points.csv" if place is None else f"{plan.points[place].hash}.json"
    fill(monkeypatch, name)
    said = rf"{folder}.*/{name}: no space left on device: {count} of 4 points kept in {folder}: --resume goes on"
    with pytest.raises(SweepError, match=said):
        sweep(plan, thread, folder=folder)
    monkeypatch.undo()
    assert sweep(plan, thread, folder=folder, resume=True).spent["run_now"] == 4 - count
    assert contents(folder) == contents(whole)


def test_a_folder_that_goes_away_is_told(swept, tmp_path):
    plan, _, _ = swept

    def gone(done, _of):
        if done == 2:
            (tmp_path / "out").rename(tmp_path / "elsewhere")

    with pytest.raises(SweepError, match=r"points: no folder found, where finished points were kept: 2 of 4 points"):
        sweep(plan, thread, folder=tmp_path / "out", progress=gone)
    assert sweep(plan, thread, folder=tmp_path / "elsewhere", resume=True).spent["run_now"] == 2


def test_without_a_folder_documents_are_the_same(swept):
    plan, kept, _ = swept
    found = sweep(plan, thread)
    assert list(found.documents) == [point.hash for point in plan.points]
    assert found.documents == kept.documents
    with pytest.raises(KeyError):
        found.documents["nothing"]
