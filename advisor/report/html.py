"""The report as one HTML file: no network, no external font, light and dark, for paper, phones and screen readers."""

import base64
import functools
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from advisor.report import wording
from advisor.report.wording import Document, clean, number

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_ROWS = 400
"""Rows of a table that a page shows; the JSON document holds all."""
MOST_SPEEDS = 12
"""PEs in the short tables of speeds."""

Pairs = list[tuple[str, str]]


class Table(TypedDict):
    """A table of texts: the first cell of a row is its header."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    text_columns: int
    """How many columns, from the left, hold words; the others hold numbers."""
    best: str | None
    """Header of the row to emphasise."""
    note: str


def render_html(document: Document) -> str:
    """Write the report of a run as one self-contained page.

    Parameters
    ----------
    document
        What a quickstart returned; parts may be empty or None.
    """
    environment = _environment()
    script = environment.get_template("report.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("report.html").render(_view(document) | {"script": script, "digest": digest})


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("advisor.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["typeset"] = _typeset
    return environment


def _typeset(text: str) -> str:
    """Plain text with the signs that a page has and a terminal may not."""
    return "–" if text == wording.NOTHING else text.replace("+/-", "±")


def _view(document: Document) -> dict[str, Any]:
    """Everything that the template shows, as text, tables and figures."""
    machine = document.get("machine") or {}
    return {
        "asked": wording.asked(document),
        "settings": wording.settings(document),
        "host": clean(machine.get("host") or "this machine"),
        "command": clean(document.get("command") or "run"),
        "made": clean((document.get("provenance") or {}).get("made") or ""),
        "answer": wording.answer(document),
        "key_figures": _key_figures(document),
        "warnings": [clean(warning) for warning in document.get("warnings") or ()],
        "machine": _machine(machine, document.get("link") or {}),
        "load": _load(document),
        "speeds": _speeds(document),
        "unstable": wording.unstable_text(document),
        "figures": _figures(document),
        "points": _points(document),
        "processes": _processes(document),
        "baselines": _baselines(document),
        "verification": _verification(document),
        "provenance": _provenance(document),
    }


def _figures(document: Document) -> dict[str, Any]:
    """The figures as markup: the one part of the page that is not escaped again."""
    from markupsafe import Markup

    from simulator import plots

    caches = (document.get("machine") or {}).get("caches") or ()
    drawn = {
        "speed": plots.speed_bands_svg(document.get("kernels") or (), caches=caches),
        "load": plots.load_svg(document.get("load")),
        "timeline": plots.gantt_svg(document.get("timeline") or ()),
        "baselines": plots.baselines_svg(
            [entry for _, entry in wording.strategies(document)], document.get("recommended")
        ),
        "verification": plots.verification_svg(document.get("verification") or ()),
    }
    return {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704  (plots escapes every text in it)


def _key_figures(document: Document) -> Pairs:
    """The few numbers that a reader looks for first."""
    errors = [abs(error) for entry in document.get("verification") or () if (error := _error(entry)) is not None]
    figures = {
        "measured gain over the equal split": number(document.get("measured_gain")),
        "most that is possible here": number(document.get("largest_gain")),
    }
    pairs = [(name, f"{wording.times(value)} ×") for name, value in figures.items() if value is not None]
    if number(document.get("available_share")) is not None:
        where = clean((document.get("load") or {}).get("pe") or "the loaded PE")
        pairs.append((f"of {where} left to us, measured", wording.percent(document["available_share"])))
    return pairs + ([("largest error of a prediction", f"{max(errors):.1f} %")] if errors else [])


def _error(entry: Document) -> float | None:
    return number(entry.get("error_percent"))


def _machine(machine: Document, link: Document) -> Pairs:
    quota = number(machine.get("quota_cores"))
    caches = [
        f"L{cache.get('level')}{' ' + cache['kind'] if cache.get('kind') in {'data', 'instruction'} else ''} "
        f"{wording.size_text(cache.get('size_bytes'))}"
        + (f" (shared by {cache['shared_by']})" if (number(cache.get("shared_by")) or 1) > 1 else "")
        for cache in machine.get("caches") or ()
    ]
    cores = ", ".join(_core(core) for core in machine.get("cores") or ())
    load = ", ".join(f"{value:.2f}" for value in map(number, machine.get("load_average") or ()) if value is not None)
    memory = (
        f"{wording.size_text(machine.get('memory_bytes'))}, "
        f"{wording.size_text(machine.get('memory_available_bytes'))} available"
    )
    pairs = {
        "System": clean(machine.get("system") or ""),
        "Processor": clean(machine.get("cpu_model") or ""),
        "PEs": f"{machine['pe_count']} (processor{'' if len(machine.get('cores') or ()) == 1 else 's'} {cores})"
        if machine.get("pe_count")
        else "",
        "CPU quota": "" if quota is None else f"{quota:g} cores",
        "Caches": ", ".join(caches),
        "Memory": memory if machine.get("memory_bytes") else "",
        "Load before the run": f"{load} (mean over 1, 5, 15 min)" if load else "",
        "Frequency governor": clean(machine.get("governor") or ""),
        "Messages": _messages(link),
    }
    return [(name, text) for name, text in pairs.items() if text]


def _core(core: Document) -> str:
    siblings = ", ".join(str(sibling) for sibling in core.get("siblings") or ())
    return f"{core.get('cpu')}" + (f" [SMT sibling {siblings}]" if siblings else "")


def _messages(link: Document) -> str:
    """What the smallest and the largest message take."""
    knots = list(zip(link.get("sizes_bytes") or (), link.get("times_s") or (), strict=False))
    ends = [knots[0], knots[-1]] if len(knots) > 1 else knots
    return ", ".join(f"{wording.duration(time)} for {wording.size_text(size)}" for size, time in ends)


def _load(document: Document) -> Pairs:
    load = document.get("load") or {}
    rules = {
        "fair": "fair: all runnable processes of the PE get equal shares",
        "idle": "idle: we get what the competitors leave",
        "given": "given: the trace states our share",
    }
    pairs = {
        "On": clean(load.get("pe") or ""),
        "Rule": rules.get(str(load.get("rule")), clean(load.get("rule") or "")),
        "Share left to us, predicted": wording.percent(load.get("predicted_share"), 1),
        "Share left to us, measured": wording.percent(document.get("available_share"), 1),
    }
    return [(name, text) for name, text in pairs.items() if text]


def _speeds(document: Document) -> list[Table]:
    return [
        _table(f"{kernel}, Gflop/s", ["PE", *head], rows[:MOST_SPEEDS])
        for kernel, head, rows in wording.speed_tables(document, columns=5)
    ]


def _points(document: Document) -> Table:
    rows = []
    for entry in document.get("kernels") or ():
        for point in entry.get("points") or ():
            speed = {key: number(value) for key, value in (point.get("speed") or {}).items()}
            low, mid, high = (
                wording.digits(None if s is None else s / 1e9) for s in map(speed.get, ("low", "mid", "high"))
            )
            rows.append(
                [
                    f"{clean(entry.get('name'))}, {clean(entry.get('pe'))}",
                    _count(point.get("n")),
                    _count(point.get("rows")),
                    _count(point.get("size_elements")),
                    mid,
                    f"{low} to {high}",
                    wording.interval_text(point.get("interval_percent")),
                    str(len(point.get("wall_s") or ())),
                    "yes" if point.get("stable", True) else "no",
                ]
            )
    return _table(
        "Measured points: speed in Gflop/s at the middle of the band, and the band",
        ["kernel, PE", "n", "rows", "elements", "speed", "band", "95 % interval of the median", "runs", "stable"],
        rows,
    )


def _count(value: object) -> str:
    found = number(value)
    return wording.NOTHING if found is None else f"{found:.0f}"


def _processes(document: Document) -> Table:
    """What each process gets under the recommended partition, and does in the replication of the timeline."""
    partition = wording.entry_of(document, document.get("recommended")).get("partition") or []
    done: dict[int, list[Document]] = {process: [] for process in range(len(partition))}
    for entry in document.get("timeline") or ():
        if number(entry.get("start_s")) is not None and number(entry.get("end_s")) is not None:
            done.setdefault(int(entry.get("process") or 0), []).append(entry)
    names = dict(enumerate(wording.pe_names(document)))
    names |= {process: clean(own[0].get("pe")) for process, own in done.items() if own}
    alone = len(set(names.values())) == len(names)
    rows = []
    for process, own in sorted(done.items()):
        name = names.get(process, "") if alone else f"{names.get(process, '')}, process {process}"
        units = str(partition[process]) if process < len(partition) else wording.NOTHING
        computing = _spent(own, messages=False)
        messages = _spent(own, messages=True)
        end_s = max((entry["end_s"] for entry in own), default=None)
        rows.append([name, units, *map(wording.duration, (computing, messages, end_s))])
    head = ["PE", wording.unit_of(document), "computing", "in messages", "done at"]
    return _table("What each process gets and does", head, rows)


def _spent(own: Sequence[Document], *, messages: bool) -> float | None:
    """Seconds in messages, or in everything else; None where nothing was recorded."""
    chosen = [entry for entry in own if (entry.get("operation") != "compute") is messages]
    return float(sum(entry["end_s"] - entry["start_s"] for entry in chosen)) if own else None


def _baselines(document: Document) -> Table:
    rows = []
    for label, entry in wording.strategies(document):
        predicted, best = entry.get("predicted_makespan_s") or {}, entry.get("name") == document.get("recommended")
        gain = entry.get("gain_of_recommended")
        rows.append(
            [
                label,
                wording.partition_text(entry.get("partition"), most=wording.MOST_NAMED),
                wording.with_interval(predicted),
                wording.spread(predicted, low="p05", high="p95"),
                wording.NOTHING if best else wording.with_interval(gain),
                wording.NOTHING if best else wording.probability(entry.get("probability_recommended_faster")),
            ]
        )
    return _table(
        "Predicted makespan in seconds",
        ["strategy", wording.unit_of(document), "mean", "5 to 95 %", "gain", "faster in"],
        rows,
        text_columns=2,
        best=clean(document.get("recommended")),
        note="Mean and gain with their 95 % interval. Gain: how many times longer the strategy takes than the "
        "recommended one. Faster in: replications in which the recommended one is faster.",
    )


def _verification(document: Document) -> Table:
    rows = []
    for entry in document.get("verification") or ():
        measured = sorted(value for value in map(number, entry.get("measured_s") or ()) if value is not None)
        scale = {"mean": entry.get("measured_median_s")} | (
            {"low": measured[0], "high": measured[-1]} if measured else {}
        )
        error = _error(entry)
        rows.append(
            [
                clean(entry.get("name")),
                wording.seconds(entry.get("predicted_s"), scale),
                wording.seconds(entry.get("measured_median_s"), scale),
                wording.spread(scale),
                str(len(measured)),
                wording.NOTHING if error is None else f"{error:+.1f} %".replace("-", "−"),
            ]
        )
    return _table(
        "Median makespan in seconds",
        ["strategy", "predicted", "measured", "all runs", "runs", "error"],
        rows,
        best=clean(document.get("recommended")),
        note="Error: predicted over measured median, minus 1.",
    )


def _provenance(document: Document) -> Pairs:
    origin = document.get("provenance") or {}
    pairs: Pairs = [("Made", clean(origin.get("made") or wording.NOTHING)), ("Seed", clean(document.get("seed")))]
    pairs += [(f"Version of {clean(name)}", clean(value)) for name, value in (origin.get("versions") or {}).items()]
    pairs += [(f"Hash of {clean(name)}", clean(value)) for name, value in (origin.get("inputs") or {}).items()]
    pairs.append(("Time taken", wording.took_text(document)))
    paths = [(name, document.get(key)) for name, key in (("Scenario", "scenario"), ("This report", "report"))]
    return pairs + [(name, clean(path)) for name, path in paths if path]


def _table(
    caption: str,
    head: Sequence[str],
    rows: list[list[str]],
    *,
    text_columns: int = 1,
    best: str | None = None,
    note: str = "",
) -> Table:
    more = f"The first {MOST_ROWS} of {len(rows)} rows; the JSON document has all. " if len(rows) > MOST_ROWS else ""
    return {
        "caption": caption,
        "head": list(head),
        "rows": rows[:MOST_ROWS],
        "text_columns": text_columns,
        "best": best,
        "note": more + note,
    }
