"""What counts operations in source, intermediate and machine code of a kernel, and what they cost on this machine."""

# mypy: implicit-reexport
from typing import TYPE_CHECKING

from simulator.base.faces import face

if TYPE_CHECKING:
    from simulator.characterisation.costs.calibration import calibrate_resource, kept_here, known_here, runs_beside
    from simulator.characterisation.study import Characterised, Judged, characterise, make_subject
    from simulator.models.resource import METHODS
    from simulator.programs.graphs.nodes import total_ruv
else:
    __all__, __dir__, __getattr__ = face(__name__)
