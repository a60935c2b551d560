"""Real sources with real processes: kernels, command lines, their faults, the store, and the upper end."""

import os
import sys
import time

import numpy as np
import pytest

from simulator import CalibrationError, ScenarioError, SpeedSurface
from simulator.base.machine import memory_available_bytes, this_machine
from simulator.calibration import RealSource, fit_speed, save_speed_model
from simulator.calibration.bench.usage import Usage
from simulator.calibration.speed.sampling import Effort, Room, find_ends
from simulator.calibration.speed.subjects import command_subject
from simulator.models.speed import load_speed_model
from tests.support.processes import relatives
from tests.support.stored_points import rewrite, stored

CPU = max(os.sched_getaffinity(0))
QUICK = {"cpu": CPU, "time_cap_s": 0.3}
SPIN = "import sys, time; t = time.process_time() + float(sys.argv[1]) * 2e-6\nwhile time.process_time() < t: pass\n"


def command(tmp_path, code, **options):
    script = tmp_path / "app.py"
    script.write_text(code)
    line = f"{sys.executable} -S {script} {{n}}"
    return RealSource.of_command(
        line, **{"size": "n", "volume": "n", "max_size": 20_000, "store": tmp_path / "store.json", **QUICK, **options}
    )


def test_a_kernel_is_measured_and_kept(tmp_path):
    store = tmp_path / "dgemm.json"
    with RealSource.of_kernel("dgemm", max_size=100_000, store=store, **QUICK) as source:
        assert source.largest == 3 * 182**2 <= 100_000
        assert source.largest_reason == "--max-size 100000"
        assert not source.largest_is_memory_limit
        point = source.measure(50_000)
        assert point.size == 3 * 129**2
        assert point.volume == 2 * 129**3
        assert len(point.cpu_s) == len(point.wall_s) >= 1
        again = source.measure(50_000)
    assert again == point
    assert relatives() == []
    document = stored(store)
    assert document["machine"]["host"]
    assert document["points"][0]["samples"][0].keys() >= {"voluntary_switches", "involuntary_switches"}
    with RealSource.of_kernel("dgemm", max_size=100_000, store=store, **QUICK) as source:
        assert source.measure(50_000) == point
        assert relatives() == []  # nothing had to run


@pytest.mark.real
def test_memory_is_found_by_allocation_alone():
    share = 2e7 / memory_available_bytes()
    with RealSource.of_kernel("triad", cpu=CPU, time_cap_s=5, memory_share=share) as source:
        assert source.largest_is_memory_limit
        assert source.largest_reason.startswith("memory: ")
        assert 8 * source.largest == pytest.approx(2e7, rel=0.2)


@pytest.mark.real
def test_the_time_cap_bounds_the_size():
    with RealSource.of_kernel("integration", cpu=CPU, time_cap_s=0.1) as source:
        assert source.largest_reason.startswith("time cap: ")
        assert not source.largest_is_memory_limit
        assert 0.02 < source.measure(source.largest).wall_s[0] < 0.5
        assert "raise the time cap" in source.warnings[0]


def test_a_volume_that_leaps_with_each_n_takes_few_probes():
    """Runs that never take longer, of a volume that doubles and more: n can only creep up."""
    asked = []

    class Quick:
        def prepare(self, n):
            asked.append(n)

        def sample(self, inner):
            return Usage(1e-4 * inner, 1e-4 * inner)

        def can_allocate(self, _size_bytes):
            return True

    subject = command_subject("true {n}", size="n", volume="3**n")
    room = Room(max_size=1e6, memory_bytes=2**40, memory_share=0.5)
    found = find_ends(Quick(), subject, smallest_n=1, room=room, effort=Effort(0.01, least_sample_s=1e-4))
    assert len(asked) <= 100
    assert found.largest_reason.startswith("time cap")


