"""A software execution graph under a parallel template as an application: what its processes compute and send.

Computations are costed on the PE that each process runs on, so a program depends on the placement. What meets there:
the volume of a computation is (seconds that the resource model of its PE says) x (that PE's speed at the process's
units), and that speed is units over the time that all steps of so many units take there. So engines get exactly the
seconds of the resource model, whatever the graph is, and the advisor gets a speed function over units.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Ints
from simulator.base.errors import FormulaError, ScenarioError, meant
from simulator.base.formula import Formula, parse
from simulator.models.resource import METHODS, HardwareModel, Method, Times
from simulator.models.speed import SpeedBand
from simulator.programs.applications.work import Team, Work
from simulator.programs.configuration import Configuration
from simulator.programs.graphs.nodes import Graph, Seg, check, check_costs, expected_time, used_methods
from simulator.programs.graphs.templates import EVERYWHERE, TEMPLATES, Template, repeated
from simulator.programs.program import Compute, Program

Values = Mapping[str, ArrayLike]

KNOTS = 96
"""Sizes of a speed function, evenly spaced in the logarithm of units; small ones all."""
SMALL = 8
FEW = 2
"""Processes that a speed function is made for."""
LEAST_S = 1e-12
"""Shortest time of all steps in a speed function: a tick."""
MOST_MESSAGES = 10_000
"""Messages of a process that choosing partitions looks at."""
MOST_ITERATIONS = 1_000_000
MOST_UNITS = 2**53
RESERVED = (*EVERYWHERE, "units", "iteration", "partner", "round")
"""Names that templates give; parameters have others."""


@dataclass(frozen=True)
class Step:
    """A template's step: a graph, and formulas for its parameters."""

    graph: str
    arguments: Mapping[str, Formula]


@dataclass(frozen=True)
class Asked:
    """What a scenario says, as texts."""

    template: str
    units: str
    parameters: Mapping[str, float | str]
    iterations: str = "1"
    steps: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    """Step of the template -> graph, and formulas for those of its parameters that are not called alike here."""
    messages: Mapping[str, str] = field(default_factory=dict)
    grid_rows: int = 1
    footprint: str | None = None
    method: Method | None = None
    """None: the one for which there are RUVs and costs."""


