"""From what a scenario says of a graph under a template to a `SegWork`: every fault at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from simulator.base.errors import FormulaError, ScenarioError, meant
from simulator.base.formula import Formula, parse
from simulator.models.resource import METHODS, HardwareModel, Method
from simulator.programs.graphs.evaluate import check_costs, used_methods
from simulator.programs.graphs.nodes import Graph, Seg, check
from simulator.programs.templates import TEMPLATES
from simulator.programs.templates.template import EVERYWHERE, Template
from simulator.programs.templates.work import Asked, SegWork, Step

MOST_ITERATIONS = 1_000_000
MOST_UNITS = 2**53
RESERVED = (*EVERYWHERE, "units", "iteration", "partner", "round")
"""Names that templates give; parameters have others."""


def make_seg_work(seg: Seg, asked: Asked, resources: Sequence[HardwareModel]) -> SegWork:
    """Check a graph, a template and resource models against each other.

    Parameters
    ----------
    resources
        Those of the platform's PEs, the first PE's first.

    Raises
    ------
    ScenarioError
        With one line per fault, each beginning with its field.
    """
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
        maker.faults.append(f"grid_rows: {asked.grid_rows} found, none allowed with {asked.template}")
    method = maker.method(resources)
    if maker.faults or template is None or method is None:
        raise ScenarioError(maker.faults)
    given = {template.steps[0]: (seg.graphs[0].name, {}), **asked.steps}
    explicit = replace(asked, method=method, steps=given)
    return SegWork(
        seg, explicit, template, method, numbers, total, iterations, steps, messages, tuple(resources), footprint
    )


def with_parameters(work: SegWork, parameters: Mapping[str, float | str]) -> SegWork:
    """The same with other parameters.

    Raises
    ------
    ScenarioError
        As `make_seg_work`.
    """
    return make_seg_work(work.seg, replace(work.asked, parameters=parameters), work.resources)


@dataclass(frozen=True)
class _Maker:
    """What has been found wrong so far."""

    seg: Seg
    asked: Asked
    faults: list[str] = field(default_factory=list)

    def template(self) -> Template | None:
        if self.asked.template not in TEMPLATES:
            known = f"{', '.join(TEMPLATES)} allowed{meant(self.asked.template, TEMPLATES)}"
            self.faults.append(f"template: {self.asked.template!r} found, one of {known}")
        return TEMPLATES.get(self.asked.template)

    def parameters(self) -> dict[str, float]:
        numbers = {}
        for name, value in self.asked.parameters.items():
            if isinstance(value, str):
                self.faults.append(f"parameters: {name}: {value!r} found, a number allowed")
            elif name in RESERVED:
                self.faults.append(f"parameters: {name} found, names other than {', '.join(RESERVED)} allowed")
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
            self.faults.append(f"{where}: {shown} found, a whole number of 1 to {most} allowed")
            return 1
        return int(value)

    def steps(self, template: Template) -> dict[str, Step]:
        given = dict(self.asked.steps)
        for name in given:
            if name not in template.steps:
                allowed = f"{', '.join(template.steps)} of the template {template.name} allowed"
                allowed += meant(name, template.steps)
                self.faults.append(f"steps: {name}: unknown step found, {allowed}")
        main = template.steps[0]
        given.setdefault(main, (self.seg.graphs[0].name, {}))
        known = {graph.name: graph for graph in self.seg.graphs}
        found = {}
        for name in template.steps:
            if name not in given:
                continue
            graph, arguments = given[name]
            if graph not in known:
                allowed = f"one of {', '.join(known)} allowed{meant(graph, known)}"
                self.faults.append(f"steps: {name}: unknown graph {graph!r} found, {allowed}")
            else:
                found[name] = Step(graph, self._arguments(name, known[graph], arguments, template))
        return found

    def _arguments(self, step: str, graph: Graph, given: Mapping[str, str], template: Template) -> dict[str, Formula]:
        names = {*self.asked.parameters, *EVERYWHERE, *template.step_names}
        for name in given:
            if name not in graph.parameters:
                allowed = f"{', '.join(graph.parameters) or 'none'} of graph {graph.name} allowed"
                allowed += meant(name, graph.parameters)
                self.faults.append(f"steps: {step}: arguments: {name}: unknown parameter found, {allowed}")
        found = {}
        for name in graph.parameters:
            if name in given:
                found[name] = self.formula(f"steps: {step}: arguments: {name}", given[name], names)
            elif name in names:
                found[name] = parse(name)
            else:
                allowed = f"a parameter of the application, or an argument of step {step}, allowed"
                self.faults.append(f"parameters: {name} of graph {graph.name} missing, {allowed}")
        return found

    def messages(self, template: Template) -> dict[str, Formula]:
        for name in self.asked.messages:
            if name not in template.messages:
                allowed = f"{', '.join(template.messages)} of the template {template.name} allowed"
                allowed += meant(name, template.messages)
                self.faults.append(f"messages: {name}: unknown message found, {allowed}")
        found = {}
        for name, extra in template.messages.items():
            if name not in self.asked.messages:
                self.faults.append(f"messages: {name} missing, its bytes as a formula allowed, 0 for none")
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
            self.faults.append(f"resource_model: none found, one of {shown} allowed")
            return None
        for kind in resources:
            if method not in kind.methods:
                name = kind.name or "a PE"
                self.faults.append(
                    f"resource_model: {method} found, {', '.join(kind.methods)} of resource model {name} allowed"
                )
                continue
            found = check_costs(self.seg, kind.vector(method))
            self.faults.extend(f"graph: {line} (resource model {kind.name})" for line in found)
        return method
