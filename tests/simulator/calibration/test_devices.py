"""Kernels, commands and copies on a GPU, with stand-ins for CuPy and nvidia-smi: what is asked, counted and refused."""

import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from simulator import ScenarioError, calibration
from simulator.base import machine
from simulator.calibration import RealSource
from simulator.calibration.kernels import device
from simulator.calibration.kernels.table import panel_kernel, sized_kernel
from tests.support.command_line import apportion_here, check_refused

STAND_IN = Path(__file__).parents[2] / "support" / "gpu_stand_in"
CPU = max(os.sched_getaffinity(0))
KERNEL_S, BACK_S = 0.002, 0.001


@pytest.fixture
def gpus(monkeypatch):
    """Two GPUs, of which CuPy knows the second."""
    monkeypatch.setenv("PATH", f"{STAND_IN}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(STAND_IN), os.environ.get("PYTHONPATH")))))
    monkeypatch.syspath_prepend(str(STAND_IN))
    for name in (*device.VISIBLE, "CUDA_DEVICE_ORDER"):  # set by what is tested
        monkeypatch.setenv(name, "")
    device.cupy_on.cache_clear()
    yield
    device.cupy_on.cache_clear()
    sys.modules.pop("cupy", None)
    importlib.invalidate_caches()


@pytest.mark.parametrize("kernel", [panel_kernel("dgemm", 48), panel_kernel("stencil", 48), sized_kernel("dgemm")])
@pytest.mark.usefixtures("gpus")
def test_kernels_give_what_they_give_on_a_core(kernel):
    on_gpu, on_core = device.on_device(kernel, "gpu1").prepare(20), kernel.prepare(20)
    for _ in range(3):
        np.testing.assert_allclose(on_gpu.run(), on_core.run(), rtol=1e-13)
    assert device.on_device(kernel, "gpu1").least == 1


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (sized_kernel("fft"), "kernel fft: GPUs run dgemm and stencil only; take one, or give --command"),
        (panel_kernel("dgemm", 64, 8), "depth: products of panels are not added on GPUs; leave it out"),
    ],
)
def test_other_kernels_are_refused(kernel, said):
    with pytest.raises(ScenarioError, match=said):
        device.on_device(kernel, "gpu0")


@pytest.mark.usefixtures("gpus")
def test_a_kernel_is_measured_by_the_clock_within_the_memory_of_its_gpu(tmp_path):
    options = {"columns": 256, "cpu": CPU, "time_cap_s": 0.2, "store": tmp_path / "points.json"}
    with RealSource.of_kernel("dgemm", device="gpu1", **options) as source:
        assert source.smallest == panel_kernel("dgemm", 256).size(1)
        assert min(source.panel_sizes) == source.smallest  # a GPU takes as long for one row as for some hundred
        point = source.measure(source.smallest)
        assert point.n == 1
        assert all(sample.cpu_s == sample.wall_s >= KERNEL_S for sample in point.samples)
        assert source.subject.device == "gpu1"
        assert source.warnings == () or all("gpu1" in line for line in source.warnings)
    with RealSource.of_kernel("dgemm", device="gpu1", cpu=CPU, time_cap_s=0.5) as source:
        assert source.largest_is_memory_limit == (8 * source.largest > 0.9 * 2**25)
        assert 8 * source.largest <= 2**25


def test_a_command_sees_its_gpu_alone_and_is_measured_by_the_clock(tmp_path):
    script, seen = tmp_path / "app.py", tmp_path / "seen"
    script.write_text(
        "import os, sys, time\ntime.sleep(1e-5 * int(sys.argv[1]))\n"
        f"open({str(seen)!r}, 'w').write(os.environ['CUDA_VISIBLE_DEVICES'] + ' ' + sys.argv[2])\n"
    )
    line = f"{sys.executable} -S {script} {{n}} {{device}}"
    options = {"size": "n", "volume": "n", "max_size": 20_000, "cpu": CPU, "time_cap_s": 3}
    with RealSource.of_command(line, device="gpu3", **options) as source:
        point = source.measure(source.largest)
        assert all(sample.cpu_s == sample.wall_s >= 1e-5 * point.n for sample in point.samples)
        assert "gpu3" in source.warnings[0] if source.warnings else True
    assert seen.read_text() == "3 3"
    with pytest.raises(ScenarioError, match=r"\{device\}, \{n\}"):
        RealSource.of_command(line, **options)


