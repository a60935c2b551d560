"""Real runs of recommended and baseline configurations, here, beside the load that was assumed.

What runs and is timed comes from `simulator.calibration`; what is recommended, from `advise`.
"""

from advisor.verification.applications import CommandRuns, MatmulRuns, RealApplication
from advisor.verification.interleaved import Loads, Verification, run_interleaved

__all__ = ["CommandRuns", "Loads", "MatmulRuns", "RealApplication", "Verification", "run_interleaved"]
