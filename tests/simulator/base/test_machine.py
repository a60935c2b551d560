import json
import os

import psutil

from simulator import this_machine
from simulator.base import machine


def test_it_agrees_with_the_system():
    found = this_machine()
    assert found.memory_bytes == psutil.virtual_memory().total
    assert {core.cpu for core in found.cores} <= os.sched_getaffinity(0)
    assert 1 <= found.pe_count <= len(os.sched_getaffinity(0))
    assert found.last_level_cache_bytes == max((cache.size_bytes for cache in found.caches), default=0)
    json.dumps(found.to_dict(), allow_nan=False)


def test_affinity_limits_the_pes():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert [core.cpu for core in this_machine().cores] == [min(before)]
    finally:
        os.sched_setaffinity(0, before)


def test_processor_lists():
    assert machine._cpu_list("0-2,8") == [0, 1, 2, 8]
    assert machine._cpu_list(None) == []


def test_quotas_are_read_in_both_versions(tmp_path):
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert machine._quota_v2(tmp_path) == (1.5, 0.1)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert machine._quota_v2(tmp_path) is None
    (tmp_path / "cpu.cfs_quota_us").write_text("50000")
    (tmp_path / "cpu.cfs_period_us").write_text("100000")
    assert machine._quota_v1(tmp_path) == (0.5, 0.1)
    (tmp_path / "cpu.cfs_period_us").write_text("20000")
    assert machine._quota_v1(tmp_path) == (2.5, 0.02)


def test_the_topology_agrees_with_the_short_description():
    found, parts = this_machine(), machine.this_topology()
    assert [core.cpu for core in parts.cores] == [core.cpu for core in found.cores]
    assert parts.pe_count == found.pe_count
    first = found.cores[0].cpu
    assert {(c.level, c.kind, c.size_bytes, c.shared_by) for c in found.caches} == {
        (c.level, c.kind, c.size_bytes, len(c.cpus)) for c in parts.caches if first in c.cpus
    }
    assert sorted(cpu for cpus in parts.packages for cpu in cpus) == sorted(os.sched_getaffinity(0))
    assert parts.swap_bytes == psutil.swap_memory().total
    assert parts.memory_bytes <= found.memory_bytes
    json.dumps(parts.to_dict(), allow_nan=False)


def test_sizes_of_caches_as_the_system_writes_them():
    assert [machine._cache_bytes(text) for text in ("32K", "2M", "1G", "512")] == [2**15, 2**21, 2**30, 512]
