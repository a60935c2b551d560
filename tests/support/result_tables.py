"""A table of results."""

from simulator.results.tables import framed, kind_of

VALUES = {
    "whole": [1, 2, -(2**63)],
    "with none": [1, None, 2**53 + 1],
    "numbers": [1, 0.1, None],
    "yes or no": [True, False, True],
    "or unknown": [True, None, False],
    "texts": ["NA", "007", 'a "b", c\nd'],
    "mixed": [1600, "oops", None],
    "large": [10**30, 1, 2],
    "listed": ["[1, 2]", "null", "None"],
}


def table():
    return framed(VALUES, {name: kind_of(values) for name, values in VALUES.items()})
