"""What one run of an analysed function really executes: by its own counters, and by Valgrind's callgrind.

The process that callgrind watches is `python -m tests.support.code_counts FOLDER`.
"""

import ctypes
import ctypes.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simulator.characterisation.derive import running
from simulator.characterisation.derive.derivation import METHODS, PROFILE_LIMIT_S, Derived
from simulator.characterisation.derive.machine import code
from simulator.characterisation.derive.steps import count_blocks

LIMIT_S = 600.0
"""Longest run under callgrind, which is slower than the processor by 50 times and more."""
_COST = re.compile(r"(0x[0-9a-f]+) \S+ (\d+)$")
_PADDING = re.compile(rb"[\x66\x2e]*(\x90|\x0f\x1f)", re.DOTALL)
"""What nop begins with, of one byte and of several: assemblers put it before loops, counts by block leave it out."""
_LABEL = re.compile(r'^("[^"]+"|[-\w$.]+):')
_ADDRESS = re.compile(r"movabsq\s+\$([A-Za-z_][\w.$]*), %\w+")
_END = "apportion_end_"


def count_at(
    derived: Derived, values: Any, methods: Sequence[str] = METHODS
) -> dict[str, tuple[dict[str, float], int]]:
    """Operations and instructions of one run at these values, by intermediate and machine code: no formula between."""
    counted = count_blocks(derived.source.kept, derived.source.functions)
    arguments = replace(derived.arguments, points=(values,))
    wants = [method for method in methods if method in derived.missed]
    answer = running.ask(derived.source, counted, arguments, limit_s=PROFILE_LIMIT_S, wants=wants)
    found = {}
    for method, one in answer.code.items():
        uses: Counter[str] = Counter()
        for block, entries in zip(one.blocks, one.counts[0], strict=True):
            uses.update({operation: entries * amount for operation, amount in block.uses.items()})
        instructions = sum(block.instructions * n for block, n in zip(one.blocks, one.counts[0], strict=True))
        found[method] = {operation: amount for operation, amount in uses.items() if amount}, instructions
    return found


def callgrind_at(derived: Derived, values: Any) -> int:
    """Instructions that one run executes in the functions analysed, those of other libraries left out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{running.PLAIN}.py").write_text(derived.source.text)
        arguments = [np.asarray(one) for one in derived.arguments.make(values)]
        for place, argument in enumerate(arguments):
            np.save(folder / f"{place}.npy", argument)
        (folder / "asked.json").write_text(json.dumps([derived.source.entry, list(derived.source.functions)]))
        _child(folder, "compile")
        profile = folder / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--dump-instr=yes", "--compress-pos=no"]
        _child(folder, "run", [*command, "--compress-strings=no", f"--callgrind-out-file={profile}"])
        ranges = [(begin, bytes.fromhex(text)) for begin, text in json.loads((folder / "ranges.json").read_text())]
        return _within(profile.read_text(), ranges)


def _child(folder: Path, what: str, before: Sequence[str] = ()) -> None:
    path = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [*before, sys.executable, "-m", __name__, what, str(folder)]
    subprocess.run(command, env=path, check=True, capture_output=True, timeout=LIMIT_S)


def _within(profile: str, ranges: Sequence[tuple[int, bytes]]) -> int:
    """Sum of the costs of instructions in these pieces of memory; a line after `calls=` is a called function's own."""
    total, skip = 0, False
    for line in profile.splitlines():
        match = None if skip else _COST.match(line)
        skip = line.startswith("calls=")
        for begin, text in ranges if match else ():
            place = int(match[1], 16) - begin if match else -1
            if match and 0 <= place < len(text) and not _PADDING.match(text, place):
                total += int(match[2])
    return total


def _compile(folder: Path) -> None:
    """Write the assembly of the function as Numba compiles it for the processor of the environment."""
    import llvmlite.binding as llvm
    from numba.core import config

    entry, functions = json.loads((folder / "asked.json").read_text())
    module = running.load(folder / f"{running.PLAIN}.py")
    running.compile_functions(module, functions)
    function = getattr(module, entry)
    function.compile(running.signature(_arguments(folder)))
    types = function.signatures[0]
    (folder / "code.s").write_text(function.inspect_asm(types))
    here = llvm.get_host_cpu_features().flatten()
    processor = config.CPU_NAME or llvm.get_host_cpu_name(), config.CPU_FEATURES
    processor = processor[0], here if processor[1] is None else processor[1]
    (folder / "symbol.json").write_text(json.dumps([function.overloads[types].fndesc.llvm_func_name, *processor]))


