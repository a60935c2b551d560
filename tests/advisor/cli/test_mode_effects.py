"""Every option of the quick commands changes what comes out there. `test_modes.py` has the refusals of all commands."""

import re
import shlex

import pytest

from advisor.cli.modes import TABLE
from tests.support.command_line import apportion_here
from tests.support.modes_reached import REACH

SELECTS = {"trace import": "from", "partition": "method", "check": "schema resolved"}
"""Options that ask for a mode: that modes differ is what the refusals show."""

CHANGES = {
    "new": {
        "nodes": "--nodes 'a[1-3]: 2 cores 1 Gflop/s'",
        "network": "--network HDR",
        "application": "--application matmul",
        "parameter": "--parameter n=100",
        "kernel": "--kernel mine",
        "busy": "--busy 'node1 13:00-18:00'",
        "output": "-o d.yaml",
        "json": "--json",
    },
    "trace import": {
        "output": "-o p.csv",
        "json": "--json",
        "measures": "--measures available",
        "time-column": "--time-column load",
        "value-column": "--value-column time_s",
        "time-unit": "--time-unit ms",
        "cpu": "--measures busy-percent => --measures busy-percent --cpu 0",
        "series": "--series machine=8",
        "duration": "--duration 40s",
        "processors": "--processors 16",
        "start": "--start 10s",
        "cores": "--cores 2",
    },
    "trace generate": {
        "output": "-o p.csv",
        "duration": "--duration 2min",
        "set": "--set load=2 --set mean=2 --set block=20s",
        "fit": "--fit {w}/other.csv",
        "json": "--json",
        "interval": "--interval 2s",
        "seed": "--seed 6",
    },
    "trace show": {"plot": "--plot x.svg", "output": "-o x.svg", "column": "--column x", "json": "--json"},
    "history add": {
        "app": "--app b",
        "time": "--time part=2",
        "param": "--param N=1",
        "version": "--version 1",
        "machine": "--machine m",
        "when": "--when 2026-01-02T03:04:05-05:00",
        "history": "--history x.sqlite",
        "json": "--json",
    },
    "history list": {"app": "--app x", "version": "--version x", "history": "--history x.sqlite", "json": "--json"},
    "history coverage": {"level": "--json => --json --level 0.8", "json": "--json"},
    "history import": {
        "format": "--format {other}",
        "app": "--app b",
        "history": "--history x.sqlite",
        "json": "--json",
        "time": "--time total_time",
    },
    "history export": {
        "output": "-o x.csv",
        "format": "--format extrap-json",
        "app": "--app x",
        "version": "--version x",
        "history": "--history x.sqlite",
    },
    "predict": {
        "at": "--at {w}/t.csv",
        "full": "--full",
        "json": "--json",
        "level": "--level 0.5",
        "next-run": "--full => --full --next-run",
    },
    "scenarios": {"output": "-o x", "json": "--json"},
    "check": {
        "set": "--json => --json --set seed=6",
        "set with a scenario and --resolved": "--set seed=6",
        "json": "--json",
        "resolved": "--resolved",
    },
    "partition": {
        "speeds": "--speeds {s}/tutorial/speeds.json",
        "units": "--units 2000",
        "method": "--method {other}",
        "output": "-o x.csv",
        "json": "--json",
        "at": "--at 5000",
        "objective": "--objective cvar",
        "correlation": "--correlation 0.5",
        "seed": "--seed 6",
        "matrix": "--matrix 50x20",
        "full": "--full",
    },
}
"""Option -> what is added to the command line that reaches the mode; what comes out must differ."""
OTHERS = {
    ("calibrate speed", "with --replay"): "gbbp",
    **{
        ("history import", f"with --format {kind}"): "sacct" if kind == "csv" else "csv"
        for kind in ("csv", "extrap", "extrap-json", "sacct")
    },
    ("advise", "with --vary partition"): "allocation --runs 20",
    **{("advise", f"with --vary {vary}"): "partition" for vary in ("allocation", "both")},
    **{
        ("partition", f"with --method {method}"): "equal"
        for method in ("proportional", "functional", "discontinuous", "banded", "grid2d")
    },
    ("partition", "with --method equal"): "functional",
}
"""What stands for {other}."""


def wanted():
    """Command, mode and option for all that has effect: named by a mode, or always, then in the first of all modes."""
    for name in CHANGES:
        rules = TABLE[name]
        first = rules.axes[0].modes if rules.axes else {"": ""}
        yield from ((name, next(iter(first)), option) for option in rules.always.split())
        for axis in rules.axes:
            yield from ((name, mode, option) for mode, names in axis.modes.items() for option in names.split())


CASES = [
    (name, mode, option)
    for name, mode, option in dict.fromkeys(wanted())
    if option not in SELECTS.get(name, "").split()
    and (name, mode, option) != ("check", "with --schema", "json")  # the schema is JSON either way
    and (name, option) != ("new", "overwrite")  # test_new.py has a file there
]


def test_every_effect_has_its_evidence():
    assert not [case for case in CASES if case[-1] not in CHANGES[case[0]]]


STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")
LOAD = re.compile(
    rb"(load [\d., ]+ over|[\d.]+ [KMGT]iB available|\"(load_average|memory_available_bytes)\": (\[[^]]*\]|\d+))"
)


def outcome(folder, arguments):
    """Exit code, output and files of a command, without the time of day and what else differs from call to call."""
    folder.mkdir()
    done = apportion_here(*arguments, cwd=folder)
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    plain = {name: LOAD.sub(b"", STAMP.sub(b"", text)) for name, text in files.items()}
    return (
        done.returncode,
        *(LOAD.sub(b"", STAMP.sub(b"", text.encode())) for text in (done.stdout, done.stderr)),
        plain,
    )


def words(name, mode, more, prepared):
    """The command line that reaches a mode, with more behind it."""
    text = f"{REACH[name][mode]} {more}".format(**prepared, other=OTHERS.get((name, mode), ""))
    return [*name.split(), *shlex.split(text)]


@pytest.mark.parametrize(("name", "mode"), dict.fromkeys((name, mode) for name, mode, _ in CASES))
def test_options_change_what_comes_out(tmp_path, prepared, name, mode):
    bases = {}
    for option in [option for *reached_by, option in CASES if reached_by == [name, mode]]:
        before, arrow, after = CHANGES[name].get(f"{option} {mode}", CHANGES[name][option]).rpartition(" => ")
        base = before if arrow else ""
        if base not in bases:
            begun, again = (
                outcome(tmp_path / f"{option} {which}", words(name, mode, base, prepared)) for which in (1, 2)
            )
            assert again == begun, "what differs from call to call shows nothing"
            assert begun[0] == 0
            bases[base] = begun
        changed = outcome(tmp_path / f"{option} changed", words(name, mode, after, prepared))
        assert b"has no effect" not in changed[2], option
        assert changed != bases[base], option
