"""A reader of Chrome traces with nothing of the writer in it: what a file must be so that viewers show all of it."""

import json
import math
from collections import Counter, defaultdict

TIMED = "XsfC"


def read(text):
    """Parse a file as strictly as JSON says; its events."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    document = json.loads(text, parse_constant=refuse)
    assert set(document) == {"displayTimeUnit", "otherData", "traceEvents"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    return document["traceEvents"]


def check(events):
    """Every demand on a whole file; returns the tracks' names by (pid, tid)."""
    names = check_fields(events)
    slices = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append(event)
    for track, found in slices.items():
        assert track in names, f"{track} has slices and no name"
        check_nesting([(event["ts"], event["dur"]) for event in found])
    check_flows(events, slices)
    check_counters(events)
    lost = as_perfetto(events)
    assert not any(lost.values()), lost
    return names


def check_fields(events):
    processes, threads = {}, {}
    for event in events:
        assert event["ph"] in TIMED + "M", event
        assert isinstance(event["name"], str)
        assert event["name"]
        assert type(event["pid"]) is int
        assert event["pid"] > 0
        assert type(event.get("tid", 1)) is int
        if event["ph"] in TIMED:
            assert type(event["ts"]) in (int, float)
            assert 0 <= event["ts"] < math.inf
        if event["ph"] == "X":
            assert type(event["dur"]) in (int, float)
            assert 0 <= event["dur"] < math.inf
            assert event["cat"] in ("working", "waiting", "message", "disk")
        if event["ph"] == "M" and event["name"] == "process_name":
            assert processes.setdefault(event["pid"], event["args"]["name"]) == event["args"]["name"]
        if event["ph"] == "M" and event["name"] == "thread_name":
            assert (event["pid"], event["tid"]) not in threads
            threads[event["pid"], event["tid"]] = event["args"]["name"]
    assert {event["pid"] for event in events} <= set(processes)
    assert len({tid for _, tid in threads}) == len(threads), "viewers name threads by tid alone"
    assert not {tid for _, tid in threads} & set(processes), "a tid that is a pid is a main thread"
    sorts = Counter((e["name"], e["pid"], e.get("tid")) for e in events if e["name"].endswith("_sort_index"))
    assert set(sorts.values()) == {1}
    assert len(sorts) == len(processes) + len(threads)
    return threads


def check_nesting(spans):
    """Side by side or in each other, with times added up as floats."""
    open_ends = []
    for start, duration in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or start + duration <= open_ends[-1], (start, duration, open_ends)
        open_ends.append(start + duration)


def check_flows(events, slices):
    starts, ends = {}, {}
    for event in events:
        if event["ph"] in "sf":
            side = starts if event["ph"] == "s" else ends
            assert event["id"] not in side, "an id for each message"
            side[event["id"]] = event
    assert set(starts) == set(ends)
    spans = {track: sorted((e["ts"], e["ts"] + e["dur"]) for e in found) for track, found in slices.items()}
    for number, begin in starts.items():
        end = ends[number]
        assert begin["ts"] <= end["ts"]
        assert end["bp"] == "e"
        assert (begin["cat"], begin["name"]) == (end["cat"], end["name"])
        assert {"from", "to", "bytes", "route"} <= set(begin["args"])
    for track, found in spans.items():
        inside = sorted(e["ts"] for e in (*starts.values(), *ends.values()) if (e["pid"], e["tid"]) == track)
        reach, place = -1.0, 0
        for ts in inside:
            while place < len(found) and found[place][0] <= ts:
                reach, place = max(reach, found[place][1]), place + 1
            assert ts <= reach, (track, ts, reach)


def check_counters(events):
    last = {}
    for event in events:
        if event["ph"] == "C":
            track = event["pid"], event["name"]
            assert event["ts"] > last.get(track, -1), track
            last[track] = event["ts"]
            (value,) = event["args"].values()
            assert type(value) in (int, float)
            assert 0 <= value < math.inf


def as_perfetto(events):
    """What Perfetto would leave out or bind wrongly, by its sources: nanoseconds cut off, one stack per thread."""
    lost = Counter()
    stacks, waiting = defaultdict(list), {}
    timed = [event for event in events if event["ph"] in "Xsf"]
    for event in sorted(timed, key=lambda event: math.trunc(event["ts"] * 1000.0)):  # stable, as its sorter
        track, now = (event["pid"], event["tid"]), math.trunc(event["ts"] * 1000.0)
        stack = stacks[track]
        if event["ph"] == "X":
            duration = math.trunc(event["dur"] * 1000.0)
            while stack and (stack[-1][1] < now or (stack[-1][1] == now and (stack[-1][2] or duration))):
                stack.pop()
            lost["overlaps"] += bool(stack) and now < stack[-1][1] < now + duration
            lost["too deep"] += len(stack) >= 512
            stack.append((event, now + duration, duration))
        elif event["ph"] == "s":
            lost["flows from nowhere"] += not stack
            waiting[event["id"]] = event
        else:
            lost["flows without a start"] += waiting.pop(event["id"], None) is None
            lost["flows to nowhere"] += not stack
    return lost
