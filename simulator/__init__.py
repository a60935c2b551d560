"""Apportion's simulator: real runs become models, models and a program become a scenario, engines interpret it.

Public names are listed in `__all__` and resolved when first used, so that `import simulator` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator import calibration, characterisation
    from simulator.base import (
        blocks,
        documents,
        files,
        formula,
        given,
        intervals,
        notebook,
        provenance,
        randomness,
        shipped,
        ties,
        units,
    )
    from simulator.base.errors import (
        ApportionError,
        CalibrationError,
        Interrupted,
        ScenarioError,
        TraceError,
        WriteError,
        meant,
        shortage,
        some_names,
    )
    from simulator.base.machine import Machine, require_linux, this_machine
    from simulator.base.names import expanded, patterns_of
    from simulator.engines.compiled import cache_folder, on_compile
    from simulator.engines.job_programs import JobPrograms, cluster_of, job_scenario, places_of, with_equal_parts
    from simulator.engines.job_queue import JobRuns
    from simulator.engines.jobs import run_jobs
    from simulator.engines.log import Step, critical_path, waits_by_pe
    from simulator.engines.repartition import balance_text
    from simulator.engines.run import run
    from simulator.engines.run_set import RunSet, describe, interval_line, interval_note
    from simulator.engines.waited_for import Message, Part, waited_for
    from simulator.experiments import job_draws, sweep, whatif
    from simulator.load_traces import read_trace
    from simulator.models.load import LoadTrace, availability
    from simulator.models.network import LinkModel
    from simulator.models.speed import SpeedBand, SpeedSurface
    from simulator.platform.building import Group, Nodes, bus, busy, mesh, nodes, star, torus, tree, uniform
    from simulator.platform.networks import Link, Network
    from simulator.platform.nodes import PE, Load, Meeting, Node, Platform, capacity_of, kept_shares
    from simulator.programs.applications import matmul
    from simulator.programs.configuration import AS_NOW, Configuration, Repartition
    from simulator.programs.streams.lublin import lublin
    from simulator.programs.streams.stream import JobApplication, Stream, make_stream
    from simulator.programs.streams.tsafrir import with_estimates
    from simulator.results import job_metrics, plots
    from simulator.results.comparison import Comparison, compare
    from simulator.results.files import Results, load_results, save_runs
    from simulator.results.job_files import JOB_FILES, job_lines, job_table_lines, stream_lines
    from simulator.results.platform_export import SimgridExport, export_simgrid
    from simulator.results.shares import Share, gathered_shares, shares_of
    from simulator.results.tables import check_form, domain_meetings, process_lines
    from simulator.results.timelines import write_timeline
    from simulator.results.timelines.counters import load_profiles
    from simulator.results.timelines.jobs import JOB_TIMELINES, write_job_timeline
    from simulator.scenario_file import begun, partitions
    from simulator.scenario_file.contents import contents_of
    from simulator.scenario_file.idle_cores import IdleCores, idle_cores
    from simulator.scenario_file.joined import JoinedPlatform, join_platform
    from simulator.scenario_file.joined.inputs import make_node_document
    from simulator.scenario_file.load import (
        dump_scenario,
        load_either,
        load_platform,
        load_scenario,
        read_template,
        resolved_text,
        scenario_schema,
        template_of,
    )
    from simulator.scenario_file.machine_node import NodeDescription, describe_node
    from simulator.scenario_file.scenario import Application, Scenario, truth_count
    from simulator.scenario_file.segs import describe_seg, dump_seg, load_seg
    from simulator.scenario_file.streams import read_stream
    from simulator.scenario_file.truths import deviates, draw, truth_of
    from simulator.scheduling import balance
    from simulator.scheduling.estimates import Estimates, JobTimes
    from simulator.scheduling.places import Cluster
    from simulator.scheduling.policy import Policy

_HOMES = {
    "Cluster": "simulator.scheduling.places",
    "lublin": "simulator.programs.streams.lublin",
    "with_estimates": "simulator.programs.streams.tsafrir",
    "make_stream": "simulator.programs.streams.stream",
    "stream_lines": "simulator.results.job_files",
    "write_job_timeline": "simulator.results.timelines.jobs",
    "JOB_TIMELINES": "simulator.results.timelines.jobs",
    "job_table_lines": "simulator.results.job_files",
    "run_jobs": "simulator.engines.jobs",
    "read_stream": "simulator.scenario_file.streams",
    "Stream": "simulator.programs.streams.stream",
    "JobRuns": "simulator.engines.job_queue",
    "JobPrograms": "simulator.engines.job_programs",
    "cluster_of": "simulator.engines.job_programs",
    "job_scenario": "simulator.engines.job_programs",
    "places_of": "simulator.engines.job_programs",
    "with_equal_parts": "simulator.engines.job_programs",
    "JobApplication": "simulator.programs.streams.stream",
    "JobTimes": "simulator.scheduling.estimates",
    "Policy": "simulator.scheduling.policy",
    "Estimates": "simulator.scheduling.estimates",
    "AS_NOW": "simulator.programs.configuration",
    "Application": "simulator.scenario_file.scenario",
    "ApportionError": "simulator.base.errors",
    "CalibrationError": "simulator.base.errors",
    "Comparison": "simulator.results.comparison",
    "Configuration": "simulator.programs.configuration",
    "contents_of": "simulator.scenario_file.contents",
    "balance_text": "simulator.engines.repartition",
    "Repartition": "simulator.programs.configuration",
    "IdleCores": "simulator.scenario_file.idle_cores",
    "Interrupted": "simulator.base.errors",
    "JOB_FILES": "simulator.results.job_files",
    "JoinedPlatform": "simulator.scenario_file.joined",
    "LinkModel": "simulator.models.network",
    "Load": "simulator.platform.nodes",
    "LoadTrace": "simulator.models.load",
    "Machine": "simulator.base.machine",
    "Message": "simulator.engines.waited_for",
    "Node": "simulator.platform.nodes",
    "NodeDescription": "simulator.scenario_file.machine_node",
    "PE": "simulator.platform.nodes",
    "Part": "simulator.engines.waited_for",
    "Platform": "simulator.platform.nodes",
    "Group": "simulator.platform.building",
    "Link": "simulator.platform.networks",
    "Network": "simulator.platform.networks",
    "Nodes": "simulator.platform.building",
    "bus": "simulator.platform.building",
    "busy": "simulator.platform.building",
    "meant": "simulator.base.errors",
    "mesh": "simulator.platform.building",
    "nodes": "simulator.platform.building",
    "star": "simulator.platform.building",
    "torus": "simulator.platform.building",
    "tree": "simulator.platform.building",
    "uniform": "simulator.platform.building",
    "Results": "simulator.results.files",
    "RunSet": "simulator.engines.run_set",
    "Scenario": "simulator.scenario_file.scenario",
    "ScenarioError": "simulator.base.errors",
    "Share": "simulator.results.shares",
    "SimgridExport": "simulator.results.platform_export",
    "gathered_shares": "simulator.results.shares",
    "shares_of": "simulator.results.shares",
    "SpeedBand": "simulator.models.speed",
    "SpeedSurface": "simulator.models.speed",
    "Step": "simulator.engines.log",
    "TraceError": "simulator.base.errors",
    "WriteError": "simulator.base.errors",
    "availability": "simulator.models.load",
    "capacity_of": "simulator.platform.nodes",
    "kept_shares": "simulator.platform.nodes",
    "Meeting": "simulator.platform.nodes",
    "domain_meetings": "simulator.results.tables",
    "cache_folder": "simulator.engines.compiled",
    "check_form": "simulator.results.tables",
    "compare": "simulator.results.comparison",
    "critical_path": "simulator.engines.log",
    "describe": "simulator.engines.run_set",
    "idle_cores": "simulator.scenario_file.idle_cores",
    "interval_line": "simulator.engines.run_set",
    "interval_note": "simulator.engines.run_set",
    "describe_node": "simulator.scenario_file.machine_node",
    "describe_seg": "simulator.scenario_file.segs",
    "draw": "simulator.scenario_file.truths",
    "deviates": "simulator.scenario_file.truths",
    "dump_scenario": "simulator.scenario_file.load",
    "dump_seg": "simulator.scenario_file.segs",
    "expanded": "simulator.base.names",
    "export_simgrid": "simulator.results.platform_export",
    "job_lines": "simulator.results.job_files",
    "join_platform": "simulator.scenario_file.joined",
    "make_node_document": "simulator.scenario_file.joined.inputs",
    "load_either": "simulator.scenario_file.load",
    "load_platform": "simulator.scenario_file.load",
    "load_profiles": "simulator.results.timelines.counters",
    "load_results": "simulator.results.files",
    "load_scenario": "simulator.scenario_file.load",
    "load_seg": "simulator.scenario_file.segs",
    "matmul": "simulator.programs.applications",
    "on_compile": "simulator.engines.compiled",
    "patterns_of": "simulator.base.names",
    "process_lines": "simulator.results.tables",
    "read_template": "simulator.scenario_file.load",
    "read_trace": "simulator.load_traces",
    "require_linux": "simulator.base.machine",
    "resolved_text": "simulator.scenario_file.load",
    "run": "simulator.engines.run",
    "save_runs": "simulator.results.files",
    "scenario_schema": "simulator.scenario_file.load",
    "shortage": "simulator.base.errors",
    "some_names": "simulator.base.errors",
    "template_of": "simulator.scenario_file.load",
    "this_machine": "simulator.base.machine",
    "truth_count": "simulator.scenario_file.scenario",
    "truth_of": "simulator.scenario_file.truths",
    "waited_for": "simulator.engines.waited_for",
    "waits_by_pe": "simulator.engines.log",
    "write_timeline": "simulator.results.timelines",
}
"""Public name -> the module that it comes from."""

_MODULES = {
    "balance": "simulator.scheduling.balance",
    "begun": "simulator.scenario_file.begun",
    "blocks": "simulator.base.blocks",
    "calibration": "simulator.calibration",
    "characterisation": "simulator.characterisation",
    "documents": "simulator.base.documents",
    "files": "simulator.base.files",
    "formula": "simulator.base.formula",
    "given": "simulator.base.given",
    "intervals": "simulator.base.intervals",
    "job_draws": "simulator.experiments.job_draws",
    "job_metrics": "simulator.results.job_metrics",
    "notebook": "simulator.base.notebook",
    "partitions": "simulator.scenario_file.partitions",
    "plots": "simulator.results.plots",
    "provenance": "simulator.base.provenance",
    "randomness": "simulator.base.randomness",
    "shipped": "simulator.base.shipped",
    "sweep": "simulator.experiments.sweep",
    "ties": "simulator.base.ties",
    "units": "simulator.base.units",
    "whatif": "simulator.experiments.whatif",
}
"""Public modules, each with an `__all__` of its own."""

__all__ = [
    "AS_NOW",
    "JOB_FILES",
    "JOB_TIMELINES",
    "PE",
    "Application",
    "ApportionError",
    "CalibrationError",
    "Cluster",
    "Comparison",
    "Configuration",
    "Estimates",
    "Group",
    "IdleCores",
    "Interrupted",
    "JobApplication",
    "JobPrograms",
    "JobRuns",
    "JobTimes",
    "JoinedPlatform",
    "Link",
    "LinkModel",
    "Load",
    "LoadTrace",
    "Machine",
    "Meeting",
    "Message",
    "Network",
    "Node",
    "NodeDescription",
    "Nodes",
    "Part",
    "Platform",
    "Policy",
    "Repartition",
    "Results",
    "RunSet",
    "Scenario",
    "ScenarioError",
    "Share",
    "SimgridExport",
    "SpeedBand",
    "SpeedSurface",
    "Step",
    "Stream",
    "TraceError",
    "WriteError",
    "availability",
    "balance",
    "balance_text",
    "begun",
    "blocks",
    "bus",
    "busy",
    "cache_folder",
    "calibration",
    "capacity_of",
    "characterisation",
    "check_form",
    "cluster_of",
    "compare",
    "contents_of",
    "critical_path",
    "describe",
    "describe_node",
    "describe_seg",
    "deviates",
    "documents",
    "domain_meetings",
    "draw",
    "dump_scenario",
    "dump_seg",
    "expanded",
    "export_simgrid",
    "files",
    "formula",
    "gathered_shares",
    "given",
    "idle_cores",
    "interval_line",
    "interval_note",
    "intervals",
    "job_draws",
    "job_lines",
    "job_metrics",
    "job_scenario",
    "job_table_lines",
    "join_platform",
    "kept_shares",
    "load_either",
    "load_platform",
    "load_profiles",
    "load_results",
    "load_scenario",
    "load_seg",
    "lublin",
    "make_node_document",
    "make_stream",
    "matmul",
    "meant",
    "mesh",
    "nodes",
    "notebook",
    "on_compile",
    "partitions",
    "patterns_of",
    "places_of",
    "plots",
    "process_lines",
    "provenance",
    "randomness",
    "read_stream",
    "read_template",
    "read_trace",
    "require_linux",
    "resolved_text",
    "run",
    "run_jobs",
    "save_runs",
    "scenario_schema",
    "shares_of",
    "shipped",
    "shortage",
    "some_names",
    "star",
    "stream_lines",
    "sweep",
    "template_of",
    "this_machine",
    "ties",
    "torus",
    "tree",
    "truth_count",
    "truth_of",
    "uniform",
    "units",
    "waited_for",
    "waits_by_pe",
    "whatif",
    "with_equal_parts",
    "with_estimates",
    "write_job_timeline",
    "write_timeline",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
