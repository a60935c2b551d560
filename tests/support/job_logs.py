"""Logs of real machines, where they are at hand."""

import gzip
from functools import cache
from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data" / "jobs"
LOGS = {"KTH-SP2": ("KTH-SP2-1996-2", 100, 28_481), "SDSC-SP2": ("SDSC-SP2-1998-4.2-cln", 128, 53_999)}


def needs(path):
    if not path.exists():
        pytest.skip(f"{path.name} is missing: its judge is left out")
    return path


@cache
def log(name):
    """Jobs after the strong cleaning, by submission: (submit, run, size, limit, user), in whole seconds."""
    file, processors, jobs = LOGS[name]
    read = []
    with gzip.open(needs(DATA / "swf" / f"{file}.swf.gz"), "rt") as lines:
        for words in (line.split() for line in lines if not line.startswith(";")):
            submit, run, got, asked, limit, user = (int(float(words[n])) for n in (1, 3, 4, 7, 8, 11))
            size, other = (asked if asked > 0 else got), (got if got > 0 else asked)
            if 0 < size <= processors and other <= processors and run > 0 and limit > 0 and submit >= 0:
                read.append((submit, run, size, limit, user))
    assert len(read) == jobs
    return sorted(read, key=lambda job: job[0])


MANY_JOBS = "; MaxProcs: 8\n" + "".join(
    f"{job} {40 * job} 0 {30 + 61 * job % 271} {1 + 5 * job % 7} -1 -1 {1 + 5 * job % 7} {200 + 100 * (job % 3)} "
    f"-1 1 {job % 4} 1 -1 -1 -1 -1 -1\n"
    for job in range(60)
)
"""A log with a queue: 60 jobs of 1 to 7 processors on 8, of 4 users; some run past their limits."""
