"""Rows on advice for random small clusters: behind a thorough search, and after changes that must not make it worse."""

import copy
from contextlib import suppress
from tempfile import TemporaryDirectory

import numpy as np

from simulator import ScenarioError
from tests.support import advice_oracle as oracle
from tests.support.advice_cases import case, loaded
from tests.support.advice_changes import CHANGES, plain
from tests.support.advised import advised

JUDGED = 300
"""Fresh replications."""
NEAR, WORST = 0.01, 0.05


def against_oracle(number):
    """The row of a case: how much more the advised one has than the best of both, as a share.

    `regret` is by fresh draws where there are any; `of_record` is that of the best that advice compared, by the
    scenario's own draws.
    """
    document, classes = case(number)
    with TemporaryDirectory() as folder:
        scenario, objective = loaded(document, folder), classes["objective"]
        made = advised(scenario, objective=objective)
        best, value = oracle.best(scenario, objective)
        own = oracle.values(scenario, [made.configuration], objective)[0]
        least = min(own, value, made.best)
        row = {"own": own / least - 1, "of_record": made.best / least - 1}
        if scenario.deterministic:
            row["regret"] = row["own"]
        else:
            record = min(made.compared, key=lambda pair: pair[1])[0]
            three = oracle.values(
                scenario, [made.configuration, record, best], objective, replications=JUDGED, first=oracle.FRESH
            )
            row["regret"] = three[0] / three.min() - 1
    shown = {"advised": _shown(made.configuration), "best": _shown(best)}
    return {"case": number, **classes, **{key: float(each) for key, each in row.items()}, **shown}


def _shown(one):
    return {"units": list(one.partition), "pes": list(one.placement), "grid": one.grid}


def changed(number, names=tuple(CHANGES)):
    """The row of a small case: by change, by how much the best of all compared is more than before, as a share.

    A scenario is refused whose memory does not hold the own configuration: such a change is not in the row.
    """
    document, classes = case(number, most_nodes=4, most_cores=3, cores_in_all=6)
    document, objective = plain(document), classes["objective"]
    row, before = {"case": number, **classes, "by": {}, "advised": {}}, {}

    def asked(one, **options):
        with TemporaryDirectory() as folder:
            made = advised(loaded(one, folder), objective=objective, **options)
        return made.best, made.value / made.best - 1

    for name in names:
        change = CHANGES[name]
        if not change.drawn and document["replications"] > 1:
            continue
        key = tuple(change.options.items())
        after = change.apply(copy.deepcopy(document), np.random.default_rng(number))
        with suppress(ScenarioError):
            if key not in before:
                before[key], row["advised"][f"before {name}"] = asked(document, **change.options)
            best, row["advised"][name] = asked(after, **{option: 2 * value for option, value in change.options.items()})
            row["by"][name] = best / (change.scale * before[key]) - 1
    return row


def violated(row):
    """What a row of `changed` breaks: the change, and how much more or less the best is."""
    broken = {name: by for name, by in row["by"].items() if not -CHANGES[name].better <= by <= CHANGES[name].worse}
    return broken | {f"advised, {name}": by for name, by in row["advised"].items() if by > NEAR + 1e-9}
