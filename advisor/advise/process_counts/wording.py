"""How an advice on process counts is said: configurations as data and as text, the sentence, tables, a page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advisor import wording
from advisor.advise.process_counts.search import Allocations
from simulator import notebook, plots

Document = Mapping[str, Any]
TOP = 10
"""Configurations that a table shows if nothing else is asked for."""
SHOWN = 0.005
"""Gains below it are none: they would be printed as 0 %."""
BASELINES = {
    "one-per-pe": "one process on every PE",
    "fastest-kind": "one on each PE of the fastest kind",
    "fastest-pe": "one on the fastest PE",
    "speed-ratio": "processes in proportion to speed",
}
"""What the names mean."""


def configuration_dict(
    allocation: Allocations, kinds: Sequence[str], known: Sequence[str] = ()
) -> dict[str, dict[str, int]]:
    """Per kind, `pes` that take part and `procs` on each of them; known kinds that are not among these take no part."""
    found = {
        name: {"pes": int(pes), "procs": int(each)}
        for name, (pes, each) in zip(kinds, allocation.tolist(), strict=True)
    }
    return found | {name: {"pes": 0, "procs": 0} for name in known if name not in found}


def configuration_text(configuration: Allocations | Document, kinds: Sequence[str] = ()) -> str:
    """`fast 1x2 + slow 3x1`: PEs times processes on each, of the kinds that take part."""
    if not isinstance(configuration, Mapping):
        configuration = configuration_dict(configuration, kinds)
    used = {name: part for name, part in configuration.items() if part["pes"]}
    return " + ".join(f"{wording.clean(name)} {part['pes']}x{part['procs']}" for name, part in used.items())


def sentence(document: Document) -> str:
    """What to do, how long it takes, and what that gains over one process on every PE."""
    parts = []
    for name, part in document["best"].items():
        if part["pes"]:
            there = document["kinds"][name]["pes"]
            several = f"each of {part['pes']} " if part["pes"] > 1 else "one " if there > 1 else ""
            parts.append((part["procs"], f"{several}{wording.clean(name)}"))
    first, *rest = parts
    what = f"{first[0]} process{'es' if first[0] > 1 else ''} on {first[1]}"
    more = [f"{each} on {where}" for each, where in rest]
    what = " and ".join([", ".join([what, *more[:-1]]), *more[-1:]])
    found = document["estimate_s"]
    known = len({wording.duration(found[end]) for end in ("low", "mean", "high")}) == 1
    return (
        f"Run {what}: {wording.duration(found['mean'])}{'' if known else f' ({_interval(found)})'}{_gained(document)}"
    )


def _interval(entry: Document) -> str:
    return f"{wording.duration(entry['low'])} to {wording.duration(entry['high'])}"


def _gained(document: Document) -> str:
    plain = next((one for one in document["baselines"] if one["name"] == "one-per-pe"), None)
    if plain is None:
        return ""
    meaning = BASELINES["one-per-pe"]
    if plain["configuration"] == document["best"]:
        return f", which is {meaning}"
    if plain["times_longer"] is None:
        return f"; {meaning} cannot be estimated or does not fit"
    saved = 1 - 1 / plain["times_longer"]["mean"]
    if abs(saved) < SHOWN:
        return f", as long as {meaning}"
    return f", {100 * abs(saved):.0f} % {'less' if saved >= 0 else 'more'} than {meaning}"


def render_choice(document: Document, *, top: int = TOP) -> str:
    """The whole advice for a terminal: sentence, ranking, baselines, notes and warnings."""
    return "\n".join(_lines(document, top))


def _lines(document: Document, top: int) -> Iterator[str]:
    yield sentence(document)
    yield ""
    ranking = document["ranking"][:top]
    width = max(len(configuration_text(entry["configuration"])) for entry in [*ranking, *document["baselines"]])
    interval = f"{100 * document['level']:g} % interval"
    yield f"{'configuration':<{width}}{'P':>7}{'estimate':>12}   {interval:<26}{'best':>6}"
    for entry in ranking:
        found = entry["estimate_s"]
        yield (
            f"{configuration_text(entry['configuration']):<{width}}{entry['processes']:>7}"
            f"{wording.duration(found['mean']):>12}   {_interval(found):<26}{wording.probability(entry['p_best']):>6}"
        )
    if document["configurations"] > len(ranking):
        yield f"... of {document['configurations']:,} configurations".replace(",", " ")
    yield ""
    yield from _baseline_lines(document, width)
    regret = document["regret"]
    yield (
        f"regret: {100 * regret['expected']:.1f} % expected, {100 * regret['risk']:.1f} % in the worst case of 20; "
        f"a chance of {wording.probability(regret['p_best'])} to be the best"
    )
    yield from (f"note: {line}" for line in document["notes"])
    yield from (f"warning: {line}" for line in document["warnings"])


def _baseline_lines(document: Document, width: int) -> Iterator[str]:
    same: dict[str, list[Document]] = {}
    for entry in document["baselines"]:
        same.setdefault(configuration_text(entry["configuration"]), []).append(entry)
    for text, entries in same.items():
        found, longer = entries[0]["estimate_s"], entries[0]["times_longer"]
        seconds = f"{'-':>12}   not estimated, or memory does not hold it"
        if found is not None:
            seconds = f"{wording.duration(found['mean']):>12}   {longer['mean']:.2f} times as long"
        names = "; ".join(BASELINES.get(entry["name"], str(entry["name"])) for entry in entries)
        yield f"{text:<{width}}{'':>7}{seconds}: {names}"
    yield ""


def _picture(document: Document) -> str:
    """What is advised and the baselines, by their estimates."""
    entries = [{"name": "advised", "estimate_s": document["estimate_s"]}, *document["baselines"]]
    rows = [
        plots.Makespan(one["name"], took["mean"], (took["low"], took["high"]))
        for one in entries
        if (took := one["estimate_s"]) is not None
    ]
    return plots.makespans(rows, "advised", mark="advised").svg()


def page(document: Document) -> str:
    """The advice for a notebook."""
    rows = [
        {
            "configuration": configuration_text(entry["configuration"]),
            "P": entry["processes"],
            "estimate (s)": entry["estimate_s"]["mean"],
            "low (s)": entry["estimate_s"]["low"],
            "high (s)": entry["estimate_s"]["high"],
        }
        for entry in document["ranking"][:TOP]
    ]
    table = notebook.table(rows, count=len(document["ranking"]))
    return notebook.page(sentence(document), _picture(document), table, warnings=document["warnings"])
