"""LLVM's intermediate code, as optimised: operations by type in each block, and counters put into its text."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from simulator.characterisation.derive.machine.code import MATH, WRAPPERS, CodeBlock, Counting, is_math

_LABEL = re.compile(r'^(?:"[^"]+"|[-\w$.]+):')
_DEFINE = re.compile(r'^define .*?@(?P<name>"[^"]+"|[-\w$.]+)\(')
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_FREE = ("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.experimental.noalias")
_BY_OPERAND = {"store", "icmp", "fcmp"}
_UNTYPED = {"getelementptr", "ret", "unreachable", "switch"}
MEMORY = ("memset", "memcpy", "memmove")


def put_counters(text: str, address: int) -> Counting:
    """The same module with a counter in every block of the functions, those that only pass arguments on apart.

    Counter k lies at `address + 8 k`.
    """
    static = dict(_static(text))
    blocks: list[CodeBlock] = []
    lines: list[str] = []
    outside: set[str] = set()
    function, number, waiting, begins = "", -1, False, False
    for line in text.splitlines():
        match = _DEFINE.match(line)
        if match:
            function, number, begins = match["name"].strip('"'), -1, True
        elif function and line.startswith("}"):
            function = ""
        elif function and (_LABEL.match(line) or (begins and line.strip())):
            number, waiting, begins = number + 1, (function, number + 1) in static, False
            if _LABEL.match(line):
                lines.append(line)
                continue
        if waiting and line.strip() and not re.match(r"\s*%\S+ = phi ", line):
            uses, called = static[function, number]
            lines += _counter(len(blocks), address + 8 * len(blocks))
            blocks.append(CodeBlock(uses, sum(uses.values())))
            outside |= called
            waiting = False
        lines.append(line)
    return Counting("\n".join([*lines, ""]), tuple(blocks), tuple(sorted(outside)))


def _counter(number: int, address: int) -> list[str]:
    place = f"inttoptr (i64 {address} to ptr)"
    return [
        f"  %apportion.{number}.a = load i64, ptr {place}",
        f"  %apportion.{number}.b = add i64 %apportion.{number}.a, 1",
        f"  store i64 %apportion.{number}.b, ptr {place}",
    ]


def _static(text: str) -> Iterator[tuple[tuple[str, int], tuple[dict[str, int], set[str]]]]:
    """Function and number of block -> operations, and functions called that are defined elsewhere."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    own = {function.name for function in module.functions if not function.is_declaration}
    for function in module.functions:
        if function.is_declaration or function.name.startswith(WRAPPERS):
            continue
        for number, block in enumerate(function.blocks):
            called: set[str] = set()
            uses = Counter(_operation(instruction, own, called) for instruction in block.instructions)
            del uses[""]
            yield (function.name, number), (dict(uses), called)


def _operation(instruction: Any, own: set[str], called: set[str]) -> str:
    """`fadd.double`, `load.4xdouble`, `br`, ...; nothing for what makes no code."""
    opcode: str = instruction.opcode
    operands = list(instruction.operands)
    if opcode == "call":
        return _call(operands[-1].name, own, called)
    if opcode == "br":
        return "br" if len(operands) > 1 else "jump"
    if opcode in _UNTYPED:
        return opcode
    kind = str((operands[0] if opcode in _BY_OPERAND else instruction).type)
    plain = _VECTOR.sub(r"\1x\2", kind)
    return f"{opcode}.{plain}"


def _call(name: str, own: set[str], called: set[str]) -> str:
    if name.startswith(_FREE):
        return ""
    if name in own:
        return "call.own"
    if name.startswith("llvm."):
        word = name.split(".")[1]
        if word.startswith(MEMORY) or (word.startswith(MATH) and word != "sqrt"):
            called.add(word)
        return f"call.{word}"
    called.add(name or "a function by address")
    return "call.math" if is_math(name) else "call.other"
