"""Polynomials of several names with exact coefficients: sums over ranges, exact division, their formulas."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, lcm
from typing import TypeAlias

_Term: TypeAlias = tuple[tuple[str, int], ...]
"""Names with their powers, by name; () is the constant."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of powers."""

    terms: Mapping[_Term, Fraction]

    def __add__(self, other: "Polynomial") -> "Polynomial":
        found = dict(self.terms)
        for term, factor in other.terms.items():
            found[term] = found.get(term, Fraction(0)) + factor
        return Polynomial({term: factor for term, factor in found.items() if factor})

    def __neg__(self) -> "Polynomial":
        return Polynomial({term: -factor for term, factor in self.terms.items()})

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return self + -other

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        found: dict[_Term, Fraction] = {}
        for one, factor in self.terms.items():
            for two, by in other.terms.items():
                term = _product(one, two)
                found[term] = found.get(term, Fraction(0)) + factor * by
        return Polynomial({term: factor for term, factor in found.items() if factor})

    @property
    def names(self) -> set[str]:
        """Names that occur."""
        return {name for term in self.terms for name, _ in term}

    @property
    def degree(self) -> int:
        """Largest sum of powers."""
        return max((sum(power for _, power in term) for term in self.terms), default=0)

    def put(self, name: str, value: "Polynomial") -> "Polynomial":
        """The polynomial with another one in place of a name."""
        found = NOTHING
        for term, factor in self.terms.items():
            piece = Polynomial({tuple(part for part in term if part[0] != name): factor})
            for _ in range(dict(term).get(name, 0)):
                piece *= value
            found += piece
        return found

    def total(self, name: str, first: "Polynomial", end: "Polynomial") -> "Polynomial":
        """Sum over `name` from `first` to before `end`, as Faulhaber's formulas give it."""
        found = NOTHING
        for term, factor in self.terms.items():
            rest = Polynomial({tuple(part for part in term if part[0] != name): factor})
            power = _power_sum(dict(term).get(name, 0))
            found += rest * (power.put("", end) - power.put("", first))
        return found

    def divide(self, by: "Polynomial") -> "Polynomial | None":
        """The exact quotient, None where there is a remainder."""
        rest, quotient = self, NOTHING
        names = sorted(self.names | by.names)

        def order(term: _Term) -> tuple[int, ...]:
            powers = dict(term)
            return sum(powers.values()), *(powers.get(name, 0) for name in names)

        lead = max(by.terms, key=order, default=None)
        while rest.terms and lead is not None:
            term = max(rest.terms, key=order)
            power = _quotient(term, lead)
            if power is None:
                return None
            step = Polynomial({power: rest.terms[term] / by.terms[lead]})
            quotient, rest = quotient + step, rest - step * by
        return quotient if lead is not None else None

    def text(self) -> str:
        """The formula language's text: the common denominator taken out."""
        if not self.terms:
            return "0"
        scale = lcm(*(factor.denominator for factor in self.terms.values()))
        pieces = [_shown(term, int(factor * scale)) for term, factor in sorted(self.terms.items(), key=_rank)]
        whole = " ".join(pieces).removeprefix("+ ")
        whole = f"-{whole[2:]}" if whole.startswith("- ") else whole
        if scale == 1:
            return whole
        return f"({whole})/{scale}" if len(pieces) > 1 else f"{whole}/{scale}"


NOTHING = Polynomial({})
ONE = Polynomial({(): Fraction(1)})


def constant(value: float | Fraction) -> Polynomial:
    """A number."""
    return Polynomial({(): Fraction(value)} if value else {})


def variable(name: str) -> Polynomial:
    """A name."""
    return Polynomial({((name, 1),): Fraction(1)})


def _product(one: _Term, two: _Term) -> _Term:
    powers = dict(one)
    for name, power in two:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def _quotient(term: _Term, by: _Term) -> _Term | None:
    powers = dict(term)
    for name, power in by:
        powers[name] = powers.get(name, 0) - power
    if min(powers.values(), default=0) < 0:
        return None
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _power_sum(power: int) -> Polynomial:
    """Sum of k^power for k from 0 to before the name "", by Bernoulli numbers."""
    found = NOTHING
    for place, number in enumerate(_bernoulli(power)):
        exponent = power + 1 - place
        found += Polynomial({(("", exponent),): Fraction(comb(power + 1, place)) * number / (power + 1)})
    return found


def _bernoulli(highest: int) -> list[Fraction]:
    numbers = [Fraction(1)]
    for m in range(1, highest + 1):
        numbers.append(-sum((comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0)) / (m + 1))
    return numbers


def _shown(term: _Term, factor: int) -> str:
    """`- 3*n**2*m` of one term with a whole factor."""
    powers = [name if power == 1 else f"{name}**{power}" for name, power in term]
    size = [str(abs(factor))] if abs(factor) != 1 or not powers else []
    return f"{'-' if factor < 0 else '+'} {'*'.join([*size, *powers])}"


def _rank(item: tuple[_Term, Fraction]) -> tuple[int, _Term]:
    """High powers first."""
    return -sum(power for _, power in item[0]), item[0]
