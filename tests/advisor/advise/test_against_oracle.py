"""Advice against an exhaustive search that knows nothing of the advisor, on random small platforms."""

import numpy as np
import pytest

from advisor import recommend
from simulator import run
from tests.support.advice_oracle import FRESH, PARAMETERS, difference, scenario

NAMES = tuple(PARAMETERS)
CASES = 30
TIE = 0.01


def judged(seed, folder):
    """Signed difference from the oracle, and by how many standard errors the worst baseline would have been better."""
    name = NAMES[seed % len(NAMES)]
    made = scenario(seed, folder, name)
    advice = recommend(made, confirm=0)
    signed = difference(made, advice.configuration, name == "hpl")
    fresh = run(made.with_configurations(advice.candidates), replications=500, first_replication=FRESH)
    extra = fresh.of(advice.configuration.name) / (1 + TIE) - fresh.makespan_s  # the simplest within a tie is advised
    error = np.maximum(extra.std(axis=1, ddof=1) / np.sqrt(extra.shape[1]), 1e-9 * fresh.makespan_s.mean())
    return signed, float(np.max(extra.mean(axis=1) / error))


SLOW = pytest.mark.slow
DEFAULT = ("hpl", "farm")
"""A grid of processes whose advice counts nodes, and work that is fetched; the rest are slow."""


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, id=name, marks=() if name in DEFAULT else SLOW) for seed, name in enumerate(NAMES)],
)
def test_advice_is_as_good_as_the_best_there_is(seed, tmp_path):
    signed, beaten = judged(seed, tmp_path)
    assert signed <= 0.01
    assert beaten <= 3


@pytest.mark.slow
def test_advice_is_as_good_as_the_best_there_is_in_many_cases(tmp_path):
    signed, beaten = np.array([judged(seed, tmp_path) for seed in range(CASES)]).T
    print(f"within 1 %: {np.mean(signed <= 0.01):.3f}; {signed.min():+.4f} to {signed.max():+.4f}")
    print(f"3 standard errors worse than what was compared: {int(np.sum(beaten > 3))} of {CASES}")
    assert np.mean(signed <= 0.01) >= 0.9
    assert signed.max() <= 0.1
    assert np.sum(beaten > 3) <= 1
