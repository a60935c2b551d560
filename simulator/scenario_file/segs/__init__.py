"""Software execution graphs in files: YAML, JSON or TOML -> checked form -> `Seg`, and back to YAML."""

from simulator.scenario_file.segs.reading import describe_seg, load_seg, seg_of
from simulator.scenario_file.segs.writing import dump_seg, seg_data

__all__ = ["describe_seg", "dump_seg", "load_seg", "seg_data", "seg_of"]
