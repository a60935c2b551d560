"""What commands learnt of this machine, kept for those that follow: calibrations and verifications, a line for each.

One file of JSON lines in the user's state folder (`files.user_state`), which only grows. Each line says its kind, when
and on which machine it was made; lines of other machines are ignored. Nothing is looked up here while simulating: what
is learnt is written into models when these are made.
"""

import datetime
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import ApportionError, ScenarioError
from simulator.base.machine import Machine, this_machine

FORMAT = 1
NAME = "learnt.jsonl"
IDENTITY = ("host", "cpu_model")
"""What two descriptions of one machine agree on, whatever is updated or added."""


class KeptWarning(UserWarning):
    """Lines of the file that could not be read, or an entry that could not be kept."""


def identity(machine: Machine) -> dict[str, Any]:
    """What tells a machine from others."""
    return {name: getattr(machine, name) for name in IDENTITY}


def keep(kind: str, entry: Mapping[str, Any], *, machine: Machine | None = None) -> None:
    """Append an entry; where the folder or the disk allows none, it is told and nothing else happens.

    Parameters
    ----------
    kind
        What it is, such as `calibration`.
    entry
        Plain data without NaN or infinity.
    machine
        By default this one.
    """
    folder = files.user_state()
    if folder is None:
        warnings.warn("state: no private folder to keep it in; set APPORTION_STATE to one", KeptWarning, stacklevel=2)
        return
    line = {
        "format": FORMAT,
        "kind": kind,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": identity(machine or this_machine()),
        "entry": dict(entry),
    }
    path = folder / NAME
    try:
        torn = path.exists() and not files.read_bytes(path).endswith(b"\n")
        with files.open_append(path) as stream:
            stream.write(f"{chr(10) if torn and path.stat().st_size else ''}{json.dumps(line, allow_nan=False)}\n")
    except (ApportionError, OSError) as error:
        warnings.warn(f"{path}: nothing is kept here: {error}", KeptWarning, stacklevel=2)


def kept(kind: str, *, machine: Machine | None = None) -> tuple[dict[str, Any], ...]:
    """The entries of a kind of this machine, oldest first, each with `made`; nothing where none was kept.

    Torn and foreign lines are left out with a warning.
    """
    folder = files.user_state()
    path = None if folder is None else folder / NAME
    if path is None or not path.exists():
        return ()
    try:
        lines = [line for line in files.read_bytes(path).split(b"\n") if line]
    except ApportionError as error:
        warnings.warn(f"{error}; what was learnt before is not used", KeptWarning, stacklevel=2)
        return ()
    read = [_read(line) for line in lines]
    if lost := read.count(None):
        many = "1 line is" if lost == 1 else f"{lost} lines are"
        warnings.warn(f"{path}: {many} torn or foreign and left out", KeptWarning, stacklevel=2)
    here = identity(machine or this_machine())
    mine = (line for line in read if line is not None and line["kind"] == kind and line["machine"] == here)
    return tuple(line["entry"] | {"made": line["made"]} for line in mine)


def _read(line: bytes) -> dict[str, Any] | None:
    """A line of ours; None if it is none."""
    try:
        found = files.parse_json(line.decode(), "")
    except (ScenarioError, UnicodeDecodeError):
        return None
    whole = isinstance(found, dict) and found.get("format") == FORMAT
    forms = {"kind": str, "made": str, "machine": dict, "entry": dict}
    whole = whole and all(isinstance(found.get(name), form) for name, form in forms.items())
    return found if whole else None


def state_file() -> Path | None:
    """Where entries are kept; None where there is no private folder."""
    folder = files.user_state()
    return None if folder is None else folder / NAME
