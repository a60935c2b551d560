"""Predicted against measured: real runs of the recommended configuration and the naive ones."""

from advisor import wording
from advisor.report.page import Beside, Figure, Section, Table, Text, table
from advisor.wording import Document, clean, number


def section(document: Document) -> Section:
    """Every real run beside what was predicted, as a figure and a table."""
    from simulator import plots

    heading = "Predicted against measured"
    drawn = plots.verification_svg(document.get("verification") or ())
    if not drawn:
        return Section("verification", heading, (Text("No real run has checked the prediction."),))
    caption = (
        "Real runs on this machine with the load on, every repetition shown, beside what was predicted before them."
    )
    held = wording.held_lines(document.get("intervals") or {}, wording.level_of(document))
    said = (Text(f"{'. '.join(held)}. {wording.HELD_NOTE}"),) if held else ()
    return Section("verification", heading, (Beside(Figure(drawn, caption), (_table(document), *said)),))


def _signed(percent: float | None) -> str:
    return wording.NOTHING if percent is None else f"{percent:+.1f} %".replace("-", "−")


def _parts(entry: Document) -> list[float | None]:
    """Where the error comes from: computing, load, the rest."""
    told = entry.get("residual") or {}
    return [number(told.get(f"{part}_percent")) for part in ("compute", "load", "rest")]


def _between(entry: Document) -> str:
    """The interval that the measured median should lie in."""
    from simulator import units

    low, high = (number(end) for end in entry.get("predicted_interval_s") or (None, None))
    return wording.NOTHING if low is None or high is None else units.show_range(low, high)


def _table(document: Document) -> Table:
    rows = []
    parted = any(entry.get("residual") for entry in document.get("verification") or ())
    counted = any(entry.get("processes") for entry in document.get("verification") or ())
    judged = any(entry.get("interval_holds") is not None for entry in document.get("verification") or ())
    ranged = any(entry.get("predicted_interval_s") for entry in document.get("verification") or ())
    for entry in document.get("verification") or ():
        measured = sorted(value for value in map(number, entry.get("measured_s") or ()) if value is not None)
        scale = {"mean": entry.get("measured_median_s")} | (
            {"low": measured[0], "high": measured[-1]} if measured else {}
        )
        error = number(entry.get("error_percent"))
        rows.append(
            [
                ", ".join(clean(name) for name in (entry.get("name"), *(entry.get("also") or ()))),
                *([wording.processes(entry.get("processes") or ())] if counted else []),
                wording.seconds(entry.get("predicted_s"), scale),
                *([_between(entry)] if ranged else []),
                wording.seconds(entry.get("measured_median_s"), scale),
                wording.spread(scale),
                str(len(measured)),
                _signed(error),
                *([_signed(part) for part in _parts(entry)] if parted else []),
                *([{None: wording.NOTHING, True: "yes"}.get(entry.get("interval_holds"), "no")] if judged else []),
            ]
        )
    return table(
        "Median makespan in seconds",
        [
            "strategy",
            *(["processes"] if counted else []),
            "predicted",
            *([f"{wording.level_text(document)} interval"] if ranged else []),
            "measured",
            "all runs",
            "runs",
            "error",
            *(["of it computing", "load", "rest"] if parted else []),
            *(["held"] if judged else []),
        ],
        rows,
        best=clean(document.get("recommended")),
        note="Error: predicted over measured median, minus 1."
        + (" Its parts: seconds computed, the share that the load leaves, messages and waiting." if parted else "")
        + (" Processes: on each PE." if counted else "")
        + (" Held: the interval of the mean, widened by the error of the median, holds it." if judged else ""),
    )
