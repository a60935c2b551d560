"""Cycles of machine code on a processor that overlaps: of a loop its busiest unit, or its longest chain of results.

The paper's equation 7 takes off the cycles in which the two units of a T800 work at once. A processor of today works at
many instructions at once, so that what is left is the most that any one of these asks for: the width in which
instructions are begun, each kind of unit, and the chain of results that wait for each other from one turn of a loop to
the next. Latencies and units are those that tables of recent x86-64 cores agree on about (a middle between AMD's Zen 3
and Intel's Golden Cove); what a core really does is left to the costs that are fitted. Memory is the first-level cache,
every branch foreseen; both are left to them too. A loop is taken along one path: conditional jumps inside it fall
through.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from simulator.characterisation.derive.machine.instructions import is_jump, operands_of, operations

WIDTH = 6.0
"""Instructions begun per cycle."""
UNITS = {"alu": 4.0, "load": 3.0, "load_wide": 2.0, "store": 2.0, "store_wide": 1.0, "add": 2.0, "multiply": 2.0}
UNITS |= {"vector": 3.0, "floating": 4.0, "branch": 1.0, "divider": 1.0}
"""How many of each kind of work a core does per cycle; `floating` is all work on vector registers together."""
ENTRIES = 24
"""Turns of a loop that are followed to see its chain."""
LOAD_CYCLES = 5.0
"""Until a loaded value can be used, of one in a vector register two more."""


@dataclass(frozen=True)
class Kind:
    """How one class of operations is done."""

    units: tuple[str, ...]
    latency: float
    busy: float = 1.0
    """Cycles for which it keeps its unit."""


_KINDS = {
    "alu": Kind(("alu",), 1),
    "move": Kind((), 0),
    "select": Kind(("alu",), 1),
    "multiply": Kind(("alu",), 3),
    "divide": Kind(("divider",), 12, 7),
    "fp_add": Kind(("add", "floating"), 3),
    "fp_multiply": Kind(("multiply", "floating"), 3),
    "fp_fma": Kind(("multiply", "floating"), 4),
    "fp_divide": Kind(("divider", "floating"), 13, 5),
    "fp_sqrt": Kind(("divider", "floating"), 18, 7),
    "fp_compare": Kind(("vector", "floating"), 3),
    "fp_logic": Kind(("vector", "floating"), 1),
    "fp_convert": Kind(("vector", "floating"), 5),
    "vector": Kind(("vector", "floating"), 1),
    "branch": Kind(("branch",), 1),
    "jump": Kind(("branch",), 1),
    "call": Kind(("branch",), 2),
    "return": Kind(("branch",), 2),
}
_WIDE = ("256", "512")
_WIDE_DIVIDE = 1.3
"""Times as long as a scalar division, a division of a vector."""
_FLAG_READERS = re.compile(r"(j(?!mp)[a-z]+|cmov\w+|set\w+|adc[bwlq]?|sbb[bwlq]?)$")
_FLAG_WRITERS = re.compile(
    r"(add|sub|inc|dec|neg|and|or|xor|cmp|test|shl|shr|sar|sal|bt|imul|mul|v?u?comis[sd]|v?comis[sd]|adc|sbb)"
)
_PLAIN_WRITE = re.compile(r"(mov|lea|set|cvt|pop|v(?!f?n?m(add|sub)))")
"""Two-operand instructions that do not read what they write; VEX-coded ones name what they read."""
_READ_ONLY = re.compile(r"(cmp|test|bt|v?u?comis)")
_REGISTER = re.compile(r"%(\w+)")
_LEGACY = re.compile(r"[re]?([abcd])[xlh]$|[re]?(si|di|bp|sp)l?$")
_ZEROING = re.compile(r"v?(xorp[sd]|pxor)|xor[lq]")


@dataclass(frozen=True)
class _Instruction:
    reads: frozenset[str]
    addresses: frozenset[str]
    writes: frozenset[str]
    latency: float
    load_s: float
    """Cycles until what it loads is there; 0 if it loads nothing."""


@dataclass(frozen=True)
class Body:
    """A block's text."""

    labels: tuple[str, ...]
    lines: tuple[str, ...]
    """Its instructions, the jump at its end included."""


def cycles_of(blocks: Sequence[Body]) -> list[float]:
    """Cycles of one entry of each block, in the order of the code.

    Blocks along an innermost loop's path share what the loop takes, in proportion to their own work; others take what
    their busiest unit does.
    """
    found = [_busiest(block.lines) for block in blocks]
    places = {label: number for number, block in enumerate(blocks) for label in block.labels}
    for path in _loops(blocks, places):
        lines = [line for number in path for line in blocks[number].lines]
        own = sum(found[number] for number in path)
        whole = max(_busiest(lines), _chain_cycles([_read(line) for line in lines if operations(line)]))
        for number in path:
            found[number] *= whole / own if own else 1.0
    return found


