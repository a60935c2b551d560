"""A machine whose computations lose to each other by a known law: tables of visits, and the true ratios.

The formulas are written again here and share no code with what is judged.
"""

import numpy as np

STREAM, CACHED, COMPUTES = ("triad", 3e7), ("triad", 3e6), ("integration", 2e5)
ALONE = {
    # bytes per second of memory, part of the time that waits for it, growth without the cache, seconds, bytes
    COMPUTES: (0, 0, 0, 1e-3, 0),
    STREAM: (12e9, 1, 0, 2e-2, 2.4e8),
    CACHED: (0.5e9, 0.02, 4, 1e-3, 2.4e7),
    ("triad", 6e4): (0, 0, 0, 1e-5, 4.8e5),
    ("dgemm", 4e6): (1.5e9, 0.12, 0.05, 0.1, 3.2e7),
    ("matmul", 4e6): (5e9, 0.6, 0.2, 0.1, 3.2e7),
    ("own", 4e6): (6e9, 0.5, 0.3, 0.1, 3.2e7),
    ("sort", 1e5): (0, 0, 0.1, 0.1, 8e5),
    ("sort", 4e6): (3e9, 0.3, 0.3, 0.1, 3.2e7),
    ("stencil", 4e7): (9e9, 0.9, 0, 0.1, 3.2e8),
}
"""Kernel and size -> what it is like alone."""


def stretched(capacity, exponent, waits, own, others):
    """Time together over time alone where a channel delivers less than is asked for."""
    before, after = ((1 + (asked / capacity) ** exponent) ** (1 / exponent) for asked in (own, own + others))
    return 1 + waits * (after / before - 1)


def crowded(capacity, growth, own, others):
    """The same where a cache holds less than all its users store."""
    if own == 0:
        return 1.0
    held = min(own, capacity * own / (own + others))
    return 1 + growth * (1 - held / min(own, capacity))


def ratio(subject, beside, *, capacity=20e9, exponent=4, cache=3.2e7, clock=(1, 0.97, 0.95, 0.93)):
    """Time together over time alone."""
    own, waits, growth, _, stores = ALONE[subject]
    demand, held = (sum(ALONE[one][place] for one in beside) for place in (0, 4))
    slowed = stretched(capacity, exponent, waits, own, demand) * crowded(cache, growth, stores, held)
    return slowed / clock[min(len(beside), len(clock) - 1)]


NOTHING = {"capacity": 1e15, "cache": 1e15, "clock": (1,)}
"""Of `ratio`: nobody loses anything."""


def cells(cores):
    """What a campaign would measure: each beside probes, probes beside each, copies, all cores at once."""
    found = []
    for one in ALONE:
        found += [(one, (probe,)) for probe in (COMPUTES, STREAM, CACHED)]
        found += [(probe, (one,)) for probe in (STREAM, CACHED)]
        found += [(one, (one,) * (count - 1)) for count in range(2, cores + 1)]
    return list(dict.fromkeys(found))


def visits(*, cores=4, passes=3, noise=0.01, seed=1, **law):
    """A table as `calibrate neighbours --replay` reads it."""
    draws = np.random.default_rng(seed)
    lines = ["subject,size_elements,beside,lone_s,together_s,pass"]
    for number in range(passes):
        for subject, beside in cells(cores):
            lone = ALONE[subject][3] * np.exp(0.2 * draws.standard_normal())  # the machine's mood cancels
            lone = ALONE[subject][3] if subject == STREAM else lone
            together = lone * ratio(subject, beside, **law) * np.exp(noise * draws.standard_normal())
            others = " ".join(f"{kernel}:{size:g}" for kernel, size in beside)
            lines.append(
                f"{subject[0]},{subject[1]:g},{others},{lone!r},{together!r},{number}".replace("np.float64", "")
            )
    return "\n".join(lines).replace("(", "").replace(")", "") + "\n"


def neighbours_document(domains, places, uses, *, pe_count=4):
    """A model of neighbours as `calibrate neighbours` writes it, without what it rests on."""
    nothing = {"beyond": {}, "held_out": {}, "pairs": []}
    measured = {"pe_count": pe_count, "domains": domains, "places": places, "uses": uses, "kernels": ["dgemm", "triad"]}
    return {"format": 2, "kind": "neighbours"} | measured | nothing
