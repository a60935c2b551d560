"""The house rules that ruff cannot say: import order, owners of files and clocks, sizes. The rest: pyproject.toml.

A rule takes {path: source} and returns one line per breach.
"""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_FUNCTION_LINES = 60
LONG_FUNCTION_LINES = 40
PIPELINE = {
    "simulator": "base models load_traces platform programs scheduling scenario_file engines results experiments",
    "advisor": (
        "results wording advise jobs strategy verification whatif report figures cluster quickstart reproduce rerun "
        "cli facade"
    ),
}
"""Rooms in their order: each imports itself and rooms before it; `advisor` imports `simulator`, never back."""
ASIDE = "calibration characterisation"
"""Rooms of `simulator` that only `advisor` imports; they use what comes before `scenario_file`, and the one before."""

FILE_OWNERS = ("simulator/base/files.py", "simulator/calibration/history/store.py")
CLOCK_OWNERS = ("simulator/calibration/", "simulator/characterisation/", "simulator/experiments/sweep/", "advisor/")
# machine.py reads /proc and /sys itself, because it imports no other room; it opens nothing else.
SYSTEM_OWNERS = ("simulator/base/machine.py",)

OPENING = {"open", "fdopen", "read_text", "write_text", "read_bytes", "write_bytes"}
CLOCKS = {
    *(f"time.{clock}{unit}" for clock in ("perf_counter", "process_time", "monotonic", "time") for unit in ("", "_ns")),
    *("time.thread_time", "time.thread_time_ns", "time.clock_gettime", "time.clock_gettime_ns"),
    *("resource.getrusage", "os.times", "timeit.default_timer"),
}

LINES = {
    "simulator/base": (4_931, 3_768),
    "simulator/models": (11_776, 11_654),
    "simulator/load_traces": (1_747, 1_747),
    "simulator/platform": (5_051, 5_051),
    "simulator/programs": (8_850, 8_850),
    "simulator/scheduling": (2_767, 2_738),
    "simulator/scenario_file": (7_429, 6_471),
    "simulator/engines": (13_192, 12_690),
    "simulator/results": (4_042, 4_282),
    "simulator/experiments": (1_693, 1_601),
    "simulator/calibration": (14_838, 14_645),
    "simulator/characterisation": (4_724, 4_600),
    "simulator/__init__.py advisor/__init__.py advisor/facade": (817, 898),
    "advisor/advise": (9_025, 8_689),
    "advisor/verification advisor/whatif": (3_637, 3_658),
    "advisor/quickstart advisor/cluster": (1_086, 900),
    "advisor/jobs": (2_372, 2_205),
    "advisor/report advisor/figures advisor/wording.py advisor/results.py advisor/rerun": (6_667, 5_337),
    "advisor/reproduce": (1_560, 1_980),
    "advisor/cli": (6_163, 5_249),
}
"""Lines of Python that rooms may have, and shall have. The first number is only ever lowered, until it is the second; a
new capability raises both, see `simulator/DESIGN.md`. `python -m tests.house_rules` prints where they stand."""

Sources = dict[str, str]
Rule = Callable[[Sources], list[str]]


# Reading the code


@cache
def tree_sources() -> Sources:
    paths = [path for package in ("simulator", "advisor") for path in (ROOT / package).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}


