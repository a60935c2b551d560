"""Slurm's topology files: nodes on switches by hand, every fault by its line, and joined into a scenario that loads."""

import pytest

from advisor.cli import _run
from simulator import ScenarioError, join_platform, load_scenario
from simulator.platform.foreign.slurm import hostlist, switched_nodes
from simulator.platform.networks import Tree
from tests.simulator.scenario_file.joined.builders import host, link, speed_model
from tests.support.mutated_files import Foreign, accepted_in_silence, any_of, double, insert, misspell

CONF = """# by hand
SwitchName=s0 Nodes=n[01-02,04],m LinkSpeed=900
switchname=s1 NODES=n03
SwitchName=top Switches=s[0-1]
"""
YAML = """
- topology: other
  flat: true
- topology: default
  cluster_default: true
  tree:
    switches:
      - {switch: top, children: "s[0-1]"}
      - {switch: s0, nodes: "n[01-02,04],m"}
      - {switch: s1, nodes: n03}
"""
NAMES = ["n01", "n02", "n03", "n04"]


@pytest.mark.parametrize(("name", "text"), [("topology.conf", CONF), ("topology.yaml", YAML)])
def test_nodes_hang_on_the_switches_that_the_file_names(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    found = switched_nodes(path, NAMES)
    assert found.members == {"s0": ("n01", "n02", "n04"), "s1": ("n03",)}
    assert found.notes == (f"{path}: nodes that the platform does not have are left out: 1",)
    assert found.entries() == [{"name": "s0", "nodes": ["n[01-02]", "n04"]}, {"name": "s1", "nodes": "n03"}]


def test_more_levels_become_one_core_and_that_is_told(tmp_path):
    path = tmp_path / "topology.conf"
    path.write_text(
        "SwitchName=a Nodes=n01\nSwitchName=b Nodes=n02\nSwitchName=c Nodes=n0[3-4]\n"
        "SwitchName=m Switches=a,b\nSwitchName=top Switches=m,c\n"
    )
    found = switched_nodes(path, NAMES)
    assert list(found.members) == ["a", "b", "c"]
    assert "the switches above those of nodes (m, top) are one core" in found.notes[0]


def test_lines_are_read_as_slurm_reads_them(tmp_path):
    """Continued by a backslash, with tabs, blanks around `=`, quotes, a byte order mark, and other files included."""
    path = tmp_path / "topology.conf"
    (tmp_path / "leaves.conf").write_text('SwitchName=b \\  # two lines\n\tNodes = "n03,n04"\r\n')
    path.write_text(
        "\ufeffSWITCHNAME=a\tnodes=n[01-02]\\\n LinkSpeed=1\ninclude leaves.conf\nSwitchName=t Switches=a,b\n"
    )
    assert switched_nodes(path, NAMES).members == {"a": ("n01", "n02"), "b": ("n03", "n04")}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (
            "topology.conf",
            Foreign(
                "SwitchName=s0 Nodes=n[01-02]\nSwitchName=s1 Nodes=n[03-04]\nSwitchName=top Switches=s[0-1]\n",
                misspell(r"\b(\w+)="),
                insert(r"Nodes|Switches|^S", "Ports=4 ", "Node=n09 "),
                any_of(double(r"^.*\n"), double(r"Nodes=\S+\s|SwitchName=\S+ ")),
            ),
        ),
        (
            "topology.yaml",
            Foreign(
                YAML.lstrip(),
                misspell(r"(topology|cluster_default|flat|tree|switches|switch|nodes|children):"),
                any_of(
                    insert(r"(nodes|children):", "ports: 4, "), insert(r"^  (tree|flat)|^    sw", "    speeds: 1\n")
                ),
                any_of(double(r"^ +- \{.*\n"), double(r"nodes: "), double(r"switch: \w+, ")),
            ),
        ),
    ],
)
def test_nothing_is_accepted_in_silence(tmp_path, name, form):
    assert accepted_in_silence(form, lambda path: switched_nodes(path, NAMES).notes, tmp_path / name) == []


def test_host_lists():
    assert hostlist("a[1-3,07],b,c[01-02]x[1-2]", "p") == [
        *("a1", "a2", "a3", "a07", "b"),
        *("c01x1", "c01x2", "c02x1", "c02x2"),
    ]


