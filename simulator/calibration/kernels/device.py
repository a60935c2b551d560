"""Kernels on a GPU, by CuPy: their operands lie there before a run, and a run ends when the GPU is done."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from simulator.base.errors import CalibrationError, ScenarioError, some_names
from simulator.base.machine import GpuUnit, gpus
from simulator.calibration.kernels import operands, stencil
from simulator.calibration.kernels.sized import Prepared, SizedKernel
from simulator.calibration.kernels.table import MARK

VISIBLE = "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"
"""Variables by which programs see one GPU of several, as their only one."""


def number_of(device: str) -> int:
    """The number of a GPU by its name, such as `gpu0`."""
    if not (found := re.fullmatch(r"gpu(\d{1,3})", device)):
        raise ScenarioError(f"device: {device!r} is no GPU's name; give gpu0, gpu1 and so on")
    return int(found[1])


def there(device: str) -> GpuUnit:
    """The GPU of a name, where CuPy is installed to use it.

    Raises ScenarioError if there is none, or no CuPy.
    """
    listed = {gpu.number: gpu for gpu in gpus()}
    if (number := number_of(device)) not in listed:
        names = some_names([f"gpu{known}" for known in listed]) if listed else "no GPU"
        raise ScenarioError(f"device: {device} is not here, nvidia-smi lists {names}; name one that it lists")
    if find_spec("cupy") is None:
        raise ScenarioError(f"device: {device} is used by CuPy, which is not here; pip install 'apportion[gpu]'")
    return listed[number]


def show_only(device: str) -> None:
    """Let this process and its children see that GPU alone, numbered as the system's tools do."""
    os.environ |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **dict.fromkeys(VISIBLE, str(number_of(device)))}


@cache
def cupy_on(device: str) -> Any:
    """CuPy, with that GPU as its only one.

    Raises CalibrationError if it cannot be used: driver and CuPy do not fit, or another program has it for itself.
    """
    show_only(device)
    try:
        import cupy

        cupy.zeros(1)
    except (ImportError, RuntimeError) as error:  # of the driver, or of another program that has it for itself
        raise CalibrationError(
            f"{device}: CuPy cannot use it ({error}); end what else runs on it, or look at its driver"
        ) from error
    return cupy


def on_device(kernel: SizedKernel, device: str) -> SizedKernel:
    """A kernel, on a GPU.

    Raises ScenarioError if it is none of `KERNELS`, or adds products of panels.
    """
    name = kernel.name.partition(MARK)[0]
    if name not in KERNELS:
        raise ScenarioError(f"kernel {name}: GPUs run {' and '.join(KERNELS)} only; take one, or give --command")
    if kernel.depth is not None:
        raise ScenarioError("depth: products of panels are not added on GPUs; leave it out, or give --command")
    make = KERNELS[name]
    return replace(kernel, prepare=lambda rows: make(cupy_on(device), rows, kernel.columns or rows), least=1)


def _product(cupy: Any, rows: int, columns: int) -> Prepared:
    """C[rows, columns] = A[rows, columns] B[columns, columns]."""
    a, b = cupy.asarray(operands.left(columns, rows)), cupy.asarray(operands.right(columns))
    c = cupy.empty((rows, columns))

    def run() -> Any:
        cupy.dot(a, b, out=c)
        return done(cupy, c)

    return Prepared(run)


def _sweep(cupy: Any, rows: int, columns: int) -> Prepared:
    """An iteration of the five-point stencil on rows of points between borders."""
    arrays = [cupy.full((rows + 2, columns + 2), stencil.BORDER) for _ in range(2)]
    arrays[0][1:-1, 1:-1] = cupy.asarray(stencil.start(columns, rows))
    mean = cupy.ElementwiseKernel(
        "T at, T up, T down, T left, T right", "T made", f"made = {stencil.WEIGHT} * (at + up + down + left + right)"
    )

    def run() -> Any:
        old, new = arrays
        inner = new[1:-1, 1:-1]
        mean(old[1:-1, 1:-1], old[:-2, 1:-1], old[2:, 1:-1], old[1:-1, :-2], old[1:-1, 2:], inner)
        arrays.reverse()
        return done(cupy, inner)

    return Prepared(run)


def done(cupy: Any, result: Any) -> Any:
    """The result, once all that was asked of the GPU has ended."""
    cupy.cuda.get_current_stream().synchronize()
    return result


KERNELS: Mapping[str, Callable[[Any, int, int], Prepared]] = {"dgemm": _product, "stencil": _sweep}
"""By name."""
