"""`apportion lab characterise` and `apportion lab resource`: bad input in one line each; slow: real runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MODULE = [sys.executable, "-m", "advisor.cli"]
FUNCTIONS = """
def f(n):
    total = 0.0
    for k in range(n):
        total += 1.0 / (1.0 + k)
    return total


def names(n):
    return [k for k in range(n)]


def text(n):
    return n + "a"


def endless(n):
    k = 0
    while k < n:
        k = k * 1
    return k
"""


def run(tmp_path, *words, timeout=60):
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*MODULE, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=timeout
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["lab", "characterise", "matmul", "--method", "hllc,abc"],
            "--method has 'abc'; give all or some of dbc,poc,hllc,intcc,icc,ct",
        ),
        (["lab", "characterise", "my.py:f", "--args", "n=one"], "--args: n is 'one'"),
        (["lab", "characterise", "my.py:f"], "arguments: n missing"),
        (
            ["lab", "characterise", "my.py:f", "--args", "n=5", "--sizes", "1,b"],
            "--sizes: 'b' is no whole number from 1 to 1000000000; give such numbers",
        ),
        (["lab", "characterise", "my.py:names", "--args", "n=5"], "list comprehension cannot be analysed"),
        (["lab", "characterise", "matmul", "--hardware", "bad.json"], "bad.json: kind 'memory' is no resource model"),
        (["lab", "resource", "--budget", "1s"], "--budget is '1s'; give 10s to 24h"),
    ],
)
def test_bad_input_is_one_line(apportion, monkeypatch, tmp_path, words, told):
    (tmp_path / "my.py").write_text(FUNCTIONS)
    (tmp_path / "bad.json").write_text('{"kind": "memory", "format": 0}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code, out, err = apportion(*words)
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 2
    assert out == ""
    assert len(lines) == 1
    assert told in lines[0]


@pytest.mark.slow
@pytest.mark.parametrize(("function", "told"), [("endless", "took longer than")])
def test_what_cannot_be_compiled_or_does_not_end(tmp_path, function, told):
    (tmp_path / "my.py").write_text(FUNCTIONS)
    hardware = tmp_path / "hardware.json"
    made = {"name": "made up", "kind": "resource", "format": 1, "methods": {"poc": {"rate_per_s": 1e9}}}
    hardware.write_text(json.dumps(made))
    done = run(
        tmp_path, "lab", "characterise", f"my.py:{function}", "--args", "n=9", "--hardware", str(hardware), timeout=300
    )
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if line.startswith("error: ") and told in line]


@pytest.mark.real
def test_the_whole_way(tmp_path):
    """Calibrated within a short budget, gone on with by a second call, then a kernel and a user's function."""
    (tmp_path / "my.py").write_text(FUNCTIONS)
    model = tmp_path / "hardware.json"
    for _ in range(2):
        done = run(tmp_path, "lab", "resource", "-o", str(model), "--budget", "20s", "--json", timeout=600)
        assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document["methods"]) == {"dbc", "poc", "hllc", "intcc", "icc", "ct"}
    for method in ("hllc", "intcc", "icc"):
        assert all(cost >= 0 for cost in document["methods"][method]["costs"].values())
    assert model.with_suffix(".runs.json").exists()
    done = run(tmp_path, "lab", "characterise", "matmul", "--hardware", str(model), "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = ("dbc", "poc", "hllc", "intcc", "icc", "ct")
    assert [(e["name"], e["arguments"]["n"]) for e in found["methods"]] == [
        (name, n) for name in names for n in (100, 160, 260)
    ]
    for entry in found["methods"]:
        assert entry["predicted_s"] > 0
        assert entry["measured_s"] > 0
        assert isinstance(entry["error_percent"], float)
        assert entry["ruv"]
    words = ("my.py:f", "--args", "n=20000", "--hardware", str(model), "--method", "hllc,ct")
    done = run(tmp_path, "lab", "characterise", *words, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "this executes your file" in done.stderr
    assert "t = " in done.stdout
