"""`apportion jobs generate` as a user calls it: logs that other programs read, the same for the same seed."""

import gzip

import numpy as np
import pytest

from tests.support.command_line import apportion_here as apportion


def generate(folder, *arguments):
    return apportion("lab", "generate", "lublin", *arguments, cwd=folder)


def read(path):
    """Head and rows of a log, read afresh; packed or not."""
    data = path.read_bytes()
    text = gzip.decompress(data).decode() if path.suffix == ".gz" else data.decode()
    head = [line for line in text.splitlines() if line.startswith(";")]
    rows = [line.split() for line in text.splitlines() if not line.startswith(";")]
    assert all(len(row) == 18 for row in rows)
    return head, np.array(rows, dtype=float).T


def test_a_log_has_what_was_asked_for(tmp_path):
    wanted = ("--jobs", 1000, "--processors", 64, "--load", 0.75, "--estimates", "tsafrir", "--seed", 4)
    done = generate(tmp_path, *wanted, "-o", "s.swf")
    assert (done.returncode, done.stderr) == (0, "")
    head, fields = read(tmp_path / "s.swf")
    job, submit, _, run, processors, _, _, asked, limit = fields[:9]
    assert "; MaxProcs: 64" in head
    assert job.tolist() == list(range(1, 1001))
    assert np.all(np.diff(submit) >= 0)
    assert processors.tolist() == asked.tolist()
    assert processors.max() <= 64
    assert np.all(limit >= run)
    assert np.unique(limit).size == 35
    assert np.sum(processors * run) / (64 * (submit[-1] - submit[0])) == pytest.approx(0.75, rel=1e-3)


@pytest.mark.parametrize("name", ["s.swf", "s.swf.gz"])
def test_the_same_seed_is_the_same_file(tmp_path, name):
    files = []
    for seed in (1, 1, 2):
        generate(tmp_path, "--jobs", 300, "--estimates", "exact", "--seed", seed, "-o", name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1] != files[2]
    _, fields = read(tmp_path / name)
    assert fields[3].tolist() == fields[8].tolist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "s.csv"), "error: --output: s.csv is no name of a log; let it end in .swf or .swf.gz"),
        (("-o", "s.swf", "--class", "batsh"), "batsh"),
    ],
)
def test_bad_wishes_are_refused_in_one_line(tmp_path, arguments, said):
    done = generate(tmp_path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1 or "Usage" in done.stderr
    assert not list(tmp_path.iterdir())
