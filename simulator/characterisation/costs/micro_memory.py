"""Micro-benchmarks of loads and stores: in order, at random, in grids and cubes."""

import numpy as np

from simulator.characterisation.costs.micro import SIDE, VECTOR, Floats, Grid, Ints, Program, floats, grid, ints, room


def _copy(a: Floats, c: Floats) -> None:
    for k in range(a.size):
        c[k] = a[k]


def _fill(c: Floats, x: float) -> None:
    for k in range(c.size):
        c[k] = x


def _fill_ints(c: Ints) -> None:
    for k in range(c.size):
        c[k] = k


def _gather(a: Floats, at: Ints) -> float:
    s = 0.0
    for k in range(at.size):
        s += a[at[k]]
    return s


def _gather_apart(a: Floats, at: Ints, c: Floats) -> None:
    for k in range(at.size):
        c[k] = a[at[k]]


def _histogram(at: Ints, c: Ints) -> None:
    for k in range(at.size):
        c[at[k] & 63] += 1


def _prefix(a: Floats, c: Floats) -> None:
    c[0] = a[0]
    for k in range(1, a.size):
        c[k] = c[k - 1] + a[k]


def _chase(following: Ints) -> int:
    at = 0
    for _ in range(following.size):
        at = following[at]
    return at


def _reversed(a: Floats, c: Floats) -> None:
    n = a.size
    for k in range(n):
        c[n - 1 - k] = a[k]


def _stride(a: Floats, step: int) -> float:
    s = 0.0
    for k in range(0, a.size, step):
        s += a[k]
    return s


def _grid_apart(a: Grid, c: Grid, x: float) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = x * a[i, j]


def _grid_columns(a: Grid) -> float:
    s = 0.0
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            s += a[i, j]
    return s


def _grid_transposed(a: Grid, c: Grid) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[j, i]


def _grid_times_vector(a: Grid, x: Floats, y: Floats) -> None:
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total


def _grid_rank_one(a: Grid, x: Floats, y: Floats) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += x[i] * y[j]


def _grid_means(a: Grid, c: Grid) -> None:
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            c[i, j] = 0.5 * (a[i - 1, j] + a[i + 1, j])


def _cube_sum(a: Floats) -> float:
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                s += a[i, j, k]
    return s


def _cube_apart(a: Floats, c: Floats, x: float) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                c[i, j, k] = a[i, j, k] + x


def _cube_ints(a: Ints, c: Ints) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                c[i, j, k] = a[i, j, k] + 1


def _grid_ints(a: Ints, c: Ints, x: int) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] ^ x


def _insertion_sort(a: Ints) -> None:
    for k in range(1, a.size):
        kept = a[k]
        place = k
        while place > 0 and a[place - 1] > kept:
            a[place] = a[place - 1]
            place -= 1
        a[place] = kept


def _bubble(a: Floats, rounds: int) -> None:
    for _ in range(rounds):
        for k in range(a.size - 1):
            if a[k] > a[k + 1]:
                kept = a[k]
                a[k] = a[k + 1]
                a[k + 1] = kept


def _triangular_solve(a: Grid, x: Floats) -> None:
    n = a.shape[0]
    for i in range(n):
        total = x[i]
        for j in range(i):
            total -= a[i, j] * x[j]
        x[i] = total / a[i, i]


def _complex_multiply(a: Floats, b: Floats, c: Floats, d: Floats) -> None:
    for k in range(a.size):
        x = a[k] * c[k] - b[k] * d[k]
        y = a[k] * d[k] + b[k] * c[k]
        a[k] = x
        b[k] = y


def _smallest_first(a: Ints, c: Ints) -> None:
    left = 0
    right = a.size // 2
    for place in range(a.size // 2):
        if a[left] <= a[right]:
            c[place] = a[left]
            left += 1
        else:
            c[place] = a[right]
            right += 1


def _cube() -> Floats:
    return floats().reshape(10, 10, 10)


def _shuffled() -> Ints:
    return np.asarray((ints(401) - 1) % VECTOR)


def _int_grid() -> Ints:
    return ints()[np.arange(SIDE * SIDE) % VECTOR].reshape(SIDE, SIDE)


MICROS = (
    Program("copy", _copy, lambda: (floats(), room())),
    Program("fill", _fill, lambda: (room(), 1.5)),
    Program("fill ints", _fill_ints, lambda: (ints(),)),
    Program("gather, summed", _gather, lambda: (floats(), _shuffled())),
    Program("gather, apart", _gather_apart, lambda: (floats(), _shuffled(), room())),
    Program("histogram", _histogram, lambda: (ints(401), np.zeros(64, dtype=np.int64))),
    Program("prefix sums", _prefix, lambda: (floats(), room())),
    Program("chase", _chase, lambda: ((np.arange(VECTOR) + 387) % VECTOR,)),
    Program("reversed", _reversed, lambda: (floats(), room())),
    Program("stride", _stride, lambda: (floats(), 4)),
    Program("grid, apart", _grid_apart, lambda: (grid(), grid(3), 1.5)),
    Program("grid by columns", _grid_columns, lambda: (grid(),)),
    Program("grid transposed", _grid_transposed, lambda: (grid(), grid(3))),
    Program("grid times vector", _grid_times_vector, lambda: (grid(), floats(), room())),
    Program("grid plus rank one", _grid_rank_one, lambda: (grid(), 1e-9 * floats(), floats(3))),
    Program("grid of means", _grid_means, lambda: (grid(), grid(3))),
    Program("cube summed", _cube_sum, lambda: (_cube(),)),
    Program("cube, apart", _cube_apart, lambda: (_cube(), _cube(), 1.5)),
    Program("cube of ints", _cube_ints, lambda: (ints().reshape(10, 10, 10), ints().reshape(10, 10, 10))),
    Program("grid of ints", _grid_ints, lambda: (_int_grid(), _int_grid(), 12345)),
    Program("insertion sort", _insertion_sort, lambda: (ints(401)[:200].copy(),), overwrites=True),
    Program("bubble sort, some rounds", _bubble, lambda: (floats(401)[:300].copy(), 20), overwrites=True),
    Program(
        "triangular solve",
        _triangular_solve,
        lambda: (grid() + 40 * np.eye(SIDE), floats()[:SIDE].copy()),
        overwrites=True,
    ),
    Program("complex product", _complex_multiply, lambda: (floats(), floats(3), floats(5), floats(9)), overwrites=True),
    Program("merge of two", _smallest_first, lambda: (ints(401), ints(3))),
)
