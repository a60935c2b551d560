"""Instructions of one run counted by Valgrind's callgrind: an independent check of the counts by block."""

import ctypes
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ApportionError, CalibrationError
from simulator.characterisation.derive import child, running
from simulator.characterisation.derive.machine import assembly, native

LIMIT_S = 600.0
"""Longest run under callgrind, which is slower than the processor by 50 times and more."""
_PROFILE, _RANGES = "callgrind.out", "ranges.json"
_END = "apportion_end_"
_COST = re.compile(r"(0x[0-9a-f]+) \S+ (\d+)$")
_PADDING = re.compile(rb"[\x66\x2e]*(\x90|\x0f\x1f)", re.DOTALL)
"""What nop begins with, of one byte and of several."""


def require_valgrind() -> str:
    """Where the tool is.

    Raises
    ------
    ApportionError
        If it is not installed, with the Debian package that has it.
    """
    found = shutil.which("valgrind")
    if found is None:
        raise ApportionError("valgrind: not found, the Debian package valgrind has it")
    return found


@dataclass(frozen=True)
class Executed:
    """Instructions executed in the functions analysed, those of other libraries that they call left out."""

    instructions: int
    padding: int
    """Instructions that do nothing, which the assembler puts before loops: counts by block leave them out."""


def instructions_in(folder: Path) -> Executed:
    """Run the assembly that a child left in a folder once, at its first point, under callgrind.

    Raises
    ------
    CalibrationError
        If the run fails.
    """
    command = [require_valgrind(), "--tool=callgrind", "--instr-atstart=no", "--dump-instr=yes", "--compress-pos=no"]
    command += ["--compress-strings=no", f"--callgrind-out-file={folder / _PROFILE}"]
    command += [sys.executable, "-m", __name__, str(folder)]
    try:
        done = subprocess.run(
            command, env=running.environment(), capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise CalibrationError(f"callgrind: no end within {LIMIT_S:g} s, a smaller size allowed") from error
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("==")]
        last = next((line for line in told if "rror" in line), (told or [f"status {done.returncode}"])[-1])
        raise CalibrationError(f"callgrind: the run failed: {last}")
    ranges = [(int(begin), bytes.fromhex(code)) for begin, code in files.read_json(folder / _RANGES)]
    return _within(files.read_text(folder / _PROFILE), ranges)


def _within(profile: str, ranges: Sequence[tuple[int, bytes]]) -> Executed:
    """Sums of the costs of instructions in these pieces of memory; a line after `calls=` is a called function's own."""
    total, padding, skip = 0, 0, False
    for line in profile.splitlines():
        match = None if skip else _COST.match(line)
        skip = line.startswith("calls=")
        for begin, code in ranges if match else ():
            place = int(match[1], 16) - begin if match else -1
            if match and 0 <= place < len(code):
                empty = _PADDING.match(code, place) is not None
                padding += int(match[2]) * empty
                total += int(match[2]) * (not empty)
    return Executed(total, padding)


def main(folder: Path) -> None:
    """Assemble, and run once with callgrind's counting on: what runs under Valgrind."""
    known = files.read_json(folder / child.PROCESSOR)
    request = files.read_json(folder / child.REQUEST)
    text, functions = assembly.with_ends(files.read_text(folder / child.ASSEMBLY), _END)
    native.add_library_functions(assembly.addresses(text))
    engine = native.assembled(text + _SWITCHES, processor=tuple(known["processor"]))
    ends = [(native.address_of(engine, name), native.address_of(engine, end)) for name, end in functions]
    files.write_json(folder / _RANGES, [(begin, ctypes.string_at(begin, end - begin).hex()) for begin, end in ends])
    arguments = child.arguments_of(folder, request["points"][0])
    native.switch(engine, "apportion_start")
    native.call_native(native.address_of(engine, known["symbol"]), arguments)
    native.switch(engine, "apportion_stop")


def _switch(name: str, request: int) -> str:
    """A function that makes a client request of Valgrind (valgrind.h, callgrind.h: x86-64)."""
    return f"""
\t.text
\t.globl\t{name}
{name}:
\tpushq\t%rbx
\tsubq\t$48, %rsp
\tmovq\t${request}, (%rsp)
\tmovq\t$0, 8(%rsp)
\tmovq\t$0, 16(%rsp)
\tmovq\t$0, 24(%rsp)
\tmovq\t$0, 32(%rsp)
\tmovq\t$0, 40(%rsp)
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
    main(Path(sys.argv[1]))
