"""The order of a queue: which job comes first under each policy; ties in the order of submission."""

from simulator.base.errors import ScenarioError

FCFS, SJF, LJF, WFP3, UNICEP, F1, MULTIFACTOR = range(7)
ORDERS = {
    "fcfs": FCFS,
    "sjf": SJF,
    "ljf": LJF,
    "wfp3": WFP3,
    "unicep": UNICEP,
    "f1": F1,
    "multifactor": MULTIFACTOR,
}
DYNAMIC = WFP3, UNICEP
"""Orders that change at each pass while jobs wait."""
ROOT_2 = 1.4142135623730951
LN_2 = 0.6931471805599453
LOG10_2 = 0.3010299956639812
LAST_TERM = 23
"""Of the series; the next one is below 1e-19."""
FIRST_OF_ALL = -1.0e300
"""One processor under unicep."""


def log2(value: float) -> float:
    """The logarithm of a positive number to base 2, within 1e-15 of it, the same bits on every machine."""
    whole = 0.0
    while value >= 2.0:
        value /= 2.0
        whole += 1.0
    while value < 1.0:
        value *= 2.0
        whole -= 1.0
    if value > ROOT_2:
        value /= 2.0
        whole += 1.0
    part = (value - 1.0) / (value + 1.0)
    square, total, term = part * part, 0.0, LAST_TERM
    while term > 0:
        total = total * square + 1.0 / term
        term -= 2
    return whole + 2.0 * part * total / LN_2


def wfp3(waited: float, estimate: float, processors: float) -> float:
    """The score of WFP3, of times in one unit: the least goes first.

    Source: Tang, Lan, Desai and Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems", 2009.
    """
    ratio = waited / estimate
    return -(ratio * ratio * ratio) * processors


def unicep(waited: float, estimate: float, log2_processors: float) -> float:
    """The score of UNICEP, one processor before all others; source as WFP3's."""
    if log2_processors <= 0.0:
        return FIRST_OF_ALL
    return -waited / (log2_processors * estimate)


def f1(log2_estimate_s: float, processors: float, log2_submitted_s: float) -> float:
    """The score of F1; submissions in seconds since the first one of the stream, plus 1.

    Source: Carastan-Santos and de Camargo, "Obtaining dynamic scheduling policies with simulation and machine
    learning", SC'17.
    """
    return log2_estimate_s * LOG10_2 * processors + 870.0 * (log2_submitted_s * LOG10_2)


def score(order: int, waited_s: float, estimate_s: float, processors: float, submitted_s: float) -> float:
    """A job's score under `WFP3`, `UNICEP` or `F1`."""
    if order == WFP3:
        return wfp3(waited_s, estimate_s, processors)
    if order == UNICEP:
        return unicep(waited_s, estimate_s, log2(processors))
    return f1(log2(estimate_s), processors, log2(submitted_s))


def order_of(name: str) -> int:
    """The number of an order by its name."""
    if name not in ORDERS:
        raise ScenarioError(f"order: there is no {name!r}; take {', '.join(ORDERS)}")
    return ORDERS[name]
