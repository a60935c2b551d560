"""The house keeps its rules (`house_rules.py`), the command line is light, and the top level is what it may be.

Each rule runs on the real tree, and on small examples that it must refuse or accept, so that it cannot pass by looking
at nothing.
"""

import subprocess
import sys

import pytest

from tests.house_rules import (
    LAYERS_HEADING,
    LONG_FUNCTION_LINES,
    ROOT,
    Rule,
    clock_owner,
    file_owner,
    forbidden,
    functions_longer_than,
    generator_owner,
    import_order,
    layers,
    public_only,
    simpy_owner,
    sizes,
    system_owner,
    tree_sources,
)

HEAVY = ["dask", "distributed", "jinja2", "matplotlib", "numba", "numpy", "pandas", "pydantic", "rich"]
HEAVY += ["scipy", "simpy", "yaml"]
TOP_LEVEL = {"pyproject.toml", "README.md", "simulator", "advisor", "traces", "scenarios", "tests"}
TOP_LEVEL |= {"Makefile", "LICENSE", "CHANGELOG.md"}

FILES, MODEL, LOG = "simulator/base/files.py", "simulator/models/speed.py", "simulator/engines/log.py"
SEARCH = "advisor/search.py"
MAP = f"{LAYERS_HEADING}\n#   errors, units\n#   files\n#   models\n#   calibration\n\n__all__ = ['run', 'units']\n"
HOUSE = {
    "simulator/__init__.py": MAP,
    "simulator/calibration/__init__.py": "_H = {'measure': 1}\n__all__ = sorted(_H)\n",
}

