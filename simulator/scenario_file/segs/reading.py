"""Reading software execution graphs: every fault at once, at its line and column."""

from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulator.base.document import Document, read_document
from simulator.base.errors import FormulaError, ScenarioError
from simulator.base.faults import validated
from simulator.base.formula import Formula, parse
from simulator.base.shipped import locate
from simulator.models.resource import Guess, Method, Ruvs
from simulator.programs.graphs.check import faults
from simulator.programs.graphs.evaluate import used_methods
from simulator.programs.graphs.nodes import Branch, Call, Graph, Loop, Node, Processing, Seg, Sequence
from simulator.programs.graphs.text import timing_formulas
from simulator.programs.graphs.walk import walk
from simulator.scenario_file.segs.forms import (
    BranchForm,
    CallForm,
    GraphForm,
    GuessForm,
    LoopForm,
    NodeForm,
    ProcessForm,
    RuvsForm,
    SegForm,
    SequenceForm,
)

Place = tuple[str | int, ...]
ELSE = "else"
"""The probability that the other arms leave."""


def load_seg(path: str | Path) -> Seg:
    """Read a software execution graph; scenarios/README.md says what a file may say.

    Raises
    ------
    ScenarioError
        With one line per fault, each naming file, line, column and field.
    """
    document = read_document(locate(path))
    return seg_of(validated(SegForm, document), document)


def describe_seg(path: str | Path) -> dict[str, Any]:
    """What is in the file of a graph: graphs, parameters, timing formulas, methods and the operations of each.

    Raises
    ------
    ScenarioError
        As `load_seg`.
    """
    seg = load_seg(path)
    formulas = timing_formulas(seg)
    methods = used_methods(seg)
    return {
        "graphs": [
            {"name": graph.name, "parameters": list(graph.parameters), "formula": formulas[graph.name]}
            for graph in seg.graphs
        ],
        "methods": list(methods),
        "operations": {method: _operations(seg, method) for method in methods},
    }


def seg_of(form: SegForm, document: Document, *, at: Place = ()) -> Seg:
    """The graph that a form means.

    Parameters
    ----------
    at
        Where in the document it stands.

    Raises
    ------
    ScenarioError
        With one line per fault, at its place.
    """
    maker = _Maker(document)
    seg = Seg(tuple(maker.graph(name, graph, (*at, "graphs", name)) for name, graph in form.graphs.items()))
    lines = list(maker.lines)
    for fault in faults(seg):
        place = (*at, *fault.place)
        if not any(failed[: len(place)] == place for failed in maker.failed):
            lines.append(f"{document.place(place)}: {fault.text}")
    if lines:
        raise ScenarioError(lines)
    return seg


def _operations(seg: Seg, method: Method) -> list[str]:
    nodes = [node for graph in seg.graphs for _, node, _ in walk(graph.body) if not isinstance(node, Sequence)]
    return list(dict.fromkeys(name for node in nodes for name in node.ruvs.get(method, {})))


@dataclass(frozen=True)
class _Maker:
    """Forms to nodes; what is wrong with formulas on the way."""

    document: Document
    lines: list[str] = field(default_factory=list)
    failed: list[Place] = field(default_factory=list)
    """Where texts are no formulas, or formulas are made of others: what is wrong there is told elsewhere."""

    def graph(self, name: str, form: GraphForm, here: Place) -> Graph:
        held = None if form.working_set is None else self._formula(form.working_set, (*here, "working_set"))
        return Graph(name, tuple(form.parameters), self._body(form.body, (*here, "body")), held)

    def _body(self, forms: Several[NodeForm], here: Place, *, name: str = "") -> Node:
        parts = tuple(self._node(form, (*here, number)) for number, form in enumerate(forms))
        return parts[0] if len(parts) == 1 and not name else Sequence(name, parts)

    def _node(self, form: NodeForm, here: Place) -> Node:
        if isinstance(form, ProcessForm):
            return Processing(form.process, _ruvs(form.ruv))
        if isinstance(form, LoopForm):
            count = self._formula(form.count, (*here, "count"))
            return Loop(form.loop, count, self._body(form.do, (*here, "do")), _ruvs(form.ruv))
        if isinstance(form, BranchForm):
            return Branch(form.branch, self._arms(form, here), _ruvs(form.ruv))
        if isinstance(form, SequenceForm):
            return self._body(form.do, (*here, "do"), name=form.sequence)
        if isinstance(form, CallForm):
            return self._call(form, here)
        raise AssertionError(form)  # the others are refused by the form

    def _call(self, form: CallForm, here: Place) -> Call:
        arguments = tuple(
            (name, self._formula(text, (*here, "arguments", name))) for name, text in form.arguments.items()
        )
        return Call(form.name, form.call, arguments, _ruvs(form.ruv))

    def _arms(self, form: BranchForm, here: Place) -> tuple[tuple[Formula, Node], ...]:
        texts = [arm.probability for arm in form.arms]
        rest = [number for number, text in enumerate(texts) if text == ELSE]
        self.failed.extend((*here, "arms", number, "probability") for number in rest)
        if len(rest) > 1:
            where = self.document.place((*here, "arms", rest[1], "probability"))
            self.lines.append(f"{where}: {ELSE!r} found a second time, one allowed")
        others = [self._formula(text, (*here, "arms", number, "probability")) for number, text in enumerate(texts)]
        if rest:
            taken = [formula.text if not formula.is_sum else f"({formula.text})" for formula in others]
            left = " - ".join(["1", *(text for number, text in enumerate(taken) if number not in rest)])
            others[rest[0]] = self._formula(left, (*here, "arms", rest[0], "probability"))
        return tuple(
            (others[number], self._body(arm.do, (*here, "arms", number, "do"))) for number, arm in enumerate(form.arms)
        )

    def _formula(self, text: str, here: Place) -> Formula:
        try:
            return parse(text, place=self.document.place(here), constant=True)
        except FormulaError as error:
            self.lines.extend(error.lines)
            self.failed.append(here)
            return parse("1", constant=True)


def _ruvs(form: RuvsForm) -> Ruvs:
    return {method: {name: _amount(value) for name, value in ruv.items()} for method, ruv in form.items()}


def _amount(form: float | GuessForm) -> float | Guess:
    if isinstance(form, GuessForm):
        return Guess((form.low + form.high) / 2 if form.likely is None else form.likely, form.low, form.high)
    return form
