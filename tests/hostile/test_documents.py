"""Documents of every format with a key too much, too few or of another type, and nested too deep: one line, exit 2."""

import copy
import json

import pytest

from simulator.load_traces.csv_file import TITLE
from tests.hostile.running import Case, run_here
from tests.support.jobs_documents import advised, compared
from tests.support.report_sample import cluster_document, verified_document

ADVISE = "advise {} --kinds fast:1:6,slow:8:1 --size 6400"
SURFACE = {"format": 2, "kind": "speed", "model": {"columns": [8.0], "bands": [None]}}
NOUGHT = [[0.0, 0.0, 0.0]]
CORRECTION = {"kind": "gaussian", "amplitude": 0.1, "lengths": [1.0, 1.0, 1.0], "noise": 0.1, "slope": 0.0}
CORRECTION |= {"places": NOUGHT, "inflation": [1.0], "origin": [0.0] * 3, "extent": [1.0] * 3, "weights": [0.0]}
ROW = {"volume": 10.0, "samples": [{"cpu_s": 0.1, "wall_s": 0.1}], "cost_s": 0.1, "visits": [1]}
POINTS = [{"format": 2, "kind": "points", "subject": {}, "machine": None}]
POINTS += [{"key": size, "finished": True, "point": ROW | {"size": size}} for size in (10.0, 20.0, 40.0)]
REPLAY = "calibrate speed --replay {} --method gbbp -o out.json"
SWEPT = {"format": 1, "kind": "sweep", "files": ["points.csv"], "columns": {}, "source": "a.yaml", "sweep": {}}
SWEPT |= {"parameters": {}, "level": 0.9, "points": {}, "finished": 0, "failed": {}, "provenance": {}}
RESOURCE = {"format": 1, "kind": "resource", "methods": {"poc": {"rate_per_s": 1e9}, "icc": {"cycle_s": 1e-9, "e": 5}}}
RECORDED = {"format": 1, "start": "2026-01-01T00:00:00+00:00", "interval_s": 1.0, "machine": {}, "meanings": None}
FORMATS = {
    "speed band": ("show {}", "speed.json", "model", "mid", "sizes.0"),
    "speed points": ("show {}", "speed.json", "", "model", "experimental_s"),
    "speed surface": ("show {}", "surface.json", "model.bands.0", "low", "high.1"),
    "network model": ("predict {} --at bytes.csv", "network.json", "model.spread", "hops", "size_range.0"),
    "network form": ("show {}", "network.json", "model.parameters", "latencies_s", "breaks_bytes"),
    "memory model": ("predict {} --at memory_at.csv", "files/memory.json", "model", "spread", "scores.0.1"),
    "memory level": ("predict {} --at memory_at.csv", "files/memory.json", "model.levels.1", "gap_s", "latency_s"),
    "correction": ("predict {} --at memory_at.csv", "corrected.json", "model.correction", "noise", "lengths.1"),
    "run-time model": ("predict {} --at targets.csv", "runtime.json", "parts.0", "points", "observed.0.0"),
    "run-time fit": ("predict {} --at targets.csv", "runtime.json", "parts.0.fit", "members", "step_s"),
    "process counts": (ADVISE, "counts.json", "runs", "comp_s", "time_s"),
    "neighbours": ("predict {} --at pairs.csv", "neighbours.json", "domains.0", "kind", "softness"),
    "plan": ("fit {} --run --command nonesuch", "plan.json", "runs.0", "repetitions", "size"),
    "resource model": ("check application_seg.yaml", "files/resource.json", "", "methods", "methods"),
    "cost of an operation": ("check application_seg.yaml", "files/resource.json", "methods.icc", "e", "cycle_s"),
    "scenario": ("check {}", "scenario.json", "application", "name", "parameters"),
    "manifest of runs": ("show results", "results/manifest.json", "", "columns", "files"),
    "manifest of a sweep": ("show swept", "swept/manifest.json", "", "parameters", "failed"),
    "record of a command": ("rerun results", "results/manifest.json", "rerun", "hashes", "given"),
    "head of a journal": (REPLAY, "points.json", "0", "machine", "format"),
    "point of a journal": (REPLAY, "points.json", "1", "finished", "key"),
    "times of a journal": (REPLAY, "points.json", "2.point", "samples", "volume"),
    "advice to verify": ("verify advised", "advised/advice.json", "baselines.0", "partition", "placement.0"),
    "figure of an advice": ("plot advised -o out.svg", "advised/advice.json", "", "recommended", "pes.0"),
    "figure of a simulation": ("plot {} -o out.svg", "results/manifest.json", "configurations.0", "name", "partition"),
    "figure of a verification": ("plot {} -o out.svg", "seen.json", "configurations.0", "measured_s", "partition.0"),
    "figure of a cluster": ("plot {} -o out.svg", "cluster.json", "hosts.0", "kind", "units"),
    "jobs compared": ("show {}", "compared.json", "alternatives.0", "policy", "pes"),
    "jobs advised": ("show {}", "pays.json", "compared.differences.0", "verdict", "mean"),
    "jobs run": ("show ran", "ran/manifest.json", "policy", "variant", "processors"),
    "head of a recording": ("calibrate load -o {} --append --duration 1s", "recorded.csv", "", "machine", "interval_s"),
}
"""Command, file, an object in it, a key that it needs, and one whose value becomes `x`."""
WAYS = ("unknown", "missing", "typed", "format", "deep")
NOT_READ = ("advice", "plan", "manifest", "record", "head")
"""First words of what makes a command measure, or needs files beside it."""
FORMAT_IN = {"rerun": "rerun"}
"""Where another object than the first says the format."""


