"""The one maker of random generators: streams keyed by what they are for, so that adding a PE shifts no other draw."""

import hashlib

import numpy as np

__all__ = ["stream"]


def stream(seed: int, *key: str | int) -> np.random.Generator:
    """Generator for one use; the same seed and key give the same bits on every machine.

    Parameters
    ----------
    seed
        The user's seed, 0 or more.
    key
        What the draws are for, for example `(replication, PE name, "load")`; different keys give independent streams.
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in key)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *(int(word) for word in words)])))
