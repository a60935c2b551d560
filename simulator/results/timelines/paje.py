"""Timelines as Paje traces, which ViTE and pajeng open: nodes hold PEs, PEs hold processes; states, arrows, loads.

Source: "Paje trace file format" (Schnorr, 2014): event definitions, then one event per line, ascending in time.
"""

from collections.abc import Iterator

import numpy as np

from simulator.results.timelines.counters import load_points, points_of_each
from simulator.results.timelines.happened import NAMES, OF_KIND, View

COLOURS = {
    "working": "0.0 0.45 0.7",
    "message": "0.9 0.6 0.0",
    "waiting": "0.8 0.8 0.8",
    "disk": "0.0 0.6 0.5",
}
_EVENTS = {
    "PajeDefineContainerType": (0, "Alias string", "Type string", "Name string"),
    "PajeDefineStateType": (1, "Alias string", "Type string", "Name string"),
    "PajeDefineVariableType": (2, "Alias string", "Type string", "Name string", "Color color"),
    "PajeDefineLinkType": (
        *(3, "Alias string", "Type string", "StartContainerType string", "EndContainerType string", "Name string"),
    ),
    "PajeDefineEntityValue": (4, "Alias string", "Type string", "Name string", "Color color"),
    "PajeCreateContainer": (5, "Time date", "Alias string", "Type string", "Container string", "Name string"),
    "PajeDestroyContainer": (6, "Time date", "Type string", "Name string"),
    "PajeSetState": (7, "Time date", "Type string", "Container string", "Value string"),
    "PajeSetVariable": (8, "Time date", "Type string", "Container string", "Value double"),
    "PajeStartLink": (
        *(9, "Time date", "Type string", "Container string", "Value string"),
        *("StartContainer string", "Key string"),
    ),
    "PajeEndLink": (
        *(10, "Time date", "Type string", "Container string", "Value string", "EndContainer string", "Key string"),
    ),
}


def paje(view: View, *, configuration: str) -> Iterator[str]:
    """The text of a run, line by line."""
    for name, (number, *fields) in _EVENTS.items():
        yield f"%EventDef {name} {number}\n" + "".join(f"% {field}\n" for field in fields) + "%EndEventDef\n"
    yield '0 RUN 0 "Run"\n0 NODE RUN "Node"\n0 PE NODE "PE"\n0 PROCESS PE "Process"\n'
    yield '1 STATE PROCESS "State"\n2 LOAD PE "Load" "0.8 0.2 0.2"\n3 MESSAGE RUN PROCESS PROCESS "Message"\n'
    for kind, category in OF_KIND.items():
        yield f'4 S{kind} STATE "{NAMES[kind]}" "{COLOURS[category]}"\n'
    yield '4 IDLE STATE "idle" "1.0 1.0 1.0"\n4 M MESSAGE "message" "0.2 0.2 0.2"\n'
    yield f'5 0 run RUN 0 "{_clean(configuration)}"\n'
    used = sorted(set(view.run.pe.tolist()))
    nodes = view.platform.node_of
    for node in sorted({int(nodes[pe]) for pe in used}):
        yield f'5 0 n{node} NODE run "{_clean(view.platform.node_names[node])}"\n'
    for pe in used:
        yield f'5 0 pe{pe} PE n{nodes[pe]} "{_clean(view.platform.pes[pe].name)}"\n'
    for process, pe in enumerate(view.run.pe.tolist()):
        yield f'5 0 p{process} PROCESS pe{pe} "process {process}"\n7 0 STATE p{process} IDLE\n'
    events = sorted(_events(view, used), key=lambda event: event[:2])
    yield from (f"{line}\n" for _, _, line in events)
    yield f"6 {view.end_s:.12f} RUN run\n"


def _events(view: View, used: list[int]) -> Iterator[tuple[float, int, str]]:
    """Time, order within it, and line of what happens."""
    run, tick_s = view.run, view.run.tick_s
    ends = np.append(run.process[1:] != run.process[:-1], True)
    for row, process in enumerate(run.process.tolist()):
        begin, end = float(run.begin[row]) * tick_s, float(run.end[row]) * tick_s
        if end > begin:
            yield begin, 1, f"7 {begin:.12f} STATE p{process} S{run.columns.kind[row]}"
        if ends[row]:
            yield end, 2, f"7 {end:.12f} STATE p{process} IDLE"
    for message, (row, to) in enumerate(zip(run.sends.tolist(), run.receives.tolist(), strict=True)):
        begin, end = float(run.begin[row]) * tick_s, float(run.end[to]) * tick_s
        yield begin, 3, f"9 {begin:.12f} MESSAGE run M p{run.process[row]} m{message}"
        yield end, 4, f"10 {end:.12f} MESSAGE run M p{run.process[to]} m{message}"
    for pe in used:
        load = view.platform.pes[pe].load
        if load is not None:
            points = load_points(load.trace, view.load_starts_s[pe], view.end_s, points_of_each(len(used)))
            for at, value in zip(*(column.tolist() for column in points), strict=True):
                yield at, 0, f"8 {at:.12f} LOAD pe{pe} {value!r}"


def _clean(name: str) -> str:
    """A name that cannot end the quotes around it."""
    return " ".join(name.replace('"', "'").split())
