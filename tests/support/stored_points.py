"""Files of measured points as tests read them: a head, then JSON lines of which the last one of a key counts."""

import json
import sys

from simulator.calibration import Usage
from simulator.calibration.bench.measurement import is_disturbed


def stored(path):
    """Machine, finished points and open ones by ascending key; all empty where there is no file."""
    text = path.read_bytes() if path.exists() else b""
    head, *lines = [json.loads(line) for line in text.split(b"\n")[:-1]] or [{}]
    latest = {line["key"]: line for line in lines if "key" in line}
    kept = [line for _, line in sorted(latest.items())]
    points, still_open = ([line["point"] for line in kept if line["finished"] is done] for done in (True, False))
    return {"head": head, "machine": head.get("machine"), "points": points, "open": still_open}


def rewrite(path, *, head=dict, point=dict):
    """Change the head or every point of a file where it lies."""
    first, *lines = (json.loads(line) for line in path.read_text().splitlines())
    head(first)
    for line in lines:
        if "point" in line:
            point(line["point"])
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (first, *lines)))


SPIN = "import sys, time; t = time.process_time() + float(sys.argv[1]) * 2e-6\nwhile time.process_time() < t: pass\n"


def kept(path):
    return stored(path)["points"]


def counted(tmp_path):
    """A command line that notes every start in `log`."""
    script = tmp_path / "app.py"
    script.write_text(f"import sys\nopen({str(tmp_path / 'log')!r}, 'a').write(sys.argv[1] + ' ')\n{SPIN}")
    line = f"{sys.executable} -S {script} {{n}}"
    return ("--command", line, "--size", "n", "--volume", "n", "--max-size", 20_000, "--time-cap", "1s")


def leads(samples, points):
    """Whether a point begins with what was kept of it, without the samples that other programs disturbed.

    Samples of a later visit may be the only clean ones: then nothing of what was kept is left.
    """
    every = [sample["cpu_s"] for sample in samples]
    clean = [sample["cpu_s"] for sample in samples if not is_disturbed(Usage(**sample))]
    return points[: len(every)] == every or points[: len(clean)] == clean


def disturbed(points):
    """Sizes of points with samples that other programs disturbed: on a busy machine they are measured again."""
    return {point["n"] for point in points if any(is_disturbed(Usage(**sample)) for sample in point["samples"])}
