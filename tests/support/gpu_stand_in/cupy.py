"""A stand-in for CuPy on machines without a GPU: the few calls that are made of it, on NumPy arrays.

It shows that what is asked of a GPU is asked in the right order and for the right GPU, and that answers are right; it
says nothing of times. `STAND_IN_GPU` has it fail: `taken`, or the bytes from which on its memory is short.
"""

import os
import time
from types import SimpleNamespace

import numpy as np

FAILS = os.environ.get("STAND_IN_GPU", "")
KERNEL_S = 0.002
"""What each product and sweep takes, so that the clock is seen to count and not the processor."""
BACK_S = 0.001
"""What each copy back takes, so that directions are told apart."""
asked = []
"""What was started and not waited for."""


class Array(np.ndarray):
    def set(self, host):
        self[...] = host

    def get(self, out):
        time.sleep(BACK_S)
        out[...] = self


class OutOfMemoryError(MemoryError):
    pass


def _checked(array):
    if FAILS == "taken":
        raise RuntimeError("cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable")
    if os.environ["CUDA_VISIBLE_DEVICES"] != "1":
        raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
    if FAILS.isdigit() and array.nbytes > int(FAILS):
        raise OutOfMemoryError(f"Out of memory allocating {array.nbytes} bytes")
    return array.view(Array)


def asarray(host):
    return _checked(np.array(host))


def empty(shape):
    return _checked(np.full(shape, np.nan))


def zeros(shape):
    return _checked(np.zeros(shape))


def full(shape, value):
    return _checked(np.full(shape, value))


def dot(a, b, out):
    asked.append(lambda: np.dot(a, b, out=out))


class ElementwiseKernel:
    def __init__(self, given, made, formula):
        self._names = [part.split()[1] for part in given.split(",")]
        target, self._formula = (side.strip() for side in formula.split("="))
        assert target == made.split()[1]

    def __call__(self, *arrays):
        *given, made = arrays
        values = dict(zip(self._names, given, strict=True))
        asked.append(lambda: np.copyto(made, eval(self._formula, {}, values)))  # noqa: S307 - it is our own formula


def _synchronize():
    if asked:
        time.sleep(KERNEL_S)
    while asked:
        asked.pop(0)()


def _stream():
    return SimpleNamespace(synchronize=_synchronize)


cuda = SimpleNamespace(get_current_stream=_stream, alloc_pinned_memory=bytearray)