BAD = {
    "empty": ("", "it describes no switch; write lines such as SwitchName=s0 Nodes=n[0-5]"),
    "key": (
        "SwitchName=a Node=n1",
        ":1: 'Node=n1' is not read; write SwitchName, Nodes, Switches, LinkSpeed, each once as KEY=VALUE",
    ),
    "no name": ("Nodes=n1", ":1: SwitchName is missing; add it"),
    "nothing below": ("SwitchName=a", ":1: the switch has neither nodes nor switches; give it one of the two"),
    "both below": (
        "SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2",
        ":1: the switch has both nodes and switches; give it one of the two",
    ),
    "switch twice": (
        "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2",
        ":2: two switches are called 'a'; give each its own name",
    ),
    "unknown switch": (
        "SwitchName=a Nodes=n1\nSwitchName=t Switches=a,b",
        ":2: the file describes no switch 'b'; name one that it does",
    ),
    "node on two": ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1", ":2: node 'n1' is on a too; put it on one switch"),
    "node on none": ("SwitchName=a Nodes=n1", "node 'n2' is on no switch; put each node of the platform on one"),
    "range": (
        "SwitchName=a Nodes=n[3-1]",
        ":1: [3-1] is no range; write numbers and ascending ranges such as [0-3,12]",
    ),
    "bracket": ("SwitchName=a Nodes=n[1", ":1: 'n[1' is no list of hosts; write one such as tux[0-3,12]"),
    "loop": (
        "SwitchName=a Nodes=n[1-2]\nSwitchName=x Switches=a,y\nSwitchName=y Switches=x",
        ": a switch is below itself (x below y below x); leave out one",
    ),
    "two fabrics": (
        "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2",
        "there is no way from a to b; add a switch above all, or take one part",
    ),
    "two tops": (
        "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=x Switches=a\nSwitchName=y Switches=b",
        "there is no way from a to b; add a switch above all, or take one part",
    ),
    "child twice": (
        "SwitchName=a Nodes=n[1-2]\nSwitchName=t Switches=a,a",
        ":2: the switch 'a' comes twice; name it once",
    ),
    "cut after a backslash": (
        "SwitchName=a Nodes=n[1-2] \\",
        ":1: the line goes on after its backslash, but the file ends; add the rest",
    ),
    "no value": ("SwitchName=a Nodes=", ":1: 'Nodes=' is not read; write SwitchName"),
    "includes itself": ("Include topology.conf", ":1: topology.conf includes itself; leave this line out"),
    "huge product": ("SwitchName=a Nodes=n[1-9999]x[1-9999]", "more than 200000 names"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_gets_one_line(tmp_path, case):
    text, message = BAD[case]
    path = tmp_path / "topology.conf"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        switched_nodes(path, ["n1", "n2"])
    (line,) = caught.value.lines
    assert line.startswith(str(path))
    assert message in line


BAD_YAML = {
    "no list": ("topology: a", "this is no list of entries with `topology`; write one"),
    "no tree": (
        "- {topology: a, block: {block_sizes: [4]}}",
        "topology a: it has block; only a tree with switches is read",
    ),
    "key": (
        "- {topology: a, tree: {switches: [{switch: a, node: n1}]}}",
        "topology a: switches[0]: this is no switch; write switch, and nodes or children",
    ),
    "no text": (
        "- {topology: a, tree: {switches: [{switch: a, nodes: [n1]}]}}",
        "topology a: switches[0]: switch, nodes and children have to be texts",
    ),
    "no name": (
        "- {topology: a, tree: {switches: [{nodes: n1}]}}",
        "topology a: switches[0]: switch is missing; add it",
    ),
}


@pytest.mark.parametrize("case", BAD_YAML)
def test_a_bad_yaml_file_gets_one_line(tmp_path, case):
    text, message = BAD_YAML[case]
    path = tmp_path / "topology.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        switched_nodes(path, ["n1"])
    (line,) = caught.value.lines
    assert str(path) in line
    assert message in line


def test_a_joined_platform_has_the_switches_and_loads(tmp_path, capsys):
    models = [
        speed_model(tmp_path / "one.json", made=host("n01")),
        link(tmp_path / "link.json"),
    ]
    (tmp_path / "topology.conf").write_text(CONF)
    out = tmp_path / "cluster.yaml"
    command = [
        "cluster",
        "--join",
        ",".join(map(str, models)),
        "--names",
        "n[01-04]",
        "--topology",
        str(tmp_path / "topology.conf"),
    ]
    assert _run([*command, "--uplink", "3us,40Gbit/s", "-o", str(out)]) == 0
    tree = load_scenario(out).platform.network
    assert isinstance(tree.topology, Tree)
    assert tree.contention == "fair"
    assert tree.topology.switch_of == (0, 0, 1, 0)
    assert [(up.latency_s, up.bandwidth_bytes_per_s) for up in tree.topology.uplinks] == [(3e-6, 5e9)] * 2
    plain = join_platform(models, names="n[01-04]")
    (tmp_path / "plain.yaml").write_text(plain.text)
    measured = load_scenario(tmp_path / "plain.yaml").platform
    switched = load_scenario(out).platform
    assert switched.message_s(0, 2, 0.0) == pytest.approx(measured.message_s(0, 2, 0.0), rel=1e-6)  # one switch
    assert capsys.readouterr().err.count("topology.conf") == 2  # a node left out, and what a node's link is


def test_bad_options_get_one_line(tmp_path, capsys):
    models = [str(speed_model(tmp_path / "one.json", made=host("n01"))), str(link(tmp_path / "link.json"))]
    (tmp_path / "topology.conf").write_text(CONF)
    topology = ["--topology", str(tmp_path / "topology.conf")]
    for more, message in (
        (["--uplink", "1us,1Gbit/s"], "--uplink has no effect without --topology"),
        ([*topology, "--uplink", "1us"], "--uplink is '1us'; give LATENCY,BANDWIDTH"),
        ([*topology, "--uplink", "1us,fast"], "--uplink: 'fast'"),
        (["--topology", str(tmp_path / "none.conf")], "none.conf: no such file"),
        ([*topology, "--names", "x[1-2]"], "node 'x1' is on no switch; put each node of the platform on one"),
    ):
        assert _run(["cluster", "--join", ",".join(models), *more, "-o", str(tmp_path / "out")]) == 2
        assert message in capsys.readouterr().err
