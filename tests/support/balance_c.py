"""The balancer in C, compiled into a shared library and called by `ctypes`."""

import ctypes
import shutil
import subprocess
from pathlib import Path

from simulator.scheduling.balance import Rule, c_files

COMPILER = shutil.which("cc")
WHEN = {"every": 0, "threshold": 1, "gain": 2}


class _Rule(ctypes.Structure):
    _fields_ = [
        ("when", ctypes.c_int),
        ("every", ctypes.c_int64),
        ("threshold", ctypes.c_double),
        ("fixed_s", ctypes.c_double),
        ("message_s", ctypes.c_double),
        ("unit_s", ctypes.c_double),
        ("contiguous", ctypes.c_int),
        ("least", ctypes.c_int64),
        ("patience_s", ctypes.c_double),
        ("calls", ctypes.c_int64),
        ("caution", ctypes.c_double),
    ]


class _Outlook(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in ("gain_s", "doubt_s", "lasting_calls", "cost_s")]


def compiled(folder: Path) -> ctypes.CDLL:
    """The library, with the strictest warnings as errors."""
    _, source = c_files()
    target = folder / "balance.so"
    options = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *options, "-o", target, source, "-lm"], check=True, capture_output=True, text=True)
    library = ctypes.CDLL(str(target))
    pointer = ctypes.c_void_p
    for name, result, arguments in (
        ("begin", pointer, [ctypes.c_int64, ctypes.c_int64, pointer, pointer, pointer]),
        ("restore", pointer, [ctypes.c_char_p]),
        ("update", ctypes.c_int, [pointer, pointer]),
        ("units", ctypes.POINTER(ctypes.c_int64), [pointer]),
        ("processes", ctypes.c_int64, [pointer]),
        ("left_out", ctypes.c_int, [pointer, ctypes.c_int64]),
        ("last_outlook", _Outlook, [pointer]),
        ("save", ctypes.c_size_t, [pointer, ctypes.c_char_p, ctypes.c_size_t]),
        ("end", None, [pointer]),
        ("fault", ctypes.c_char_p, [ctypes.c_int]),
    ):
        function = getattr(library, f"apportion_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def doubles(values):
    return (ctypes.c_double * len(values))(*values)


class InC:
    """A balancer of the library; `update` answers as Python's, or with the code of a fault."""

    def __init__(self, library, handle):
        if not handle:
            raise ValueError("the library refused it")
        self.library, self.handle = library, handle
        self.processes = library.apportion_processes(handle)

    @classmethod
    def begin(cls, library, units, processes, *, speeds=None, most=None, rule=None):
        rule = rule or Rule()
        fields = {name: getattr(rule, name) for name, _ in _Rule._fields_} | {"when": WHEN[rule.when]}
        fits = None if most is None else (ctypes.c_int64 * processes)(*most)
        known = None if speeds is None else doubles(speeds)
        return cls(library, library.apportion_begin(units, processes, known, fits, ctypes.byref(_Rule(**fields))))

    @classmethod
    def restore(cls, library, text):
        return cls(library, library.apportion_restore(text.encode()))

    def update(self, times):
        code = self.library.apportion_update(self.handle, doubles(times))
        return code if code < 0 else self.units if code else None

    @property
    def units(self):
        return self.library.apportion_units(self.handle)[: self.processes]

    @property
    def left_out(self):
        return [p for p in range(self.processes) if self.library.apportion_left_out(self.handle, p)]

    @property
    def outlook(self):
        found = self.library.apportion_last_outlook(self.handle)
        return tuple(getattr(found, name) for name, _ in _Outlook._fields_)

    def save(self):
        room = self.library.apportion_save(self.handle, None, 0) + 1
        text = ctypes.create_string_buffer(room)
        assert self.library.apportion_save(self.handle, text, room) == room - 1
        return text.value.decode()

    def __del__(self):
        if getattr(self, "handle", None):
            self.library.apportion_end(self.handle)
