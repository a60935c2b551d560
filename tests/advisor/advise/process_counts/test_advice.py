"""Advice on process counts: against enumeration on models that are known, within memory, and far from the runs."""

import itertools

import numpy as np
import pytest

from advisor.advise.process_counts.advice import advise_allocation, regrets
from advisor.advise.process_counts.answer import configuration_text, sentence
from advisor.advise.process_counts.search import Limits
from simulator import ScenarioError
from tests.support.known_models import KnownModel, fit_of

TWO = KnownModel(("fast", "slow"), (4e9, 1e9))


def enumerated(model, kinds, size):
    """Every configuration with its time, configuration by configuration, best first."""
    offers = []
    for name in model.kinds:
        pes, most = kinds.get(name, (0, 0))
        offers.append([(0, 0), *itertools.product(range(1, pes + 1), range(1, most + 1))])
    every = np.array([choice for choice in itertools.product(*offers) if any(pes for pes, _ in choice)])
    times_s = model.estimate(size, every).mean_s
    order = np.argsort(times_s, kind="stable")
    return every[order], times_s[order]


def as_dict(model, allocation):
    return {name: {"pes": pes, "procs": each} for name, (pes, each) in zip(model.kinds, allocation, strict=True)}


@pytest.mark.parametrize("seed", range(3))
def test_the_ranking_is_that_of_enumeration(seed):
    model = KnownModel(("a", "b", "c"), (3e9, 1e9, 2e9), wild=seed)
    kinds = {"a": (2, 3), "b": (4, 1), "c": (1, 3)}
    advice = advise_allocation(fit_of(model), kinds, 900.0)
    every, times_s = enumerated(model, kinds, 900.0)
    assert advice.searched == len(every) == 7 * 5 * 4 - 1
    assert [one.estimate_s["mean"] for one in advice.ranking] == pytest.approx(times_s.tolist(), rel=1e-12)
    assert advice.configuration == as_dict(model, every[0].tolist())
    assert advice.estimate_s["mean"] == pytest.approx(times_s[0])
    assert advice.regret.expected == 0
    assert advice.regret.p_best == 1 / np.sum(times_s == times_s[0])
    assert not any("cannot tell" in line for line in advice.warnings)


def test_what_measured_configurations_show_of_their_own_counts():
    kinds = {"fast": (1, 6), "slow": (8, 1)}
    plain = advise_allocation(fit_of(TWO), kinds, 3200.0)
    assert plain.configuration == {"fast": {"pes": 1, "procs": 4}, "slow": {"pes": 8, "procs": 1}}
    own = ((((1, 4), (8, 1)), 1.2), (((1, 1), (3, 1)), 0.1), (((1, 9), (8, 1)), 0.01))
    model = KnownModel(TWO.kinds, TWO.speeds, own=own)
    advice = advise_allocation(fit_of(model), kinds, 3200.0)
    assert advice.configuration == {"fast": {"pes": 1, "procs": 1}, "slow": {"pes": 3, "procs": 1}}
    every, times_s = enumerated(model, kinds, 3200.0)
    assert [one.estimate_s["mean"] for one in advice.ranking] == pytest.approx(times_s.tolist(), rel=1e-12)
    assert advice.to_dict()["ranking"][0]["configuration"] == as_dict(model, every[0].tolist())
    without = advise_allocation(fit_of(model), {"slow": (8, 1)}, 3200.0)
    assert without.configuration["slow"] == {"pes": 8, "procs": 1}


def test_kinds_may_be_some_of_the_model_s_in_another_order():
    model = KnownModel(("a", "b", "c"), (3e9, 1e9, 2e9), wild=3)
    kinds = {"c": (2, 2), "a": (1, 3)}
    advice = advise_allocation(fit_of(model), kinds, 900.0)
    every, times_s = enumerated(model, kinds, 900.0)
    assert advice.configuration["b"] == {"pes": 0, "procs": 0}
    assert advice.configuration == as_dict(model, every[0].tolist())
    assert [entry["estimate_s"]["mean"] for entry in advice.to_dict()["ranking"]] == pytest.approx(times_s.tolist())


