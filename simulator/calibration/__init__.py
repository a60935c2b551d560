"""All that measures time: real runs become measurements, which models are fitted to; a folder for each subject.

`bench` is what every measurement needs. Models and their files live in `models`; which runs of a program to make, and
comparisons of builders, in the advisor.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.base.tables import read_shipped_table, read_table
    from simulator.calibration.allocation.campaign import Campaign, Limits, learned_costs, make_runs
    from simulator.calibration.allocation.costs import CostGuess
    from simulator.calibration.allocation.kinds import PEKind, kinds_of
    from simulator.calibration.allocation.lu import lu_command
    from simulator.calibration.allocation.output import make_reader
    from simulator.calibration.allocation.placement import PlacedRank
    from simulator.calibration.allocation.plan import PILOT, Allocation, ConstructionPlan, PlannedRun, read_plan
    from simulator.calibration.allocation.program import AllocatedProgram, parse_program
    from simulator.calibration.allocation.run_table import RunTable
    from simulator.calibration.apex.held_out import JudgedFit, MeasuredMemory, fit_held_out, fit_sweep
    from simulator.calibration.apex.plan import SweepPlan, make_sweep
    from simulator.calibration.apex.sweep import Sweep, measure_sweep, visits_kept, write_sweep_table
    from simulator.calibration.apex.vectors import measure_vectors
    from simulator.calibration.bands.built import save_speed_model
    from simulator.calibration.bench.competitor import Competitor
    from simulator.calibration.bench.disturbance import clean_samples
    from simulator.calibration.bench.point_store import kept, points_kept
    from simulator.calibration.bench.usage import Usage
    from simulator.calibration.history.application import ApplicationPlan, make_application_plan
    from simulator.calibration.history.comparisons import (
        Comparison,
        keep_comparisons,
        kept_comparisons,
        median_errors,
    )
    from simulator.calibration.history.coverage import coverage, learnt_in, share_held, summary_of, widened, widening
    from simulator.calibration.history.drift import Drift, keep_calibration, learnt_drift
    from simulator.calibration.history.fit import fit_table
    from simulator.calibration.history.formats import export_runs, import_runs, runs_kind, save_export
    from simulator.calibration.history.kept import state_file
    from simulator.calibration.history.record import RunPlan, make_plan, parse_grid, record_runs
    from simulator.calibration.history.store import RunRecord, add_runs, list_runs
    from simulator.calibration.kernels import KERNELS, Kernel
    from simulator.calibration.kernels.sized import SizedKernel
    from simulator.calibration.kernels.table import SIZED_KERNELS, sized_kernel
    from simulator.calibration.load_recording import Recording, record_load
    from simulator.calibration.neighbours.campaign import (
        NeighboursWishes,
        fit_neighbour_visits,
        measure_neighbour_visits,
        measure_neighbours,
        neighbour_visits_kept,
        neighbours_wishes,
    )
    from simulator.calibration.neighbours.judging import judge_neighbours, replay_neighbours
    from simulator.calibration.pingpong.chain import ChainMeasurement, measure_chain
    from simulator.calibration.pingpong.fit import fit_measured_link
    from simulator.calibration.pingpong.hosts import Address, is_this_host, listen, listener_over_ssh, parse_address
    from simulator.calibration.pingpong.measured import LinkMeasurement, LinkPlan, link_lines, measure_link_times
    from simulator.calibration.ranks.command_ranks import CommandRanks
    from simulator.calibration.ranks.links import measure_link
    from simulator.calibration.ranks.measuring import (
        LEAST_SAMPLE_S,
        Measurement,
        Point,
        measure_speeds,
        measured_bands,
    )
    from simulator.calibration.ranks.programs import RealProgram, program_fault
    from simulator.calibration.ranks.ranks import Ranks, RealRun
    from simulator.calibration.speed.across import measure_across
    from simulator.calibration.speed.real_source import MEMORY_SHARE, RealSource
    from simulator.calibration.speed.replayed import read_replay
    from simulator.calibration.speed.sampling import Effort, RealPoint
    from simulator.calibration.speed.speeds import Measurements, drift_of, fit_speed, keep_speeds, measure
    from simulator.calibration.speed.subjects import KernelSubject
    from simulator.calibration.speed.upper_end import Ends
    from simulator.models.file import model_kind
    from simulator.models.memory.file import (
        MemoryFit,
        fit_memory,
        fit_memory_table,
        load_memory_model,
        predict_memory,
        read_memory_times,
        save_memory_model,
    )
    from simulator.models.neighbours_file import (
        NeighboursModel,
        predict_neighbours,
        read_neighbours,
        save_neighbours,
        visits_table,
    )
    from simulator.models.network.file import (
        CalibratedNetwork,
        fit_network_table,
        load_network_model,
        message_cost,
        predict_messages,
        read_network_table,
        save_network_model,
    )
    from simulator.models.predicted_speed_check import SpeedForetold, foretell_speed, swept_by_kernel
    from simulator.models.process_count.fitting import (
        AllocationFit,
        MeasuredAllocations,
        fit_allocation_table,
        load_allocation_fit,
        save_allocation_fit,
    )
    from simulator.models.process_count.runs import read_allocation_runs
    from simulator.models.regression.runtime_model import (
        RuntimeFit,
        load_runtime_model,
        predict_table,
        save_runtime_fit,
    )
    from simulator.models.resource import load_resource_model, save_resource_model
    from simulator.models.speed import load_speed_model, predict_speeds

_HOMES = {
    "Address": "simulator.calibration.pingpong.hosts",
    "AllocatedProgram": "simulator.calibration.allocation.program",
    "Allocation": "simulator.calibration.allocation.plan",
    "AllocationFit": "simulator.models.process_count.fitting",
    "ApplicationPlan": "simulator.calibration.history.application",
    "CalibratedNetwork": "simulator.models.network.file",
    "Campaign": "simulator.calibration.allocation.campaign",
    "ChainMeasurement": "simulator.calibration.pingpong.chain",
    "CommandRanks": "simulator.calibration.ranks.command_ranks",
    "Comparison": "simulator.calibration.history.comparisons",
    "Competitor": "simulator.calibration.bench.competitor",
    "ConstructionPlan": "simulator.calibration.allocation.plan",
    "CostGuess": "simulator.calibration.allocation.costs",
    "Drift": "simulator.calibration.history.drift",
    "Effort": "simulator.calibration.speed.sampling",
    "Ends": "simulator.calibration.speed.upper_end",
    "JudgedFit": "simulator.calibration.apex.held_out",
    "KERNELS": "simulator.calibration.kernels",
    "Kernel": "simulator.calibration.kernels",
    "KernelSubject": "simulator.calibration.speed.subjects",
    "LEAST_SAMPLE_S": "simulator.calibration.ranks.measuring",
    "Limits": "simulator.calibration.allocation.campaign",
    "LinkMeasurement": "simulator.calibration.pingpong.measured",
    "LinkPlan": "simulator.calibration.pingpong.measured",
    "MEMORY_SHARE": "simulator.calibration.speed.real_source",
    "MeasuredAllocations": "simulator.models.process_count.fitting",
    "MeasuredMemory": "simulator.calibration.apex.held_out",
    "Measurement": "simulator.calibration.ranks.measuring",
    "Measurements": "simulator.calibration.speed.speeds",
    "MemoryFit": "simulator.models.memory.file",
    "NeighboursModel": "simulator.models.neighbours_file",
    "NeighboursWishes": "simulator.calibration.neighbours.campaign",
    "PEKind": "simulator.calibration.allocation.kinds",
    "PILOT": "simulator.calibration.allocation.plan",
    "PlacedRank": "simulator.calibration.allocation.placement",
    "PlannedRun": "simulator.calibration.allocation.plan",
    "Point": "simulator.calibration.ranks.measuring",
    "Ranks": "simulator.calibration.ranks.ranks",
    "RealPoint": "simulator.calibration.speed.sampling",
    "RealProgram": "simulator.calibration.ranks.programs",
    "RealRun": "simulator.calibration.ranks.ranks",
    "RealSource": "simulator.calibration.speed.real_source",
    "Recording": "simulator.calibration.load_recording",
    "RunPlan": "simulator.calibration.history.record",
    "RunRecord": "simulator.calibration.history.store",
    "RunTable": "simulator.calibration.allocation.run_table",
    "RuntimeFit": "simulator.models.regression.runtime_model",
    "SIZED_KERNELS": "simulator.calibration.kernels.table",
    "SizedKernel": "simulator.calibration.kernels.sized",
    "SpeedForetold": "simulator.models.predicted_speed_check",
    "Sweep": "simulator.calibration.apex.sweep",
    "SweepPlan": "simulator.calibration.apex.plan",
    "Usage": "simulator.calibration.bench.usage",
    "add_runs": "simulator.calibration.history.store",
    "clean_samples": "simulator.calibration.bench.disturbance",
    "coverage": "simulator.calibration.history.coverage",
    "drift_of": "simulator.calibration.speed.speeds",
    "export_runs": "simulator.calibration.history.formats",
    "fit_allocation_table": "simulator.models.process_count.fitting",
    "fit_held_out": "simulator.calibration.apex.held_out",
    "fit_measured_link": "simulator.calibration.pingpong.fit",
    "fit_memory": "simulator.models.memory.file",
    "fit_memory_table": "simulator.models.memory.file",
    "fit_neighbour_visits": "simulator.calibration.neighbours.campaign",
    "fit_network_table": "simulator.models.network.file",
    "fit_speed": "simulator.calibration.speed.speeds",
    "fit_sweep": "simulator.calibration.apex.held_out",
    "fit_table": "simulator.calibration.history.fit",
    "foretell_speed": "simulator.models.predicted_speed_check",
    "import_runs": "simulator.calibration.history.formats",
    "is_this_host": "simulator.calibration.pingpong.hosts",
    "judge_neighbours": "simulator.calibration.neighbours.judging",
    "keep_calibration": "simulator.calibration.history.drift",
    "keep_comparisons": "simulator.calibration.history.comparisons",
    "keep_speeds": "simulator.calibration.speed.speeds",
    "kept": "simulator.calibration.bench.point_store",
    "kept_comparisons": "simulator.calibration.history.comparisons",
    "kinds_of": "simulator.calibration.allocation.kinds",
    "learned_costs": "simulator.calibration.allocation.campaign",
    "learnt_drift": "simulator.calibration.history.drift",
    "learnt_in": "simulator.calibration.history.coverage",
    "link_lines": "simulator.calibration.pingpong.measured",
    "list_runs": "simulator.calibration.history.store",
    "listen": "simulator.calibration.pingpong.hosts",
    "listener_over_ssh": "simulator.calibration.pingpong.hosts",
    "load_allocation_fit": "simulator.models.process_count.fitting",
    "load_memory_model": "simulator.models.memory.file",
    "load_network_model": "simulator.models.network.file",
    "load_resource_model": "simulator.models.resource",
    "load_runtime_model": "simulator.models.regression.runtime_model",
    "load_speed_model": "simulator.models.speed",
    "lu_command": "simulator.calibration.allocation.lu",
    "make_application_plan": "simulator.calibration.history.application",
    "make_plan": "simulator.calibration.history.record",
    "make_reader": "simulator.calibration.allocation.output",
    "make_runs": "simulator.calibration.allocation.campaign",
    "make_sweep": "simulator.calibration.apex.plan",
    "measure": "simulator.calibration.speed.speeds",
    "measure_across": "simulator.calibration.speed.across",
    "measure_chain": "simulator.calibration.pingpong.chain",
    "measure_link": "simulator.calibration.ranks.links",
    "measure_link_times": "simulator.calibration.pingpong.measured",
    "measure_neighbour_visits": "simulator.calibration.neighbours.campaign",
    "measure_neighbours": "simulator.calibration.neighbours.campaign",
    "measure_speeds": "simulator.calibration.ranks.measuring",
    "measure_sweep": "simulator.calibration.apex.sweep",
    "measure_vectors": "simulator.calibration.apex.vectors",
    "measured_bands": "simulator.calibration.ranks.measuring",
    "median_errors": "simulator.calibration.history.comparisons",
    "message_cost": "simulator.models.network.file",
    "model_kind": "simulator.models.file",
    "neighbour_visits_kept": "simulator.calibration.neighbours.campaign",
    "neighbours_wishes": "simulator.calibration.neighbours.campaign",
    "parse_address": "simulator.calibration.pingpong.hosts",
    "parse_grid": "simulator.calibration.history.record",
    "parse_program": "simulator.calibration.allocation.program",
    "points_kept": "simulator.calibration.bench.point_store",
    "predict_memory": "simulator.models.memory.file",
    "predict_messages": "simulator.models.network.file",
    "predict_neighbours": "simulator.models.neighbours_file",
    "predict_speeds": "simulator.models.speed",
    "predict_table": "simulator.models.regression.runtime_model",
    "program_fault": "simulator.calibration.ranks.programs",
    "read_allocation_runs": "simulator.models.process_count.runs",
    "read_memory_times": "simulator.models.memory.file",
    "read_neighbours": "simulator.models.neighbours_file",
    "read_network_table": "simulator.models.network.file",
    "read_plan": "simulator.calibration.allocation.plan",
    "read_replay": "simulator.calibration.speed.replayed",
    "read_shipped_table": "simulator.base.tables",
    "read_table": "simulator.base.tables",
    "record_load": "simulator.calibration.load_recording",
    "record_runs": "simulator.calibration.history.record",
    "replay_neighbours": "simulator.calibration.neighbours.judging",
    "runs_kind": "simulator.calibration.history.formats",
    "save_allocation_fit": "simulator.models.process_count.fitting",
    "save_export": "simulator.calibration.history.formats",
    "save_memory_model": "simulator.models.memory.file",
    "save_neighbours": "simulator.models.neighbours_file",
    "save_network_model": "simulator.models.network.file",
    "save_resource_model": "simulator.models.resource",
    "save_runtime_fit": "simulator.models.regression.runtime_model",
    "save_speed_model": "simulator.calibration.bands.built",
    "share_held": "simulator.calibration.history.coverage",
    "sized_kernel": "simulator.calibration.kernels.table",
    "state_file": "simulator.calibration.history.kept",
    "summary_of": "simulator.calibration.history.coverage",
    "swept_by_kernel": "simulator.models.predicted_speed_check",
    "visits_kept": "simulator.calibration.apex.sweep",
    "visits_table": "simulator.models.neighbours_file",
    "widened": "simulator.calibration.history.coverage",
    "widening": "simulator.calibration.history.coverage",
    "write_sweep_table": "simulator.calibration.apex.sweep",
}
"""Public name -> the module that it comes from."""

_MOVED = {
    "Compared": "advisor.reproduce.builders",
    "LEAST_SIZES": "advisor.advise.process_counts.construction",
    "Wishes": "advisor.advise.process_counts.construction",
    "compare_builders": "advisor.reproduce.builders",
    "every_configuration": "advisor.advise.process_counts.construction",
    "plan_construction": "advisor.advise.process_counts.construction",
}
"""Names that were public here and are the advisor's now: code written before still finds them."""

