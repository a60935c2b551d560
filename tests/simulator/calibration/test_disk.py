"""Times of a disk: the fit against closed forms, real files in a real worker, visits kept and gone on with."""

import json

import pytest

from simulator import ScenarioError
from simulator.calibration import disk
from simulator.calibration.disk import DIRECTIONS, LEAST_PASSES, SIZES_BYTES, DiskTimes, Scratch, measure_disk


def of_line(latency_s, bandwidth):
    return {("write", size): (latency_s + size / bandwidth,) for size in SIZES_BYTES}


def test_a_line_is_found_again_and_a_scenario_can_say_it():
    times = DiskTimes(of_line(2e-4, 5e8) | {("read", size): (1e-4 + size / 2e9,) for size in SIZES_BYTES})
    assert times.line("write") == pytest.approx((2e-4, 5e8), rel=1e-6)
    assert times.line("read") == pytest.approx((1e-4, 2e9), rel=1e-6)
    latency_s, bandwidth = times.line()
    assert 1e-4 < latency_s < 2e-4
    assert 5e8 < bandwidth < 2e9
    assert DiskTimes(of_line(2e-4, 5e8)).to_data() == {"latency": "0.2 ms", "bandwidth": "500 MB/s"}


def test_what_is_written_is_read_back_and_leaves_no_name(tmp_path):
    scratch, whole = Scratch(str(tmp_path)), 4096
    assert scratch.read(whole)["wall_s"] > 0
    assert scratch.write(whole)["wall_s"] > 0
    (held,) = scratch._files.values()
    with held:
        assert held.seek(0, 2) == whole
    assert list(tmp_path.iterdir()) == []


def test_a_disk_is_measured_and_visits_are_kept(tmp_path):
    store, asked = tmp_path / "visits.partial", []
    times = measure_disk(
        tmp_path / "there", budget_s=0.0, store=store, on_progress=lambda what, _share: asked.append(what)
    )
    assert {len(values) for values in times.samples_s.values()} == {LEAST_PASSES}
    assert set(times.samples_s) == {(way, size) for way in DIRECTIONS for size in SIZES_BYTES}
    assert len(asked) == LEAST_PASSES * len(times.samples_s)
    assert asked[: len(SIZES_BYTES)] != sorted(asked[: len(SIZES_BYTES)])
    assert min(times.line()) >= 0
    assert list((tmp_path / "there").iterdir()) == []

    lines = store.read_text().splitlines()
    store.write_text("\n".join(lines[:-5]) + "\n")
    asked.clear()
    again = measure_disk(
        tmp_path / "there", budget_s=0.0, store=store, on_progress=lambda what, _share: asked.append(what)
    )
    assert len(asked) == 5
    for line in lines[1:-5]:
        row = json.loads(line)
        assert row["wall_s"] in again.samples_s[tuple(row["cell"])]


def test_visits_of_another_folder_and_a_file_in_its_place_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "SIZES_BYTES", SIZES_BYTES[:2])
    store = tmp_path / "visits.partial"
    measure_disk(tmp_path / "a", budget_s=0.0, store=store)
    with pytest.raises(ScenarioError, match="holds visits of"):
        measure_disk(tmp_path / "b", budget_s=0.0, store=store)
    (tmp_path / "file").write_text("")
    with pytest.raises(ScenarioError, match="name another place"):
        measure_disk(tmp_path / "file", budget_s=0.0)
