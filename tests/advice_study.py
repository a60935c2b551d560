"""How far advice is from the best there is, and what must not change it: `python -m tests.advice_study oracle`.

Random clusters of `tests/support/advice_cases.py`, numbered: `oracle` compares advice with a thorough search that knows
nothing of it. Rows are kept in DIR as they are made: the same command goes on where it was.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.support import advice_oracle as oracle
from tests.support.advice_cases import case, loaded
from tests.support.advised import advised

JUDGED = 300
"""Fresh replications."""
NEAR, WORST = 0.01, 0.05


def against_oracle(number):
    """The row of a case: how much more the advised one has than the best of both, as a share.

    `regret` is by fresh draws where there are any; `of_record` is that of the best that advice compared, and `of_oracle`
    that of the oracle's best, by the scenario's own draws.
    """
    document, classes = case(number)
    with TemporaryDirectory() as folder:
        scenario, objective = loaded(document, folder), classes["objective"]
        begun = time.monotonic()
        made = advised(scenario, objective=objective)
        between = time.monotonic()
        best, value = oracle.best(scenario, objective)
        taken = between - begun, time.monotonic() - between
        own = oracle.values(scenario, [made.configuration], objective)[0]
        least = min(own, value, made.best)
        row = {"own": own / least - 1, "of_record": made.best / least - 1, "of_oracle": value / least - 1}
        if scenario.deterministic:
            row["regret"] = row["own"]
        else:
            record = min(made.compared, key=lambda pair: pair[1])[0]
            three = oracle.values(
                scenario, [made.configuration, record, best], objective, replications=JUDGED, first=oracle.FRESH
            )
            row["regret"] = three[0] / three.min() - 1
    shown = {"advised": _shown(made.configuration), "best": _shown(best)}
    return {"case": number, **classes, **{key: float(each) for key, each in row.items()}, **shown, "seconds": taken}


def _shown(one):
    return {"units": list(one.partition), "pes": list(one.placement), "grid": one.grid}


def rows(make, numbers, path):
    """Rows of all cases, those that were made before first; each is on disk at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {row["case"]: row for row in made}
    with path.open("a") as file:
        for number in numbers:
            if number not in known:
                known[number] = make(number)
                file.write(json.dumps(known[number]) + "\n")
                file.flush()
    return [known[number] for number in numbers]


def table(found):
    """Print regrets by class, and the worst cases; whether the targets are met."""
    classes = {"all": found}
    for row in found:
        for name in (row["application"], f"objective {row['objective']}", *(f"has {what}" for what in row["has"] or ["nothing"])):
            classes.setdefault(name, []).append(row)
    print(f"{'class':<20}{'cases':>6}{'median':>9}{'p95':>9}{'worst':>9}{'> 1 %':>7}{'> 5 %':>7}")
    for name, those in [("all", found), *sorted(classes.items())[:]]:
        if name != "all" or those is found:
            far = np.array([row["regret"] for row in those])
            shares = f"{np.median(far):>9.2%}{np.quantile(far, 0.95):>9.2%}{far.max():>9.2%}"
            print(f"{name:<20}{far.size:>6}{shares}{np.sum(far > NEAR):>7}{np.sum(far > WORST):>7}")
    beaten = [row["case"] for row in found if row["of_oracle"] > 0.005]
    print(f"the oracle was beaten by more than 0.5 % in {len(beaten)}: {beaten}")
    worst = sorted(found, key=lambda row: -row["regret"])[:10]
    print("worst:", ", ".join(f"{row['case']} ({row['regret']:.1%})" for row in worst))
    far = np.array([row["regret"] for row in found])
    return bool(np.mean(far <= NEAR) >= 0.95 and far.max() <= WORST)


def main(arguments=None):
    """The study; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["oracle"])
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/advice"))
    given = parser.parse_args(arguments)
    numbers = range(given.first, given.first + given.cases)
    return 0 if table(rows(against_oracle, numbers, given.out / f"{given.what}.jsonl")) else 1


if __name__ == "__main__":
    sys.exit(main())
