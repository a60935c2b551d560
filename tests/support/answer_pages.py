"""A page of each kind of report, made without measuring anything: what browsers look at."""

import functools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from advisor import Advice, advice_of, recommend
from advisor.report.advice import advice_page
from advisor.report.cluster import ClusterResult, cluster_page
from advisor.report.html import render_page
from advisor.report.illustrated import NOTHING, illustration
from advisor.report.jobs import SettingFacts, figures, jobs_page, ran_jobs
from advisor.report.verification import verification_page
from advisor.verification.check import Verified
from simulator import Estimates, Policy, blocks, load_scenario, make_stream, run_jobs
from tests.support.illustrated import TUTORIAL, simulated_page
from tests.support.jobs_documents import advised, compared
from tests.support.made import made
from tests.support.made_up_sweeps import LATENCY, LINK, plan_of, swept_of, whatif_document
from tests.support.rendered import page_of, render_html
from tests.support.report_sample import cluster_document, sample_document, verified_document

READ = {"log": "sha256:" + "ab" * 32, "log.swf": "sha256:" + "ab" * 32}


def page_of_advice(name="two-cores", *, replications=40, runs=400):
    """What `advise -o` writes of a tutorial's scenario."""
    scenario = load_scenario(TUTORIAL / f"{name}.yaml")
    made = recommend(scenario, replications=replications, runs=runs)
    whole = scenario.with_configurations(made.candidates)
    before = made.strategies.also.get(made.reference, made.reference)
    drawn = illustration(whole, made.runs, (made.configuration.name, before), before=before, launched=True)
    return render_page(advice_page(advice_of(scenario, made), drawn))


def page_of_many(pes=1000):
    """An advice for so many unequal PEs, of which each gets another number of units."""
    gets = [400 + (7919 * pe) % 1201 for pe in range(pes)]
    equal = [sum(gets) // pes] * pes
    described = {"mean": 2.0, "low": 1.9, "high": 2.1, "median": 2.0, "run_low": 1.8, "run_high": 2.2}
    gain = {"mean": 1.5, "low": 1.4, "high": 1.6}
    simulated = [("equal", equal, {key: 1.5 * value for key, value in described.items()}), ("joint", gets, described)]
    advice = made(
        Advice,
        {
            "command": "advise",
            "application": {"name": "stencil", "kernel": "stencil", "parameters": {"n": 9}},
            "pes": [f"node{pe // 8:03d}-core{pe % 8}" for pe in range(pes)],
            "recommended": "joint",
            "baselines": [
                {"name": name, "partition": parts, "placement": list(range(pes)), "predicted_makespan_s": took}
                | {"gain_of_recommended": gain, "probability_recommended_faster": 0.9}
                for name, parts, took in simulated
            ],
            "replications": 40,
            "provenance": sample_document()["provenance"],
        },
    )
    launches = "# Open MPI 5\nmpirun --hostfile hostfile.openmpi -n 1000 PROGRAM\n"
    return render_page(advice_page(advice, replace(NOTHING, launches=launches)))


def rendered(shown):
    """The text of a page with a line to copy, which the command line adds."""
    return render_page(replace(shown, run=(blocks.Command("apportion advise two-cores -o out/advice", "advice"),)))


def page_of_verification():
    """What `verify -o` writes of an advice."""
    return rendered(verification_page(made(Verified, verified_document())))


def page_of_whatif():
    """What `whatif -o` writes of two fields."""
    draws = np.random.default_rng(3)
    common = draws.normal(0, 0.01, 20)
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_of(Path(folder), f"{LINK}=x1,x2,x4", f"{LATENCY}=x1,/2,/4")

        def makespans_s(point, _):
            down, across = divmod(point - 1, 3) if point else (0, 0)
            mean = 0.05 / (1 + down) + 0.004 / (1 + across)
            return mean * (1 + common + draws.normal(0, 0.003, 20))

        return rendered(page_of(whatif_document(swept_of(plan, makespans_s))))


def page_of_cluster(hosts=6):
    """What `cluster` writes of two kinds of hosts."""
    entries = [
        {"name": f"n{host:02d}", "kind": host % 2, "cpu_model": "EPYC", "pes": 8, "memory_bytes": 2**36}
        | {"available": 0.93, "units_per_s": 900.0 if host % 2 else 400.0, "units": 692 if host % 2 else 308}
        | {"processes": 8, "units_now": 500}
        for host in range(hosts)
    ]
    document = cluster_document() | {
        "hosts": entries,
        "network": "one switch, 10 Gbit/s",
        "line": "mpirun --hostfile out/cluster/hostfile.openmpi -n 48 PROGRAM",
        "lost": {"n07": "ssh: connect to host n07 port 22: No route to host"},
    }
    return render_page(cluster_page(made(ClusterResult, document)))


def page_of_jobs():
    """What `jobs run -o` writes of sixty jobs."""
    draws, log = np.random.default_rng(5), TUTORIAL / "jobs.csv"
    run_s = draws.exponential(900, 60)
    known = {"submit_s": draws.exponential(60, 60).cumsum(), "processors": draws.integers(1, 33, 60)}
    stream = make_stream("a day", **known, run_s=run_s, limit_s=2 * run_s)
    runs = run_jobs(stream, 56, Policy(), Estimates("exact"), engine="process")
    setting = SettingFacts(None, "predicted", 0, "fixed", None)
    return rendered(jobs_page(ran_jobs(runs, log=log, warm_up=0.0, setting=setting), (), figures(runs, 0.0)))


def page_of_choices(document):
    """A page of `jobs compare` or `jobs advise` whose stream is a file."""
    return rendered(page_of(document | {"provenance": document["provenance"] | {"inputs": READ}}))


KINDS = {
    "advise": page_of_advice,
    "many": page_of_many,
    "quickstart": lambda: render_html(sample_document()),
    "simulate": lambda: rendered(simulated_page()),
    "verify": page_of_verification,
    "whatif": page_of_whatif,
    "cluster": page_of_cluster,
    "jobs run": page_of_jobs,
    "jobs compare": lambda: page_of_choices(compared()),
    "jobs advise": lambda: page_of_choices(advised()),
}
"""Kind of a report -> what makes its page."""


@functools.cache
def page(kind):
    """The text of a kind's page, made once."""
    return KINDS[kind]()
