"""SimGrid's platform files: by hand, against SimGrid itself where it is installed, and bad ones."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from simulator import load_scenario, resolved_text, run
from simulator.base.errors import ApportionError
from simulator.platform.foreign import read_simgrid
from simulator.platform.foreign.simgrid_zones import UNITS
from simulator.platform.networks import Listed
from simulator.programs.configuration import Configuration
from simulator.programs.program import Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario
from tests.agreement.simgrid_platform import installed, routes_of
from tests.support.mutated_files import Foreign, accepted_in_silence, any_of, double, insert, misspell

FOLDER = Path(__file__).parent / "simgrid"
HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'


def read(name, **options):
    return read_simgrid(FOLDER / name, kernel="flops", **{"contention": "none"} | options).platform


def links_of(platform, source, destination):
    """Names of the links on the way, those with directions as SimGrid names them."""
    names, links = platform.node_names, platform.network.links
    ends = (np.array([names.index(name)]) for name in (source, destination))
    passed = platform.network.topology.routes(*ends)[1].tolist()
    return [links[one >> 1].name + ("" if links[one >> 1].shared else ("_UP", "_DOWN")[one & 1]) for one in passed]


def test_hosts_and_routes_by_hand():
    platform = read("hosts.xml")
    assert [(pe.name, pe.node, pe.cores) for pe in platform.pes] == [
        ("Tremblay", "Tremblay", 1),
        ("Jupiter", "Jupiter", 2),
        ("Fafard", "Fafard", 1),
    ]
    assert [pe.speeds["flops"].mid[0] for pe in platform.pes] == [98.095e6, 76.296e6, 30e6]
    assert isinstance(platform.network.topology, Listed)
    assert links_of(platform, "Tremblay", "Jupiter") == ["1", "2_UP"]
    assert links_of(platform, "Jupiter", "Tremblay") == ["2_DOWN", "1"]
    assert links_of(platform, "Jupiter", "Fafard") == ["2_DOWN"]
    assert links_of(platform, "Fafard", "Jupiter") == ["3"]
    assert platform.message_s(0, 1, 4279375.0) == pytest.approx(1 + 659.904e-6)
    assert platform.network.within.time_s(np.array([498e6]))[0] == pytest.approx(1 + 15e-6)
    assert platform.network.links[1].bandwidth_bytes_per_s == 125e6
    assert platform.network.links[2].bandwidth_bytes_per_s == 125e6  # 1Gbps


def test_speed_profiles_become_availability_from_time_0_on():
    slow, steady = read("profiles.xml").pes
    assert (slow.load.rule, slow.load.drawn, slow.load.trace.after_end) == ("given", False, "cycle")
    assert slow.load.trace.times_s[:4].tolist() == [0, 1, 2, 5]
    assert slow.load.trace.values[:4].tolist() == [1, 0.5, 0.2, 1]
    assert slow.load.trace.end_s == 10
    assert steady.load.trace.after_end == "hold"


def test_a_profile_that_begins_late_and_ends_slow_is_written_out():
    """Full speed until 1.5 s, but only once: later periods (3.05 s) begin with the value before."""
    found = read_simgrid(FOLDER / "cabinets.xml", kernel="flops", contention="none")
    trace = next(pe for pe in found.platform.pes if pe.name == "y").load.trace
    assert trace.times_s[:6].tolist() == pytest.approx([0, 1.5, 2.25, 4.55, 5.3, 7.6])
    assert trace.values[:6].tolist() == [1, 0.5, 0.75, 0.5, 0.75, 0.5]
    assert trace.after_end == "error"
    assert any("runs beyond that are refused" in note for note in found.notes)


def test_of_ways_as_short_floyd_takes_one_by_the_order_of_points():
    platform = read("ties.xml")  # a ring of six: b and d are three links apart both ways
    assert links_of(platform, "b", "d") == ["l1", "l5", "l4"]
    assert links_of(platform, "d", "b") == ["l4", "l5", "l1"]
    assert links_of(platform, "a", "c") == ["l2", "l1"]


WIDE = """<zone id="z" routing="Full">
  <cluster id="c" prefix="c" suffix="" radical="0-1" speed="1Gf" bw="1MBps" lat="1ms" CORE/>
  <cluster id="d" prefix="d" suffix="" radical="0-1" speed="1Gf" bw="1MBps" lat="1ms"/>
  <link id="wide" bandwidth="1MBps" latency="100ms" sharing_policy="FATPIPE"/>
  <zoneRoute src="c" dst="d" gw_src="cc_router" gw_dst="cd_router"><link_ctn id="wide"/></zoneRoute>
