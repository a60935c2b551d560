"""How intervals of fitted run times hold beyond the runs: `python -m tests.studies.extrapolation [--seed 1000]`.

Made-up programs of twelve forms, numbered: half of them are fitted with their own formula, the others with the one that
people would write. The far end, two to four times as large as any run, is held out. Beside each width stands that of
one who knows the form, and where it turns, and fits its coefficients to the same runs. Then tables that were measured,
each predicted from its smaller rows: run times, speed bands (from their larger rows too) and message times. Seeds below
1000 served for development, 1000 gives the figures that are stated. It shares no code with what is judged.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from simulator.calibration import fit_speed, read_shipped_table
from simulator.calibration.bands import CutRule
from simulator.calibration.bands.source import recorded
from simulator.models import fit, make_runs
from simulator.models.network import fit_network, make_points

LEVEL = 0.9
DESIGNS = {6: ((6, 1, 1), (3, 2, 1), (3, 1, 2)), 12: ((6, 2, 1), (4, 3, 1), (4, 1, 3), (6, 1, 2)),
           24: ((8, 3, 1), (6, 2, 2), (8, 1, 3), (4, 2, 3)), 48: ((8, 3, 2), (6, 4, 2), (8, 2, 3))}  # fmt: skip
"""Runs -> sizes, values of the other parameter, repetitions."""
NOISES = ("even", "even", "growing", "outliers")
MOST_NOISE = 0.25
BARS = {"beyond": (0.85, 0.93), "inside": (0.87, 0.95), "growing": (0.86, 0.94), "six": (0.86, 0.94),
        "outliers": (0.86, 0.94)}  # fmt: skip
MOST_WIDTH = 2.0
TABLE_WIDTH = 0.05
"""Half width of bands of tables without repetitions."""
DATA = Path(__file__).parents[2].with_name("shared") / "data"
SERIES = ("kernel", "precision", "columns", "cores_at_once", "core", "b_moved", "pinned")
"""What rows of one series have in common."""

Costs = Callable[[np.ndarray, np.ndarray], list[np.ndarray]]


@dataclass(frozen=True)
class Program:
    """A made-up program in units of its largest run."""

    formula: str
    costs: Costs
    """Of N and P relative to the largest ones run: what adds up to the time, with unknown factors."""
    beyond: str
    """Parameter whose far end is held out."""
    power: bool = False
    """Whether the time is a product of powers, which one fits to logarithms."""

    def time_s(self, n, p):
        """True seconds."""
        return np.sum(self.costs(n, p), axis=0)


def _share(draws, low, high):
    """What a second cost adds at the largest run, relative to the first."""
    return float(np.exp(draws.uniform(np.log(low), np.log(high))))


def _around(draws, before, after):
    """Where something turns, relative to the largest run, in octaves around it."""
    return float(2 ** draws.uniform(-before, after))


def _saturating(draws):
    cap = _around(draws, 2, 3)
    return lambda n, p: [n / np.minimum(p, cap)]


def _cliff(draws):
    begin, deep = _around(draws, 3, 3), draws.uniform(0.3, 3)
    return lambda n, p: [(n + deep * np.maximum(n - begin, 0)) / p]


def _power(draws):
    a, b = draws.uniform(0.85, 1.3), draws.uniform(0.6, 1.05)
    return lambda n, p: [n**a * p**-b]


def _second(low, high, cost):
    """`n / p` and a cost that adds a share of it at the largest run."""

    def costs(draws):
        share = _share(draws, low, high)
        return lambda n, p: [n / p, share * cost(n, p)]

    return costs


def _u_shaped(draws):
    turn = _around(draws, 1.5, 1)
    return lambda n, p: [n / p, p / turn**2 + 0 * n]


def _two_phases(draws):
    share = _share(draws, 0.01, 0.5)
    return lambda n, p: [n**1.5 / p, share * n]


def _cubic(draws):
    share = _share(draws, 0.04, 2)
    return lambda n, p: [n**3 / p, share * n**2 / p]


FORMS = {
    "amdahl": ("N/P + N", "N/P", "P", _second(0.01, 0.5, lambda n, p: n + 0 * p)),
    "power": ("N/P", "N/P", "NP", _power),
    "divided": ("N/P", "N/P", "NP", lambda _: lambda n, p: [n / p]),
    "n log n": ("N*log(N)/P", "N/P", "N", lambda _: lambda n, p: [n * (1 + np.log(n) / 9) / p]),
    "log p": ("N/P + log(P)", "N/P", "P", _second(0.01, 0.5, lambda n, p: np.maximum(1 + np.log2(p) / 7, 0) + 0 * n)),
    "contention": ("N/P + P", "N/P", "P", _second(0.005, 0.25, lambda n, p: p + 0 * n)),
    "saturation": ("N/P", "N/P", "P", _saturating),
    "cliff": ("N/P", "N/P", "N", _cliff),
    "cubic": ("N**3/P + N**2/P", "N**3/P", "N", _cubic),
    "two phases": ("N**1.5/P + N", "N**1.5/P", "NP", _two_phases),
    "u-shaped": ("N/P + P", "N/P", "P", _u_shaped),
    "constant": ("N/P", "N/P", "NP", lambda _: lambda n, p: [np.ones(np.broadcast(n, p).shape)]),
}
"""Name -> its own formula, the one people would write, parameters whose far end may be held out, and its costs."""


def program(form, draws):
    """A program of a form."""
    own, usual, ends, costs = FORMS[form]
    formula, beyond = (own, usual)[draws.integers(2)], str(draws.choice(list(ends)))
    return Program(formula, costs(draws), beyond, power=form == "power")


@dataclass(frozen=True)
class Noise:
    """How one run goes."""

    kind: str
    sd: float
    growth: float

    def relative_sd(self, time_s, usual_s):
        """Of runs of true times, relative to them."""
        return np.minimum(self.sd * (time_s / usual_s) ** self.growth, MOST_NOISE)

    def run(self, time_s, usual_s, draws):
        """Times of one run each; one of twenty is disturbed where there are outliers."""
        once = time_s * np.exp(self.relative_sd(time_s, usual_s) * draws.standard_normal(time_s.size))
        disturbed = (draws.random(time_s.size) < 0.05) & (self.kind == "outliers")
        return once * np.where(disturbed, draws.uniform(1.3, 3, time_s.size), 1.0)


def one(number, seed):
    """Of one program: form, noise, runs, and per target where it lies, whether it is held, width and oracle's width."""
    draws = np.random.default_rng([seed, number])
    form, kind, count = list(FORMS)[number % len(FORMS)], str(draws.choice(NOISES)), int(draws.choice(list(DESIGNS)))
    levels, others, repetitions = DESIGNS[count][draws.integers(len(DESIGNS[count]))]
    made = program(form, draws)
    beyond = made.beyond
    step = 2.0 if beyond == "P" else float(draws.choice([1.5, 2.0]))
    far, other = np.round(step ** np.arange(levels) * (1 if beyond == "P" else 1000)), 2.0 ** np.arange(others)
    grid = [axis.ravel() for axis in np.meshgrid(far, other * (1000 if beyond == "P" else 1))]
    n, p = (np.tile(axis, repetitions) for axis in (grid if beyond == "N" else grid[::-1]))
    most, scale = (n.max(), p.max()), float(np.exp(draws.uniform(0, 7)))
    noise = Noise(kind, _share(draws, 0.005, 0.08), draws.uniform(0.3, 0.8) if kind == "growing" else 0.0)

    def truth(n, p):
        return scale * made.time_s(n / most[0], p / most[1])

    def between(axis):
        return np.exp(draws.uniform(np.log(axis.min()), np.log(axis.max()), 4))

    asked = {"N": between(n), "P": between(p)}
    asked[beyond][2:] = far[-1] * np.exp(draws.uniform(np.log(2), np.log(4), 2))
    asked = {name: np.round(axis) for name, axis in asked.items()}
    usual = float(np.median(truth(n, p)))
    times, wanted = (noise.run(truth(*where), usual, draws) for where in ((n, p), (asked["N"], asked["P"])))
    found = fit({"t": made.formula}, {"t": make_runs({"N": n, "P": p}, times)}).predict(asked, level=LEVEL)
    low, high = found.prediction_s.T
    width = oracle(made, noise, usual / scale, (n / most[0], p / most[1]), (asked["N"] / most[0], asked["P"] / most[1]),
                   times)  # fmt: skip
    held = (low <= wanted) & (wanted <= high)
    rows = zip(("inside", "inside", "beyond", "beyond"), held, np.log(high / low), width, strict=True)
    return [(form, kind, count, *row, float(np.log(found.mean_s[k] / truth(asked["N"], asked["P"])[k])))
            for k, row in enumerate(rows)]  # fmt: skip


