"""Good inputs of every kind, made by the commands that write them: what hostile cases are made from."""

import shutil
from pathlib import Path

from tests.support.command_line import ROOT, apportion_here

PAPERS, TUTORIAL = ROOT / "scenarios" / "papers", ROOT / "scenarios" / "tutorial"
TRACES, PLATFORMS = ROOT / "tests/simulator/load_traces/data", ROOT / "tests/simulator/platform/foreign"
COPIED = {
    "first-run.yaml": TUTORIAL / "first-run.yaml",
    "cluster.yaml": TUTORIAL / "cluster.yaml",
    "least.yaml": ROOT / "tests/good_inputs/scenarios/least.yaml",
    "scenario.json": ROOT / "tests/good_inputs/scenarios/json.json",
    "scenario.toml": ROOT / "tests/good_inputs/scenarios/toml.toml",
    "speeds.json": TUTORIAL / "speeds.json",
    "runs.csv": TUTORIAL / "hpl-runs.csv",
    "targets.csv": TUTORIAL / "hpl-targets.csv",
    "allocations.csv": TUTORIAL / "allocation-runs.csv",
    "sizes.csv": PAPERS / "gbbp_dgemm.csv",
    "messages.csv": PAPERS / "characterisation_tcp.csv",
    "load.csv": ROOT / "traces/on-off-1-2.csv",
    "sadf.json": TRACES / "sadf.json",
    "sadf.txt": TRACES / "sadf_u.txt",
    "prometheus.json": TRACES / "prometheus_busy.json",
    "collectl.txt": TRACES / "collectl.txt",
    "loop.profile": TRACES / "loopafter.profile",
    "hwloc.xml": PLATFORMS / "hwloc/real-2.9.xml",
    "simgrid.xml": PLATFORMS / "simgrid/hosts.xml",
}
TEXTS = {
    "google.csv": "".join(f"{k * 10**6},{(k + 1) * 10**6},1,0,7,0.{k}" + ",0" * 14 + "\n" for k in range(1, 7)),
    "jobs.swf": "; Version: 2.2\n; MaxProcs: 8\n"
    + "".join(f"{k} {k * 10} 0 30 2 -1 -1 2 -1 -1 1 1 1 1 1 1 -1 -1\n" for k in range(1, 7)),
    "log.swf": "; MaxProcs: 2\n"
    + "".join(f"{k} {60 * k} 0 {90 * k} 1 -1 -1 1 3600 -1 1 1 1 1 1 1 -1 -1\n" for k in range(1, 7)),
    "sacct.txt": "JobID|JobName|Elapsed|NCPUS|State|Start\n"
    + "".join(f"{k}|hpl|00:0{k}:00|{k}|COMPLETED|2026-01-01T00:00:0{k}\n" for k in range(1, 6)),
    "extrap.txt": "PARAMETER p\nPOINTS (4) (8) (16)\nREGION main\nMETRIC time\nDATA 1 1.1\nDATA 2 2.1\nDATA 4 4.1\n",
    "extrap.json": '{"parameters": ["p"], "measurements": {"main": {"time": ['
    '{"point": [4], "values": [1.0, 1.1]}, {"point": [8], "values": [2.0]}]}}}\n',
    "table.csv": "time,value\n0,0.5\n1,0.25\n2,1\n",
    "elements.csv": "size_elements\n4000\n8000\n",
    "bytes.csv": "bytes\n10\n1000\n",
    "memory_at.csv": "M_words,alpha,L\n4096,0.5,4\n",
    "topology.conf": "SwitchName=s0 Nodes=n[01-02]\nSwitchName=s1 Nodes=n[03-04]\nSwitchName=top Switches=s[0-1]\n",
    "visits.csv": "subject,size_elements,beside,lone_s,together_s,pass\n"
    + "".join(
        f"triad,3e7,triad:3e7,0.02,0.03,{k}\ntriad,3e7,sort:1e5,0.02,0.021,{k}\nsort,1e5,triad:3e7,0.1,0.12,{k}\n"
        for k in range(3)
    ),
    "pairs.csv": "subject,size_elements,beside\ntriad,3e7,sort:1e5\nsort,2e5,triad:3e7\n",
    "link.json": '{"sizes_bytes": [0, 1000], "times_s": [1e-5, 2e-5]}\n',
}
MADE = (
    ("calibrate", "speed", "--replay", "sizes.csv", "--method", "gbbp", "-o", "speed.json"),
    ("calibrate", "network", "--replay", "messages.csv", "-o", "network.json"),
    ("calibrate", "neighbours", "--replay", "visits.csv", "-o", "neighbours.json"),
    ("fit", "runs.csv", "--formula", "N**3/P", "-o", "runtime.json"),
    ("fit", "allocations.csv", "-o", "counts.json"),
    ("fit", "--plan", "cluster.yaml", "--sizes", "400,800,1200", "--budget", "600s", "-o", "plan.json"),
    ("convert", "runs.csv", "runs.sqlite", "--app", "hpl"),
    ("convert", "runs.sqlite", "history.csv"),
    ("simulate", "first-run.yaml", "--replications", "3", "-o", "results"),
    ("advise", "first-run.yaml", "--replications", "3", "-o", "advised"),
    ("jobs", "run", "log.swf", "-o", "ran"),
)
"""Commands whose results are inputs of others."""


def make_good(folder: Path) -> None:
    """Fill a folder with all of them."""
    for name, source in COPIED.items():
        shutil.copy(source, folder / name)
    for tree in ("files", "bases"):
        shutil.copytree(ROOT / "tests/good_inputs/scenarios" / tree, folder / tree)
    for name in (
        "application_seg.yaml",
        "link_kinds.yaml",
        "loads.yaml",
        "speed_kinds.yaml",
        "levels_model.yaml",
        "swap_and_disk.yaml",
    ):
        shutil.copy(ROOT / "tests/good_inputs/scenarios" / name, folder / name)
    shutil.copy(ROOT / "scenarios/tutorial/segs/matmul.seg.yaml", folder / "graph.seg.yaml")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    for arguments in MADE:
        done = apportion_here(*arguments, cwd=folder)
        assert not done.returncode, (arguments, done.stderr)
