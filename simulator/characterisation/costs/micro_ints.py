"""Micro-benchmarks of whole numbers, tests and jumps, chained and apart."""

import numpy as np

from simulator.characterisation.costs.micro import STEPS, VECTOR, Floats, Ints, Program, int_room, ints


def _add_chained(n: int, x: int, y: int) -> int:
    s = x
    for k in range(n):
        s = ((((s ^ k) + x) ^ y) + k) ^ x
    return s


def _multiply_chained(n: int, x: int) -> int:
    s = x
    for k in range(n):
        s = (s * x) ^ k
    return s


def _add_apart(a: Ints, b: Ints, c: Ints, x: int) -> None:
    for k in range(a.size):
        c[k] = a[k] + b[k] - x


def _multiply_apart(a: Ints, b: Ints, c: Ints) -> None:
    for k in range(a.size):
        c[k] = a[k] * b[k]


def _divide_chained(n: int, x: int, y: int) -> int:
    s = x
    for k in range(n):
        s = (s + k) // x + y
    return s


def _divide_apart(a: Ints, c: Ints, x: int) -> None:
    for k in range(a.size):
        c[k] = a[k] // x


def _congruence(n: int, x: int, y: int) -> int:
    s = 1
    for _ in range(n):
        s = (s * x + 11) % y
    return s


def _modulo_apart(a: Ints, c: Ints, x: int) -> None:
    for k in range(a.size):
        c[k] = a[k] % x


def _shifts_chained(n: int, x: int) -> int:
    s = x
    for _ in range(n):
        s ^= (s << 13) & 1048575
        s ^= s >> 7
        s ^= (s << 5) & 1048575
    return s


def _bits_apart(a: Ints, c: Ints) -> None:
    for k in range(a.size):
        c[k] = (a[k] >> 3) & 255


def _sum(a: Ints) -> int:
    s = 0
    for k in range(a.size):
        s += a[k]
    return s


def _mixed_sum(a: Ints) -> int:
    s = 0
    for k in range(a.size):
        s = (s ^ a[k]) + k
    return s


def _compare_apart(a: Ints, x: int) -> int:
    found = 0
    for k in range(a.size):
        if a[k] < x:
            found += 1
    return found


def _branch_foreseen(n: int, x: int) -> int:
    s = 1
    t = 1
    for k in range(n):
        if k & 4:
            s = (s * x) ^ t
        else:
            t = (t + s) ^ k
    return s + t


def _branch_unforeseen(a: Ints, c: Ints, x: int) -> int:
    s = 1
    for k in range(a.size):
        if a[k] < x:
            c[s & 511] = k
            s += 3
        else:
            s = (s * 5) ^ a[k]
    return s


def _choose_chained(a: Ints) -> int:
    s: int = a[0]
    for k in range(a.size):
        s = min(s, a[k])
    return s


def _choose_apart(a: Ints, b: Ints, c: Ints) -> None:
    for k in range(a.size):
        c[k] = max(a[k], b[k])


def _power_apart(a: Ints, c: Ints, x: int) -> None:
    for k in range(a.size):
        c[k] = a[k] ** x


def _negate_chained(n: int, x: int) -> int:
    s = x
    for k in range(n):
        s = -(s ^ k) * x
    return s


def _logic(a: Ints, b: Ints, x: int) -> int:
    found = 0
    for k in range(a.size):
        if (a[k] < x and b[k] > x) or a[k] == b[k]:
            found += k
    return found


def _assign_chained(n: int, x: int) -> int:
    s = x
    t = 1
    u = 2
    for k in range(n):
        kept = s
        s = t ^ k
        t = u + x
        u = kept
    return s + t + u


def _fibonacci(n: int) -> int:
    a = 0
    b = 1
    for _ in range(n):
        c = (a + b) & 1048575
        a = b
        b = c
    return a


def _short_loops(n: int, x: int) -> int:
    s = 1
    for i in range(n):
        for j in range(x):
            s = (s ^ j) + i
    return s


def _while_chained(n: int, x: int) -> int:
    k = 0
    s = 1
    while k < n:
        s = (s ^ k) + x
        k += 1
    return s


def _collatz(n: int) -> int:
    steps = 0
    for first in range(1, n):
        k = first
        while k != 1:
            k = 3 * k + 1 if k & 1 else k >> 1
            steps += 1
    return steps