@dataclass(frozen=True)
class SegWork(Work):
    """A graph under a template, its units divided among the processes."""

    seg: Seg
    asked: Asked
    """What it was made of, with nothing left to defaults."""
    template: Template
    method: Method
    parameters: Mapping[str, float]
    total: int
    iterations: int
    steps: Mapping[str, Step]
    messages: Mapping[str, Formula]
    """Payload in bytes of each of the template's messages."""
    resources: tuple[HardwareModel, ...]
    """The unlike ones of the platform, the first PE's first."""
    footprint: Formula | None = None
    """Bytes that a process holds; None: nothing that is looked at."""

    @property
    def units(self) -> int:
        """Units that a partition divides."""
        return self.total

    @cached_property
    def _bands(self) -> dict[int, tuple[HardwareModel, SpeedBand]]:
        """Speed functions by the identity of their resource models, which are kept: identities of the dead return."""
        return {}

    @cached_property
    def _knots(self) -> Ints:
        """Units at which times are looked at; beyond small numbers, lines join them."""
        spaced = np.rint(np.geomspace(1, self.total, KNOTS)).astype(np.int64)
        return np.unique(np.concatenate((spaced, np.arange(1, min(SMALL, self.total) + 1))))

    @cached_property
    def varies_with_processes(self) -> bool:
        """Whether steps depend on how many processes take part, or their number does."""
        named = any("P" in formula.names for step in self.steps.values() for formula in step.arguments.values())
        return named or dict(self.template.computes(2)) != dict(self.template.computes(4))

    def rounds(self, processes: int) -> int:  # noqa: ARG002 - the same for any number
        """Iterations of the template."""
        return self.iterations

    @property
    def has_master(self) -> bool:
        """As the template has."""
        return self.template.has_master

    def compute(self, processes: int) -> Callable[[int], Compute]:
        """So many units; in a template whose steps vary with the processes, relative to the first PE's speeds."""
        if not self.varies_with_processes:
            return lambda units: Compute(float(units), max(1, units))
        sizes = self._knots
        own_s, few_s = (self._own_s(self.resources[0], sizes, count).s for count in (processes, FEW))
        factors = np.maximum(own_s, LEAST_S) / np.maximum(few_s, LEAST_S)
        return lambda units: Compute(units * float(np.interp(units, sizes, factors)), max(1, units))

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """The messages of all iterations, as they are in the first one."""
        if not units:
            return ()
        names = {"units": units, "partner": units, "round": 0, "iteration": 0, **self._everywhere(FEW)}
        found: list[int] = []
        for message, count in self.template.handles(FEW).items():
            payload = float(self.messages[message].evaluate(names))
            if self._is_sent(message):
                found += [round(payload)] * max(1, round(count))
        return tuple(found * self.iterations)[:MOST_MESSAGES]

    def band(self, resource: HardwareModel) -> SpeedBand:
        """Units per second over units on a PE, for two processes; a band where costs or amounts are ranges."""
        if id(resource) not in self._bands:
            sizes = self._knots
            times = self._own_s(resource, sizes, FEW)
            least = float(times.low_s[-1])
            if not least > 0:
                at_least = " at least" if times.is_range else ""
                found = f"{self.total} units take {least:g} s{at_least} on {resource.name or 'its PE'}"
                raise ScenarioError(f"resource_model: {self.method}: {found}; make it a time above 0")
            high, mid, low = (sizes / np.maximum(s, LEAST_S) for s in (times.low_s, times.s, times.high_s))
            ends = (low, mid, high) if times.is_range else (mid, mid, mid)
            self._bands[id(resource)] = resource, SpeedBand(sizes.astype(np.float64), *ends)
        return self._bands[id(resource)][1]

    def program(self, configuration: Configuration) -> Program:
        """The program as if all ran on PEs like the first one; see `program_on`."""
        return self.program_on(configuration, (self.resources[0],) * len(configuration.partition))

    def program_on(self, configuration: Configuration, resources: Sequence[HardwareModel]) -> Program:
        """The operations of all processes."""
        team = Team.of(configuration, total=self.total, noun="units", name="units")
        placed = Placed(self, team, tuple(resources))
        try:
            rows = self.template.rows(placed)
        except ScenarioError as error:
            raise ScenarioError([f"configuration {configuration.name}: {line}" for line in error.lines]) from None
        footprints = np.zeros(team.units.size)
        if self.footprint is not None:
            held = self.footprint.evaluate({"units": np.maximum(team.units, 1), **self._everywhere(team.size)})
            footprints = np.where([bool(row) for row in rows], np.maximum(np.rint(held), 0), 0)
        return Program(rows, tuple(footprints.astype(np.int64).tolist()))

    def warnings(self, processes: int) -> tuple[str, ...]:  # noqa: ARG002 - the same for any number
        """Those of the resource models, and what is not known of memory."""
        lines = [f"resource model {resource.name}: {line}" for resource in self.resources for line in resource.warnings]
        remembers = [resource.name for resource in self.resources if resource.vector(self.method).memory is not None]
        unsaid = [step.graph for step in self.steps.values() if self.seg.graph(step.graph).working_set is None]
        if remembers and unsaid:
            said = "working_set: not said, accesses take what they do in the nearest memory level"
            lines += [f"application: graph {name}: {said}" for name in dict.fromkeys(unsaid)]
        return tuple(dict.fromkeys(lines))

    def seconds(self, step: str, names: Values, resource: HardwareModel) -> Times:
        """Times of a step on a PE."""
        one = self.steps[step]
        values = {name: formula.evaluate(names) for name, formula in one.arguments.items()}
        try:
            found = expected_time(self.seg, values, resource.vector(self.method), graph=one.graph)
        except ScenarioError as error:
            raise ScenarioError([f"graph: {line}" for line in error.lines]) from None
        if np.any(found.low_s < 0):
            least = float(np.min(found.low_s))
            raise ScenarioError(f"graph {one.graph}: {self.method}: it takes {least:g} s; make it a time of at least 0")
        return found

    def _everywhere(self, processes: int) -> dict[str, float]:
        return {**self.parameters, "P": float(processes), "total": float(self.total)}

    def _is_sent(self, message: str) -> bool:
        formula = self.messages[message]
        return bool(formula.names) or float(formula.evaluate({})) != 0

    def _own_s(self, resource: HardwareModel, units: Ints, processes: int) -> Times:
        """Times of everything that one of so many processes with these units computes; (units,)."""
        names: dict[str, ArrayLike] = {"units": units, "partner": units, "round": 0, **self._everywhere(processes)}
        total = Times(*(np.zeros(units.size) for _ in range(3)))
        for step, count in self.template.computes(processes).items():
            if step not in self.steps:
                continue
            if self._repeats_unlike(step):
                each = self.seconds(step, names | {"iteration": repeated(self.iterations)}, resource)
                shape = (self.iterations, units.size)
                ends = (each.s, each.low_s, each.high_s)
                total += Times(*(np.broadcast_to(end, shape).sum(axis=0) for end in ends)).times(count)
            else:
                total += self.seconds(step, names, resource).times(count * self.iterations)
        return total

    def _repeats_unlike(self, step: str) -> bool:
        return any("iteration" in formula.names for formula in self.steps[step].arguments.values())


