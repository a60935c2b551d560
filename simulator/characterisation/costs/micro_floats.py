"""Micro-benchmarks of arithmetic with fractions, chained and apart."""

from math import exp, log, sin, sqrt

from simulator.characterisation.costs.micro import STEPS, Floats, Program, floats, room


def _add_chained(n: int, x: float, y: float) -> float:
    s = x
    for _ in range(n):
        s = s + x + y + x + y
    return s


def _multiply_chained(n: int, x: float, y: float) -> float:
    s = x
    for _ in range(n):
        s = s * x * y * x * y
    return s


def _horner_chained(n: int, x: float, y: float) -> float:
    s = x
    for _ in range(n):
        s = s * x + y
    return s


def _two_chains(n: int, x: float, y: float) -> float:
    s = x
    t = y
    for _ in range(n):
        s = s * x + y
        t = t * y + x
    return s - t


def _add_apart(a: Floats, b: Floats, c: Floats, x: float) -> None:
    for k in range(a.size):
        c[k] = a[k] + b[k] + x + a[k]


def _multiply_apart(a: Floats, b: Floats, c: Floats, x: float) -> None:
    for k in range(a.size):
        c[k] = a[k] * b[k] * x * a[k]


def _polynomial_apart(a: Floats, c: Floats, x: float, y: float) -> None:
    for k in range(a.size):
        z = a[k]
        c[k] = (((z * x + y) * z + x) * z + y) * z + x


def _divide_chained(n: int, x: float, y: float) -> float:
    s = x
    for _ in range(n):
        s = x / (s + y)
    return s


def _divide_apart(a: Floats, b: Floats, c: Floats) -> None:
    for k in range(a.size):
        c[k] = a[k] / b[k]


def _divide_summed(a: Floats, b: Floats) -> float:
    s = 0.0
    for k in range(a.size):
        s += 1.0 / (a[k] * b[k])
    return s


def _sqrt_chained(n: int, x: float) -> float:
    s = x
    for _ in range(n):
        s = sqrt(s + x)
    return s


def _sqrt_apart(a: Floats, c: Floats) -> None:
    for k in range(a.size):
        c[k] = sqrt(a[k])


def _exp_chained(n: int, x: float) -> float:
    s = x
    for _ in range(n):
        s = exp(-s)
    return s


def _exp_apart(a: Floats, c: Floats) -> None:
    for k in range(a.size):
        c[k] = exp(a[k])


def _log_apart(a: Floats, c: Floats) -> None:
    for k in range(a.size):
        c[k] = log(a[k])


def _sin_chained(n: int, x: float) -> float:
    s = x
    for _ in range(n):
        s = sin(s) + x
    return s


def _sin_apart(a: Floats, c: Floats) -> None:
    for k in range(a.size):
        c[k] = sin(a[k])


def _power_apart(a: Floats, c: Floats, x: float) -> None:
    for k in range(a.size):
        c[k] = a[k] ** x


def _negate_apart(a: Floats, c: Floats) -> None:
    for k in range(a.size):
        c[k] = -a[k]


def _negate_chained(n: int, x: float) -> float:
    s = x
    for _ in range(n):
        s = -s * x + 1.0
    return s


def _modulo_chained(n: int, x: float, y: float) -> float:
    s = x
    for _ in range(n):
        s = (s + x) % y
    return s


def _modulo_apart(a: Floats, c: Floats, x: float) -> None:
    for k in range(a.size):
        c[k] = a[k] % x


def _choose_chained(a: Floats) -> float:
    s: float = a[0]
    for k in range(a.size):
        s = max(s, a[k])
    return s


def _choose_apart(a: Floats, b: Floats, c: Floats) -> None:
    for k in range(a.size):
        c[k] = abs(min(a[k], b[k]))


def _compare_apart(a: Floats, x: float) -> int:
    found = 0
    for k in range(a.size):
        if a[k] < x:
            found += 1
    return found


def _largest(a: Floats) -> int:
    place = 0
    best = a[0]
    for k in range(1, a.size):
        if a[k] > best:
            best = a[k]
            place = k
    return place


