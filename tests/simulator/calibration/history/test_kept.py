"""What is kept of this machine: whole lines of it, in order, whatever else the file holds."""

from dataclasses import replace
from pathlib import Path

import pytest

from simulator.base.machine import this_machine
from simulator.calibration.history.learnt import NAME, KeptWarning, keep, kept, state_file


def test_entries_come_back_in_order_by_kind_and_of_this_machine_only() -> None:
    for number in range(3):
        keep("calibration", {"number": number})
    keep("verification", {"number": 9})
    keep("calibration", {"number": 8}, machine=replace(this_machine(), host="elsewhere"))
    assert [line.entry["number"] for line in kept("calibration")] == [0, 1, 2]
    assert [line.entry["number"] for line in kept("verification")] == [9]
    assert all(line.made.startswith("20") for line in kept("calibration"))
    assert kept("nothing") == ()


def test_torn_and_foreign_lines_are_left_out_with_a_warning_and_what_follows_is_whole() -> None:
    keep("calibration", {"number": 0})
    path = state_file()
    assert path is not None
    whole = path.read_text()
    path.write_text(f'{whole}[1]\n{{"format": 2}}\n{whole[:40]}')  # a list, a newer format, a torn last line
    keep("calibration", {"number": 1})
    with pytest.warns(KeptWarning, match="3 lines are torn or foreign"):
        assert [line.entry["number"] for line in kept("calibration")] == [0, 1]


def test_where_nothing_can_be_kept_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("APPORTION_STATE", str(tmp_path / "file"))
    with pytest.warns(KeptWarning, match="set APPORTION_STATE"):
        keep("calibration", {})
    assert kept("calibration") == ()


def test_without_a_folder_of_its_own_it_lies_below_the_users_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("APPORTION_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    keep("calibration", {"number": 5})
    assert (tmp_path / "apportion" / NAME).exists()
    assert kept("calibration")[0].entry["number"] == 5
