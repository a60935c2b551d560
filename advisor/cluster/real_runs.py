"""Advice for a cluster put to the test: the advised configuration and the one of now really run across its hosts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from advisor.advise.recommendation import Recommendation
from advisor.cluster import AS_NOW, Answer, ClusterWish, node_name
from advisor.verification.applications import Beside, CommandRuns, ProgramRuns
from advisor.verification.check import Verified, VerifyPlan
from advisor.verification.check import verify as run_plan
from advisor.verification.interleaved import Verification
from advisor.verification.pieces import Tried, correct
from advisor.verification.places import Places, Seat
from simulator import ApportionError, Configuration, Scenario, files, run
from simulator.calibration import About, Budget, CommandRanks, FarRanks, Host, RealRun

LEAST_LIMIT_S = 45.0
"""Seconds that getting ready, or a run, may take at least until it is given up; else the budget of all runs."""
FEWEST, MOST = 3, 5
"""Short real pieces of the application."""
MOST_HOSTS = 64
"""Beyond them no pieces are run: joining the ranks would take minutes."""
SHORTEST_S = 0.3
"""Of a piece, where the application has iterations to leave out."""


@dataclass
class ClusterRuns:
    """An application across hosts: ranks of each configuration on the hosts of its PEs; see `RealApplication`."""

    scenario: Scenario
    hosts: Mapping[str, Host]
    """By node."""
    about: Mapping[str, About]
    command: tuple[str, ...]
    stack: ExitStack
    limit_s: float
    _runs: dict[tuple[int, ...], ProgramRuns | CommandRuns] = field(default_factory=dict)

    def prepare(self, configurations: Sequence[Configuration]) -> None:
        """Make ready for runs under each, and run each once, which is not counted."""
        for configuration in configurations:
            self._of(configuration).prepare([configuration])

    def run(self, configuration: Configuration, beside: Beside = nullcontext) -> RealRun:
        """Run it once."""
        return self._of(configuration).run(configuration, beside)

    def _of(self, configuration: Configuration) -> ProgramRuns | CommandRuns:
        """Ranks on the hosts that a configuration has them on; those of configurations alike in this are shared."""
        places = Places(self.scenario, tuple((pe.cpu or 0,) for pe in self.scenario.platform.pes))
        seats = places.seats(configuration)
        if self.command:
            seats = tuple(seat for seat in seats if seat.units)
        key = tuple(seat.pe for seat in seats)
        if key not in self._runs:
            self._runs[key] = self._started(places, seats)
        return self._runs[key]

    def _started(self, places: Places, seats: Sequence[Seat]) -> ProgramRuns | CommandRuns:
        pes = self.scenario.platform.pes
        hosts = [self.hosts[pes[seat.pe].node] for seat in seats]
        cpus = [seat.cpus[0] for seat in seats]
        if self.command:
            commands = self.stack.enter_context(CommandRanks(cpus, hosts))
            return CommandRuns(commands, self.command, places, self.limit_s)
        ranks = self.stack.enter_context(FarRanks(hosts, cpus, self.about))
        return ProgramRuns(ranks, self.scenario.application, places, self.limit_s)


@contextmanager
def cluster_runs(
    scenario: Scenario, about: Mapping[str, About], command: tuple[str, ...], hosts: Sequence[Host], *, budget_s: float
) -> Iterator[ClusterRuns]:
    """What runs the application on the hosts, with some seconds for all runs; it ends what it started."""
    by_node = {node_name(host.name): host for host in hosts}
    with ExitStack() as stack:
        yield ClusterRuns(scenario, by_node, about, command, stack, max(LEAST_LIMIT_S, budget_s))


@dataclass
class RealPieces:
    """Short pieces of the application run across the hosts, by which scenarios of it are corrected.

    A command of the user's is not run: its speeds are those of whole runs, and nothing is known of its messages.
    """

    wish: ClusterWish
    about: Mapping[str, About]
    hosts: Sequence[Host]
    folder: Path
    """Where `pieces.json` says what ran and what followed."""
    runs: dict[Configuration, tuple[RealRun, ...]] = field(default_factory=dict)
    iterations: int | None = None
    """Of a piece; None before the first, and where the application has none."""
    left_s: float = 0.0
    beside_s: float = 0.0
    """What a run took besides its makespan, on average: distributing, checking; 0 before the first."""

    def __post_init__(self) -> None:
        self.left_s = self.wish.pieces * self.wish.budget_s

    def correct(
        self, scenario: Scenario, believed: Scenario, configurations: Sequence[Configuration], share: float
    ) -> tuple[Scenario, list[str]]:
        """Run configurations in turns within a share of the time that is left, and correct the scenario by all runs.

        `scenario`: as measured: what is corrected.
        `believed`: as it is believed to be so far: it says how long pieces take.
        `configurations`: the first ones are run where there is no time for all.
        """
        if self.wish.command or len(self.about) > MOST_HOSTS:
            return scenario, []
        budget_s, lines = share * self.left_s, list[str]()
        piece = self._piece(believed, budget_s)
        wanted, turn_s = list[Configuration](), 0.0
        for one in configurations:
            each_s = self.beside_s + _predicted_s(piece, one)
            if (FEWEST + 1) * (turn_s + each_s) <= budget_s:  # warmed up, and run three times
                wanted.append(one)
                turn_s += each_s
        if wanted:
            try:
                self._run(piece, wanted, min(MOST, int(budget_s / turn_s) - 1), budget_s)
            except ApportionError as error:  # what was measured stands
                lines = [f"no short real pieces of the application checked the speeds: {error.lines[0]}"]
        if not self.runs:
            return scenario, lines
        tried = [Tried(one, runs) for one, runs in self.runs.items()]
        asked = replace(scenario, application=piece.application)
        corrected = correct(scenario, asked, tried)
        files.write_json(self.folder / "pieces.json", corrected.to_dict(tried))
        return corrected.scenario, [*lines, *corrected.lines]

    def _run(self, piece: Scenario, configurations: Sequence[Configuration], count: int, budget_s: float) -> None:
        done = list[RealRun]()
        with cluster_runs(piece, self.about, (), self.hosts, budget_s=self.left_s) as runs:
            runs.prepare(configurations)
            budget = Budget(budget_s)
            for _ in budget.passes(least=FEWEST, most=count, ahead=True):
                for one in configurations:
                    done.append(runs.run(one))
                    self.runs[one] = (*self.runs.get(one, ()), done[-1])
        self.left_s = max(0.0, self.left_s - budget.spent_s)
        self.beside_s = max(0.0, budget.spent_s - sum(one.makespan_s for one in done)) / len(done)

    def _piece(self, believed: Scenario, budget_s: float) -> Scenario:
        """The application with as few iterations as take long enough, where it has any; the same for all pieces."""
        parameters = believed.application.parameters
        if "iterations" not in parameters:
            return believed
        if self.iterations is None:
            whole, most = int(parameters["iterations"]), max(SHORTEST_S, budget_s / (MOST + 1))
            self.iterations = max(1, min(whole, int(whole * most / _predicted_s(believed, believed.configurations[0]))))
        application = replace(believed.application, parameters={**parameters, "iterations": self.iterations})
        return replace(believed, application=application)


def _predicted_s(scenario: Scenario, configuration: Configuration) -> float:
    asked = replace(scenario.with_configurations((configuration,)), replications=FEWEST)
    return float(np.median(run(asked).makespan_s[0]))


def verify_cluster(
    answer: Answer,
    wish: ClusterWish,
    hosts: Sequence[Host],
    *,
    budget_s: float,
    kept: Path | None,
    on_progress: Callable[[Verification, float], None],
) -> Verified:
    """Run the advised configuration and that of now across the hosts in turns, and compare with what was predicted."""
    made = answer.recommendation
    wanted = tuple(dict.fromkeys((made.configuration, configuration_now(made))))
    scenario = answer.scenario.with_configurations(wanted)
    plan = VerifyPlan(
        scenario, made.configuration.name, wish.command or None, budget_s, dict(made.strategies.also), wish.level
    )
    about = {host.name: host.about for host in answer.measured.hosts}
    with cluster_runs(answer.scenario, about, wish.command, hosts, budget_s=budget_s) as runs:
        return run_plan(plan, kept=kept, on_progress=on_progress, elsewhere=runs)


def configuration_now(made: Recommendation) -> Configuration:
    """One process per core with equal units, under the name that it has among the candidates."""
    name = made.strategies.also.get(AS_NOW, AS_NOW)
    return next(one for one in made.candidates if one.name == name)
