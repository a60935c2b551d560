"""All that measures time: real runs become measurements, which models are fitted to; a folder for each subject."""

# mypy: implicit-reexport
from typing import TYPE_CHECKING

from simulator.base.faces import face

if TYPE_CHECKING:
    from simulator.base.tables import Table, parse_points, read_shipped_table
    from simulator.calibration.allocation.campaign import Campaign, Limits, RunTable, make_runs
    from simulator.calibration.allocation.plan import (
        PILOT,
        Allocation,
        ConstructionPlan,
        CostGuess,
        PEKind,
        PlannedRun,
        kinds_of,
        read_plan,
    )
    from simulator.calibration.allocation.program import AllocatedProgram, PlacedRank, make_reader, parse_program
    from simulator.calibration.apex.plan import make_sweep
    from simulator.calibration.apex.sweep import fit_sweep, measure_sweep, measure_vectors, write_sweep_table
    from simulator.calibration.bands.build import save_speed_model
    from simulator.calibration.bands.source import ReplaySource, read_replay
    from simulator.calibration.bench.campaign import Budget, BudgetTooShortError, run_campaign
    from simulator.calibration.bench.competitor import Competitor
    from simulator.calibration.bench.journal import kept
    from simulator.calibration.bench.measurement import Measurement
    from simulator.calibration.bench.usage import Usage
    from simulator.calibration.history.coverage import (
        Comparison,
        Coverage,
        Held,
        History,
        coverage,
        keep_comparisons,
        kept_comparisons,
        learnt_in,
        median_errors,
        summary_of,
        widened,
        widening,
    )
    from simulator.calibration.history.formats import export_runs, import_runs, runs_kind, save_export
    from simulator.calibration.history.learnt import Drift, keep_calibration, learnt_drift, state_file
    from simulator.calibration.history.record import make_plan, parse_grid, record_runs
    from simulator.calibration.history.store import RunRecord, add_runs, fit_table, list_runs
    from simulator.calibration.hosts.campaign import (
        MESSAGES,
        ClusterPlan,
        MeasuredCluster,
        MeasuredHost,
        first_speed,
        measure_cluster,
        one_of_each_kind,
        reach_hosts,
    )
    from simulator.calibration.hosts.far_ranks import FarRanks
    from simulator.calibration.hosts.host import About, Host, HostError
    from simulator.calibration.hosts.links import fit_cluster_network
    from simulator.calibration.hosts.transport import (
        Words,
        allocated_hosts,
        hosts_of_file,
        listed_hosts,
        over_srun,
        over_ssh,
    )
    from simulator.calibration.kernels.table import SIZED_KERNELS
    from simulator.calibration.load_recording import record_load
    from simulator.calibration.mpi.campaign import MpiProgram, mpi_program, record_program
    from simulator.calibration.neighbours.campaign import (
        NeighboursWishes,
        fit_neighbour_visits,
        measure_neighbour_visits,
        neighbours_wishes,
        replay_neighbours,
    )
    from simulator.calibration.pingpong.copies import measure_copies
    from simulator.calibration.pingpong.measured import (
        LinkMeasurement,
        LinkPlan,
        fit_measured_link,
        link_lines,
        measure_link_times,
    )
    from simulator.calibration.ranks.programs import RealProgram, program_fault
    from simulator.calibration.ranks.ranks import CommandRanks, Ranks, RealRun
    from simulator.calibration.speed.real_source import RealSource
    from simulator.calibration.speed.speeds import drift_of, fit_speed, keep_speeds
    from simulator.models.file import model_kind
    from simulator.models.foreign import format_in
    from simulator.models.memory.file import (
        MemoryFile,
        MemoryFit,
        fit_memory,
        fit_memory_table,
        load_memory_model,
        predict_memory,
        read_memory_times,
        save_memory_model,
        swept_by_kernel,
    )
    from simulator.models.neighbours_file import (
        NeighboursModel,
        predict_neighbours,
        read_neighbours,
        save_neighbours,
        visits_table,
    )
    from simulator.models.network.file import (
        NetworkFile,
        fit_network_table,
        links_in,
        load_network_model,
        predict_messages,
        read_network_table,
        save_network_model,
    )
    from simulator.models.process_count.file import (
        AllocationFit,
        fit_allocation_table,
        load_allocation_fit,
        save_allocation_fit,
    )
    from simulator.models.process_count.runs import read_allocation_runs
    from simulator.models.regression.file import RuntimeFit, load_runtime_model, predict_table, save_runtime_fit
    from simulator.models.resource import load_resource_model, save_resource_model
    from simulator.models.speed import load_speed_model, predict_speeds
else:
    __all__, __dir__, __getattr__ = face(__name__)