@pytest.mark.usefixtures("gpus")
def test_copies_to_and_from_a_gpu_become_a_link_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("--between", "gpu1", "--max-bytes", "64KiB", "--budget", "20s", "-o", "pcie.json")
    done = apportion_here("calibrate", "network", *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ways = ("h2d-pinned", "d2h-pinned", "h2d-pageable", "d2h-pageable")
    models = [calibration.load_network_model(f"pcie-{way}.json").model for way in ways]
    assert all(float(model.time_s(np.array([65_536.0]))[0]) > 0 for model in models)
    rows = Path("pcie.csv").read_text().splitlines()
    assert rows[0] == "direction,pinned,bytes,time_s"
    assert {line.rsplit(",", 2)[0] for line in rows[1:]} == {"h2d,0", "h2d,1", "d2h,0", "d2h,1"}
    cells = [line.split(",") for line in rows[1:]]
    into, out = (np.median([float(cell[3]) for cell in cells if cell[0] == way]) for way in ("h2d", "d2h"))
    assert into < BACK_S <= out
    assert not list(Path().glob("*.partial"))


SPEED, COPIES = ("speed", "--kernel", "dgemm", "--device"), ("network", "--max-bytes", "64KiB", "--between")


def refused(tmp_path, words, said, *, code=2):
    check_refused(apportion_here("calibrate", *words, cwd=tmp_path), said, code=code)


@pytest.mark.parametrize("asked", [SPEED, COPIES])
@pytest.mark.usefixtures("gpus")
def test_what_is_missing_is_said_in_a_sentence(asked, monkeypatch, tmp_path):
    refused(tmp_path, (*asked, "gpu2"), "device: gpu2 is not here, nvidia-smi lists gpu0, gpu1; name one that it lists")
    monkeypatch.setenv("STAND_IN_GPU", "taken")
    busy = "gpu1: CuPy cannot use it (cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable)"
    refused(tmp_path, (*asked, "gpu1"), f"{busy}; end what else runs on it, or look at its driver", code=1)
    monkeypatch.setenv("STAND_IN_GPU", "4000")
    refused(tmp_path, (*asked, "gpu1"), "Out of memory allocating", code=1)


def test_without_gpu_or_cupy_nothing_starts(monkeypatch, tmp_path):
    unit = machine.GpuUnit(0, "NVIDIA H200", 2**37, 2**36, (), "")
    missing = {
        (): "device: gpu0 is not here, nvidia-smi lists no GPU; name one that it lists",
        (unit,): "device: gpu0 is used by CuPy, which is not here; pip install 'apportion[gpu]'",
    }
    monkeypatch.setattr(device, "find_spec", lambda _name: None)
    for listed, said in missing.items():
        monkeypatch.setattr(device, "gpus", lambda listed=listed: listed)
        for asked in (SPEED, COPIES):
            refused(tmp_path, (*asked, "gpu0"), said)
    refused(tmp_path, (*SPEED, "cuda"), "device: 'cuda' is no GPU's name; give gpu0, gpu1 and so on")


def test_the_speed_of_a_gpu_is_none_of_cores(tmp_path):
    model = tmp_path / "gpu0-dgemm.json"
    calibration.save_speed_model(calibration.fit_speed("gbbp_dgemm.csv", method="gbbp"), model)
    document = json.loads(model.read_text())
    document["subject"] = {"kernel": "dgemm", "device": "gpu0"}
    model.write_text(json.dumps(document))
    said = f"{model}: it is the speed of gpu0, not of a core; name it under a PE of kind: gpu"
    refused(tmp_path, ("machine", "--speed", model), said)


@pytest.mark.usefixtures("gpus")
def test_gpus_are_named_with_what_makes_them_pes(tmp_path):
    done = apportion_here("calibrate", "machine", cwd=tmp_path)
    assert "# gpu1: NVIDIA H200, 140 GiB; it is a PE once it is measured:" in done.stdout
    assert "kind: gpu, host: CORE, memory: 143771MiB," in done.stdout


@pytest.mark.usefixtures("gpus")
def test_gpus_are_read_from_the_driver():
    first, second = machine.gpus()
    assert (first.number, first.name, first.memory_bytes) == (0, "NVIDIA H200", 143_771 * 2**20)
    assert (second.number, second.free_bytes) == (1, 64 * 2**20)
