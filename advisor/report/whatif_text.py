"""A what-if as text: the answer in one sentence, and the points in a table."""

from collections.abc import Mapping
from typing import Any

from simulator import units

MOST_ROWS = 40
"""Points in the table; of more, those that gain most."""


def render_whatif(document: Mapping[str, Any]) -> str:
    """The sentence, the table of points against the base, what failed, and the warnings."""
    points = document["points"]
    shown = points
    if len(points) > MOST_ROWS:
        ranked = sorted(points[1:], key=lambda entry: -(entry["gain"] or {"mean": 0.0})["mean"])
        shown = [points[0], *ranked[: MOST_ROWS - 1]]
    lines = [document["sentence"], "", f"{'makespan':>10}{'against the base (95 % interval)':>38}{'faster':>9}  point"]
    lines += [_row(entry) for entry in shown if entry["best"] is not None]
    if len(points) > MOST_ROWS:
        lines.append(f"the best {MOST_ROWS - 1} of {len(points) - 1} points; all with --json or -o DIR")
    lines += [f"failed: {_named(entry)}: {entry['error']}" for entry in points if entry["error"]]
    spent, count = document["spent"], len(points)
    ran = "" if spent["run_now"] == count else f", {count - spent['run_now']} of them finished earlier"
    lines += ["", f"{count} points{ran}; {document['replications']} paired replications each, seed {document['seed']}"]
    if spent.get("median_asked_s"):
        times = [units.show_duration(spent[name]) for name in ("median_asked_s", "median_beside_s")]
        lines[-1] += f"; per point {times[0]} of simulation and {times[1]} beside it (medians)"
    return "\n".join([*lines, *(f"warning: {line}" for line in document["warnings"])])


def _row(entry: Mapping[str, Any]) -> str:
    best = next(one for one in entry["configurations"] if one["name"] == entry["best"])
    mean = units.show_duration(best["makespan_s"]["mean"])
    against, faster = "the base", ""
    if entry["gain"] is not None:
        found = entry["difference_s"]
        against = f"{_signed(found['mean'])} ({_signed(found['low'])} to {_signed(found['high'])})"
        faster = f"{entry['gain']['mean']:.3f}"
    return f"{mean:>10}{against:>38}{faster:>9}  {_named(entry)} [{_configuration(entry)}]"


def _configuration(entry: Mapping[str, Any]) -> str:
    advice = entry["advice"]
    return str(entry["best"]) if advice is None else f"{advice['recommended']}: {_shares(advice)}"


def _shares(advice: Mapping[str, Any]) -> str:
    shares = [f"{pe} {units_}" for pe, units_ in zip(advice["pes"], advice["partition"], strict=True)]
    return ", ".join(shares) if len(shares) <= 4 else f"{len(shares)} processes"


def _named(entry: Mapping[str, Any]) -> str:
    return ", ".join(entry["set"]) or "as it is"


def _signed(seconds: float) -> str:
    if not seconds:
        return "0 s"
    return f"{'+' if seconds > 0 else '-'}{units.show_duration(abs(seconds))}"
