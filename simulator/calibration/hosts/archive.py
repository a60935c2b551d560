"""What goes to a host that has no apportion: one archive with our sources, unpacked to a private folder, removed."""

import base64
import functools
import hashlib
import io
import json
import shlex
import zipfile
from pathlib import Path

from simulator.base import files

ROOMS = ("base", "calibration", "models", "programs", "scheduling")
"""The packages that an agent and its workers load from."""
INTERPRETERS = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
"""What is looked for there, after the interpreter of an apportion that is installed."""
NO_PYTHON = "no Python 3.11 or newer with NumPy"
_INSTALLED = """\"$(sed -n '1s/^#!//p' "$(command -v apportion)" 2>/dev/null)\""""
_SCRIPT = r"""for p in {looked_for}; do
"$p" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exec "$p" -c "$({decode})"
done; echo '{fault}'"""
_BEGIN = """
import hashlib, io, json, os, shutil, sys, tempfile, zipfile
came = open(0, "rb", buffering=0, closefd=False)
head, data, folder = json.loads(came.readline()), b"", None
while len(data) < head["bytes"] and (piece := came.read(head["bytes"] - len(data))):
    data += piece
try:
    if hashlib.sha256(data).hexdigest() != head["sha256"]:
        raise OSError(0, "the archive came damaged")
    folder = tempfile.mkdtemp(prefix="apportion-")
    zipfile.ZipFile(io.BytesIO(data)).extractall(folder)
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = folder
    from simulator.calibration.hosts.agent import main
    main()
except OSError as error:
    print(json.dumps({"fault": f"{error.strerror or error} in {folder or tempfile.gettempdir()}"}), flush=True)
finally:
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
"""
"""What the interpreter there begins with; it reads no further than the archive, for the agent reads on."""


@functools.cache
def archive() -> bytes:
    """Our sources, packed; the same bytes for the same sources."""
    root, packed = Path(files.__file__).parents[1], io.BytesIO()
    paths = [root / "__init__.py", *(path for room in ROOMS for path in sorted((root / room).rglob("*.py")))]
    with zipfile.ZipFile(packed, "w") as made:
        for path in paths:
            entry = zipfile.ZipInfo(str(path.relative_to(root.parent)))
            made.writestr(entry, files.read_bytes(path), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


@functools.cache
def opening() -> bytes:
    """What the far side is sent first: how long the archive is, and the archive."""
    data = archive()
    head = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return json.dumps(head).encode() + b"\n" + data


def start_line(python: str | None = None) -> str:
    """The command line that starts the agent there, for a login shell of any kind: words quoted once."""
    fault = json.dumps({"fault": f"{NO_PYTHON} is there ({python or ', '.join(INTERPRETERS)}); install it"})
    code = base64.b64encode(_BEGIN.encode()).decode()
    looked_for = shlex.quote(python) if python else " ".join((_INSTALLED, *INTERPRETERS))
    script = _SCRIPT.format(looked_for=looked_for, decode=f"echo {code} | base64 -d", fault=fault)
    return shlex.join(["sh", "-c", script])
