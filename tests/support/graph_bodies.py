"""Random bodies of software execution graphs."""

from hypothesis import strategies as st

from simulator.base.formula import parse
from simulator.programs.graphs.nodes import (
    Branch,
    Loop,
    Processing,
    Sequence,
)


def formula(text):
    return parse(text, constant=True)


def step(name, **amounts):
    return Processing(name, {"hllc": amounts})


amounts = st.integers(0, 5)
steps = st.builds(lambda s, c: step("x", store=s, compare=c), amounts, amounts)
chances = st.sampled_from([0.0, 0.25, 0.5, 1.0])
bodies = st.recursive(
    steps,
    lambda inner: st.one_of(
        st.builds(
            lambda n, body: Loop("l", formula(str(n)), body, {"hllc": {"increment": 1}}), st.integers(0, 4), inner
        ),
        st.builds(
            lambda p, a, b: Branch("b", ((formula(str(p)), a), (formula(str(1 - p)), b)), {"hllc": {"compare": 1}}),
            chances,
            inner,
            inner,
        ),
        st.lists(inner, max_size=3).map(lambda parts: Sequence("", tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: Sequence("s", tuple(parts))),
    ),
    max_leaves=12,
)
