"""Kernels on panels: the right answer, in the application's own sizes and volumes."""

import numpy as np
import pytest

from simulator import Configuration
from simulator.base.errors import ScenarioError
from simulator.calibration.kernels import KERNELS, operands, stencil
from simulator.calibration.kernels.plain import averaged
from simulator.calibration.kernels.table import SHAPED, named_kernel, panel_kernel
from simulator.programs.applications import matmul, matmul_2d
from simulator.programs.applications import stencil as stencil_application


def test_operands_recur_and_are_what_their_formula_says():
    for n, rows, first in ((5, 3, 2), (40, 30, 7), (1, 1, 0), (50, 14, 12)):
        row, column = np.ogrid[first : first + rows, 0:n]
        assert np.array_equal(operands.left(n, rows, first=first), ((row * 7 + column * 3) % 11) / 11 + 0.25)
        assert np.array_equal(operands.right(n, rows, first=first), ((row * 5 + column * 2) % 13) / 13 + 0.25)


@pytest.mark.parametrize("name", ["dgemm", "matmul"])
def test_a_panel_of_a_product_is_right_and_has_the_applications_size(name):
    kernel = panel_kernel(name, 48)
    found = kernel.prepare(7).run()
    assert np.allclose(found, np.einsum("ik,kj->ij", operands.left(48, 7), operands.right(48)))
    assert kernel.size(7) == matmul.problem_size(48, 7) == 48 * 48 + 2 * 7 * 48
    assert kernel.volume(7) == matmul.volume(48, 7)


@pytest.mark.parametrize("name", ["dgemm", "matmul"])
def test_an_update_adds_the_product_of_two_panels(name):
    kernel = named_kernel(panel_kernel(name, 48, 5).name)
    prepared = kernel.prepare(7)
    product = np.einsum("ik,kj->ij", operands.left(5, 7), operands.right(48, 5))
    assert np.allclose(prepared.run(), product)
    assert np.allclose(prepared.run(), 2 * product)
    wide, c = np.zeros((7, 30)), np.ones((7, 48))  # columns of a wider matrix, as they lie in A
    wide[:, 11:16] = operands.left(5, 7)
    KERNELS[name].add(wide[:, 11:16], operands.right(48, 5), c)
    assert np.allclose(c, 1 + product)
    steps = matmul_2d.GridProduct(48, 5, 1, "ring").program(Configuration("c", (48 * 48,), (0,))).operations[0]
    assert steps[0].body[-1].size[0][0] == kernel.size(48)
    assert steps[0].body[-1].volume[0][0] == kernel.volume(48)


def test_strips_of_a_stencil_go_on_from_what_they_wrote():
    kernel = panel_kernel("stencil", 30)
    prepared = kernel.prepare(6)
    once = averaged(stencil.start(30, 6))
    assert np.allclose(prepared.run(), once)
    assert np.allclose(prepared.run(), averaged(once))
    assert kernel.size(6) == stencil_application.Stencil(30, 1).problem_size(6)


def test_a_panel_is_named_so_that_a_process_finds_it():
    for name in SHAPED:
        kernel = panel_kernel(name, 640)
        again = named_kernel(kernel.name)
        assert (again.columns, again.least, again.size(10)) == (640, 10, kernel.size(10))
    assert named_kernel("fft").columns is None


def test_columns_where_there_are_none():
    with pytest.raises(ScenarioError, match="'fft' has no columns; dgemm, matmul, stencil have"):
        panel_kernel("fft", 8)
    with pytest.raises(ScenarioError, match="depth: 9 given of 'dgemm'; give 1 to 8 of dgemm or matmul"):
        panel_kernel("dgemm", 8, 9)
    with pytest.raises(ScenarioError, match="depth: 2 given of 'stencil'"):
        panel_kernel("stencil", 8, 2)
    with pytest.raises(ScenarioError, match="columns: 0 given"):
        panel_kernel("dgemm", 0)