def _loops(blocks: Sequence[Body], places: Mapping[str, int]) -> Iterator[list[int]]:
    """The path of every innermost loop: from the target of a backward jump to that jump."""
    backward = [
        (target, number)
        for number, block in enumerate(blocks)
        if (target := _target(block, places)) is not None and target <= number
    ]
    for first, last in backward:
        if any((first, last) != other and first <= other[0] and other[1] <= last for other in backward):
            continue
        path = _path(blocks, places, first, last)
        if path:
            yield path


def _path(blocks: Sequence[Body], places: Mapping[str, int], first: int, last: int) -> list[int]:
    """Blocks from the first to the last, jumps without condition followed; nothing if that leads elsewhere."""
    at, path = first, []
    while at <= last:
        path.append(at)
        if at == last:
            return path
        words = blocks[at].lines[-1].split()
        target = _target(blocks[at], places) if words[0].startswith("jmp") else at + 1
        if target is None or target <= at:
            return []
        at = target
    return []


def _target(block: Body, places: Mapping[str, int]) -> int | None:
    """The block that a block's last jump leads to, if it is one of these."""
    words = block.lines[-1].split()
    return places.get(words[1]) if is_jump(words[0]) and len(words) > 1 else None


def _busiest(lines: Sequence[str]) -> float:
    """Cycles that the busiest unit works, or that it takes to begin all instructions."""
    work: Counter[str] = Counter()
    begun = 0.0
    for line in lines:
        found = operations(line)
        begun += bool(found)
        _add_work(found, work)
    return max([begun / WIDTH, *(work[unit] / each for unit, each in UNITS.items())])


def _add_work(found: Counter[str], work: Counter[str]) -> None:
    for name, count in found.items():
        plain, _, bits = name.rpartition("_")
        base, wide = (plain, bits in _WIDE) if bits.isdigit() else (name, False)
        if base in {"load", "store"}:
            work[f"{base}_wide" if wide else base] += count
            continue
        kind = _KINDS.get(base)
        if kind is None:
            continue
        for unit in kind.units:
            busy = kind.busy * (_WIDE_DIVIDE if wide else 1.0) if unit == "divider" else 1.0
            work[unit] += count * busy  # type: ignore[assignment]


def _read(line: str) -> _Instruction:
    """What one instruction waits for and what waits for it."""
    mnemonic, operands = operands_of(line)
    found = operations(line)
    latency, waits = 0.0, 0.0
    for name in found:
        plain, _, bits = name.rpartition("_")
        base = plain if bits.isdigit() else name
        if base == "load":
            waits = LOAD_CYCLES + (2.0 if "%xmm" in line or "%ymm" in line or "%zmm" in line else 0.0)
        elif base in _KINDS:
            latency = max(latency, _KINDS[base].latency)
    memory = [operand for operand in operands if "(" in operand]
    addresses = {_whole(name) for operand in memory for name in _REGISTER.findall(operand)}
    plain_operands = [operand for operand in operands if operand.startswith("%")]
    registers = [_whole(operand[1:]) for operand in plain_operands]
    writes: set[str] = set()
    reads = set(registers)
    if registers and operands[-1].startswith("%") and not _READ_ONLY.match(mnemonic):
        target = registers[-1]
        writes.add(target)
        if _PLAIN_WRITE.match(mnemonic) and target not in registers[:-1]:
            reads.discard(target)
        if _ZEROING.match(mnemonic) and len(set(registers)) <= 2 and len(set(registers[:2])) == 1:
            reads, latency = set(), 0.0
    if _FLAG_READERS.match(mnemonic):
        reads.add("flags")
    if _FLAG_WRITERS.match(mnemonic):
        writes.add("flags")
    return _Instruction(frozenset(reads), frozenset(addresses), frozenset(writes), latency, waits)


def _chain_cycles(block: Sequence[_Instruction]) -> float:
    """Cycles per turn when nothing but results is waited for."""
    ready: dict[str, float] = {}
    ends: list[float] = []
    for _ in range(ENTRIES):
        for one in block:
            loaded = max((ready.get(name, 0.0) for name in one.addresses), default=0.0) + one.load_s
            begin = max([ready.get(name, 0.0) for name in one.reads] + [loaded if one.load_s else 0.0])
            for name in one.writes:
                ready[name] = begin + one.latency
        ends.append(max(ready.values(), default=0.0))
    half = ENTRIES // 2
    return (ends[-1] - ends[half - 1]) / (ENTRIES - half) if ends else 0.0


def _whole(register: str) -> str:
    """One name for all widths of a register."""
    if register[1:3] == "mm" and register[0] in "xyz":
        return f"v{register[3:]}"
    found = _LEGACY.match(register)
    if found:
        return found[1] or found[2]
    return re.sub(r"[bwd]$", "", register)