def at(document, place):
    for part in filter(None, place.split(".")):
        document = document[int(part) if isinstance(document, list) else part]
    return document


def spoilt(document, way, where, missing, typed):
    document = copy.deepcopy(document)
    if way == "unknown":
        at(document, where)["nonesuch"] = 1
    elif way == "format":
        at(document, FORMAT_IN.get(where, "0" if isinstance(document, list) else ""))["format"] = 99
    elif way == "missing":
        del at(document, where)[missing]
    else:
        *above, last = f"{where}.{typed}".strip(".").split(".")
        holder = at(document, ".".join(above))
        holder[int(last) if isinstance(holder, list) else last] = {"x": ["x"]}
    return written(document)


def written(document):
    """A journal has a line for each object, and a recording its head in a comment."""
    if isinstance(document, list):
        return "".join(f"{json.dumps(line)}\n" for line in document).encode()
    if "start" not in document:
        return json.dumps(document).encode()
    text = f"{TITLE}\n# head: {json.dumps(document)}\n# time_s: start\n# load: mean\ntime_s,load\n0,1\n1,2\n"
    return text.encode()


def whole(name, good):
    """The document of a file, or one made of others."""
    made = {"points.json": POINTS, "swept/manifest.json": SWEPT, "recorded.csv": RECORDED}
    made["files/resource.json"] = RESOURCE
    made |= {"seen.json": verified_document(), "cluster.json": cluster_document()}
    made |= {"compared.json": compared(), "pays.json": advised()}
    if name in made:
        return made[name]
    if name == "surface.json":
        return SURFACE | {"model": {"columns": [8.0], "bands": [whole("speed.json", good)["model"]]}}
    if name == "corrected.json":
        found = whole("files/memory.json", good)
        return found | {"model": found["model"] | {"correction": CORRECTION}}
    return json.loads((good / name).read_text(encoding="utf-8"))


def ending(good, command, name, data):
    arguments = tuple(command.format(name).split())
    return run_here(Case(name, arguments, files={name: data}), good)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_document_with_one_fault_is_refused_in_one_line_with_its_file(good, kind):
    """The document itself is read, where that measures nothing and needs no files beside it."""
    for way in WAYS:
        check_spoilt(good, kind, way)
    command, name, *_ = FORMATS[kind]
    if kind.split()[0] not in NOT_READ:
        assert ending(good, command, name, written(whole(name, good))).exit == 0


def check_spoilt(good, kind, way):
    command, name, where, missing, typed = FORMATS[kind]
    head = f"{TITLE}\n# head: " if name == "recorded.csv" else ""
    data = (
        f"{head}{'[' * 200_000}\n".encode() if way == "deep" else spoilt(whole(name, good), way, where, missing, typed)
    )
    found = ending(good, command, name, data)
    assert found.exit == 2, (way, found.said)
    lines = [line for line in found.said.splitlines() if not line.startswith(("warning: ", "recording to "))]
    assert len(lines) == 1, found.said
    assert lines[0].startswith("error: ")
    assert name in lines[0]
    assert not any(word in lines[0] for word in ("Error(", "Error:", "object has no", "NoneType", "recursion")), lines[
        0
    ]
    if way != "deep":
        key = {"unknown": "nonesuch", "missing": missing, "format": "99", "typed": typed.split(".", maxsplit=1)[0]}[way]
        assert key in lines[0]
