"""`apportion jobs compare | advise | forecast` as a user calls them: what cannot be answered, in one line each."""

import pytest

from tests.support.command_line import apportion_here as apportion

JOB = "{} {} 0 600 1 -1 -1 1 1200 -1 1 1 1 1 1 1 -1 -1\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare"], "jobs: name a log, or a generator by --model lublin; one of the two"),
        (["compare", "log.swf", "--first", "20"], "whole weeks, and there is nothing to draw from"),
        (["compare", "log.swf", "--estimates", "limits"], "estimates: there is no 'limits'"),
        (["forecast", "log.swf", "--job", "9999"], "has no job 9999"),
    ],
)
def test_what_cannot_be_answered_is_one_line(tmp_path, arguments, said):
    (tmp_path / "log.swf").write_text("; MaxProcs: 8\n" + "".join(JOB.format(job, 3600 * job) for job in range(1, 30)))
    done = apportion("jobs", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
