"""Virtual cores that share physical ones: the slowest of all is simulated from half of the repetitions."""

import pytest

from tests.studies import core_states_study as study

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not study.TABLE.exists(), reason="shared/data/gpu/cpu_speed.csv is not there")
def test_the_slowest_core_is_predicted_from_half_of_the_repetitions(capsys):
    assert study.main([]) == 0, capsys.readouterr().out