@cache
def tree_of(source: str, path: str) -> ast.Module:
    """Read once for all rules."""
    return ast.parse(source, path)


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Walked once for all rules."""
    return tuple(ast.walk(tree))


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
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and dotted(node.func, {}).endswith("import_module"):
            yield from ((node.lineno, str(part.value), None) for part in node.args if isinstance(part, ast.Constant))


@cache
def aliases(tree: ast.Module) -> dict[str, str]:
    """Local name -> what it stands for, as far as imports tell."""
    found = {}
    for node in nodes(tree):
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


@cache
def calls(tree: ast.Module) -> tuple[tuple[int, str], ...]:
    names = aliases(tree)
    return tuple((node.lineno, dotted(node.func, names)) for node in nodes(tree) if isinstance(node, ast.Call))


# Import order


def may_import(package: str, room: str) -> set[str]:
    """The rooms of its own package that a room may import; empty for what is no room."""
    rooms, aside = PIPELINE[package].split(), ASIDE.split()
    if package == "simulator" and room in aside:
        return {*rooms[: rooms.index("scenario_file")], *aside[: aside.index(room) + 1]}
    return set(rooms[: rooms.index(room) + 1]) if room in rooms else set()


def import_order(sources: Sources) -> list[str]:
    faults = []
    for path, tree in parsed(sources):
        package, *inside = module_name(path).split(".")
        if not inside:  # the package's own public names
            continue
        allowed = may_import(package, inside[0])
        faults += [] if allowed else [f"{path}: {inside[0]} is no room of {package}"]
        for line, module, name in imports(path, tree):
            root, *room = [*module.split("."), *([name] if name else [])]
            if root == "advisor" != package:
                faults.append(f"{path}:{line}: simulator imports advisor")
            elif root == package and not {*room[:1]} & allowed:
                faults.append(f"{path}:{line}: {inside[0]} may not import {'.'.join([root, *room[:1]])}")
    return faults


def circles(sources: Sources) -> list[str]:
    """Modules that import one another in a ring, imports inside functions counted; packages of public names apart."""
    named = {module_name(path): (path, tree) for path, tree in parsed(sources)}
    after = {
        module: {
            target
            for _, source, name in imports(path, tree)
            if (target := f"{source}.{name}" if f"{source}.{name}" in named else source) in named and target != module
        }
        for module, (path, tree) in named.items()
        if not face_of(tree)
    }
    try:
        tuple(TopologicalSorter(after).static_order())
    except CycleError as error:
        return [" imports ".join(reversed(error.args[1]))]
    return []


def face_of(tree: ast.Module) -> set[str]:
    """The public names of a package whose `__init__` is a face (`simulator/base/faces.py`); empty for other modules."""
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    faces = [node for node in blocks if node.orelse and ast.unparse(node.orelse[0]).endswith("face(__name__)")]
    imported = [one for node in faces for one in node.body if isinstance(one, ast.ImportFrom)]
    return {alias.name for one in imported for alias in one.names}


def public_names(source: str) -> set[str]:
    """The names of a face, or `__all__`: a literal, or `sorted`, `list`, `[*...]` of module-level literals."""
    if names_of_face := face_of(ast.parse(source)):
        return names_of_face
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
        for node in nodes(tree):
            if isinstance(node, ast.Attribute) and (left := dotted(node.value, names)) in packages:
                used.add((node.lineno, left, node.attr))
        for line, module, name in sorted(used, key=str):
            if module.split(".")[0] == "simulator" and not is_public(module, name):
                faults.append(f"{path}:{line}: {module}{f'.{name}' if name else ''} is not public")
    return faults


# Single owners


def file_owner(sources: Sources) -> list[str]:
    return [
        f"{path}:{line}: {call} outside {' and '.join(FILE_OWNERS)}"
        for path, tree in parsed(sources)
        if path not in FILE_OWNERS + SYSTEM_OWNERS
        for line, call in calls(tree)
        if (
            call.split(".")[-1] in OPENING
            and not call.startswith(("simulator.base.files.", "simulator.files.", "webbrowser."))
        )
        or call in {"os.replace", "os.rename"}
    ]


def system_owner(sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: {node.value!r} outside {SYSTEM_OWNERS[0]}"
        for path, tree in parsed(sources)
        if path not in SYSTEM_OWNERS
        for node in nodes(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and f"{node.value}/".startswith(("/proc/", "/sys/"))
    ]


def clock_owner(sources: Sources) -> list[str]:
    faults = []
    for path, tree in parsed(sources):
        if path.startswith(CLOCK_OWNERS):
            continue
        names = aliases(tree)
        used = [
            (node.lineno, dotted(node, names)) for node in nodes(tree) if isinstance(node, ast.Attribute | ast.Name)
        ]
        faults += [f"{path}:{line}: {what} measures time" for line, what in used if what in CLOCKS]
    return faults


# Forbidden everywhere, and sizes


def forbidden(sources: Sources) -> list[str]:
    """What ruff lets pass: every exception suppressed, and imports by a call."""
    faults = []
    for path, tree in parsed(sources):
        found = [(line, "__import__()") for line, call in calls(tree) if call == "__import__"]
        found += [
            (node.lineno, "suppress(Exception)")
            for node in nodes(tree)
            if isinstance(node, ast.Call)
            and dotted(node.func, {}).endswith("suppress")
            and {dotted(caught, {}) for caught in node.args} & {"Exception", "BaseException"}
        ]
        faults += [f"{path}:{line}: {what} is not allowed here" for line, what in found]
    return faults


def functions_longer_than(limit: int, sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: {node.name} has {length} lines"
        for path, tree in parsed(sources)
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > limit
    ]


def sizes(sources: Sources) -> list[str]:
    return functions_longer_than(MAX_FUNCTION_LINES, sources)


def lines_of(rooms: str, sources: Sources) -> list[str]:
    """The sources of some rooms."""
    inside = tuple(room if room.endswith(".py") else f"{room}/" for room in rooms.split())
    return [source for path, source in sources.items() if path.startswith(inside)]


def budgets(sources: Sources) -> list[str]:
    counts = {rooms: sum(source.count("\n") for source in lines_of(rooms, sources)) for rooms in LINES}
    return [
        f"{rooms} has {count} lines, {LINES[rooms][0]} are allowed"
        for rooms, count in counts.items()
        if count > LINES[rooms][0]
    ]


def main() -> None:
    """The functions to shorten next; lines and statements of each room, with what it may and shall have."""
    print(*functions_longer_than(LONG_FUNCTION_LINES, tree_sources()), sep="\n")
    sources, whole = tree_sources(), [0, 0]
    print(f"{'lines':>7}{'statements':>12}{'at most':>9}{'goal':>8}  rooms")
    for rooms, (most, goal) in LINES.items():
        own = lines_of(rooms, sources)
        lines = sum(source.count("\n") for source in own)
        statements = sum(isinstance(node, ast.stmt) for source in own for node in ast.walk(ast.parse(source)))
        whole = [whole[0] + lines, whole[1] + statements]
        print(f"{lines:>7}{statements:>12}{most:>9}{goal:>8}  {rooms}")
    print(
        f"{whole[0]:>7}{whole[1]:>12}{sum(most for most, _ in LINES.values()):>9}"
        f"{sum(goal for _, goal in LINES.values()):>8}  in all"
    )


if __name__ == "__main__":
    main()
