"""Good inputs, made once for all tests of hostile ones."""

import pytest

from tests.hostile.good import make_good


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    return make_good(tmp_path_factory.mktemp("hostile") / "good")
