"""How far advice is from the best there is, and what must not change it: `python -m tests.studies.advice_study oracle`.

Random clusters of `tests/support/advice_cases.py`, numbered: `oracle` compares advice with a thorough search that knows
nothing of it, `changes` with advice for the same cluster after changes that must not make it worse. Rows are kept in
DIR as they are made: the same command goes on where it was.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from tests.support.advice_changes import CHANGES
from tests.support.advice_judged import NEAR, WORST, against_oracle, changed, violated


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
        uneven = (f"has {what}" for what in row["has"] or ["nothing"])
        for name in (row["application"], f"objective {row['objective']}", *uneven):
            classes.setdefault(name, []).append(row)
    print(f"{'class':<20}{'cases':>6}{'median':>9}{'p95':>9}{'worst':>9}{'> 1 %':>7}{'> 5 %':>7}")
    for name, those in classes.items():
        far = np.array([row["regret"] for row in those])
        shares = f"{np.median(far):>9.2%}{np.quantile(far, 0.95):>9.2%}{far.max():>9.2%}"
        print(f"{name:<20}{far.size:>6}{shares}{np.sum(far > NEAR):>7}{np.sum(far > WORST):>7}")
    beaten = [row["case"] for row in found if row["of_oracle"] > 0.005]
    print(f"the oracle was beaten by more than 0.5 % in {len(beaten)}: {beaten}")
    worst = sorted(found, key=lambda row: -row["regret"])[:10]
    print("worst:", ", ".join(f"{row['case']} ({row['regret']:.1%})" for row in worst))
    far = np.array([row["regret"] for row in found])
    return bool(np.mean(far <= NEAR) >= 0.95 and far.max() <= WORST)


def table_of_changes(found):
    """Print, for each change, in how many cases it matters and how much; whether it never does."""
    print(f"{'change':<42}{'cases':>6}{'broken':>8}{'worst':>9}")
    for name in CHANGES:
        by = [row["by"][name] for row in found if name in row["by"]]
        broken = sum(name in violated(row) for row in found)
        print(f"{name:<42}{len(by):>6}{broken:>8}{max(by, default=0.0):>9.2%}")
    behind = [max(row["advised"].values(), default=0.0) for row in found]
    print(f"advised behind the best compared: {sum(by > NEAR + 1e-9 for by in behind)}, at worst {max(behind):.2%}")
    print("broken in cases", [row["case"] for row in found if violated(row)])
    return not any(violated(row) for row in found)


STUDIES = {"oracle": (against_oracle, table, 400), "changes": (changed, table_of_changes, 200)}
"""What makes a row, what prints the rows, and how many there are."""


def main(arguments=None):
    """The study; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*STUDIES])
    parser.add_argument("--cases", type=int, help="by default all")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/advice"))
    given = parser.parse_args(arguments)
    make, show, count = STUDIES[given.what]
    numbers = range(given.first, given.first + (given.cases or count))
    return 0 if show(rows(make, numbers, given.out / f"{given.what}.jsonl")) else 1


if __name__ == "__main__":
    sys.exit(main())
