"""All that measures time: real runs become measurements, which models are fitted to; a folder for each subject."""

from typing import TYPE_CHECKING

from simulator.base.faces import face

if TYPE_CHECKING:
    from simulator.base.tables import (
        Table as Table,
        parse_points as parse_points,
        read_shipped_table as read_shipped_table,
    )
    from simulator.calibration.allocation.campaign import (
        Campaign as Campaign,
        Limits as Limits,
        RunTable as RunTable,
        make_runs as make_runs,
    )
    from simulator.calibration.allocation.plan import (
        PILOT as PILOT,
        Allocation as Allocation,
        ConstructionPlan as ConstructionPlan,
        CostGuess as CostGuess,
        PEKind as PEKind,
        PlannedRun as PlannedRun,
        kinds_of as kinds_of,
        read_plan as read_plan,
    )
    from simulator.calibration.allocation.program import (
        AllocatedProgram as AllocatedProgram,
        PlacedRank as PlacedRank,
        make_reader as make_reader,
        parse_program as parse_program,
    )
    from simulator.calibration.apex.fitted import MeasuredMemory as MeasuredMemory, fit_sweep as fit_sweep
    from simulator.calibration.apex.plan import make_sweep as make_sweep
    from simulator.calibration.apex.sweep import (
        measure_sweep as measure_sweep,
        measure_vectors as measure_vectors,
        write_sweep_table as write_sweep_table,
    )
    from simulator.calibration.bands.build import save_speed_model as save_speed_model
    from simulator.calibration.bands.source import (
        ReplaySource as ReplaySource,
        read_replay as read_replay,
    )
    from simulator.calibration.bench.campaign import (
        Budget as Budget,
        BudgetTooShortError as BudgetTooShortError,
        run_campaign as run_campaign,
    )
    from simulator.calibration.bench.competitor import Competitor as Competitor
    from simulator.calibration.bench.journal import kept as kept
    from simulator.calibration.bench.measurement import (
        Measurement as Measurement,
    )
    from simulator.calibration.bench.usage import Usage as Usage
    from simulator.calibration.history.coverage import (
        Comparison as Comparison,
        Coverage as Coverage,
        History as History,
        Held as Held,
        coverage as coverage,
        keep_comparisons as keep_comparisons,
        kept_comparisons as kept_comparisons,
        learnt_in as learnt_in,
        median_errors as median_errors,
        summary_of as summary_of,
        widened as widened,
        widening as widening,
    )
    from simulator.calibration.history.formats import (
        export_runs as export_runs,
        import_runs as import_runs,
        runs_kind as runs_kind,
        save_export as save_export,
    )
    from simulator.calibration.history.learnt import (
        Drift as Drift,
        keep_calibration as keep_calibration,
        learnt_drift as learnt_drift,
        state_file as state_file,
    )
    from simulator.calibration.history.record import (
        make_plan as make_plan,
        parse_grid as parse_grid,
        record_runs as record_runs,
    )
    from simulator.calibration.history.store import (
        RunRecord as RunRecord,
        add_runs as add_runs,
        fit_table as fit_table,
        list_runs as list_runs,
    )
    from simulator.calibration.hosts.campaign import (
        MESSAGES as MESSAGES,
        ClusterPlan as ClusterPlan,
        MeasuredCluster as MeasuredCluster,
        MeasuredHost as MeasuredHost,
        first_speed as first_speed,
        measure_cluster as measure_cluster,
        one_of_each_kind as one_of_each_kind,
        reach_hosts as reach_hosts,
    )
    from simulator.calibration.hosts.far_ranks import FarRanks as FarRanks
    from simulator.calibration.hosts.host import (
        About as About,
        Host as Host,
        HostError as HostError,
    )
    from simulator.calibration.hosts.links import (
        fit_cluster_network as fit_cluster_network,
    )
    from simulator.calibration.hosts.transport import (
        Words as Words,
        allocated_hosts as allocated_hosts,
        hosts_of_file as hosts_of_file,
        listed_hosts as listed_hosts,
        over_srun as over_srun,
        over_ssh as over_ssh,
    )
    from simulator.calibration.kernels.table import SIZED_KERNELS as SIZED_KERNELS
    from simulator.calibration.load_recording import record_load as record_load
    from simulator.calibration.mpi.campaign import (
        MpiProgram as MpiProgram,
        mpi_program as mpi_program,
        record_program as record_program,
    )
    from simulator.calibration.neighbours.campaign import (
        NeighboursWishes as NeighboursWishes,
        fit_neighbour_visits as fit_neighbour_visits,
        measure_neighbour_visits as measure_neighbour_visits,
        neighbours_wishes as neighbours_wishes,
        replay_neighbours as replay_neighbours,
    )
    from simulator.calibration.pingpong.measured import (
        LinkMeasurement as LinkMeasurement,
        LinkPlan as LinkPlan,
        fit_measured_link as fit_measured_link,
        link_lines as link_lines,
        measure_link_times as measure_link_times,
    )
    from simulator.calibration.ranks.programs import RealProgram as RealProgram, program_fault as program_fault
    from simulator.calibration.ranks.ranks import (
        CommandRanks as CommandRanks,
        Ranks as Ranks,
        RealRun as RealRun,
    )
    from simulator.calibration.speed.real_source import RealSource as RealSource
    from simulator.calibration.speed.speeds import (
        drift_of as drift_of,
        fit_speed as fit_speed,
        keep_speeds as keep_speeds,
    )
    from simulator.models.file import model_kind as model_kind
    from simulator.models.foreign import format_in as format_in
    from simulator.models.memory.file import (
        MemoryFile as MemoryFile,
        MemoryFit as MemoryFit,
        fit_memory as fit_memory,
        fit_memory_table as fit_memory_table,
        load_memory_model as load_memory_model,
        predict_memory as predict_memory,
        read_memory_times as read_memory_times,
        save_memory_model as save_memory_model,
        swept_by_kernel as swept_by_kernel,
    )
    from simulator.models.neighbours_file import (
        NeighboursModel as NeighboursModel,
        predict_neighbours as predict_neighbours,
        read_neighbours as read_neighbours,
        save_neighbours as save_neighbours,
        visits_table as visits_table,
    )
    from simulator.models.network.file import (
        CalibratedNetwork as CalibratedNetwork,
        NetworkFile as NetworkFile,
        fit_network_table as fit_network_table,
        links_in as links_in,
        load_network_model as load_network_model,
        predict_messages as predict_messages,
        save_network_model as save_network_model,
    )
    from simulator.models.process_count.file import (
        AllocationFit as AllocationFit,
        fit_allocation_table as fit_allocation_table,
        load_allocation_fit as load_allocation_fit,
        save_allocation_fit as save_allocation_fit,
    )
    from simulator.models.process_count.runs import read_allocation_runs as read_allocation_runs
    from simulator.models.regression.file import (
        RuntimeFit as RuntimeFit,
        load_runtime_model as load_runtime_model,
        predict_table as predict_table,
        save_runtime_fit as save_runtime_fit,
    )
    from simulator.models.resource import (
        load_resource_model as load_resource_model,
        save_resource_model as save_resource_model,
    )
    from simulator.models.speed import (
        load_speed_model as load_speed_model,
        predict_speeds as predict_speeds,
    )
else:
    __all__, __dir__, __getattr__ = face(__name__)
