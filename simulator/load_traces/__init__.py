"""Load traces: read, write, import, generate, draw and study them (traces/README.md specifies the files)."""

from simulator.load_traces.csv_file import (
    TraceWarning,
    read_head,
    read_table,
    read_trace,
    trace_column,
    trace_text,
)
from simulator.load_traces.generate import make_generator, resampled_blocks
from simulator.load_traces.importers import FORMATS, ImportOptions, import_trace, read_profile
from simulator.load_traces.study import (
    StudyRow,
    in_samples,
    load_study,
    predicted_runs,
    regular_load,
    text_chart,
)

__all__ = [
    "FORMATS",
    "ImportOptions",
    "StudyRow",
    "TraceWarning",
    "import_trace",
    "in_samples",
    "load_study",
    "make_generator",
    "predicted_runs",
    "read_head",
    "read_profile",
    "read_table",
    "read_trace",
    "regular_load",
    "resampled_blocks",
    "text_chart",
    "trace_column",
    "trace_text",
]
