"""The platform of a scenario: kinds of PEs with their speed bands and loads, and the network."""

from collections.abc import Iterator

from advisor import wording
from advisor.report.page import Beside, Block, Figure, Pairs, Section, Table, Text, pairs, table
from advisor.report.sections.load import RULES
from advisor.wording import Document, clean, number
from simulator import units

MOST_LOADS = 3
"""Loads that are drawn; the table tells of all."""


def section(document: Document) -> Section:
    """What the simulated PEs, loads and links are like."""
    platform = document.get("platform") or {}
    if not platform.get("kinds"):
        return Section("platform", "Platform", (Text("Nothing is known of the platform."),))
    return Section("platform", "Platform: speeds, loads, network", tuple(_blocks(platform)))


def _blocks(platform: Document) -> Iterator[Block]:
    from simulator import plots

    kinds, kernel = platform["kinds"], clean(platform.get("kernel") or "")
    curves = [{"name": kernel, "pe": kind.get("name"), "points": kind.get("points")} for kind in kinds]
    drawn = ""
    if any(len(curve["points"] or ()) > 1 for curve in curves):
        drawn = plots.speed_bands_svg([curve for curve in curves if len(curve["points"] or ()) > 1], unit="units/s")
    facts = _kinds(kinds, kernel), _network(platform.get("network") or {})
    if drawn:
        caption = (
            "Speed bands that were assumed, over problem size. Each replication draws where in its band a PE runs."
        )
        yield Beside(Figure(drawn, caption), facts)
    else:
        yield from facts
    loads = [kind["load"] for kind in kinds if kind.get("load")]
    for place, load in enumerate(loads[:MOST_LOADS]):
        told = "Load that each replication starts at another point of, where draws decide. Dashed: its mean."
        if load_svg := plots.load_svg(load, name=f"load-{place}"):
            yield Beside(Figure(load_svg, told), (_load(load),))


def _kinds(kinds: list[Document], kernel: str) -> Table:
    rows = []
    for kind in kinds:
        load = kind.get("load")
        rows.append(
            [
                clean(kind.get("name")),
                str(kind.get("count")),
                str(kind.get("cores")),
                _speed(kind),
                "none" if not load else f"{wording.digits(load.get('mean'))} ({clean(load.get('rule'))})",
            ]
        )
    return table(
        f"Kinds of PEs; speed of {kernel}" if kernel else "Kinds of PEs",
        ["like", "PEs", "cores", "speed of a core", "load (rule)"],
        rows,
    )


def _speed(kind: Document) -> str:
    """The extremes of the middle of its band."""
    speeds = [mid for point in kind.get("points") or () if (mid := number((point.get("speed") or {}).get("mid")))]
    if not speeds:
        return wording.NOTHING
    low, high = (units.show_rate(speed, "units/s") for speed in (min(speeds), max(speeds)))
    return low if low == high else f"{low} to {high}"


def _load(load: Document) -> Pairs:
    what = "Mean share left to us" if load.get("rule") == "given" else "Mean competing processes"
    return pairs(
        {
            "On": clean(load.get("pe") or ""),
            "Rule": RULES.get(str(load.get("rule")), clean(load.get("rule") or "")),
            what: wording.digits(load.get("mean")),
        }
    )


def _network(network: Document) -> Block:
    eager = number(network.get("eager_bytes"))
    contention = clean(network.get("contention") or "")
    rules = {
        "none": "none: messages do not slow each other down",
        "fifo": "fifo: one message after the other on a link",
        "fair": "fair: messages share a link's bandwidth",
    }
    times = network.get("times") or {}
    knots = zip(times.get("sizes_bytes") or (), times.get("times_s") or (), strict=False)
    found = {
        "Network": clean(network.get("topology") or ""),
        "Messages": ", ".join(f"{wording.duration(time)} for {wording.size_text(size)}" for size, time in knots),
        "Contention": rules.get(contention, contention),
        "Sent without waiting": f"up to {wording.size_text(eager)}" if eager else "",
    }
    for place, link in enumerate((network.get("links") or ())[:6]):
        names = ", ".join(clean(name) for name in link.get("names") or ())
        more = (link.get("count") or 0) - len(link.get("names") or ())
        shared = ", both directions together" if link.get("shared") else ""
        speed = units.show_rate(8 * float(link["bandwidth_bytes_per_s"]), "bit/s")
        found["Links" if place == 0 else f"Links ({place + 1})"] = (
            f"{names}{f' and {more} more' if more > 0 else ''}: "
            f"{wording.duration(link.get('latency_s'))}, {speed}{shared}"
        )
    return pairs(found)
