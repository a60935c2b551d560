"""`apportion advise`: what it is asked for, what it refuses, and that its host file starts what it advises."""

import json
import shutil
import subprocess
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line import apportion_here
from tests.support.processes import without_progress

TUTORIAL = Path(__file__).parents[3] / "scenarios" / "tutorial"
MPICH = next((name for name in ("mpiexec.mpich", "mpiexec.hydra") if shutil.which(name)), None)
SHARED = """
format: 1
platform:
  nodes:
    - name: here
      host: localhost
      pes:
        - {name: wide, cores: 3, speeds: {dgemm: 1 Gflop/s}, cost: 3}
        - {name: narrow, speeds: {dgemm: 0.2 Gflop/s}, cost: 0.5}
  network: {topology: bus, link: {latency: 1us, bandwidth: 100Gbit/s}, loopback: {latency: 1us, bandwidth: 100GB/s}}
application: {name: APP, kernel: dgemm, parameters: {n: 240}}
configurations: {equal: {partition: equal}}
replications: 1
"""


@pytest.fixture
def advise(apportion):
    return partial(apportion, "advise")


@pytest.fixture
def shared(tmp_path):
    """A PE of three cores, on which three processes are worth more than one."""
    path = tmp_path / "shared.yaml"
    path.write_text(SHARED.replace("APP", "matmul"))
    return path


if MPICH:

    def test_the_host_file_of_an_allocation_starts_its_ranks(advise, shared, tmp_path):
        assert advise(shared, "-o", tmp_path / "out", "--hostfile", tmp_path / "hosts")[0] == 0
        assert (tmp_path / "hosts").read_text() == (tmp_path / "out" / "hostfile").read_text()
        document = json.loads((tmp_path / "out" / "advice.json").read_text())
        processes = len(document["placement"])
        assert (tmp_path / "hosts").read_text().splitlines()[1:] == [f"localhost:{processes}"]
        command = [MPICH, "-f", "hosts", "-n", str(processes), "sh", "-c", "echo $PMI_RANK"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
        assert Counter(done.stdout.split()) == Counter(str(rank) for rank in range(processes))
        assert Counter(
            rank["pe"] for rank in json.loads((tmp_path / "out" / "partition.json").read_text())["ranks"]
        ) == {"wide": 3, "narrow": 1}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--vary", "speed"], "--vary: it is 'speed'; give one of partition, allocation, both, scheduling"),
        (
            ["--vary", "partition", "--oversubscribe"],
            "--oversubscribe has no effect with --vary partition: leave it out, or use it with --vary allocation or bo",
        ),
        (["--budget", "1us"], "--budget: 1us is too little"),
    ],
)
def test_bad_options_are_one_line(advise, shared, options, told):
    code, out, err = advise(shared, *options)
    lines = without_progress(err)
    assert (code, out, len(lines)) == (2, "", 1)
    assert lines[0].startswith("error: ")
    assert told in err


HUNDRED_THOUSAND_CORES = """
format: 1
platform:
  nodes:
    - {name: "a[1-1000]", pes: [{cores: 64, speeds: {dgemm: 40 Gflop/s}}]}
    - {name: "b[1-562]", pes: [{cores: 64, speeds: {dgemm: 20 Gflop/s}}]}
  network: {topology: star, link: {latency: 2us, bandwidth: 100Gbit/s}}
application: {name: matmul, kernel: dgemm, parameters: {n: 200000}}
configurations: {equal: {partition: equal}}
"""


@pytest.mark.real
def test_the_budget_holds_on_a_hundred_thousand_cores(tmp_path):
    """What is beside it, starting and reading, is what `check` takes; 26 s where 10 were given, before it counted."""
    path = tmp_path / "s.yaml"
    path.write_text(HUNDRED_THOUSAND_CORES)
    took_s, said = [], []
    for words in (["check"], ["advise", "--budget", "10s"]):
        begun_s = time.monotonic()
        done = apportion_here(words[0], path, *words[1:])
        took_s.append(time.monotonic() - begun_s)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert took_s[1] < 1.3 * 10 + 2 * took_s[0]
    assert "replications of each" not in said[1]  # nothing is drawn: one says all
