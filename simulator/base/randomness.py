"""The one maker of random generators: streams keyed by what they are for, so that adding a PE shifts no other draw."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats

Words = NDArray[np.uint32]
Longs = NDArray[np.uint64]
Long = tuple[Any, Any]
"""High and low halves of numbers of 128 bits."""
_U64 = np.uint64


def stream(seed: int, *key: str | int) -> np.random.Generator:
    """Generator for one use; the same seed and key give the same bits on every machine.

    `key`: what the draws are for, for example `(replication, PE name, "load")`; different keys give independent
    streams.
    """
    words = np.frombuffer(_digest(key), dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *(int(word) for word in words)])))


def firsts(seed: int, keys: Sequence[tuple[str | int, ...]]) -> Floats:
    """What `stream(seed, *key).random()` is for each of many keys, to the bit, in a tenth of the time; (key,).

    Source: NumPy's SeedSequence (O'Neill, "Developing a seed_seq alternative", 2015) and PCG64 (XSL-RR 128/64, O'Neill,
    2014), both kept as they are by NumPy's promise for bit generators; a test compares.
    """
    words = np.frombuffer(b"".join(map(_digest, keys)), dtype="<u4").reshape(-1, 8)
    seeds = [seed >> shift & 0xFFFFFFFF for shift in range(0, max(1, seed.bit_length()), 32)]
    entropy = [np.full(words.shape[0], word, np.uint32) for word in seeds] + [np.array(word) for word in words.T]
    state = _words(_pool(entropy))
    increment = _plus(_plus((state[2], state[3]), (state[2], state[3])), (_U64(0), _U64(1)))
    high, low = _plus(_times(_plus(increment, (state[0], state[1]))), increment)
    high, low = _plus(_times((high, low)), increment)
    folded, turn = high ^ low, high >> _U64(58)
    drawn = folded >> turn | folded << (_U64(64) - turn & _U64(63))
    return np.asarray((drawn >> _U64(11)) * 2.0**-53, np.float64)


def _digest(key: tuple[str | int, ...]) -> bytes:
    return hashlib.sha256("\x1f".join(f"{type(part).__name__}:{part}" for part in key).encode()).digest()


def _pool(entropy: Sequence[Words]) -> list[Words]:
    """The pool of a SeedSequence of at least four words."""
    factor = 0x43B0D7E5

    def mixed(word: Words) -> Words:
        nonlocal factor
        word, factor = word ^ np.uint32(factor), factor * 0x931E8875 & 0xFFFFFFFF
        word = word * np.uint32(factor)
        return np.asarray(word ^ word >> np.uint32(16))

    def both(one: Words, other: Words) -> Words:
        found = one * np.uint32(0xCA01F9DD) - other * np.uint32(0x4973F715)
        return np.asarray(found ^ found >> np.uint32(16))

    pool = [mixed(word) for word in entropy[:4]]
    for source in range(4):
        for place in range(4):
            if source != place:
                pool[place] = both(pool[place], mixed(pool[source]))
    for word in entropy[4:]:
        pool = [both(own, mixed(word)) for own in pool]
    return pool


def _words(pool: Sequence[Words]) -> list[Longs]:
    """Four words of 64 bits from the pool of a SeedSequence."""
    factor, halves = 0x8B51F9DD, []
    for place in range(8):
        word, factor = pool[place % 4] ^ np.uint32(factor), factor * 0x58F38DED & 0xFFFFFFFF
        word = word * np.uint32(factor)
        halves.append((word ^ word >> np.uint32(16)).astype(np.uint64))
    return [halves[place] | halves[place + 1] << _U64(32) for place in range(0, 8, 2)]


def _plus(one: Long, other: Long) -> Long:
    """Sum of 128 bits, as high and low halves."""
    low = one[1] + other[1]
    return one[0] + other[0] + (low < other[1]), low


def _times(value: Long) -> Long:
    """A number of 128 bits times PCG64's multiplier."""
    high, low = value
    top, bottom = _U64(2549297995355413924), _U64(4865540595714422341)
    half, mask = _U64(32), _U64(0xFFFFFFFF)
    a, b, c, d = low >> half, low & mask, bottom >> half, bottom & mask
    middle = (b * d >> half) + (a * d & mask) + (b * c & mask)
    carried = a * c + (a * d >> half) + (b * c >> half) + (middle >> half)
    return carried + low * top + high * bottom, low * bottom
