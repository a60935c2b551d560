"""Software execution graphs in files: YAML, JSON or TOML -> checked form -> Seg, and back to YAML."""

from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PlainValidator, Tag, model_validator
from pydantic_core import PydanticCustomError

from simulator.base.documents import Data
from simulator.base.errors import FormulaError, ScenarioError
from simulator.base.faults import validated
from simulator.base.form import Form, Name, number_or_text
from simulator.base.formula import Formula, parse
from simulator.base.shipped import locate
from simulator.base.yaml_document import Document, read_document, yaml_text
from simulator.models.resource import Amount, Guess, Method, Ruvs
from simulator.programs.graphs.nodes import (
    Branch,
    Call,
    Graph,
    Loop,
    Node,
    Processing,
    Seg,
    Sequence,
    faults,
    parts_of,
    timing_formulas,
    used_methods,
    walk,
)
from simulator.programs.graphs.work import SegWork

_KINDS = ("process", "loop", "branch", "sequence", "call")
Place = tuple[str | int, ...]
ELSE = "else"
"""The probability that the other arms leave."""


def _formula_text(value: Any) -> str:
    try:
        found = number_or_text(value)
    except ValueError:
        raise PydanticCustomError("sentence", "is neither a number nor a formula; give one of them") from None
    return found if isinstance(found, str) else repr(found)


Expression = Annotated[str, PlainValidator(_formula_text, json_schema_input_type=float | str)]
"""A formula of the graph's parameters, or a number."""


class GuessForm(Form):
    """An amount that is guessed."""

    low: Annotated[float, Field(ge=0)]
    """The least it can be."""
    high: Annotated[float, Field(ge=0)]
    """The most it can be."""
    likely: Annotated[float, Field(ge=0)] | None = None
    """The likely value; the middle if not said."""


AmountForm = Annotated[
    Annotated[Annotated[float, Field(ge=0)], Tag("<number>")] | Annotated[GuessForm, Tag("<guess>")],
    Discriminator(lambda value: "<guess>" if isinstance(value, dict) else "<number>"),
]
RuvsForm = dict[Method, dict[str, AmountForm]]
"""What one execution uses, by method."""


class ProcessForm(Form):
    """A step without loops and branches."""

    process: Name
    """Its name."""
    ruv: RuvsForm = Field(default={})
    """By method and operation: how often one execution uses it, a number or `{low, high, [likely]}`."""


class LoopForm(Form):
    """What is done `count` times; the RUV is that of an iteration's own bookkeeping."""

    loop: Name
    """Its name."""
    count: Expression
    """How often: a number or a formula of the graph's parameters."""
    ruv: RuvsForm = Field(default={})
    """By method and operation: how often one execution uses it, a number or `{low, high, [likely]}`."""
    do: "Body"
    """What is done, in order."""


class ArmForm(Form):
    """What is done with a probability; `else` is what the others leave."""

    probability: Expression
    """A number or a formula of the graph's parameters; or `else`: what the others leave."""
    do: "Body"
    """What is done, in order."""


class BranchForm(Form):
    """One of several arms; the RUV is that of the test."""

    branch: Name
    """Its name."""
    ruv: RuvsForm = Field(default={})
    """By method and operation: how often one execution uses it, a number or `{low, high, [likely]}`."""
    arms: list[ArmForm] = Field(min_length=1)
    """One of these is taken."""


class SequenceForm(Form):
    """Parts with a name of their own, one after the other."""

    sequence: Name
    """Its name."""
    do: "Body"
    """What is done, in order."""


class CallForm(Form):
    """Another graph, with arguments in place of its parameters; the RUV is that of the call itself."""

    call: Name
    """The graph that is called; no recursion."""
    name: Name = "call"
    """What the call is called."""
    arguments: dict[str, Expression] = Field(default={})
    """Formulas for all of its parameters."""
    ruv: RuvsForm = Field(default={})
    """By method and operation: how often one execution uses it, a number or `{low, high, [likely]}`."""


class OtherForm(Form):
    """What is no node."""

    @model_validator(mode="before")
    @classmethod
    def _refused(cls, data: Any) -> Any:
        found = " and ".join(map(str, data)) or "nothing" if isinstance(data, dict) else repr(data)
        raise PydanticCustomError("whole_sentence", f"a node with {found} is unknown; write one of {', '.join(_KINDS)}")


def _kind(value: Any) -> str:
    found = [kind for kind in _KINDS if isinstance(value, dict) and kind in value]
    return f"<{found[0]}>" if len(found) == 1 else "<other>"


NodeForm = Annotated[
    Annotated[ProcessForm, Tag("<process>")]
    | Annotated[LoopForm, Tag("<loop>")]
    | Annotated[BranchForm, Tag("<branch>")]
    | Annotated[SequenceForm, Tag("<sequence>")]
    | Annotated[CallForm, Tag("<call>")]
    | Annotated[OtherForm, Tag("<other>")],
    Discriminator(_kind),
]
Body = list[NodeForm]