__all__ = [
    "KERNELS",
    "LEAST_SAMPLE_S",
    "MEMORY_SHARE",
    "PILOT",
    "SIZED_KERNELS",
    "Address",
    "AllocatedProgram",
    "Allocation",
    "AllocationFit",
    "ApplicationPlan",
    "CalibratedNetwork",
    "Campaign",
    "ChainMeasurement",
    "CommandRanks",
    "Comparison",
    "Competitor",
    "ConstructionPlan",
    "CostGuess",
    "Drift",
    "Effort",
    "Ends",
    "JudgedFit",
    "Kernel",
    "KernelSubject",
    "Limits",
    "LinkMeasurement",
    "LinkPlan",
    "MeasuredAllocations",
    "MeasuredMemory",
    "Measurement",
    "Measurements",
    "MemoryFit",
    "NeighboursModel",
    "NeighboursWishes",
    "PEKind",
    "PlacedRank",
    "PlannedRun",
    "Point",
    "Ranks",
    "RealPoint",
    "RealProgram",
    "RealRun",
    "RealSource",
    "Recording",
    "RunPlan",
    "RunRecord",
    "RunTable",
    "RuntimeFit",
    "SizedKernel",
    "SpeedForetold",
    "Sweep",
    "SweepPlan",
    "Usage",
    "add_runs",
    "clean_samples",
    "coverage",
    "drift_of",
    "export_runs",
    "fit_allocation_table",
    "fit_held_out",
    "fit_measured_link",
    "fit_memory",
    "fit_memory_table",
    "fit_neighbour_visits",
    "fit_network_table",
    "fit_speed",
    "fit_sweep",
    "fit_table",
    "foretell_speed",
    "import_runs",
    "is_this_host",
    "judge_neighbours",
    "keep_calibration",
    "keep_comparisons",
    "keep_speeds",
    "kept",
    "kept_comparisons",
    "kinds_of",
    "learned_costs",
    "learnt_drift",
    "learnt_in",
    "link_lines",
    "list_runs",
    "listen",
    "listener_over_ssh",
    "load_allocation_fit",
    "load_memory_model",
    "load_network_model",
    "load_resource_model",
    "load_runtime_model",
    "load_speed_model",
    "lu_command",
    "make_application_plan",
    "make_plan",
    "make_reader",
    "make_runs",
    "make_sweep",
    "measure",
    "measure_across",
    "measure_chain",
    "measure_link",
    "measure_link_times",
    "measure_neighbour_visits",
    "measure_neighbours",
    "measure_speeds",
    "measure_sweep",
    "measure_vectors",
    "measured_bands",
    "median_errors",
    "message_cost",
    "model_kind",
    "neighbour_visits_kept",
    "neighbours_wishes",
    "parse_address",
    "parse_grid",
    "parse_program",
    "points_kept",
    "predict_memory",
    "predict_messages",
    "predict_neighbours",
    "predict_speeds",
    "predict_table",
    "program_fault",
    "read_allocation_runs",
    "read_memory_times",
    "read_neighbours",
    "read_network_table",
    "read_plan",
    "read_replay",
    "read_shipped_table",
    "read_table",
    "record_load",
    "record_runs",
    "replay_neighbours",
    "runs_kind",
    "save_allocation_fit",
    "save_export",
    "save_memory_model",
    "save_neighbours",
    "save_network_model",
    "save_resource_model",
    "save_runtime_fit",
    "save_speed_model",
    "share_held",
    "sized_kernel",
    "state_file",
    "summary_of",
    "swept_by_kernel",
    "visits_kept",
    "visits_table",
    "widened",
    "widening",
    "write_sweep_table",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name) or _MOVED.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
