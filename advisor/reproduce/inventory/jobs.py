"""Published averages and schedules of job streams, beside ours: a table per log and source."""

from collections.abc import Iterator
from typing import Any

from advisor.reproduce.comparison import REPEATED, Cell, Compared, half_of_last_digit, in_order, judged
from advisor.reproduce.jobs import SOURCES

CITATION = (
    "E. Gaussier, D. Glesser, V. Reis and D. Trystram: Improving backfilling by using machine learning to predict "
    "running times; D. Tsafrir, Y. Etsion and D. G. Feitelson: Backfilling using system-generated predictions rather "
    "than user runtime estimates; runs of pyss; schedules of Batsim"
)
MISPRINTS = (
    "SDSC-SP2 had 54,006 jobs after cleaning in the study of 2015; edition 4.2-cln has 53,999.",
    "EASY++ is 11 % longer for KTH-SP2 in the study of 2015, and with us, than in the paper of 2007 that defines it.",
)

Document = dict[str, Any]


def tables(result: Document) -> list[Compared]:
    """A table per log and source; figures without a bar are on other data, or of another code path."""
    return list(_tables(result["cells"]))


def _tables(cells: list[Document]) -> Iterator[Compared]:
    for log, source in in_order((cell["log"], cell["source"]) for cell in cells):
        own = [cell for cell in cells if (cell["log"], cell["source"]) == (log, source)]
        found = tuple(map(_cell, own))
        number, title, because = f"{log} {source}", SOURCES[source].title, SOURCES[source].because
        bar = own[0]["bar_percent"]
        if bar is None:
            yield Compared(number, title, REPEATED, because, found)
        else:
            yield judged(number, title, because, found, tolerance=bar)


def _cell(cell: Document) -> Cell:
    rounding = half_of_last_digit(cell["printed"])
    where = f"{cell['policy']}, {cell['estimates']}"
    return Cell(where, cell["measure"], cell["published"], cell["ours"], rounding, cell["unit"])
