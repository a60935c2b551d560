"""The characterisation paper's study repeated: a recording of kernels at sizes that taught nothing, by every method.

Errors due to the resource model alone are errors minus those of component timing, as in the paper; their sizes are
summed up as in its table 7. Costs of IntCC and ICC were fitted twice: with the kernel's own runs at other sizes, which
weigh as much as those of all other kernels together, and without any of its runs.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from advisor.reproduce.comparison import in_order
from simulator.calibration import read_shipped_table
from simulator.models import ErrorStatistics, error_statistics

SHIPPED = "papers/characterisation_study.csv"
MODELS = ("icc", "intcc", "hllc", "poc", "dbc")
"""Resource models, from the one that knows most to the one that knows least."""
PAPER = {"icc": 0.80, "hllc": 8.19, "poc": 45.58}
"""Mean errors due to the resource models in percent: table 7."""
BOUNDS = {"icc": 10.0, "intcc": 25.0, "hllc": 25.0}
"""Mean errors in percent that would do."""

Statistics = Mapping[str, ErrorStatistics]
"""Of the errors of each method, in percent."""


@dataclass(frozen=True)
class Recorded:
    """What a method said of a kernel at a size, and what that took."""

    kernel: str
    n: float
    method: str
    predicted_s: float
    untaught_s: float
    """Predicted without any run of the kernel."""
    measured_s: float

    def error_percent(self, said_s: float) -> float:
        """Signed."""
        return 100 * (said_s - self.measured_s) / self.measured_s


@dataclass(frozen=True)
class Erred:
    """Errors of a prediction, signed; those due to the resource model are beyond that of component timing."""

    kernel: str
    n: float
    method: str
    error_percent: float
    resource_model_error_percent: float
    untaught_resource_model_error_percent: float


@dataclass(frozen=True)
class Bound:
    """The mean error of a method that would do, and whether it is kept."""

    percent: float
    kept: bool


@dataclass(frozen=True)
class Study:
    """Errors of each prediction, their statistics by method and by kernel, and the finding in words."""

    errors: tuple[Erred, ...]
    component_timing: ErrorStatistics
    taught: Statistics
    untaught: Statistics
    by_kernel: Mapping[str, Mapping[str, float]]
    bounds: Mapping[str, Bound]
    finding: tuple[str, ...]


def read_rows() -> list[Recorded]:
    """The recorded predictions and measurements: a row for each kernel, size and method."""
    table = read_shipped_table(SHIPPED)
    columns = (table.numbers(name).tolist() for name in ("predicted_s", "untaught_s", "measured_s"))
    named = table.text("kernel"), table.numbers("n").tolist(), table.text("method")
    return [Recorded(*row) for row in zip(*named, *columns, strict=True)]


def judge(rows: Sequence[Recorded]) -> Study:
    """Compare predictions with what was measured, by method, by kernel and with the paper's order."""
    timing = {(row.kernel, row.n): row.error_percent(row.predicted_s) for row in rows if row.method == "ct"}
    errors = []
    for row in rows:
        own, untaught = row.error_percent(row.predicted_s), row.error_percent(row.untaught_s)
        timed = timing[row.kernel, row.n]
        errors.append(Erred(row.kernel, row.n, row.method, own, own - timed, untaught - timed))
    with_own = _statistics((one.method, one.resource_model_error_percent) for one in errors)
    without = _statistics((one.method, one.untaught_resource_model_error_percent) for one in errors)
    return Study(
        errors=tuple(errors),
        component_timing=error_statistics([abs(error) for error in timing.values()]),
        taught=with_own,
        untaught=without,
        by_kernel=_by_kernel(errors),
        bounds={name: Bound(most, with_own[name].mean <= most) for name, most in BOUNDS.items() if name in with_own},
        finding=tuple(finding(with_own, without)),
    )


def finding(taught: Statistics, untaught: Statistics) -> list[str]:
    """Which method is worth its effort here, and whether the paper's order holds."""
    said = [_order("order, kernels' own runs at other sizes among what costs are fitted to", taught)]
    said.append(_order("order, no run of the kernel that is judged", untaught))
    for name, statistics in (("with those runs", taught), ("without them", untaught)):
        order = [method for method in _sorted(statistics) if method in PAPER]
        pairs = itertools.pairwise(order)
        clear = all(_apart(statistics[a], statistics[b]) for a, b in pairs)
        same = order == list(PAPER)
        verdict = "holds" if same else f"does not hold: {', '.join(map(str.upper, order))}"
        sure = "intervals apart" if clear else "intervals of neighbours overlap"
        said.append(f"the paper's order (ICC, HLLC, POC) {verdict}, {name} ({sure})")
    least = _sorted(untaught)[0]
    best = _sorted(taught)[0]
    said.append(
        f"worth its effort: {best.upper()} where the kernel itself can be run small ({_mean(taught, best)}), "
        f"{least.upper()} where it cannot ({_mean(untaught, least)}); component timing beats both where it can be had"
    )
    said.append(
        "costs that add up know neither what overlaps nor vectors: an addition takes an eighth of a cycle in a vector "
        "loop and three in a chain, so that one cost per operation is wrong for both; on the paper's T800 nothing "
        "overlapped but two units, which its equation 7 takes off; ICC here takes off all that overlaps within a loop"
    )
    return said


def _statistics(errors: Iterable[tuple[str, float]]) -> Statistics:
    """Of the sizes of errors, each with its method."""
    sizes: dict[str, list[float]] = {}
    for method, error in errors:
        sizes.setdefault(method, []).append(abs(error))
    return {method: error_statistics(sizes[method]) for method in MODELS if method in sizes}


def _by_kernel(errors: Sequence[Erred]) -> dict[str, dict[str, float]]:
    """Mean sizes of the errors due to resource models."""
    found: dict[str, dict[str, float]] = {}
    for kernel in in_order(row.kernel for row in errors):
        own = _statistics((row.method, row.resource_model_error_percent) for row in errors if row.kernel == kernel)
        found[kernel] = {method: one.mean for method, one in own.items()}
    return found


def _order(what: str, statistics: Statistics) -> str:
    return f"{what}: " + ", ".join(f"{name.upper()} {_mean(statistics, name)}" for name in _sorted(statistics))


def _mean(statistics: Statistics, name: str) -> str:
    return f"{statistics[name].mean:.1f} % ({_interval(statistics[name])})"


def _interval(one: ErrorStatistics) -> str:
    return f"{_number(one.ci90_low)} to {_number(one.ci90_high)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _apart(one: ErrorStatistics, other: ErrorStatistics) -> bool:
    """Whether the interval of the first mean lies below that of the other."""
    return one.ci90_high is not None and other.ci90_low is not None and one.ci90_high < other.ci90_low


def _sorted(statistics: Statistics) -> list[str]:
    return sorted(statistics, key=lambda name: statistics[name].mean)