def _divisors(n: int, x: int) -> int:
    found = 0
    for k in range(3, n):
        for divisor in range(2, x):
            if k % divisor == 0:
                found += divisor
                break
    return found


def _left_out(a: Ints, x: int) -> int:
    s = 1
    for k in range(a.size):
        if a[k] > x:
            continue
        s = (s ^ a[k]) + k
    return s


def _greatest_divisors(a: Ints, b: Ints) -> int:
    s = 0
    for k in range(a.size):
        x = a[k]
        y = b[k]
        while y != 0:
            rest = x % y
            x = y
            y = rest
        s += x
    return s


def _lower_bounds(a: Ints, b: Ints) -> int:
    s = 0
    for k in range(b.size):
        low = 0
        high = a.size
        while low < high:
            middle = (low + high) >> 1
            if a[middle] < b[k]:
                low = middle + 1
            else:
                high = middle
        s += low
    return s


def _pi_counted(n: int, x: int) -> float:
    state = x
    inside = 0
    for _ in range(n):
        state = (state * 48271 + 11) % 2147483648
        u = state / 2147483648.0
        state = (state * 48271 + 11) % 2147483648
        v = state / 2147483648.0
        if u * u + v * v < 1.0:
            inside += 1
    return 4.0 * inside / n


def _rounded(a: Floats, c: Ints, x: float) -> None:
    for k in range(a.size):
        c[k] = int(a[k] * x)


MICROS = (
    Program("int add and bit, chained", _add_chained, lambda: (STEPS, 12345, 999)),
    Program("int multiply, chained", _multiply_chained, lambda: (STEPS, 48271)),
    Program("int add, apart", _add_apart, lambda: (ints(), ints(3), int_room(), 5)),
    Program("int multiply, apart", _multiply_apart, lambda: (ints(), ints(3), int_room())),
    Program("int divide, chained", _divide_chained, lambda: (STEPS, 13, 1000)),
    Program("int divide, apart", _divide_apart, lambda: (ints(), int_room(), 13)),
    Program("int congruence, chained", _congruence, lambda: (STEPS, 48271, 2147483647)),
    Program("int modulo, apart", _modulo_apart, lambda: (ints(), int_room(), 13)),
    Program("int shifts, chained", _shifts_chained, lambda: (STEPS, 12345)),
    Program("int bits, apart", _bits_apart, lambda: (ints(), int_room())),
    Program("int sum", _sum, lambda: (ints(),)),
    Program("int sum mixed with bits", _mixed_sum, lambda: (ints(),)),
    Program("int compare, apart", _compare_apart, lambda: (ints(), 500)),
    Program("branch, foreseen", _branch_foreseen, lambda: (STEPS, 48271)),
    Program("branch, hard to foresee", _branch_unforeseen, lambda: (ints(401), int_room(), 500)),
    Program("int choose, chained", _choose_chained, lambda: (ints(),)),
    Program("int choose, apart", _choose_apart, lambda: (ints(), ints(3), int_room())),
    Program("int power, apart", _power_apart, lambda: (ints(), int_room(), 5)),
    Program("int negate, chained", _negate_chained, lambda: (STEPS, 48271)),
    Program("logic", _logic, lambda: (ints(), ints(3), 500)),
    Program("int assign, chained", _assign_chained, lambda: (STEPS, 12345)),
    Program("fibonacci", _fibonacci, lambda: (STEPS,)),
    Program("short loops", _short_loops, lambda: (STEPS // 5, 5)),
    Program("while, chained", _while_chained, lambda: (STEPS, 12345)),
    Program("collatz", _collatz, lambda: (300,)),
    Program("divisors", _divisors, lambda: (500, 20)),
    Program("some left out", _left_out, lambda: (ints(401), 700)),
    Program("greatest common divisors", _greatest_divisors, lambda: (ints(), ints(3))),
    Program("lower bounds by bisection", _lower_bounds, lambda: (np.sort(ints()), ints(3))),
    Program("pi by counting", _pi_counted, lambda: (STEPS // 5, 12345)),
    Program("float to int", _rounded, lambda: (np.linspace(0.5, 1.5, VECTOR), int_room(), 1000.0)),
)
