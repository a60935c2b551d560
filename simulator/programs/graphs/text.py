"""The timing formula of a software execution graph, as the paper prints it.

`t = t(v_assign) + N*(t(v_loop) + t(v_if) + P_max*t(v_assign))`: `t(v)` is what the resource model makes of a RUV.
"""

from simulator.base.formula import Formula
from simulator.models.resource import Ruvs
from simulator.programs.graphs.nodes import Branch, Call, Graph, Loop, Node, Processing, Seg, Sequence


def timing_formulas(seg: Seg) -> dict[str, str]:
    """Each graph's timing formula; the first one's is of `t`, those of others of `t_NAME(parameters)`."""
    return {graph.name: _line(graph, first=graph is seg.graphs[0]) for graph in seg.graphs}


def timing_formula(seg: Seg) -> str:
    """All of them, one a line."""
    return "\n".join(timing_formulas(seg).values())


def _line(graph: Graph, *, first: bool) -> str:
    name = "t" if first else f"t_{graph.name}({', '.join(graph.parameters)})"
    return f"{name} = {' + '.join(_Labels().terms(graph.body)) or '0'}"


class _Labels:
    """One label for each RUV of a graph: steps of one name and unlike RUVs are told apart by numbers."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Ruvs]] = {}

    def terms(self, node: Node) -> list[str]:
        """The summands of a node's time."""
        if isinstance(node, Processing):
            return [self._own(node.name, node.ruvs)]
        if isinstance(node, Sequence):
            return [term for part in node.parts for term in self.terms(part)]
        own = [self._own(node.name or _usual_name(node), node.ruvs)] if node.ruvs else []
        if isinstance(node, Loop):
            return _scaled(node.count, [*own, *self.terms(node.body)])
        if isinstance(node, Branch):
            return own + [term for chance, arm in node.arms for term in _scaled(chance, self.terms(arm))]
        arguments = ", ".join(formula.text for _, formula in node.arguments)
        return [*own, f"t_{node.graph}({arguments})"]

    def _own(self, name: str, ruvs: Ruvs) -> str:
        seen = self._seen.setdefault(name, [])
        if ruvs not in seen:
            seen.append(ruvs)
        number = seen.index(ruvs)
        return f"t(v_{name}{f'_{number + 1}' if number else ''})"


def _usual_name(node: Loop | Branch | Call) -> str:
    return {Loop: "loop", Branch: "if", Call: "call"}[type(node)]


def _scaled(factor: Formula, terms: list[str]) -> list[str]:
    """A sum times a factor, in parentheses where it needs them; nothing where it has no terms."""
    text = factor.text.strip()
    if not terms or text == "1":
        return terms
    first = f"({text})" if factor.is_sum else text
    return [f"{first}*{terms[0] if len(terms) == 1 else '(' + ' + '.join(terms) + ')'}"]
