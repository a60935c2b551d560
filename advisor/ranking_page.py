"""The ranking of a recommendation as rows for pandas, and as a page for a notebook."""

from typing import TYPE_CHECKING, Any

from simulator import describe, notebook, units

if TYPE_CHECKING:
    from advisor.recommendation import Recommendation


def ranking_rows(made: "Recommendation") -> list[dict[str, Any]]:
    """One row per candidate, best first; see `Recommendation.to_dataframe`."""
    by_name = {one.name: one for one in made.candidates}
    return [
        {
            **entry,
            "gain_of_recommended": made.baselines[entry["name"]].mean,
            "partition": by_name[entry["name"]].partition,
            "placement": by_name[entry["name"]].placement,
        }
        for entry in made.ranked()
    ]


def ranking_page(made: "Recommendation") -> str:
    """The best candidates with their chances, and where the middle nine tenths of their makespans lie."""
    shown = made.ranking.ranked[: notebook.MOST_ROWS]
    candidates = [made.candidates[one.candidate] for one in shown]
    spread = [describe(made.runs.of(one.name)) for one in candidates]
    rows = [
        {
            "configuration": ", ".join((one.name, *made.strategies.names_of(one.name))),
            "units": one.partition,
            f"{made.objective} makespan": units.show_duration(entry.value_s),
            "chance of being best": f"{entry.p_best:.0%}",
            "takes (times recommended)": f"{made.baselines[one.name].mean:.3f}",
        }
        for entry, one in zip(shown, candidates, strict=True)
    ]
    ends = [(one.name, s["p05"], s["median"], s["p95"]) for one, s in zip(candidates, spread, strict=True)]
    return notebook.page(
        f"Recommended: {made.configuration.name}",
        notebook.table(rows, count=len(made.ranking.ranked)),
        notebook.ranges(ends, unit="makespan (s)"),
        warnings=made.strategies.left_out,
    )