</zone>""".replace("cd_router", "dd_router")
CORE = (
    '<cluster id="c" prefix="c" suffix="" radical="0-3" speed="1Gf" bw="1MBps" lat="1ms" bb_bw="1MBps" bb_lat="100ms" '
)


@pytest.mark.parametrize("inside", [WIDE.replace("CORE", ""), CORE + 'bb_sharing_policy="FATPIPE"/>'])
def test_a_link_that_nobody_shares_is_latency_where_others_are_as_narrow(tmp_path, inside):
    """Two messages at once over it, each between hosts of its own: both as fast as alone."""
    path = tmp_path / "c.xml"
    path.write_text(f'{HEAD}<platform version="4.1">{inside}</platform>')
    platform = read_simgrid(path, kernel="k", contention="fair").platform
    steps = ((Send(2, 10**6, 0),), (Send(3, 10**6, 0),), (Recv(0, 0),), (Recv(1, 0),))
    application = Application.of_program(Program(steps, (0,) * 4), kernel="k")
    made = Scenario(platform, application, (Configuration("c", (1,) * 4, (0, 1, 2, 3)),), replications=1)
    assert run(made, engine="process").makespan_s[0, 0] == pytest.approx(1.102, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hosts.xml", "zones.xml", "floyd.xml", "backbone.xml"])
def every_route_is_simgrids(name):
    told, platform = routes_of(FOLDER / name), read(name)
    assert {pe.name: [pe.speeds["flops"].mid[0], pe.cores] for pe in platform.pes} == told["hosts"]
    for pair, (links, latency_s) in told["routes"].items():
        source, destination = pair.split()
        assert links_of(platform, source, destination) == links, pair
        ends = [platform.node_names.index(source), platform.node_names.index(destination)]
        assert platform.message_s(*ends, 0.0) == pytest.approx(latency_s, rel=1e-12)
    for link in platform.network.links:
        name = link.name if link.shared else f"{link.name}_UP"
        assert [link.bandwidth_bytes_per_s, link.latency_s] == pytest.approx(told["links"][name], rel=1e-12)


def test_a_fat_tree_goes_up_by_destination_by_hand():
    """Of 12 hosts 3 are on a switch, 2 of these below another; four cables up from the first, by destination mod 4."""
    platform = read("fat_tree.xml")
    ways = {place: links_of(platform, "f0", f"f{place}") for place in range(1, 12)}
    assert [len(way) for way in ways.values()] == [2] * 2 + [4] * 3 + [6] * 6
    for one, other in itertools.combinations(range(3, 12), 2):
        assert (ways[one][1] == ways[other][1]) == (one % 4 == other % 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torus.xml", "fat_tree.xml", "cabinets.xml", "ties.xml"])
def every_route_passes_links_like_simgrids(name):
    """Links of generated clusters have other names, but one for each of SimGrid's, on the same routes."""
    told, platform = routes_of(FOLDER / name), read(name)
    assert sorted(pe.name for pe in platform.pes) == sorted(told["hosts"])
    ours_of, theirs_of = {}, {}
    for pair, (links, _) in told["routes"].items():
        ours = links_of(platform, *pair.split())
        meant = [link for link in links if link != "over"]  # never the narrowest, not shared: it decides nothing
        assert len(ours) == len(meant), pair
        for mine, theirs in zip(ours, meant, strict=True):
            assert ours_of.setdefault(theirs, mine) == mine, pair
            assert theirs_of.setdefault(mine, theirs) == theirs, pair
    capacities = {link.name: link.bandwidth_bytes_per_s for link in platform.network.links}
    for theirs, mine in ours_of.items():
        name = mine if mine in capacities else mine.removesuffix("_UP").removesuffix("_DOWN")
        assert told["links"][theirs][0] == capacities[name]