@pytest.mark.real
def test_cpu_time_of_children_counts(tmp_path):
    spin = "import os, sys, time\nif os.fork() == 0:\n  while time.process_time() < 0.06: pass\nelse: {}\n"
    for number, rest in enumerate(("os.wait()", "time.sleep(0.3)")):  # reaped by the command, and left to us
        store = tmp_path / f"{number}.json"
        with command(tmp_path, spin.format(rest), time_cap_s=1.0, store=store) as source:
            assert 0.06 <= np.median(source.measure(source.largest).cpu_s) < 0.2


@pytest.mark.parametrize(
    ("code", "match"),
    [
        (
            "x = bytearray(10**9)",
            r"n = \d+: exceeds the .* of memory that it may take \(ended with exit status 1: MemoryError",
        ),
        ("import time; time.sleep(60)", r"n = \d+: no end within 0.9 s, stopped with all that it started"),
    ],
)
def test_a_command_that_fails_says_where(tmp_path, code, match):
    begin = time.monotonic()
    with pytest.raises(CalibrationError, match=match) as found:
        command(tmp_path, code, memory_share=2e8 / memory_available_bytes())
    assert found.value.exit_code == 1
    assert time.monotonic() - begin < 10
    assert relatives() == []


@pytest.mark.real
def test_what_was_measured_before_a_crash_is_kept(tmp_path):
    marker = tmp_path / "crash"
    crash = f"import os\nif os.path.exists({str(marker)!r}): os.abort()\n{SPIN}"
    with command(tmp_path, crash, time_cap_s=3.0) as source:
        kept = source.measure(5000)
        marker.touch()
        with pytest.raises(CalibrationError, match=r"n = 10000: ended by signal 6"):
            source.measure(10_000)
    with command(tmp_path, crash, time_cap_s=3.0) as source:
        assert source.measure(5000) == kept


@pytest.mark.parametrize(
    ("line", "size", "match"),
    [
        ("true", "n", r"command has no place; write \{n\} where its parameter goes, and no other"),
        ("true {n} {m}", "n", r"command has \{m\}, \{n\}; write \{n\} where its parameter goes, and no other"),
        (
            "./there-is-none {n}",
            "n",
            r"command: \./there-is-none is no program that can be run; name one on the path or by its own path",
        ),
        ("true {n}", "100 - n", "size falls from 99 to 98 at n = 2; give a size that grows with n"),
        ("true {n}", "0*n + 7", "7 for every n"),
        ("true {n}", "n - 1", "size is 0 at n = 1; give a formula that is above 0 for every n"),
    ],
)
def test_bad_commands_are_refused(line, size, match):
    with pytest.raises(Exception, match=match) as found:
        RealSource.of_command(line, size=size, volume="n", **QUICK)
    assert found.value.exit_code == 2


def test_options_out_of_range_are_refused():
    for options, match in (
        ({"max_size": 10.0}, "--max-size is 10; give more than the smallest size"),
        ({"time_cap_s": 0.0}, "time cap is 0; give"),
        ({"cpu": 10**6}, "cpu is 1000000; name one of"),
    ):
        with pytest.raises(ScenarioError, match=match):
            RealSource.of_kernel("triad", **{**QUICK, **options})


@pytest.mark.real
def test_an_unlike_machine_or_subject_is_refused(tmp_path):
    store = tmp_path / "store.json"
    with RealSource.of_kernel("triad", max_size=10_000, store=store, **QUICK):
        pass
    with pytest.raises(ScenarioError, match="holds points of kernel triad; name a file of"):
        RealSource.of_kernel("fft", max_size=10_000, store=store, **QUICK)
    rewrite(store, head=lambda head: head["machine"].update(host="elsewhere"))
    with pytest.raises(ScenarioError, match=r"another machine \(host elsewhere\), and this one has host") as found:
        RealSource.of_kernel("triad", max_size=10_000, store=store, **QUICK)
    assert len(found.value.lines) == 1


