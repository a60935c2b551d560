"""The words of results: how numbers are written, and the sentences that page and terminal have in common."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from advisor.results import (
    Application,
    Compared,
    Described,
    Drawn,
    NodeKind,
    Stated,
    Strategy,
)
from simulator import Machine, blocks, patterns_of, units
from simulator import interval_line as line_of_intervals
from simulator.calibration import Coverage, Held
from simulator.programs.applications import NOUNS

clean = blocks.plain
NOTHING = "-"
"""What stands where there is no value."""
EQUAL = "the equal split"
BLOCK = "block", "ranks node by node"
RECORDED = "recorded"
"""The application that is a recorded program."""
LOOSE_GAP = 0.5
"""Distance from the bound beyond which it is the bound that is bad, as a rule."""
MOST_NAMED = 6
"""Kinds of nodes, or PEs, that a sentence can name one by one."""
MOST_REASONS = 2
"""Reasons that it has room for."""
LESS = 0.95
"""A kind of node gets less than by its speed where others get this much more."""
MOST_PES_LISTED = 4
"""PEs whose numbers of processes fit a column of a table."""
MANY = 100
"""Replications from which a share of all or none of them is written as a percentage."""
NEAR = 0.01
"""Of a percent, that a distance may be above whole ones and is still written as these."""
ALIKE = 0.005
"""Gains that are less are none."""


# Numbers


def duration(seconds: float | None) -> str:
    """Seconds as people read them, or a dash; see `simulator.units.show_duration`."""
    return NOTHING if seconds is None else units.show_duration(seconds)


def digits(value: float | None, count: int = 3) -> str:
    """A number with so many digits, closing zeros too, and none behind the point where it needs none."""
    if value is None:
        return NOTHING
    return f"{value:.0f}" if abs(value) >= 10 ** (count - 1) else f"{value:#.{count}g}"


def percent(share: float | None, decimals: int = 0) -> str:
    """A share of 1 in percent."""
    return NOTHING if share is None else f"{100 * share:.{decimals}f} %"


def signed_percent(percent: float | None) -> str:
    """Percent with their sign, as a page writes it."""
    return NOTHING if percent is None else f"{percent:+.1f} %".replace("-", "−")


def times(ratio: float | None) -> str:
    """A ratio with two decimals."""
    return NOTHING if ratio is None else f"{ratio:.2f}"


def with_interval(stated: Stated | None, unit: str = "s", *, signed: bool = False) -> str:
    """`mean` with its interval `low`, `high`: see `simulator.units.show_interval`."""
    ends = (None, None, None) if stated is None else (stated.mean, stated.low, stated.high)
    return units.show_interval(*ends, unit=unit, signed=signed)


def of_runs(stated: Described) -> str:
    """Where one run lies, `run_low` to `run_high`."""
    return units.show_range(stated.run_low, stated.run_high, unit="s")


def counted(count: int, noun: str) -> str:
    """`1 PE`, `2 PEs`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], *, most: int = MOST_NAMED) -> str:
    """`a`, `a and b`, `a, b and c`; of many the first and how many more."""
    shown = list(names) if len(names) <= most + 1 else [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# Chances and intervals


def level_text(level: float) -> str:
    """How often intervals hold, in percent: `90 %`."""
    return f"{100 * level:.4g} %"


def runs_text(drawn: Drawn) -> str:
    """What the interval of one run is called."""
    return f"{level_text(drawn.level)} of runs"


def interval_line(drawn: Drawn) -> str:
    """What intervals are, for the line under a table; nothing where there are none."""
    return line_of_intervals(
        drawn.replications, drawn.truths, level=drawn.level, deterministic=drawn.deterministic
    )  # fmt: skip


def interval_sentence(drawn: Drawn) -> str:
    """`interval_line` as a sentence."""
    line = interval_line(drawn)
    return f"{line}." if line else ""


def probability(share: float | None) -> str:
    """A probability estimated from some hundred replications, never certain."""
    if share is None:
        return NOTHING
    return "> 99 %" if share > 0.99 else "< 1 %" if share < 0.01 else percent(share)


def frequency(share: float | None, drawn: Drawn) -> str:
    """In how many replications something was so: a share of many, a count where all or none of a few were."""
    count = drawn.replications
    if share is None or drawn.deterministic or count >= MANY or share not in {0.0, 1.0}:
        return chance(share, drawn)
    return f"{share * count:.0f} of {count}"


def chance(share: float | None, drawn: Drawn) -> str:
    """A probability that something is so: near certain at most, unless nothing is drawn, which is then said."""
    if not drawn.deterministic or share not in {0.0, 1.0}:
        return probability(share)
    return "yes" if share else "no"


def replications_text(drawn: Drawn) -> str:
    """How many replications; and that nothing is drawn, where that is so."""
    said = counted(drawn.replications, "replication")
    return f"{said} (deterministic: nothing is drawn)" if drawn.deterministic else said


def drawn_text(drawn: Drawn) -> str:
    """Replications and seed."""
    return f"{counted(drawn.replications, 'replication')}, seed {drawn.seed}"


def rests_text(drawn: Drawn) -> str:
    """Replications and seed, or that nothing is drawn."""
    return "deterministic: nothing is drawn" if drawn.deterministic else drawn_text(drawn)


def loss_text(loss: float | None) -> str:
    """An expected loss in percent, with a digit that tells it from none."""
    if loss is None:
        return NOTHING
    return "0 %" if loss <= 0 else "< 0.1 %" if loss < 0.0005 else percent(loss, 1)


# Strategies and candidates


def tied_names(compared: Compared) -> list[str]:
    """The candidates that are as good as the best one, best first; none where one alone is."""
    return list(compared.ties) if len(compared.ties) > 1 else []


def tie_text(compared: Compared) -> str:
    """Who is as good as what is advised, and what it may lose; nothing where nobody is."""
    others = [name for name in tied_names(compared) if name != compared.recommended]
    if not others:
        return ""
    loss = next((one.expected_loss for one in compared.ranking if one.name == compared.recommended), None)
    lost = "" if loss is None else f", expected loss {loss_text(loss)}"
    verb = "is" if len(others) == 1 else "are"
    return f"{listed(others)} {verb} within 1 % of it: a tie; the simplest is advised{lost}."


def _tied_text(compared: Compared) -> str:
    """A tie as the end of the sentence that says the answer."""
    others = [name for name in tied_names(compared) if name != compared.recommended]
    return f", a tie with {listed(others, most=2)}" if others else ""


def unit_of(application: Application) -> str:
    """What a partition counts."""
    return NOUNS.get(application.name, "units")


def is_pulled(application: Application) -> bool:
    """Whether processes pull units as they come to need some, so that nobody is given any."""
    return application.name == "farm" and application.parameters.get("rule") != "static"


class Placed(Protocol):
    """What has units of processes, and their PEs."""

    @property
    def partition(self) -> Sequence[int]:
        """Of each process."""

    @property
    def placement(self) -> Sequence[int]:
        """The place of the PE of each process."""


def is_placed(application: Application) -> bool:
    """Whether processes are ranks of a recorded program, of which only the place is advised."""
    return application.name == RECORDED


def ranks_text(ranks: Sequence[int]) -> str:
    """Ranks in order, those that follow one another as a range: `0-3 and 7`."""
    parts: list[list[int]] = []
    for rank in sorted(ranks):
        if parts and parts[-1][-1] == rank - 1:
            parts[-1][1:] = [rank]
        else:
            parts.append([rank])
    return listed(["-".join(map(str, part)) for part in parts])


def ranks_on(compared: Compared, one: Placed) -> dict[str, list[int]]:
    """Ranks on each node, by its name; those of a PE where a node holds PEs of several kinds."""
    found: dict[str, list[int]] = {}
    for rank, name in enumerate(_where(compared, one)):
        found.setdefault(name, []).append(rank)
    return found


def _where(compared: Compared, one: Placed) -> list[str]:
    name_of = {
        pe: name for kind in compared.kinds for name, pes in zip(kind.names, kind.pes, strict=True) for pe in pes
    }
    return [name_of.get(pe, compared.pes[pe]) for pe in one.placement]


def divided_text(compared: Compared, one: Placed, *, most: int = 4) -> str:
    """Who gets what in short: of ranks how many are where; else see `partition_text`."""
    if not is_placed(compared.application):
        return partition_text(one.partition, most=most, pulled=is_pulled(compared.application))
    on = ranks_on(compared, one)
    if len(on) <= most:
        return ", ".join(f"{len(ranks)} on {name}" for name, ranks in on.items())
    return f"{len(one.placement)} on {len(on)} nodes"


def _placed_answer(compared: Compared, best: Strategy, *, stated: bool) -> str:
    """The answer where only the place of each rank is advised."""
    on = ranks_on(compared, best)
    used = [name for pe, name in sorted(zip(best.placement, _where(compared, best), strict=True))]
    free = [name for kind in compared.kinds for name in kind.names if name not in on]
    if len(on) <= MOST_NAMED:
        who = listed([f"{ranks_text(ranks)} on {name}" for name, ranks in on.items()], most=MOST_NAMED)
        who = f"rank{'s' if len(best.placement) > 1 else ''} {who}"
    else:
        nodes = listed(patterns_of(list(dict.fromkeys(used))))
        who = f"the {len(best.placement)} ranks on {nodes} as the rank files say"
    who += f", none on {listed(patterns_of(free))}" if free else ""
    reference, named = reference_of(compared)
    rest = _rest_text(compared, ())
    if reference is not None and best.name in reference.names:
        nothing = "no other placement that was compared is predicted to be faster"
        begin = "Stay as you are, with" if reference.name == "as-now" else "Put"
        return f"{begin} {who}: {nothing}{_tied_text(compared)}.{rest}"
    if is_slower(compared):
        return f"Keep {named}: a real run with {who} was only {times(compared.measured_gain)} times as fast."
    return f"Put {who}: {_gain_text(compared, stated=stated)}.{rest}"


def partition_text(partition: Sequence[int], *, most: int = 4, pulled: bool = False) -> str:
    """A partition in short: every part, or how many and how large; where units are pulled, how many pull."""
    if not partition:
        return NOTHING
    if pulled:
        return f"pulled by {sum(part > 0 for part in partition)}"
    if len(partition) <= most:
        return " + ".join(str(part) for part in partition)
    low, high = min(partition), max(partition)
    return f"{len(partition)} parts of {low}" if low == high else f"{len(partition)} parts, {low} to {high}"


def reference_of(compared: Compared) -> tuple[Strategy | None, str]:
    """The strategy that gains are counted from, and what it is called in a sentence."""
    one = compared.named(compared.reference or "equal")
    if one is None:
        return None, EQUAL
    if one.name == "as-now":
        return one, "it runs now"
    for name, called in (("equal", EQUAL), ("one-per-core", "one process per core with equal units"), BLOCK):
        if (known := compared.named(name)) is not None and one.names & known.names:
            return one, called
    return one, one.name  # where memory holds neither


def answer(compared: Compared, *, stated: bool = False) -> str:
    """The answer in a sentence or two: who gets how much, what it gains, whether that was measured, what is left.

    `stated`: whether speeds were stated, which the sentence then says.
    """
    best = compared.best
    unit = unit_of(compared.application)
    if len(best.partition) == 1 and len(compared.pes) == 1:
        return f"There is one PE only, so it does all {best.partition[0]} {unit}: nothing to apportion."
    if is_pulled(compared.application):
        return _pulled_answer(compared, best, stated=stated)
    if is_placed(compared.application):
        return _placed_answer(compared, best, stated=stated)
    grid = f" in a grid of {best.grid[0]} x {best.grid[1]} processes" if best.grid else ""
    given = _given(compared, best)
    who, stay = (f"{_who_gets_what(given, unit, to)}{grid}" for to in ("to", "on"))
    rest = _rest_text(compared, given)
    reference, named = reference_of(compared)
    if reference is not None and best.name in reference.names:
        if reference.name == "as-now":
            nothing = "there is nothing to gain by anything that was compared"
            return f"Stay as you are, with {stay}: {nothing}{_tied_text(compared)}.{rest}"
        what, tied = "an equal split" if named == EQUAL else named, _tied_text(compared)
        by = " from stated speeds" if stated else ""
        return f"Give {who}, {what}: no other partition is predicted{by} to be faster{tied}.{rest}"
    slower = f"Keep {named}: a real run with {stay} was only {times(compared.measured_gain)} times as fast."
    return slower if is_slower(compared) else f"Give {who}: {_gain_text(compared, stated=stated)}.{rest}"


def _pulled_answer(compared: Compared, best: Strategy, *, stated: bool) -> str:
    """The answer where only who takes part is advised."""
    given = [one for one in _given(compared, best) if one.processes]
    who = f"Let {listed([f'{one.whom}{one.named}' for one in given])} pull {unit_of(compared.application)}"
    reference, named = reference_of(compared)
    if reference is not None and best.name in reference.names:
        by = " from stated speeds" if stated else ""
        said = f"no other choice of PEs is predicted{by} to be faster{_tied_text(compared)}"
    elif is_slower(compared):
        said = f"a real run was only {times(compared.measured_gain)} times as fast as {named}"
    else:
        said = _gain_text(compared, stated=stated)
    return f"{who}: {said}.{_rest_text(compared, ())}"


def _rest_text(compared: Compared, given: Sequence["_Given"]) -> str:
    """How far that is the best, by those compared and by the bound, and why some get less."""
    tied, why = tied_names(compared), _why_text(given)
    parts = []
    if compared.ranking and compared.measured_gain is None and (count := len(strategies(compared))) > 1:
        parts = [f"The simplest of the {len(tied)} best of {count}" if tied else f"Best of the {count} compared"]
        if compared.regret is not None and compared.regret <= LOOSE_GAP:
            parts.append(f"at most {max(1, math.ceil(100 * compared.regret - NEAR))} % above what is possible")
    said = "; ".join(filter(None, (", ".join(parts), why)))
    return f" {said}." if said else ""


def is_slower(compared: Compared) -> bool:
    """Whether real runs showed what was advised to be slower than what it is compared with."""
    return compared.measured_gain is not None and compared.measured_gain < 1 - ALIKE


def units_by_pe(placement: Sequence[int], partition: Sequence[int]) -> dict[int, list[int]]:
    """What each process of a PE gets, by the place of the PE."""
    found: dict[int, list[int]] = {}
    for pe, part in zip(placement, partition, strict=True):
        found.setdefault(pe, []).append(part)
    return found


@dataclass
class _Given:
    """Nodes or PEs that get alike."""

    processes: int
    """Of each, those with units."""
    cores: int
    """Of each; 0 where the processes are those of all together."""
    low: int
    high: int
    """Units of a process."""
    why: str
    """Why they get less than by their speed; empty where they do not, or nothing says it."""
    names: list[str]

    @property
    def units(self) -> str:
        """Of each process."""
        return (
            "none" if not self.processes else f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"
        )

    @property
    def whom(self) -> str:
        """What each of them is, before their names."""
        if not self.cores:
            return f"each of {self.processes} processes on "
        each = "each of " if len(self.names) > 1 else ""
        if not self.processes or self.processes == self.cores == 1:
            return each if self.processes else ""
        if self.processes == self.cores:
            return "each core of "
        return f"each of {self.processes} processes on {each}" if self.processes > 1 else f"one process on {each}"

    @property
    def named(self) -> str:
        """Their names, in ranges."""
        return listed(patterns_of(self.names))


def _given(compared: Compared, one: Strategy) -> list[_Given]:
    """Who gets how much, by kind of node and number of processes; without kinds, by PE."""
    parts = units_by_pe(one.placement, one.partition)
    alone = [NodeKind((compared.pes[pe],), ((pe,),), 1, 1.0, 1.0, "") for pe in sorted(parts)]
    kinds, groups = compared.kinds or alone, dict[tuple[int, int], dict[str, list[int]]]()
    for number, kind in enumerate(kinds):
        for name, pes in zip(kind.names, kind.pes, strict=True):
            own = [units for pe in pes for units in parts.get(pe, ()) if units]
            groups.setdefault((number, len(own)), {})[name] = own
    each = {key: sum(map(sum, some.values())) / len(some) / kinds[key[0]].cores for key, some in groups.items()}
    most = max(value / kinds[number].speed for (number, _), value in each.items())
    slowest = min(kinds[number].speed for number, count in groups if count)
    even = max(one.partition) - min(part for part in one.partition if part) <= 1
    found: dict[tuple[object, ...], _Given] = {}
    for (number, count), some in groups.items():
        kind, units = kinds[number], [part for own in some.values() for part in own] or [0]
        less = each[number, count] / kind.speed < LESS * most and not (even and count == kind.cores)
        why = kind.why if less and (count or slowest * LESS <= kind.speed) else ""
        known = _Given(count, kind.cores, min(units), max(units), why, [])
        key = (count, kind.cores, known.low, known.high, why) if count else (0, why)
        found.setdefault(key, known).names.extend(some)
    return sorted(found.values(), key=lambda one: not one.processes)


def _who_gets_what(given: Sequence[_Given], unit: str, to: str) -> str:
    busy, idle = [one for one in given if one.processes], [one for one in given if not one.processes]
    if len(given) > MOST_NAMED:
        names = [name for one in busy for name in one.names]
        whole = all(one.processes == one.cores for one in busy)
        processes = busy[0].cores if whole else sum(one.processes * len(one.names) for one in busy)
        cores = max(one.cores for one in busy) if whole else 0
        busy = [
            _Given(cores or processes, cores, min(one.low for one in busy), max(one.high for one in busy), "", names)
        ]
    said: list[str] = []
    before = ""
    for one in [*busy, *idle]:
        amount = f"{one.units} {unit}" if not said else one.units
        same = one.whom == before == "each core of "
        said.append(f"{amount} of {one.named}" if same else f"{amount} {to} {one.whom}{one.named}")
        before = one.whom
    return listed(said, most=len(said))


def _why_text(given: Sequence[_Given]) -> str:
    """Why some get less than by their speed, or none; of many the first ones."""
    found = dict.fromkeys((one.why, bool(one.processes)) for one in given if one.why)
    said = []
    for why, some in list(found)[:MOST_REASONS]:
        names = [name for one in given if (one.why, bool(one.processes)) == (why, some) for name in one.names]
        verb, who = ("gets", "it is") if len(names) == 1 else ("get", "they are")
        said.append(f"{listed(patterns_of(names))} {verb} {'less' if some else 'none'} since {who} {why}")
    return ", ".join(said)


def strategies(compared: Compared) -> list[tuple[str, Strategy]]:
    """The entries of a table of strategies, each once, under all its names."""
    return [
        (", ".join([one.name, *(other.name for other in compared.baselines if other.same_as == one.name)]), one)
        for one in compared.baselines
        if not one.same_as
    ]


def judged(compared: Compared, one: Strategy) -> Stated:
    """The objective of a strategy."""
    return one.predicted if one.objective is None or compared.objective in {"", "mean"} else one.objective


def better_text(objective: str) -> str:
    """What a strategy is that has less of the objective."""
    return {"cost": "cheaper", "energy": "thriftier"}.get(objective, "faster")


def objective_text(objective: str) -> str:
    """What is compared of each strategy."""
    return {"cost": "cost of a run", "energy": "energy of a run"}.get(objective, "makespan")


def objective_unit(objective: str) -> str:
    """The unit of the objective, as `with_interval` takes it."""
    return {"cost": "", "energy": "J"}.get(objective, "s")


def confirmed_text(compared: Compared) -> str:
    """How much was simulated, and what the reference engine says; nothing where that is not known."""
    if compared.evaluations is None:
        return ""
    said, entries = f"{compared.evaluations} simulated in all", compared.confirmed
    if not entries:
        return said
    names = " and ".join(one.configuration for one in entries)
    if all(one.screened_by == "process" for one in entries):
        return f"{said}, by the SimPy engine"
    agrees = all(one.agrees for one in entries)
    return f"{said}; the SimPy engine {'gives the same' if agrees else 'DISAGREES'} for {names}"


def _gain_text(compared: Compared, *, stated: bool) -> str:
    measured, most = compared.measured_gain, compared.largest_gain
    reference, named = reference_of(compared)
    if measured is not None:
        limit = "" if most is None else f"; {times(most)} is the most possible"
        how = f"{times(measured)} times faster than" if measured >= 1.005 else "as fast as"
        return f"{how} {named} (measured{limit})"
    if reference is None or reference.gain.mean is None:
        return f"predicted to be the fastest{_tied_text(compared)}"
    unchecked = f"{_tied_text(compared)} (predicted{' from stated speeds' if stated else ''}; not really run)"
    gain = reference.gain
    before, after = (sum(part > 0 for part in one.partition) for one in (reference, compared.best))
    if abs(reference.gain.mean - 1) < ALIKE and before > after:
        less = f"{before - after} {'process' if before - after == 1 else 'processes'} less"
        return f"as fast as {named}, with {less}{unchecked}"
    unsure = "" if gain.low is None or gain.low > 1 or compared.drawn.deterministic else ", so perhaps not at all"
    how = f"{with_interval(gain, '')} times {better_text(compared.objective)} than {named}{unsure}"
    return f"{how}{unchecked}"


def time_line(compared: Compared) -> str:
    """What is judged as it is now and as advised, both predicted, with their intervals."""
    best, (reference, _) = compared.best, reference_of(compared)
    unit = objective_unit(compared.objective)
    advised = f"advised {with_interval(judged(compared, best), unit)}"
    if reference is None or best.name in reference.names:
        return f"{advised}; predicted"
    now = f"{reference.name.replace('-', ' ')} {with_interval(judged(compared, reference), unit)}"
    return f"{now}, {advised}; predicted"


# What was asked, and where


def asked(application: Application) -> str:
    """What was asked about, in a few words."""
    parts = [application.name]
    parts += [
        f"{name} = {value:g}" if value % 1 else f"{name} = {value:.0f}"
        for name, value in application.parameters.items()
        if isinstance(value, int | float)
    ]
    parts += [f"kernel {application.kernel}"] if application.kernel else []
    if application.resource_model:
        parts.append(f"resource model {application.resource_model}, template {application.template}")
    return ", ".join(parts)


def machine_line(machine: Machine | None) -> str:
    """The machine in one line."""
    if machine is None:
        return "not known"
    caches = [f"L{one.level} {units.show_size(one.size_bytes)}" for one in machine.caches if one.kind != "instruction"]
    parts = [
        f"{machine.host or 'this machine'}: {machine.cpu_model or 'unknown processor'}",
        counted(machine.pe_count, "PE"),
        *caches,
        f"{units.show_size(machine.memory_bytes)} memory",
    ]
    return ", ".join([*parts, *(f"load {load:.2f}" for load in machine.load_average[:1])])


def processes(on_each: Sequence[int]) -> str:
    """Processes on each PE, `2+1`; of more than a few PEs all together."""
    return "+".join(map(str, on_each)) if len(on_each) <= MOST_PES_LISTED else str(sum(on_each))


def took_text(spent: Mapping[str, float]) -> str:
    """Where the time of the run went."""
    parts = ", ".join(f"{stage} {duration(value)}" for stage, value in spent.items() if stage != "total")
    return f"{duration(spent['total'])} ({parts})" if "total" in spent else parts


# How often intervals held


HELD_NOTE = (
    "An interval of the mean is widened by the sampling error of the measured median before it is judged. Shares have "
    "their 95 % interval (Clopper and Pearson), as if cases were independent; those of one sitting have their truth in "
    "common, so they tell less."
)


def held_lines(coverage: Coverage, level: float) -> list[str]:
    """How often stated intervals held: of the mean, and of one run; nothing where none was stated."""
    lines = []
    if coverage.held is not None:
        stated = (coverage.median_half_width_percent, coverage.median_error_percent)
        width, error = (percent((share or 0.0) / 100, 1) for share in stated)
        held = f"{level_text(level)} intervals of the mean held {held_text(coverage.held)}"
        lines.append(f"{held}; half-width {width}, error {error} (medians)")
    if coverage.runs is not None:
        lines.append(f"{level_text(level)} intervals of one run held single runs: {held_text(coverage.runs)}")
    return lines


def held_text(found: Held) -> str:
    """`9 of 12 (43 to 95 %)`."""
    return f"{found.held} of {found.of} ({100 * found.low:.0f} to {percent(found.high)})"


# Verdicts on models: whether one is usable, for what, how well known it is, and what to do if it is not.


@dataclass(frozen=True)
class Known:
    """What a kind of model says, from which error on it is of little use, and what makes it better."""

    what: str
    purpose: str
    good: float
    """Relative error up to which it is used as it is."""
    bad: float
    """Relative error beyond which its answers are guesses."""
    remedy: str = "measure again with nothing else running and a larger --budget"


SPEEDS = Known("speeds", "advise, simulate and verify", 0.10, 0.30)
MESSAGES = Known("message times", "links of scenarios", 0.10, 0.30)
WORDS = Known(
    "times of words",
    "levels of nodes and what-ifs of caches",
    0.15,
    0.40,
    "measure again with nothing else running, a larger --budget or --max-memory",
)
TOGETHER = Known("times next to others", "domains of nodes", 0.05, 0.20)


def reach_text(low: float, high: float, unit: str, beyond: float | None) -> str:
    """Half a sentence on where an error holds, and what it is, relative, at twice the largest size if that is known."""
    further = "nothing says how well beyond"
    if beyond is not None:
        further = f"at twice the largest to {100 * beyond:.2g} % unless something new begins there"
    return f" from {low:.3g} to {high:.3g} {unit}, {further}"


def verdict(known: Known, error: float | None, *, by: str, lacking: str = "", reach: str = "") -> str:
    """One sentence: usable, with care or not, for what, how well known, and what to do.

    `error`: relative; None where nothing states one.
    `by`: what the error is: `doubt`, or `on points left out`.
    `lacking`: what holds it back whatever the error, as half a sentence.
    `reach`: where the error holds, see `reach_text`.
    """
    more = f"; {lacking}" if lacking else ""
    if error is None:
        said = f"usable with care for {known.purpose}: nothing says how well {known.what} are known"
        return f"verdict: {said}{more}; real runs measured here would"
    shown = f"{known.what} are known to {100 * error:.2g} % ({by}){reach}"
    if error > known.bad:
        return f"verdict: not usable: {shown}; {known.remedy}"
    if error > known.good or lacking:
        return (
            f"verdict: usable with care for {known.purpose}: {shown}{'; ' + lacking if lacking else ''}; {known.remedy}"
        )
    return f"verdict: usable for {known.purpose}: {shown}"
