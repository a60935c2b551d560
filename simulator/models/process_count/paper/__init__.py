"""The paper's model of programs that give every process the same work, for any number of kinds of PEs.

Kishimoto and Ichikawa, "An Execution-Time Estimation Model for Heterogeneous Clusters", sections 3 and 4.1: N-T and P-T
models by ordinary least squares, binning, composition and linear adjustment. `estimation` joins them, `building` fits.
"""

from simulator.models.process_count.paper.fits import Composed, MemoryRegimes
from simulator.models.process_count.paper.model import fit_paper, from_dict

__all__ = ["Composed", "MemoryRegimes", "fit_paper", "from_dict"]