def _sum(a: Floats) -> float:
    s = 0.0
    for k in range(a.size):
        s += a[k]
    return s


def _dot(a: Floats, b: Floats) -> float:
    s = 0.0
    for k in range(a.size):
        s += a[k] * b[k]
    return s


def _scale_add(a: Floats, b: Floats, x: float) -> None:
    for k in range(a.size):
        b[k] += x * a[k]


def _convert_summed(n: int, x: float) -> float:
    s = 0.0
    for k in range(n):
        s += k * x
    return s


def _convert_apart(c: Floats, x: float) -> None:
    for k in range(c.size):
        c[k] = k * x


def _assign_chained(n: int, x: float) -> float:
    s = x
    t = 1.0
    u = 0.5
    for _ in range(n):
        kept = s
        s = t + x
        t = u
        u = kept
    return s + t + u


def _distance(a: Floats, b: Floats, c: Floats) -> None:
    for k in range(a.size):
        x = a[k] - b[k]
        y = a[k] + b[k]
        c[k] = 1.0 / sqrt(x * x + y * y)


def _two() -> tuple[float, float]:
    return 0.9999, 1.00009


MICROS = (
    Program("float add, chained", _add_chained, lambda: (STEPS, *_two())),
    Program("float multiply, chained", _multiply_chained, lambda: (STEPS, *_two())),
    Program("float multiply and add, chained", _horner_chained, lambda: (STEPS, 0.5, 0.25)),
    Program("float multiply and add, two chains", _two_chains, lambda: (STEPS, 0.5, 0.25)),
    Program("float add, apart", _add_apart, lambda: (floats(), floats(3), room(), 1.5)),
    Program("float multiply, apart", _multiply_apart, lambda: (floats(), floats(3), room(), 1.5)),
    Program("float polynomial, apart", _polynomial_apart, lambda: (floats(), room(), *_two())),
    Program("float divide, chained", _divide_chained, lambda: (STEPS, 1.0, 0.5)),
    Program("float divide, apart", _divide_apart, lambda: (floats(), floats(3), room())),
    Program("float divide, summed", _divide_summed, lambda: (floats(), floats(3))),
    Program("float sqrt, chained", _sqrt_chained, lambda: (STEPS, 1.25)),
    Program("float sqrt, apart", _sqrt_apart, lambda: (floats(), room())),
    Program("float exp, chained", _exp_chained, lambda: (STEPS, 0.5)),
    Program("float exp, apart", _exp_apart, lambda: (floats(), room())),
    Program("float log, apart", _log_apart, lambda: (floats(), room())),
    Program("float sin, chained", _sin_chained, lambda: (STEPS, 0.5)),
    Program("float sin, apart", _sin_apart, lambda: (floats(), room())),
    Program("float power, apart", _power_apart, lambda: (floats(), room(), 1.37)),
    Program("float negate, apart", _negate_apart, lambda: (floats(), room())),
    Program("float negate, chained", _negate_chained, lambda: (STEPS, 0.5)),
    Program("float modulo, chained", _modulo_chained, lambda: (STEPS, 1.3, 0.7)),
    Program("float modulo, apart", _modulo_apart, lambda: (floats(), room(), 0.7)),
    Program("float choose, chained", _choose_chained, lambda: (floats(),)),
    Program("float choose, apart", _choose_apart, lambda: (floats(), floats(3), room())),
    Program("float compare, apart", _compare_apart, lambda: (floats(), 1.0)),
    Program("float largest, its place", _largest, lambda: (floats(),)),
    Program("float sum", _sum, lambda: (floats(),)),
    Program("float dot product", _dot, lambda: (floats(), floats(3))),
    Program("float scaled vector added", _scale_add, lambda: (floats(), floats(3), 1e-9)),
    Program("convert, summed", _convert_summed, lambda: (STEPS, 0.5)),
    Program("convert, apart", _convert_apart, lambda: (room(), 0.5)),
    Program("float assign, chained", _assign_chained, lambda: (STEPS, 0.5)),
    Program("float distance, apart", _distance, lambda: (floats(), floats(3), room())),
)
