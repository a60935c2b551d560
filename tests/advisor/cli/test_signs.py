"""Signs of life: within a second, then as long as it works, on a terminal and in a file."""

import shlex

import pytest

from tests.support.signs_of_life import start_s, watch

SLACK_S = 0.5
"""For a machine that does other things too, on top of what a command takes to start."""
ENOUGH_S = 20.0
"""Of a command: then it is interrupted."""
COMMANDS = {
    "simulate": "simulate three-pes --replications 4000 --engine process",
    "whatif": "whatif three-pes --as-is --vary platform.link.bandwidth=x1,x2,x4,x8 --replications 2000",
    "advise": "advise cluster --replications 200",
    "check a file": "check {middling}",
    "check a large file": "check {large}",
    "simulate a large file": "simulate {large} --replications 2",
    "jobs compare": "jobs compare --model lublin --jobs 3000 --replications 20",
    "lab generate": "lab generate lublin --jobs 200000 -o {folder}/s.swf.gz",
    "fit": "fit scenarios/tutorial/hpl-runs.csv --formula N**3/P+N**2",
    "lab reproduce": "lab reproduce scopred",
    "calibrate speed": "calibrate speed --kernel dgemm --budget 5s -o {folder}/m.json",
    "calibrate memory": "calibrate memory --budget 30s -o {folder}/memory.json",
    "calibrate network": "calibrate network --between processes --max-bytes 64KiB --budget 15s -o {folder}/link.json",
    "calibrate neighbours": "calibrate neighbours --budget 25s -o {folder}/n.json",
    "lab characterise": "lab characterise matmul --budget 8s",
    "verify": "verify {two} --budget 25s -o {folder}/v",
    "quickstart": "quickstart --budget 10s -o {folder}/q",
}
QUICK = {"check a file": True, "simulate": False}
"""Whether on a terminal."""
NODES = {"middling": 3_000, "large": 20_000}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """Words of a command with the files that it names."""
    folder = tmp_path_factory.mktemp("signs")
    known = {"folder": folder, "two": "scenarios/tutorial/two-cores.yaml"}
    for name, count in NODES.items():
        nodes = "\n".join(
            f"    - {{name: n{k}, pes: [{{speeds: {{stencil: {1 + k % 7} Gflop/s}}}}]}}" for k in range(count)
        )
        known[name] = folder / f"{name}.yaml"
        known[name].write_text(
            f"format: 1\nplatform:\n  nodes:\n{nodes}\n  link: {{latency: 10us, bandwidth: 1Gbit/s}}\n"
            "application: {name: stencil, kernel: stencil, parameters: {n: 20000, iterations: 2}}\n"
            "configurations: {equal: {partition: equal}}\nreplications: 2\n",
            encoding="utf-8",
        )
    return lambda text: shlex.split(text.format(**known))


@pytest.mark.parametrize(
    ("name", "terminal"),
    [
        *QUICK.items(),
        *(
            pytest.param(name, place % 2 == 0, marks=pytest.mark.real)
            for place, name in enumerate(COMMANDS)
            if name not in QUICK
        ),
    ],
)
def test_no_command_is_silent(words, name, terminal):
    slack_s = SLACK_S + start_s()
    ran = watch(*words(COMMANDS[name]), terminal=terminal, enough_s=ENOUGH_S)
    assert ran.code in {0, 1, 130}, ran.text
    assert ran.too_silent(terminal=terminal, slack_s=slack_s) == [], ran.seen
