"""The cache lies below home, or among the temporary files where home cannot be written, never in another's hands."""

import os
import tempfile
from pathlib import Path

import pytest

from simulator import files

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="users have numbers on POSIX only")


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A home that nobody, not even root, can write: below a file. Temporary files go to a folder of the test's."""
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary" / f"apportion-cache-{os.getuid()}"


def test_it_lies_where_the_user_says_and_is_not_made_by_asking(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "yet"))
    assert files.user_cache() == tmp_path / "not" / "yet" / "apportion"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.user_cache() == tmp_path / ".cache" / "apportion"


def test_without_a_home_that_can_be_written_it_is_the_users_own_temporary_folder(nowhere):
    assert files.user_cache() == nowhere
    assert nowhere.stat().st_mode & 0o777 == 0o700
    assert files.user_cache() == nowhere


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_machine_code_is_not_run_from_a_folder_that_others_can_write(nowhere, mode):
    nowhere.mkdir()
    nowhere.chmod(mode)
    assert files.user_cache() != nowhere


def test_a_link_is_not_followed(nowhere, tmp_path):
    (tmp_path / "another").mkdir(mode=0o700)
    nowhere.symlink_to(tmp_path / "another")
    assert files.user_cache() != nowhere


def test_a_user_without_a_home_has_one_too(nowhere, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert files.user_cache() == nowhere
