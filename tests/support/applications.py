"""Parameters that every application takes, and a model of run times."""

import numpy as np

from simulator.models import fit, make_runs

FITTING = {
    "cholesky": ({"n": 22, "nb": 4}, [(1, 1, 1), (6, 0, 0), (2, 1, 0), (3, 2, 1)]),
    "ep": ({"samples": 12, "volume": 3.0}, [(4, 4, 4), (12, 0, 0), (0, 5, 7)]),
    "farm": ({"units": 12, "volume": 3.0, "size": 5, "chunk": 2, "pull": "1ms"}, [(1, 1, 1), (12, 0, 0), (0, 5, 7)]),
    "fft": ({"n": 12}, [(4, 4, 4), (12, 0, 0), (0, 5, 7)]),
    "fft3d": ({"n": 12}, [(48, 48, 48), (144, 0, 0), (0, 60, 84)]),
    "hpl": ({"n": 22, "nb": 4}, [(1, 1, 1), (6, 0, 0), (2, 1, 0), (3, 2, 1)]),
    "matmul": ({"n": 12}, [(4, 4, 4), (12, 0, 0), (0, 5, 7)]),
    "matmul_2d": ({"n": 12, "nb": 5, "grid_rows": 3}, [(48, 48, 48), (144, 0, 0), (0, 60, 84)]),
    "sort": ({"n": 12}, [(4, 4, 4), (12, 0, 0), (0, 5, 7)]),
    "stencil": ({"n": 12, "iterations": 3}, [(4, 4, 4), (12, 0, 0), (0, 5, 7)]),
}
"""Parameters of each application, and partitions over three processes that fit."""


N, PROCESSES = (column.ravel() for column in np.meshgrid([100.0, 200, 400, 800], [1.0, 2, 4, 8]))


def fitted(formula="N/P", truth=lambda n, p: n / p, **more):
    values = {"N": N, "P": PROCESSES} | {name: np.full(len(N), value) for name, value in more.items()}
    used = {name: column for name, column in values.items() if name in formula}
    return fit({"t": formula}, {"t": make_runs(used, truth(N, PROCESSES))}, method="ols")
