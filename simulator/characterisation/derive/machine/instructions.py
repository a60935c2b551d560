"""x86-64 instructions in AT&T notation: which operations each one is, by class and width."""

import re
from collections import Counter

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
_STACK = re.compile(r"(push|pop)f?[wlq]?$")
_NOTHING = re.compile(r"(nop\w*|endbr64|vzeroupper|vzeroall|mfence|lfence|sfence|lock|rep|data16)$")
_READ_ONLY = re.compile(r"(cmp|test|bt)[bwlq]?$")
_MEMORY = re.compile(r"\(|^[-\w.$+]+$|%[a-z]s:")


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
    found: Counter[str] = Counter()
    if _NOTHING.match(mnemonic):
        return found
    if _JUMP.match(mnemonic) or mnemonic.startswith(("call", "ret")):
        words = {"jmp": "jump", "jmpq": "jump", "call": "call", "callq": "call"}
        found[words.get(mnemonic, "return" if mnemonic.startswith("ret") else "branch")] += 1
        if operands and operands[0].startswith("*") and "(" in operands[0]:
            found["load"] += 1
        return found
    if _STACK.match(mnemonic):
        found["store" if mnemonic.startswith("push") else "load"] += 1
        return found
    width = _width(mnemonic, operands)
    name = _name(mnemonic, operands, width)
    if name:
        found[name] += 1
    if not mnemonic.startswith("lea"):
        _memory(mnemonic, operands, width, found)
    return found


def operands_of(line: str) -> tuple[str, list[str]]:
    """Mnemonic and operands of one instruction."""
    mnemonic, _, rest = line.strip().partition("\t" if "\t" in line.strip() else " ")
    return mnemonic, _operands(rest)


def _name(mnemonic: str, operands: list[str], width: str) -> str:
    """What is done beside reading and writing memory; nothing for a plain load or store."""
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


def _memory(mnemonic: str, operands: list[str], width: str, found: Counter[str]) -> None:
    places = [number for number, operand in enumerate(operands) if _is_memory(operand)]
    if not places or mnemonic == "movabsq":
        return
    scalar = bool(re.search(r"(ss|sd|[^p]s[sd]|mov[qd]|broadcast\w*)$", mnemonic)) if width else True
    suffix = "" if scalar or not width else f"_{width}"
    last = places[-1] == len(operands) - 1
    moves = _MOVE.match(mnemonic) or _VECTOR_MOVE.match(mnemonic) or "extract" in mnemonic or mnemonic.startswith("set")
    if last and moves:
        found[f"store{suffix}"] += 1
    elif last and len(operands) > 0 and not _READ_ONLY.match(mnemonic) and not width and not _reads_one(mnemonic):
        found["load"] += 1
        found["store"] += 1
    else:
        found[f"load{suffix}"] += 1


def _reads_one(mnemonic: str) -> bool:
    """Instructions with one operand that is only read."""
    return bool(re.match(r"(i?div|i?mul)[bwlq]$", mnemonic))


def _width(mnemonic: str, operands: list[str]) -> str:
    """Bits of the widest vector register; nothing if there is none."""
    text = " ".join(operands)
    found = next((bits for register, bits in _WIDTHS if register in text), "")
    return found if found or not mnemonic.startswith("v") else "128"


def _is_memory(operand: str) -> bool:
    return not operand.startswith(("$", "%", "*")) or operand.startswith(("%fs:", "%gs:"))


def _operands(text: str) -> list[str]:
    """Operands, apart at commas outside parentheses."""
    found, depth, current = [], 0, ""
    for letter in text.partition("#")[0]:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append(current.strip())
            current = ""
        else:
            current += letter
    return [*found, current.strip()] if current.strip() else found
