"""hwloc exports: real ones of this version and the last, and every trap of the format in files written by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from simulator.base.errors import ScenarioError
from simulator.base.machine import Core, this_topology
from simulator.platform.foreign import check_same_machine, read_hwloc
from tests.support.mutated_files import Foreign, accepted_in_silence, any_of, double, insert, misspell

HERE = Path(__file__).parent / "hwloc"
GIB = 2**30


def caches(topology):
    return [(cache.name, cache.size_bytes, cache.instances, cache.most_pes) for cache in topology.data_caches]


def test_a_real_export_of_a_machine_of_two_cores():
    """lscpu of that machine: 2 cores without SMT, L1d 32 KiB and L2 512 KiB each, one L3 of 32 MiB."""
    found = read_hwloc(HERE / "real-2.9.xml")
    assert (found.host, found.cpu_model, found.pe_count) == ("vm", "AMD EPYC", 2)
    assert found.cores == (Core(0, ()), Core(1, ()))
    assert caches(found) == [("L1", 32768, 2, 1), ("L2", 524288, 2, 1), ("L3", 2**25, 1, 2)]
    assert found.memory_bytes == 22_777_389_056
    assert found.warnings == ()


@pytest.mark.parametrize("name", ["real-2.9", "made-2.9"])
def test_both_forms_of_one_machine_say_the_same(name):
    """hwloc 2.9 wrote both; 1.x has NUMA nodes in the tree, `Socket`, `Cache`, and sets on every object."""
    new, old = read_hwloc(HERE / f"{name}.xml"), read_hwloc(HERE / f"{name}-as-v1.xml")
    assert replace(new, source="", warnings=()) == replace(old, source="", warnings=())


def test_smt_packages_and_what_was_made_up():
    found = read_hwloc(HERE / "made-2.9.xml")
    assert found.cores == (Core(0, (1,)), Core(2, (3,)), Core(4, (5,)), Core(6, (7,)))
    assert found.packages == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert caches(found) == [("L1", 32_000, 4, 1), ("L2", 10**6, 4, 1), ("L3", 8 * 10**6, 2, 2)]
    assert [unit.memory_bytes for unit in found.numa] == [4 * 10**9, 4 * 10**9]
    assert found.memory_bytes == 8 * 10**9
    assert found.host is None
    assert "made from a description" in found.warnings[0]


def test_hybrid_cores_groups_memory_caches_and_processors_that_may_not_be_used():
    found = read_hwloc(HERE / "hybrid-2.xml")
    assert found.cores == (
        Core(0, (2,), "P"),  # the system numbers the second threads after the first ones
        Core(1, (3,), "P"),
        *(Core(cpu, (), "E") for cpu in (4, 5, 6)),
    )
    assert caches(found) == [
        ("L1", 32768, 3, 1),
        ("L1", 49152, 2, 1),
        ("L2", 2**21, 2, 1),
        ("L2", 2**22, 1, 3),
        ("L3", 12 * 2**20, 1, 5),
    ]
    assert [(unit.number, unit.cpus) for unit in found.numa] == [(0, tuple(range(8))), (1, ())]
    assert found.memory_bytes == 12 * GIB
    assert any("1 of 8 processors may not be used" in line for line in found.warnings)
    assert any("without processors" in line for line in found.warnings)


def test_the_first_version_counts_in_kibibytes():
    found = read_hwloc(HERE / "old-1.0.xml")
    assert found.memory_bytes == 4 * GIB
    assert caches(found) == [("L1", 32 * 1024, 2, 1), ("L2", 4 * 2**20, 1, 2)]
    assert found.cores == (Core(0, (1,)), Core(3, (2,)))  # processor 2 may not be used: 3 stands for its core


def test_version_3_long_sets_endless_sets_and_processors_outside_cores():
    found = read_hwloc(HERE / "new-3.0.xml")
    assert found.host == "n07"
    assert found.cores == (Core(0, (64,)), Core(1, ()), Core(65, ()))
    assert found.packages == ((0, 64, 1, 65),)
    assert found.memory_bytes == 2 * GIB
    assert "2 processors are in no core; each is taken for a core of its own" in found.warnings[0]


def test_types_elements_and_attributes_of_later_versions_are_looked_through(tmp_path):
    """As 3.0 renames those of devices: `osdev_types` for `osdev_type`, a type of its own for memory modules."""
    path = tmp_path / "later.xml"
    path.write_text("""<topology version="3.1">
      <object type="Machine" os_index="0" cpuset="0x3" nodeset="0x1" moon="full">
        <object type="NUMANode" os_index="0" cpuset="0x3" local_memory="1024"><page_type size="4096"/></object>
        <object type="Tile" os_index="7" cpuset="0x3">
          <object type="L2Cache" cache_size="2048" depth="2" cache_type="0" cpuset="0x3">
            <object type="Core" os_index="0" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
            <object type="Core" os_index="1" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object>
          </object>
        </object>
        <object type="Bridge" bridge_type="0-1"><object type="PCIDev" pci_busid="0000:01:00.0">
          <object type="OSDev" name="nvme0" subtype="NVMe" osdev_types="0x3"/></object></object>
        <object type="MemModule" name="DIMM0" size="1024"/>
      </object>
      <distances3 nbobjs="1"/><memattr name="Tomorrow" flags="5"/><support name="discovery.pu"/>
      <info name="HostName" value="later"/></topology>""")
    found = read_hwloc(path)
    assert (found.cores, found.host, found.memory_bytes) == ((Core(0, ()), Core(1, ())), "later", 1024)
    assert caches(found) == [("L2", 2048, 1, 2)]
    (note,) = found.warnings
    assert "not known and looked through: attribute moon (line 2), attribute osdev_types (line 11; did you" in note


def test_nothing_is_accepted_in_silence(tmp_path):
    attributes = r" (allowed_cpuset|os_index|cpuset|cache_size|cache_type|local_memory|type)="
    form = Foreign(
        (HERE / "hybrid-2.xml").read_text(),
        any_of(misspell(attributes), misspell(r' type="(\w+)"'), misspell(r"<(info|cpukind|page_type)\b")),
        any_of(insert(r"(?<=<object )", 'colour="red" '), insert(r"<object|<info", "<cache/>")),
        any_of(double(r' *<object type="(NUMANode|PU)"[^>]*/>\n?'), double(r" *<cpukind.*\n(.*\n)*?.*</cpukind>\n")),
    )
    assert accepted_in_silence(form, lambda path: read_hwloc(path).warnings, tmp_path / "h.xml") == []


def test_an_export_of_another_machine_is_told_and_of_this_one_compared():
    found, here = read_hwloc(HERE / "made-2.9.xml"), this_topology()
    assert "of another machine" in check_same_machine(found, here)[0]
    assert check_same_machine(replace(here, source="f.xml"), here) == ()
    smaller = replace(here, source="f.xml", memory_bytes=here.memory_bytes // 2, cores=(*here.cores, Core(99, ())))
    memory, cores = check_same_machine(smaller, here)
    assert "bytes of memory in the export" in memory
    assert "cores in the export" in cores


MACHINE = '<topology><object type="Machine" cpuset="0x3" {}>{}</object></topology>'
PU = '<object type="PU" os_index="0"/>'
NODE = '<object type="NUMANode" os_index="1" local_memory="8"/>'
BAD = {
    "no XML": ("hello", ":1: this is no XML: syntax error"),
    "another root": ("<platform/>", ":1: platform: root: 'platform' is no topology of hwloc; name one"),
    "nothing in it": ("<topology/>", "1: topology: object: there is none; give one Machine"),
    "no type": ("<topology><object/></topology>", "1: object: type: it is missing; add it"),
    "no processor": (
        MACHINE.format("", '<object type="Core"/>'),
        "1: object: PU: there is no processor; give at least one",
    ),
    "a processor twice": (
        MACHINE.format("", PU + PU),
        "1: object: PU: os_index 0 comes twice; give each processor its own",
    ),
    "a processor without number": (
        MACHINE.format("", '<object type="PU"/>'),
        "1: object: os_index: it is missing; give 0 to 65535",
    ),
    "a huge number": (
        MACHINE.format("", '<object type="PU" os_index="4294967295"/>'),
        "1: object: os_index: it is 4294967295; give 0 to 65535",
    ),
    "a negative number": (
        MACHINE.format("", '<object type="PU" os_index="-1"/>'),
        "1: object: os_index: '-1' is no whole number of at least 0; write one",
    ),
    "a broken set": (
        MACHINE.format('allowed_cpuset="all"', PU),
        "1: object: allowed_cpuset: 'all' is no set of processors; write one such as 0x0000000f",
    ),
    "none allowed": (
        MACHINE.format('allowed_cpuset="0x0"', PU),
        "1: object: allowed_cpuset: none of the processors is in it; add at least one",
    ),
    "a cache without depth": (
        MACHINE.format("", f'<object type="Cache">{PU}</object>'),
        "1: object: depth: it is 0; give 1 to 9",
    ),
    "a NUMA node twice": (
        MACHINE.format("", f"{PU}{2 * NODE}"),
        "1: object: os_index: 1 comes twice; give each NUMA node its own",
    ),
    "kinds that overlap": (
        f'<topology><object type="Machine">{PU}</object><cpukind cpuset="0x3"/><cpukind cpuset="0x2"/></topology>',
        "1: cpukind: cpuset: some of its processors are of a kind above too; give each one kind",
    ),
    "entities": ('<!DOCTYPE a [<!ENTITY b "c">]><topology/>', "1: the file defines the entity 'b'; write it out"),
    "levels without end": ("<topology>" + "<object>" * 70, "1: the file has more than 64 levels; make it smaller"),
    "a kind of cores without a set": (
        f'<topology><object type="Machine">{PU}</object><cpukind/><cpukind/></topology>',
        "1: cpukind: cpuset: it is missing; add it",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_export_gets_one_line(tmp_path, case):
    text, expected = BAD[case]
    path = tmp_path / "bad.xml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        read_hwloc(path)
    (line,) = caught.value.lines
    assert line.startswith(f"{path}:")
    assert expected in line