def oracle(made, noise, usual, runs, asked, times):
    """Widths of intervals, as logarithms, of one who fits the very costs and knows how noise goes with size."""
    if made.power:
        seen, wanted = (np.column_stack([np.ones(n.size), np.log(n), np.log(p)]) for n, p in (runs, asked))
        values = np.log(times)
    else:
        seen, wanted = (np.column_stack(made.costs(*where)) / made.time_s(*where)[:, None] for where in (runs, asked))
        values = times / made.time_s(*runs)
    spread, later = (noise.relative_sd(made.time_s(*where), usual) for where in (runs, asked))
    inverse = np.linalg.pinv(seen / spread[:, None], rcond=1e-9)
    rest = values / spread - seen / spread[:, None] @ (inverse @ (values / spread))
    freedom = max(times.size - np.linalg.matrix_rank(seen), 1)
    sd = np.sqrt(rest @ rest / freedom * (((wanted @ inverse) ** 2).sum(axis=1) + later**2))
    half = student.ppf((1 + LEVEL) / 2, freedom) * sd * (1.0 if made.power else 1 / abs(np.mean(values)))
    return 2 * half if made.power else np.log1p(half) - np.log(np.maximum(1 - half, 0.01))


# Measured tables


def scopred():
    """Tables of the paper as (name, formula, columns, times)."""
    table = read_shipped_table("papers/scopred_observations.csv")
    application, time_s = np.array(table.text("application")), table.numbers("time_s")
    hpl = "N**3/(3*P*Q) + N**2*(3*P+Q)/(2*P*Q) + N*log(P) + N*P"
    for name, formula in (("EP", "N/P"), ("FT", "(N/P)*log(N)"), ("HPL", hpl)):
        own = (application == name) & (time_s >= 0.1)
        names = ("N", "P", "Q") if name == "HPL" else ("N", "P")
        values = {n: np.array([float(x or 0) for x in table.text(n)])[own] for n in names}
        for axis, fixed in (("P", "N"), ("N", "P")):
            for value in np.unique(values[fixed]):
                mine = values[fixed] == value
                yield f"ScoPred {name}", formula, axis, {n: x[mine] for n, x in values.items()}, time_s[own][mine]


