"""Apportion in your own programs: who should get how much work on unequal machines, and how sure is that.

Four nodes of eight cores, of two kinds, one of them busy from 13 to 18 h:

>>> import apportion as ap
>>> fast = ap.nodes("fast[1-2]", cores=8, speeds={"stencil": "3 Gflop/s"})
>>> slow = ap.nodes("slow1", cores=8, speeds={"stencil": "1.8 Gflop/s"})
>>> afternoons = ap.busy("13:00", "18:00", processes=8)
>>> shared = ap.nodes("slow2", cores=8, speeds={"stencil": "1.8 Gflop/s"}, load=afternoons)
>>> ethernet = ap.Link("10 GbE", "30us", "10 Gbit/s")
>>> cluster = ap.star(fast, slow, shared, link=ethernet, contention="fair")
>>> stencil = ap.Application("stencil", parameters={"n": 8000, "iterations": 100})
>>> scenario = ap.Scenario(cluster, stencil, {"as-now": "one-per-core"})
>>> print(ap.simulate(scenario))
as-now: 690 ms (664 to 716)
90 % intervals of the true mean: noise included, nothing of the models is said to be unknown; 200 replications
>>> print(ap.advise(scenario))  # doctest: +ELLIPSIS
Give 332 to 348 rows to each core of fast[1-2], 199 to 209 of slow1 and 100 to 104 of slow2: ...
Predicted makespan: mean 466 ms, joint; as-now: 690 ms (664 to 716).
>>> print(ap.what_if(scenario, {"platform.network.link.bandwidth": ["x4"]}))
No change pays: none is more than 1 % faster than the scenario as it is.
90 % intervals of the true mean: noise included, nothing of the models is said to be unknown; 200 replications

`load`, `simulate`, `advise`, `what_if` and `verify` take a scenario, its file, or a shipped name such as "two-cores";
`measure` makes the scenario of this machine; `plot` draws any result, model or load trace. Names are resolved when
first used: importing the module costs nothing.
"""

# mypy: implicit-reexport
from typing import TYPE_CHECKING

from simulator import faces

if TYPE_CHECKING:
    from advisor.advise.recommendation import Recommendation
    from advisor.facade.asking import advise, load, measure, save, simulate, verify, what_if
    from advisor.facade.mapping import Mapped, map
    from advisor.figures import plot
    from advisor.verification.check import Verified
    from advisor.whatif.asking import WhatIf
    from simulator import (
        PE,
        Application,
        ApportionError,
        CalibrationError,
        Configuration,
        Link,
        LinkModel,
        Load,
        LoadTrace,
        Network,
        Node,
        Nodes,
        Platform,
        Repartition,
        RunSet,
        Scenario,
        ScenarioError,
        SpeedBand,
        balance,
        bus,
        busy,
        mesh,
        nodes,
        read_trace,
        star,
        torus,
        tree,
        uniform,
    )
else:
    __all__, __dir__, __getattr__ = faces.face(__name__)
