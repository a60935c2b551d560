"""The table of micro-benchmarks: what `micro` makes functions of."""

CHAINED = (
    ("float add", "x=0.9999 y=1.00009", "s + x + y + x + y", "x"),
    ("float multiply", "x=0.9999 y=1.00009", "s * x * y * x * y", "x"),
    ("float multiply and add", "x=0.5 y=0.25", "s * x + y", "x"),
    ("float divide", "x=1.0 y=0.5", "x / (s + y)", "x"),
    ("float sqrt", "x=1.25", "sqrt(s + x)", "x"),
    ("float exp", "x=0.5", "exp(-s)", "x"),
    ("float sin", "x=0.5", "sin(s) + x", "x"),
    ("float negate", "x=0.5", "-s * x + 1.0", "x"),
    ("float modulo", "x=1.3 y=0.7", "(s + x) % y", "x"),
    ("int add and bit", "x=12345 y=999", "((((s ^ k) + x) ^ y) + k) ^ x", "x"),
    ("int multiply", "x=48271", "(s * x) ^ k", "x"),
    ("int divide", "x=13 y=1000", "(s + k) // x + y", "x"),
    ("int congruence", "x=48271 y=2147483647", "(s * x + 11) % y", "1"),
    ("int negate", "x=48271", "-(s ^ k) * x", "x"),
)
"""Name, arguments, next value of `s` in step `k`, and its first one."""
APART = (
    ("float add, apart", "a=floats b=floats:3 c=room x=1.5", "a[k] + b[k] + x + a[k]"),
    ("float multiply, apart", "a=floats b=floats:3 c=room x=1.5", "a[k] * b[k] * x * a[k]"),
    ("float divide, apart", "a=floats b=floats:3 c=room", "a[k] / b[k]"),
    ("float sqrt, apart", "a=floats c=room", "sqrt(a[k])"),
    ("float exp, apart", "a=floats c=room", "exp(a[k])"),
    ("float log, apart", "a=floats c=room", "log(a[k])"),
    ("float sin, apart", "a=floats c=room", "sin(a[k])"),
    ("float power, apart", "a=floats c=room x=1.37", "a[k] ** x"),
    ("float negate, apart", "a=floats c=room", "-a[k]"),
    ("float modulo, apart", "a=floats c=room x=0.7", "a[k] % x"),
    ("float choose, apart", "a=floats b=floats:3 c=room", "abs(min(a[k], b[k]))"),
    ("convert, apart", "c=room x=0.5", "k * x"),
    ("int add, apart", "a=ints b=ints:3 c=int_room x=5", "a[k] + b[k] - x"),
    ("int multiply, apart", "a=ints b=ints:3 c=int_room", "a[k] * b[k]"),
    ("int divide, apart", "a=ints c=int_room x=13", "a[k] // x"),
    ("int modulo, apart", "a=ints c=int_room x=13", "a[k] % x"),
    ("int bits, apart", "a=ints c=int_room", "(a[k] >> 3) & 255"),
    ("int choose, apart", "a=ints b=ints:3 c=int_room", "max(a[k], b[k])"),
    ("int power, apart", "a=ints c=int_room x=5", "a[k] ** x"),
    ("float to int", "a=even_floats c=int_room x=1000.0", "int(a[k] * x)"),
    ("copy", "a=floats c=room", "a[k]"),
    ("fill", "c=room x=1.5", "x"),
    ("fill ints", "c=ints", "k"),
)
"""Name, arguments, and value of `c[k]`."""
GATHERED = (
    ("float sum", "a=floats", "0.0", "s += a[k]"),
    ("float dot product", "a=floats b=floats:3", "0.0", "s += a[k] * b[k]"),
    ("float divide, summed", "a=floats b=floats:3", "0.0", "s += 1.0 / (a[k] * b[k])"),
    ("float choose, chained", "a=floats", "a[0]", "s = max(s, a[k])"),
    ("int sum", "a=ints", "0", "s += a[k]"),
    ("int sum mixed with bits", "a=ints", "0", "s = (s ^ a[k]) + k"),
    ("int choose, chained", "a=ints", "a[0]", "s = min(s, a[k])"),
    ("gather, summed", "a=floats at=shuffled", "0.0", "s += a[at[k]]"),
)
"""Name, arguments, first value of `s`, and what is done with each element; `s` is the result."""
NESTED = (
    ("grid, apart", "a=grid c=grid:3 x=1.5", "ij", "c[i, j] = x * a[i, j]"),
    ("grid by columns", "a=grid", "ji", "s += a[i, j]"),
    ("grid transposed", "a=grid c=grid:3", "ij", "c[i, j] = a[j, i]"),
    ("grid plus rank one", "a=grid x=small_floats:7 y=floats:3", "ij", "a[i, j] += x[i] * y[j]"),
    ("grid of ints", "a=int_grid c=int_grid x=12345", "ij", "c[i, j] = a[i, j] ^ x"),
    ("cube summed", "a=cube", "ijk", "s += a[i, j, k]"),
    ("cube, apart", "a=cube c=cube x=1.5", "ijk", "c[i, j, k] = a[i, j, k] + x"),
    ("cube of ints", "a=int_cube c=int_cube", "ijk", "c[i, j, k] = a[i, j, k] + 1"),
)
"""Name, arguments, loops from outside inwards, and what is done with each element."""
OTHERS = """
float multiply and add, two chains: n=steps x=0.5 y=0.25
    s = x
    t = y
    for _ in range(n):
        s = s * x + y
        t = t * y + x
    return s - t

float polynomial, apart: a=floats c=room x=0.9999 y=1.00009
    for k in range(a.size):
        z = a[k]
        c[k] = (((z * x + y) * z + x) * z + y) * z + x

float compare, apart: a=floats x=1.0
    found = 0
    for k in range(a.size):
        if a[k] < x:
            found += 1
    return found

float largest, its place: a=floats
    place = 0
    best = a[0]
    for k in range(1, a.size):
        if a[k] > best:
            best = a[k]
            place = k
    return place

float scaled vector added: a=floats b=floats:3 x=1e-09
    for k in range(a.size):
        b[k] += x * a[k]

convert, summed: n=steps x=0.5
    s = 0.0
    for k in range(n):
        s += k * x
    return s

float assign, chained: n=steps x=0.5
    s = x
    t = 1.0
    u = 0.5
    for _ in range(n):
        kept = s
        s = t + x
        t = u
        u = kept
    return s + t + u

float distance, apart: a=floats b=floats:3 c=room
    for k in range(a.size):
        x = a[k] - b[k]
        y = a[k] + b[k]
        c[k] = 1.0 / sqrt(x * x + y * y)

int shifts, chained: n=steps x=12345
    s = x
    for _ in range(n):
        s ^= (s << 13) & 1048575
        s ^= s >> 7
        s ^= (s << 5) & 1048575
    return s

int compare, apart: a=ints x=500
    found = 0
    for k in range(a.size):
        if a[k] < x:
            found += 1
    return found

branch, foreseen: n=steps x=48271
    s = 1
    t = 1
    for k in range(n):
        if k & 4:
            s = (s * x) ^ t
        else:
            t = (t + s) ^ k
    return s + t

branch, hard to foresee: a=ints:401 c=int_room x=500
    s = 1
    for k in range(a.size):
        if a[k] < x:
            c[s & 511] = k
            s += 3
        else:
            s = (s * 5) ^ a[k]
    return s

logic: a=ints b=ints:3 x=500
    found = 0
    for k in range(a.size):
        if (a[k] < x and b[k] > x) or a[k] == b[k]:
            found += k
    return found

int assign, chained: n=steps x=12345
    s = x
    t = 1
    u = 2
    for k in range(n):
        kept = s
        s = t ^ k
        t = u + x
        u = kept
    return s + t + u

fibonacci: n=steps
    a = 0
    b = 1
    for _ in range(n):
        c = (a + b) & 1048575
        a = b
        b = c
    return a

short loops: n=fewer_steps x=5
    s = 1
    for i in range(n):
        for j in range(x):
            s = (s ^ j) + i
    return s

while, chained: n=steps x=12345
    k = 0
    s = 1
    while k < n:
        s = (s ^ k) + x
        k += 1
    return s

collatz: n=300
    steps = 0
    for first in range(1, n):
        k = first
        while k != 1:
            k = 3 * k + 1 if k & 1 else k >> 1
            steps += 1
    return steps

divisors: n=500 x=20
    found = 0
    for k in range(3, n):
        for divisor in range(2, x):
            if k % divisor == 0:
                found += divisor
                break
    return found

some left out: a=ints:401 x=700
    s = 1
    for k in range(a.size):
        if a[k] > x:
            continue
        s = (s ^ a[k]) + k
    return s

greatest common divisors: a=ints b=ints:3
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

lower bounds by bisection: a=sorted_ints b=ints:3
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

pi by counting: n=fewer_steps x=12345
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

gather, apart: a=floats at=shuffled c=room
    for k in range(at.size):
        c[k] = a[at[k]]

histogram: at=ints:401 c=counters
    for k in range(at.size):
        c[at[k] & 63] += 1

prefix sums: a=floats c=room
    c[0] = a[0]
    for k in range(1, a.size):
        c[k] = c[k - 1] + a[k]

chase: following=ring
    at = 0
    for _ in range(following.size):
        at = following[at]
    return at

reversed: a=floats c=room
    n = a.size
    for k in range(n):
        c[n - 1 - k] = a[k]

stride: a=floats step=4
    s = 0.0
    for k in range(0, a.size, step):
        s += a[k]
    return s

grid times vector: a=grid x=floats y=room
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total

grid of means: a=grid c=grid:3
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            c[i, j] = 0.5 * (a[i - 1, j] + a[i + 1, j])

insertion sort: a=few_ints:401
    for k in range(1, a.size):
        kept = a[k]
        place = k
        while place > 0 and a[place - 1] > kept:
            a[place] = a[place - 1]
            place -= 1
        a[place] = kept

bubble sort, some rounds: a=few_floats:401 rounds=20
    for _ in range(rounds):
        for k in range(a.size - 1):
            if a[k] > a[k + 1]:
                kept = a[k]
                a[k] = a[k + 1]
                a[k + 1] = kept

triangular solve: a=steep_grid x=column
    n = a.shape[0]
    for i in range(n):
        total = x[i]
        for j in range(i):
            total -= a[i, j] * x[j]
        x[i] = total / a[i, i]

complex product: a=floats b=floats:3 c=floats:5 d=floats:9
    for k in range(a.size):
        x = a[k] * c[k] - b[k] * d[k]
        y = a[k] * d[k] + b[k] * c[k]
        a[k] = x
        b[k] = y

merge of two: a=ints:401 c=ints:3
    left = 0
    right = a.size // 2
    for place in range(a.size // 2):
        if a[left] <= a[right]:
            c[place] = a[left]
            left += 1
        else:
            c[place] = a[right]
            right += 1
"""
"""Name and arguments, then the body, indented."""
OVERWRITING = ("insertion sort", "bubble sort, some rounds", "triangular solve", "complex product")
"""Those that spoil their arguments for the next run."""
