"""A policy: in which order jobs of the queue start, who may pass whom, and on which PEs.

The order of a queue: which job comes first under each policy; ties in the order of submission.

Plain functions of numbers with `+ - * /` only, which the compiled engine compiles as they stand: library logarithms
differ in their last bits from one to the next, and so would orders.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from simulator.base.errors import ScenarioError, meant
from simulator.scheduling.own import OwnDecide

__all__ = [
    "DYNAMIC",
    "F1",
    "FCFS",
    "LJF",
    "ORDERS",
    "SJF",
    "UNICEP",
    "WFP3",
    "Backfill",
    "Candidates",
    "Order",
    "Placement",
    "Policy",
    "Processors",
    "SameSecond",
    "f1",
    "log2",
    "order_of",
    "score",
    "unicep",
    "wfp3",
]

Order = Literal["fcfs", "sjf", "ljf", "wfp3", "unicep", "f1"]
Backfill = Literal["none", "easy", "conservative"]
Candidates = Literal["order", "shortest"]
Processors = Literal["counted", "named"]
Placement = Literal["lowest", "fastest", "earliest-finish", "min-min", "memory"]
SameSecond = Literal["instant", "event"]
Sizes = Literal["fixed", "fit"]


@dataclass(frozen=True)
class Policy:
    """What decides who starts when and where.

    Raises
    ------
    ScenarioError
        For unknown words, or two that exclude each other.
    """

    order: Order = "fcfs"
    """Of the queue; ties in the order of submission."""
    backfill: Backfill = "easy"
    candidates: Candidates = "order"
    """In which order jobs are tried that may pass the head (EASY): as in the queue, or by increasing estimate."""
    processors: Processors = "counted"
    """Whether PEs are only counted, or each job gets PEs by number and keeps them."""
    placement: Placement = "lowest"
    """Which of the free PEs, if these are named."""
    same_second: SameSecond = "instant"
    """One pass after all that happens at an instant, or one after each event of it."""
    sizes: Sizes = "fixed"
    """What a moldable job gets: the processes that it asks for, or so many that it is planned to end first."""

    own: OwnDecide | None = field(default=None, compare=False)
    """A function of the user's own that decides in place of order, backfilling and placement."""
    own_name: str = ""

    def __post_init__(self) -> None:
        for name, kind in WORDS.items():
            if (word := getattr(self, name)) not in get_args(kind):
                known = get_args(kind)
                raise ScenarioError(f"{name}: there is no {word!r}; take {', '.join(known)}{meant(word, known)}")
        if self.own is not None:
            self._check_own()
        if self.placement != "lowest" and self.processors == "counted":
            raise ScenarioError(f"placement {self.placement}: counted PEs have no places; take processors named")
        if self.same_second == "event" and self.processors == "named":
            raise ScenarioError("same_second event: a pass after each event is defined for counted PEs; take instant")

    def _check_own(self) -> None:
        """Refuse words that a policy of the user's own would pass over, and give it a name."""
        for name in ("order", "backfill", "candidates", "placement", "sizes"):
            if (word := getattr(self, name)) != getattr(type(self), name):
                raise ScenarioError(f"{name} {word}: a policy of your own decides that itself; leave it out")
        object.__setattr__(self, "own_name", self.own_name or getattr(self.own, "__name__", "own"))

    @property
    def name(self) -> str:
        """Short, with what differs from the usual: `easy`, `sjf easy`, `fcfs conservative named`."""
        if self.own is not None:
            return f"{self.own_name}{' named' if self.processors == 'named' else ''}"
        words = [self.order, "" if self.backfill == "none" else self.backfill]
        words += ["shortest first"] if self.candidates == "shortest" and self.backfill == "easy" else []
        words += [self.processors] if self.processors != "counted" else []
        words += [self.placement] if self.placement != "lowest" else []
        words += ["sizes fit"] if self.sizes == "fit" else []
        return " ".join(word for word in words if word)

    def to_dict(self) -> dict[str, Any]:
        """By field."""
        if self.own is not None:
            return {"own": self.own_name, "processors": self.processors, "same_second": self.same_second}
        return {name: getattr(self, name) for name in WORDS}


WORDS: dict[str, Any] = {
    "order": Order,
    "backfill": Backfill,
    "candidates": Candidates,
    "processors": Processors,
    "placement": Placement,
    "same_second": SameSecond,
    "sizes": Sizes,
}
"""The words that each field may have."""


FCFS, SJF, LJF, WFP3, UNICEP, F1 = range(6)
ORDERS = {"fcfs": FCFS, "sjf": SJF, "ljf": LJF, "wfp3": WFP3, "unicep": UNICEP, "f1": F1}
DYNAMIC = WFP3, UNICEP
"""Orders that change while jobs wait."""
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
