"""The report as plain text for the terminal: the answer first, aligned tables, the path of the HTML report last."""

import textwrap
from collections.abc import Sequence

from advisor import wording
from advisor.report.doubt_text import again_lines, doubt_sentence
from advisor.wording import Document, clean, number

MOST_WARNINGS = 4
MOST_COLUMNS = 6
MOST_ROWS = 8
NAME_WIDTH = 24
"""Of the names of a strategy in its table; further names are on lines of their own."""
TOP = 3
"""Of a ranking, if nothing else is asked for."""

_GAP = "   "


def render_text(document: Document, *, width: int = 100) -> str:
    """Write what a reader of a terminal wants to know; no colours, no line longer than `width` but for paths.

    Parameters
    ----------
    document
        What a quickstart returned.
    width
        Columns of the terminal.
    """
    blocks = [
        [wording.answer(document)],
        _facts(document),
        _warnings(document),
        *_speeds(document),
        _baselines(document),
        _verification(document),
    ]
    lines = [line for block in blocks if block for line in [*wrapped(block, width=max(40, width)), ""]]
    paths = [(label, document.get(key)) for label, key in (("Scenario", "scenario"), ("Report", "report"))]
    lines += [f"{label:<10}{clean(path)}" for label, path in paths if path]
    return "\n".join(lines).rstrip() + "\n"


def render_advice(document: Document, *, width: int = 100, top: int = TOP) -> str:
    """Write an advice for a terminal: the answer, what it is for, warnings, strategies, ranking and Pareto fronts.

    Parameters
    ----------
    document
        What `advice_document` made.
    width
        Columns of the terminal.
    top
        How many of the ranking.
    """
    settings = f"{wording.replications_text(document)}, seed {document.get('seed')}"
    facts = [f"{'Asked':<10}{wording.asked(document)}, {settings}"]
    long = wording.long_partition(document)
    facts += [f"{wording.unit_of(document).capitalize():<10}{long}"] if long else []
    runs = wording.confirmed_text(document)
    facts += [f"{'Runs':<10}{runs}"] if runs else []
    idle = document.get("idle_cores")
    facts += [f"{'Idle':<10}{clean(idle['text'])}"] if idle else []
    gap = wording.gap_text(document)
    facts += [f"{'Bound':<10}{gap}"] if gap else []
    doubt = doubt_sentence(document)
    facts += [f"{'Doubt':<10}{doubt}"] if doubt else []
    again = again_lines(document)
    blocks = [
        [wording.answer(document)],
        facts,
        again,
        _warnings(document),
        _baselines(document),
        _ranking(document, top),
        *(_front(document, front) for front in document.get("pareto") or ()),
    ]
    lines = [line for block in blocks if block for line in [*wrapped(block, width=max(40, width)), ""]]
    return "\n".join(lines).rstrip()


def wrapped(block: Sequence[str], *, width: int) -> list[str]:
    """The lines of a block, long ones continued under the text that they begin with."""
    lines = []
    for line in block:
        inner = len(line) - len(line.lstrip())
        hang = line.find("  ", inner) if inner == 0 else -1
        under = len(line) - len(line[hang:].lstrip()) if 0 < hang < 12 else inner
        lines += textwrap.wrap(line, width, subsequent_indent=" " * under, break_on_hyphens=False) or [""]
    return lines


def _facts(document: Document) -> list[str]:
    facts = {
        "Asked": ", ".join(filter(None, (wording.asked(document), wording.settings(document)))),
        "Machine": wording.machine_line(document.get("machine")),
        "Load": wording.load_text(document),
        "Took": wording.took_text(document),
        wording.unit_of(document).capitalize(): wording.long_partition(document),
    }
    return [f"{name:<10}{text}" for name, text in facts.items() if text]


def _warnings(document: Document) -> list[str]:
    warnings = [f"Warning   {clean(warning)}" for warning in document.get("warnings") or ()]
    more = len(warnings) - MOST_WARNINGS
    return warnings if more <= 1 else [*warnings[:MOST_WARNINGS], f"Warning   and {more} more, listed in the report"]


def _speeds(document: Document) -> list[list[str]]:
    """One table per kernel: a row per PE, a column per size."""
    tables = []
    for kernel, header, rows in wording.speed_tables(document, columns=MOST_COLUMNS):
        lines = [f"Speed of {kernel} in Gflop/s (middle of its band)"]
        lines += table(["PE", *header], rows[:MOST_ROWS])
        lines += [f"  and {len(rows) - MOST_ROWS} more PEs, in the report"] if len(rows) > MOST_ROWS else []
        tables.append(lines)
    unstable = wording.unstable_text(document)
    if tables and unstable:
        tables[-1].append(f"  * {unstable}")
    return tables


