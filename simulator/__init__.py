"""Apportion's simulator: real runs become models, models and a program become a scenario, engines interpret it.

Public names are listed in `__all__` and resolved when first used, so that `import simulator` costs nothing.
"""

from typing import TYPE_CHECKING

from simulator.base.faces import face

if TYPE_CHECKING:
    from simulator import calibration as calibration, characterisation as characterisation
    from simulator.base import (
        blocks as blocks,
        documents as documents,
        faces as faces,
        files as files,
        formula as formula,
        given as given,
        intervals as intervals,
        notebook as notebook,
        provenance as provenance,
        randomness as randomness,
        shipped as shipped,
        ties as ties,
        units as units,
    )
    from simulator.base.errors import (
        ApportionError as ApportionError,
        CalibrationError as CalibrationError,
        Interrupted as Interrupted,
        ScenarioError as ScenarioError,
        TraceError as TraceError,
        WriteError as WriteError,
        meant as meant,
        shortage as shortage,
        some_names as some_names,
    )
    from simulator.base.machine import Machine as Machine, require_linux as require_linux, this_machine as this_machine
    from simulator.base.names import expanded as expanded, patterns_of as patterns_of
    from simulator.engines.compiled import cache_folder as cache_folder, on_compile as on_compile
    from simulator.engines.costs.job_nodes import fitting_jobs as fitting_jobs
    from simulator.engines.job_programs import (
        JobPrograms as JobPrograms,
        cluster_of as cluster_of,
        job_scenario as job_scenario,
        places_of as places_of,
        with_equal_parts as with_equal_parts,
    )
    from simulator.engines.job_queue import JobRuns as JobRuns
    from simulator.engines.jobs import run_jobs as run_jobs
    from simulator.engines.log import Step as Step, critical_path as critical_path, waits_by_pe as waits_by_pe
    from simulator.engines.repartition import balance_text as balance_text
    from simulator.engines.run import in_time as in_time, may_compile as may_compile, run as run
    from simulator.engines.run_set import (
        RunSet as RunSet,
        describe as describe,
        interval_line as interval_line,
        interval_note as interval_note,
    )
    from simulator.engines.waited_for import Message as Message, Part as Part, waited_for as waited_for
    from simulator.experiments import job_draws as job_draws, sweep as sweep, whatif as whatif
    from simulator.load_traces import read_trace as read_trace
    from simulator.models.load import LoadTrace as LoadTrace, availability as availability
    from simulator.models.network import LinkModel as LinkModel
    from simulator.models.speed import SpeedBand as SpeedBand, SpeedSurface as SpeedSurface
    from simulator.platform.building import (
        Group as Group,
        Nodes as Nodes,
        bus as bus,
        busy as busy,
        mesh as mesh,
        nodes as nodes,
        star as star,
        torus as torus,
        tree as tree,
        uniform as uniform,
    )
    from simulator.platform.networks import Link as Link, Network as Network
    from simulator.platform.nodes import (
        PE as PE,
        Load as Load,
        Meeting as Meeting,
        Node as Node,
        Platform as Platform,
        Quota as Quota,
        capacity_of as capacity_of,
        kept_shares as kept_shares,
    )
    from simulator.programs.applications import matmul as matmul
    from simulator.programs.configuration import (
        AS_NOW as AS_NOW,
        Configuration as Configuration,
        Repartition as Repartition,
    )
    from simulator.programs.exchanged import Exchanged as Exchanged
    from simulator.programs.recorded.imported import import_recording as import_recording
    from simulator.programs.recorded.recording import Recording as Recording
    from simulator.programs.recorded.summary import RecordingFacts as RecordingFacts
    from simulator.programs.recorded.ti import write_ti as write_ti
    from simulator.programs.streams.lublin import lublin as lublin
    from simulator.programs.streams.stream import (
        JobApplication as JobApplication,
        Stream as Stream,
        make_stream as make_stream,
    )
    from simulator.programs.streams.tsafrir import with_estimates as with_estimates
    from simulator.results import job_metrics as job_metrics, plots as plots
    from simulator.results.comparison import Comparison as Comparison, compare as compare
    from simulator.results.files import Results as Results, load_results as load_results, save_runs as save_runs
    from simulator.results.job_files import (
        JOB_FILES as JOB_FILES,
        job_lines as job_lines,
        job_table_lines as job_table_lines,
        stream_lines as stream_lines,
    )
    from simulator.results.platform_export import SimgridExport as SimgridExport, export_simgrid as export_simgrid
    from simulator.platform.networks.link import usual_link as usual_link
    from simulator.results.seldom_met import reaching as reaching
    from simulator.results.shares import Share as Share, gathered_shares as gathered_shares, shares_of as shares_of
    from simulator.results.tables import (
        check_form as check_form,
        domain_meetings as domain_meetings,
        process_lines as process_lines,
    )
    from simulator.results.timelines import write_timeline as write_timeline
    from simulator.results.timelines.counters import load_profiles as load_profiles
    from simulator.results.timelines.jobs import (
        JOB_TIMELINES as JOB_TIMELINES,
        write_job_timeline as write_job_timeline,
    )
    from simulator.scenario_file import begun as begun, partitions as partitions
    from simulator.scenario_file.contents import contents_of as contents_of
    from simulator.scenario_file.idle_cores import IdleCores as IdleCores, idle_cores as idle_cores
    from simulator.scenario_file.joined import JoinedPlatform as JoinedPlatform, join_platform as join_platform
    from simulator.scenario_file.joined.inputs import NodeFile as NodeFile
    from simulator.scenario_file.load import (
        dump_scenario as dump_scenario,
        load_either as load_either,
        load_platform as load_platform,
        load_scenario as load_scenario,
        read_template as read_template,
        resolved_text as resolved_text,
        template_of as template_of,
    )
    from simulator.scenario_file.machine_node import NodeDescription as NodeDescription, describe_node as describe_node
    from simulator.scenario_file.scenario import (
        Application as Application,
        Scenario as Scenario,
        truth_count as truth_count,
    )
    from simulator.scenario_file.schemas import scenario_schema as scenario_schema
    from simulator.scenario_file.segs import describe_seg as describe_seg, dump_seg as dump_seg, load_seg as load_seg
    from simulator.scenario_file.streams import read_job_nodes as read_job_nodes, read_stream as read_stream
    from simulator.scenario_file.truths import deviates as deviates, draw as draw, truth_of as truth_of
    from simulator.scenario_file.written import save_scenario as save_scenario
    from simulator.scheduling import balance as balance
    from simulator.scheduling.estimates import Estimates as Estimates, JobTimes as JobTimes
    from simulator.scheduling.nodes import (
        NO_LIMIT_MIB as NO_LIMIT_MIB,
        JobNodes as JobNodes,
        JobPartition as JobPartition,
        Reservation as Reservation,
    )
    from simulator.scheduling.places import Cluster as Cluster
    from simulator.scheduling.policy import Policy as Policy
    from simulator.scheduling.slurm import SlurmPolicy as SlurmPolicy
    from simulator.scheduling.slurm_conf import (
        read_slurm_policy as read_slurm_policy,
        with_accounts as with_accounts,
        written_lines as written_lines,
    )
else:
    __all__, __dir__, __getattr__ = face(__name__)
