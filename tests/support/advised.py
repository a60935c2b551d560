"""What advice is, for tests that judge it: the one place that knows how it is asked for and what it returns."""

from dataclasses import replace
from typing import NamedTuple

from advisor.advise.recommendation import recommend
from simulator import run


class Advised(NamedTuple):
    configuration: object
    value: float
    """Of the advised one, by the advice's own draws."""
    best: float
    """The least value of all that may be advised."""
    compared: tuple
    """(configuration, value) of all that was compared, the advised one first."""


def advised(scenario, **options):
    """The advice for a scenario and its record; options as of `recommend`."""
    made = recommend(scenario, **{"confirm": 0, **options})
    ranked = made.ranking.ranked
    compared = tuple((made.candidates[entry.candidate], entry.value_s) for entry in ranked)
    may = [entry.value_s for entry in ranked if entry.p_best is not None]  # it has no chance where it may not
    best = min(may or [entry.value_s for entry in ranked])  # one replication of what is drawn tells no chance
    return Advised(made.configuration, ranked[0].value_s, best, compared)


def advised_as(scenario, chosen):
    """The recommendation of a configuration, whatever the search says."""
    found = recommend(scenario, confirm=0, runs=60)
    ranking = replace(found.ranking, ranked=(replace(found.ranking.best, candidate=0),))
    strategies = replace(found.strategies, candidates=(chosen,), also={})
    return replace(found, strategies=strategies, ranking=ranking, runs=run(scenario.with_configurations((chosen,))))
