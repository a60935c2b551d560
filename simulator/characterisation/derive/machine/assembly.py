"""Machine code as the compiler's assembly: operations in each block, and counters put into its text (x86-64)."""

import re
from collections import Counter
from dataclasses import replace

from simulator.characterisation.derive.machine.code import CodeBlock, Counting
from simulator.characterisation.derive.machine.instructions import is_jump, operations
from simulator.characterisation.derive.machine.intermediate import is_math
from simulator.characterisation.derive.machine.schedule import Body, cycles_of

_WRAPPERS = ("_ZN7cpython", "cfunc.", "NRT_", "nrt_")
_LABEL = re.compile(r'^(?P<name>"[^"]+"|[-\w$.]+):')
_ADDRESS = re.compile(r"movabsq\s+\$(?P<name>[A-Za-z_][\w.$]*), (?P<register>%\w+)")
RED_ZONE_BYTES = 128
"""Bytes below the stack pointer that a function may use (System V ABI)."""


def put_counters(text: str, address: int) -> Counting:
    """The same assembly with a counter at the head of every block; counter k lies at `address + 8 k`.

    Blocks begin at labels and behind jumps. Counting changes neither flags nor registers nor the red zone.
    """
    functions = set(re.findall(r"^\s*\.type\s+([^,]+),@function", text, re.MULTILINE))
    wanted = {name for name in functions if not name.strip('"').startswith(_WRAPPERS)}
    writer = _Writer(address, functions)
    inside = False
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label and label["name"] in functions:
            inside = label["name"] in wanted
        elif label and label["name"].startswith(".Lfunc_end"):
            inside = False
        writer.line(line, is_label=label is not None, inside=inside)
    writer.close()
    blocks = [
        replace(block, uses={**block.uses, "cycles": cycles})
        for block, cycles in zip(writer.blocks, cycles_of(writer.bodies), strict=True)
    ]
    return Counting("\n".join(writer.lines) + "\n", tuple(blocks), tuple(sorted(writer.outside)))


def addresses(text: str) -> list[str]:
    """Symbols whose addresses the code loads: functions of other libraries among them."""
    own = set(re.findall(r"^([^\s:]+):", text, re.MULTILINE)) | set(re.findall(r"\.comm\s+([^,\s]+)", text))
    return sorted({match["name"] for match in _ADDRESS.finditer(text)} - own)


def with_ends(text: str, prefix: str) -> tuple[str, list[tuple[str, str]]]:
    """The assembly with a global label behind each analysed function, and names and labels of these."""
    functions = re.findall(r"^\s*\.type\s+([^,]+),@function", text, re.MULTILINE)
    seen = set(re.findall(r"^\s*\.(?:globl|weak)\s+(\S+)", text, re.MULTILINE))
    found: list[tuple[str, str]] = []
    lines: list[str] = []
    name = ""
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label and label["name"] in functions:
            name = label["name"]
        lines.append(line)
        if label and label["name"].startswith(".Lfunc_end") and not name.strip('"').startswith(_WRAPPERS):
            end = f"{prefix}{len(found)}"
            found.append((name.strip('"'), end))
            lines += [] if name in seen else [f"\t.globl\t{name}"]
            lines += [f"\t.globl\t{end}", f"{end}:"]
    return "\n".join(lines) + "\n", found


class _Writer:
    """Copies lines, and opens a block before the first instruction behind a label or a jump."""

    def __init__(self, address: int, functions: set[str]) -> None:
        self.lines: list[str] = []
        self.blocks: list[CodeBlock] = []
        self.bodies: list[Body] = []
        self.outside: set[str] = set()
        self._address, self._functions = address, functions
        self._uses: Counter[str] = Counter()
        self._lines: list[str] = []
        self._labels: list[str] = []
        self._open = False
        self._known: dict[str, str] = {}

    def line(self, line: str, *, is_label: bool, inside: bool) -> None:
        text = line.strip()
        if is_label or not inside:
            self.close()
            if is_label:
                self._labels.append(text.partition(":")[0])
        elif text and not text.startswith((".", "#")):
            self._instruction(text)
        self.lines.append(line)
        if inside and self._open and text and is_jump(text.split()[0]):
            self.close()

    def _instruction(self, text: str) -> None:
        if not self._open:
            self._open = True
            self.lines += _counter(self._address + 8 * len(self.blocks))
        found = operations(text)
        if text.startswith("call"):
            found = Counter({self._called(text): 1})
        address = _ADDRESS.match(text)
        if address:
            self._known[address["register"]] = address["name"]
        self._uses += found
        self._lines.append(text)

    def _called(self, text: str) -> str:
        target = text.split(maxsplit=1)[1].lstrip("*")
        name = self._known.get(target, target)
        if name in self._functions:
            return "call"
        self.outside.add(name if not name.startswith(("%", "(")) else "a function by address")
        return "call_math" if is_math(name) else "call_other"

    def close(self) -> None:
        """End the block that is open."""
        if self._open:
            self.blocks.append(CodeBlock(str(len(self.blocks)), dict(self._uses), len(self._lines)))
            self.bodies.append(Body(tuple(self._labels), tuple(self._lines)))
            self._labels = []
        self._uses, self._lines, self._open = Counter(), [], False


def _counter(address: int) -> list[str]:
    return [
        f"\tleaq\t-{RED_ZONE_BYTES}(%rsp), %rsp",
        "\tpushfq",
        "\tpushq\t%rax",
        f"\tmovabsq\t${address}, %rax",
        "\tincq\t(%rax)",
        "\tpopq\t%rax",
        "\tpopfq",
        f"\tleaq\t{RED_ZONE_BYTES}(%rsp), %rsp",
    ]
