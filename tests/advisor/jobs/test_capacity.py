"""How many PEs a stream needs: each answer keeps to its target and one PE less does not, as simulated one by one."""

import numpy as np
import pytest

from advisor.jobs.capacity import capacity, drains_from, fewest, read_target
from advisor.jobs.compare import Alternative
from advisor.jobs.kinds import Part
from advisor.jobs.setting import Setting
from simulator import Estimates, Policy, ScenarioError, job_metrics, lublin, run_jobs, with_estimates

PES = 32
HOW = {"draws": "none", "replications": 0, "level": 0.9, "seed": 0}


def stream(load=0.7, count=400):
    return with_estimates(lublin(count, processors=PES, seed=3, load=load), seed=3)


def base(pes=PES):
    return Alternative("base", Policy(), Estimates(), Setting(pes))


def met(made, pes, target):
    """From the definitions: what the jobs that end after the first hundredth meet."""
    runs = run_jobs(made, pes, Policy(), Estimates())
    kept = np.ones(len(made), dtype=bool)
    kept[np.argsort(runs.finish_s, kind="stable")[: len(made) // 100]] = False
    kept &= made.processors <= (target.largest or PES)
    values = {
        "wait": runs.wait_s,
        "turnaround": runs.finish_s - made.submit_s,
        "slowdown": np.maximum(1, (runs.finish_s - made.submit_s) / np.maximum(runs.run_s, 10)),
    }[target.measure][kept]
    return values.mean() if target.statistic == "mean" else np.quantile(values, 0.95)


@pytest.mark.parametrize(
    "text", ["mean wait 10min", "p95 wait 4h for jobs up to 8 PEs", "mean slowdown 5", "mean turnaround at most 3h"]
)
def test_the_fewest_keep_to_the_target_and_one_less_does_not(text):
    made, target = stream(), read_target(text)
    (found,) = capacity(made, base(), target, **HOW)
    assert found.surely is None, "nothing is drawn"
    assert found.value == pytest.approx(met(made, found.fewest, target))
    assert found.value <= target.most
    least = int(made.processors.max())
    assert found.fewest == least or met(made, found.fewest - 1, target) > target.most
    (again,) = capacity(made, base(3 * PES), target, **HOW)
    assert again.fewest == found.fewest, "whatever there is now"
    looser = read_target(text.replace("10min", "2h").replace("4h", "9h").replace(" 5", " 50").replace("3h", "9h"))
    assert capacity(made, base(), looser, **HOW)[0].fewest <= found.fewest


def test_what_keeps_surely_is_no_less():
    made = with_estimates(lublin(12_000, processors=PES, seed=5, load=0.6), seed=5)
    assert made.submit_s[-1] > 45 * 7 * 86_400
    (found,) = capacity(made, base(), read_target("mean wait 5min"), **HOW | {"draws": "weeks", "replications": 30})
    assert found.surely >= found.fewest
    assert f"; surely with {found.surely})." in found.sentence


def test_an_overloaded_queue_drains_with_more():
    made = stream(load=1.2)
    (found,) = drains_from(made, base())
    pes = found.fewest
    assert (found.of, found.cores) == ("PEs", pes - PES)
    assert pes > PES
    assert job_metrics.overload(run_jobs(made, pes, Policy(), Estimates())) is None
    assert job_metrics.overload(run_jobs(made, pes - 1, Policy(), Estimates())) is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mean wait", "is no target"),
        ("p50 wait 3h", "is no target"),
        ("mean wait 30", "is no duration"),
        ("mean slowdown 1", "above 1"),
        ("mean slowdown many", "above 1"),
    ],
)
def test_what_is_no_target_is_refused(text, words):
    with pytest.raises(ScenarioError, match=words):
        read_target(text)


def test_what_nobody_can_keep_is_refused():
    made = stream()
    assert fewest(lambda _pes: False, made, Part(Setting(PES))) is None
    at_once = made.take(np.arange(50), submit_s=np.arange(50.0))
    assert drains_from(at_once, base()) == (), "all is submitted at once"
    with pytest.raises(ScenarioError, match="not even with PEs for all jobs at once"):
        capacity(at_once, base(), read_target("mean turnaround 1s"), **HOW)
    with pytest.raises(ScenarioError, match="no job takes up to 0 PEs"):
        capacity(made, base(), read_target("mean wait 1h for jobs up to 0 PEs"), **HOW)