# rule, path, source, and a part of the breach it must report (None: it must accept).
EXAMPLES: list[tuple[Rule, str, str, str | None]] = [
    (import_order, MODEL, "from simulator.base.files import read_text; from simulator.models import load", None),
    (import_order, MODEL, "from . import load; from ..units import parse; import numpy", None),
    (import_order, "simulator/base/errors.py", "from simulator.base.units import parse", "errors imports units"),
    (
        import_order,
        "simulator/base/errors.py",
        "def f():\n    from simulator import units\n",
        "py:2: errors imports units",
    ),
    (import_order, FILES, "from .models.speed import Cut", "files imports models"),
    (import_order, FILES, "from . import models", "files imports models"),
    (import_order, FILES, "import simulator.models", "files imports models"),
    (import_order, FILES, "import_module('simulator.models')", "files imports models"),
    (import_order, MODEL, "from ..calibration import measure", "models imports calibration"),
    (import_order, MODEL, "import simulator", "simulator is no room"),
    (import_order, MODEL, "from simulator import run", "simulator.run is no room"),
    (import_order, MODEL, "import advisor.cli", "imports advisor"),
    (import_order, "simulator/misc.py", "", "misc is in no layer"),
    (public_only, SEARCH, "from simulator import calibration, run; from simulator.calibration import measure", None),
    (public_only, SEARCH, "import simulator as sim; sim.run(); sim.calibration.measure(sim.units.parse)", None),
    (public_only, SEARCH, "from simulator.calibration.measure import loop", "calibration.measure.loop"),
    (public_only, SEARCH, "from simulator.calibration import loop", "calibration.loop"),
    (public_only, SEARCH, "from simulator.base.units import parse", "units.parse"),
    (public_only, SEARCH, "from simulator import files", "simulator.base.files"),
    (public_only, SEARCH, "import simulator.calibration.measure", "calibration.measure"),
    (public_only, SEARCH, "import simulator as sim; sim.files.read_text()", "search.py:1: simulator.base.files"),
    (simpy_owner, "simulator/engines/actor.py", "import simpy", None),
    (simpy_owner, LOG, "from simpy.events import Event", "simpy"),
    (file_owner, FILES, "open('x')", None),
    (file_owner, SEARCH, "from simulator import files; files.read_text('x'); a.replace(b)", None),
    (file_owner, SEARCH, "open('x')", "open"),
    (file_owner, SEARCH, "Path('x').open()", "open"),
    (file_owner, SEARCH, "path.write_text('x')", "write_text"),
    (file_owner, SEARCH, "from os import replace; replace(a, b)", "os.replace"),
    (system_owner, "simulator/base/machine.py", "a = '/proc/cpuinfo'", None),
    (system_owner, FILES, "a = '/process'", None),
    (system_owner, FILES, "a = f'/proc/{pid}/stat'", "/proc"),
    (system_owner, FILES, "a = '/sys'", "/sys"),
    (generator_owner, "simulator/base/randomness.py", "import numpy as np; np.random.default_rng(1)", None),
    (generator_owner, MODEL, "import numpy as np; draw = lambda g: g.random(); kind = np.random.Generator", None),
    (generator_owner, MODEL, "import numpy as np; np.random.default_rng()", "default_rng"),
    (generator_owner, MODEL, "import numpy as np; np.random.seed(1)", "seed"),
    (generator_owner, MODEL, "from random import shuffle", "random"),
    (clock_owner, "simulator/calibration/measure.py", "import time; time.perf_counter()", None),
    (clock_owner, LOG, "import time; time.sleep(1)", None),
    (clock_owner, LOG, "import time as t; clock = t.perf_counter", "perf_counter"),
    (clock_owner, LOG, "from resource import getrusage; getrusage(0)", "getrusage"),
    (forbidden, "advisor/cli/show.py", "print(re.compile('a'), model.eval())", None),
    (forbidden, FILES, "try: f()\nexcept BaseException:\n    g()\n    raise\n", None),
    (forbidden, FILES, "print(1)", "print"),
    (forbidden, FILES, "eval('1')", "eval"),
    (forbidden, FILES, "import pickle", "pickle"),
    (forbidden, FILES, "try: f()\nexcept (OSError, Exception): pass\n", "except Exception"),
    (forbidden, FILES, "try: f()\nexcept: pass\n", "except Exception"),
    (forbidden, FILES, "with contextlib.suppress(Exception): f()", "suppress"),
    (sizes, FILES, "def f():\n" + "    a = 1\n" * 59, None),
    (sizes, FILES, "def f():\n" + "    a = 1\n" * 60, "f has 61 lines"),
]
RULES = list(dict.fromkeys(rule for rule, *_ in EXAMPLES))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule):
    sources = tree_sources()
    assert {"simulator/base/errors.py", "advisor/__init__.py"} <= sources.keys()
    assert rule(sources) == []


@pytest.mark.parametrize(("rule", "path", "source", "breach"), EXAMPLES)
def test_a_rule_tells_right_from_wrong(rule: Rule, path: str, source: str, breach: str | None):
    faults = rule(HOUSE | {path: source})
    if breach is None:
        assert faults == []
    else:
        assert faults
        assert all(breach in fault for fault in faults)


def test_every_layer_is_named_once():
    with pytest.raises(AssertionError, match="two layers"):
        layers({"simulator/__init__.py": f"{LAYERS_HEADING}\n#   errors\n#   units, errors\n"})
    with pytest.raises(AssertionError, match="lacks the line"):
        layers({"simulator/__init__.py": "#   errors\n"})


def test_long_functions_are_listed():
    """Not a failure: `pytest -rP -k listed` shows the functions to shorten next."""
    print(*functions_longer_than(LONG_FUNCTION_LINES, tree_sources()), sep="\n")


def test_the_command_line_imports_nothing_heavy():
    code = f"import sys, advisor.cli; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_the_top_level_holds_only_what_the_owner_allows():
    listing = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    if (ROOT / ".git").exists():
        tracked = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        names = {name.split("/")[0] for name in tracked if name}
    else:  # an unpacked source archive
        names = {path.name for path in ROOT.iterdir()} - {"out", "build", "dist", "PKG-INFO"}
    assert {name for name in names - TOP_LEVEL if not name.startswith(".")} == set()