@pytest.mark.slow
def every_unit_is_simgrids(tmp_path):
    """As long as SimGrid's list, and none that it does not have."""
    path, none = tmp_path / "p.xml", [f"{scale}{end}" for scale in ("K", "ki", "m", "") for end in ("f", "Bps", "B")]
    for kind, element in (
        ("speed", '<host id="{}" speed="3{}"/>'),
        ("bandwidth", '<link id="{}" bandwidth="3{}" latency="1s"/>'),
    ):
        lines = [element.format(unit, unit) for unit in UNITS[kind]]
        path.write_text(platform_text("\n".join([HOSTS, *lines, ROUTE])))
        told, found = routes_of(path), read(path)
        if kind == "speed":
            assert {pe.name: [pe.speeds["flops"].mid[0], 1] for pe in found.pes} == told["hosts"]
        for unit in UNITS[kind] if kind == "bandwidth" else ():
            (link,) = (one for one in found.network.links if one.name == unit)
            assert link.bandwidth_bytes_per_s == told["links"][unit][0]
        for unit in set(none) - set(UNITS[kind]):
            path.write_text(platform_text("\n".join([HOSTS, element.format("x", unit), ROUTE])))
            with pytest.raises(ApportionError, match="is no number with a unit of SimGrid"):
                read(path)
            with pytest.raises(AssertionError, match="unknown unit"):
                routes_of(path)


if installed():  # an oracle, no dependency: its tests are not skipped but left out
    test_every_unit_is_simgrids = every_unit_is_simgrids
    test_every_route_is_simgrids = every_route_is_simgrids
    test_every_route_passes_links_like_simgrids = every_route_passes_links_like_simgrids