@pytest.mark.real
def test_fresh_runs_are_single_and_not_kept(tmp_path):
    store = tmp_path / "triad.json"
    with RealSource.of_kernel("triad", max_size=10_000, store=store, **QUICK) as source:
        known = source.measure(5000)
        before = store.read_text()
        runs = [usage for (point, usage), _ in zip(source.fresh_runs(5000), range(4), strict=False) if point == known]
        assert len({usage.wall_s for usage in runs}) == 4
        assert store.read_text() == before
        assert source.measure(5000) == known


@pytest.mark.real
def test_sizes_known_in_advance_are_measured_in_passes_and_go_on(tmp_path, monkeypatch):
    store, asked = tmp_path / "store.json", []
    sizes = [3.0 * n * n for n in (60, 70, 80, 90)]  # above what any first-level cache holds
    with RealSource.of_kernel("dgemm", max_size=100_000, store=store, cpu=CPU, time_cap_s=5) as source:
        for size in sizes[:3]:
            source.visit(size)
    before = stored(store)
    assert [len(point["samples"]) for point in before["open"]] == [1, 1, 1]
    assert before["points"] == []
    with RealSource.of_kernel("dgemm", max_size=100_000, store=store, cpu=CPU, time_cap_s=5) as source:
        visit = source.visit
        monkeypatch.setattr(source, "visit", lambda size: asked.append(size) or visit(size))
        source.measure_together(sizes)
        points = [source.measure(size) for size in sizes]
    assert sorted(asked[:4]) == sizes
    assert sorted(asked[4:8]) == sizes
    assert asked[:20] != sizes * 5  # in random order
    document = stored(store)
    assert document["open"] == []
    for old, new in zip(before["open"], document["points"], strict=False):
        assert new["samples"][0] == old["samples"][0]
    assert [point.size for point in points] == sizes
    assert all(len(point.cpu_s) >= 6 for point in points)


@pytest.mark.real
def test_a_point_cut_off_by_a_far_lower_time_cap_is_measured_again(tmp_path):
    store = tmp_path / "triad.json"
    with RealSource.of_kernel("triad", max_size=10_000, store=store, **QUICK) as source:
        known = source.measure(5000)
    with RealSource.of_kernel("triad", max_size=10_000, store=store, **QUICK) as source:
        assert (source.measure(5000), source.reused) == (known, 1)
    rewrite(store, point=lambda point: point.update(ended_by="time cap", cost_s=0.01))
    with RealSource.of_kernel("triad", max_size=10_000, store=store, **QUICK) as source:
        assert source.measure(5000) != known
        assert source.reused == 0


@pytest.mark.real
def test_panels_on_all_cores_at_once_make_a_model_that_says_so(tmp_path):
    with RealSource.of_kernel("dgemm", cpu=CPU, time_cap_s=0.5, columns=256, together=True) as source:
        built = fit_speed(source, budget_s=10.0)
    others = [core.cpu for core in this_machine().cores if core.cpu != CPU]
    if others:
        seen = source.at_once
        assert seen.names == tuple(f"cpu{cpu}" for cpu in (CPU, *others))
        assert set(seen.sizes) == {point.size for point in built.points}
        own = {point.size: point.ideal_s for point in built.points}
        ratios = [np.median(seen.times_s[(seen.sizes == size) & (seen.pes == 0)]) / own[size] for size in own]
        assert ratios == pytest.approx(np.ones(len(own)), rel=0.1)
        assert np.all(np.diff(seen.begins_s) >= 0)
    assert source.subject.to_dict() == {"kernel": "dgemm", "columns": 256, "cpu": CPU} | (
        {"beside": others} if others else {}
    )
    ends = built.band.sizes.min(), built.band.sizes.max()
    assert ends == pytest.approx((256 * 256 + 2 * 4 * 256, 3 * 256 * 256))
    save_speed_model(built, tmp_path / "m.json")
    found = load_speed_model(tmp_path / "m.json")
    assert found.measured == ("on all cores at once" if others else "alone")
    assert isinstance(found.model, SpeedSurface)
    assert found.model.columns == (256.0,)
