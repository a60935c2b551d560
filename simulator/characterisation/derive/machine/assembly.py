"""x86-64 machine code as assembly: operations and cycles of each block, and counters put into its text."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from simulator.characterisation.derive.machine.code import WRAPPERS, CodeBlock, Counting, is_math

_WIDTHS = (("%zmm", "512"), ("%ymm", "256"), ("%xmm", "128"))
_ARITHMETIC = (
    (re.compile(r"v?(add|sub|addsub|hadd)(?P<kind>[sp][sd])$"), "add"),
    (re.compile(r"v?mul(?P<kind>[sp][sd])$"), "multiply"),
    (re.compile(r"v?fn?m(add|sub|addsub)\d*(?P<kind>[sp][sd])$"), "fma"),
    (re.compile(r"v?div(?P<kind>[sp][sd])$"), "divide"),
    (re.compile(r"v?sqrt(?P<kind>[sp][sd])$"), "sqrt"),
    (re.compile(r"v?(u?comi|cmp\w*?)(?P<kind>[sp][sd])$"), "compare"),
    (re.compile(r"v?(min|max|and|andn|or|xor|round|blendv?|rndscale)(?P<kind>[sp][sd])$"), "logic"),
)
_CONVERT = re.compile(r"v?cvt")
_VECTOR_MOVE = re.compile(r"v?(mov(ap|up|s|dq|q|d|nt|l|h|ss|sd)\w*|lddqu)$")
_MOVE = re.compile(r"mov(abs)?[bwlq]?$|mov[sz][bwl][wlq]$|movslq$")
_JUMP = re.compile(r"j[a-z]+$")
_SUFFIX = "[bwlq]?$"
_INTEGER = (
    (re.compile(rf"i?mul{_SUFFIX}|mulx{_SUFFIX}"), "multiply"),
    (re.compile(rf"i?div{_SUFFIX}"), "divide"),
    (re.compile(r"(cmov|set)\w+$"), "select"),
    (re.compile(rf"lea{_SUFFIX}"), "alu"),
)
_WITHOUT_DATA = (
    (re.compile(r"jmpq?$"), "jump"),
    (re.compile(r"callq?$"), "call"),
    (re.compile(r"ret"), "return"),
    (re.compile(r"j[a-z]+$|call"), "branch"),
    (re.compile(r"pushf?[wlq]?$"), "store"),
    (re.compile(r"popf?[wlq]?$"), "load"),
)
_NOTHING = re.compile(r"(nop\w*|endbr64|vzeroupper|vzeroall|mfence|lfence|sfence|lock|rep|data16)$")
_READ_ONLY = re.compile(r"(cmp|test|bt)[bwlq]?$|(i?div|i?mul)[bwlq]$")
WIDTH = 6.0
"""Instructions begun per cycle."""
UNITS = {"alu": 4.0, "load": 3.0, "load_wide": 2.0, "store": 2.0, "store_wide": 1.0, "add": 2.0, "multiply": 2.0}
ENTRIES = 24
"""Turns of a loop that are followed to see its chain."""
LOAD_CYCLES = 5.0
"""Until a loaded value can be used, of one in a vector register two more."""
_WIDE = ("256", "512")
_WIDE_DIVIDE = 1.3
"""Times as long as a scalar division, a division of a vector."""
_FLAG_READERS = re.compile(r"(j(?!mp)[a-z]+|cmov\w+|set\w+|adc[bwlq]?|sbb[bwlq]?)$")
_FLAG_WRITERS = re.compile(
    r"(add|sub|inc|dec|neg|and|or|xor|cmp|test|shl|shr|sar|sal|bt|imul|mul|v?u?comis[sd]|v?comis[sd]|adc|sbb)"
)
_PLAIN_WRITE = re.compile(r"(mov|lea|set|cvt|pop|v(?!f?n?m(add|sub)))")
"""Two-operand instructions that do not read what they write; VEX-coded ones name what they read."""
_WITHOUT_RESULT = re.compile(r"(cmp|test|bt|v?u?comis)")
_REGISTER = re.compile(r"%(\w+)")
_LEGACY = re.compile(r"[re]?([abcd])[xlh]$|[re]?(si|di|bp|sp)l?$")
_ZEROING = re.compile(r"v?(xorp[sd]|pxor)|xor[lq]")
_LABEL = re.compile(r'^(?P<name>"[^"]+"|[-\w$.]+):')
_ADDRESS = re.compile(r"movabsq\s+\$(?P<name>[A-Za-z_][\w.$]*), (?P<register>%\w+)")
RED_ZONE_BYTES = 128
"""Bytes below the stack pointer that a function may use (System V ABI)."""


def is_jump(mnemonic: str) -> bool:
    """Whether control may go elsewhere than to the next instruction, and not come back."""
    return bool(_JUMP.match(mnemonic)) or mnemonic.startswith("ret")


def operations(line: str) -> Counter[str]:
    """Operations of one instruction: its own, and the loads and stores that it makes.

    `alu`, `multiply`, `divide`, `select`, `move` are on integers; `fp_add` on one floating point number, `fp_add_256`
    on a vector of 256 bits; `vector_256` what else is done to vectors; `load`, `store` of up to 64 bits, `load_256` of
    vectors; `branch`, `jump`, `call`, `return`.
    """
    mnemonic, operands = operands_of(line)
    if _NOTHING.match(mnemonic):
        return Counter()
    alone = next((word for pattern, word in _WITHOUT_DATA if pattern.match(mnemonic)), "")
    if alone:
        by_address = operands[:1] and operands[0].startswith("*") and "(" in operands[0]
        return Counter([alone, "load"] if by_address else [alone])
    width = _width(mnemonic, operands)
    name = _name(mnemonic, operands, width)
    return Counter([*([name] if name else []), *_memory(mnemonic, operands, width)])


def operands_of(line: str) -> tuple[str, list[str]]:
    """Mnemonic and operands of one instruction."""
    mnemonic, _, rest = line.strip().partition("\t" if "\t" in line.strip() else " ")
    parts = re.split(r",(?![^(]*\))", rest.partition("#")[0])  # at commas outside parentheses
    return mnemonic, [part.strip() for part in parts] if parts[-1].strip() else []


def _name(mnemonic: str, operands: list[str], width: str) -> str:
    """What is done apart from reading and writing memory; nothing for a plain load or store."""
    through_memory = any(_is_memory(operand) for operand in operands)
    if "%xmm" in "".join(operands) or width:
        for pattern, word in _ARITHMETIC:
            match = pattern.match(mnemonic)
            if match:
                return f"fp_{word}" + (f"_{width or '128'}" if match["kind"].startswith("p") else "")
        if _CONVERT.match(mnemonic):
            return "fp_convert"
        if _VECTOR_MOVE.match(mnemonic) or (through_memory and "broadcast" in mnemonic):
            return "" if through_memory else f"vector_{width or '128'}"
        return f"vector_{width or '128'}"
    if _MOVE.match(mnemonic):
        return "" if through_memory and mnemonic != "movabsq" else "move"
    return next((word for pattern, word in _INTEGER if pattern.match(mnemonic)), "alu")


def _memory(mnemonic: str, operands: list[str], width: str) -> list[str]:
    """Loads and stores."""
    places = [number for number, operand in enumerate(operands) if _is_memory(operand)]
    if not places or mnemonic == "movabsq" or mnemonic.startswith("lea"):
        return []
    scalar = re.search(r"(ss|sd|[^p]s[sd]|mov[qd]|broadcast\w*)$", mnemonic)
    suffix = f"_{width}" if width and not scalar else ""
    if places[-1] < len(operands) - 1:
        return [f"load{suffix}"]
    if _MOVE.match(mnemonic) or _VECTOR_MOVE.match(mnemonic) or "extract" in mnemonic or mnemonic.startswith("set"):
        return [f"store{suffix}"]
    return [f"load{suffix}"] if width or _READ_ONLY.match(mnemonic) else ["load", "store"]


def _width(mnemonic: str, operands: list[str]) -> str:
    """Bits of the widest vector register; nothing if there is none."""
    text = " ".join(operands)
    found = next((bits for register, bits in _WIDTHS if register in text), "")
    return found if found or not mnemonic.startswith("v") else "128"


def _is_memory(operand: str) -> bool:
    return not operand.startswith(("$", "%", "*")) or operand.startswith(("%fs:", "%gs:"))


# Cycles of blocks.

UNITS |= {"vector": 3.0, "floating": 4.0, "branch": 1.0, "divider": 1.0}
"""How many of each kind of work a core does per cycle; `floating` is all work on vector registers together."""


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
    lines: list[str]
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
        base, wide = _class_of(name)
        if base in {"load", "store"}:
            work[f"{base}_wide" if wide else base] += count
        for unit in _KINDS[base].units if base in _KINDS else ():
            busy = _KINDS[base].busy * (_WIDE_DIVIDE if wide else 1.0) if unit == "divider" else 1.0
            work[unit] += count * busy  # type: ignore[assignment]


def _class_of(operation: str) -> tuple[str, bool]:
    """An operation without its width, and whether it works on a wide vector."""
    plain, _, bits = operation.rpartition("_")
    return (plain, bits in _WIDE) if bits.isdigit() else (operation, False)


def _read(line: str) -> _Instruction:
    """What one instruction waits for and what waits for it."""
    mnemonic, operands = operands_of(line)
    found = operations(line)
    latency, waits = 0.0, 0.0
    for base, _ in map(_class_of, found):
        if base == "load":
            waits = LOAD_CYCLES + (2.0 if _width("", operands) else 0.0)
        elif base in _KINDS:
            latency = max(latency, _KINDS[base].latency)
    addresses = {_whole(name) for operand in operands if "(" in operand for name in _REGISTER.findall(operand)}
    registers = [_whole(operand[1:]) for operand in operands if operand.startswith("%")]
    writes: set[str] = set()
    reads = set(registers)
    if registers and operands[-1].startswith("%") and not _WITHOUT_RESULT.match(mnemonic):
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


# Counters.


def put_counters(text: str, address: int) -> Counting:
    """The same assembly with a counter at the head of every block; counter k lies at `address + 8 k`.

    Blocks begin at labels and behind jumps. Counting changes neither flags nor registers nor the red zone.
    """
    functions = set(re.findall(r"^\s*\.type\s+([^,]+),@function", text, re.MULTILINE))
    bodies: list[Body] = []
    lines: list[str] = []
    labels: list[str] = []
    inside = is_open = False
    for line in text.splitlines():
        plain, label = line.strip(), _LABEL.match(line)
        if label:
            labels.append(plain.partition(":")[0])
            if label["name"] in functions:
                inside = not label["name"].strip('"').startswith(WRAPPERS)
            elif label["name"].startswith(".Lfunc_end"):
                inside = False
        if label or not inside:
            is_open = False
        elif plain and not plain.startswith((".", "#")):
            if not is_open:
                lines += _counter(address + 8 * len(bodies))
                bodies.append(Body(tuple(labels), []))
                labels, is_open = [], True
            bodies[-1].lines.append(plain)
            is_open = not is_jump(plain.split()[0])
        lines.append(line)
    blocks, outside = _blocks(bodies, functions)
    return Counting("\n".join(lines) + "\n", blocks, outside)


def _blocks(bodies: Sequence[Body], functions: set[str]) -> tuple[tuple[CodeBlock, ...], tuple[str, ...]]:
    """What each block uses, and functions called that are none of these."""
    blocks, outside = [], set()
    addresses: dict[str, str] = {}
    for body, cycles in zip(bodies, cycles_of(bodies), strict=True):
        uses: Counter[str] = Counter()
        for line in body.lines:
            if not line.startswith("call"):
                uses += operations(line)
                if loaded := _ADDRESS.match(line):
                    addresses[loaded["register"]] = loaded["name"]
                continue
            target = line.split(maxsplit=1)[1].lstrip("*")
            name = addresses.get(target, target)
            if name in functions:
                uses["call"] += 1
            else:
                uses["call_math" if is_math(name) else "call_other"] += 1
                outside.add(name if not name.startswith(("%", "(")) else "a function by address")
        blocks.append(CodeBlock({**uses, "cycles": cycles}, len(body.lines)))
    return tuple(blocks), tuple(sorted(outside))


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
