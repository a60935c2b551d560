"""What the report says and how it writes numbers: the same words on the page and on the terminal.

A document may be incomplete (one PE, nothing verified): each function then says less, and none fails.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simulator import interval_line as told_line
from simulator import intervals, units

Document = Mapping[str, Any]

NOTHING = "-"
"""What stands where there is no value."""
EQUAL = "the equal split"
WIDE_GAP = 0.1
"""Distance from the bound, as a share, up to which an answer is said to be nearly as good as any."""
MOST_NAMED = 6
"""PEs that a sentence can name one by one."""
MOST_PES_LISTED = 4
"""PEs whose numbers of processes fit a column of a table."""


def number(value: object) -> float | None:
    """The value if it is a finite number."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def clean(text: object) -> str:
    """Text from outside without line ends, escape sequences or anything else that does not print."""
    return "".join(character if character.isprintable() else " " for character in str(text)).strip()


def duration(value: object) -> str:
    """Seconds with a unit and three digits, whole seconds from 1000 on."""
    seconds = number(value)
    if seconds is None:
        return NOTHING
    return f"{seconds:.0f} s" if abs(seconds) >= 999.5 or seconds == 0 else units.show_duration(seconds)


def digits(value: object, count: int = 3) -> str:
    """A number with so many digits, closing zeros too, and none behind the point where it needs none."""
    found = number(value)
    if found is None:
        return NOTHING
    return f"{found:.0f}" if abs(found) >= 10 ** (count - 1) else f"{found:#.{count}g}"


def percent(value: object, decimals: int = 0) -> str:
    """A share of 1 in percent."""
    share = number(value)
    return NOTHING if share is None else f"{100 * share:.{decimals}f} %"


def times(value: object) -> str:
    """A ratio with two decimals, more only where it would read as none."""
    ratio = number(value)
    return NOTHING if ratio is None else f"{ratio:.2f}"


def spread(entry: Document | None, *, low: str = "low", high: str = "high") -> str:
    """The lower and the upper value in seconds, with as many decimals as tell them apart."""
    ends = [number((entry or {}).get(key)) for key in (low, high)]
    if None in ends:
        return NOTHING
    decimals = decimals_of(entry)
    return f"{ends[0]:.{decimals}f} to {ends[1]:.{decimals}f}"


def with_interval(entry: Document | None, unit: str = "s", *, signed: bool = False) -> str:
    """`mean` with its interval `low`, `high`: see `simulator.units.show_interval`."""
    return units.show_interval(*_ends(entry, "mean", "low", "high"), unit=unit, signed=signed)


def of_runs(entry: Document | None, unit: str = "s") -> str:
    """Where one run lies, `run_low` to `run_high`."""
    return units.show_range(*_ends(entry, "run_low", "run_high"), unit=unit)


def _ends(entry: Document | None, *keys: str) -> list[float | None]:
    return [number((entry or {}).get(key)) for key in keys]


def level_of(document: Document) -> float:
    """How often the intervals of a document hold."""
    return number(document.get("level")) or intervals.LEVEL


def level_text(document: Document) -> str:
    """The same in percent: `90 %`."""
    return f"{100 * level_of(document):.4g} %"


def runs_text(document: Document) -> str:
    """What the interval of one run is called."""
    return f"{level_text(document)} of runs"


def interval_line(document: Document) -> str:
    """What the intervals of a document are, for the line under its tables; nothing where there are none."""
    count, truths = number(document.get("replications")), number(document.get("truths"))
    if count is None:
        return ""
    shared, certain = None if truths is None else int(truths), bool(document.get("deterministic"))
    return told_line(int(count), shared, level=level_of(document), deterministic=certain)


def seconds(value: object, entry: Document | None) -> str:
    """A makespan in seconds, with the decimals of its interval."""
    found = number(value)
    return NOTHING if found is None else f"{found:.{decimals_of(entry)}f}"