def _arguments(folder: Path) -> tuple[Any, ...]:
    made = [np.load(path) for path in sorted(folder.glob("*.npy"), key=lambda path: int(path.stem))]
    return tuple(one if one.ndim else one.item() for one in made)


def _run(folder: Path) -> None:
    """Assemble, and run once with callgrind's counting on: what runs under Valgrind."""
    from numba.core import config

    symbol, config.CPU_NAME, config.CPU_FEATURES = json.loads((folder / "symbol.json").read_text())
    text, functions = _with_ends((folder / "code.s").read_text())
    _add_library_functions(text)
    engine = code.assembled(text + _SWITCHES)
    ends = [tuple(engine.get_function_address(one) for one in pair) for pair in functions]
    found = [(begin, ctypes.string_at(begin, end - begin).hex()) for begin, end in ends]
    (folder / "ranges.json").write_text(json.dumps(found))
    arguments = _arguments(folder)
    ctypes.CFUNCTYPE(None)(engine.get_function_address("apportion_start"))()
    code.call(engine, symbol, arguments)
    ctypes.CFUNCTYPE(None)(engine.get_function_address("apportion_stop"))()


def _with_ends(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The assembly with a global label behind each analysed function, and names and labels of these."""
    functions = re.findall(r"^\s*\.type\s+([^,]+),@function", text, re.MULTILINE)
    seen = set(re.findall(r"^\s*\.(?:globl|weak)\s+(\S+)", text, re.MULTILINE))
    found: list[tuple[str, str]] = []
    lines: list[str] = []
    name = ""
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label and label[1] in functions:
            name = label[1]
        lines.append(line)
        if label and label[1].startswith(".Lfunc_end") and not name.strip('"').startswith(code.WRAPPERS):
            end = f"{_END}{len(found)}"
            found.append((name.strip('"'), end))
            lines += [] if name in seen else [f"\t.globl\t{name}"]
            lines += [f"\t.globl\t{end}", f"{end}:"]
    return "\n".join(lines) + "\n", found


def _add_library_functions(text: str) -> None:
    """Let the code be linked to functions of the C and the mathematical library; others end the process if called."""
    import llvmlite.binding as llvm

    own = set(re.findall(r"^([^\s:]+):", text, re.MULTILINE)) | set(re.findall(r"\.comm\s+([^,\s]+)", text))
    libraries = [ctypes.CDLL(None), *(ctypes.CDLL(path) for path in [ctypes.util.find_library("m")] if path)]
    for name in sorted(set(_ADDRESS.findall(text)) - own):
        functions = (getattr(library, name, None) for library in libraries)
        function = next((one for one in functions if one is not None), libraries[0].abort)
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def _switch(name: str, request: int) -> str:
    """A function that makes a client request of Valgrind (valgrind.h, callgrind.h: x86-64)."""
    zeros = "\n".join(f"\tmovq\t$0, {place}(%rsp)" for place in (8, 16, 24, 32, 40))
    return f"""
\t.text
\t.globl\t{name}
{name}:
\tpushq\t%rbx
\tsubq\t$48, %rsp
\tmovq\t${request}, (%rsp)
{zeros}
\tmovq\t%rsp, %rax
\txorl\t%edx, %edx
\trolq\t$3, %rdi
\trolq\t$13, %rdi
\trolq\t$61, %rdi
\trolq\t$51, %rdi
\txchgq\t%rbx, %rbx
\taddq\t$48, %rsp
\tpopq\t%rbx
\tretq
"""


_CALLGRIND = ord("C") << 24 | ord("T") << 16
_SWITCHES = _switch("apportion_start", _CALLGRIND + 4) + _switch("apportion_stop", _CALLGRIND + 5)

if __name__ == "__main__":
    {"compile": _compile, "run": _run}[sys.argv[1]](Path(sys.argv[2]))
