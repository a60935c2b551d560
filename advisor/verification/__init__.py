"""Real runs of recommended and baseline configurations, here, beside the load that was assumed."""

from advisor.verification.applications import CommandRuns, MatmulRuns, RealApplication
from advisor.verification.interleaved import Loads, Verification, run_interleaved

__all__ = ["CommandRuns", "Loads", "MatmulRuns", "RealApplication", "Verification", "run_interleaved"]