def decimals_of(entry: Document | None) -> int:
    """Decimals for `mean`, `low` and `high`: three digits of the mean, or as many as tell the other two apart."""
    mean, low, high = (number((entry or {}).get(key)) for key in ("mean", "low", "high"))
    needed = 2 - math.floor(math.log10(abs(mean))) if mean else 2
    if low is not None and high is not None and high > low:
        needed = max(needed, -math.floor(math.log10((high - low) / 2)))
    return max(0, min(needed, 6 if mean and abs(mean) < 0.1 else 4))


def probability(value: object) -> str:
    """A probability estimated from some hundred replications, never certain."""
    share = number(value)
    if share is None:
        return NOTHING
    return "> 99 %" if share > 0.99 else "< 1 %" if share < 0.01 else percent(share)


MANY = 100
"""Replications from which a share of all or none of them is told as a percentage."""


def frequency(share: object, document: Document) -> str:
    """In how many replications something was so: a share of many, a count where all or none of a few were."""
    known, count = number(share), number(document.get("replications"))
    if known is None or count is None or document.get("deterministic") or count >= MANY or known not in {0.0, 1.0}:
        return chance(share, document)
    return f"{known * count:.0f} of {count:.0f}"


def chance(share: object, document: Document) -> str:
    """A probability that something is so: near certain at most, unless nothing is drawn, which is then said."""
    known = number(share)
    if not document.get("deterministic") or known not in {0.0, 1.0}:
        return probability(share)
    return "yes" if known else "no"


def interval_sentence(document: Document) -> str:
    """`interval_line` as a sentence."""
    line = interval_line(document)
    return f"{line}." if line else ""


def tied_names(document: Document) -> list[str]:
    """The candidates that are as good as the best one, best first; none where one alone is."""
    stated = document.get("ties")
    found = (
        [clean(name) for name in stated]
        if stated is not None
        else [
            clean(entry.get("name")) for entry in document.get("ranking") or () if _is_near(entry.get("expected_loss"))
        ]
    )
    return found if len(found) > 1 else []


NEAR = 0.01
"""Expected loss up to which a candidate is as good as the best one."""


def _is_near(loss: object) -> bool:
    known = number(loss)
    return known is not None and known <= NEAR


def tie_text(document: Document) -> str:
    """Who is as good as what is advised, and what it may lose; nothing where nobody is."""
    chosen = clean(document.get("recommended") or "")
    others = [name for name in tied_names(document) if name != chosen]
    if not others:
        return ""
    entries = {clean(entry.get("name")): entry for entry in document.get("ranking") or ()}
    loss = number(entries.get(chosen, {}).get("expected_loss"))
    told = "" if loss is None else f", expected loss {loss_text(loss)}"
    verb = "is" if len(others) == 1 else "are"
    return f"{listed(others)} {verb} within 1 % of it: a tie; the simplest is advised{told}."


