"""Documents of job streams, as commands hand them to the page."""

OVER = "the queue does not drain: averages measure the length of the stream"
POLICY = {"order": "fcfs", "backfill": "easy", "processors": "counted", "same_second": "instant"}


def difference(other, mean, low=None, high=None, *, metric="wait", base="easy", p=None, holm=None, verdict="refused"):
    ends = {"low": low, "high": high} | {
        "low_together": None if low is None else low - 50,
        "high_together": None if high is None else high + 50,
    }
    return {
        "metric": metric, "base": base, "other": other, "mean": mean, **ends, "p": p, "holm": holm, "verdict": verdict,
    }  # fmt: skip


def alternative(name, wait, *, makespan=9e6, order="fcfs", pes=100, overloaded=None, share=0.0):
    return {
        "name": name,
        "policy": POLICY | {"order": order},
        "estimates": {"source": "limit", "correction": "steps", "label": "limit"},
        "pes": pes,
        "platform": None,
        "overloaded": overloaded,
        "overloaded_draws": share,
        "metrics": {"wait": wait, "makespan": makespan},
    }


def compared():
    """Base and five others: surely less, surely more, open, alike, overloaded; nothing told of the makespan."""
    names = ("sjf", "strict", "other", "twin", "crowd")
    waits = [
        difference("sjf", -2231.4, -3104.6, -1357.2, p=1e-5, holm=5e-5, verdict="less"),
        difference("strict", 490.8, 122.8, 1962.9, p=0.01, holm=0.04, verdict="more"),
        difference("other", 60.0, 20.0, 90.0, p=0.03, holm=0.09, verdict="open"),
        difference("twin", 0.0, p=1.0, holm=1.0, verdict="alike"),
        difference("crowd", 9e5),
    ]
    return {
        "format": 1,
        "command": "jobs compare",
        "stream": "KTH",
        "jobs": 28481,
        "draws": "weeks",
        "replications": 40,
        "units": 47.0,
        "level": 0.95,
        "warm_up": 0.01,
        "seed": 3,
        "refused": None,
        "untold": {"wait": None, "makespan": "the last jobs of a log decide it"},
        "alternatives": [
            alternative("easy", 6866.6),
            *(alternative(name, 5000.0, order="sjf", pes=90, share=0.12) for name in names[:-1]),
            alternative("crowd", 9e5, overloaded=OVER, share=1.0),
        ],
        "differences": [*waits, *(difference(name, 1.0, metric="makespan") for name in names)],
        "provenance": {"made": "2026-03-02T10:11:12+00:00", "versions": {"python": "3.11.7"}, "inputs": {"log": "ab"}}
        | {"seed": 3, "machine": None},
    }


def candidate(name, kind, mean, *, p=None, holm=None, price=None, told=True):
    ends = ("low", "high", "low_together", "high_together")
    gain = {
        "mean": mean,
        **{end: mean + far if told else None for end, far in zip(ends, (-300, 300, -400, 400), strict=True)},
    }
    return {
        "name": name, "kind": kind, "value": 6866.6 - mean, "gain": gain | {"p": p, "holm": holm}, "share": 0.1,
        "price": price, "gain_per_price": None if price is None else mean / price,
        "overloaded": None,
    }  # fmt: skip


def backtest(simulated_s=6900.0):
    """Of a log whose mean wait is 7,000 s."""
    waits = {"name": "mean wait in s", "jobs": 900, "log": 7000.0, "simulated": simulated_s}
    return {
        "policy": "fcfs easy",
        "tried": [{"policy": "fcfs easy", "factor": 1.08}, {"policy": "sjf easy", "factor": 2.5}],
        "wait_s": waits,
        "slowdown": {"name": "bounded slowdown", "jobs": 900, "log": 90.0, "simulated": 88.0},
        "utilisation": {"name": "utilisation", "jobs": 900, "log": 0.69, "simulated": 0.7},
        "weekly": 1.1,
        "by_size": [waits | {"name": "1 PE", "jobs": 400}, waits | {"name": "2 to 7 PEs", "jobs": 500}],
        "by_partition": [waits | {"name": "long"}, waits | {"name": "short"}],
        "by_week": [waits | {"name": "week 1"}],
        "reasons": ["the log has 2 queues, which are taken as one"],
    }


def capacity():
    target = {"text": "mean wait 1h", "statistic": "mean", "measure": "wait", "most": 3600.0, "largest": 64}
    return {
        "target": target,
        "of": "PEs",
        "now": 100,
        "fewest": 108,
        "value": 3500.0,
        "surely": 113,
        "cores": 13,
        "price": 1300.0,
    }


def effects():
    group = {"name": "the longest tenth", "jobs": 90, "before_s": 7200.0, "after_s": 9000.0}
    return {
        "longest": group,
        "by_size": [group | {"name": "jobs of 1 PE", "after_s": 3600.0}, group | {"name": "jobs of 2 to 7 PEs"}],
        "by_queue": [],
        "users": 12,
        "users_lose": 3,
    }


def advised():
    sentence = "5 PEs more pays most: it lowers the mean wait by 1690 s (1081 to 2871, 95 %)"
    return {
        "format": 1,
        "command": "jobs advise",
        "sentence": sentence,
        "refused": None,
        "objective": "wait",
        "base": {"name": "easy, limit", "value": 6866.6, "overloaded": None},
        "candidates": [
            candidate("policy strict", "policy", -490.8, p=0.01, holm=0.03),
            candidate("5 PEs more", "add", 1690.0, p=1e-6, holm=5e-6, price=500.0),
            candidate("policy sjf", "policy", 320.0, p=0.04, holm=0.08),
            candidate("exact estimates (a bound)", "bound", 515.0, p=0.2, holm=0.4),
        ],
        "pays_most": "5 PEs more",
        "ties": ["policy sjf"],
        "pays_most_per_price": "5 PEs more",
        "ties_per_price": [],
        "backtest": backtest(),
        "capacity": [capacity()],
        "drains_from": [{"of": "PEs", "fewest": 120, "cores": 20}],
        "effects": effects(),
        "slurm_conf": ["SchedulerType=sched/builtin", "PriorityType=priority/basic"],
        "compared": {key: value for key, value in compared().items() if key not in {"format", "command", "provenance"}},
        "provenance": compared()["provenance"],
    }
