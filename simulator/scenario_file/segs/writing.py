"""Software execution graphs as plain data and as YAML, which is read back as an equal graph."""

from typing import Any

from simulator.base.formula import Formula
from simulator.models.resource import Amount, Guess, Ruvs
from simulator.programs.graphs.nodes import Branch, Call, Graph, Loop, Node, Processing, Seg
from simulator.programs.graphs.walk import parts_of
from simulator.programs.templates.work import SegWork
from simulator.scenario_file.yaml_writing import yaml_text

Data = dict[str, Any]


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
    return {"ruv": {method: {name: _amount(value) for name, value in ruv.items()} for method, ruv in ruvs.items()}}


def _amount(amount: Amount) -> Any:
    if isinstance(amount, Guess):
        return {"low": amount.low, "likely": amount.likely, "high": amount.high}
    return int(amount) if float(amount).is_integer() and abs(amount) < 2**53 else float(amount)


def application_data(work: SegWork) -> Data:
    """What a scenario says of a graph under a template, beside its parameters; what is usual is left out."""
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
