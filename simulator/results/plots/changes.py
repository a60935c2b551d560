"""Changes of a what-if: the gain of each by itself, and makespan against cost of all points."""

from collections.abc import Sequence

from simulator.results.plots.frame import INK, PAPER, SERIES, Entry, drawing, label, legend, number, numbers, svg

MOST_BARS = 20
"""Changes in a figure: those that gain most, and the last ones those that lose most."""
LONGEST = 44


def gains_svg(changes: Sequence[Entry], *, level: float = 0.9, name: str = "gains") -> str:
    """Draw how many times as fast each change makes a run, in the order given (a tornado, if that is by gain).

    Parameters
    ----------
    changes
        One entry per change: `name`; `gain` with `mean`, `low`, `high`; `together` with `low` and `high`.
    level
        How often the intervals hold.
    name
        Begins the ids of the figure.
    """
    rows = [entry for entry in changes if number((entry.get("gain") or {}).get("mean")) is not None]
    if len(rows) > MOST_BARS:
        rows = [*rows[: MOST_BARS // 2], *rows[-MOST_BARS // 2 :]]
    if not rows:
        return ""
    told, told_level = [], f"{100 * level:.4g} %"
    with drawing(height_in=1.15 + 0.42 * len(rows)) as figure:
        axes = figure.subplots()
        axes.axvline(1, color=INK, lw=1, label="as it is")
        for row, entry in enumerate(rows):
            gain, both = entry["gain"], entry.get("together") or {}
            mean = number(gain.get("mean")) or 0.0
            colour = SERIES[0] if mean >= 1 else SERIES[1]
            axes.barh(row, mean - 1, left=1, height=0.42, color=colour, alpha=0.3)
            wide, own = numbers([both.get("low"), both.get("high")]), numbers([gain.get("low"), gain.get("high")])
            if len(wide) == 2:
                axes.plot(
                    wide, [row, row], color=INK, lw=1, marker="|", ms=7, label=f"{told_level} interval of all together"
                )
            if len(own) == 2:
                axes.plot(own, [row, row], color=colour, lw=5, solid_capstyle="butt", label=f"{told_level} interval")
            axes.plot(mean, row, color=INK, ls="", marker="o", ms=4)
            axes.text(
                *(0.0, row - 0.42, label(entry.get("name"), most=LONGEST)),
                transform=axes.get_yaxis_transform(),
                va="center",
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
            )
            told.append(f"{label(entry.get('name'), most=LONGEST)} {mean:.2f} times as fast")
        axes.set_yticks([])
        axes.set_ylim(len(rows) - 0.5, -0.8)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("times as fast as it is")
        axes.grid(axis="x")
        legend(figure, [axes])
        return svg(figure, name=name, title="Gain of each change", description="; ".join(told))


def costs_svg(points: Sequence[Entry], *, unit: str, name: str = "costs") -> str:
    """Draw makespan against what a run costs, a dot per point, those that none beats in both as a line.

    Parameters
    ----------
    points
        One entry per point: `makespan_s`, `run`, `front` and `base` (whether it is on the front, and whether it is the
        base).
    unit
        Of `run`.
    name
        Begins the ids of the figure.
    """
    found = [entry for entry in points if len(numbers([entry.get("makespan_s"), entry.get("run")])) == 2]
    if not found:
        return ""
    with drawing(height_in=3.4) as figure:
        axes = figure.subplots()
        front = sorted((entry for entry in found if entry.get("front")), key=lambda entry: float(entry["makespan_s"]))
        rest = [entry for entry in found if not entry.get("front")]
        axes.plot(*_places(rest), color=SERIES[0], ls="", marker="o", ms=4, alpha=0.55, label="point")
        axes.plot(*_places(front), color=SERIES[1], lw=1, marker="D", ms=5, label="on the front")
        base = [entry for entry in found if entry.get("base")]
        axes.plot(*_places(base), color=INK, ls="", marker="s", ms=9, mfc="none", label="as it is")
        axes.set_xlabel("mean makespan in s")
        axes.set_ylabel(f"of a run, {unit}")
        axes.grid()
        legend(figure, [axes])
        ends = f"{len(front)} of {len(found)} points on the front"
        return svg(figure, name=name, title=f"Makespan against {unit}", description=ends)


def _places(entries: Sequence[Entry]) -> tuple[list[float], list[float]]:
    return [entry["makespan_s"] for entry in entries], [entry["run"] for entry in entries]
