"""Sensitivity: how far the makespan moves when one parameter at a time is changed (a tornado chart)."""

from collections.abc import Sequence

from simulator.results.plots.frame import INK, PAPER, SERIES, Entry, drawing, label, legend, number, svg

MOST_PARAMETERS = 12
_HATCHES = ("", "////")


def sensitivity_svg(sensitivity: Sequence[Entry], *, name: str = "sensitivity") -> str:
    """Draw for each parameter the change of the makespan at each change of it, the largest on top.

    Parameters
    ----------
    sensitivity
        One entry per parameter: `parameter`, `effects` with `change` (of the parameter), `makespan` (the change of it)
        and its interval `low`, `high`, as shares.
    name
        Begins the ids of the figure.
    """
    rows = [(label(entry.get("parameter"), most=30), found) for entry in sensitivity if (found := _effects(entry))]
    rows.sort(key=lambda row: -max(abs(effect[1]) for effect in row[1]))
    rows = rows[:MOST_PARAMETERS]
    if not rows:
        return ""
    changes = sorted({change for _, effects in rows for change, *_ in effects})
    with drawing(height_in=1.2 + 0.4 * len(rows)) as figure:
        axes = figure.subplots()
        for row, (_, effects) in enumerate(rows):
            for change, makespan, low, high in effects:
                place = changes.index(change)
                shift = (place - (len(changes) - 1) / 2) * 0.36
                axes.barh(
                    row + shift,
                    100 * makespan,
                    0.34,
                    color=SERIES[place % len(SERIES)],
                    edgecolor=PAPER,
                    hatch=_HATCHES[place % 2],
                    lw=0,
                    label=f"{100 * change:+.0f} % of the parameter",
                )
                axes.plot([100 * low, 100 * high], [row + shift] * 2, color=INK, lw=1)
        axes.axvline(0, color=INK, lw=0.9)
        axes.set_yticks(range(len(rows)), [text for text, _ in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("change of the makespan in %")
        axes.grid(axis="x")
        legend(figure, [axes])
        told = "; ".join(
            f"{text}: " + ", ".join(f"{100 * change:+.0f} % gives {100 * made:+.1f} %" for change, made, *_ in effects)
            for text, effects in rows
        )
        return svg(figure, name=name, title="Change of the makespan by each parameter", description=told)


def _effects(entry: Entry) -> list[tuple[float, float, float, float]]:
    found = []
    for effect in entry.get("effects") or ():
        change, makespan, low, high = (number(effect.get(key)) for key in ("change", "makespan", "low", "high"))
        if change is not None and makespan is not None:
            found.append((change, makespan, makespan if low is None else low, makespan if high is None else high))
    return found