class GraphForm(Form):
    """A graph."""

    parameters: list[Name] = Field(default=[])
    """The names that its formulas use."""
    working_set: Expression | None = None
    """Bytes that its accesses go through, as a formula; the nearest memory level if not said."""
    body: Body
    """What is done, in order."""


class SegForm(Form):
    """Graphs that may call each other; the first is where execution begins."""

    format: Literal[1]
    """Always `1`."""
    kind: Literal["seg"]
    """Always `seg`."""
    graphs: dict[Name, GraphForm] = Field(min_length=1)
    """By name; the first one is where execution begins."""


for _form in (LoopForm, ArmForm, BranchForm, SequenceForm, GraphForm, SegForm):
    _form.model_rebuild()


def load_seg(path: str | Path) -> Seg:
    """Read a software execution graph; scenarios/README.md says what a file may say.

    Raises ScenarioError with one line per fault, each naming file, line, column and field.
    """
    document = read_document(locate(path))
    return seg_of(validated(SegForm, document), document)


def describe_seg(path: str | Path) -> Data:
    """What is in the file of a graph: graphs, parameters, timing formulas, methods and the operations of each.

    Raises ScenarioError as `load_seg`.
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
    """The graph that a form means."""
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
    """Where texts are no formulas, or formulas are made of others: what is wrong there is said elsewhere."""

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
            at = (*here, "arguments")
            arguments = tuple((name, self._formula(text, (*at, name))) for name, text in form.arguments.items())
            return Call(form.name, form.call, arguments, _ruvs(form.ruv))
        raise AssertionError(form)  # the others are refused by the form

    def _arms(self, form: BranchForm, here: Place) -> tuple[tuple[Formula, Node], ...]:
        texts = [arm.probability for arm in form.arms]
        rest = [number for number, text in enumerate(texts) if text == ELSE]
        self.failed.extend((*here, "arms", number, "probability") for number in rest)
        if len(rest) > 1:
            where = self.document.place((*here, "arms", rest[1], "probability"))
            self.lines.append(f"{where}: {ELSE!r} comes a second time; leave one")
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


def dump_seg(seg: Seg) -> str:
    """A graph as YAML text."""
    return yaml_text(seg_data(seg))


def seg_data(seg: Seg) -> Data:
    """A graph as a file says it."""
    return {"format": 1, "kind": "seg", "graphs": {graph.name: _graph(graph) for graph in seg.graphs}}


def _graph(graph: Graph) -> Data:
    held = {} if graph.working_set is None else {"working_set": _expression(graph.working_set)}
    return {"parameters": list(graph.parameters), **held, "body": _body(graph.body)}


def _body(node: Node) -> list[Data]:
    return [_node(part) for part in parts_of(node)]


def _node(node: Node) -> Data:
    if isinstance(node, Processing):
        return {"process": node.name, **_ruv(node.ruvs)}
    if isinstance(node, Loop):
        return {"loop": node.name, "count": _expression(node.count), **_ruv(node.ruvs), "do": _body(node.body)}
    if isinstance(node, Branch):
        arms = [{"probability": _expression(chance), "do": _body(arm)} for chance, arm in node.arms]
        return {"branch": node.name, **_ruv(node.ruvs), "arms": arms}
    if isinstance(node, Call):
        arguments = {name: _expression(formula) for name, formula in node.arguments}
        return {"call": node.graph, "name": node.name, "arguments": arguments, **_ruv(node.ruvs)}
    return {"sequence": node.name, "do": [_node(inner) for part in node.parts for inner in parts_of(part)]}


def _expression(formula: Formula) -> Any:
    return _number_or_text(formula.text)


def _number_or_text(text: str) -> Any:
    """A formula as its text, a whole number as a number."""
    try:
        return int(text)
    except ValueError:
        return text


def _ruv(ruvs: Ruvs) -> Data:
    if not ruvs:
        return {}
    return {"ruv": {method: {name: _amount_data(value) for name, value in ruv.items()} for method, ruv in ruvs.items()}}


def _amount_data(amount: Amount) -> Any:
    if isinstance(amount, Guess):
        return {"low": amount.low, "likely": amount.likely, "high": amount.high}
    return int(amount) if float(amount).is_integer() and abs(amount) < 2**53 else float(amount)


def application_data(work: SegWork) -> Data:
    """What a scenario says of a graph under a template, without its parameters; what is usual is left out."""
    asked, steps = work.asked, {}
    for name, (graph, arguments) in asked.steps.items():
        given = {own: _number_or_text(text) for own, text in arguments.items()}
        steps[name] = {"graph": graph, **({"arguments": given} if given else {})}
    return {
        "graph": seg_data(work.seg),
        "template": asked.template,
        "units": _number_or_text(asked.units),
        "iterations": _number_or_text(asked.iterations),
        "steps": steps,
        "messages": {name: _number_or_text(text) for name, text in asked.messages.items()},
        **({"grid_rows": asked.grid_rows} if asked.grid_rows != 1 else {}),
        **({} if asked.footprint is None else {"footprint": _number_or_text(asked.footprint)}),
        "resource_model": work.method,
    }
