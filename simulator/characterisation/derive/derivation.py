"""Deriving a software execution graph from a Python function that Numba compiles: read, compile, profile, build."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.characterisation.derive import fit, running
from simulator.characterisation.derive.arguments import Arguments, Values, from_mapping
from simulator.characterisation.derive.constructs import Counting, whole_array_operations
from simulator.characterisation.derive.graph import Builder, Machine, Profile
from simulator.characterisation.derive.machine.attribution import attribute, machine_parts
from simulator.characterisation.derive.machine.code import with_unforeseen
from simulator.characterisation.derive.source import Source, locate, read_source
from simulator.characterisation.derive.steps import Counted, count_blocks
from simulator.models.resource import Method
from simulator.programs.graphs.nodes import Graph, Seg, total_ruv

PROFILE_LIMIT_S = 20.0
"""Longest that one profiled run may take."""
METHODS: tuple[Method, ...] = ("poc", "hllc", "intcc", "icc")
"""Methods whose RUVs are derived."""


@dataclass(frozen=True)
class Derived:
    """A function's graph and how it was found."""

    seg: Seg
    source: Source
    arguments: Arguments
    warnings: tuple[str, ...]
    missed: Mapping[Method, float]
    """Method -> share of the instructions whose counts no formula gave within 1 %, intermediate and machine code."""


def derive_seg(
    target: Path | Callable[..., Any] | Source,
    arguments: Arguments | Mapping[str, float | str],
    *,
    function: str | None = None,
    methods: Sequence[Method] = METHODS,
    limit_s: float = PROFILE_LIMIT_S,
    here: bool = False,
) -> Derived:
    """The graph of a function, which is compiled and run in a child process to profile it.

    `target`: a file, with the function's name in `function`; a function object; or what was read already.
    `arguments`: numbers and descriptions of arrays by name (see `arguments.from_mapping`), or `Arguments`.
    `methods`: methods whose RUVs the graph's nodes hold.
    `limit_s`: longest that one profiled run may take, in seconds.
    `here`: compile and run in this process: for functions of ours that surely end, some ten times faster.
    """
    source = target if isinstance(target, Source) else read_source(*locate(target, function))
    if not isinstance(arguments, Arguments):
        arguments = from_mapping(arguments, source.parameters)
    counted = count_blocks(source.kept, source.functions)
    wants: list[Method] = [method for method in methods if method in {"intcc", "icc"}]
    answer = running.ask(source, counted, arguments, limit_s=limit_s, wants=wants, here=here)
    faults = _whole_arrays(source, answer)
    if faults:
        raise ScenarioError(faults)
    profile = Profile(arguments.points, answer.counts)
    builder = Builder(profile, Machine(), tuple(arguments.parameters), _working_set(arguments))
    graphs = _graphs(source, counted, answer, builder)
    codes = {method: with_unforeseen(code) if method == "icc" else code for method, code in answer.code.items()}
    attributed = [(attribute(method, code, builder), code) for method, code in codes.items()]
    if attributed:
        graphs = _graphs(source, counted, answer, replace(builder, machine=machine_parts(attributed), warnings=[]))
    warnings = [*source.warnings, *_versions(answer), *_unvaried(arguments), *builder.warnings, *answer.warnings]
    warnings += [line for attribution, _ in attributed for line in attribution.warnings]
    missed = {attribution.method: attribution.missed for attribution, _ in attributed}
    return Derived(Seg(graphs), source, arguments, tuple(dict.fromkeys(warnings)), missed)


def _graphs(source: Source, counted: Counted, answer: running.Answer, builder: Builder) -> tuple[Graph, ...]:
    return tuple(
        builder.graph(name, counted.functions[name], Counting(answer.kinds[name], source.functions))
        for name in source.functions
    )


def _working_set(arguments: Arguments) -> str | None:
    """Bytes of all arrays that are arguments, a formula's text; None without arrays, or where no formula is found."""
    made = [arguments.make(point) for point in arguments.points]
    arrays = [[one.nbytes for one in each] for each in zip(*made, strict=True) if isinstance(each[0], np.ndarray)]
    together = [[sum(each) for each in zip(*arrays, strict=True)]]
    for rows in (together, arrays) if arrays else ():
        found = [fit.fit(row, arguments.points) for row in rows]
        if all(one.miss <= fit.EXACT for one in found):
            return " + ".join(one.text for one in found)
    return None


def _unvaried(arguments: Arguments) -> list[str]:
    """A line for each whole number that no profiled run varied, so that no formula can know it."""
    values = {name: {point[name] for point in arguments.points} for name in arguments.parameters}
    return [
        f"{name}: profiled at {next(iter(found)):g} alone, counts hold for that"
        for name, found in values.items()
        if len(found) == 1 and isinstance(arguments.parameters[name], int)
    ]


def _versions(answer: running.Answer) -> list[str]:
    several = [name for name, versions in answer.versions.items() if versions > 1]
    return [f"{name} is compiled for several types of arguments, counted as for the widest" for name in several]


def ruvs_at(derived: Derived, method: Method, values: Values | None = None) -> dict[str, float]:
    """How often one run uses each operation, by a method, at values of the parameters (those asked for)."""
    totals = total_ruv(derived.seg, method, derived.arguments.parameters if values is None else values)
    return dict(zip(totals.operations, totals.amounts.tolist(), strict=True))


def runnable(derived: Derived, values: Values | None = None) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The compiled function, as it was analysed, and its arguments at values of the parameters (those asked for)."""
    arguments = derived.arguments.make(derived.arguments.parameters if values is None else values)
    with tempfile.TemporaryDirectory(prefix="apportion-") as name:
        path = Path(name) / f"{running.PLAIN}.py"
        files.write_text(path, derived.source.text)
        module = running.load(path, folder=derived.source.path.resolve().parent)
        running.compile_functions(module, list(derived.source.functions))
        function = getattr(module, derived.source.entry)
        function.compile(running.signature(arguments))
    compiled: Callable[..., Any] = function
    return compiled, arguments


def _whole_arrays(source: Source, answer: running.Answer) -> list[str]:
    """A line for each operation on whole arrays, which types alone tell from one on numbers."""
    return [
        f"{source.path}:{node.lineno}: operation on a whole array; write loops over its elements"
        for name, function in source.functions.items()
        for node in whole_array_operations(function, answer.kinds[name])
    ]
