"""LLVM's intermediate code, as optimised: operations by type in each block, and counters put into its text."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from simulator.characterisation.derive.machine.code import CodeBlock, Counting

COUNTS = "apportion_counts"
_WRAPPERS = ("_ZN7cpython", "cfunc.", "NRT_", "nrt_")
_LABEL = re.compile(r'^(?:"[^"]+"|[-\w$.]+):')
_DEFINE = re.compile(r'^define .*?@(?P<name>"[^"]+"|[-\w$.]+)\(')
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_FREE = ("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.experimental.noalias")
_BY_OPERAND = {"store", "icmp", "fcmp"}
_UNTYPED = {"getelementptr", "ret", "unreachable", "switch"}
MATH = (
    "exp",
    "log",
    "pow",
    "sin",
    "cos",
    "tan",
    "atan",
    "asin",
    "acos",
    "sqrt",
    "cbrt",
    "erf",
    "hypot",
    "fmod",
    "gamma",
)
"""Names of the mathematical library's functions begin so, after a prefix that LLVM or Numba may give them."""
MEMORY = ("memset", "memcpy", "memmove")


def put_counters(text: str) -> Counting:
    """The same module with a counter in every block of the functions, those that only pass arguments on apart."""
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
            lines += _counter(len(blocks))
            blocks.append(CodeBlock(f"{len(blocks)}", uses, sum(uses.values())))
            outside |= called
            waiting = False
        lines.append(line)
    head = f"@{COUNTS} = global [{max(1, len(blocks))} x i64] zeroinitializer"
    return Counting("\n".join([*lines, head, ""]), tuple(blocks), tuple(sorted(outside)))


def _counter(number: int) -> list[str]:
    place = f"getelementptr inbounds (i64, ptr @{COUNTS}, i64 {number})"
    return [
        f"  %apportion.{number}.a = load i64, ptr {place}",
        f"  %apportion.{number}.b = add i64 %apportion.{number}.a, 1",
        f"  store i64 %apportion.{number}.b, ptr {place}",
    ]


def _static(text: str) -> Iterator[tuple[tuple[str, int], tuple[Counter[str], set[str]]]]:
    """Function and number of block -> operations, and functions called that are defined elsewhere."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    own = {function.name for function in module.functions if not function.is_declaration}
    for function in module.functions:
        if function.is_declaration or function.name.startswith(_WRAPPERS):
            continue
        for number, block in enumerate(function.blocks):
            uses: Counter[str] = Counter()
            called: set[str] = set()
            for instruction in block.instructions:
                name = _operation(instruction, own, called)
                uses[name] += 1
            del uses[""]
            yield (function.name, number), (uses, called)


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


def is_math(name: str) -> bool:
    """Whether a function is one of the mathematical library."""
    return name.removeprefix("numba_").removeprefix("npy_").lstrip("_").startswith(MATH)
