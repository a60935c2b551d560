"""Background loads of PEs: a trace, whose start each replication draws, and what it leaves to us."""

import datetime
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, cast

import numpy as np
from pydantic import Discriminator, PlainValidator, Tag
from pydantic_core import PydanticCustomError

from simulator.base import units
from simulator.base.errors import ScenarioError, meant
from simulator.base.faults import Faults
from simulator.base.form import FileName, Form, Instant
from simulator.load_traces import trace_column
from simulator.models.load import AfterEnd, AvailabilityRule, LoadTrace
from simulator.platform.domains import LoadDemandsForm, demands_data
from simulator.platform.named_files import NamedFiles

LoadStart = Literal["drawn", "own", "zero"] | float | datetime.time | datetime.datetime
"""Where a load starts in its trace: by a draw, at zero, after so many seconds, or at a time of day."""


@dataclass(frozen=True)
class Load:
    """The background load of a PE: a trace, whose start each replication draws, and what it leaves to us."""

    trace: LoadTrace
    rule: AvailabilityRule
    drawn: bool = True
    """Whether each replication draws where in a trace that cycles it starts; otherwise all start at `start_s`."""
    start_s: float = 0.0
    """Where in the trace runs start that do not draw it, or whose trace does not cycle."""
    own: bool = False
    """Whether a PE draws for itself alone; otherwise PEs of a node that have the same recording start together."""
    recording: LoadTrace | None = None
    """What `trace` is a changed copy of, where it is one: who starts together stays the same."""
    demands: Mapping[str, float] = field(default_factory=dict)
    """What a load of 1 takes of each level: bytes per second of `memory`, bytes of a cache by its name."""
    recorded: bool = False
    """Whether the trace is a record: a sample of what the load is like, of which truths are drawn if starts are."""
    rule_known: bool = True
    """Whether the rule was said or measured; otherwise a truth has `fair` or `idle`."""

    @property
    def doubtful(self) -> bool:
        """Whether truths of it differ."""
        return not self.rule_known or (self.recorded and self.draws and self.trace.times_s.size > 1)

    @property
    def draws(self) -> bool:
        """Whether replications draw where it starts: a trace that does not cycle has one beginning."""
        return self.drawn and self.trace.after_end == "cycle"

    def to_data(self, file: str | None) -> dict[str, Any]:
        """The load as a file writes it: with its trace, or the file that holds that."""
        trace, kept = self.trace, dict[str, Any]()
        written: dict[str, Any] = {"times_s": trace.times_s.tolist(), "values": trace.values.tolist()}
        written["end_s"] = trace.end_s
        if trace.start_instant is not None:
            written["start"] = trace.start_instant.isoformat()
        if self.recorded != (file is not None):
            kept["recorded"] = self.recorded
        if self.demands:
            kept["demands"] = demands_data(self.demands)
        start = "own" if self.own else "drawn"
        if not self.drawn:
            start = "zero" if self.start_s == 0 else units.write_duration(self.start_s)
        rule = {"rule": self.rule} if self.rule_known else {}
        return {"trace": file or written, **rule, "after_end": trace.after_end, "start": start, **kept}


STARTS = ("drawn", "own", "zero")
"""Names of where a load starts."""


def _start(value: Any) -> LoadStart:
    if value in STARTS:
        return cast("LoadStart", value)
    text = value if isinstance(value, str) else ""
    with suppress(ScenarioError):
        return units.parse_duration(text, field="", positive=False)
    for kind in (datetime.time, datetime.datetime):
        with suppress(ValueError):
            if ":" in text:
                return kind.fromisoformat(text)
    told = f"is no start: write {', '.join(STARTS)}, an offset such as 6h, or a time of day such as '14:00'"
    raise PydanticCustomError("sentence", f"{told}{meant(value, STARTS)}")


class TraceForm(Form):
    """A load trace written out: each value holds up to the next time, the last one up to the end."""

    times_s: list[float]
    """Seconds, ascending from 0."""
    values: list[float]
    """Load (rules `fair`, `idle`) or availability (`given`) from each time on."""
    end_s: float
    """Seconds at which the trace ends."""
    start: Instant | None = None
    """The instant of its time 0 with its zone (`2026-11-21T08:00+01:00`), for loads that start at a time of day."""

    def trace(self, after_end: AfterEnd) -> LoadTrace:
        """The trace, which goes on so after its end."""
        times_s, values = np.array(self.times_s, np.float64), np.array(self.values, np.float64)
        return LoadTrace(times_s, values, self.end_s, after_end, self.start)


class LoadForm(Form):
    """A load trace and the rule by which it shares the PE."""

    trace: Annotated[
        Annotated[FileName, Tag("<file>")] | Annotated[TraceForm, Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]
    """A file as `traces/README.md` specifies, or `{times_s, values, end_s}`: each value holds up to the next time."""
    rule: AvailabilityRule | None = None
    """`fair`: equal shares for all; `idle`: we take what is idle; `given`: the trace states our share, as a file of
    availabilities does. If left out, of a file of loads: some truths have `fair`, others `idle`."""
    after_end: AfterEnd = "cycle"
    """What follows the trace's end: `cycle`, from the start again; `hold`, the last value; `error`."""
    start: Annotated[LoadStart, PlainValidator(_start, json_schema_input_type=str)] = "drawn"
    """Where in the trace a replication starts: `drawn`, for each, and once for all PEs of a node that have the
    same recording; `own`, drawn for each PE by itself; `zero`, at its start; an offset into it (`6h`); or a time of
    day (`"14:00"`) or date and time, of a trace that says when it began, in the zone of the trace."""
    recorded: bool | None = None
    """Whether the trace is a record, a sample of what the load is like: then each truth has blocks of it in another
    order, if its start is drawn. If left out, a file is one and a trace written out is not."""
    demands: LoadDemandsForm | None = None
    """What a load of 1 takes of the node's `domains`: `{memory: 5GB/s, L3: 10MiB}`; nothing if left out."""

    def load(self, named: NamedFiles, faults: Faults, *, here: tuple[str | int, ...]) -> Load | None:
        """The load; None after a fault was noted."""
        with faults.at(*here, "trace"):
            trace, rule, said = self._read(named)
            recorded = not isinstance(self.trace, TraceForm) if self.recorded is None else self.recorded
            demands = {} if self.demands is None else self.demands.demands()
            load = Load(trace, rule, demands=demands, recorded=recorded, rule_known=said)
            if self.start in ("drawn", "own"):
                return replace(load, own=self.start == "own")
            with faults.at(*here, "start"):
                start_s = 0.0 if isinstance(self.start, str) else trace.offset_s(self.start)
                return replace(load, drawn=False, start_s=start_s)
        return None

    def _read(self, named: NamedFiles) -> tuple[LoadTrace, AvailabilityRule, bool]:
        """The trace, its rule, and whether anybody says the rule."""
        if isinstance(self.trace, TraceForm):
            if self.rule is None and not self.recorded:
                raise ScenarioError("rule: a load that is written out needs its rule; write fair, idle or given")
            return self.trace.trace(self.after_end), self.rule or "fair", self.rule is not None
        trace, available = named.trace(self.trace, self.after_end), trace_column(named.path(self.trace)) == "available"
        if self.rule is not None and available != (self.rule == "given"):
            column, fitting = ("available", "given") if available else ("load", "fair or idle")
            found = f"the rule {self.rule!r} does not fit its column {column!r}"
            raise ScenarioError(f"{self.trace}: {found}; write {fitting}")
        return trace, self.rule or ("given" if available else "fair"), available or self.rule is not None
