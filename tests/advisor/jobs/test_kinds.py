"""Kinds of nodes, more or fewer of one, and which jobs nodes hold: against loops from the definitions."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.jobs.kinds import kinds, on_nodes, parts
from advisor.jobs.setting import Setting
from simulator import NO_LIMIT_MIB, JobNodes, JobPartition, Reservation, ScenarioError, fitting_jobs, make_stream


def cluster(order=range(5)):
    """Three nodes of one kind and two of another, in any order in the file."""
    rows = [("n1", 4, 8000, 0, ("a",)), ("n2", 4, 8000, 0, ("a",)), ("n3", 4, 8000, 0, ("a",))]
    rows += [("g1", 8, 16000, 2, ("a", "gpu:x")), ("g2", 8, 16000, 2, ("a", "gpu:x"))]
    names, cores, memory, gpus, features = zip(*(rows[place] for place in order), strict=True)
    where = {name: place for place, name in enumerate(names)}
    long, fast = ([where[name] for name in members] for members in (("n1", "n2", "n3"), ("g1", "g2")))
    return JobNodes(
        names, np.array(cores), np.array(memory), np.array(gpus), np.ones(5, dtype=np.int64), features,
        (JobPartition("long", np.array(long), default=True), JobPartition("fast", np.array(fast), max_nodes=1)),
        (Reservation(0, 10, (where["n3"],)), Reservation(5, 9)),
    )  # fmt: skip


def jobs(**columns):
    count = len(columns["processors"])
    names = {"partition": ("long", "fast", "gone"), "feature": ("a", "gpu:x", "a&gpu:x", "b|gpu:x")}
    return make_stream("made", submit_s=np.arange(count), run_s=np.ones(count), names=names, **columns)


@pytest.mark.parametrize("order", [range(5), (4, 0, 3, 1, 2)])
def test_kinds_are_nodes_that_jobs_cannot_tell_apart_in_any_order(order):
    nodes = cluster(order)
    found = {tuple(sorted(nodes.names[place] for place in kind.members)): kind.about for kind in kinds(nodes)}
    assert found == {("n1", "n2", "n3"): "4 cores, 7.812 GiB", ("g1", "g2"): "8 cores, 15.62 GiB, 2 GPUs"}
    assert NO_LIMIT_MIB not in nodes.memory_mib
    apart = replace(nodes, weight=np.array([2 if name == "n1" else 1 for name in nodes.names]))
    assert len(kinds(apart)) == 3, "another weight is another kind"


@pytest.mark.parametrize("order", [range(5), (4, 0, 3, 1, 2)])
@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_more_or_fewer_of_a_kind_changes_nothing_else(order, count):
    nodes = cluster(order)
    part = next(one for one in parts(Setting(nodes)) if one.holds("n2"))
    assert (part.now, part.cores) == (3, 4)
    found = part.setting_with(count).cluster
    inside = {one.name: sorted(found.names[place] for place in one.members) for one in found.partitions}
    assert len(inside["long"]) == count
    assert inside["fast"] == ["g1", "g2"]
    assert found.count == 4 * count + 16
    assert [found.names[place] for one in found.reservations for place in one.nodes] == (["n3"] if count >= 3 else [])
    assert Reservation(5, 9) in found.reservations, "one of all nodes stays one of all"
    again = {found.names[place]: found.capacity[place].tolist() for place in range(len(found.names))}
    assert all(again[name] == nodes.capacity[nodes.names.index(name)].tolist() for name in again if "+" not in name)


def holds(nodes, job):
    """From the definitions, chunk by chunk."""
    free = {place: nodes.capacity[place].astype(float) for place in range(len(nodes.names))}
    partition = {0: "long", 1: "fast", -1: "long"}.get(job["partition"])
    of = next((one for one in nodes.partitions if one.name == partition), None)
    if of is None or (of.max_nodes is not None and job["nodes"] > of.max_nodes):
        return False
    wanted = {-1: [set()], 0: [{"a"}], 1: [{"gpu:x"}], 2: [{"a", "gpu:x"}], 3: [{"b"}, {"gpu:x"}]}[job["feature"]]
    chunks = job["nodes"] or job["processors"]
    cores = -(-job["processors"] // chunks)
    each = np.array([cores, np.ceil(cores * job["memory_bytes"] / 2**20), -(-job["gpus"] // chunks)])
    left = chunks
    for place in of.members.tolist():
        if not any(one <= set(nodes.features[place]) for one in wanted):
            continue
        while left and np.all(free[place] >= each):
            free[place], left = free[place] - each, left - 1
            if job["nodes"]:
                break
    return not left


def test_which_jobs_nodes_hold_is_what_a_loop_finds():
    nodes, rng, count = cluster(), np.random.default_rng(5), 400
    columns = {
        "processors": rng.integers(1, 14, count),
        "nodes": rng.integers(0, 4, count),
        "gpus": np.zeros(count, dtype=np.int64),
        "partition": rng.integers(-1, 3, count),
        "feature": rng.integers(-1, 4, count),
        "memory_bytes": rng.integers(1, 4000, count) * 2.0**20,
    }
    columns["gpus"] = np.where(columns["nodes"] > 0, rng.integers(0, 5, count), 0)
    found = fitting_jobs(jobs(**columns), nodes)
    rows = [{name: values[k].item() for name, values in columns.items()} for k in range(count)]
    assert found.tolist() == [holds(nodes, row) for row in rows]
    assert 30 < found.sum() < 350, "both are there"


def test_a_log_of_another_cluster_is_refused_and_single_jobs_left_out():
    sizes = np.ones(300, dtype=np.int64)
    sizes[7] = 99
    found = on_nodes(jobs(processors=sizes), cluster())
    assert len(found) == 299
    assert found.notes == ("1 of 300 jobs do not fit on these nodes, the largest: job 8 (99 processors); left out",)
    with pytest.raises(ScenarioError, match="4 of 300 jobs do not fit on these nodes, the largest: job 8"):
        on_nodes(jobs(processors=np.where(np.arange(300) % 100 == 3, 40, sizes)), cluster())
