"""Good inputs, made once for all tests of hostile ones."""

import shutil

import pytest

from tests.hostile.good import make_good
from tests.support.once import made_once


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    """A copy for each process of pytest, as cases run beside it."""
    made = made_once(tmp_path_factory, "good", make_good)
    return shutil.copytree(made, tmp_path_factory.mktemp("hostile") / "good")
