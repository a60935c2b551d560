"""The house keeps its rules (`house_rules.py`), and the top level is what it may be.

Each rule runs on the real tree, and on small examples that it must refuse or accept, so that it cannot pass by looking
at nothing.
"""

import shutil
import subprocess

import pytest

from tests.house_rules import (
    LINES,
    ROOT,
    Rule,
    budgets,
    circles,
    clock_owner,
    file_owner,
    forbidden,
    import_order,
    public_only,
    sizes,
    system_owner,
    tree_sources,
)

TOP_LEVEL = {"pyproject.toml", "README.md", "simulator", "advisor", "traces", "scenarios", "tests"}
TOP_LEVEL |= {"Makefile", "LICENSE", "CHANGELOG.md", "CITATION.cff"}

FILES, MODEL, LOG = "simulator/base/files.py", "simulator/models/speed.py", "simulator/engines/log.py"
SEARCH, MEASURING = "advisor/advise/search.py", "simulator/calibration/measure.py"
HOUSE = {
    "simulator/__init__.py": "if TYPE_CHECKING:\n    from simulator.base import calibration, run, units\n"
    "else:\n    __all__, __dir__, __getattr__ = face(__name__)\n",
    "simulator/base/units.py": "",
    "simulator/models/speed_file.py": "from simulator.models.speed import Cut\n",
    "simulator/calibration/__init__.py": "_H = {'measure': 1}\n__all__ = sorted(_H)\n",
}

# rule, path, source, and a part of the breach it must report (None: it must accept).
EXAMPLES: list[tuple[Rule, str, str, str | None]] = [
    (import_order, MODEL, "from simulator.base.files import read_text; from simulator.models import load", None),
    (import_order, MODEL, "from . import load; from ..base.units import parse; import numpy", None),
    (import_order, FILES, "from .units import parse; from simulator.base import ties", None),
    (import_order, FILES, "def f():\n    from simulator import models\n", "py:2: base may not import simulator.models"),
    (import_order, FILES, "from ..models.speed import Cut", "base may not import simulator.models"),
    (import_order, FILES, "import simulator.models", "base may not import simulator.models"),
    (import_order, FILES, "import_module('simulator.models')", "base may not import simulator.models"),
    (import_order, MODEL, "from ..calibration import measure", "models may not import simulator.calibration"),
    (
        import_order,
        MEASURING,
        "from simulator.programs import work; from simulator.calibration import bench",
        None,
    ),
    (import_order, MEASURING, "from simulator import characterisation", "may not import simulator.characterisation"),
    (import_order, MODEL, "import simulator", "models may not import simulator"),
    (import_order, MODEL, "import advisor.cli", "simulator imports advisor"),
    (import_order, SEARCH, "from advisor.report import page", "advise may not import advisor.report"),
    (import_order, SEARCH, "from advisor import wording; from simulator import run", None),
    (import_order, "simulator/misc.py", "", "misc is no room of simulator"),
    (circles, MODEL, "from simulator.base import files", None),
    (circles, MODEL, "def f():\n    from simulator.models import speed_file", "simulator.models.speed"),
    (public_only, SEARCH, "from simulator import calibration, run; from simulator.calibration import measure", None),
    (public_only, SEARCH, "import simulator as sim; sim.run(); sim.calibration.measure(sim.units.parse)", None),
    (public_only, SEARCH, "from simulator.calibration.measure import loop", "calibration.measure.loop"),
    (public_only, SEARCH, "from simulator.base.units import parse", "units.parse"),
    (public_only, SEARCH, "from simulator import files", "simulator.files"),
    (public_only, SEARCH, "import simulator as sim; sim.files.read_text()", "search.py:1: simulator.files"),
    (file_owner, FILES, "open('x')", None),
    (file_owner, SEARCH, "from simulator import files; files.read_text('x'); a.replace(b)", None),
    (file_owner, SEARCH, "open('x')", "open"),
    (file_owner, SEARCH, "path.write_text('x')", "write_text"),
    (file_owner, SEARCH, "from os import replace; replace(a, b)", "os.replace"),
    (system_owner, "simulator/base/machine.py", "a = '/proc/cpuinfo'", None),
    (system_owner, FILES, "a = '/process'", None),
    (system_owner, FILES, "a = f'/proc/{pid}/stat'", "/proc"),
    (clock_owner, "simulator/calibration/measure.py", "import time; time.perf_counter()", None),
    (clock_owner, LOG, "import time; time.sleep(1)", None),
    (clock_owner, LOG, "import time as t; clock = t.perf_counter", "perf_counter"),
    (forbidden, FILES, "with contextlib.suppress(OSError): f()", None),
    (forbidden, FILES, "with contextlib.suppress(Exception): f()", "suppress"),
    (forbidden, FILES, "__import__('os')", "__import__"),
    (sizes, FILES, "def f():\n" + "    a = 1\n" * 59, None),
    (sizes, FILES, "def f():\n" + "    a = 1\n" * 60, "f has 61 lines"),
    (budgets, "advisor/reproduce/gbbp.py", "a = 1\n" * LINES["advisor/reproduce"][0], None),
    (budgets, "advisor/reproduce/gbbp.py", "a = 1\n" * (LINES["advisor/reproduce"][0] + 1), "advisor/reproduce has"),
]
# path, source, and the code of the breach that ruff must report (None: it must accept).
RULES = list(dict.fromkeys(rule for rule, *_ in EXAMPLES))


def test_the_house_keeps_its_rules():
    """In one test, as the whole code is read and walked for them once."""
    sources = tree_sources()
    assert {"simulator/base/errors.py", "advisor/__init__.py"} <= sources.keys()
    assert [fault for rule in RULES for fault in rule(sources)] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_tells_right_from_wrong(rule: Rule):
    for path, source, breach in (rest for tried, *rest in EXAMPLES if tried is rule):
        faults = rule(HOUSE | {path: source})
        if breach is None:
            assert faults == [], source
        else:
            assert faults, source
            assert all(breach in fault for fault in faults), source


def test_few_modules_lie_loose():
    """A stranger looks for rooms: at most three modules beside them, the package's own counted."""
    for package in ("simulator", "advisor"):
        assert len(list((ROOT / package).glob("*.py"))) <= 3


@pytest.mark.skipif(shutil.which("git") is None and (ROOT / ".git").exists(), reason="git is not installed")
def test_the_top_level_holds_only_what_the_owner_allows():
    listing = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    if (ROOT / ".git").exists():
        tracked = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        names = {name.split("/")[0] for name in tracked if name}
    else:  # an unpacked source archive
        names = {path.name for path in ROOT.iterdir()} - {"out", "build", "dist", "PKG-INFO"}
    assert {name for name in names - TOP_LEVEL if not name.startswith(".")} == set()
