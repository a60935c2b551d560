"""One run of what is drawn has no interval and no chance, whatever is asked; where nothing is drawn, it tells all."""

import json
import re

import pytest

from tests.support.command_line import apportion_here

SCENARIO = """
format: 1
platform:
  nodes:
  - name: here
    pes:
    - {name: a, speeds: {dgemm: 1 Gunits/s}}
    - {name: b, speeds: {dgemm: SPEED}, LOAD}
  link: {latency: 10 us, bandwidth: 1 GB/s}
application: {name: matmul, kernel: dgemm, parameters: {n: 600}}
configurations:
  equal: {partition: equal}
  uneven: {partition: [400, 200]}
replications: 1
"""
DRAWN = {
    "load": ("1 Gunits/s", "load: {trace: {times_s: [0.0, 0.02], values: [0, 1], end_s: 0.05}, rule: fair}"),
    "band": (
        "{sizes: [1.0, 1.0e+9], low: [0.8e+9, 0.8e+9], mid: [1.0e+9, 1.0e+9], high: [1.2e+9, 1.2e+9]}",
        "cores: 1",
    ),
}
ASKED = {
    "simulate": ["simulate", "FILE"],
    "advise": ["advise", "FILE"],
    "advise p95": ["advise", "FILE", "--objective", "p95", "--explain"],
    "advise worst": ["advise", "FILE", "--objective", "worst", "--vary", "both"],
    "whatif": [
        "whatif",
        "FILE",
        "--as-is",
        "--vary",
        "platform.link.bandwidth=x2,x4,x8",
        "--vary",
        "platform.link.latency=/2",
    ],
    "whatif --advise": ["whatif", "FILE", "--vary", "platform.link.bandwidth=x2,x4", "--advise"],
}
EVERY = [pytest.param(name, marks=[pytest.mark.slow] * (name not in {"simulate", "advise"})) for name in ASKED]
CASES = [
    pytest.param(*name.values, kind, marks=name.marks)
    for name in EVERY
    for kind in DRAWN
    if (*name.values, kind) != ("advise", "band")  # its p95 is tried with bands
]
INTERVALS = {
    "low",
    "high",
    "run_low",
    "run_high",
    "low_s",
    "high_s",
    "p_best",
    "p_within_1_percent",
    "chance",
    "probability",
}
INTERVALS |= {"probability_recommended_faster"}
INTERVALS |= {"expected_loss"}
WITHIN = r"\([+-]?[\d.]+ to [+-]?[\d.]+\)"
"""An interval behind a value."""
NOT_OF_REPLICATIONS = {"measure_next", "platform"}
"""Edges of what is stated, and ranges of parameters."""


def written(tmp_path, speed, load):
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO.replace("SPEED", speed).replace("LOAD", load))
    return path


def asked(name, path, *more):
    ran = apportion_here(*[str(path) if word == "FILE" else word for word in ASKED[name]], *more)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def stated(document, where=""):
    """Every interval and chance in a document, with its place."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key in INTERVALS and not isinstance(value, dict | list):
                yield f"{where}.{key}", value
            elif key not in NOT_OF_REPLICATIONS:
                yield from stated(value, f"{where}.{key}")
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from stated(value, f"{where}[{number}]")


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_one_draw_states_no_interval_and_no_chance(tmp_path, name, kind):
    path = written(tmp_path, *DRAWN[kind])
    document = json.loads(asked(name, path, "--json"))
    found = dict(stated(document))
    assert found
    assert {place: value for place, value in found.items() if value is not None} == {}
    assert document["deterministic"] is False
    assert any("one replication has no interval" in line for line in document["warnings"])
    text = asked(name, path)
    assert re.search(rf"{WITHIN}|> 99 %|< 1 %|100 %  |intervals of the true mean", text) is None
    assert "deterministic" not in text
    assert re.search("one replication has no interval|without an interval", " ".join(text.split()))


@pytest.mark.parametrize("name", EVERY)
def test_where_nothing_is_drawn_one_run_tells_all(tmp_path, name):
    path = written(tmp_path, "0.5 Gunits/s", "cores: 1")
    document = json.loads(asked(name, path, "--json"))
    assert document["deterministic"] is True
    assert {place for place, value in stated(document) if value is None} == set()
    text = " ".join(asked(name, path).split())
    assert "deterministic: nothing is drawn" in text
    assert "has no interval" not in text


@pytest.mark.slow
def test_reports_of_one_replication_state_none_either(tmp_path):
    path = written(tmp_path, *DRAWN["load"])
    for name in ("simulate", "advise", "whatif"):
        asked(name, path, "-o", tmp_path / name)
        page = (tmp_path / name / "report.html").read_text()
        assert "one replication has no interval" in page
        body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
        assert re.search(rf"{WITHIN}|±\s*\d|&gt;.99.%|> 99 %|intervals of the true mean", body) is None
    points = (tmp_path / "whatif" / "points.csv").read_text().splitlines()
    head = points[0].split(",")
    rows = [dict(zip(head, line.split(","), strict=True)) for line in points[1:]]
    assert {row[name] for row in rows for name in ("low_s", "high_s", "run_low_s", "difference_low_s")} == {""}
