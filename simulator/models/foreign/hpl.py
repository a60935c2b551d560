"""Runs of HPL by its output, HPL.out."""

import re

from simulator.base.errors import ScenarioError
from simulator.models.foreign.printed import (
    Line,
    Printed,
    check_once,
    lines_of,
    not_understood,
    numbers_of,
    table_of,
)

HPL = re.compile(r"^HPLinpack [\d.]+ ", re.MULTILINE)
_RESULT = re.compile(r"^W[RC]\d")
_RESIDUAL = re.compile(r"^\|\|Ax-b\|\|_oo\b.*\.{2,}\s*(\S+)$")
_HEADER = ("T/V", "N", "NB", "P", "Q", "Time", "Gflops")
COLUMNS = ("N", "NB", "P", "Q", "time_s")
HALF_S, UNSURE = 0.006, 0.01
"""By how much seconds may contradict Gflops: half of their last digit, and a share for what versions count."""
FINE_S = 10.0
"""Below it seconds are printed with fewer digits than Gflops."""


def read_hpl(text: str, place: str) -> Printed:
    """Every result with N, NB, P, Q and seconds; one whose residual failed is left out by name."""
    results: list[tuple[Line, list[float], list[str]]] = []
    lines = lines_of(text)
    for line in lines:
        if line[1].startswith("T/V") and tuple(line[1].split()) != _HEADER:
            raise not_understood(line, place, f"write {' '.join(_HEADER)}")
        if _RESULT.match(line[1]):
            results.append((line, _numbers(line, place), []))
        elif match := _RESIDUAL.match(line[1]):
            if not results:
                raise not_understood(line, place, "a residual follows a result")
            results[-1][2].append(match[1])
    failed = [f"{line[1]!r} is left out: its residual failed" for line, _, told in results if set(told) - {"PASSED"}]
    good = [(line, row) for line, row, told in results if not set(told) - {"PASSED"}]
    if not good:
        raise ScenarioError(f"{place}: there is no result of HPL that passed; {'; '.join(failed) or 'run it'}")
    check_once([line[1] for line, _ in good], [line for line, _ in good], place)
    unchecked = sum(not told for _, _, told in results)
    notes = [*failed, *([f"{unchecked} results have no residual: they were not checked"] if unchecked else [])]
    kinds = {line[1].split()[0] for line, _ in good}
    if len(kinds) > 1:
        notes.append(f"runs differ by T/V too ({', '.join(sorted(kinds))}), which no formula sees")
    notes += _ending(lines, len(results), place)
    return Printed(table_of(place, COLUMNS, [row for _, row in good], [line for line, _ in good]), tuple(notes))


def _numbers(line: Line, place: str) -> list[float]:
    """N, NB, P, Q and the seconds, by the Gflops where these are printed more finely."""
    n, nb, p, q, printed_s, gflops = numbers_of(line, place, _HEADER, _HEADER[:1])[1:]
    time_s = (2 / 3 * n**3 + 3 / 2 * n**2) / max(gflops, 1e-9) / 1e9
    if any(value < 1 or value % 1 for value in (n, nb, p, q)):
        raise not_understood(line, place, "write whole N, NB, P and Q of at least 1")
    if abs(time_s - printed_s) > HALF_S + UNSURE * printed_s:
        raise not_understood(line, place, f"its Gflops make {time_s:.4g} s")
    return [n, nb, p, q, time_s if printed_s < FINE_S else printed_s]


def _ending(lines: list[Line], results: int, place: str) -> list[str]:
    """What the end of the file says: how many results there are."""
    finished = next((match for _, line in lines if (match := re.match(r"Finished\s+(\d+) tests with", line))), None)
    if finished is None or not any(line == "End of Tests." for _, line in lines):
        return [f"{place} ends before HPL did: it is cut"]
    if int(finished[1]) != results:
        raise ScenarioError(f"{place}: {results} results stand in it, and it says that there are {finished[1]}")
    return []