def kernels():
    """Runs on cores and on a GPU by rows, as far as the file is there."""
    for name, time in (("cpu_speed", "time_s"), ("gpu_speed", "total_s")):
        path, series = DATA / "gpu" / f"{name}.csv", defaultdict(list)
        if not path.exists():
            print(f"skipped: {path}")
            continue
        with path.open(encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                key = tuple(
                    row.get(k) for k in ("kernel", "precision", "columns", "cores_at_once", "core", "b_moved", "pinned")
                )
                series[key].append((float(row["rows"]), float(row[time])))
        for rows in series.values():
            n, time_s = np.array(rows).T
            yield name, "N", "N", {"N": n}, time_s


def speeds():
    """Tables of speeds as (name, sizes, volumes, times)."""
    for name, _, _, values, time_s in kernels():
        yield name, values["N"], values["N"], time_s
    for name in ("cholesky", "dgemm", "naive_matmul"):
        table = read_shipped_table(f"papers/gbbp_{name}.csv")
        yield "papers' kernels", *(table.numbers(column) for column in ("size_elements", "volume", "cpu_s"))


def messages():
    """Message times as (name, bytes, times)."""
    for name in ("tcp", "unix", "pipe"):
        table = read_shipped_table(f"papers/characterisation_{name}.csv")
        yield name, table.numbers("bytes"), table.numbers("one_way_s")
    for file, column, series in (("gpu/transfer", "time_s", ("direction", "pinned")),
                                 ("public/network_falls", "one_way_s", ())):  # fmt: skip
        path, found = DATA / f"{file}.csv", defaultdict(list)
        if not path.exists():
            print(f"skipped: {path}")
            continue
        with path.open(encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                found[tuple(row[k] for k in series)].append((float(row["bytes"]), float(row[column])))
        for rows in found.values():
            yield path.stem, *np.array(rows).T


def ends(values, *, first, below=False):
    """Rows seen and rows asked, up to four times beyond, with each value from the `first` on as the last one seen."""
    logs = np.log(values) * (-1 if below else 1)
    for last in np.unique(logs)[first:-1]:
        seen, asked = logs <= last, (logs > last) & (logs <= last + np.log(4) + 1e-9)
        if asked.any():
            yield seen, asked


def rolling(tables):
    """Smaller rows predict larger ones by fitted run times: name -> whether each one is held, width, error."""
    found = defaultdict(list)
    for name, formula, axis, values, time_s in tables:
        for seen, asked in ends(values[axis], first=3):
            if seen.sum() < formula.count(" + ") + 2:
                continue
            runs = make_runs({n: x[seen] for n, x in values.items()}, time_s[seen])
            told = fit({"t": formula}, {"t": runs}).predict({n: x[asked] for n, x in values.items()}, level=LEVEL)
            found[name] += judged(*told.prediction_s.T, told.mean_s, time_s[asked])
    return found


def rolling_bands(*, below=False):
    """The same by speed bands, whose smaller or larger sizes are seen."""
    found = defaultdict(list)
    for name, sizes, volumes, time_s in speeds():
        for seen, asked in ends(sizes, first=2, below=below):
            repeated = np.unique(sizes[seen]).size < seen.sum()
            order = np.flatnonzero(seen)[np.argsort(sizes[seen], kind="stable")]
            source = recorded(sizes[order], volumes[order], time_s[order], time_s[order])
            band = fit_speed(source, rule=CutRule(band=None if repeated else TABLE_WIDTH)).band
            slow, quick = band.run_interval(sizes[asked], level=LEVEL)
            middle = volumes[asked] / band.speed(sizes[asked])
            found[name] += judged(volumes[asked] / quick, volumes[asked] / slow, middle, time_s[asked])
    return found


def rolling_messages():
    """The same by network models."""
    found = defaultdict(list)
    for name, size, time_s in messages():
        for seen, asked in ends(np.maximum(size, 0.5), first=7):
            points = make_points(size[seen], np.ones(seen.sum()), time_s[seen])
            told = fit_network(points).model.predict(size[asked], level=LEVEL)
            found[name] += judged(told.low_s, told.high_s, told.mean_s, time_s[asked])
    return found


def judged(low, high, mean, true):
    """Of each target whether it is held, the logarithm of high over low, and that of the error without its sign."""
    return list(zip((low <= true) & (true <= high), np.log(high / low), np.abs(np.log(mean / true)), strict=True))


@dataclass(frozen=True)
class Figures:
    """How intervals of a group of targets fared."""

    targets: int
    held: float
    width: float
    """Median of the logarithm of high over low."""
    oracle: float
    ratio: float
    """Median of their ratio."""
    error: float
    """Median of the logarithm of predicted over true mean, without its sign."""


def figures_of(rows):
    """By group."""
    form, kind, count, where, held, width, best, error = map(np.array, zip(*rows, strict=True))
    beyond = where == "beyond"
    whole = {"beyond": beyond, "inside": ~beyond}
    special = {"growing": kind == "growing", "six": (kind == "even") & (count == 6), "outliers": kind == "outliers"}
    groups = whole | special
    groups |= {f"{name}, {side}": mine & whole[side] for name, mine in special.items() for side in whole}
    groups |= {f"beyond, {n} runs": beyond & (count == n) for n in DESIGNS}
    groups |= {f"beyond, {f}": beyond & (form == f) for f in FORMS}
    columns = width, best, width / best, np.abs(error)
    return {
        name: Figures(int(mine.sum()), float(held[mine].mean()), *(float(np.median(one[mine])) for one in columns))
        for name, mine in groups.items()
        if mine.any()
    }


def main(arguments=None):
    """The study; exit code 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=900)
    parser.add_argument("--seed", type=int, default=1000)
    asked = parser.parse_args(arguments)
    found = figures_of([row for number in range(asked.programs) for row in one(number, asked.seed)])
    print(f"{'':24}{'targets':>8}{'held':>8}{'width':>8}{'oracle':>8}{'ratio':>7}{'error':>8}")
    for name, own in found.items():
        bar = "{:10.0%} to {:.0%}".format(*BARS[name]) if name in BARS else ""
        print(
            f"{name:24}{own.targets:8}{own.held:8.1%}{own.width:8.3f}{own.oracle:8.3f}{own.ratio:7.2f}{own.error:8.3f}{bar}"
        )
    tables = {"run times": rolling([*scopred(), *kernels()]), "speeds beyond": rolling_bands(),
              "speeds below": rolling_bands(below=True), "message times": rolling_messages()}  # fmt: skip
    for kind, found_by_name in tables.items():
        print(kind)
        whole = [row for rows in found_by_name.values() for row in rows]
        for name, rows in (found_by_name | {"all": whole}).items():
            held, width, error = np.array(rows, float).T
            print(f"  {name:22}{held.size:8}{held.mean():8.1%}{np.median(width):8.3f}{np.median(error):23.3f}")
    good = all(low <= found[name].held <= high for name, (low, high) in BARS.items())
    return 0 if good and found["beyond"].ratio <= MOST_WIDTH else 1


if __name__ == "__main__":
    raise SystemExit(main())
