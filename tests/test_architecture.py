"""The house rules that a machine can check: import order, single owners, forbidden calls, sizes, lazy imports.

A rule takes {path: source} and returns one line per breach. Each runs on the real tree, and on small examples that it
must refuse or accept, so that it cannot pass by looking at nothing.
"""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
LONG_FUNCTION_LINES = 40
LAYERS_HEADING = "# Layers (a module imports only from earlier lines; names on one line do not import each other):"

FILE_OWNERS = ("simulator/files.py", "simulator/calibration/history.py")
SIMPY_OWNERS = ("simulator/engines/actor.py", "simulator/engines/resources/")
CLOCK_OWNERS = ("simulator/calibration/", "simulator/characterisation/", "simulator/sweep.py", "advisor/")
# machine.py reads /proc and /sys itself, because it imports no other room; it opens nothing else.
SYSTEM_OWNERS = ("simulator/machine.py",)

OPENING = {"open", "fdopen", "read_text", "write_text", "read_bytes", "write_bytes"}
CLOCKS = {
    *(f"time.{clock}{unit}" for clock in ("perf_counter", "process_time", "monotonic", "time") for unit in ("", "_ns")),
    *("time.thread_time", "time.thread_time_ns", "time.clock_gettime", "time.clock_gettime_ns"),
    *("resource.getrusage", "os.times", "timeit.default_timer"),
}
MAKERS = {"default_rng", "Generator", "RandomState", "SeedSequence", "PCG64", "Philox", "SFC64", "MT19937"}
FORBIDDEN_CALLS = {"eval", "exec", "__import__"}
FORBIDDEN_MODULES = {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
HEAVY = ["dask", "distributed", "jinja2", "matplotlib", "numba", "numpy", "pandas", "pydantic", "rich"]
HEAVY += ["scipy", "simpy", "yaml"]
TOP_LEVEL = {"pyproject.toml", "README.md", "simulator", "advisor", "traces", "scenarios", "tests"}
TOP_LEVEL |= {"Makefile", "LICENSE", "CHANGELOG.md"}

Sources = dict[str, str]
Rule = Callable[[Sources], list[str]]


# Reading the code


def tree_sources() -> Sources:
    paths = [path for package in ("simulator", "advisor") for path in (ROOT / package).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}


@cache
def tree_of(source: str, path: str) -> ast.Module:
    """Read once for all rules."""
    return ast.parse(source, path)


def parsed(sources: Sources) -> Iterator[tuple[str, ast.Module]]:
    for path, source in sources.items():
        yield path, tree_of(source, path)


def module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(path: str, tree: ast.Module) -> Iterator[tuple[int, str, str | None]]:
    """Line, absolute module, and the name taken from it (None for a plain import), wherever in the file it stands."""
    package = module_name(path).split(".")
    if not path.endswith("__init__.py"):
        package.pop()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and dotted(node.func, {}).endswith("import_module"):
            yield from ((node.lineno, str(part.value), None) for part in node.args if isinstance(part, ast.Constant))


def aliases(tree: ast.Module) -> dict[str, str]:
    """Local name -> what it stands for, as far as imports tell."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`a.b.c` with `a` replaced by what it stands for; `?` for anything but a name at the left end."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, names)}.{node.attr}"
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else "?"


def calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    names = aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.lineno, dotted(node.func, names)


# Import order


def layers(sources: Sources) -> dict[str, int]:
    """Layer number of each room of `simulator`, from the comment in its `__init__.py`."""
    lines = iter(sources["simulator/__init__.py"].splitlines())
    assert LAYERS_HEADING in lines, f"simulator/__init__.py lacks the line {LAYERS_HEADING!r}"
    numbers: dict[str, int] = {}
    for number, line in enumerate(lines):
        if not line.startswith("#   "):
            break
        for name in line[1:].split(","):
            assert name.strip() not in numbers, f"{name.strip()} stands in two layers"
            numbers[name.strip()] = number
    return numbers


def import_order(sources: Sources) -> list[str]:
    ranks = layers(sources)
    faults = []
    for path, tree in parsed(sources):
        if not path.startswith("simulator/") or path == "simulator/__init__.py":
            continue
        own = module_name(path).split(".")[1]
        if own not in ranks:
            faults.append(f"{path}: {own} is in no layer")
            continue
        for line, module, name in imports(path, tree):
            parts = [*module.split("."), *([name] if name else [])]
            if parts[0] == "advisor":
                faults.append(f"{path}:{line}: simulator imports advisor")
            if parts[0] != "simulator":
                continue
            if len(parts) == 1 or parts[1] not in ranks:
                faults.append(
                    f"{path}:{line}: {'.'.join(parts)} is no room of simulator; import from the one that has it"
                )
            elif parts[1] != own and ranks[parts[1]] >= ranks[own]:
                faults.append(f"{path}:{line}: {own} imports {parts[1]}, which is not in an earlier layer")
    return faults


def public_names(source: str) -> set[str]:
    """`__all__` of a module: a literal, or `sorted`, `list`, `[*...]` of module-level literals."""
    values: dict[str, ast.expr] = {}
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name) and node.value:
            values[target.id] = node.value

    def names(node: ast.expr | None) -> set[str]:
        if isinstance(node, ast.Constant):
            return {str(node.value)}
        if isinstance(node, ast.Name) and node.id in values:
            return names(values[node.id])
        if isinstance(node, ast.Call) and dotted(node.func, {}) in {"sorted", "list", "tuple"}:
            return names(node.args[0])
        if isinstance(node, ast.BinOp):
            return names(node.left) | names(node.right)
        if isinstance(node, ast.Starred):
            return names(node.value)
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            return set().union(*(names(part) for part in (node.keys if isinstance(node, ast.Dict) else node.elts)))
        raise AssertionError(f"cannot read __all__ from {ast.dump(node) if node else 'nothing'}")

    return names(values["__all__"]) if "__all__" in values else set()


def public_only(sources: Sources) -> list[str]:
    """`advisor` uses what `simulator` and its subpackages name in `__all__`, and nothing else of it."""
    packages = {
        module_name(path): public_names(source) for path, source in sources.items() if path.endswith("__init__.py")
    }

    def is_public(module: str, name: str | None) -> bool:
        if module not in packages or any(part.startswith("_") for part in module.split(".")):
            return False
        return name is None or name in packages[module] or is_public(f"{module}.{name}", None)

    faults = []
    for path, tree in parsed(sources):
        if not path.startswith("advisor/"):
            continue
        used = {(line, module, name) for line, module, name in imports(path, tree)}
        names = aliases(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and (left := dotted(node.value, names)) in packages:
                used.add((node.lineno, left, node.attr))
        for line, module, name in sorted(used, key=str):
            if module.split(".")[0] == "simulator" and not is_public(module, name):
                faults.append(f"{path}:{line}: {module}{f'.{name}' if name else ''} is not public")
    return faults


# Single owners


def simpy_owner(sources: Sources) -> list[str]:
    return [
        f"{path}:{line}: only {' and '.join(SIMPY_OWNERS)} import simpy"
        for path, tree in parsed(sources)
        if not path.startswith(SIMPY_OWNERS)
        for line, module, _ in imports(path, tree)
        if module.split(".")[0] == "simpy"
    ]


def file_owner(sources: Sources) -> list[str]:
    return [
        f"{path}:{line}: {call} outside {' and '.join(FILE_OWNERS)}"
        for path, tree in parsed(sources)
        if path not in FILE_OWNERS + SYSTEM_OWNERS
        for line, call in calls(tree)
        if (call.split(".")[-1] in OPENING and not call.startswith(("simulator.files.", "webbrowser.")))
        or call in {"os.replace", "os.rename"}
    ]


def system_owner(sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: {node.value!r} outside {SYSTEM_OWNERS[0]}"
        for path, tree in parsed(sources)
        if path not in SYSTEM_OWNERS
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and f"{node.value}/".startswith(("/proc/", "/sys/"))
    ]


def generator_owner(sources: Sources) -> list[str]:
    faults = []
    for path, tree in parsed(sources):
        if path == "simulator/randomness.py":
            continue
        made = [(line, call) for line, call in calls(tree) if call.split(".")[-1] in MAKERS or "numpy.random" in call]
        made += [(line, module) for line, module, _ in imports(path, tree) if module in {"random", "secrets"}]
        faults += [f"{path}:{line}: {what} outside simulator/randomness.py" for line, what in made]
    return faults


def clock_owner(sources: Sources) -> list[str]:
    faults = []
    for path, tree in parsed(sources):
        if path.startswith(CLOCK_OWNERS):
            continue
        names = aliases(tree)
        used = [
            (node.lineno, dotted(node, names)) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)
        ]
        faults += [f"{path}:{line}: {what} measures time" for line, what in used if what in CLOCKS]
    return faults


# Forbidden everywhere, and sizes


def catches_all(node: ast.expr | None) -> bool:
    caught = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(part is None or dotted(part, {}) in {"Exception", "BaseException"} for part in caught)


def forbidden(sources: Sources) -> list[str]:
    faults = []
    for path, tree in parsed(sources):
        found = [(line, f"{call}()") for line, call in calls(tree) if call in FORBIDDEN_CALLS]
        if not path.startswith("advisor/cli/"):
            found += [(line, "print()") for line, call in calls(tree) if call == "print"]
        found += [
            (line, module) for line, module, _ in imports(path, tree) if module.split(".")[0] in FORBIDDEN_MODULES
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and catches_all(node.type):
                bare_raise = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                if node.type is None or dotted(node.type, {}) != "BaseException" or not bare_raise:
                    found.append((node.lineno, "except Exception"))
            elif (
                isinstance(node, ast.Call)
                and dotted(node.func, {}).endswith("suppress")
                and any(map(catches_all, node.args))
            ):
                found.append((node.lineno, "suppress(Exception)"))
        faults += [f"{path}:{line}: {what} is not allowed here" for line, what in found]
    return faults


def functions_longer_than(limit: int, sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: {node.name} has {length} lines"
        for path, tree in parsed(sources)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > limit
    ]


def sizes(sources: Sources) -> list[str]:
    lengths = {path: len(source.splitlines()) for path, source in sources.items()}
    long = [
        f"{path}: {length} lines, at most {MAX_MODULE_LINES}"
        for path, length in lengths.items()
        if length > MAX_MODULE_LINES
    ]
    return long + functions_longer_than(MAX_FUNCTION_LINES, sources)


# The tests

FILES, MODEL, LOG = "simulator/files.py", "simulator/models/speed.py", "simulator/engines/log.py"
SEARCH = "advisor/search.py"
MAP = f"{LAYERS_HEADING}\n#   errors, units\n#   files\n#   models\n#   calibration\n\n__all__ = ['run', 'units']\n"
HOUSE = {
    "simulator/__init__.py": MAP,
    "simulator/calibration/__init__.py": "_H = {'measure': 1}\n__all__ = sorted(_H)\n",
}

# rule, path, source, and a part of the breach it must report (None: it must accept).
EXAMPLES: list[tuple[Rule, str, str, str | None]] = [
    (import_order, MODEL, "from simulator.files import read_text; from simulator.models import load", None),
    (import_order, MODEL, "from . import load; from ..units import parse; import numpy", None),
    (import_order, "simulator/errors.py", "from simulator.units import parse", "errors imports units"),
    (import_order, "simulator/errors.py", "def f():\n    from simulator import units\n", "py:2: errors imports units"),
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
    (public_only, SEARCH, "from simulator.units import parse", "units.parse"),
    (public_only, SEARCH, "from simulator import files", "simulator.files"),
    (public_only, SEARCH, "import simulator.calibration.measure", "calibration.measure"),
    (public_only, SEARCH, "import simulator as sim; sim.files.read_text()", "search.py:1: simulator.files"),
    (simpy_owner, "simulator/engines/actor.py", "import simpy", None),
    (simpy_owner, LOG, "from simpy.events import Event", "simpy"),
    (file_owner, FILES, "open('x')", None),
    (file_owner, SEARCH, "from simulator import files; files.read_text('x'); a.replace(b)", None),
    (file_owner, SEARCH, "open('x')", "open"),
    (file_owner, SEARCH, "Path('x').open()", "open"),
    (file_owner, SEARCH, "path.write_text('x')", "write_text"),
    (file_owner, SEARCH, "from os import replace; replace(a, b)", "os.replace"),
    (system_owner, "simulator/machine.py", "a = '/proc/cpuinfo'", None),
    (system_owner, FILES, "a = '/process'", None),
    (system_owner, FILES, "a = f'/proc/{pid}/stat'", "/proc"),
    (system_owner, FILES, "a = '/sys'", "/sys"),
    (generator_owner, "simulator/randomness.py", "import numpy as np; np.random.default_rng(1)", None),
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
    (sizes, FILES, "a = 1\n" * 400, None),
    (sizes, FILES, "a = 1\n" * 401, "401 lines"),
    (sizes, FILES, "def f():\n" + "    a = 1\n" * 59, None),
    (sizes, FILES, "def f():\n" + "    a = 1\n" * 60, "f has 61 lines"),
]
RULES = list(dict.fromkeys(rule for rule, *_ in EXAMPLES))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule):
    sources = tree_sources()
    assert {"simulator/errors.py", "advisor/__init__.py"} <= sources.keys()
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
