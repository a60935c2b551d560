"""What is kept of this machine: whole lines of it, in order, whatever else the file holds."""

from pathlib import Path

import pytest

from simulator.calibration.history.learnt import NAME, KeptWarning, keep, kept


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