def test_memory_leaves_out_what_does_not_fit():
    kinds, limits = {"fast": (1, 4), "slow": (8, 1)}, Limits({"fast": 40e6, "slow": 20e6}, "8*N**2/P")
    free, held = (advise_allocation(fit_of(TWO), kinds, 3200.0, limits=given) for given in (None, limits))
    fits = [
        entry
        for entry in free.to_dict()["ranking"]
        if all(
            part["procs"] * 8 * 3200**2 / entry["processes"] <= limits.memory_bytes[name]
            for name, part in entry["configuration"].items()
        )
    ]
    assert 0 < len(fits) < 44
    assert [entry["configuration"] for entry in held.to_dict()["ranking"]] == [entry["configuration"] for entry in fits]
    assert f"{44 - len(fits)} of 44 configurations are left out: memory does not hold them" in held.notes
    assert next(one for one in held.baselines if one.name == "fastest-pe").estimate_s is None
    with pytest.raises(
        ScenarioError,
        match=r"each process needs at least .* which no PE holds",
    ):
        advise_allocation(fit_of(TWO), kinds, 9600.0, limits=limits)


def test_baselines_are_what_their_names_say():
    advice = advise_allocation(fit_of(TWO), {"fast": (1, 6), "slow": (8, 2)}, 3200.0)
    named = {one.name: one for one in advice.baselines}
    assert {
        name: [[part["pes"], part["procs"]] for part in one.configuration.values()] for name, one in named.items()
    } == {
        "one-per-pe": [[1, 1], [8, 1]],
        "fastest-kind": [[1, 1], [0, 0]],
        "fastest-pe": [[1, 1], [0, 0]],
        "speed-ratio": [[1, 4], [8, 1]],
    }
    times_s = TWO.estimate(
        3200.0, np.array([[[1, 1], [8, 1]], [[1, 1], [0, 0]], [[1, 1], [0, 0]], [[1, 4], [8, 1]]])
    ).mean_s
    for one, time_s in zip(advice.baselines, times_s, strict=True):
        assert one.estimate_s["mean"] == pytest.approx(time_s)
        assert one.times_longer["mean"] == pytest.approx(time_s / advice.estimate_s["mean"])


def test_regret_is_over_paired_members():
    members_s = np.array([[1.0, 1.1, 2.0], [1.0, 0.5, 2.0], [1.0, 1.0, 2.0], [2.0, 1.0, 0.5]])
    expected, risk, p_best = regrets(members_s)
    lost = np.array([[0, 0.1, 1], [1, 0, 3], [0, 0, 1], [3, 1, 0]])
    np.testing.assert_allclose(expected, lost.mean(axis=0))
    np.testing.assert_allclose(risk, np.quantile(lost, 0.95, axis=0))
    np.testing.assert_allclose(p_best, [1.5 / 4, 1.5 / 4, 1 / 4])


def test_what_the_runs_cannot_tell_is_a_warning():
    kinds = {"fast": (1, 2), "slow": (2, 1)}
    sure, unsure = (
        advise_allocation(fit_of(KnownModel(TWO.kinds, (4e9, 1e9), spread=spread)), kinds, 1600.0)
        for spread in (0.0, 0.5)
    )
    assert not any("cannot tell" in line for line in sure.warnings)
    told = f"the runs cannot tell {configuration_text(unsure.configuration)} from "
    assert any(line.startswith(told) for line in unsure.warnings)
    assert unsure.regret.expected > 0
    assert unsure.regret.p_best < 1


def test_of_more_than_a_million_configurations_the_best_are_ranked():
    kinds = {"fast": (20, 8), "slow": (640, 10)}
    advice = advise_allocation(fit_of(TWO), kinds, 3200.0)
    assert advice.searched == 161 * 6401 - 1
    assert len(advice.ranking) == 1000
    assert any(f"of {advice.searched} configurations were looked at" in line for line in advice.notes)
    assert f"the ranking holds the best 1000 of {advice.searched} configurations" in advice.notes


def test_the_sentence_says_what_to_run_and_what_that_gains():
    advice = advise_allocation(fit_of(TWO), {"fast": (1, 6), "slow": (8, 1)}, 3200.0)
    assert sentence(advice) == (
        "Run 4 processes on fast and 1 on each of 8 slow: 2.86 s, 24 % less than one process on every PE"
    )
    alone = advise_allocation(fit_of(TWO), {"fast": (1, 1)}, 3200.0)
    assert sentence(alone).endswith("which is one process on every PE")
    few = advise_allocation(fit_of(TWO), {"fast": (2, 1), "slow": (1, 1)}, 200.0)
    assert sentence(few).startswith("Run 1 process on one fast: ")
