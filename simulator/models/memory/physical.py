"""Whether a fitted form makes physical sense: signs and order of latencies and gaps, capacities that differ."""

import numpy as np

from simulator.models.memory.forms import Constants, Form

SAME_CAPACITY = 1.1
"""Factor below which two capacities count as one."""
SAME_TIME = 1e-3
"""Share by which latency or gap of neighbouring levels differ at least, one of them."""


def faults_of(form: Form, constants: Constants) -> tuple[str, ...]:
    """What is not physical about a fit, one line each; none where all is well."""
    kinds = {"latency": constants.latency_s} | ({"gap": constants.gap_s} if form.runs else {})
    found = [
        f"{kind} of level {level + 1}: {value:.3g} s found, {'above' if kind == 'latency' else 'from'} 0 is physical"
        for kind, values in kinds.items()
        for level, value in enumerate(values)
        if value < 0 or (kind == "latency" and value == 0)
    ]
    found += [
        f"{kind} of level {level + 2}: {values[level + 1]:.3g} s found, at least the {values[level]:.3g} s of level "
        f"{level + 1} is physical"
        for kind, values in kinds.items()
        for level in range(form.levels - 1)
        if values[level + 1] < values[level] * (1 - 1e-9)
    ]
    capacities = constants.capacities_words
    found += [
        f"capacity of level {level + 2}: {capacities[level + 1]:.4g} words found, more than the "
        f"{capacities[level]:.4g} of level {level + 1} is physical"
        for level in range(form.levels - 2)
        if capacities[level + 1] < capacities[level] * SAME_CAPACITY
    ]
    found += [
        f"levels {level + 1} and {level + 2}: the same latency and gap found, two levels differ"
        for level in range(form.levels - 1)
        if all(np.isclose(values[level], values[level + 1], rtol=SAME_TIME, atol=0) for values in kinds.values())
    ]
    return tuple(found)
