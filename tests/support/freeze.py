"""What the product does today, written down before the code moves, and compared after.

    python -m tests.support.freeze record OLD.json
    python -m tests.support.freeze compare OLD.json

Frozen are the options of every command, the `--json` of each command of the README and the tutorials that measures
nothing, `reproduce all`, and the ids of all tests. What changes from run to run (times, the machine, the
provenance) is left out; a test that stands in another file is moved, not gone.
"""

import itertools
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer.main

import advisor.cli
from tests.support import shown
from tests.support.command_line import ROOT, apportion

MEASURES = {"quickstart", "verify"}
WORKSHOP = {"characterise", "resource", "load-check", "history"}
"""What measures in `lab`."""
CHANGING = {"provenance", "machine", "spent"}
PASSING = re.compile(
    r"(compiling the simulator's kernel|\d+ of \d+ points, about) .*\n"  # depends on what was compiled, and on the time
    r"|(sha256:)?\b[0-9a-f]{64}\b|\d{4}-\d\d-\d\dT[\d:+.]+"  # of the code, and of files that hold a time; the time
    r"| at 0x[0-9a-f]+"  # addresses in the ids of tests
)
TEXTS = ("README.md", *(f"scenarios/tutorial/{path.name}" for path in sorted(ROOT.glob("scenarios/tutorial/*.md"))))


def commands(text: str) -> Iterator[list[str]]:
    """Arguments of the commands that a text shows with their output, up to the first one that measures."""
    return itertools.takewhile(lambda words: not measures(words), (words for words, _ in shown.commands(text)))


def measures(arguments: list[str]) -> bool:
    in_lab = arguments[0] == "lab" and arguments[1] in WORKSHOP
    return arguments[0] in MEASURES or in_lab or (arguments[0] == "calibrate" and "--replay" not in arguments)


def scenarios() -> Iterator[list[str]]:
    """Each tutorial scenario simulated and advised on."""
    for path in sorted((ROOT / "scenarios/tutorial").glob("*.yaml")):
        for verb in ("simulate", "advise"):
            yield [verb, f"scenarios/tutorial/{path.name}", "--seed", "1"]


def lasting(value: Any) -> Any:
    """A document without what differs from run to run."""
    if isinstance(value, dict):
        parts = [(PASSING.sub("", key), lasting(part)) for key, part in value.items() if key not in CHANGING]
        named = dict(parts)
        return named if len(named) == len(parts) else sorted((part for _, part in parts), key=json.dumps)
    if isinstance(value, list):
        return [lasting(part) for part in value]
    return PASSING.sub("", value) if isinstance(value, str) else value


def answered(calls: Iterator[list[str]], files: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Command line -> exit code, JSON document and messages, one after the other in one folder with these files."""
    answers = {}
    with tempfile.TemporaryDirectory() as name:
        for shared in ("scenarios", "traces"):
            (Path(name) / shared).symlink_to(ROOT / shared)
        for file, content in files.items():
            (Path(name) / file).write_text(content, encoding="utf-8")
        for arguments in calls:
            done = apportion(*arguments, "--json", cwd=name)
            try:
                document = json.loads(done.stdout)
            except json.JSONDecodeError:
                document = done.stdout
            answers[shlex.join(arguments)] = {
                "code": done.returncode,
                "document": document,
                "messages": done.stderr.replace(name, "."),
            }
    return answers


def options(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Each command with its help, and of each option and argument what a user meets."""
    if subcommands := getattr(command, "commands", {}):
        for word, part in sorted(subcommands.items()):
            yield from options(part, f"{name} {word}")
    else:
        fields = ("opts", "secondary_opts", "required", "multiple", "metavar", "default", "hidden", "help")
        parameters = [{field: repr(getattr(one, field, None)) for field in fields} for one in command.params]
        yield name, {"help": command.help, "parameters": parameters}


def test_ids() -> list[str]:
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "--disable-warnings"]
    done = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def frozen() -> dict[str, Any]:
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in TEXTS}
    answers = {name: answered(commands(text), shown.files(text)) for name, text in texts.items()}
    answers["scenarios"] = answered(scenarios())
    answers["papers"] = answered(iter([["lab", "reproduce", "all"]]))
    today = {
        "options": dict(options(typer.main.get_command(advisor.cli.app), "apportion")),
        "answers": answers,
        "tests": sorted(test_ids()),
    }
    return dict(lasting(json.loads(json.dumps(today))))


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """One line per value that differs, with its place."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}, key=str):
            if key not in old or key not in new:
                yield f"{place}/{key}: only {'before' if key in old else 'now'}"
            else:
                yield from differences(old[key], new[key], f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(left, right, f"{place}/{number}")
    elif old != new:
        yield f"{place}: {str(old)[:300]} before, {str(new)[:300]} now"


def tests_compared(old: list[str], new: list[str]) -> tuple[int, list[str]]:
    """How many tests stand in another file, and those gone or new; a test is known by what follows its file."""

    def names(ids: set[str]) -> Counter[str]:
        return Counter(one.partition("::")[2] for one in ids)

    before, now = names({*old} - {*new}), names({*new} - {*old})
    gone, added = before - now, now - before
    lines = [f"tests: {name} only before" for name in gone.elements()]
    return (before & now).total(), lines + [f"tests: {name} only now" for name in added.elements()]


def compared(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    moved, tests = tests_compared(old["tests"], new["tests"])
    parts = ("options", "answers")
    print(
        f"{len(new['options'])} commands, {sum(map(len, new['answers'].values()))} answers, {len(new['tests'])} tests"
    )
    print(f"{moved} tests stand in another file")
    return [*differences({part: old[part] for part in parts}, {part: new[part] for part in parts}), *tests]


def main(verb: str, file: str) -> int:
    if verb == "record":
        Path(file).write_text(json.dumps(frozen(), indent=1, sort_keys=True), encoding="utf-8")
        return 0
    lines = compared(lasting(json.loads(Path(file).read_text(encoding="utf-8"))), frozen())
    print(*lines or ["equal"], sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in {"record", "compare"}:
        sys.exit("usage: python -m tests.support.freeze record|compare FILE")
    sys.exit(main(*sys.argv[1:]))
