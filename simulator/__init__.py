"""The simulator: real runs become models, models and a program become a scenario, engines interpret it."""

# mypy: implicit-reexport
from typing import TYPE_CHECKING

from simulator.base.faces import face

if TYPE_CHECKING:
    from simulator import calibration, characterisation
    from simulator.base import (
        blocks,
        documents,
        faces,
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
    from simulator.base.machine import Machine, gpus, require_linux, this_machine
    from simulator.base.names import expanded, patterns_of
    from simulator.engines.compiled import cache_folder, on_compile
    from simulator.engines.costs.job_nodes import fitting_jobs
    from simulator.engines.job_programs import JobPrograms, cluster_of, job_scenario, places_of, with_equal_parts
    from simulator.engines.job_queue import JobRuns
    from simulator.engines.jobs import run_jobs
    from simulator.engines.log import Step, critical_path, waits_by_pe
    from simulator.engines.repartition import balance_text
    from simulator.engines.run import in_time, may_compile, run
    from simulator.engines.run_set import RunSet, describe, interval_line, interval_note
    from simulator.engines.waited_for import Message, Part, waited_for
    from simulator.experiments import job_draws, sweep, whatif
    from simulator.load_traces import read_trace
    from simulator.models.load import LoadTrace, availability
    from simulator.models.network import LinkModel
    from simulator.models.speed import SpeedBand, SpeedSurface
    from simulator.platform.building import Group, Nodes, bus, busy, mesh, nodes, star, torus, tree, uniform
    from simulator.platform.networks import Link, Network
    from simulator.platform.networks.link import usual_link
    from simulator.platform.nodes import PE, Load, Meeting, Node, Platform, Quota, capacity_of, kept_shares
    from simulator.programs.applications import matmul
    from simulator.programs.configuration import AS_NOW, Configuration, Repartition
    from simulator.programs.exchanged import Exchanged
    from simulator.programs.recorded.imported import import_recording
    from simulator.programs.recorded.recording import Recording
    from simulator.programs.recorded.summary import RecordingFacts
    from simulator.programs.recorded.ti import write_ti
    from simulator.programs.streams.lublin import lublin
    from simulator.programs.streams.stream import JobApplication, Stream, make_stream
    from simulator.programs.streams.tsafrir import with_estimates
    from simulator.results import job_metrics, plots
    from simulator.results.comparison import Comparison, compare
    from simulator.results.files import Results, load_results, save_runs
    from simulator.results.job_files import JOB_FILES, job_lines, job_table_lines, stream_lines
    from simulator.results.platform_export import SimgridExport, export_simgrid
    from simulator.results.seldom_met import reaching
    from simulator.results.shares import Share, gathered_shares, shares_of
    from simulator.results.tables import check_form, domain_meetings, process_lines
    from simulator.results.timelines import write_timeline
    from simulator.results.timelines.counters import load_profiles
    from simulator.scenario_file import begun, partitions
    from simulator.scenario_file.contents import contents_of
    from simulator.scenario_file.idle_cores import IdleCores, idle_cores
    from simulator.scenario_file.joined import JoinedPlatform, join_platform
    from simulator.scenario_file.joined.inputs import NodeFile
    from simulator.scenario_file.load import (
        dump_scenario,
        load_either,
        load_platform,
        load_scenario,
        read_template,
        resolved_text,
        template_of,
    )
    from simulator.scenario_file.machine_node import NodeDescription, describe_node
    from simulator.scenario_file.scenario import Application, Change, Scenario, truth_count
    from simulator.scenario_file.schemas import scenario_schema
    from simulator.scenario_file.segs import describe_seg, dump_seg, load_seg
    from simulator.scenario_file.streams import read_job_nodes, read_stream
    from simulator.scenario_file.truths import deviates, draw, truth_of
    from simulator.scenario_file.written import save_scenario
    from simulator.scheduling import balance
    from simulator.scheduling.estimates import Estimates, JobTimes
    from simulator.scheduling.nodes import NO_LIMIT_MIB, JobNodes, JobPartition, Reservation
    from simulator.scheduling.places import Cluster
    from simulator.scheduling.policy import Policy
    from simulator.scheduling.slurm import SlurmPolicy
    from simulator.scheduling.slurm_conf import read_slurm_policy, with_accounts, written_lines
else:
    __all__, __dir__, __getattr__ = face(__name__)
