"""A farm: units of work that processes pull in chunks, the next free one first (self-scheduling).

Each of `units` units has `volume` units of volume, or more and less of it by a profile and a distribution, and the
problem size `size`. A process pulls a chunk of units, computes them, and pulls again until nothing is left. A rule says
how many units a chunk has: always `chunk` (`ss`), or by what is left and by what chunks took (`scheduling/chunks.py`).

A pull takes `pull` whether or not anything is left; the pool, which stands with the first process, serves one request
at a time for `serve`, and sends `unit_bytes` with each unit. As they are by default, handing out costs nothing but the
pull's time, and requests do not wait for each other: of U units in chunks of c, ceil(U / c) + P pulls are made by P
processes, and there are no other messages. A process holds 8 bytes per element of a unit.

A partition does not decide who computes what: a process with units takes part, one without does not. Only under
`static` each process gets its part, all at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.base.arrays import Floats
from simulator.programs import program
from simulator.programs.applications.parameters import Counted, Parameters, choice, duration, positive, whole
from simulator.programs.applications.work import Team, Work
from simulator.programs.columns import DISTRIBUTIONS, RULES, SelfScheduling, UnitSpread
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program

WORD_BYTES = 8
TOLD = {
    "chunk": ("ss",),
    "least": ("gss", "fac", "fac2", "awf-b", "af"),
    "first": ("tss",),
    "last": ("tss",),
    "assumed_cv": ("fac",),
}
"""Rules that each of their parameters belongs to."""
NONE, PROFILES = "none", ("constant", "rising", "falling")
_NAMED = (
    f"what volumes are multiplied with, drawn in each run: `{NONE}`, {', '.join(f'`{one}`' for one in DISTRIBUTIONS)}"
)


@dataclass(frozen=True)
class Farm(Work):
    """Units that are pulled."""

    count: int
    volume: float
    """Of a unit, in the mean."""
    size: int
    chunk: int
    pull_s: float
    scheduling: SelfScheduling = field(default_factory=SelfScheduling)
    """The rule; under `static` without the parts, which a partition brings."""
    serve_s: float = 0.0
    """Seconds for which the pool serves a request."""
    unit_bytes: int = 0
    profile: str = "constant"
    """How volumes change from the first unit to the last: `constant`, `rising` or `falling`."""
    slope: float = 1.0
    """How far both ends are from the mean, in parts of it."""
    spread: UnitSpread | None = None
    """What volumes are multiplied with, drawn in each replication."""

    @property
    def units(self) -> int:
        """Units of work."""
        return self.count

    @property
    def draws(self) -> bool:
        """Whether units are drawn in each replication."""
        return self.spread is not None

    @property
    def volumes(self) -> Floats:
        """Of the units, before anything is drawn; (units,)."""
        if self.profile == "constant" or self.count == 1:
            return np.full(self.count, self.volume)
        along = 2 * np.arange(self.count) / (self.count - 1) - 1
        return np.asarray(self.volume * (1 + (self.slope if self.profile == "rising" else -self.slope) * along))

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many units."""
        return lambda units: Compute(units * self.volume, self.size)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """The data of its units, if they have any; pulls carry no payload."""
        return (units * self.unit_bytes,) if self.unit_bytes else ()

    def program(self, configuration: Configuration) -> Program:
        """One farm; a process without units takes no part."""
        told = self.scheduling
        if told.rule == "static":
            team = Team.of(configuration, total=self.count, noun="units", name="units")
            told = SelfScheduling("static", parts=tuple(team.units[team.members].tolist()))
        else:
            team = Team(np.array(configuration.partition, dtype=np.int64))
        pool = program.Farm(
            self.volumes,
            self.size,
            self.chunk,
            self.pull_s,
            team.group,
            told,
            self.serve_s,
            self.unit_bytes,
            self.spread,
        )
        return team.program((pool,), np.full(team.units.size, WORD_BYTES * self.size))


def _make(  # noqa: PLR0913 - the parameters of the application
    *,
    units: int,
    pull: float,
    serve: float,
    rule: str,
    least: int,
    first: int,
    last: int,
    assumed_cv: float,
    distribution: str,
    cv: float,
    **others: Any,
) -> Farm:
    told = SelfScheduling(rule, least, first, last, assumed_cv)
    spread = None if distribution == NONE else UnitSpread(distribution, cv)
    return Farm(units, pull_s=pull, serve_s=serve, scheduling=told, spread=spread, **others)


def _faults(parameters: Parameters) -> list[str]:
    """Parameters that do not belong to the rule, the distribution or the profile."""
    where, found = "application: parameters", list[str]()
    rule, distribution = str(parameters.get("rule", "ss")), str(parameters.get("distribution", NONE))
    own = [name for name, rules in TOLD.items() if rule in rules]
    for name, rules in TOLD.items():
        if name in parameters and rule not in rules:
            takes = f"which takes {', '.join(own)}" if own else "which takes none"
            whose = f"it belongs to rule {', '.join(rules)}, not to {rule}, {takes}"
            found.append(f"{where}: {name}: {whose}; leave it out")
    first, last = int(parameters.get("first", 0)), int(parameters.get("last", 1))
    if 0 < first < last:
        found.append(f"{where}: first: it is {first}, less than last; give at least {last}")
    cv = float(parameters.get("cv", 1.0))
    if "cv" in parameters and distribution not in ("gamma", "uniform", "lognormal"):
        found.append(f"{where}: cv: it belongs to distribution gamma, uniform or lognormal; leave it out")
    if distribution == "uniform" and 3 * cv * cv > 1:
        found.append(f"{where}: cv: it is {cv:g}; a uniform distribution above 0 has 0.577 at most")
    if float(parameters.get("slope", 1.0)) > 1:
        found.append(f"{where}: slope: it is {parameters['slope']}; give at most 1, where the least unit has no volume")
    if "slope" in parameters and parameters.get("profile", "constant") == "constant":
        found.append(f"{where}: slope: it belongs to profile rising or falling; leave it out")
    return found


APPLICATION = Counted(
    "farm",
    _make,
    {
        "units": whole(most=10**8, meaning="pieces of work"),
        "volume": positive(meaning="volume of a unit, in the mean"),
        "size": whole(most=10**16, meaning="elements of a unit"),
        "chunk": whole(1, meaning="units that are pulled at once, under rule `ss`"),
        "pull": duration(meaning="time of a pull, such as `10us`"),
        "rule": choice(RULES, "ss", f"how many units a pull gets: {', '.join(f'`{rule}`' for rule in RULES)}"),
        "least": whole(1, meaning="units of a chunk at least, under `gss`, `fac`, `fac2`, `awf-b` and `af`"),
        "first": whole(0, 0, meaning="units of the first chunk under `tss`; 0: half of equal parts"),
        "last": whole(1, meaning="units of the last chunk under `tss`"),
        "assumed_cv": positive(1.0, "deviation of a unit's time over its mean, as rule `fac` is told"),
        "serve": duration(meaning="time for which the pool serves one request and no other"),
        "unit_bytes": whole(0, 0, 2**50, meaning="data of a unit, which goes from the pool to the process"),
        "profile": choice(PROFILES, "constant", "volumes by the units' order: `constant`, `rising` or `falling`"),
        "slope": positive(1.0, "how far the first and last unit are from the mean, in parts of it; at most 1"),
        "distribution": choice((NONE, *DISTRIBUTIONS), NONE, _NAMED),
        "cv": positive(1.0, "deviation over mean of `gamma`, `uniform` and `lognormal`"),
    },
    _faults,
    chosen=("chunk", "pull", "rule", "least", "first", "last", "assumed_cv", "serve"),
)
