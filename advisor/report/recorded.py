"""What is in a recording of an MPI program, for people."""

from simulator import RecordingFacts, blocks, some_names, units

MOST_TALKS = 3
"""Pairs of ranks that the first lines name."""


def recorded_page(facts: RecordingFacts, name: str) -> blocks.Page:
    """The page of a recording: its first lines for a terminal, and sections with all."""
    sent = sum(one.bytes for one in facts.talks)
    of = f"{facts.ranks} ranks of {facts.program}"
    library = facts.library.splitlines()[0][:40] if facts.library else ""
    how = ", ".join(filter(None, (library, f"recorded {facts.recordings} times" if facts.recordings > 1 else "")))
    count = sum(one.count for one in facts.calls)
    answer = f"{name}: {of}{f' ({how})' if how else ''}: {count:,} calls, {units.show_size(sent)} in messages."
    if facts.unknown:
        calls = [f"{call} ({times})" for call, times in sorted(facts.unknown.items(), key=lambda one: -one[1])]
        bad = f"it cannot be simulated, as these calls are not understood: {some_names(calls)}"
        answer = f"{name}: {bad}. It is of {answer.removeprefix(f'{name}: ')}"
    said = {
        "Computes": _computing(facts),
        "Waits": "" if facts.waiting is None else f"{facts.waiting:.0%} of the time by the clock",
        "Repeats": _repeating(facts),
        "Talks": "; ".join(_talk(facts, number) for number in range(min(MOST_TALKS, len(facts.talks)))),
    }
    sites = _sites(facts)
    return blocks.Page(
        title=f"Recording {name}",
        answer=answer,
        facts=blocks.pairs({key: value for key, value in said.items() if value}),
        rows=sites,
        warnings=facts.warnings,
        sections=(
            blocks.Section("sites", "Call sites", (sites,)),
            blocks.Section("calls", "Calls", (_calls(facts),)),
            blocks.Section("ranks", "Ranks", (_ranks(facts),)),
            blocks.Section("talks", "Who talks to whom", (_talks(facts),)),
        ),
    )


def _computing(facts: RecordingFacts) -> str:
    low, high = (units.show_duration(end(facts.computing_s)) for end in (min, max))
    mean = units.show_duration(sum(facts.computing_s) / facts.ranks)
    return f"{mean} a rank ({low} to {high}), {units.show_duration(sum(facts.computing_s))} in all"


def _repeating(facts: RecordingFacts) -> str:
    found = [
        f"{one.iterations} iterations of {one.calls} calls" + (f" in {one.ranks} ranks" if facts.repeats[1:] else "")
        for one in facts.repeats
        if one.iterations
    ]
    return "; ".join(found[:2]) + (f"; {len(found) - 2} more kinds" if len(found) > 2 else "")


def _talk(facts: RecordingFacts, number: int) -> str:
    one = facts.talks[number]
    return f"{one.source} to {one.to} {units.show_size(one.bytes)} in {one.messages} messages"


def _sites(facts: RecordingFacts) -> blocks.Table:
    whole = sum(facts.computing_s) or 1.0
    rows = [
        (
            one.site,
            units.show_duration(one.computing_s),
            f"{one.computing_s / whole:.0%}",
            f"{one.computations}",
            units.show_duration(one.median_s),
            "-" if one.runs_differ is None else f"{one.runs_differ:.1%}",
        )
        for one in facts.sites
    ]
    head = ("computes before", "in all", "share", "times", "median", "runs differ")
    return blocks.table("", head, rows)


def _calls(facts: RecordingFacts) -> blocks.Table:
    rows = [(one.call, f"{one.count}", units.show_size(one.bytes)) for one in facts.calls]
    return blocks.table("Bytes of a collective are those of each rank's part.", ("call", "times", "bytes"), rows)


def _ranks(facts: RecordingFacts) -> blocks.Table:
    both = zip(facts.computing_s, facts.memory_bytes, strict=True)
    rows = [
        (f"{rank}", units.show_duration(computing), units.show_size(memory) if memory else "-")
        for rank, (computing, memory) in enumerate(both)
    ]
    return blocks.table("", ("rank", "computes", "memory at most"), rows)


def _talks(facts: RecordingFacts) -> blocks.Table:
    rows = [(f"{one.source}", f"{one.to}", f"{one.messages}", units.show_size(one.bytes)) for one in facts.talks]
    return blocks.table("Messages of collectives are left out.", ("from", "to", "messages", "bytes"), rows)