def _baselines(document: Document) -> list[str]:
    rows, unit = [], wording.objective_unit(document)
    for label, entry in wording.strategies(document):
        best = entry.get("name") == document.get("recommended")
        name, *further = textwrap.wrap(label, NAME_WIDTH, break_long_words=False, break_on_hyphens=False)
        rows.append(
            [
                f"{name}{' *' if best else ''}",
                wording.partition_text(entry.get("partition"), most=3),
                wording.with_interval(wording.judged(document, entry), unit),
                wording.NOTHING if best else wording.with_interval(entry.get("gain_of_recommended"), ""),
                wording.NOTHING if best else wording.frequency(entry.get("probability_recommended_faster"), document),
            ]
        )
        rows += [[f"  {more}", "", "", "", ""] for more in further]
    if not rows:
        return []
    objective = clean(document.get("objective") or "mean")
    told, better = wording.objective_text(document), wording.better_text(document)
    header = ["strategy", wording.unit_of(document), objective, "gain", f"{better} in"]
    lines = [
        f"Predicted {told}; gain of the recommended strategy (*) over each; how often it is {better}",
        *table(header, rows, left=2),
    ]
    told = wording.interval_line(document)
    return [*lines, *([f"  {told}"] if told else [])]


def _ranking(document: Document, top: int) -> list[str]:
    """The best candidates, with how sure it is that they are the best, and what choosing them is expected to lose."""
    tied, unit = wording.tied_names(document), wording.objective_unit(document)
    rows = [
        [
            clean(entry.get("name")),
            wording.with_interval(wording.ranked_value(entry), unit),
            wording.best_text(entry, document, tied),
            wording.loss_text(entry.get("expected_loss")),
            wording.percent(entry.get("regret"), 1),
        ]
        for entry in (document.get("ranking") or ())[:top]
    ]
    if len(rows) < 2:
        return []
    header = ["best by it", clean(document.get("objective") or "mean"), "is best", "expected loss", "above bound"]
    loss = "what it is expected to take longer than the best one" if unit == "s" else "how far it is from the best one"
    return [
        f"The best {len(rows)}: how sure each is to be best; {loss}; how far above a lower bound",
        *table(header, rows),
    ]


def _front(document: Document, front: Document) -> list[str]:
    """A Pareto front, fastest first."""
    of, unit = clean(front.get("of")), clean(front.get("unit"))
    rows = [
        [
            clean(point.get("name")),
            wording.partition_text(point.get("partition"), most=3),
            wording.digits(point.get("objective_s"), 4),
            wording.digits(point.get(of), 4),
        ]
        for point in front.get("points") or ()
    ]
    header = ["configuration", wording.unit_of(document), f"{clean(document.get('objective'))} (s)", f"{of} ({unit})"]
    return [
        f"Pareto front of makespan and {of}, exact over {front.get('considered')} configurations: {front.get('scope')}",
        *table(header, rows, left=2),
    ]


def _verification(document: Document) -> list[str]:
    rows = []
    for entry in document.get("verification") or ():
        measured = sorted(filter(None, map(number, entry.get("measured_s") or ())))
        scale = {"mean": entry.get("measured_median_s")}
        error = number(entry.get("error_percent"))
        rows.append(
            [
                clean(entry.get("name")),
                wording.seconds(entry.get("predicted_s"), scale),
                wording.seconds(entry.get("measured_median_s"), scale),
                wording.spread(scale | {"least": measured[0], "most": measured[-1]}, low="least", high="most")
                if measured
                else wording.NOTHING,
                str(len(measured)),
                wording.NOTHING if error is None else f"{error:+.1f} %",
            ]
        )
    header = ["strategy", "predicted", "measured", "all runs", "runs", "error"]
    title = "Predicted and measured median makespan in s"
    return [title, *table(header, rows)] if rows else []


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Aligned columns under a header: the first `left` ones to the left, numbers to the right, a `*` beside them."""
    cells = [header, *rows]
    marked = [any(row[column].endswith(" *") for row in rows) for column in range(len(header))]
    lines = []
    for row in cells:
        texts = [
            f"{text}  " if column >= left and marked[column] and not text.endswith(" *") else text
            for column, text in enumerate(row)
        ]
        lines.append(texts)
    widths = [max(len(row[column]) for row in lines) for column in range(len(header))]
    return [
        "  "
        + _GAP.join(
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in lines
    ]
