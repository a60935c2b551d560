"""The allocation paper's own model in plain loops: Kishimoto and Ichikawa, sections 3.2, 3.3, 3.5 and 4.1.

N-T models say what a configuration takes over N, P-T models what others of the same kind and m take, a kind with too
few PEs has another's P-T models times two factors, and a line corrects communication from three processes on a PE on.
"""

from collections import defaultdict

import numpy as np

SIZES, COUNTS = 4, 3
"""Problem sizes that an N-T model needs, and numbers of PEs above one that a P-T model needs."""
COMP, COMM = 0.27, 0.85
"""The paper's factors of the fast kind."""
ADJUSTED = 3
"""Processes on a PE, from which on communication is adjusted."""


def least_squares(columns, seconds):
    return np.linalg.lstsq(np.stack(columns, axis=-1), seconds)[0]


class Kishimoto:
    """Models of runs with computation and communication apart.

    Parameters
    ----------
    composed
        Kind -> the kind whose P-T models it takes.
    """

    def __init__(self, runs, *, composed):
        self._kinds, self._scale = runs.kinds, float(runs.size.max())
        self._alone, self._several, self._lines = {}, {}, {}
        for kind in range(len(runs.kinds)):
            self._fit_kind(runs, kind)
        for target, source in composed.items():
            for (kind, m), (comp, comm) in list(self._several.items()):
                if runs.kinds[kind] == source:
                    self._several[runs.kinds.index(target), m] = (COMP * comp[0], comp[1]), (COMM * comm[0], comm[1])
        for kind in range(len(runs.kinds)):
            self._adjust(runs, kind)

    def _fit_kind(self, runs, kind):
        m = runs.allocations[:, :, 1]
        mine = (m[:, kind] > 0) & (m.sum(axis=1) == m[:, kind])
        rows = defaultdict(list)
        for row in np.flatnonzero(mine).tolist():
            rows[int(m[row, kind]), int(runs.allocations[row, kind, 0])].append(row)
        groups = defaultdict(list)
        for (each, pes), own in sorted(rows.items()):
            n = runs.size[own] / self._scale
            if len(set(n.tolist())) < SIZES:
                continue
            comp = least_squares([n**3, n**2, n, np.ones_like(n)], runs.comp_s[own, kind])
            comm = least_squares([n**2, n, np.ones_like(n)], runs.comm_s[own, kind])
            if pes == 1:
                self._alone[kind, each] = comp, comm
            else:
                groups[each].append((pes, own, comp, comm))
        for each, configurations in groups.items():
            if len(configurations) >= COUNTS:
                self._several[kind, each] = self._fit_counts(runs, kind, each, configurations)

    def _fit_counts(self, runs, kind, each, configurations):
        """k7, k8 and k9 to k11 with the curves that they multiply: those of the fewest PEs above one."""
        pes, _, comp, comm = configurations[0]
        curves = comp * pes * each, comm
        own = np.concatenate([rows for _, rows, _, _ in configurations])
        p = np.concatenate([np.full(len(rows), pes * each) for pes, rows, _, _ in configurations])
        a, c = (np.polyval(curve, runs.size[own] / self._scale) for curve in curves)
        one = np.ones(len(own))
        comp_factors = least_squares([a / p, one], runs.comp_s[own, kind])
        comm_factors = least_squares([c * p, c / p, one], runs.comm_s[own, kind])
        return (comp_factors, curves[0]), (comm_factors, curves[1])

    def _parts(self, kind, m, p, size):
        """Computation and communication of a kind with m of P processes on each PE; None without a model."""
        n = size / self._scale
        if p == m:
            found = self._alone.get((kind, m))
            return found and tuple(float(np.polyval(part, n)) for part in found)
        if (kind, m) not in self._several:
            return None
        (comp, a), (comm, c) = self._several[kind, m]
        a, c = np.polyval(a, n), np.polyval(c, n)
        slope, offset = self._lines.get(kind, (1.0, 0.0)) if m >= ADJUSTED else (1.0, 0.0)
        return comp[0] * a / p + comp[1], slope * (comm[0] * c * p + comm[1] * c / p + comm[2]) + offset

    def _adjust(self, runs, kind):
        """A line through mixed runs of the largest size, the others' processes at their most."""
        processes = runs.allocations.prod(axis=2)
        others = processes.sum(axis=1) - processes[:, kind]
        rows = np.flatnonzero((runs.allocations[:, kind, 1] >= ADJUSTED) & (others > 0))
        rows = [row for row in rows if (kind, int(runs.allocations[row, kind, 1])) in self._several]
        rows = [row for row in rows if runs.size[row] == max(runs.size[rows])]
        rows = [row for row in rows if others[row] == max(others[rows])]
        if len(rows) < 2:
            return
        asked = [(kind, int(runs.allocations[r, kind, 1]), int(processes[r].sum()), runs.size[r]) for r in rows]
        x = np.array([self._parts(*one)[1] for one in asked])
        self._lines[kind] = tuple(least_squares([x, np.ones_like(x)], runs.comm_s[rows, kind]))

    def estimate(self, size, allocations):
        """Makespans, infinite where there is no model; (n,)."""
        found = np.full(len(allocations), np.inf)
        for place, allocation in enumerate(allocations.tolist()):
            p = sum(pes * m for pes, m in allocation)
            parts = [self._parts(kind, m, p, size) for kind, (pes, m) in enumerate(allocation) if pes]
            if all(part is not None for part in parts):
                found[place] = max(sum(part) for part in parts)
        return found
