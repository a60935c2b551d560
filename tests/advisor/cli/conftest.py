"""What tests of all commands share."""

import json
import shlex

import pytest

from advisor.whatif import plan_whatif
from simulator import shipped
from simulator.experiments.whatif import read_varied
from tests.support.command_line import apportion_here
from tests.support.modes_reached import DATA, SMALL, STRIPS, write_tables
from tests.support.once import made_once

SWEPT = {
    "format": 2,
    "kind": "speed",
    "kernel": "triad",
    "model": {"sizes": [1e3, 1e6]} | {name: [2e9, 1e9] for name in ("low", "mid", "high")},
    "points": [
        {"size_elements": size, "speed": {"low": v, "mid": v, "high": v}} for size, v in ((1e3, 2e9), (1e6, 1e9))
    ],
}
"""A speed model of a kernel that sweeps memory."""


SCENARIOS = shipped.path_of("scenarios/tutorial/two-cores.yaml").parents[1]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Models, traces and runs of all kinds."""
    folder = made_once(tmp_path_factory, "prepared", prepare)
    point = plan_whatif(folder / "small.yaml", [read_varied("platform.link.latency=x1,x2")], advise=False).points[1]
    return {"w": folder, "s": SCENARIOS, "d": DATA, "hash": point.hash}


def prepare(folder):
    """Fill a folder with them."""

    def make(text):
        done = apportion_here(*shlex.split(text.format(s=SCENARIOS)), cwd=folder)
        assert done.returncode == 0, (text, done.stderr)

    (folder / "small.yaml").write_text(SMALL)
    (folder / "strips.yaml").write_text(STRIPS)
    (folder / "sized.yaml").write_text(SMALL.replace("mid: [3e9, 3e9]", "mid: [3e9, 2e9]"))
    write_tables(folder)
    (folder / "swept.json").write_text(json.dumps(SWEPT))
    make("trace generate ar1 --set mean=1 --set deviation=0.5 --set correlation=0.9 --duration 5min -o t.csv")
    make("trace generate ar1 --set mean=2 --set deviation=1 --set correlation=0.5 --duration 5min -o other.csv")
    make("calibrate speed --replay {s}/papers/gbbp_dgemm.csv --method gbbp -o speed.json")
    make("calibrate memory --replay apex.csv -o memory.json")
    make("calibrate network --replay {s}/papers/characterisation_unix.csv -o link.json")
    make("calibrate neighbours --replay visits.csv --cache L3=32MB -o neighbours.json")
    make("fit {s}/tutorial/hpl-runs.csv --formula N**3/P -o runtime.json")
    make("fit job-times.csv --formula 'limit_s + processors' -o job-times.json")
    make("fit other-times.csv --formula 'limit_s + processors' -o other-times.json")
    make("history import runs.csv --app hpl --history h.sqlite")
    make("simulate small.yaml -o results")
    make("allocate fit {s}/tutorial/allocation-runs.csv -o alloc.json")
    make("allocate plan {s}/tutorial/platforms/unequal-cores.yaml --sizes 400,800,1200 -o plan.json")