def listed(names: Sequence[str], *, most: int = MOST_NAMED) -> str:
    """`a`, `a and b`, `a, b and c`; of many the first and how many more."""
    shown = list(names) if len(names) <= most + 1 else [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def best_text(entry: Document, document: Document, tied: Sequence[str]) -> str:
    """The chance that a candidate is the best one, and whether it is tied: nobody is near certain to win a tie."""
    told, share = chance(entry.get("p_best"), document), number(entry.get("p_best"))
    if clean(entry.get("name")) not in tied:
        return told
    return f"{told} (tie)" if share is not None and 0.01 <= share <= 0.99 else "tie"


def loss_text(loss: object) -> str:
    """An expected loss in percent, with a digit that tells it from none."""
    known = number(loss)
    if known is None:
        return NOTHING
    return "0 %" if known <= 0 else "< 0.1 %" if known < 0.0005 else percent(known, 1)


def replications_text(document: Document) -> str:
    """How many replications; and that nothing is drawn, where that is so."""
    said = counted(document.get("replications"), "replication")
    return f"{said} (deterministic: nothing is drawn)" if document.get("deterministic") else said


def unit_of(document: Document) -> str:
    """What a partition counts."""
    return "rows" if (document.get("application") or {}).get("name") == "matmul" else "units"


def pe_names(document: Document) -> list[str]:
    """The PE of each process, as far as the document tells."""
    named = {entry.get("process"): clean(entry.get("pe")) for entry in document.get("timeline") or ()}
    measured = [clean(name) for name in document.get("pes") or ()]
    measured = measured or list(dict.fromkeys(clean(entry.get("pe")) for entry in document.get("kernels") or ()))
    count = max([len(entry.get("partition") or ()) for entry in document.get("baselines") or ()], default=0)
    fallback = measured + [f"PE {index}" for index in range(len(measured), count)]
    return [named.get(index, name) for index, name in enumerate(fallback)]


def partition_text(partition: Sequence[int] | None, *, most: int = 4) -> str:
    """A partition in short: every part, or how many and how large."""
    if not partition:
        return NOTHING
    if len(partition) <= most:
        return " + ".join(str(part) for part in partition)
    low, high = min(partition), max(partition)
    return f"{len(partition)} parts of {low}" if low == high else f"{len(partition)} parts, {low} to {high}"


def entry_of(document: Document, name: object) -> Document:
    """The baseline with a name, or an empty one."""
    return next((entry for entry in document.get("baselines") or () if entry.get("name") == name), {})


def reference_of(document: Document) -> tuple[Document, str]:
    """The entry that gains are counted from, and what it is called in a sentence."""
    entry, equal = entry_of(document, document.get("reference") or "equal"), entry_of(document, "equal")
    if entry.get("name") == "as-now":
        return entry, "it runs now"
    names = {entry.get("name"), entry.get("same_as")} - {None}
    if not entry or names & {equal.get("name"), equal.get("same_as")}:
        return entry, EQUAL
    core = entry_of(document, "one-per-core")
    if names & {core.get("name"), core.get("same_as")}:
        return entry, "one process per core with equal units"
    return entry, clean(entry.get("name"))  # where memory holds neither


def answer(document: Document) -> str:
    """The answer in one sentence: who gets how much, what it gains, and whether that was measured."""
    best = entry_of(document, document.get("recommended"))
    partition = best.get("partition") or []
    if not partition:
        return "No recommendation: the run ended before a partition was simulated."
    if len(partition) == 1 and len(pe_names(document)) == 1:
        return f"There is one PE only, so it does all {partition[0]} {unit_of(document)}: nothing to apportion."
    who = f"{_who_gets_what(document, best)}{_grid_text(best)}"
    reference, named = reference_of(document)
    if reference and best.get("name") in {reference.get("name"), reference.get("same_as")}:
        if reference.get("name") == "as-now":
            return f"Stay as you are, with {who}: there is nothing to gain by anything that was compared."
        what, tie = "an equal split" if named == EQUAL else named, tie_text(document)
        more = " by more than 1 %" if tie else ""
        return " ".join(filter(None, (f"Give {who}, {what}: no other partition is predicted to be faster{more}.", tie)))
    measured = number(document.get("measured_gain"))
    if measured is not None and measured < 0.995:
        return f"Keep {named}: a real run with {who} was only {times(measured)} times as fast."
    return " ".join(filter(None, (f"Give {who}: {_gain_text(document)}.", tie_text(document))))


def _grid_text(entry: Document) -> str:
    grid = entry.get("grid")
    return f" on a grid of {grid[0]} x {grid[1]} processes" if grid else ""


def shares(document: Document, entry: Document) -> list[tuple[str, list[int]]]:
    """PEs by name, and what each of their processes gets, in the order of the processes."""
    partition, placement = entry.get("partition") or [], entry.get("placement") or []
    pes = [clean(name) for name in document.get("pes") or ()]
    if len(placement) != len(partition) or placement == list(range(len(partition))) or not pes:
        return [(name, [part]) for name, part in zip(pe_names(document), partition, strict=False)]
    found: dict[str, list[int]] = {}
    for pe, part in zip(placement, partition, strict=True):
        found.setdefault(pes[pe], []).append(part)
    return list(found.items())


def _share_text(parts: Sequence[int]) -> str:
    if len(parts) == 1:
        return str(parts[0] or "no")
    return f"{len(parts)} x {parts[0]}" if len(set(parts)) == 1 else partition_text(parts)


def _who_gets_what(document: Document, entry: Document) -> str:
    unit, given = unit_of(document), shares(document, entry)
    if len(given) > MOST_NAMED:
        used = [(name, parts) for name, parts in given if any(parts)]
        partition = [units for _, parts in used for units in parts]
        processes = f" with {len(partition)} processes" if len(partition) > len(used) else ""
        each = "each process " if processes else ""
        low, high = min(partition), max(partition)
        how = f"{low} {unit}" if low == high else f"between {low} and {high} {unit}"
        idle = [name for name, parts in given if not any(parts)]
        left = f", and none to {', '.join(idle)}" if 0 < len(idle) <= MOST_NAMED else ""
        left = f", and none to the other {len(idle)}" if len(idle) > MOST_NAMED else left
        return f"the {len(used)} PEs{processes} {each}{how}{'' if processes else ' each'}{left}"
    first, *others = [f"{name} {_share_text(parts)}" for name, parts in given]
    if not others:
        return f"{first} {unit}"
    return f"{', '.join([f'{first} {unit}', *others[:-1]])} and {others[-1]}{'' if any(given[-1][1]) else f' {unit}'}"


def long_partition(document: Document) -> str:
    """Who gets how much, where the sentence of the answer could not say it; otherwise nothing."""
    given = shares(document, entry_of(document, document.get("recommended")))
    if len(given) <= MOST_NAMED:
        return ""
    return ", ".join(f"{name} {_share_text(parts) if any(parts) else 0}" for name, parts in given)


def strategies(document: Document) -> list[tuple[str, Document]]:
    """The entries of a table of strategies, each once, under all its names."""
    entries = document.get("baselines") or ()
    also: dict[str, list[str]] = {}
    for entry in entries:
        if entry.get("same_as"):
            also.setdefault(str(entry["same_as"]), []).append(clean(entry.get("name")))
    return [
        (", ".join([clean(entry.get("name")), *also.get(str(entry.get("name")), [])]), entry)
        for entry in entries
        if not entry.get("same_as")
    ]


def judged(document: Document, entry: Document) -> Document:
    """The objective of an entry, as `mean`, `low` and `high`."""
    found = entry.get("objective_s") or entry.get("objective")
    plain = entry.get("predicted_makespan_s") or {}
    if not found or document.get("objective", "mean") == "mean":
        return plain
    return {"mean": found.get("value"), "low": found.get("low"), "high": found.get("high")}


def ranked_value(entry: Document) -> Document:
    """The objective of an entry of a ranking, as `mean`, `low` and `high`."""
    unit = "_s" if "value_s" in entry else ""
    return {"mean": entry.get(f"value{unit}"), "low": entry.get(f"low{unit}"), "high": entry.get(f"high{unit}")}


def better_text(document: Document) -> str:
    """What a strategy is that has less of the objective."""
    return {"cost": "cheaper", "energy": "thriftier"}.get(clean(document.get("objective") or ""), "faster")


def objective_text(document: Document) -> str:
    """What is told of each strategy."""
    named = {"cost": "cost of a run", "energy": "energy of a run"}
    return named.get(clean(document.get("objective") or ""), "makespan")


def objective_unit(document: Document) -> str:
    """The unit of the objective, as `with_interval` takes it."""
    return {"cost": "", "energy": "J"}.get(clean(document.get("objective") or ""), "s")


def confirmed_text(document: Document) -> str:
    """How much was simulated, and what the reference engine says; nothing for documents without it."""
    if number(document.get("evaluations")) is None:
        return ""
    told = f"{document['evaluations']} simulated in all"
    entries = document.get("confirmed") or ()
    if not entries:
        return told
    names = " and ".join(clean(entry.get("configuration")) for entry in entries)
    if all(entry.get("screened_by") == "process" for entry in entries):
        return f"{told}, by the SimPy engine"
    agrees = all(entry.get("agrees") for entry in entries)
    return f"{told}; the SimPy engine {'gives the same' if agrees else 'DISAGREES'} for {names}"


def gap_text(document: Document) -> str:
    """How far above what nothing can be below; beyond a tenth a better answer may exist."""
    gap = number(document.get("regret"))
    if gap is None:
        return ""
    may = "; a better answer may exist" if gap > WIDE_GAP else ""
    return f"{percent(max(0.0, gap), 1)} above a bound that no configuration can be below{may}"


ALIKE = 0.005
"""Gains that are less are none."""


def _gain_text(document: Document) -> str:
    measured, most = number(document.get("measured_gain")), number(document.get("largest_gain"))
    reference, named = reference_of(document)
    predicted = number((reference.get("gain_of_recommended") or {}).get("mean"))
    if measured is not None:
        limit = "" if most is None else f"; {times(most)} is the most possible"
        how = f"{times(measured)} times faster than" if measured >= 1.005 else "as fast as"
        return f"{how} {named} (measured{limit})"
    fewer = _fewer_processes(document, reference)
    if predicted is not None and abs(predicted - 1) < ALIKE and fewer > 0:
        less = f"{fewer} {'process' if fewer == 1 else 'processes'} less"
        return f"as fast as {named}, with {less} (predicted; no real run has checked it)"
    if predicted is not None:
        gain = reference.get("gain_of_recommended") or {}
        low = number(gain.get("low"))
        unsure = "" if low is None or low > 1 or document.get("deterministic") else ", so perhaps not at all"
        how = f"{with_interval(gain, '')} times {better_text(document)} than {named}{unsure}"
        return f"{how} (predicted; no real run has checked it)"
    return "predicted to be the fastest"


def _fewer_processes(document: Document, reference: Document) -> int:
    """How many processes with units the recommended strategy has less than another."""
    best = entry_of(document, document.get("recommended"))
    counts: list[int] = [sum(units > 0 for units in entry.get("partition") or ()) for entry in (reference, best)]
    return counts[0] - counts[1]


def asked(document: Document) -> str:
    """What was asked about, in a few words."""
    application = document.get("application") or {}
    parts = [clean(application.get("name") or "application")]
    parameters = application.get("parameters") or {"n": application.get("n")}
    parts += [
        f"{clean(name)} = {value:g}" if value % 1 else f"{clean(name)} = {value:.0f}"
        for name, value in parameters.items()
        if number(value) is not None
    ]
    parts += [f"kernel {clean(application['kernel'])}"] if application.get("kernel") else []
    told = application.get("resource_model")
    parts += [f"resource model {clean(told)}, template {clean(application['template'])}"] if told else []
    return ", ".join(parts)


def settings(document: Document) -> str:
    """How it was asked."""
    parts = [f"budget {duration(document['budget_s'])}"] if number(document.get("budget_s")) is not None else []
    parts += [f"seed {document['seed']}"] if number(document.get("seed")) is not None else []
    return ", ".join(parts)


def machine_line(machine: Document | None) -> str:
    """The machine in one line."""
    if not machine:
        return "not told"
    caches = [
        f"L{cache.get('level')} {size_text(cache.get('size_bytes'))}"
        for cache in machine.get("caches") or ()
        if cache.get("kind") != "instruction"
    ]
    load = [number(value) for value in machine.get("load_average") or ()]
    parts = [
        f"{clean(machine.get('host') or 'this machine')}: {clean(machine.get('cpu_model') or 'unknown processor')}",
        counted(machine.get("pe_count"), "PE"),
        *caches,
        f"{size_text(machine.get('memory_bytes'))} memory",
    ]
    parts += [f"load {load[0]:.2f}"] if load and load[0] is not None else []
    return ", ".join(parts)


def size_text(value: object) -> str:
    """Bytes with a binary unit."""
    size = number(value)
    return NOTHING if size is None else units.show_size(size)


def processes(on_each: Sequence[int]) -> str:
    """Processes on each PE, `2+1`; of more than a few PEs all together."""
    return "+".join(clean(count) for count in on_each) if len(on_each) <= MOST_PES_LISTED else str(sum(on_each))


def counted(count: object, noun: str) -> str:
    """`1 PE`, `2 PEs`."""
    return f"{count if number(count) is not None else NOTHING} {noun}{'' if count == 1 else 's'}"


def load_text(document: Document) -> str:
    """What ran beside us, and what share of its PE it left."""
    load = document.get("load") or {}
    if not load:
        return "none"
    shares = [
        f"{percent(value)} {what}"
        for what, value in (
            ("predicted", load.get("predicted_share")),
            ("measured", document.get("available_share")),
        )
        if number(value) is not None
    ]
    left = f"; share of it left to us: {', '.join(shares)}" if shares else ""
    return f"on {clean(load.get('pe'))}, rule {clean(load.get('rule'))}{left}"


def took_text(document: Document) -> str:
    """Where the time of the run went."""
    spent = document.get("seconds") or {}
    parts = ", ".join(f"{clean(stage)} {duration(value)}" for stage, value in spent.items() if stage != "total")
    if "total" not in spent:
        return parts or "not told"
    return duration(spent["total"]) + (f" ({parts})" if parts else "")


def unstable_text(document: Document) -> str:
    """How many points have a median that is not known as well as was asked for, and how well it is known."""
    points = [point for entry in document.get("kernels") or () for point in entry.get("points") or ()]
    unstable = [point for point in points if not point.get("stable", True)]
    if not unstable:
        return ""
    halves = sorted(half for point in unstable if (half := number(point.get("interval_percent"))) is not None)
    known = "too few runs"
    if halves:
        least = "" if halves[0] == halves[-1] else f"{halves[0]:.1f} to "
        known = f"95 % interval of the median +/- {least}{halves[-1]:.1f} %"
    return f"not stable: {len(unstable)} of {counted(len(points), 'point')}, {known}"


def interval_text(value: object) -> str:
    """The half width of a median's interval."""
    half = number(value)
    return "too few runs" if half is None else f"+/- {half:.1f} %"


Shape = tuple[int, int | None]
"""Columns and rows of a panel; no rows: whatever there are."""


def speed_tables(document: Document, *, columns: int) -> list[tuple[str, list[str], list[list[str]]]]:
    """Speeds in Gflop/s by kernel: its name, the header, and a row per PE; `*` marks what is not stable.

    Panels of several numbers of rows have a table of their own. Sizes beyond so many columns are left out evenly, the
    smallest and the largest stay.
    """
    kernels = document.get("kernels") or ()
    tables = []
    for kernel in dict.fromkeys(entry.get("name") for entry in kernels):
        entries = [entry for entry in kernels if entry.get("name") == kernel and entry.get("points")]
        shapes = {(point["n"], _rows(point)) for one in entries for point in one["points"] if number(point.get("n"))}
        several = {n for n, _ in shapes if len({rows for other, rows in shapes if other == n}) > 1}
        general: dict[int, Shape] = {n: (n, None) for n, _ in shapes if n not in several}
        tables += _speed_table(clean(kernel), entries, general, columns)
        for n in sorted(several):
            named: dict[int, Shape] = {rows: (n, rows) for other, rows in shapes if other == n}
            tables += _speed_table(f"{clean(kernel)} on rows of {n} columns", entries, named, columns, noun="rows")
    return tables


def _speed_table(
    title: str, entries: Sequence[Document], shapes: Mapping[int, Shape], columns: int, *, noun: str = "n"
) -> list[tuple[str, list[str], list[list[str]]]]:
    """The table of some shapes, by what heads their columns; none without any."""
    sizes = sorted(shapes)
    if not sizes:
        return []
    if len(sizes) > columns:
        sizes = [sizes[round(index * (len(sizes) - 1) / (columns - 1))] for index in range(columns)]
    rows = [[clean(entry.get("pe")), *(_speed_cell(entry, *shapes[size]) for size in sizes)] for entry in entries]
    return [(title, [f"{noun} = {sizes[0]}", *map(str, sizes[1:])], rows)]


def _rows(point: Document) -> int:
    """Rows of a point's panel; all n where it does not say."""
    rows = number(point.get("rows"))
    return int(point["n"] if rows is None else rows)


def _speed_cell(entry: Document, n: int, rows: int | None) -> str:
    found = (point for point in entry["points"] if point.get("n") == n and rows in (None, _rows(point)))
    point: Document = next(found, {})
    speed = number((point.get("speed") or {}).get("mid"))
    return NOTHING if speed is None else digits(speed / 1e9) + ("" if point.get("stable", True) else " *")
