"""Speed of each kernel over problem size, as measured."""

from advisor import wording
from advisor.report.page import Beside, Figure, Folded, Section, Table, Text, table
from advisor.wording import Document, clean, number

MOST_SPEEDS = 12
"""PEs in the short tables of speeds."""


def section(document: Document) -> Section:
    """Speed bands as a figure, short tables and all measured points."""
    from simulator import plots

    caches = (document.get("machine") or {}).get("caches") or ()
    drawn = plots.speed_bands_svg(document.get("kernels") or (), caches=caches)
    heading = "Speed of each kernel"
    if not drawn:
        return Section("speed", heading, (Text("No speed was measured."),))
    figure = Figure(
        drawn,
        "Measured speed over problem size, on a logarithmic axis. Line: median in CPU time, as in the tables. Band: "
        "without the outer tenths of the runs; those that other programs disturbed are left out. Dotted: size at "
        "which the data fill a cache. Hollow mark: not stable.",
    )
    unstable = wording.unstable_text(document)
    stable = "Every point is stable: the 95 % interval of its median is as narrow as was asked for."
    note = Text(f"* {unstable}." if unstable else stable, quiet=True)
    points = _points(document)
    folded = Folded(f"All {len(points.rows)} measured points", (points,))
    texts = [Text(line, quiet=True) for line in _calibrated(document)]
    return Section("speed", heading, (Beside(figure, (*_tables(document), note, *texts)), folded))


def _calibrated(document: Document) -> list[str]:
    """How speeds together compare with those alone, and what real pieces of the application said of them."""
    told = document.get("calibration") or {}
    lines = []
    lines += _beside(told.get("neighbours") or {})
    if pieces := told.get("pieces") or ():
        off = ", ".join(f"{clean(one.get('pe'))} {_signed(one.get('difference_percent'))}" for one in pieces)
        lines.append(f"Real pieces of the application attained more (+) or less than the band says: {off}.")
    return lines


def _beside(neighbours: Document) -> list[str]:
    """What PEs were seen to lose to each other."""
    if missing := neighbours.get("missing"):
        return [f"What PEs lose to each other was not measured: {clean(missing)}."]
    if domains := neighbours.get("domains") or ():
        names = ", ".join(sorted({clean(one.get("kind")) for one in domains}))
        kept = wording.percent(neighbours.get("share_together"), 1)
        kernel = clean(neighbours.get("kernel"))
        return [f"PEs slow each other down ({names}): {kernel} on all of them keeps {kept} of its speed alone."]
    beyond = {level: number(most) for level, most in (neighbours.get("beyond_percent") or {}).items()}
    seen = ", ".join(f"{clean(level)} {most:.1f} %" for level, most in beyond.items() if most is not None)
    return [f"No PE was seen to slow another down by more than what can be told here: {seen}."] if seen else []


def _signed(value: object) -> str:
    found = number(value)
    return wording.NOTHING if found is None else f"{found:+.1f} %".replace("-", "−")


def _tables(document: Document) -> tuple[Table, ...]:
    return tuple(
        table(f"{kernel}, Gflop/s", ["PE", *head], rows[:MOST_SPEEDS])
        for kernel, head, rows in wording.speed_tables(document, columns=5)
    )


def _points(document: Document) -> Table:
    rows = [_point(entry, point) for entry in document.get("kernels") or () for point in entry.get("points") or ()]
    return table(
        "Measured points: speed in Gflop/s at the middle of the band, and the band",
        ["kernel, PE", "n", "rows", "elements", "speed", "band", "95 % interval of the median", "runs", "stable"],
        rows,
    )


def _point(entry: Document, point: Document) -> list[str]:
    speed = {key: number(value) for key, value in (point.get("speed") or {}).items()}
    low, mid, high = (wording.digits(None if s is None else s / 1e9) for s in map(speed.get, ("low", "mid", "high")))
    return [
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


def _count(value: object) -> str:
    found = number(value)
    return wording.NOTHING if found is None else f"{found:.0f}"