@dataclass(frozen=True)
class Placed:
    """The processes of a configuration on their PEs: what a template asks."""

    work: SegWork
    team: Team
    resources: tuple[HardwareModel, ...]

    @property
    def iterations(self) -> int:
        """How often the whole is done."""
        return self.work.iterations

    @property
    def grid_rows(self) -> int:
        """Rows of the grid of processes."""
        return self.work.asked.grid_rows

    def compute(self, step: str, **names: ArrayLike) -> tuple[Compute, ...]:
        """See `Stage.compute`; volumes as the module's first lines say."""
        if step not in self.work.steps:
            return ()
        size = np.maximum(self.team.units, 1)
        given = self._names(names)
        if self.work._repeats_unlike(step):  # noqa: SLF001 - the work's other half
            given["iteration"] = repeated(self.iterations)
        shape = np.broadcast_shapes(size.shape, *(np.shape(value) for value in given.values()))
        volume = np.zeros(shape)
        for resource, which in self._alike():
            seconds = self.work.seconds(step, given, resource).s * self.work.band(resource).speed(size)
            volume[..., which] = np.broadcast_to(seconds, shape)[..., which]
        return (Compute(volume, size),)

    def size_bytes(self, message: str, **names: ArrayLike) -> Ints:
        """See `Stage.size_bytes`."""
        formula, given = self.work.messages[message], self._names(names)
        if "iteration" in formula.names:
            given["iteration"] = repeated(self.iterations)
        shape = np.broadcast_shapes(self.team.units.shape, *(np.shape(given[name]) for name in formula.names))
        found = np.broadcast_to(formula.evaluate(given), shape)
        if np.any(found < 0) or np.any(found > 2.0**50):
            worst = float(found.min() if np.any(found < 0) else found.max())
            raise ScenarioError(f"messages: {message}: this makes {worst:g} bytes; make it 0 to 2**50")
        return np.rint(found).astype(np.int64)

    def sends(self, message: str) -> bool:
        """See `Stage.sends`."""
        return self.work._is_sent(message)  # noqa: SLF001 - the work's other half

    def _names(self, names: Values) -> dict[str, ArrayLike]:
        """What formulas may use; processes without units are taken as having one, which nobody looks at."""
        given: dict[str, ArrayLike] = {**self.work._everywhere(self.team.size), "units": self.team.units}  # noqa: SLF001
        given |= names
        return given | {name: np.maximum(given[name], 1) for name in ("units", "partner") if name in given}

    def _alike(self) -> list[tuple[HardwareModel, Ints]]:
        """Each unlike resource model, and its processes."""
        kinds = {id(resource): resource for resource in self.resources}
        ids = np.array([id(resource) for resource in self.resources])
        return [(resource, np.flatnonzero(ids == key)) for key, resource in kinds.items()]


def make_seg_work(seg: Seg, asked: Asked, resources: Sequence[HardwareModel]) -> SegWork:
    """Check a graph, a template and resource models against each other."""
    check(seg)
    maker = _Maker(seg, asked)
    template = maker.template()
    numbers = maker.parameters()
    total = maker.whole("units", asked.units, numbers, MOST_UNITS)
    iterations = maker.whole("iterations", asked.iterations, numbers, MOST_ITERATIONS)
    steps = maker.steps(template) if template else {}
    messages = maker.messages(template) if template else {}
    footprint = None
    if asked.footprint is not None:
        footprint = maker.formula("footprint", asked.footprint, {*numbers, *EVERYWHERE, "units"})
    if asked.grid_rows != 1 and asked.template != "row_column_broadcast":
        maker.faults.append(f"grid_rows: {asked.template} has no grid of processes; leave it out")
    method = maker.method(resources)
    if maker.faults or template is None or method is None:
        raise ScenarioError(maker.faults)
    given = {template.steps[0]: (seg.graphs[0].name, {}), **asked.steps}
    explicit = replace(asked, method=method, steps=given)
    return SegWork(
        seg, explicit, template, method, numbers, total, iterations, steps, messages, tuple(resources), footprint
    )


def with_parameters(work: SegWork, parameters: Mapping[str, float | str]) -> SegWork:
    """The same with other parameters."""
    return make_seg_work(work.seg, replace(work.asked, parameters=parameters), work.resources)


