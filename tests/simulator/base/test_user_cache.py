"""The cache lies below home, or among the temporary files where home cannot be written, never in another's hands."""

import os
import tempfile
from pathlib import Path

import pytest

from simulator import ScenarioError, files
from simulator.characterisation import kept_here, known_here, runs_beside

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="users have numbers on POSIX only")

as_root = pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only root can give folders away")
ANOTHER = 54321


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A home that nobody, not even root, can write: below a file. Temporary files go to a folder of the test's."""
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary" / f"apportion-cache-{os.getuid()}"


def test_it_lies_where_the_user_says_and_is_made_for_the_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "yet"))
    assert files.user_cache() == tmp_path / "not" / "yet" / "apportion"
    for folder in ("not", "not/yet", "not/yet/apportion"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.user_cache() == tmp_path / ".cache" / "apportion"


def test_without_a_home_that_can_be_written_it_is_the_users_own_temporary_folder(nowhere):
    assert files.user_cache() == nowhere
    assert nowhere.stat().st_mode & 0o777 == 0o700
    assert files.user_cache() == nowhere


@pytest.mark.parametrize("mode", [0o777, 0o702])
def test_machine_code_is_not_run_from_a_folder_that_others_can_write(nowhere, mode):
    nowhere.mkdir()
    nowhere.chmod(mode)
    assert files.user_cache() is None


@as_root
def test_nor_from_one_that_a_group_can_write_or_that_is_another_users(nowhere):
    nowhere.mkdir()
    os.chown(nowhere, 0, ANOTHER)
    nowhere.chmod(0o770)
    assert files.user_cache() is None
    nowhere.chmod(0o700)
    assert files.user_cache() == nowhere
    os.chown(nowhere, ANOTHER, 0)
    assert files.user_cache() is None


def test_a_link_that_is_the_users_own_is_followed_where_its_end_is_private(nowhere, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    nowhere.symlink_to(tmp_path / "elsewhere")
    assert files.user_cache() == tmp_path / "elsewhere"
    (tmp_path / "elsewhere").chmod(0o777)
    assert files.user_cache() is None


@as_root
def test_a_link_of_another_user_is_not_followed(nowhere, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    nowhere.symlink_to(tmp_path / "elsewhere")
    os.lchown(nowhere, ANOTHER, ANOTHER)
    assert files.user_cache() is None
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_user_without_a_home_has_one_too(nowhere, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert files.user_cache() == nowhere


def test_without_a_private_folder_no_resource_model_is_read_or_kept_and_the_user_is_told(nowhere):
    """Somebody else's model there would be taken for this machine's."""
    nowhere.mkdir()
    nowhere.chmod(0o777)
    assert known_here() is None
    for path_of in (kept_here, lambda: runs_beside(None)):
        with pytest.raises(ScenarioError, match=r"set XDG_CACHE_HOME to one, or write the model to a file"):
            path_of()
    assert list(nowhere.iterdir()) == []
