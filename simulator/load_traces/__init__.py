"""Load traces: read and write them, import other formats, generate them, study how well they foretell (traces/README.md)."""

from simulator.load_traces.csv_file import TraceTable, TraceWarning, read_table, read_trace, trace_column, trace_text
from simulator.load_traces.fit import FitReport, fit
from simulator.load_traces.generate import GENERATORS, Generator
from simulator.load_traces.importers import FORMATS, MEASURES, ImportOptions, import_trace
from simulator.load_traces.recording import RecordingHead, read_head
from simulator.load_traces.study import StudyRow, load_study

__all__ = [
    "FORMATS",
    "GENERATORS",
    "MEASURES",
    "FitReport",
    "Generator",
    "ImportOptions",
    "RecordingHead",
    "StudyRow",
    "TraceTable",
    "TraceWarning",
    "fit",
    "import_trace",
    "load_study",
    "read_head",
    "read_table",
    "read_trace",
    "trace_column",
    "trace_text",
]