@dataclass(frozen=True)
class _Maker:
    """What has been found wrong so far."""

    seg: Seg
    asked: Asked
    faults: list[str] = field(default_factory=list)

    def template(self) -> Template | None:
        if self.asked.template not in TEMPLATES:
            known = f"{', '.join(TEMPLATES)}{meant(self.asked.template, TEMPLATES)}"
            self.faults.append(f"template: {self.asked.template!r} is unknown; take {known}")
        return TEMPLATES.get(self.asked.template)

    def parameters(self) -> dict[str, float]:
        numbers = {}
        for name, value in self.asked.parameters.items():
            if isinstance(value, str):
                self.faults.append(f"parameters: {name}: {value!r} is not a number; give one")
            elif name in RESERVED:
                self.faults.append(
                    f"parameters: {name} is a name that templates give; take one other than {', '.join(RESERVED)}"
                )
            numbers[name] = 1.0 if isinstance(value, str) else float(value)
        return numbers

    def formula(self, where: str, text: str, names: set[str]) -> Formula:
        try:
            return parse(text, names=names, place=where, constant=True)
        except FormulaError as error:
            self.faults.extend(error.lines)
            return parse("1", constant=True)

    def whole(self, where: str, text: str, numbers: Mapping[str, float], most: int) -> int:
        before = len(self.faults)
        formula = self.formula(where, text, set(numbers))
        if len(self.faults) > before:
            return 1
        try:
            value = float(formula.evaluate(numbers))
        except FormulaError as error:
            self.faults.extend(f"{where}: {line}" for line in error.lines)
            return 1
        if not (1 <= value <= most and value == int(value)):
            shown = text if text == f"{value:g}" else f"{text} = {value:.15g}"
            self.faults.append(f"{where}: it is {shown}; give a whole number of 1 to {most}")
            return 1
        return int(value)

    def steps(self, template: Template) -> dict[str, Step]:
        given = dict(self.asked.steps)
        for name in given:
            if name not in template.steps:
                close = f"take {', '.join(template.steps)}{meant(name, template.steps)}"
                self.faults.append(f"steps: {name}: the template {template.name} has no such step; {close}")
        main = template.steps[0]
        given.setdefault(main, (self.seg.graphs[0].name, {}))
        known = {graph.name: graph for graph in self.seg.graphs}
        found = {}
        for name in template.steps:
            if name not in given:
                continue
            graph, arguments = given[name]
            if graph not in known:
                close = f"take {', '.join(known)}{meant(graph, known)}"
                self.faults.append(f"steps: {name}: there is no graph {graph!r}; {close}")
            else:
                found[name] = Step(graph, self._arguments(name, known[graph], arguments, template))
        return found

    def _arguments(self, step: str, graph: Graph, given: Mapping[str, str], template: Template) -> dict[str, Formula]:
        names = {*self.asked.parameters, *EVERYWHERE, *template.step_names}
        for name in given:
            if name not in graph.parameters:
                known = f"it has {', '.join(graph.parameters) or 'none'}{meant(name, graph.parameters)}"
                self.faults.append(
                    f"steps: {step}: arguments: {name}: graph {graph.name} has no such parameter; {known}"
                )
        found = {}
        for name in graph.parameters:
            if name in given:
                found[name] = self.formula(f"steps: {step}: arguments: {name}", given[name], names)
            elif name in names:
                found[name] = parse(name)
            else:
                advice = f"give it as a parameter of the application, or as an argument of step {step}"
                self.faults.append(f"parameters: {name} of graph {graph.name} is missing; {advice}")
        return found

    def messages(self, template: Template) -> dict[str, Formula]:
        for name in self.asked.messages:
            if name not in template.messages:
                known = f"take {', '.join(template.messages)}{meant(name, template.messages)}"
                self.faults.append(f"messages: {name}: the template {template.name} has no such message; {known}")
        found = {}
        for name, extra in template.messages.items():
            if name not in self.asked.messages:
                self.faults.append(f"messages: {name} is missing; give its bytes as a formula, 0 for none")
                continue
            names = {*self.asked.parameters, *EVERYWHERE, *extra}
            found[name] = self.formula(f"messages: {name}", self.asked.messages[name], names)
        return found

    def method(self, resources: Sequence[HardwareModel]) -> Method | None:
        possible = [
            one for one in METHODS if one in used_methods(self.seg) and all(one in kind.methods for kind in resources)
        ]
        method = self.asked.method
        if method is None:
            if len(possible) == 1:
                return possible[0]
            shown = (
                ", ".join(possible) or f"none that graph ({', '.join(used_methods(self.seg)) or 'none'}) and PEs have"
            )
            self.faults.append(f"resource_model: it is missing; take {shown}")
            return None
        for kind in resources:
            if method not in kind.methods:
                name = kind.name or "a PE"
                self.faults.append(
                    f"resource_model: the resource model {name} has no {method}; take {', '.join(kind.methods)}"
                )
                continue
            found = check_costs(self.seg, kind.vector(method))
            self.faults.extend(f"graph: {line} (resource model {kind.name})" for line in found)
        return method
