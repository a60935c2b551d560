"""The study of advice on process counts meets its targets."""

import pytest

from tests.studies import process_count_study as study


@pytest.mark.slow
def test_advice_on_process_counts_meets_its_targets(capsys):
    assert study.main([]) == 0
    assert "regret at most 5 %" in capsys.readouterr().out
