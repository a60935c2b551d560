"""Two scenarios, or two sets of runs, on the same draws: how much longer the second one takes, and how sure that is."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from simulator.base import intervals, notebook, units
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.engines.run import run
from simulator.engines.run_set import RunSet, interval_note, rows_of
from simulator.scenario_file.load import load_scenario
from simulator.scenario_file.scenario import Scenario, truth_count

if TYPE_CHECKING:
    import pandas as pd

Compared = Scenario | RunSet | str | Path
Truths = Ints | None


@dataclass(frozen=True)
class Difference:
    """One configuration of the first and one of the second, replication by replication."""

    configuration: str
    """Of the first; the second's, where they differ, behind a slash."""
    first_s: Floats
    """Makespans; (replication,)."""
    second_s: Floats
    deterministic: bool = False
    """Whether nothing was drawn in either: one replication then tells all."""
    truths: Ints | None = None
    """Number of the truth of each replication, in both; None where nothing is doubted."""

    def to_dict(self, *, level: float = intervals.LEVEL) -> dict[str, Any]:
        """Both means, the mean of second minus first with its interval, and the ratio of the means.

        The interval holds with `level`; it is None where replications are too few to have one; see `describe`.
        """
        means = float(np.mean(self.first_s)), float(np.mean(self.second_s))
        both = self.first_s, self.second_s[np.newaxis]
        ends = intervals.of_difference(*both, self.truths, level=level, deterministic=self.deterministic)
        found = rows_of({"mean": np.mean(both[1] - both[0], axis=1), "low": ends.low, "high": ends.high})[0]
        return {
            "configuration": self.configuration,
            "first_s": means[0],
            "second_s": means[1],
            "difference_s": found["mean"],
            "low_s": found["low"],
            "high_s": found["high"],
            "ratio": means[1] / means[0],
        }


@dataclass(frozen=True)
class Comparison:
    """What `compare` found: a difference per configuration."""

    differences: tuple[Difference, ...]
    replications: int
    seed: int

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per configuration; see `Difference.to_dict`."""
        import pandas as pd

        return pd.DataFrame([difference.to_dict() for difference in self.differences])

    def __repr__(self) -> str:
        shown = "; ".join(
            f"{difference.configuration}: {difference.to_dict()['ratio']:.3f} times as long"
            for difference in self.differences[:4]
        )
        more = f"; {len(self.differences) - 4} more" if len(self.differences) > 4 else ""
        return f"Comparison({shown}{more}; {self.replications} paired replications)"

    def _repr_html_(self) -> str:
        rows = []
        for difference in self.differences:
            found = difference.to_dict()
            rows.append(
                {
                    "configuration": difference.configuration,
                    "first": units.show_duration(found["first_s"]),
                    "second": units.show_duration(found["second_s"]),
                    "difference": _signed(found["difference_s"]),
                    f"{100 * intervals.LEVEL:.4g} % interval": "-"
                    if found["low_s"] is None
                    else f"{_signed(found['low_s'])} to {_signed(found['high_s'])}",
                    "ratio": f"{found['ratio']:.3f}",
                }
            )
        title = f"Second minus first, {self.replications} paired replications, seed {self.seed}"
        known = all(difference.deterministic for difference in self.differences)
        truths = self.differences[0].truths if self.differences else None
        note = interval_note(self.replications, truths, deterministic=known)
        return notebook.page(title, notebook.table(rows), warnings=[] if note is None else [note])


def compare(
    first: Compared, second: Compared, *, replications: int | None = None, seed: int | None = None
) -> Comparison:
    """Compare two scenarios on the same draws, or two sets of runs that were made so.

    >>> slower = load_scenario("three-pes", changes=["platform.link.bandwidth=/10"])
    >>> compare("three-pes", slower, replications=20).differences[0].configuration
    'equal'

    Raises ScenarioError if the two have no configuration in common (one each will do), or runs are of different draws.

    `first`, `second`: scenarios, files or names of them, or what `run` returned.
    `replications`, `seed`: of what is run; by default those of the runs that are there, else the first scenario's.
    """
    first, second = _loaded(first), _loaded(second)
    known = first if isinstance(first, RunSet) or isinstance(second, Scenario) else second
    count = len(known.of(known.configurations[0])) if isinstance(known, RunSet) else known.replications
    count, drawn = replications or count, known.seed if seed is None else seed
    alike = partial(replace, replications=count, seed=drawn, truths=_truths(first, second, count), strata=known.strata)
    one, other = (asked if isinstance(asked, RunSet) else run(alike(asked)) for asked in (first, second))
    draws = [(runs.makespan_ticks.shape[1], runs.seed) for runs in (one, other)]
    ways = [(*both, runs.strata) for both, runs in zip(draws, (one, other), strict=True)]
    if draws[0] != draws[1] or (ways[0] != ways[1] and not (one.deterministic or other.deterministic)):
        some = [f"{count}" if strata == count else f"{count} of {strata}" for count, _, strata in ways]
        shown = " and ".join(f"{count} replications of seed {of}" for count, (_, of) in zip(some, draws, strict=True))
        raise ScenarioError(f"compare: the draws differ ({shown}); give results of the same draws")
    names = [(name, name) for name in one.configurations if name in other.configurations]
    if not names and len(one.configurations) == len(other.configurations) == 1:
        names = [(one.configurations[0], other.configurations[0])]
    if not names:
        shown = f"{', '.join(one.configurations)} and {', '.join(other.configurations)}"
        raise ScenarioError(f"compare: the configurations are {shown}; give one of the same name in both")
    certain, truths = one.deterministic and other.deterministic, _finer(one.truths, other.truths)
    differences = tuple(
        Difference(a if a == b else f"{a} / {b}", one.of(a), other.of(b), certain, truths) for a, b in names
    )
    return Comparison(differences, *draws[0])


def _truths(first: Scenario | RunSet, second: Scenario | RunSet, count: int) -> int | None:
    """How many truths the replications of both share: of runs that are there, else of the first that is doubted."""
    known = [asked.truth_count for asked in (first, second) if isinstance(asked, RunSet)]
    known += [truth_count(replace(asked, replications=count)) for asked in (first, second) if _doubtful(asked)]
    return next((found for found in known if found is not None), None)


def _doubtful(asked: Scenario | RunSet) -> TypeGuard[Scenario]:
    return isinstance(asked, Scenario) and asked.doubtful


def _loaded(asked: Compared) -> Scenario | RunSet:
    return asked if isinstance(asked, Scenario | RunSet) else load_scenario(asked)


def _finer(one: Truths, other: Truths) -> Truths:
    """The truths of the runs that have more of them, so that what differs is never averaged."""
    if one is None or other is None:
        return other if one is None else one
    return max((one, other), key=lambda numbers: np.unique(numbers).size)


def _signed(seconds: float) -> str:
    if not seconds:
        return "0 s"
    return f"{'+' if seconds > 0 else '-'}{units.show_duration(abs(seconds))}"
