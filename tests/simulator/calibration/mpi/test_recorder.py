"""Small programs per verb, mode and language, and what their recordings are known to hold, line by line."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from simulator import CalibrationError, ScenarioError
from simulator.calibration.mpi.campaign import mpi_program, record_program
from simulator.programs.recorded.recording import Action, Recording

HERE = Path(__file__).parent
MPIS = {"mpich": [], "openmpi": ["--allow-run-as-root", "--oversubscribe"]}
OF_LANGUAGE = {".c": "mpicc", ".cpp": "mpicxx", ".f90": "mpif90"}
EACH = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(f"mpicc.{name}") is None, reason=f"no mpicc.{name}"))
    for name in MPIS
]
MARK = 100_000
"""Bytes of the broadcast that begins the first case of verbs.c."""
RING = "post_recv {left} r0 tag 1 80; post_send {right} r1 tag 1 80; wait r0; wait r1; allreduce 80"


def expected():
    """Case -> line of each rank, of verbs.txt: partner, `r` request, tag, bytes, `@` ranks unless all.

    `!` is synchronous, `~` buffered; `*` is each rank, and what is not named does nothing.
    """
    cases: dict[str, list[str]] = {}
    for line in (HERE / "verbs.txt").read_text().splitlines():
        rank, colon, said = line.partition(": ")
        if not colon:
            lines = cases.setdefault(line, [""] * 4)
        for one in range(4) if rank == "*" else [int(rank)] if colon else []:
            lines[one] = said
    return cases


def line_of(made, at):
    """An action as a line."""
    kind, source = Action(made.action[at]), int(made.source[at])
    words = [kind.name.lower() + " !~"[made.mode[at]].strip()]
    words += [str(made.partner[at])] if made.partner[at] >= 0 else []
    if source >= 0 and kind != Action.ALLTOALLV:
        words.append(f"from {source}" if kind == Action.EXCHANGE else f"r{source}")
    words += [f"tag {made.tag[at]}"] if kind <= Action.POST_RECV else []
    words += [f"{made.amount[at]:g}"] if kind not in {Action.WAIT, Action.BARRIER} else []
    if kind == Action.ALLTOALLV:
        words += ["=", *(f"{one:g}" for one in made.parts[slice(*made.parts_first[source : source + 2])])]
    words += [f"@{','.join(map(str, made.group(made.communicator[at])))}"] if made.communicator[at] else []
    return " ".join(words)


def lines_of(made):
    """Case -> line of each rank, without what was computed."""
    found = []
    for rank in range(made.ranks):
        own = [[]]
        for at in range(*made.first[rank : rank + 2]):
            if made.action[at] == Action.BCAST and made.amount[at] >= MARK:
                own.append([])
            elif made.action[at] != Action.COMPUTE:
                own[-1].append(line_of(made, at))
        found.append(["; ".join(one) for one in own])
    return [list(case) for case in zip(*found, strict=True)]


@cache
def built(name, mpi):
    """A program of this folder, compiled."""
    folder = Path(os.environ["PYTEST_RECORDER"])
    made = folder / f"{Path(name).stem}-{mpi}"
    words = [
        f"{OF_LANGUAGE[Path(name).suffix]}.{mpi}",
        "-w",
        "-g",
        "-O1",
        str(HERE / name),
        "-o",
        str(made),
        "-lpthread",
    ]
    subprocess.run(words, check=True)
    return made


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_RECORDER", str(tmp_path_factory.mktemp("programs")))
        yield
        built.cache_clear()


def command(mpi, ranks, *words):
    return [f"mpiexec.{mpi}", *MPIS[mpi], "-n", str(ranks), *map(str, words)]


def recorded(words, folder, times=1, mpicc=None):
    record_program(mpi_program(words, mpicc), folder, times=times, on_progress=lambda _done, _total: None)
    return Recording.load(folder)


def way(mpi, folder, *words, ranks=2, times=1):
    """What is recorded of one of the ways in ways.c."""
    return recorded(command(mpi, ranks, built("ways.c", mpi), *words), folder, times)


def computed(made):
    """CPU seconds of each rank in each recording."""
    at = np.flatnonzero(made.action == Action.COMPUTE)
    return np.stack([np.bincount(made.rank[at], one, made.ranks) for one in made.computed_s])


@pytest.mark.parametrize("mpi", EACH)
def test_each_verb_and_mode_is_recorded_as_known_beforehand(tmp_path, mpi):
    made = recorded(command(mpi, 4, built("verbs.c", mpi)), tmp_path / "run", times=2)
    cases = expected()
    assert dict(zip(cases, lines_of(made)[1:], strict=True)) == cases
    assert made.described.unknown == {}
    assert made.described.warnings == ("1 requests were never waited for; they end with the program",)
    assert made.computed_s.shape[0] == 2
    assert np.all(made.memory_bytes > 2**20)
    assert np.all(made.clock_s > 0)
    assert "verbs.c:24 (MPI_Send)" in made.described.sites


@pytest.mark.parametrize("mpi", EACH)
@pytest.mark.parametrize("name", ["loops.cpp", "old.f90", "new.f90"])
def test_languages_are_recorded_alike_with_the_lines_of_the_program(tmp_path, mpi, name):
    compiler = f"{OF_LANGUAGE[Path(name).suffix]}.{mpi}"
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    made = recorded(command(mpi, 2, built(name, mpi)), tmp_path / "run")
    assert lines_of(made) == [[RING.format(left=1 - rank, right=1 - rank) for rank in range(2)]]
    assert all(site.startswith(f"{name}:") for site in made.described.sites)


@pytest.mark.slow
def test_mpi4py_is_recorded_with_its_large_counts_and_messages(tmp_path):
    python = os.environ.get("APPORTION_TEST_MPI4PY", sys.executable)
    launcher = Path(python).parent / "mpiexec"
    if not launcher.exists() or (python == sys.executable and importlib.util.find_spec("mpi4py") is None):
        pytest.skip("mpi4py is not installed here with an MPI of its own")
    made = recorded([str(launcher), "-n", "2", python, str(HERE / "ring.py")], tmp_path / "run")
    ends = "; send 1 tag 2 115", "; recv 0 tag 2 115"
    assert lines_of(made) == [[RING.format(left=1 - rank, right=1 - rank) + ends[rank] for rank in range(2)]]
    lines = (9, "Irecv_c"), (9, "Isend_c"), (10, "Waitall"), (11, "Allreduce_c"), (13, "Send_c"), (15, "Mrecv_c")
    assert {f"ring.py:{line} (MPI_{call})" for line, call in lines} <= set(made.described.sites)


@pytest.mark.parametrize("mpi", EACH)
def test_what_is_not_understood_is_counted_by_its_name(tmp_path, mpi):
    made = way(mpi, tmp_path / "run", "unknown")
    names = "Barrier between two groups, Cancel, File_close, File_open, Ibarrier, Intercomm_create, Send that failed"
    names += ", Win_create, Win_fence, Win_free"
    assert made.described.unknown == {f"MPI_{name}": 2 for name in names.split(", ")}
    made = way(mpi, tmp_path / "threads", "threads", ranks=1)
    assert made.described.unknown["MPI calls of further threads"] == 1


@pytest.mark.parametrize("mpi", EACH[1:])
def test_variables_that_the_user_hands_on_do_not_matter(tmp_path, mpi):
    assert recorded([*command(mpi, 1, "-x", "PATH", built("ways.c", mpi), "none")], tmp_path / "run").ranks == 1


@pytest.mark.parametrize("mpi", EACH)
def test_a_part_is_kept_where_the_program_says_so(tmp_path, mpi):
    made = way(mpi, tmp_path / "run", "part")
    assert lines_of(made) == [
        [f"bcast 0 4; post_recv {other} r0 tag 1 4; send {other} tag 1 4; wait r0" for other in (1, 0)]
    ]
    whole = way(mpi, tmp_path / "whole", "overlaps")  # the same work without a part
    assert computed(made).min() == pytest.approx(computed(whole)[0, 1], rel=0.3)


@pytest.mark.parametrize("mpi", EACH[:1])
def test_polling_is_no_work_and_what_is_done_meanwhile_is(tmp_path, mpi):
    waiting, working = computed(way(mpi, tmp_path / "polls", "polls"))[0]
    made = Recording.load(tmp_path / "polls")
    assert working == pytest.approx(waiting / 3, rel=0.5)
    assert made.described.provenance["polled_s"] > 0
    assert computed(way(mpi, tmp_path / "overlaps", "overlaps"))[0, 1] == pytest.approx(working, rel=0.5)


@pytest.mark.parametrize("mpi", EACH[:1])
def test_threads_that_compute_are_warned_of(tmp_path, mpi):
    made = way(mpi, tmp_path / "run", "busy", ranks=1)
    assert "CPU time of further threads, which the recording leaves out" in made.described.warnings[0]
    assert way(mpi, tmp_path / "other", "overlaps").described.warnings == ()


@pytest.mark.parametrize("mpi", EACH)
def test_a_rank_that_dies_leaves_no_recording(tmp_path, mpi):
    with pytest.raises(ScenarioError, match=r"rank \d: its recording is cut off, .* \(the command ended with exit"):
        way(mpi, tmp_path / "run", "dies")
    assert not list((tmp_path / "run").iterdir())


@pytest.mark.parametrize("mpi", EACH[:1])
def test_commands_that_cannot_be_recorded_are_refused_in_one_line(tmp_path, mpi):
    with pytest.raises(CalibrationError, match="ended with exit status 4"):
        way(mpi, tmp_path / "run", "fails")
    for words, said in (
        (["true"], r"no rank called MPI_Init with the recorder in place"),
        (["nonesuch"], r"'nonesuch' is no program that can be run here; write it behind --"),
        (
            ["sh", "-c", f"for i in 1 2; do mpiexec.{mpi} -n 1 {built('ways.c', mpi)} none; done"],
            "several MPI programs",
        ),
    ):
        with pytest.raises(ScenarioError, match=said):
            recorded(words, tmp_path / "run", mpicc=f"mpicc.{mpi}")


@pytest.mark.parametrize("mpi", EACH[:1])
def test_parts_of_ranks_that_do_not_fit_each_other_are_refused(tmp_path, mpi):
    hint = "were calls of MPI missed, or does MPI_Pcontrol stand where messages are on their way"
    with pytest.raises(ScenarioError, match=f"messages from rank 0 to 1 with tag 5: 1 sent and not received; {hint}"):
        way(mpi, tmp_path / "run", "torn")
    with pytest.raises(ScenarioError, match=f"ranks 0 and 1 do not call the same collectives in turn; {hint}"):
        way(mpi, tmp_path / "run", "uneven")


def test_a_missing_compiler_names_the_package(tmp_path, monkeypatch):
    for name in ("mpiexec.hydra", "mpiexec"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "mpiexec.mpich").symlink_to("mpiexec.hydra")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ScenarioError, match=r"no mpicc was found, .*: install libmpich-dev$"):
        mpi_program(["mpiexec.mpich"])
    with pytest.raises(ScenarioError, match="install libmpich-dev or libopenmpi-dev"):
        mpi_program(["mpiexec"])
    with pytest.raises(ScenarioError, match="nonesuch: no such file or directory; give an mpicc that works by --mpicc"):
        mpi_program(["mpiexec"], "nonesuch")


@pytest.mark.skipif(not all(map(shutil.which, ("mpicc.mpich", "mpicc.openmpi"))), reason="one MPI only")
def test_a_compiler_of_another_library_is_refused(tmp_path):
    for of, other in (("mpich", "openmpi"), ("openmpi", "mpich")):
        program = mpi_program(command(of, 1, built("ways.c", of), "none"), f"mpicc.{other}")
        with pytest.raises(
            ScenarioError, match=r"the program is one of .*, and mpicc is of another MPI; give the mpicc"
        ):
            record_program(program, tmp_path / other, times=1, on_progress=lambda *_: None)


@pytest.mark.parametrize("mpi", EACH[:1])
def test_recordings_are_of_the_same_calls(tmp_path, mpi):
    with pytest.raises(
        ScenarioError,
        match=r"rank 0, action 5, ways.c:\d+ \(MPI_.*\): from there on recordings 1 and 2 differ; .* --times 1",
    ):
        way(mpi, tmp_path / "run", "differs", tmp_path / "turn", times=2)
    assert way(mpi, tmp_path / "some", "some", tmp_path / "some-turn", times=2).ranks == 2
    made = way(mpi, tmp_path / "who", "who", tmp_path / "turns", ranks=3, times=2)
    assert made.described.warnings == (
        "who came to receives from anybody, or which of several ended first, differs: the first recording is taken",
    )
    assert lines_of(made)[0][0] == "barrier; recv 2 tag 1 8; recv 1 tag 1 4"
    script = f"mpiexec.{mpi} -n $(cat {tmp_path}/n) {built('ways.c', mpi)} none; echo 1 > {tmp_path}/n"
    (tmp_path / "n").write_text("2")
    with pytest.raises(ScenarioError, match="recording 1 has 2 ranks and recording 2 1; record them again"):
        recorded(["sh", "-c", script], tmp_path / "ranks", times=2, mpicc=f"mpicc.{mpi}")


@pytest.mark.parametrize("mpi", EACH[:1])
def test_each_run_reads_standard_input_from_its_beginning(tmp_path, mpi, monkeypatch):
    (tmp_path / "input").write_text("7\n")
    with (tmp_path / "input").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        made = way(mpi, tmp_path / "run", "reads", times=2)
    assert lines_of(made)[0] == ["bcast 0 4; bcast 0 28"] * 2


@pytest.mark.parametrize("mpi", EACH[:1])
def test_the_command_records_and_goes_on_after_an_interruption(tmp_path, apportion, mpi, monkeypatch):
    words = ["mpi", "record", "-o", tmp_path / "run", "--json", "--", *command(mpi, 2, built("ways.c", mpi), "none")]
    ran = []

    def run(program, folder):
        ran.append(folder.name)
        if len(ran) == 3:
            raise KeyboardInterrupt
        return real(program, folder)

    from simulator.calibration.mpi import campaign

    real = campaign._run
    monkeypatch.setattr(campaign, "_run", run)
    code, out, err = apportion(*words)
    assert (code, out) == (130, "")
    assert "run keeps 2 of 3 runs, the same command goes on from there" in err
    code, out, _ = apportion(*words)
    assert (code, ran) == (0, ["1", "2", "3", "3"])
    document = json.loads(out)
    assert (document["command"], document["ranks"], document["recordings"]) == ("mpi record", 2, 3)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "actions.npz",
        "manifest.json",
        "recording.json",
    ]


@pytest.mark.real
@pytest.mark.parametrize("mpi", EACH)
def test_computing_is_the_same_beside_other_ranks_on_the_same_cores(tmp_path, mpi):
    """Two ranks on two cores, then eight on the same two: of each rank the same within 10 %, messages equal.

    The least of the runs, as work of others on the machine makes all of them longer at one time and not at another.
    """
    apart = way(mpi, tmp_path / "apart", "works", ranks=2, times=3)
    crowded = way(mpi, tmp_path / "crowded", "works", ranks=8, times=3)
    assert lines_of(crowded)[0][:2] == lines_of(apart)[0]
    alone, beside = (np.min(computed(one), axis=0) for one in (apart, crowded))
    assert beside[:2] == pytest.approx(alone, rel=0.1)
    assert beside / np.arange(1, 9) == pytest.approx(np.full(8, alone[0]), rel=0.1)