def test_a_scenario_names_a_platform_file(tmp_path):
    for name in ("profiles.xml", "slow.profile", "steady.profile"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    path = tmp_path / "s.yaml"
    path.write_text(
        "format: 1\nplatform: {simgrid: profiles.xml, contention: fifo, eager: 1kB}\n"
        "application: {name: matmul, kernel: dgemm, parameters: {n: 10}}\nconfigurations: {all: {partition: [5, 5]}}\n"
    )
    loaded = load_scenario(path)
    assert set(loaded.inputs) == {"s.yaml", "profiles.xml", "slow.profile", "steady.profile"}
    assert (loaded.platform.network.contention, loaded.platform.network.eager_bytes) == ("fifo", 1000)
    assert loaded.platform.pes[0].speed_of("dgemm").mid[0] == 100
    again = tmp_path / "again.yaml"
    again.write_text(resolved_text(path))
    explicit = load_scenario(again).platform
    assert [pe.load.trace.values.tolist() for pe in explicit.pes] == [
        pe.load.trace.values.tolist() for pe in loaded.platform.pes
    ]
    assert explicit.network.topology == loaded.platform.network.topology
    assert np.array_equal(explicit.network.loopback.times_s, loaded.platform.network.loopback.times_s)


def test_a_platform_file_may_lie_elsewhere(tmp_path):
    """By its whole path, or beside the scenario's folder; its profiles are named like it."""
    folder, scenarios = tmp_path / "platforms", tmp_path / "scenarios"
    folder.mkdir()
    scenarios.mkdir()
    for name in ("profiles.xml", "slow.profile", "steady.profile"):
        (folder / name).write_bytes((FOLDER / name).read_bytes())
    for named in (str(folder / "profiles.xml"), "../platforms/profiles.xml"):
        path = scenarios / "s.yaml"
        path.write_text(
            f"format: 1\nplatform: {{simgrid: {named}}}\napplication: {{name: matmul, kernel: k, "
            "parameters: {n: 10}}\nconfigurations: {all: {partition: equal}}\n"
        )
        assert set(load_scenario(path).inputs) >= {named, named.replace("profiles.xml", "slow.profile")}


def platform_text(inside):
    return f'{HEAD}<platform version="4.1"><zone id="z" routing="Full">\n{inside}\n</zone></platform>'


def cluster(radical, more=""):
    return platform_text(f'<cluster id="c" prefix="" suffix="" radical="{radical}" speed="1f" bw="1" lat="0" {more}/>')


def shaped(radical, topology, parameters):
    return cluster(radical, f'topology="{topology}" topo_parameters="{parameters}"')


NINES = "9" * 5000
HOSTS = '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="1MBps" latency="1us"/>'
ROUTE = '<route src="a" dst="b"><link_ctn id="l"/></route>'
BOMB = "\n".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
BAD = {
    "billion laughs": (f'<!DOCTYPE p [<!ENTITY e0 "ha">{BOMB}]><p>&e9;</p>', ":1: the file defines the entity"),
    "parameter entity": ('<!DOCTYPE p [<!ENTITY % x SYSTEM "http://h/x.dtd"> %x;]><p/>', ":1: the file defines the"),
    "unknown entity": (HEAD + "<platform>&x;</platform>", ":3: the file defines the entity 'x'; write it out"),
    "deep": ("<a>" * 70 + "</a>" * 70, "1: the file has more than 64 levels; make it smaller"),
    "no XML": ("format: 1", ":1: this is no XML: "),
    "other root": ("<html/>", "1: html: root: 'html' is no platform; name a platform of SimGrid"),
    "old version": ('<platform version="3"/>', r"1: platform: version: 3 is not read; convert the file to 4 or 4\.1"),
    "no hosts": (platform_text(""), "3: platform: host: there is none; add at least one"),
    "unknown link": (platform_text(HOSTS + ROUTE.replace('id="l"', 'id="m"')), "4: link_ctn m: id: there is no"),
    "unknown host": (platform_text(HOSTS + ROUTE.replace('dst="b"', 'dst="c"')), "4: route: src, dst: the zone"),
    "empty route": (platform_text(HOSTS + '<route src="a" dst="b"/>'), "4: route: link_ctn: there is none; add at"),
    "two routes": (platform_text(HOSTS + '<link id="m" bandwidth="1MBps"/>' + ROUTE + ROUTE.replace('"l"', '"m"')),
                   "a second route from a to b"),
    "host twice": (platform_text(HOSTS + '<host id="a" speed="1Gf"/>'), "4: host a: id: 'a' comes twice; give each"),
    "link twice": (platform_text(HOSTS + '<link id="l" bandwidth="1Bps"/>'), "4: link l: id: two links are called"),
    "unit": (platform_text(HOSTS.replace("1MBps", "1MB")), "4: link l: bandwidth: '1MB' is no number with a unit"),
    "zero bandwidth": (platform_text(HOSTS.replace("1MBps", "0")), "4: link l: link: bandwidth is 0 B/s; give more"),
    "zero speed": (platform_text(HOSTS.replace("1Gf", "0") + ROUTE), "4: host a: speed: it is 0; give more than 0"),
    "pstate": (platform_text(HOSTS.replace('"1Gf"', '"1Gf" pstate="1"') + ROUTE), "4: host a: pstate: '1' is no"),
    "very many cores": (platform_text(HOSTS.replace('"1Gf"', f'"1Gf" core="{NINES}"') + ROUTE), "core: '999"),
    "very many hosts": (
        cluster("0-999999,0"),
        "of 1000000 hosts at the most",
    ),
    "cores": (platform_text(HOSTS.replace('"1Gf"', '"1Gf" core="0"') + ROUTE), "4: host a: core: '0' is no number"),
    "missing profile": (platform_text(HOSTS.replace('"1Gf"', '"1Gf" speed_file="no"') + ROUTE), "no: no such file"),
    "duplex direction": (platform_text(HOSTS.replace('"1us"', '"1us" sharing_policy="SPLITDUPLEX"') + ROUTE),
                         "4: link_ctn l: direction: 'NONE' is no direction; write UP or DOWN for a SPLITDUPLEX link"),
    "fat": (platform_text(HOSTS.replace('"1us"', '"1us" sharing_policy="FATPIPE"') + ROUTE), "3: platform: link: l"),
    "limiter": (cluster("0-3", 'limiter_link="1"'), "4: cluster c: limiter_link: a link that limits"),
    "topology": (cluster("0-1", 'topology="DRAGONFLY"'), "4: cluster c: topology: 'DRAGONFLY' is not read; write F"),
    "torus": (shaped("0-4", "TORUS", "2,2"), "4: cluster c: topo_parameters: there are 2 x 2 places and"),
    "torus without shape": (shaped("0-4", "TORUS", "2,x"), "4: cluster c: topo_parameters: '2,x' is no"),
    "fat tree": (shaped("0-4", "FAT_TREE", "1;4;1;1"), "4: cluster c: topo_parameters: there are 4 places"),
    "huge fat tree": (shaped("0-3", "FAT_TREE", "2;2,2;999999,999999;9,9"), "4: cluster c:"),
    "fat tree's parts": (shaped("0-3", "FAT_TREE", "2;2"), "4: cluster c: topo_parameters: this is no fat"),
    "torus's dimensions": (shaped("0", "TORUS", ",".join("1" * 17)), "4: cluster c:"),
    "large torus": (shaped("0-600", "TORUS", "601"), "4: cluster c: radical: there are 601 hosts; a TORUS"),
    "a link twice on a way": (platform_text(HOSTS + '<host id="c" speed="1f"/>' + ROUTE
        + '<route src="b" dst="c"><link_ctn id="l"/></route>').replace("Full", "Floyd"),
        "3: zone z: route: from a to c: link l comes twice; pass each once"),
    "host_link elsewhere": (platform_text(HOSTS + '<host_link id="a" up="l" down="l"/>'),
                            "4: host_link a: host_link: it stands in a zone of routing 'Full'; put it in one of"),
    "host_link of nobody": (platform_text(HOSTS + '<host_link id="z" up="l" down="l"/>').replace("Full", "Cluster"),
                            "4: host_link z: id: the zone holds no host 'z'; name one that it holds"),
    "two host_links": (platform_text(HOSTS + '<host_link id="a" up="l" down="l"/>' * 2).replace("Full", "Cluster"),
                       "4: host_link a: id: 'a' has a second host_link; leave one out"),
    "two backbones": (platform_text(HOSTS + "".join(
        f'<backbone id="b{n}" bandwidth="1Bps" latency="0"/>' for n in (1, 2))).replace("Full", "Cluster"),
        "4: backbone b2: id: the zone has a second backbone; leave one out"),
    "link of nobody": (platform_text(HOSTS + '<host_link id="a" up="l" down="m"/>').replace("Full", "Cluster"),
                       "4: host_link m: id: there is no link 'm' above; name one that is defined before"),
    "a node in two zones": (platform_text(
        '<zone id="y" routing="Full"><host id="a" speed="1f"><prop id="apportion.node" value="n"/></host></zone>'
        '<zone id="x" routing="Full"><host id="b" speed="1f"><prop id="apportion.node" value="n"/></host></zone>'),
        r"4: host a: apportion\.node: 'n' is not alone in a zone with one router; put its hosts there"),
    "a node without ways": (platform_text("".join(
        f'<host id="{name}" speed="1f"><prop id="apportion.node" value="n"/></host>' for name in "ab")),
        r"4: host a: apportion\.node: there is no route to b of the same node; add one"),
    "a node with unlike ways": (f'{HEAD}<platform version="4.1"><zone id="w" routing="Full">' + "".join(
        f'<zone id="z{n}" routing="Full">' + "".join(
            f'<host id="{name}{n}" speed="1f"><prop id="apportion.node" value="n{n}"/></host>' for name in "ab")
        + f'<router id="r{n}"/><link id="l{n}" bandwidth="1Bps"/><link id="m{n}" bandwidth="1Bps"/>'
        + f'<route src="a{n}" dst="r{n}"><link_ctn id="l{n}"/></route>'
        + f'<route src="b{n}" dst="r{n}"><link_ctn id="{"lm"[n]}{n}"/></route>'
        + f'<route src="a{n}" dst="b{n}"><link_ctn id="l{n}"/></route></zone>' for n in (0, 1))
        + '<zoneRoute src="z0" dst="z1" gw_src="r0" gw_dst="r1"><link_ctn id="l0"/></zoneRoute></zone></platform>',
        r"3: host b1: apportion\.node: the hosts of 'n1' have different routes; give all the same"),
    "a narrow FATPIPE": (platform_text(HOSTS + '<link id="m" bandwidth="9MBps" sharing_policy="SHARED"/>'
        + ROUTE.replace("</route>", '<link_ctn id="m"/></route>')).replace('"1us"', '"1us" sharing_policy="FATPIPE"'),
        "3: platform: link: l is a FATPIPE, which is read with contention none only, or where a route's other"),
    "radical": (cluster("1-0"), r"4: cluster c:"),
    "ways as long": (platform_text(HOSTS + '<host id="c" speed="1f"/><host id="d" speed="1f"/>' + "".join(
        f'<route src="{a}" dst="{b}"><link_ctn id="l"/></route>' for a, b in ("ac", "ad", "bc", "bd"))
    ).replace("Full", "Dijkstra"), r"3: zone z: route: several from a to b are as short; leave one \(routing Floyd"),
    "fat tree's levels": (shaped("0-3", "FAT_TREE", "2;4;1;1"), "4: cluster c: topo_parameters: there are"),
}  # fmt: skip


GATES = """<zone id="A" routing="Full"><zone id="C" routing="Full"><host id="a" speed="1Gf"/></zone></zone>
<zone id="B" routing="Full"><host id="b" speed="1Gf"/></zone><link id="l" bandwidth="1GBps" latency="1us"/>
<zoneRoute src="A" dst="B" gw_src="{}" gw_dst="{}"><link_ctn id="l"/></zoneRoute>"""
UNKNOWN = {
    "state_file": (
        'core="2"',
        'state_file="p"',
        "4: host a: state_file: failures are not simulated here; leave it out",
    ),
    "latency_file": (
        " latency=",
        ' latency_file="p" latency=',
        "4: link l: latency_file: a latency that changes is not",
    ),
    "peer": ("<link id", '<peer id="p"/><link id', "4: peer p: peer: it belongs to zones of routing Vivaldi"),
    "element": ("<link id", '<hots id="p"/><link id', "4: hots p: hots: .* not read here; did you mean host?"),
    "routing": ('"Full"', '"Vivaldi"', "3: zone z: routing: 'Vivaldi' is not read; write Full, None, Cluster, Floyd"),
    "WIFI": ('"SHARED"', '"WIFI"', "4: link l: sharing_policy: 'WIFI' is not read; write SHARED, SPLITDUPLEX"),
    "cores": ('core="2"', 'cores="2"', "4: host a: cores: this attribute is not known; did you mean core?"),
    "availability": ('core="2"', 'availability="0.25"', "4: host a: availability: this attribute is not known"),
    "state": ('core="2"', 'state="OFF"', "4: host a: state: this attribute is not known"),
    "lat": (" latency", " lat", "4: link l: lat: this attribute is not known"),
    "speed_fle": ('core="2"', 'speed_fle="p"', "4: host a: speed_fle: .*; did you mean speed_file?"),
    "symmetric": ("symmetrical", "symmetric", "5: route: symmetric: .*; did you mean symmetrical?"),
    "a value": ('"NO"', '"maybe"', "5: route: symmetrical: 'maybe' is not read; write YES, NO, yes, no"),
    "direcion": ('id="l"/></r', 'id="l" direcion="UP"/></r', "5: link_ctn l: direcion: .*; did you mean direction?"),
    "policy": ("sharing_policy", "sharing_polcy", "4: link l: sharing_polcy: .*; did you mean sharing_policy?"),
    "needed": (' speed="1Gf"', "", "4: host a: speed: it is missing; add it"),
    "text": ('"1 2"/>', '"1 2"/>words', "3: zone z: text: 'words'"),
    "our property": (
        "apportion.node",
        "apportion.nod",
        "4: prop apportion.nod: id: this property is nearly apportion.node",
    ),
    "unit": ('"1Gf"', '"1Kf"', "4: host a: speed: '1Kf' is no number with a unit of SimGrid; did you mean kf?"),
    "model": ("CM02", "LV08", "3: prop network/model: value: 'LV08' is not read; write CM02"),
    "by size": ('"0.5"', '"65472:0.94;9376:0.58"', "3: prop network/bandwidth-factor: value: .* is not one number for"),
    "no bandwidth": ('"0.5"', '"0"', "3: prop network/bandwidth-factor: value: '0' is not one number for all sizes"),
    "option": (
        "network/latency-factor",
        "network/latncy-factor",
        "3: prop .*: this option is not read; did you mean",
    ),
    "gamma": ("tracing", "network/TCP-gamma", "3: prop network/TCP-gamma: value: 'yes' is not read; write 0"),
}
WHOLE = (
    f'{HEAD}<platform version="4.1"><config><prop id="network/bandwidth-factor" value="0.5"/><prop id="tracing" '
    'value="yes"/><prop id="network/latency-factor" value="10"/><prop id="network/model" value="CM02"/></config>'
    '<zone id="z" routing="Full">\n<host id="a" speed="1Gf" core="2"><prop id="apportion.node" value="n"/></host>'
    '<host id="b" speed="1Gf" coordinates="1 2"/><link id="l" bandwidth="1MBps" latency="100ms" '
    'sharing_policy="SHARED"/>\n<route src="a" dst="b" symmetrical="NO"><link_ctn id="l"/></route>\n</zone></platform>'
)
LARGE = """<?xml version="1.0"?>
<platform version="4.1">
<config><prop id="network/latency-factor" value="2"/><prop id="network/crosstraffic" value="0"/></config>
<zone id="w" routing="Full">
<cluster id="c" prefix="c" suffix="." radical="0-3" speed="1Gf" bw="1GBps" lat="1us" bb_bw="2GBps" bb_lat="1us"/>
<zone id="d" routing="Floyd">
<host id="d0" speed="1Gf" core="4" pstate="0"><prop id="watts" value="3"/></host>
<host id="d1" speed="1Gf"><disk id="d" read_bw="1MBps" write_bw="1MBps"/></host>
<router id="r"/>
<link id="one" bandwidth="1GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
<link id="two" bandwidth="1GBps" latency="1us" sharing_policy="SHARED"/>
<route src="d0" dst="r" symmetrical="YES"><link_ctn id="one" direction="UP"/></route>
<route src="d1" dst="r"><link_ctn id="two"/></route>
</zone>
<link id="between" bandwidth="1GBps" latency="1ms"/>
<zoneRoute src="c" dst="d" gw_src="cc_router." gw_dst="r"><link_ctn id="between"/></zoneRoute>
</zone>
</platform>
"""


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_simgrid_does_not_know_is_refused_by_line_and_attribute(tmp_path, case):
    before, after, message = UNKNOWN[case]
    path = tmp_path / "c.xml"
    path.write_text(WHOLE.replace(before, after, 1))
    with pytest.raises(ApportionError, match=f"c.xml:{message}"):
        read(path)


def test_options_of_the_file_scale_latencies_and_bandwidths(tmp_path):
    """As SimGrid 3.32 does without cross-traffic: 3 s for 1 MB one way; and its own loopback."""
    path = tmp_path / "c.xml"
    path.write_text(WHOLE)
    found = read(path)
    assert found.message_s(0, 1, 1e6) == pytest.approx(3.0)
    assert found.network.within.time_s(np.array([1e9]))[0] == pytest.approx(0.2)


@pytest.mark.parametrize(("ends", "said"), [("ba", "gw_src: the zone A"), ("aa", "gw_dst: the zone B"), ("xb", "gw_s")])
def test_gateways_stand_in_their_zones(tmp_path, ends, said):
    path = tmp_path / "c.xml"
    path.write_text(platform_text(GATES.format(*ends)))
    with pytest.raises(ApportionError, match=f":6: zoneRoute: {said}.* holds no host or router"):
        read(path)
    path.write_text(platform_text(GATES.format("a", "b")))  # one deeper in
    assert len(read(path).pes) == 2


def test_a_way_to_a_gateway_that_is_not_given_passes_nothing_as_in_simgrid(tmp_path):
    """SimGrid 3.32 tells the one link for a file of Batsim's in which a zone's router has no route to its hosts."""
    path = tmp_path / "c.xml"
    router = GATES.replace('<host id="b" speed="1Gf"/>', '<host id="b" speed="1Gf"/><router id="r"/>')
    path.write_text(platform_text(router.format("a", "r")))
    found = read_simgrid(path, kernel="k", contention="none")
    assert links_of(found.platform, "a", "b") == links_of(found.platform, "b", "a") == ["l"]
    assert "so no link is passed, as in SimGrid: r to b, b to r" in found.notes[0]


def test_blank_lines_and_a_byte_order_mark_may_stand_before_the_declaration(tmp_path):
    path = tmp_path / "c.xml"
    path.write_text(f"\ufeff\n \n{WHOLE}")
    assert len(read(path).pes) == 2
    path.write_text(f"\n\n{WHOLE.replace('core', 'cores')}")
    with pytest.raises(ApportionError, match=r"c\.xml:6: host a: cores"):
        read(path)


def test_nothing_is_accepted_in_silence(tmp_path):
    form = Foreign(
        LARGE,
        any_of(misspell(r'(?<=[ <])(\w+)(?==")'), misspell(r"<(\w+)"), misspell(r'"(S[A-Z]+|YES|UP|F\w+|c?r|d[01])"')),
        any_of(
            insert(r'(?<= )\w+="', 'colour="red" ', 'state="ON" '),
            insert(r"^<(?!\?|platform)", '<peer id="p"/>', "words ", "<hosts/>"),
            insert(r'<prop id="net', '<prop id="network/RTT" value="1"/>'),
        ),
        any_of(
            double(r"^<config>.*\n|^<(link|host|router|cluster|route|zoneRoute) .*\n"),
            double(r"<(link_ctn|prop|disk) .*?/>"),
        ),
    )
    assert accepted_in_silence(form, lambda path: read_simgrid(path, kernel="k").notes, tmp_path / "c.xml") == []


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_gets_one_line(tmp_path, case):
    text, message = BAD[case]
    path = tmp_path / "c.xml"
    path.write_text(text)
    with pytest.raises(ApportionError, match=message) as caught:
        read_simgrid(path, kernel="flops")
    assert all(str(tmp_path) in line and "\n" not in line for line in caught.value.lines)


def test_a_bandwidth_profile_must_stay_what_it_is(tmp_path):
    path = tmp_path / "c.xml"
    path.write_text(platform_text(HOSTS.replace('"1us"', '"1us" bandwidth_file="b"') + ROUTE))
    (tmp_path / "b").write_text("0 500\n10 500\n")
    assert read_simgrid(path, kernel="k").platform.network.links[0].bandwidth_bytes_per_s == 500
    (tmp_path / "b").write_text("0 500\n10 400\n")
    with pytest.raises(
        ApportionError, match="4: link l: bandwidth_file: a bandwidth that changes is not read; give one that stays"
    ):
        read_simgrid(path, kernel="k")
    (tmp_path / "b").write_text("0 many\n")
    with pytest.raises(ApportionError, match="b:1: value is 'many'"):
        read_simgrid(path, kernel="k")
