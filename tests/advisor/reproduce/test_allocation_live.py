"""The live allocation experiment with a program whose times are known: resumed, judged, told."""

import json
import sys

import pytest

from advisor.cli import _run
from advisor.reproduce import allocation_live
from simulator import this_machine

# Each rank has the same work; the slow PE takes 3 times as long, and a second process on the fast one costs nothing.
PROGRAM = """
import sys
n, p, kinds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")
fast, slow = kinds.count("fast"), kinds.count("slow")
one = 1e-9 * n**3 / p
print("took", max(one * fast, 2 * one * (slow + 2) / 2 if slow else 0) + 1e-6 * n * p + 1e-4)
open("log", "a").write(f"{n} {sys.argv[3]}\\n")
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = f"env PMI_RANK=0 {{pin}} {sys.executable} -S {tmp_path / 'program.py'} {{N}} {{P}} {{kinds}}"
    return allocation_live.LiveProgram(command, time="took (.*)")


@pytest.mark.slow
@pytest.mark.skipif(this_machine().pe_count < 2, reason="two PEs are needed")
def test_the_advice_is_judged_by_running_everything(tmp_path, program):
    def go():
        return allocation_live.live(tmp_path / "out", budget_s=1e4, seed=3, program=program, sizes=(600.0, 800.0))

    found = go()
    assert [part["size"] for part in found["judged"]] == [600, 800]
    for part in found["judged"]:
        assert len(part["rows"]) == 19
        assert part["not_measured"] == 0
        times = [row["measured_s"] for row in part["rows"]]
        assert part["regret"] == pytest.approx(times[0] / min(times) - 1)
        assert part["best"]["regret"] == 0
        assert part["regret"] <= 0.05
        assert set(part["naive"]) == set(allocation_live.NAIVE)
    cost = found["cost"]
    assert cost["judged_runs"] == 2 * 19 * 2
    assert cost["share"] == pytest.approx(cost["construction_s"] / cost["everything_once_s"])
    control = found["control"]
    assert len(control["times_s"]) == 2 * 19 * 2 // allocation_live.CONTROL_EVERY + 2
    assert control["spread"] == pytest.approx(0, abs=1e-9)
    log = (tmp_path / "out" / "work" / "log").read_text().splitlines()
    judged = log[cost["runs"] :]
    assert [line == "400 fast,fast" for line in judged[:: allocation_live.CONTROL_EVERY + 1]][:7] == [True] * 7
    told = allocation_live.text(found)
    assert told.count("* advised: ") == 2
    assert json.loads((tmp_path / "out" / allocation_live.DOCUMENT).read_text())["judged"] == found["judged"]
    again = go()
    assert again["judged"] == found["judged"]
    assert (tmp_path / "out" / "work" / "log").read_text().splitlines() == log


def test_only_the_allocation_paper_is_live(capsys):
    assert _run(["reproduce", "gbbp", "--live"]) == 2
    assert capsys.readouterr().err == "error: --live goes with allocation, not with gbbp\n"
