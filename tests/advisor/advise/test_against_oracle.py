"""Advice against a thorough search that knows nothing of the advisor, on random small platforms."""

from dataclasses import replace

import numpy as np
import pytest

from advisor import explain, recommend
from advisor.advise.pareto import pareto_fronts
from advisor.advise.strategies import TIE
from simulator import Configuration, run
from tests.support.advice_cases import case, loaded
from tests.support.advice_judged import JUDGED, NEAR, WORST, against_oracle
from tests.support.advice_oracle import FRESH

CASES = 40
MISSED = (44, 81, 91, 121, 124, 130, 145, 169, 170, 180, 187, 192, 230, 241, 250, 266, 270, 324, 337)
"""More cases, once behind by up to 17 %: units not levelled by draws, nor within memory; few counts."""


@pytest.mark.slow
@pytest.mark.parametrize("number", [*range(CASES), *MISSED])
def test_advice_is_as_good_as_the_best_there_is(number):
    """Of 40 cases all are near: 5 of 100 may be up to 5 % worse."""
    row = against_oracle(number)
    assert row["regret"] <= WORST, row
    assert row["of_record"] <= NEAR or number in MISSED, row


@pytest.mark.slow
@pytest.mark.parametrize("number", range(8))
def test_nothing_that_is_said_beside_the_advice_is_better_on_fresh_draws(number, tmp_path):
    """What was compared, both fronts and what explaining found: within a tie, or three standard errors."""
    scenario = loaded(case(number)[0], tmp_path)
    advice = explain(scenario, recommend(scenario, confirm=0)).recommendation
    fronts = [
        Configuration(point.name, point.partition, point.placement, point.grid)
        for front in pareto_fronts(scenario, advice)
        for point in front.points
    ]
    ranked = [advice.candidates[one.candidate] for one in advice.ranking.ranked if one.p_best is not None]
    shown = [replace(one, name=f"{place}") for place, one in enumerate((advice.configuration, *ranked, *fronts))]
    count = 1 if scenario.deterministic else JUDGED
    own_s, *others_s = run(
        scenario.with_configurations(tuple(shown)), replications=count, first_replication=FRESH
    ).makespan_s
    for other_s in others_s:
        error = 0.0 if count == 1 else np.std(own_s - other_s, ddof=1) / np.sqrt(count)
        assert np.mean(own_s - other_s) <= max(3 * error, TIE * np.mean(own_s))
